"""From how many rows on is a GPU faster than a CPU?

Set-up: blobs as in kernel_pca.py, 64 columns, 32 components, float32; the same class on NumPy arrays with all cores and
on torch tensors of the device. Smallest wall-clock time of several fits and of as many transformations of all rows,
synchronised, after a warm-up, which compiles device code.

    python benchmarks/speed/gpu_rows.py --record
    python benchmarks/speed/gpu_rows.py --merge printed.txt --record
    python benchmarks/speed/gpu_rows.py --draw docs/images

Observe: where the two curves cross. The second command records what a run on another machine has printed, the third
draws the record; they need no GPU.
"""

import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _blobs import blobs
from _measure import RECORDS, ROOT, describe_machine, record
from _reports import option_parser

from preimage import KernelPCA

SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
FEATURES, COMPONENTS = 64, 32
REPEATS = 5


def seconds(function, synchronize):
    """Smallest time of several calls."""
    function()
    times = []
    for _ in range(REPEATS):
        synchronize()
        start = time.perf_counter()
        function()
        synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def measure():
    import torch

    print(f"{describe_machine()}; {torch.cuda.get_device_name()}, torch {torch.__version__}")
    values = {}
    for n in SIZES:
        X, gamma = blobs(n, FEATURES, dtype="float32")
        for place, rows in {"CPU": X, "GPU": torch.asarray(X, device="cuda")}.items():
            model = KernelPCA(COMPONENTS, gamma=gamma).fit(rows)
            for task, function in {"fit": model.fit, "transform": model.transform}.items():
                key = f"{task}, {n:,} rows, {place}"
                values[key] = seconds(lambda f=function, rows=rows: f(rows), torch.cuda.synchronize)
                print(f"{key}: {values[key]:.4f} s, {model.eigen_result_.reason}", flush=True)
    settings = {"features": FEATURES, "components": COMPONENTS, "repeats": REPEATS}
    return values, settings | {"device": torch.cuda.get_device_name(), "torch": torch.__version__}


def printed(path):
    """Values, settings and machine of a run, from what it printed."""
    text = path.read_text(encoding="utf-8")
    machine, device, torch = re.search(r"^(preimage .+); (.+?), torch (\S+)$", text, re.MULTILINE).groups()
    values = {
        key: float(number) for key, number in re.findall(r"^(\w+, [\d,]+ rows, \w+): ([\d.]+) s", text, re.MULTILINE)
    }
    settings = {"features": FEATURES, "components": COMPONENTS, "repeats": REPEATS, "device": device, "torch": torch}
    return values, settings, machine


def draw(folder):
    """The curves of the record, in the style of the figures of the documentation."""
    import matplotlib.pyplot as plt

    plt.style.use(ROOT / "docs" / "figures.mplstyle")
    contents = json.loads((RECORDS / "gpu_rows.json").read_text(encoding="utf-8"))
    figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True)
    for ax, task in zip(axes, ("fit", "transform"), strict=True):
        for place, style in {"CPU": "o-", "GPU": "s-"}.items():
            times = [contents["values"][f"{task}, {n:,} rows, {place}"] for n in SIZES]
            ax.loglog(SIZES, times, style, label={"CPU": "16 cores", "GPU": contents["settings"]["device"]}[place])
        ax.set(title=task, xlabel="rows")
        ax.grid()
    axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle("From 2,000 rows on this GPU is faster than 16 cores")
    figure.savefig(folder / "gpu_rows.png", dpi=150, bbox_inches="tight")


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="draw the record there, and measure nothing")
    parser.add_argument("--merge", type=Path, metavar="TEXT", help="what a run has printed; measure nothing")
    options = parser.parse_args()
    if options.draw:
        return draw(options.draw)
    values, settings, machine = printed(options.merge) if options.merge else (*measure(), None)
    if options.record:
        record("gpu_rows", values, settings, machine=machine)


if __name__ == "__main__":
    main()
