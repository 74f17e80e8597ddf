"""What does exact kernel PCA cost on a Dask cluster, and is the model the same?

Set-up: Gaussian data of 32 features, eight of them three times as wide; 32 components by block Krylov iteration without
a Gram matrix in memory. One process with one and two threads fits the array; with Dask, LocalClusters of one and two
worker processes of one thread fit the same array in chunks, on as many cores. Each fit runs in a process of its own,
after a small fit by which all processes have imported what they need. Rounds are interleaved: what slows the machine
for a while slows all of them.

    python benchmarks/speed/dask_exact.py
    python benchmarks/speed/dask_exact.py --points 20000 --repeats 1
    python benchmarks/speed/dask_exact.py --cores 8 --repeats 1
    python benchmarks/speed/dask_exact.py --max-iter 3      # the first three of the block products only

Observe: eigenvalues and coordinates are equal to rounding; the time with w workers is that of w threads and some more;
a worker needs little beyond what Python takes. On a machine that others use, compare processor times (client, scheduler
and workers together): they do not contain the waiting.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine
from _processes import THREADS, environment

from preimage import KernelPCA

FEATURES, COMPONENTS, CHUNKS = 32, 32, 8
KEEP_MEMORY = {  # see docs/guides/clusters.md
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**27,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}


def model(max_iter=None):
    # With this budget no process holds the Gram matrix; the fixed point learns nothing during the fit.
    without = {"max_memory": "2GB", "preimage": "fixed_point"}
    return KernelPCA(COMPONENTS, gamma=1 / 64, eigen_solver="block_krylov", max_iter=max_iter, **without)


def rows(n):
    X = np.random.default_rng(0).normal(size=(n, FEATURES))
    X[:, :8] *= 3
    return X


def in_memory(n, max_iter):
    X = rows(n)
    model().fit(X[: n // 10])
    return measured(model(max_iter), X, X, dict)


def with_dask(n, workers, max_iter):
    import dask
    import dask.array as da
    import distributed

    with (
        dask.config.set(KEEP_MEMORY),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            env=dict.fromkeys(THREADS, "1"),  # which workers would inherit from this process
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        X = rows(n)
        D = da.from_array(X, chunks=(n // CHUNKS, FEATURES))
        model().fit(D[: n // 10])
        return measured(model(max_iter), D, X, lambda: client.run(_usage_of_worker, str(Path(__file__).parents[1])))


def _usage_of_worker(folder):
    sys.path.insert(0, folder)
    from _measure import peak_memory

    return time.process_time(), peak_memory()


def measured(estimator, X, queries, workers_usage):
    before, processor, start = workers_usage(), time.process_time(), time.perf_counter()
    fitted = estimator.fit(X)
    seconds, processor, after = time.perf_counter() - start, time.process_time() - processor, workers_usage()
    return {
        "seconds": seconds,
        "processor": processor + sum(after[name][0] - before[name][0] for name in after),
        "peak": max((peak for _, peak in after.values()), default=0),
        "products": fitted.eigen_result_.n_products,
        "eigenvalues": fitted.eigenvalues_.tolist(),
        "coordinates": fitted.transform(queries[:500]).tolist(),
    }


def run(kind, cores, options):
    """One fit in a process of its own, whose BLAS has as many threads as there are cores for it."""
    command = [sys.executable, "-W", "ignore", __file__, "--inline", kind, "--points", str(options.points)]
    command += ["--cores", str(cores)] + (["--max-iter", str(options.max_iter)] if options.max_iter else [])
    variables = environment(cores) | {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error"}
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables)
    return json.loads(result.stdout.splitlines()[-1])


def difference(one, other, name):
    a, b = np.array(one[name]), np.array(other[name])
    return float(np.max(np.abs(a - b)) / np.max(np.abs(a)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--max-iter", type=int, help="block products after which fits stop")
    parser.add_argument("--inline", choices=("threads", "workers"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inline == "threads":
        print(json.dumps(in_memory(options.points, options.max_iter)))
        return
    if options.inline == "workers":
        print(json.dumps(with_dask(options.points, options.cores[0], options.max_iter)))
        return
    print(describe_machine())
    print(f"{options.points:,} × {FEATURES}, {COMPONENTS} components, medians of {options.repeats}")
    kinds = [(kind, cores) for cores in options.cores for kind in ("threads", "workers")]
    results = {kind: [] for kind in kinds}
    for _ in range(options.repeats):
        for kind in kinds:
            results[kind].append(run(*kind, options))
            print(f"  {kind[1]} {kind[0]}: {results[kind][-1]['seconds']:.1f} s", flush=True)
    first = results[kinds[0]][0]
    for (kind, cores), found in results.items():
        median = lambda name: float(np.median([each[name] for each in found]))
        worst = max(difference(first, each, name) for each in found for name in ("eigenvalues", "coordinates"))
        peak = f", {median('peak') / 1e9:.2f} GB per worker" if kind == "workers" else ""
        print(
            f"{cores} {kind}: {median('seconds'):.1f} s, processor {median('processor'):.1f} s{peak}, "
            f"{found[0]['products']} products, difference {worst:.0e}"
        )


if __name__ == "__main__":
    main()
