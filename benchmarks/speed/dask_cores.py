"""What do fits on a Dask cluster gain from more workers, and what does the cluster cost?

Set-up: exact kernel PCA of 80,000 rows of 32 columns (32 components, float64, no Gram matrix in memory), and kernel PCA
of 2,000,000 rows of 32 columns on 500 landmarks (float32), in a process of one thread and on LocalClusters of 1, 2, 4,
8 and 16 worker processes of one thread, as Dask starts them. Workers make the rows before the clock starts, and have
fitted a twentieth of them. Every fit runs in a process of its own. The same number of processes that only multiply
matrices says how much slower the machine makes each of them when others work as well. The client has as many threads
as there are workers, which wait while it works.

    python benchmarks/speed/dask_cores.py --record
    python benchmarks/speed/dask_cores.py --jobs landmarks --workers 0 1 2
    python benchmarks/speed/dask_cores.py --workers 16 --runs runs.json       # some fits now, others later
    python benchmarks/speed/dask_cores.py --runs runs.json --record

Observe: time of one worker over that of the plain process; efficiency, the gain over one worker divided by the number
of workers, as measured and relative to what the machine allows; tasks, bytes that workers send to each other, and new
pages of memory that they ask the system for; the difference of the model from that of the plain process; and what
`_cluster_cost.py` expects, from the plain process and the client's work at one worker.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _cluster_cost import TASK, exact_cost, landmark_cost
from _dask_jobs import CHUNKS, FEATURES, JOBS, arithmetic, in_memory, with_dask
from _measure import describe_machine, record
from _processes import environment
from _reports import option_parser

from preimage._engine.dask import pair_blocks

# Columns of the blocks of 32 exact components.
BLOCK_WIDTH = 48
# What workers did, in seconds of all of them together: `_dask_jobs.actions`.
ACTIONS = ("compute_seconds", "transfer_seconds", "others_seconds")
WORKERS = (1, 2, 4, 8, 16)


def run(job, n, workers):
    """One fit in a process of its own; no workers is none of Dask."""
    command = [sys.executable, "-W", "ignore", __file__, "--inline", job, str(n), str(workers)]
    variables = environment(max(workers, 1)) | {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error"}
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables)
    return json.loads(result.stdout.splitlines()[-1])


def measured(options, sizes):
    """{"machine", "speeds" of processes, "fits"}; what an earlier run has kept in `options.runs` is not done again."""
    kept = options.runs if options.runs and options.runs.exists() else None
    found = (
        json.loads(kept.read_text(encoding="utf-8"))
        if kept
        else {"machine": describe_machine(), "speeds": {}, "fits": {}}
    )
    start = time.perf_counter()
    plan = [(job, workers) for workers in options.workers for job in sizes]
    for workers in {"1": 1} | {str(workers): workers for _, workers in plan if workers}:
        if workers not in found["speeds"]:
            found["speeds"][workers] = arithmetic(int(workers), 0.5 if options.quick else 1)
            print(
                f"arithmetic alone, {workers} processes: {found['speeds'][workers] / found['speeds']['1']:.0%}",
                flush=True,
            )
    for job, workers in plan:
        key = f"{job}, {sizes[job]} rows, {workers} workers"
        if key in found["fits"] or time.perf_counter() - start > options.budget:
            continue
        found["fits"][key] = run(job, sizes[job], workers)
        print(f"{key}: {found['fits'][key]['seconds']:.2f} s", flush=True)
        if options.runs:
            options.runs.write_text(json.dumps(found), encoding="utf-8")
    return found


def difference(one, other):
    """The largest difference of eigenvalues and coordinates, relative to the largest of them."""
    pairs = [(np.array(one[name]), np.array(other[name])) for name in ("eigenvalues", "coordinates")]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in pairs)


def figures(job, plain, found, rates):
    """{key: value} of a record: what was measured, and what follows from it."""
    values = {f"{job}; plain; seconds": plain["seconds"]}
    for workers, each in found.items():
        key = f"{job}; {workers} workers"
        names = ("seconds", "processor", "workers_processor", "tasks", "pages", *ACTIONS)
        values |= {f"{key}; {name}": each[name] for name in names}
        values[f"{key}; megabytes between workers"] = each["bytes"] / 1e6
        values[f"{key}; over plain"] = each["seconds"] / plain["seconds"]
        values[f"{key}; difference"] = difference(plain, each)
        if 1 in found:
            efficiency = found[1]["seconds"] / each["seconds"] / workers
            values[f"{key}; efficiency"] = efficiency
            values[f"{key}; of what the machine allows"] = efficiency * rates[1] / rates[workers]
    return values


def model_costs(job, n, plain, found, rates):
    """{workers: what `_cluster_cost.py` expects}, from the plain process and the client's work at one worker."""
    # Of the client's processor seconds some are for tasks; the others are its own algebra.
    tasks, client = found[1]["tasks"], max(found[1]["processor"] - TASK * found[1]["tasks"], 0.0)
    if job == "landmarks":
        cost = lambda workers, **of: landmark_cost(plain["seconds"], workers, landmarks=500, **of)
    else:
        b = pair_blocks(n, 1)
        passes = round((tasks - CHUNKS - b) / (b * (b + 1) / 2 + b))
        of_fit = {"n": n, "columns": FEATURES, "width": BLOCK_WIDTH, "passes": passes}
        cost = lambda workers, **of: exact_cost(plain["seconds"], workers, **of_fit, **of)
    return {p: cost(p, chunks=CHUNKS, client=client, speed=rates[p] / rates[1]) for p in sorted(found)}


