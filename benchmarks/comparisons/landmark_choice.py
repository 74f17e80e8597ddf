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

    python benchmarks/comparisons/landmark_choice.py --jobs 16 --output OUT
    python benchmarks/comparisons/landmark_choice.py --quick

Observe: means of clusters beat every choice of rows for smooth kernels of Euclidean distances and inner products that
are not too narrow. Where the kernel is narrower than clusters are wide, has a kink, or rows are repeated codes of
categories (flare solar), they can be far worse than random rows, and "landmarks=m" takes rows.
"""

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans as LloydKMeans
from sklearn.datasets import load_digits, make_swiss_roll

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine
from _reports import option_parser, publish
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
FIELDS = ("data", "kernel", "m", "seed", "selector", "points", "lost", "held_out", "eigenvalue", "select", "fit")


def cell(name, kernel_name, sizes, seeds):
    """All selectors on one data set with one kernel."""
    warnings.simplefilter("ignore")
    X, Z = rows_of(name)
    kernel = kernels(X)[kernel_name]
    try:
        exact = KernelPCA(COMPONENTS, kernel=kernel).fit(X)
    except ValueError as error:  # a kernel that cannot tell these rows apart
        return [], f"{name}, {kernel_name}: {error}"
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
    return records, None


def table(records, field, kernel_name):
    """Geometric means over data sets and seeds, one row for each m; errors below 1e-6 count as that."""
    lines = [f"| m | {' | '.join(SELECTORS)} |", "|---" * (len(SELECTORS) + 1) + "|"]
    for m in sorted({record["m"] for record in records}):
        means = []
        for label in SELECTORS:
            found = [r[field] for r in records if (r["kernel"], r["m"], r["selector"]) == (kernel_name, m, label)]
            means.append(f"{np.exp(np.mean(np.log(np.maximum(found, 1e-6)))):.2g}")
        lines.append(f"| {m} | {' | '.join(means)} |")
    return "\n".join(lines)


def mean_by_cell(records, field):
    """Means over seeds, by (data, kernel, m, selector)."""
    cells = {}
    for r in records:
        cells.setdefault((r["data"], r["kernel"], r["m"], r["selector"]), []).append(r[field])
    return {key: float(np.mean(found)) for key, found in cells.items()}


def verdicts(records, ours="landmarks=m"):
    """How the default fares against the others, cell by cell; errors below 1e-6 are rounding, and count as equal."""
    lines = []
    for field in ("lost", "held_out", "eigenvalue"):
        means = mean_by_cell(records, field)
        for other in SELECTORS:
            if other == ours:
                continue
            pairs = [(key, means[key], means[(*key[:3], other)]) for key in means if key[3] == ours]
            ratios = {key[:3]: max(a, 1e-6) / max(b, 1e-6) for key, a, b in pairs}
            worse = {key: ratio for key, ratio in ratios.items() if ratio > 1.05}
            worst = max(ratios, key=ratios.get)
            lines.append(
                f"- {field} against {other}: geometric mean of the ratio "
                f"{np.exp(np.mean(np.log(list(ratios.values())))):.2f}, larger by more than 5 % in {len(worse)} of "
                f"{len(ratios)} cells, largest {ratios[worst]:.2f} ({', '.join(map(str, worst))})"
            )
    for field in ("select", "fit"):
        means = mean_by_cell(records, field)
        for other in SELECTORS:
            ratios = [means[key] / means[(*key[:3], other)] for key in means if key[3] == ours]
            lines.append(f"- time, {field}, against {other}: median of the ratio {np.median(ratios):.2f}")
    return "\n".join(lines)


def report(records):
    parts = ["Geometric means over data sets and seeds of the variance that is lost on held-out rows:"]
    for kernel_name in dict.fromkeys(r["kernel"] for r in records):
        parts += [f"\n{kernel_name}\n", table(records, "held_out", kernel_name)]
    parts.append("\nThe same over rows of the fit:")
    for kernel_name in dict.fromkeys(r["kernel"] for r in records):
        parts += [f"\n{kernel_name}\n", table(records, "lost", kernel_name)]
    for field, words in (("select", "Seconds of the choice"), ("fit", "Seconds of the whole fit")):
        parts += [f"\n{words}, geometric means over data sets, Gaussian of the median width:\n"]
        parts.append(table(records, field, "Gaussian, median"))
    return "\n".join([*parts, "\nThe default, cell by cell (means over seeds):\n", verdicts(records)])


def main():
    parser = option_parser(__doc__, "jobs")
    parser.add_argument("--quick", action="store_true", help="three data sets, m = 50, one seed")
    parser.add_argument("--output", type=Path, help="folder for landmark_choice.csv and landmark_choice.md")
    options = parser.parse_args()
    names = ("digits", "banana", "titanic") if options.quick else tuple(DATA)
    sizes, seeds = (SIZES[:1], SEEDS[:1]) if options.quick else (SIZES, SEEDS)
    some = kernels(np.eye(3))
    tasks = [delayed(cell)(name, kernel_name, sizes, seeds) for name in names for kernel_name in some]
    records = []
    for found, problem in Parallel(n_jobs=options.jobs, return_as="generator")(tasks):
        records += found
        if problem:
            print(problem, flush=True)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    page = None if options.output is None else options.output / "landmark_choice.md"
    publish([describe_machine(), "", report(records)], page)
    if options.output is not None:
        with open(options.output / "landmark_choice.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in r.items()} for r in records)


if __name__ == "__main__":
    main()
