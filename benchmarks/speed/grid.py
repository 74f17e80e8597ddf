"""Is exact kernel PCA anywhere slower than scikit-learn's best solver at equal accuracy?

Set-up: n points × k components × five kinds of points × two precisions × `fit` and `fit_transform` × one thread and
two. Points: 30 Gaussian blobs in 30 dimensions (deviation 3), one isotropic Gaussian in 30 dimensions, a swiss roll;
Gaussian kernel with γ = 1/(2 · median squared distance). "low rank" are two uniform coordinates with a sixteenth of
that γ, whose matrix has a rank of some tens to rounding; "flat" are an isotropic Gaussian in 200 dimensions, with a
spectrum without any decay. In every cell our fit with its defaults runs in turn with all solvers of scikit-learn:
ARPACK with four tolerances, randomized with three powers, dense. The best is the fastest one whose eigenvalues,
residuals and coordinates are as accurate as ours, or as our default tolerance promises (`_equal_accuracy.py`). All
run once on 100 points before, which loads libraries; the first run of each cell counts, the order is reversed in
every second round, and there is no rest between runs.

The first round tries the settings of a solver from the fastest on (the loosest tolerance, the fewest iterations), until
one is accurate enough: further ones take longer. It leaves out what takes over 0.1 s and twice the time of the best for
certain: settings slower than one that does, and the dense solver where it did for fewer components. Later rounds repeat
ours, and those that are accurate and took at most twice the time of the best, or 0.1 s.

    python benchmarks/speed/grid.py --jobs 8 --results > printed.txt      # everything, processes on cores of their own
    python benchmarks/speed/grid.py --merge printed.txt --record
    python benchmarks/speed/grid.py --threads 1 --n 100 200 500           # some sizes (also --k, --data, --dtype)

With `--jobs` so many processes measure at a time, each of which has cores to itself: two for those of two threads.

Observe: "ratio" is scikit-learn's time over ours, of minima and of medians; above 1 we are faster. Components that
the data do not determine (rounding) are dropped by our fit with a warning and are not compared; "kept" counts the rest.
"""

import argparse
import gc
import os
import queue
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _processes import again_with_threads

SIZES = (20, 50, 100, 200, 300, 500, 1000, 2000)
COMPONENTS = (2, 10, 50, 200)
DTYPES = ("float64", "float32")
KINDS = ("blobs", "isotropic", "swiss roll", "low rank", "flat")
METHODS = ("fit", "fit_transform")
THREADS = (1, 2)
# Our time may be this much longer than scikit-learn's: what two runs of the same code differ by.
ALLOWED = 1.1
# Runs of scikit-learn slower than this, relative to its best, are not repeated.
HOPELESS = 2.0
# Seconds of runs that are always repeated: something else may have disturbed the first one.
SHORT = 0.1
# Rounds of every cell, however long they take: with fewer, a median means nothing.
FEWEST = 3
# Cells that are named in a summary.
WORST = 25


class Cell:
    """Fits of one set of points with one number of components, in turn.

    Parameters
    ----------
    X : array of shape (n, d)
        In the precision of the cell.
    gamma, k, reference
        The width of the kernel, the number of components, and the right result.
    least_dense : float
        What the dense solver took for fewer components of the same points; zero if that is not known.
    method : str
        "fit" or "fit_transform".
    """

    def __init__(self, X, gamma, k, reference, least_dense, method):
        from _equal_accuracy import our_fit, peer_fits

        self.X, self.k, self.dtype, self.reference, self.method = X, k, str(X.dtype), reference, method
        self.ours, self.peers = our_fit(k, gamma, method), peer_fits(k, gamma, self.dtype, method)
        self.least = {"arpack": 0.0, "randomized": 0.0, "dense": least_dense}
        self.times, self.errors, self.kept = {}, {}, k

    def measure(self, repeats, seconds):
        from _equal_accuracy import OURS

        start = time.perf_counter()
        self._run(OURS, self.ours)
        for solver, settings in self.peers.items():
            for name, fit in settings.items():
                if self._is_hopeless(self.least[solver]):
                    break
                self._run(name, fit)
                self.least[solver] = self.times[name][0]
                if self._is_equal(name):
                    break
        close = [name for name in self._equal() if not self._is_hopeless(self.times[name][0])]
        fits = {OURS: self.ours} | {
            name: fit for settings in self.peers.values() for name, fit in settings.items() if name in close
        }
        for number in range(1, repeats):
            if number >= FEWEST and time.perf_counter() - start > seconds:
                break
            if len(self.X) >= 1000:  # it frees large matrices, and takes longer than a fit of few points
                gc.collect()
            for name in reversed(list(fits)) if number % 2 else list(fits):
                self._run(name, fits[name])

    def _run(self, name, fit):
        from _equal_accuracy import OURS, eigenpairs

        start = time.perf_counter()
        model = fit(self.X)
        self.times.setdefault(name, []).append(time.perf_counter() - start)
        if name not in self.errors:
            values, vectors = eigenpairs(model, self.kept)
            self.errors[name] = self.reference.errors(values, vectors)
            if name == OURS:
                self.kept = len(values)

    def _is_equal(self, name):
        from _equal_accuracy import OURS, is_equal

        return is_equal(self.errors[name], self.errors[OURS], self.dtype)

    def _equal(self):
        from _equal_accuracy import OURS

        return [name for name in self.times if name != OURS and self._is_equal(name)]

    def _is_hopeless(self, seconds):
        """Whether a time is so long that repeating it cannot make it the best."""
        return seconds > max(HOPELESS * self._best_time(), SHORT)

    def _best_time(self):
        return min((min(self.times[name]) for name in self._equal()), default=float("inf"))

    def summary(self):
        """Times of ours and of the best of scikit-learn."""
        import numpy as np
        from _equal_accuracy import OURS

        equal = self._equal() or [name for name in self.times if name.startswith("dense")]  # it is always accurate
        best = min(equal, key=lambda name: min(self.times[name]))
        ours, theirs = self.times[OURS], self.times[best]
        return {
            "k": self.k,
            "method": self.method,
            "dtype": self.dtype,
            "kept": self.kept,
            "ours": min(ours),
            "ours median": float(np.median(ours)),
            "theirs": min(theirs),
            "theirs median": float(np.median(theirs)),
            "best": best,
            "runs": len(ours),
            "errors": self.errors[OURS].numbers,
            "their errors": self.errors[best].numbers,
        }


