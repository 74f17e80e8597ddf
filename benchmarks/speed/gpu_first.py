"""How long does the first fit on a GPU take in a new process, and transform afterwards?

Set-up: kernel PCA of blobs with 64 columns, 32 components, float32 torch tensors on the device: an exact fit of 100,000
points, twice; then an exact fit of 1,000,000 points, and `transform` of 100,000 rows on it, of tensors there and of
NumPy rows with ``device="cuda"``. All of it in three new processes: the first with an empty folder for compiled device
code, the others with what the first has left there. Times are wall-clock, synchronised, and begin when torch has done
something on the device.

    python benchmarks/speed/gpu_first.py --record
    python benchmarks/speed/gpu_first.py --profile      # also where the time of first calls goes

Observe: the first fit of the second process against its second fit; the time of transform, and its error against double
precision on some rows.
"""

import argparse
import cProfile
import io
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import RECORDS, describe_machine, record
from _reports import option_parser

FEATURES, COMPONENTS = 64, 32


def measure(options):
    """{what: seconds} in this process."""
    import torch
    from _blobs import blobs

    from preimage import KernelPCA

    start = time.perf_counter()
    torch.ones(2, device="cuda").sum().item()
    values = {"torch starts the device": time.perf_counter() - start}
    for n in (options.points // 10, options.points):
        rows, gamma = blobs(n, FEATURES, dtype="float32")
        X = torch.asarray(rows, device="cuda")
        model = KernelPCA(COMPONENTS, gamma=gamma, landmarks=None)
        for turn in ("first", "second") if n < options.points else ("first",):
            values[f"{turn} fit of {n:,} points"] = seconds(lambda: model.fit(X), options, f"{turn} fit of {n:,}")
    queries = rows[: options.points // 10] + np.float32(0.1)
    here = KernelPCA(COMPONENTS, gamma=gamma, landmarks=None, device="cuda").fit(rows)
    for name, fitted, Z in (
        ("", model, torch.asarray(queries, device="cuda")),
        (" of NumPy rows through the device", here, queries),
        (" of NumPy rows in double precision", here, queries.astype(float)),
    ):
        for turn in ("first", "second", "third"):
            what = f"{turn} transform{name}"
            values[what] = seconds(lambda f=fitted, Z=Z: f.transform(Z), options, what)
    space, few = model.subspace_, torch.asarray(queries[::1000], device="cuda").double()
    exact = space.converted(torch.Tensor.double, space.frame.points.double()).coordinates(few)
    found = torch.asarray(model.transform(torch.asarray(queries, device="cuda")))[::1000].double()
    values["error of transform"] = float((found - exact).norm() / exact.norm())
    values["peak memory, GB"] = torch.cuda.max_memory_allocated() / 1e9
    return values


def seconds(function, options, name):
    import torch

    profile = cProfile.Profile()
    torch.cuda.synchronize()
    start = time.perf_counter()
    if options.profile and name.startswith("first"):
        profile.runcall(function)
    else:
        function()
    torch.cuda.synchronize()
    elapsed = time.perf_counter() - start
    if options.profile and name.startswith("first"):
        text = io.StringIO()
        pstats.Stats(profile, stream=text).sort_stats("cumulative").print_stats(45)
        print(f"{name}: {text.getvalue()}", file=sys.stderr, flush=True)
    return elapsed


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--folder", type=Path, default=RECORDS, help="where --record writes")
    parser.add_argument("--inline", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inline:
        print(json.dumps(measure(options)))
        return
    found = {}
    with tempfile.TemporaryDirectory() as compiled:
        variables = os.environ | {"TRITON_CACHE_DIR": compiled}
        for name in ("nothing compiled", "second process", "third process"):
            start = time.perf_counter()
            command = [sys.executable, __file__, *sys.argv[1:], "--inline"]
            result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables)
            found[name] = json.loads(result.stdout.splitlines()[-1])
            found[name]["whole process"] = time.perf_counter() - start
            print(f"{name}: {len(list(Path(compiled).rglob('*.cubin')))} compiled programs in the folder")
            for what, value in found[name].items():
                print(f"  {what}: {value:.3g}", flush=True)
    if options.record:
        import torch

        values = {f"{name}; {what}": value for name, each in found.items() for what, value in each.items()}
        settings = {"points": options.points, "features": FEATURES, "components": COMPONENTS}
        settings |= {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        record("gpu_first", values, settings, folder=options.folder, machine=describe_machine())


if __name__ == "__main__":
    main()
