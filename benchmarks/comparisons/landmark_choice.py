"""Which landmarks hold most of the leading components, and what do they cost? What should ``landmarks=m`` mean?

Set-up: sixteen data sets (at most 3,000 rows to fit, other rows to judge), eight kernels (Gaussian of four widths:
γ = 16, 4, 1 and 1/16 times that of the median rule; Laplacian, Matérn with ν = 1/2, cubic polynomial, cosine), m = 50,
150 and 500 landmarks, 20 components, two seeds. For every selector:

    lost        1 − (variance along 20 components on landmarks) / (the same of exact kernel PCA), on the rows of the fit
    held out    the same on rows that had no part in the fit
    eigenvalue  the largest relative error of the leading ten eigenvalues
    select      seconds of the choice alone
    fit         seconds of the whole fit

All selectors look at all rows of the fit. "greedy 59" is `SparseGreedy`, "greedy 10" the same with ten candidates for
each landmark; "lloyd 10" is scikit-learn's k-means with ten iterations from random rows, "k-means++" the same with its
default start, run until it converges; "KMeans" is ours, and "landmarks=m" what the number means.

    OMP_NUM_THREADS=1 python benchmarks/comparisons/landmark_choice.py --jobs 16 --record
    python benchmarks/comparisons/landmark_choice.py --quick

Observe: means of clusters beat every choice of rows for smooth kernels of Euclidean distances and inner products that
are not too narrow. Where the kernel is narrower than clusters are wide, has a kink, or rows are repeated codes of
categories (flare solar), they can be far worse than random rows, and "landmarks=m" takes rows.
"""

import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans as LloydKMeans
from sklearn.datasets import load_digits, make_swiss_roll

sys.path.insert(0, str(Path(__file__).parents[1]))
from _cells import Cells, add_options, processor_time
from _measure import command, record
from _reports import option_parser, publish, stamped, table
from data import load_abalone, load_coil20, load_haxby, load_ida, load_mnist, load_usps

from preimage import KernelPCA
from preimage._models.components import Wanted, landmark_subspace
from preimage.feature_space import KernelMoments
from preimage.kernels import Cosine, Gaussian, Laplacian, Matern, Polynomial, resolve_gamma
from preimage.landmarks import AutoLandmarks, KMeans, RandomlyPivotedCholesky, SparseGreedy, Uniform

COMPONENTS = 20
SIZES = (50, 150, 500)
SEEDS = (0, 1)
MOST_ROWS, MOST_JUDGES = 3000, 1000
OURS, TIMED, NARROWEST = "landmarks=m", "Gaussian, median", "Gaussian, 16 × median"


def standardized(X):
    X = np.asarray(X, dtype=float)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def with_outliers():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(size=(3800, 5)), rng.uniform(-20, 20, size=(200, 5))])


DATA = {
    "USPS": lambda: np.vstack([load_usps().X_train, load_usps().X_test]),
    "MNIST": lambda: load_mnist().X_test / 255.0,
    "COIL-20": lambda: load_coil20().X / 255.0,
    "digits": lambda: load_digits().data / 16.0,
    "Haxby": lambda: standardized(load_haxby().X),
    "abalone": lambda: standardized(load_abalone().X),
    "banana": lambda: load_ida("banana").X,
    "image": lambda: standardized(load_ida("image").X),
    "splice": lambda: standardized(load_ida("splice").X),
    "ringnorm": lambda: load_ida("ringnorm").X,
    "waveform": lambda: load_ida("waveform").X,
    "flare solar": lambda: standardized(load_ida("flare_solar").X),
    "titanic": lambda: load_ida("titanic").X,
    "swiss roll": lambda: make_swiss_roll(4000, noise=0.2, random_state=0)[0],
    "normal, 30-d": lambda: np.random.default_rng(0).normal(size=(4000, 30)),
    "outliers, 5-d": with_outliers,
}


def kernels(X):
    gamma = resolve_gamma("median", X)
    # Manhattan distances are about √d times Euclidean ones: the Laplacian decays over the same stretch.
    return {
        "Gaussian, 16 × median": Gaussian(16 * gamma),
        "Gaussian, 4 × median": Gaussian(4 * gamma),
        "Gaussian, median": Gaussian(gamma),
        "Gaussian, median / 16": Gaussian(gamma / 16),
        "Laplacian": Laplacian(float(np.sqrt(gamma / X.shape[1]))),
        "Matérn 1/2": Matern(gamma, 0.5),
        "cubic": Polynomial(3, gamma=1.0 / float(np.mean(np.sum(X * X, axis=1))), coef0=1.0),
        "cosine": Cosine(),
    }


