"""How fast and how accurate is a machine on landmarks on 60,000 digits, next to `SVC` on all of them?

Set-up: MNIST, pixels divided by 255, γ = 1/(d var X) (scikit-learn's "scale") for both. `SVC(C=10)`, which has one
thread, against `SparseGreedyClassifier(KMeans(m), loss="squared_hinge", alpha=1/20)`, the same C, with all threads that
are allowed, or on tensors of a GPU. Every model has a process of its own, so that peaks of memory are theirs; with
--device cuda a fit of 3,000 rows comes first, which loads and compiles the code of the device. Seconds are wall-clock
and contain all copies from and to a device; the rows are there before.

    python benchmarks/speed/mnist_machines.py --threads 2 --landmarks 1000 2000
    python benchmarks/speed/mnist_machines.py --device cuda --landmarks 1000 2000 5000
    python benchmarks/speed/mnist_machines.py --train 6000 --landmarks 300      # a few seconds

Observe: twice as many landmarks lower the errors to those of all points; a prediction costs m kernel values instead of
one for every support vector. --phases adds the functions in which the fits spend their time.
"""

import cProfile
import json
import os
import pstats
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _reports import minutes, option_parser, origin_and_time, progress, publish, table

COST = 10.0
WARM_UP = 3000


def digits(n_train):
    """Rows in single precision, their labels, and the width of both machines."""
    import numpy as np
    from data import load_mnist

    mnist = load_mnist()
    chosen = np.random.default_rng(0).permutation(len(mnist.X_train))[: n_train or None]
    X, X_test = ((rows / 255).astype(np.float32) for rows in (mnist.X_train[chosen], mnist.X_test))
    return X, mnist.y_train[chosen], X_test, mnist.y_test, float(1 / (X.shape[1] * X.var()))


def measured(job):
    """Fit and predict once, and say what that took; runs in a process of its own."""
    import numpy as np
    from _measure import describe_machine, peak_memory

    X, y, X_test, y_test, gamma = digits(job["train"])
    synchronize, device = (lambda: None), "cpu"
    if job["device"] == "cuda":
        import torch

        synchronize, device = torch.cuda.synchronize, torch.cuda.get_device_name()
        place = {"device": "cuda", "dtype": getattr(torch, job["dtype"])}
        X, X_test = (torch.asarray(rows, **place) for rows in (X, X_test))
    elif job["machine"] != "SVC":
        X, X_test = X.astype(job["dtype"]), X_test.astype(job["dtype"])
    before = peak_memory()
    model = machine(job, gamma)
    if job["device"] == "cuda":
        machine(job, gamma).fit(X[:WARM_UP], y[:WARM_UP]).predict(X_test[:WARM_UP])
        torch.cuda.reset_peak_memory_stats()
    profile = cProfile.Profile() if job["phases"] else None
    synchronize()
    start, used = time.perf_counter(), time.process_time()
    if profile is None:
        model.fit(X, y)
    else:
        profile.runcall(model.fit, X, y)
    synchronize()
    fit, fit_cpu, start = time.perf_counter() - start, time.process_time() - used, time.perf_counter()
    found = model.predict(X_test)
    synchronize()
    predict = time.perf_counter() - start
    found = np.asarray(found.cpu() if hasattr(found, "cpu") else found)
    if profile is not None:
        pstats.Stats(profile, stream=sys.stderr).sort_stats("cumulative").print_stats(job["phases"])
    result = {
        "fit": fit,
        "fit_cpu": fit_cpu,
        "predict": predict,
        "errors": 100 * float(np.mean(found != y_test)),
        "points": len(model.support_) if job["machine"] == "SVC" else len(model.landmarks_),
        "peak": peak_memory(),
        "before": before,
        "machine": describe_machine(),
        "device": device,
    }
    if job["machine"] != "SVC":
        result |= {"iterations": int(model.n_iter_), "gap": float(max(model.duality_gap_))}
    if job["device"] == "cuda":
        result["device_peak"] = int(torch.cuda.max_memory_allocated())
    return result


