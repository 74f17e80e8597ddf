"""Is exact kernel PCA anywhere slower than scikit-learn's best solver at equal accuracy?

Set-up: n points × k components × three kinds of points × two precisions. Points: 30 Gaussian blobs in 30 dimensions
(deviation 3), one isotropic Gaussian in 30 dimensions (a flat spectrum), a swiss roll; Gaussian kernel with
γ = 1/(2 · median squared distance). In every cell our fit with its defaults runs in turn with all solvers of
scikit-learn in several settings (ARPACK with four tolerances, randomized with three powers, dense). The best is the
fastest one whose eigenvalues, residuals and coordinates are as accurate as ours or as our default tolerance promises
(`_equal_accuracy.py`). All run once on 100 points before, which loads libraries; the first run of each cell
counts, the order is reversed in every second round, and there is no rest between runs.

Solvers of scikit-learn that are inaccurate, or take over twice the time of its best one, are not repeated after the
first round; the dense solver is left out where it took over twice the time of the best one for fewer components.

    python benchmarks/speed/grid.py --threads 1                           # everything
    python benchmarks/speed/grid.py --threads 1 --n 100 200 500           # some sizes (also --k, --data, --dtype)
    python benchmarks/speed/grid.py --threads 2 --json grid.json          # keeps all numbers

Observe: "ratio" is scikit-learn's time over ours, of minima and of medians; above 1 we are faster. Components that
the data do not determine (rounding) are dropped by our fit with a warning and are not compared; "kept" counts the rest.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _processes import again_with_threads

SIZES = (100, 200, 500, 1000, 2000, 5000)
COMPONENTS = (2, 10, 50, 200)
DTYPES = ("float64", "float32")
KINDS = ("blobs", "isotropic", "swiss roll")
# Our time may be this much longer than scikit-learn's: what two runs of the same code differ by.
ALLOWED = 1.1
# Runs of scikit-learn slower than this, relative to its best, are not repeated.
HOPELESS = 2.0
# Rounds of every cell, however long they take: with fewer, a median means nothing.
FEWEST = 3


def measure_cell(X, gamma, k, dtype, reference, least_dense, repeats, seconds):
    """Times and errors of every candidate in turn: {name: ([seconds], Errors)}.

    `least_dense` is what the dense solver took for fewer components of the same points, zero if that is not known.
    """
    from _equal_accuracy import OURS, candidates, eigenpairs, is_equal
    from _measure import timed

    data = X.astype(dtype)
    fits = candidates(k, gamma, dtype)
    times = {name: [] for name in fits}
    errors = {}
    start = time.perf_counter()
    for round_number in range(repeats):
        for name in reversed(list(fits)) if round_number % 2 else list(fits):
            if name == "dense" and not errors.get(name) and _beaten(least_dense, times, errors, dtype):
                continue
            elapsed, model = timed(lambda: fits[name](data))
            times[name].append(elapsed)
            if name not in errors:
                kept = k if name == OURS else errors[OURS][0]
                values, vectors = eigenpairs(model, kept)
                errors[name] = len(values), reference.errors(values, vectors)
            model = None
        if round_number == 0:
            equal = [name for name in errors if name != OURS and is_equal(errors[name][1], errors[OURS][1], dtype)]
            best = min(times[name][0] for name in equal)
            fits = {name: fit for name, fit in fits.items() if name == OURS or _is_close(name, equal, times, best)}
        if round_number + 1 >= FEWEST and time.perf_counter() - start > seconds:
            break
    return {name: (runs, *errors[name]) for name, runs in times.items() if runs}


def _beaten(least_dense, times, errors, dtype):
    """Whether another solver, already measured, is so fast that the dense one cannot be the best."""
    from _equal_accuracy import OURS, is_equal

    ours = errors[OURS][1]
    others = [times[name][0] for name in errors if name != OURS and is_equal(errors[name][1], ours, dtype)]
    return bool(others) and least_dense > HOPELESS * min(others)


def _is_close(name, equal, times, best):
    return name in equal and times[name][0] <= HOPELESS * best


def summarize(cell, measured):
    """The row of a cell: times of ours and of the best of scikit-learn, by minima and by medians."""
    import numpy as np
    from _equal_accuracy import OURS, is_equal

    runs, kept, ours = measured[OURS]
    equal = {name: runs for name, (runs, _, errors) in measured.items() if name != OURS}
    equal = {name: runs for name, runs in equal.items() if is_equal(measured[name][2], ours, cell["dtype"])}
    best = min(equal, key=lambda name: min(equal[name]))
    return cell | {
        "kept": kept,
        "ours": min(runs),
        "ours median": float(np.median(runs)),
        "best": best,
        "theirs": min(equal[best]),
        "theirs median": float(np.median(equal[best])),
        "ratio": min(equal[best]) / min(runs),
        "ratio of medians": float(np.median(equal[best]) / np.median(runs)),
        "errors": ours.numbers,
        "their errors": measured[best][2].numbers,
        "runs": len(runs),
    }


def line(row):
    errors = lambda numbers: "/".join(f"{number:.0e}" for number in numbers)
    return (
        f"{row['data']:11}{row['n']:6}{row['k']:5}{row['kept']:5} {row['dtype']}{1e3 * row['ours']:9.2f}"
        f"{1e3 * row['ours median']:9.2f}{1e3 * row['theirs']:9.2f}{1e3 * row['theirs median']:9.2f}"
        f"{row['ratio']:7.2f}{row['ratio of medians']:7.2f}  {row['best']:17} {errors(row['errors'])} "
        f"{errors(row['their errors'])} {row['runs']}"
    )


HEADER = (
    f"{'data':11}{'n':>6}{'k':>5}{'kept':>5} {'dtype':7}{'ours ms':>9}{'median':>9}{'theirs':>9}{'median':>9}"
    f"{'ratio':>7}{'median':>7}  best solver       errors of eigenvalues/residuals/coordinates, ours and theirs; rounds"
)


def print_summary(rows):
    import numpy as np

    for key in ("ratio", "ratio of medians"):
        ratios = np.array([row[key] for row in rows])
        worst = rows[int(ratios.argmin())]
        below = int(np.sum(ratios < 1 / ALLOWED))
        print(
            f"{key}: geometric mean {np.exp(np.log(ratios).mean()):.2f}, worst {ratios.min():.2f} ({worst['data']}, "
            f"n = {worst['n']}, k = {worst['k']}, {worst['dtype']}), {below} of {len(rows)} cells below 1/{ALLOWED}"
        )
    columns = sorted({(row["data"], row["dtype"]) for row in rows})
    print("\nratio of minima" + "".join(f"{data[:9] + ' ' + dtype[-2:]:>14}" for data, dtype in columns))
    for n, k in sorted({(row["n"], row["k"]) for row in rows}):
        found = {(row["data"], row["dtype"]): row["ratio"] for row in rows if (row["n"], row["k"]) == (n, k)}
        entries = "".join(f"{found[column]:14.2f}" if column in found else f"{'':14}" for column in columns)
        print(f"{n:>9}{k:>6}{entries}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, help="of BLAS, OpenMP and this library; all when left out")
    parser.add_argument("--n", type=int, nargs="+", default=SIZES)
    parser.add_argument("--k", type=int, nargs="+", default=COMPONENTS)
    parser.add_argument("--data", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--dtype", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--repeats", type=int, default=7, help="largest number of rounds")
    parser.add_argument("--seconds", type=float, default=2.0, help="no further round of a cell begins after that")
    parser.add_argument("--brief", action="store_true", help="only the summary and cells that are too slow")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    options = parser.parse_args()
    again_with_threads(options.threads)

    from _equal_accuracy import Reference, candidates, points
    from _measure import describe_machine

    warnings.simplefilter("ignore")
    print(describe_machine())
    small, gamma = points("blobs", 100)
    for dtype in options.dtype:  # libraries are loaded, pools of threads started
        for fit in candidates(10, gamma, dtype).values():
            fit(small.astype(dtype))

    print(HEADER, flush=True)
    rows = []
    for n in options.n:
        for name in options.data:
            X, gamma = points(name, n)
            # All but one of the eigenvalues at most: centring takes one away.
            counts = sorted({min(k, n - 1) for k in options.k})
            reference = Reference(X, gamma, counts[-1])
            for dtype in options.dtype:
                least_dense = 0.0
                for k in counts:
                    repeats = options.repeats, options.seconds
                    measured = measure_cell(X, gamma, k, dtype, reference, least_dense, *repeats)
                    if "dense" in measured:
                        least_dense = min(measured["dense"][0])
                    rows.append(summarize({"data": name, "n": n, "k": k, "dtype": dtype}, measured))
                    if not options.brief or rows[-1]["ratio"] < 1 / ALLOWED:
                        print(line(rows[-1]), flush=True)
    print_summary(rows)
    if options.json:
        options.json.write_text(json.dumps({"machine": describe_machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