def rows_of(name):
    """Rows to fit and rows to judge."""
    X = np.asarray(DATA[name](), dtype=float)
    order = np.random.default_rng(0).permutation(len(X))
    n = min(MOST_ROWS, 3 * len(X) // 4)
    return X[order[:n]], X[order[n : n + MOST_JUDGES]]


def rows_by(selector):
    return lambda kernel, X, m, seed: (
        selector(n_landmarks=m, sample_size=None, random_state=seed).select(kernel, X, judged=False).points
    )


def means_by(**options):
    def choose(kernel, X, m, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return LloydKMeans(min(m, len(X)), n_init=1, random_state=seed, **options).fit(X).cluster_centers_

    return choose


SELECTORS = {
    "uniform": rows_by(Uniform),
    "rpcholesky": rows_by(RandomlyPivotedCholesky),
    "greedy 59": rows_by(SparseGreedy),
    "greedy 10": rows_by(lambda **options: SparseGreedy(n_candidates=10, **options)),
    "lloyd 10": means_by(init="random", max_iter=10),
    "k-means++": means_by(),
    "KMeans": rows_by(KMeans),
    "landmarks=m": rows_by(AutoLandmarks),
}


def cell(name, kernel_name, sizes, seeds):
    """All selectors on one data set with one kernel."""
    X, Z = rows_of(name)
    kernel = kernels(X)[kernel_name]
    try:
        exact = KernelPCA(COMPONENTS, kernel=kernel).fit(X)
    except ValueError:  # a kernel that cannot tell these rows apart
        return []
    values = exact.eigenvalues_
    judged = float(np.sum(exact.transform(Z) ** 2))
    records = []
    for m in sizes:
        for seed in seeds:
            for label, choose in SELECTORS.items():
                start = time.perf_counter()
                points = choose(kernel, X, m, seed)
                chosen = time.perf_counter()
                found = landmark_subspace(KernelMoments.of(kernel, points, X), Wanted(COMPONENTS))
                end = time.perf_counter()
                ours = np.zeros(values.size)
                kept = np.asarray(found.eigenvalues, dtype=float)[: values.size]
                ours[: kept.size] = kept
                records.append(
                    {
                        "data": name,
                        "kernel": kernel_name,
                        "m": m,
                        "seed": seed,
                        "selector": label,
                        "points": len(points),
                        "lost": 1 - ours.sum() / values.sum(),
                        "held_out": 1 - float(np.sum(found.subspace.coordinates(Z) ** 2)) / judged,
                        "eigenvalue": float(np.max(np.abs(1 - ours[:10] / values[:10]))),
                        "select": chosen - start,
                        "fit": end - start,
                    }
                )
    return records


def geometric(numbers):
    """Errors below 1e-6 are rounding, and count as that."""
    return float(np.exp(np.mean(np.log(np.maximum(numbers, 1e-6)))))


def mean_by_cell(records, field):
    """Means over seeds, by (data, kernel, m, selector)."""
    cells = {}
    for r in records:
        cells.setdefault((r["data"], r["kernel"], r["m"], r["selector"]), []).append(r[field])
    return {key: float(np.mean(found)) for key, found in cells.items()}


def values_of(records):
    """What the page says: geometric means, and how a number of landmarks fares against the others, cell by cell."""
    values, first = {}, lambda field: dict.fromkeys(r[field] for r in records)
    for kernel, m, selector in product(first("kernel"), first("m"), SELECTORS):
        found = [r for r in records if (r["kernel"], r["m"], r["selector"]) == (kernel, m, selector)]
        for field in ("lost", "held_out"):
            values[f"{field}, {kernel}, {m}, {selector}"] = geometric([r[field] for r in found])
        if kernel == TIMED:
            values[f"seconds of the choice, {m}, {selector}"] = geometric([r["select"] for r in found])
    for field, other in product(("lost", "held_out", "fit"), SELECTORS):
        if other == OURS:
            continue
        means = mean_by_cell(records, field)
        ours = {key[:3]: max(mean, 1e-6) for key, mean in means.items() if key[3] == OURS}
        ratios = {key: mean / max(means[*key, other], 1e-6) for key, mean in ours.items()}
        values["cells"] = len(ratios)
        if field == "fit":
            values[f"time of the fit over {other}, median"] = float(np.median(list(ratios.values())))
            continue
        wide = [ratio for key, ratio in ratios.items() if key[1] != NARROWEST]
        values[f"{field} over {other}"] = geometric(list(ratios.values()))
        values[f"{field} over {other} without the narrowest"] = geometric(wide)
        values[f"{field} more than {other} by over 5 %"] = sum(ratio > 1.05 for ratio in ratios.values())
    return values


def section(contents):
    """What a page says from the record of a run."""
    values = contents["values"]
    kernels, sizes = contents["settings"]["kernels"], contents["settings"]["sizes"]
    yield from stamped("## What a number of landmarks means\n", contents)
    yield (
        f"{len(contents['settings']['data'])} data sets of at most {MOST_ROWS:,} rows, {len(kernels)} kernels, 20 "
        'components, two seeds. "Lost" is the fraction of the variance along 20 components of exact kernel PCA that '
        "landmarks do not hold; tables have geometric means over the data sets and seeds, on rows of the fit. "
        "`greedy 59` is `SparseGreedy`, `greedy 10` the same with ten candidates for each landmark; `lloyd 10` is "
        "scikit-learn's k-means with ten iterations from random rows, `k-means++` its default until it converges; "
        "`KMeans` is ours, and the last column is what `landmarks=m` means: `AutoLandmarks(m)`.\n"
    )
    yield from table(
        ["kernel", "m", *SELECTORS],
        [
            [
                kernel if m == sizes[0] else "",
                str(m),
                *(f"{values[f'lost, {kernel}, {m}, {selector}']:.2g}" for selector in SELECTORS),
            ]
            for kernel, m in product(kernels, sizes)
        ],
    )
    yield (
        f"\nCell by cell (a data set, a kernel and an m; means over seeds; {values['cells']:.0f} cells; errors below "
        "1e-6 count as 1e-6). In parentheses without the narrowest Gaussian, where twenty exact components are single "
        "rows of the fit and say little about others: there centres hold more of held-out rows than exact components "
        "do.\n"
    )
    header = ["`landmarks=m` against", "lost, geometric mean of the ratio", "the same, held-out rows"]
    rows = []
    for other in SELECTORS:
        if other != OURS:
            both = [
                f"{values[f'{field} over {other}']:.2f} ({values[f'{field} over {other} without the narrowest']:.2f})"
                for field in ("lost", "held_out")
            ]
            more = [f"{values[f'{field} more than {other} by over 5 %']:.0f}" for field in ("lost", "held_out")]
            rows.append([other, *both, *more, f"{values[f'time of the fit over {other}, median']:.2f}"])
    more = ["lost more by over 5 %, cells", "held-out rows, cells"]
    yield from table([*header, *more, "time of the fit, median ratio"], rows)
    yield (
        "\nFor smooth kernels centres hold more than rows at every width up to four times the median rule's γ. Where "
        "the kernel has a kink (Laplacian, Matérn 1/2) or rows are repeated codes (flare solar, titanic), rows are "
        "better. Where it is narrower than clusters are wide, centres hold nothing. `AutoLandmarks` recognises these "
        "cases and takes rows.\n"
    )
    seconds = lambda m: [f"{values[f'seconds of the choice, {m}, {selector}']:.2g}" for selector in SELECTORS]
    yield from table(
        ["seconds of the choice, Gaussian of the median width", *SELECTORS], [[f"m = {m}", *seconds(m)] for m in sizes]
    )
    yield ""


def main():
    parser = option_parser(__doc__, "record", "output")
    add_options(parser)
    parser.add_argument("--quick", action="store_true", help="three data sets, m = 50, one seed")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    options = parser.parse_args()
    names = ("digits", "banana", "titanic") if options.quick else options.data
    sizes, seeds = (SIZES[:1], SEEDS[:1]) if options.quick else (SIZES, SEEDS)
    some = list(kernels(np.eye(3)))
    cells = Cells(options.cells)
    tasks = {f"{name} | {kernel}": (name, kernel, sizes, seeds) for name in names for kernel in some}
    records = [each for found in cells.compute(tasks, cell, options.jobs).values() for each in found]
    settings = {"data": list(names), "kernels": some, "sizes": list(sizes), "components": COMPONENTS}
    machine, taken = cells.machine(tasks), processor_time(cells.seconds(tasks))
    contents = {"values": values_of(records), "settings": settings, "command": command()}
    publish(section(contents | {"machine": machine, "duration": taken}), options.output)
    if options.record:
        record("landmark_choice", contents["values"], settings, machine=machine, taken=taken)


if __name__ == "__main__":
    main()