def ratio(row, kind=""):
    """scikit-learn's time over ours; `kind` is " median" for that of medians."""
    return row["theirs" + kind] / row["ours" + kind]


def line(row):
    errors = lambda numbers: "/".join(f"{number:.0e}" for number in numbers)
    return (
        f"{row['threads']} {row['data']:11}{row['n']:6}{row['k']:5}{row['kept']:5} {row['dtype']} {row['method']:13}"
        f"{1e3 * row['ours']:9.2f}"
        f"{1e3 * row['ours median']:9.2f}{1e3 * row['theirs']:9.2f}{1e3 * row['theirs median']:9.2f}"
        f"{ratio(row):7.2f}{ratio(row, ' median'):7.2f}  {row['best']:17} {errors(row['errors'])} "
        f"{errors(row['their errors'])} {row['runs']}"
    )


HEADER = (
    f"  {'data':11}{'n':>6}{'k':>5}{'kept':>5} {'dtype':7} {'method':13}{'ours ms':>9}{'median':>9}{'theirs':>9}"
    f"{'median':>9}"
    f"{'ratio':>7}{'median':>7}  best solver       errors of eigenvalues/residuals/coordinates, ours and theirs; rounds"
)


def summary(rows):
    """What the grid says, in a few numbers."""
    import numpy as np

    values = {"cells": len(rows)}
    for kind, label in (("", "minima"), (" median", "medians")):
        ratios = np.array([ratio(row, kind) for row in rows])
        values |= {
            f"geometric mean of ratios of {label}": float(np.exp(np.log(ratios).mean())),
            f"worst ratio of {label}": float(ratios.min()),
            f"cells slower than allowed, {label}": int(np.sum(ratios < 1 / ALLOWED)),
        }
    return values


def cell_name(row):
    return (
        f"{row['data']}, n = {row['n']}, k = {row['k']}, {row['dtype']}, {row['method']}, "
        f"{row['threads']} thread{'s' * (row['threads'] > 1)}"
    )


def print_summary(rows):
    for name, value in summary(rows).items():
        print(f"{name}: {value:.3g}")
    for row in sorted(rows, key=ratio)[:WORST]:
        print(f"  {ratio(row):.2f} (medians {ratio(row, ' median'):.2f}): {cell_name(row)}; best {row['best']}")
    for threads in sorted({row["threads"] for row in rows}):
        for method in sorted({row["method"] for row in rows}):
            part = [row for row in rows if row["threads"] == threads and row["method"] == method]
            if part:
                print(f"\n{method}, threads {threads}: {summary(part)['geometric mean of ratios of minima']:.2f}")
                print_table(part)


def print_table(rows):
    columns = [(data, dtype) for data in KINDS for dtype in DTYPES]
    print("ratio of minima" + "".join(f"{data[:9] + ' ' + dtype[-2:]:>14}" for data, dtype in columns))
    for n, k in sorted({(row["n"], row["k"]) for row in rows}):
        found = {(row["data"], row["dtype"]): ratio(row) for row in rows if (row["n"], row["k"]) == (n, k)}
        entries = "".join(f"{found[column]:14.2f}" if column in found else f"{'':14}" for column in columns)
        print(f"{n:>9}{k:>6}{entries}")


# What a printed result has of a row, apart from its data set, which has blanks in its name.
PRINTED = {
    "n": int,
    "k": int,
    "kept": int,
    "dtype": str,
    "method": str,
    "threads": int,
    "ours": float,
    "ours median": float,
    "theirs": float,
    "theirs median": float,
    "runs": int,
}
MARK = "CELL "


