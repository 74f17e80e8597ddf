"""Does a run that was killed at any moment end with the same bytes after it is continued?

Set-up: each command once undisturbed, on a table of normal numbers, in a process of its own; then again and again with
``kill -9`` after a random part of that time, and once more with the same words until it ends. Runs that end before they
are killed do not count. Outputs are compared byte by byte with those of the undisturbed run; of a summary all but its
time and paths. Nothing else may be left in the folder.

    python benchmarks/faults/kill.py --record

Observe: no difference, and nothing left over.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record
from _reports import option_parser

COLUMNS, GAPS = 8, 0.01
# Chunks short enough for many notes, and many moments between them.
EMBED = ["--components", "10", "--landmarks", "300", "--chunk-rows", "1000"]
DENOISE = ["--components", "4", "--gamma", "median", "--penalty", "0.1", "--landmarks", "50", "--no-plot"]
# The command, its output and its options.
COMMANDS = {
    "impute, CSV": ["impute", "out.csv", "--components", "20", "--save-model", "model.safetensors"],
    "embed, NumPy": ["embed", "out.npy", *EMBED, "--save-model", "model.safetensors"],
    "embed, CSV": ["embed", "out.csv", *EMBED],
    "denoise, Parquet": ["denoise", "out.parquet", *DENOISE],
    "denoise, NumPy": ["denoise", "out.npy", *DENOISE],
}
# What a summary says about the run and not about the result.
PASSING = {"seconds", "output"}


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=50, help="of all commands together")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(describe_machine(), flush=True)
    counts = {"kills": 0, "continued": 0, "identical": 0, "left over": 0}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.npy"
        rows = rng.normal(size=(options.rows, COLUMNS)).round(4)
        np.save(source, rows)
        np.save(source.with_name("gaps.npy"), np.where(rng.random(rows.shape) < GAPS, np.nan, rows))
        print(f"{'command':18s} {'whole':>7s} {'kills':>6s} {'continued':>10s} {'identical':>10s} {'left over':>10s}")
        for number, name in enumerate(COMMANDS):
            share = len(range(number, options.kills, len(COMMANDS)))
            for key, value in tried(name, source, Path(folder), share, options).items():
                counts[key] += value
    print(f"{counts['identical']} of {counts['kills']} runs ended as if nothing had happened.")
    if options.record:
        record("kill", counts, {"rows": options.rows, "columns": COLUMNS, "seed": options.seed, "threads": 1})
    return 0 if counts["identical"] == counts["kills"] and not counts["left over"] else 1


def tried(name, source, folder, kills, options):
    """Kill a command so many times and continue it, and count how that ended."""
    whole = folder / f"{name}, whole"
    started = time.perf_counter()
    finish(start(name, source, whole))
    seconds, expected = time.perf_counter() - started, outputs(whole)

    def trial(number):
        """Whether rows were there already, whether all outputs are the same in the end, and what else is there."""
        target = folder / f"{name}, {number}"
        killed_at_random(name, source, target, seconds, np.random.default_rng([options.seed, number]))
        continued = "Continuing after row" in finish(start(name, source, target))
        found = outputs(target)
        remove(target)
        same = all(found.get(file) == contents for file, contents in expected.items())
        return continued, same, len(set(found) - set(expected))

    with ThreadPoolExecutor(options.jobs) as pool:
        ended = list(pool.map(trial, range(kills)))
    continued, identical, left = (sum(column) for column in zip(*ended, strict=True)) if ended else (0, 0, 0)
    print(f"{name:18s} {seconds:5.1f} s {kills:6d} {continued:10d} {identical:10d} {left:10d}", flush=True)
    return {"kills": kills, "continued": continued, "identical": identical, "left over": left}


def killed_at_random(name, source, target, seconds, rng):
    while True:
        process = start(name, source, target)
        try:
            process.wait(rng.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == -signal.SIGKILL:
            return
        remove(target)  # it has ended before


def start(name, source, target):
    command, output, *options = COMMANDS[name]
    source = source.with_name("gaps.npy") if command == "impute" else source
    target.mkdir(exist_ok=True)
    words = [sys.executable, "-c", "from preimage.cli import main; main()", command, str(source), output, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(words, cwd=target, env=environment, stderr=subprocess.PIPE, text=True)


def finish(process):
    """What a process said, which must end well."""
    said = process.communicate()[1]
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(process.args[3:])} failed: {said}")
    return said


def outputs(folder):
    """Contents of all files in a folder, by name; of summaries what does not depend on the run."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    if "out.json" in found:
        summary = json.loads(found["out.json"])
        found["out.json"] = {name: summary[name] for name in summary if name not in PASSING}
    return found


def remove(folder):
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


if __name__ == "__main__":
    raise SystemExit(main())
