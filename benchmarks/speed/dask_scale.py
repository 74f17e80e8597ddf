"""What does Dask cost, and is the model the same?

Set-up: the data of `scale.py`, made chunk by chunk from seeds, so that workers make them where they stay and this
process can make the same rows in memory. There one process fits with two threads; with Dask a LocalCluster of two
processes with one thread each fits on the same cores, after the chunks were made (`persist`) and workers have imported
what they need. Each runs in a process of its own.

    python benchmarks/speed/dask_scale.py
    python benchmarks/speed/dask_scale.py --dask-malloc     # as Dask starts workers unless told otherwise

Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, so that temporaries of every block go back to the system and are
fetched from it again, which doubles the time of the pass; here workers keep up to 128 MB (see docs/guides/clusters.md).

Observe: equal eigenvalues and coordinates, and the ratio of times. "Client" is the growth of memory of the process
of client and scheduler during the fit, which should not grow with n; with numbers of tasks it grows by about a kilobyte
per chunk.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from _blobs import large_blobs
from _measure import describe_machine, peak_memory, record
from _reports import option_parser, stamped, table
from scale import COMPONENTS, FEATURES, LANDMARKS, model

CHUNK = 62_500
WORKERS = 2
KEEP_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**27,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}


def chunk_of(number):
    """A chunk of rows, the same wherever it is made: shared clusters, own noise."""
    rows = large_blobs(CHUNK, FEATURES)
    return rows + 0.1 * np.random.default_rng(number + 1).standard_normal(rows.shape, dtype=np.float32)


def in_memory(n, repeats, settings):
    X = np.concatenate([chunk_of(number) for number in range(n // CHUNK)])
    model().fit(X[:2000])
    return measured(X, repeats, lambda: 0)


def with_dask(n, repeats, settings):
    import dask
    import dask.array as da
    import distributed

    # BLAS in the client uses both cores where workers wait, as in memory; workers have one thread each.
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # By value: this script is no module that workers could import.
        numbers = da.arange(n // CHUNK, chunks=1)
        make = lambda number: _chunk_in_worker(int(number[0]), str(Path(__file__).parent))
        X = numbers.map_blocks(make, new_axis=1, chunks=((CHUNK,) * (n // CHUNK), (FEATURES,)), dtype=np.float32)
        X = client.persist(X)
        distributed.wait(X)
        model().fit(X[:2000])  # imports in all processes
        model().fit(X.map_blocks(lambda chunk: chunk[:200], chunks=((200,) * (n // CHUNK), (FEATURES,))))
        return measured(X, repeats, lambda: resident_memory())


def _chunk_in_worker(number, folder):
    sys.path[:0] = [folder, str(Path(folder).parent)]
    from dask_scale import chunk_of

    return chunk_of(number)


def measured(X, repeats, memory):
    before, seconds = memory(), []
    for _ in range(repeats):
        start = time.perf_counter()
        fitted = model().fit(X)
        seconds.append(time.perf_counter() - start)
    Y = fitted.transform(chunk_of(0)[:1000])
    return {
        "n": int(X.shape[0]),
        "seconds": float(np.median(seconds)),
        "growth": memory() - before,
        "peak": peak_memory(),
        "eigenvalues": fitted.eigenvalues_.astype(float).tolist(),
        "coordinates": Y.astype(float).tolist(),
    }


def resident_memory():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def run(kind, n, repeats, dask_malloc):
    command = [sys.executable, __file__, "--inline", kind, "--points", str(n), "--repeats", str(repeats)]
    command += ["--dask-malloc"] if dask_malloc else []
    environment = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error"}
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(result.stdout.splitlines()[-1])


def difference(one, other, name):
    a, b = np.array(one[name]), np.array(other[name])
    return float(np.max(np.abs(a - b)) / np.max(np.abs(a)))


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--points", type=int, default=1_000_000, help="of the larger problem; the other has a quarter")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dask-malloc", action="store_true", help="leave MALLOC_TRIM_THRESHOLD_ as Dask sets it")
    parser.add_argument("--inline", choices=("memory", "dask"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inline:
        fit = in_memory if options.inline == "memory" else with_dask
        print(json.dumps(fit(options.points, options.repeats, {} if options.dask_malloc else KEEP_MEMORY)))
        return
    print(describe_machine())
    print(
        f"float32, {FEATURES} features, {LANDMARKS} landmarks, {COMPONENTS} components, chunks of {CHUNK:,} rows, "
        f"{WORKERS} worker processes{' as Dask starts them' * options.dask_malloc}, medians of {options.repeats}"
    )
    values = {}
    for n in (options.points // 4, options.points):
        held, chunked = (run(kind, n, options.repeats, options.dask_malloc) for kind in ("memory", "dask"))
        ratio = chunked["seconds"] / held["seconds"]
        worst = max(difference(held, chunked, name) for name in ("eigenvalues", "coordinates"))
        print(
            f"  {n:,} rows: in memory {held['seconds']:.2f} s, Dask {chunked['seconds']:.2f} s, ratio {ratio:.2f}; "
            f"largest difference {worst:.1e}; "
            f"client and scheduler: {chunked['growth'] / 1e6:+.0f} MB in the fits, "
            f"peak {chunked['peak'] / 1e9:.2f} GB (in memory "
            f"{held['peak'] / 1e9:.2f} GB)",
            flush=True,
        )
        found = {"in memory, seconds": held["seconds"], "Dask, seconds": chunked["seconds"], "ratio": ratio}
        found |= {"difference": worst, "growth, MB": chunked["growth"] / 1e6}
        values |= {f"{n:,} rows, {what}": number for what, number in found.items()}
    if options.record:
        settings = {"rows": [options.points // 4, options.points], "chunk": CHUNK, "workers": WORKERS}
        record("landmark_dask", values, settings | {"repeats": options.repeats, "dask_malloc": options.dask_malloc})


def section(contents):
    values, settings = contents["values"], contents["settings"]
    yield from stamped("## Dask\n", contents)
    yield (
        f"The same data: {settings['workers']} worker processes of one thread against {settings['workers']} threads in "
        f"memory, chunks of {settings['chunk']:,} rows, on the same cores, medians of {settings['repeats']}. Workers "
        "run without Dask's own setting of MALLOC_TRIM_THRESHOLD_, which doubles the time of the pass (`--dask-malloc` "
        "shows it; see [clusters](../guides/clusters.md#chunks-and-memory)).\n"
    )
    rows = []
    for n in settings["rows"]:
        of = lambda what, n=n: values[f"{n:,} rows, {what}"]
        seconds = [f"{of(what):.2f} s" for what in ("in memory, seconds", "Dask, seconds")]
        same = f"{of('difference'):.0e}" if of("difference") else "none"
        rows.append([f"{n:,}", *seconds, f"{of('ratio'):.2f}", same, f"{of('growth, MB'):+.0f} MB"])
    yield from table(["rows", "in memory", "Dask", "ratio", "difference of models", "client and scheduler"], rows)
    yield "\nThe memory of client and scheduler does not grow with the number of rows.\n"


if __name__ == "__main__":
    main()