def printed(row):
    values = [f"{row[key]:.3g}" if kind is float else str(row[key]) for key, kind in PRINTED.items()]
    return MARK + " ".join(values) + f" {row['data']}; {row['best']}"


def merged(paths):
    """Rows and machines that earlier runs printed."""
    return parsed(text for path in paths for text in path.read_text(encoding="utf-8").splitlines())


def parsed(lines):
    rows, machines = [], []
    for text in lines:
        if text.startswith(MARK):
            *values, rest = text.removeprefix(MARK).split(" ", len(PRINTED))
            row = {key: kind(value) for (key, kind), value in zip(PRINTED.items(), values, strict=True)}
            rows.append(row | dict(zip(("data", "best"), rest.split("; "), strict=True)))
        elif "NumPy" in text:
            machines.append(text)
    return rows, list(dict.fromkeys(machines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS, help="of BLAS, OpenMP and this library")
    parser.add_argument("--n", type=int, nargs="+", default=SIZES)
    parser.add_argument("--k", type=int, nargs="+", default=COMPONENTS)
    parser.add_argument("--data", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--dtype", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--method", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--repeats", type=int, default=200, help="largest number of rounds")
    parser.add_argument("--seconds", type=float, default=0.5, help="no further round of a cell begins after that")
    parser.add_argument("--jobs", type=int, default=1, help="cores that processes share among themselves")
    parser.add_argument("--cores", type=int, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--brief", action="store_true", help="only the summary, and cells that are too slow")
    parser.add_argument("--results", action="store_true", help="print lines for --merge instead of a table")
    parser.add_argument("--merge", type=Path, nargs="+", help="read what earlier runs printed instead of measuring")
    parser.add_argument("--record", action="store_true", help="keep the ratios for the texts that quote them")
    options = parser.parse_args()
    if options.cores:
        os.sched_setaffinity(0, options.cores)
    if options.merge:
        rows, machines = merged(options.merge)
    elif options.jobs > 1 or len(options.threads) > 1:
        rows, machines = in_processes(options)
    else:
        again_with_threads(options.threads[0])
        rows, machines = measure(options)
    if not options.results:
        print_summary(rows)
    if options.record:
        from _measure import record

        keep = {cell_name(row): ratio(row) for row in rows}
        record("grid", summary(rows) | keep, {"rounds": "at least 3"}, machine="; ".join(machines))


def in_processes(options):
    """Rows and machines of one process for each number of points, kind of points and number of threads."""
    cores = sorted(os.sched_getaffinity(0))[: options.jobs] if hasattr(os, "sched_getaffinity") else []
    found = []
    for threads in options.threads:
        free = queue.SimpleQueue()
        for first in range(0, max(options.jobs - threads + 1, 1), threads):
            free.put(cores[first : first + threads])
        jobs = [(n, data) for n in sorted(options.n, reverse=True) for data in options.data]  # the longest first

        def run(job, threads=threads, free=free):
            own = free.get()
            try:
                return printed_by_process(options, threads, *job, own)
            finally:
                free.put(own)

        with ThreadPoolExecutor(free.qsize()) as pool:
            for text in pool.map(run, jobs):
                found += text.splitlines()
                if options.results:
                    print(text, end="", flush=True)
    return parsed(found)


def printed_by_process(options, threads, n, data, cores):
    arguments = [sys.executable, __file__, "--results", "--threads", str(threads), "--n", str(n), "--data", data]
    for name in ("k", "dtype", "method"):
        arguments += [f"--{name}", *map(str, getattr(options, name))]
    arguments += ["--repeats", str(options.repeats), "--seconds", str(options.seconds)]
    arguments += ["--cores", *map(str, cores)] if cores else []
    return subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True).stdout


def measure(options):
    from _equal_accuracy import Reference, our_fit, peer_fits, points
    from _measure import describe_machine

    warnings.simplefilter("ignore")
    print(describe_machine())
    small, gamma = points("blobs", 100)
    for dtype in options.dtype:  # libraries are loaded, pools of threads started
        for fit in (our_fit(10, gamma), *(fit for all in peer_fits(10, gamma, dtype).values() for fit in all.values())):
            fit(small.astype(dtype))

    if not options.results:
        print(HEADER, flush=True)
    rows = []
    for n in options.n:
        for name in options.data:
            X, gamma = points(name, n)
            # All but one of the eigenvalues at most: centring takes one away.
            counts = sorted({min(k, n - 1) for k in options.k})
            reference = Reference(X, gamma, counts[-1])
            for dtype in options.dtype:
                for method in options.method:
                    least_dense = 0.0
                    for k in counts:
                        cell = Cell(X.astype(dtype), gamma, k, reference, least_dense, method)
                        cell.measure(options.repeats, options.seconds)
                        least_dense = max(least_dense, min(cell.times.get("dense", [0.0])))
                        rows.append({"data": name, "n": n, "threads": options.threads[0]} | cell.summary())
                        if not options.brief or ratio(rows[-1]) < 1 / ALLOWED:
                            print(printed(rows[-1]) if options.results else line(rows[-1]), flush=True)
    return rows, [describe_machine()]


if __name__ == "__main__":
    main()
