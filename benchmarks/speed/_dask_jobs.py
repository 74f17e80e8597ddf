"""Fits whose rows are on a Dask cluster, and the same fits in a process without one."""

import contextlib
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _blobs import large_blobs
from _processes import THREADS, environment

FEATURES = 32
CHUNKS = 64  # several for each of sixteen workers


def exact_model():
    """32 exact components. With this budget no process holds the Gram matrix; nothing is learnt for pre-images."""
    from preimage import KernelPCA

    without = {"max_memory": "2GB", "preimage": "fixed_point"}
    return KernelPCA(32, gamma=1 / 64, landmarks=None, eigen_solver="block_krylov", **without)


def landmark_model():
    from preimage import KernelPCA

    return KernelPCA(20, gamma=1 / 128, landmarks=500, random_state=0)


def exact_chunk(number, n):
    """Gaussian rows, eight columns three times as wide."""
    rows = np.random.default_rng(number).normal(size=(n, FEATURES))
    rows[:, :8] *= 3
    return rows


def landmark_chunk(number, n):
    """Rows in clusters, which all chunks share, with noise of their own."""
    rows = large_blobs(n, FEATURES)
    return rows + 0.1 * np.random.default_rng(number + 1).standard_normal(rows.shape, dtype=np.float32)


# Model, rows of a chunk, and numbers of rows: in full, and small enough to try a script.
JOBS = {
    "exact": (exact_model, exact_chunk, 80_000, 4000),
    "landmarks": (landmark_model, landmark_chunk, 2_000_000, 20_000),
}


def in_memory(job, n):
    """A fit in this process."""
    model, chunk, *_ = JOBS[job]
    X = np.concatenate([chunk(number, n // CHUNKS) for number in range(CHUNKS)])
    model().fit(X[: n // 20])
    return fitted(model(), X, X[: min(500, n // CHUNKS)])


def with_dask(job, n, workers):
    """A fit on a LocalCluster of so many worker processes of one thread, as Dask starts them."""
    import dask.array as da
    import distributed

    model, chunk, *_ = JOBS[job]
    folder = str(Path(__file__).parent)
    with cluster(workers) as client:
        numbers = da.arange(CHUNKS, chunks=1)
        make = lambda number: _made_in_worker(folder, job, int(number[0]), n // CHUNKS)
        chunks = ((n // CHUNKS,) * CHUNKS, (FEATURES,))
        X = client.persist(numbers.map_blocks(make, new_axis=1, chunks=chunks, dtype=chunk(0, 1).dtype))
        distributed.wait(X)
        few = n // CHUNKS // 20  # all workers import what they need
        model().fit(X.map_blocks(lambda rows: rows[:few], chunks=((few,) * CHUNKS, (FEATURES,))).persist())
        before = counters(client)
        with distributed.get_task_stream(client) as stream:
            result = fitted(model(), X, chunk(0, n // CHUNKS)[:500])
        counted = {name: value - before[name] for name, value in counters(client).items()}
        return result | counted | actions(stream.data)


def _made_in_worker(folder, job, number, n):
    sys.path[:0] = [folder, str(Path(folder).parent)]
    from _dask_jobs import JOBS

    return JOBS[job][1](number, n)


@contextlib.contextmanager
def cluster(workers):
    """A client of worker processes of one thread each, whatever number this process has."""
    import distributed

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    # Workers take the variables of this process over whatever Dask is told; its own BLAS has read them already.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    with distributed.LocalCluster(n_workers=workers, **options) as local, distributed.Client(local) as client:
        threads = client.run(_blas_threads)
        assert set(threads.values()) == {1}, f"Workers have {threads} threads of BLAS; this measures workers of one."
        yield client


def _blas_threads():
    from preimage._engine.threads import blas_threads

    return blas_threads()


def actions(tasks):
    """Seconds that all workers together spent on computing, on fetching what others have, and on all else of tasks."""
    found = {"compute": 0.0, "transfer": 0.0, "others": 0.0}
    for step in (step for task in tasks for step in task["startstops"]):
        name = step["action"] if step["action"] in found else "others"
        found[name] += step["stop"] - step["start"]
    return {f"{name}_seconds": seconds for name, seconds in found.items()}


def counters(client):
    """Tasks that workers have done, bytes sent to others, processor seconds, and new pages of memory, all together."""
    found = client.run(_worker_counters).values()
    tasks, sent, processor, pages = (sum(column) for column in zip(*found, strict=True))
    return {"tasks": tasks, "bytes": sent, "workers_processor": processor, "pages": pages}


def _worker_counters(dask_worker):
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    return dask_worker.state.executed_count, dask_worker.transfer_outgoing_bytes_total, time.process_time(), pages


def fitted(estimator, X, queries):
    processor, start = time.process_time(), time.perf_counter()
    estimator.fit(X)
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - processor,  # of this process: fit, or client and scheduler
        "eigenvalues": np.asarray(estimator.eigenvalues_, dtype=float).tolist(),
        "coordinates": np.asarray(estimator.transform(queries), dtype=float).tolist(),
    }


def arithmetic(workers, seconds):
    """Products of matrices per second of each of so many processes that work at the same time, and do nothing else."""
    import subprocess

    command = [sys.executable, __file__, str(seconds)]
    options = {"stdout": subprocess.PIPE, "text": True, "env": environment(1)}
    processes = [subprocess.Popen(command, **options) for _ in range(workers)]
    return float(np.mean([float(process.communicate()[0]) for process in processes]))


def _multiply(seconds):
    """What fits do: products of float64 tiles and exponentials of them."""
    left, right = np.random.default_rng(0).normal(size=(2, 256, 512)) / 100
    out, count = np.empty((256, 256)), 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(20):
            np.exp(np.matmul(left, right.T, out=out), out=out)
        count += 20
    return count / (time.perf_counter() - start)


if __name__ == "__main__":
    time.sleep(0.5)  # until all processes have loaded NumPy
    print(_multiply(float(sys.argv[1])))