def print_line(job, workers, each, plain):
    done = ", ".join(f"{name.partition('_')[0]} {each[name]:.1f} s" for name in ACTIONS)
    print(
        f"{job}, {workers} workers: {each['seconds']:.2f} s, {each['seconds'] / plain['seconds']:.2f} of the plain "
        f"process; processor: client {each['processor']:.1f} s, workers {each['workers_processor']:.1f} s; "
        f"{done}; {each['tasks']} tasks, {each['bytes'] / 1e6:.0f} MB between workers, {each['pages']} new pages; "
        f"difference {difference(plain, each):.0e}",
        flush=True,
    )


def main():
    parser = option_parser(__doc__, "record", "folder")
    parser.add_argument("--jobs", nargs="+", default=list(JOBS), choices=JOBS)
    parser.add_argument("--workers", type=int, nargs="+", default=(0, *WORKERS), help="0 is the plain process")
    parser.add_argument("--quick", action="store_true", help="few rows, to try the script")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the rows")
    parser.add_argument("--runs", type=Path, help="keeps what was run in this file, and goes on from there")
    parser.add_argument("--budget", type=float, default=1e9, help="no further fit begins after so many seconds")
    parser.add_argument("--inline", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inline:
        job, n, workers = options.inline[0], int(options.inline[1]), int(options.inline[2])
        print(json.dumps(with_dask(job, n, workers) if workers else in_memory(job, n)))
        return
    sizes = {job: int(options.fraction * JOBS[job][3 if options.quick else 2]) for job in options.jobs}
    results = measured(options, sizes)
    print(results["machine"])
    rates = {int(workers): rate for workers, rate in results["speeds"].items()}
    values = {f"arithmetic; {workers} processes": rate / rates[1] for workers, rate in rates.items()}
    for job, n in sizes.items():
        fits = {workers: results["fits"].get(f"{job}, {n} rows, {workers} workers") for workers in (0, *WORKERS)}
        plain, found = fits.pop(0), {workers: each for workers, each in fits.items() if each}
        if plain is None:
            continue
        print(f"{job}, {n:,} rows, plain process: {plain['seconds']:.2f} s", flush=True)
        for workers, each in found.items():
            print_line(job, workers, each, plain)
        values |= figures(job, plain, found, rates)
        if 1 in found:
            costs = model_costs(job, n, plain, found, rates)
            values |= {f"{job}; {workers} workers; model seconds": each.seconds for workers, each in costs.items()}
            for workers, each in costs.items():
                print(f"{job}, {workers} workers: {found[workers]['seconds']:.3g} s; expected {each}", flush=True)
    for key, value in values.items():
        if "efficiency" in key or "allows" in key:
            print(f"{key}: {value:.0%}")
    if options.record:
        record("dask_cores", values, {"rows": sizes}, options.folder, results["machine"])


if __name__ == "__main__":
    main()