def machine(job, gamma):
    from sklearn.svm import SVC

    from preimage import SparseGreedyClassifier
    from preimage.landmarks import KMeans

    if job["machine"] == "SVC":
        return SVC(C=COST, gamma=gamma, cache_size=1000)
    options = {"loss": job["loss"], "gamma": gamma, "alpha": 1 / (2 * COST)}
    return SparseGreedyClassifier(KMeans(job["landmarks"]), **options)


def run(job, threads):
    """`measured` in a new process with its own number of threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    command = [sys.executable, __file__, "--job", json.dumps(job)]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if found.returncode:
        raise SystemExit(f"{job} failed with exit status {found.returncode}.")
    return json.loads(found.stdout.splitlines()[-1])


def report(options, started):
    job = {"train": options.train, "phases": options.phases, "dtype": options.dtype, "loss": options.loss}
    svc, rows, values = None, [], {}
    if not options.without_svc:
        svc = run(job | {"machine": "SVC", "device": "cpu", "phases": 0}, 1)
        progress(f"SVC: {svc}", started)
        values |= {f"SVC, {key}": svc[key] for key in ("fit", "predict", "errors", "points", "peak")}
        rows.append(_row("`SVC`, one thread", svc, svc))
    for m in options.landmarks:
        found = run(job | {"machine": "ours", "landmarks": m, "device": options.device}, options.threads)
        progress(f"{m}: {found}", started)
        where = options.device if options.device == "cuda" else f"{options.threads} threads"
        values |= {f"{m}, {where}, {key}": found[key] for key in ("fit", "predict", "errors")}
        values[f"{m}, {where}, peak"] = found.get("device_peak", found["peak"])
        rows.append(_row(f"{m:,} landmarks, {where}", found, svc))
    settings = {"train": options.train or 60_000, "dtype": options.dtype, "loss": options.loss}
    settings |= {"device": found["device"], "threads": options.threads}
    header = ["machine", "points", "mistakes, %", "fit, s", "of SVC", "predict, s", "of SVC", "peak, GB", "iterations"]
    yield f"{found['machine']}; {found['device']}\n"
    yield f"{settings['train']:,} rows of 784 for training, 10,000 for testing, {options.loss}, {options.dtype}:\n"
    yield from table([*header, "gap"], rows)
    if options.record:
        from _measure import record

        if options.device == "cuda":
            record("mnist_machines_cuda", values, settings, machine=found["machine"])
        else:
            record("mnist_machines_cpu", values, settings, machine=found["machine"])


def _row(name, found, svc):
    ratio = lambda key: f"{found[key] / svc[key]:.3f}" if svc else ""
    return [
        name,
        f"{found['points']:,}",
        f"{found['errors']:.2f}",
        f"{found['fit']:.1f}",
        ratio("fit"),
        f"{found['predict']:.2f}",
        ratio("predict"),
        f"{found.get('device_peak', found['peak']) / 1e9:.2f}",
        str(found.get("iterations", "")),
        f"{found['gap']:.0e}" if "gap" in found else "",
    ]


def main():
    parser = option_parser(__doc__, "record", "output")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--landmarks", type=int, nargs="+", default=[1000, 2000])
    parser.add_argument("--train", type=int, default=0, help="rows for training; 0 is all 60,000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--loss", default="squared_hinge")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--without-svc", action="store_true", help="only machines on landmarks, without ratios")
    parser.add_argument("--phases", type=int, default=0, help="print so many functions with the longest times")
    parser.add_argument("--job", type=json.loads, help="used by the script itself")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(measured(options.job)))
        return
    started = time.perf_counter()
    lines = list(report(options, started))
    publish([*origin_and_time(minutes(time.perf_counter() - started)), *lines], options.output)


if __name__ == "__main__":
    main()
