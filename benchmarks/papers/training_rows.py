"""How should rows of the training set be denoised: in their own basis, or by models that have not seen them?

Question: noisy rows are all there is, a model is fitted to them, and the same rows are to be denoised. Their noise is
in the basis. Is it better to denoise them by models fitted on other rows (cross-fitting, five folds), or by the model
of all rows with parameters chosen for that?

Set-up: data with added Gaussian noise; kernel PCA with all combinations of five widths, powers of two for the number of
components, and two penalties. For every candidate: the error of both ways, and Stein's estimate of it with the known
deviation of the noise, which for the model of all rows includes how the model changes with its rows. Then the recipe,
`DenoisingSearch().fit(X).denoise(X)`, which sees nothing but the noisy rows and estimates the noise as well, next to
linear PCA, scikit-learn's kernel PCA with its inverse transform, and posterior means under a Gaussian mixture: all
three are fitted to the same rows, with the parameters that have the smallest true error, which no user could know;
the mixture is also told the deviation of the noise.

What to observe: many components need cross-fitting, but few components with parameters chosen for that are better:
Stein's estimate finds them. "In, cross's" is what the recipe did before it distinguished rows of the training set.

Run: python benchmarks/papers/training_rows.py --jobs 16 --output table.md
"""

import os
import sys
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as Peer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture

sys.path.insert(0, str(Path(__file__).parents[1]))
from _reports import minutes, option_parser, origin_and_time, publish
from data import load_usps

from preimage import KernelPCA
from preimage.kernels import squared_distance_percentile
from preimage.model_selection import DenoisingSearch
from preimage.solvers import FixedPoint

WIDTHS = (1 / 8, 1 / 4, 1 / 2, 1, 4)  # multiples of the median squared distance
COMPONENTS = (2, 4, 8, 16, 32, 64, 128, 256)
PENALTIES = (0.0, 0.1)  # multiples of γ
FOLDS = 5


def digits(rng, n):
    X = load_digits().data / 16
    return X[rng.permutation(len(X))[:n]]


def usps(rng, n):
    X = load_usps().X_train
    return (X[rng.permutation(len(X))[:n]] + 1) / 2


def scans(rng, n, d, rank, amplitude):
    """A few slow time courses times maps: more columns than rows."""
    courses = np.cumsum(rng.normal(size=(n, rank)), axis=0)
    return amplitude * ((courses - courses.mean(axis=0)) / courses.std(axis=0)) @ rng.normal(size=(rank, d))


def spectra(rng, n):
    """Two peaks each."""
    t = np.linspace(0, 1, 100)
    places, widths = rng.uniform(0.2, 0.8, (2, n, 1)), rng.uniform(0.03, 0.1, (2, n, 1))
    return np.exp(-((t - places) ** 2) / 2 / widths**2).sum(axis=0)


def half_circle(rng, n):
    angle = rng.uniform(0, np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def sheet(rng, n):
    """A surface of two parameters in ten dimensions."""
    a, b, k = rng.uniform(0, 4, (n, 1)), rng.uniform(0, 1, (n, 1)), np.arange(1, 6)
    return np.hstack([np.cos(k * a), np.sin(k * a) * b])


# Clean data from a generator, and the deviation of the noise.
CASES = {
    "digits, 300 rows": (lambda rng: digits(rng, 300), 0.25),
    "digits, 600 rows": (lambda rng: digits(rng, 600), 0.3),
    "digits, 1,200 rows": (lambda rng: digits(rng, 1200), 0.25),
    "USPS, 600 rows": (lambda rng: usps(rng, 600), 0.3),
    "spectra, 200 × 100": (lambda rng: spectra(rng, 200), 0.15),
    "scans, 60 × 800": (lambda rng: scans(rng, 60, 800, 3, 1.0), 1.0),
    "scans, 150 × 500": (lambda rng: scans(rng, 150, 500, 5, 1.0), 1.0),
    "scans, 100 × 2,000, weak": (lambda rng: scans(rng, 100, 2000, 4, 0.3), 1.0),
    "sheet, 400 × 10": (lambda rng: sheet(rng, 400), 0.3),
    "half circle, 300 × 2": (lambda rng: half_circle(rng, 300), 0.1),
}
PICTURES = ("digits, 300 rows", "digits, 600 rows", "digits, 1,200 rows", "USPS, 600 rows")
QUICK = ("spectra, 200 × 100", "scans, 60 × 800", "half circle, 300 × 2")


def main():
    options = parse_options()
    started = time.perf_counter()
    names = QUICK if options.quick else tuple(CASES)
    tasks = list(product(names, options.seeds, WIDTHS))
    tasks.sort(key=lambda task: "1,200" not in task[0])  # the longest first
    runs = sorted(product(names, options.seeds), key=lambda task: "1,200" not in task[0])
    rows = defaultdict(list)
    with ProcessPoolExecutor(options.jobs) as pool:
        recipes = pool.map(recipe, runs)
        for (name, seed, _), found in zip(tasks, pool.map(candidates, tasks), strict=True):
            rows[name, seed] += found
        recipes = dict(zip(runs, recipes, strict=True))
    lines = [*report_lines(rows, names, options, time.perf_counter() - started), *recipe_lines(recipes, names, options)]
    publish(lines, options.output)


def parse_options():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one draw of data and noise for each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, with OMP_NUM_THREADS=1 each")
    parser.add_argument("--quick", action="store_true", help="small data only")
    return parser.parse_args()


def candidates(task):
    """{parameters, errors and estimates of both ways} for all candidates of one width."""
    warnings.simplefilter("ignore")
    name, seed, width = task
    make, deviation = CASES[name]
    rng = np.random.default_rng(seed)
    clean = make(rng)
    noisy = clean + deviation * rng.normal(size=clean.shape)
    probe, step = rng.choice([-1.0, 1.0], clean.shape), 0.1 * deviation
    fold = rng.permutation(len(clean)) % FOLDS
    gamma = 1 / (width * squared_distance_percentile(noisy, 50))
    counts = [count for count in COMPONENTS if count < 0.75 * len(clean)]
    moved = noisy + step * probe
    fit = lambda X: KernelPCA(counts[-1], gamma=gamma).fit(X)
    model, moved_model = fit(noisy), fit(moved)
    fold_models = [fit(noisy[fold != number]) for number in range(FOLDS)]
    found = []
    for count, penalty in product(counts, PENALTIES):
        solver = FixedPoint(penalty * gamma, tol=1e-4, max_iter=100)
        denoise = lambda model, X, count=count, solver=solver: denoised(model, solver, count, X)
        inside, inside_moved = denoise(model, noisy), denoise(moved_model, moved)
        outside, outside_moved = np.empty_like(noisy), np.empty_like(noisy)
        for number, other in enumerate(fold_models):
            outside[fold == number] = denoise(other, noisy[fold == number])
            outside_moved[fold == number] = denoise(other, moved[fold == number])
        entry = {"width": width, "components": count, "penalty": penalty, "noise": mean_square(noisy - clean)}
        for way, here, there in (("in", inside, inside_moved), ("cross", outside, outside_moved)):
            divergence = np.mean(probe * (there - here)) / step
            entry[way] = mean_square(here - clean)
            entry[way + " estimate"] = mean_square(here - noisy) + deviation**2 * (2 * divergence - 1)
        found.append(entry)
    return found


def recipe(task):
    """{method: error} for noisy rows and nothing else."""
    warnings.simplefilter("ignore")
    name, seed = task
    make, deviation = CASES[name]
    rng = np.random.default_rng(seed)
    clean = make(rng)
    noisy = clean + deviation * rng.normal(size=clean.shape)
    error = lambda Z: mean_square(Z - clean)
    search = DenoisingSearch().fit(noisy)
    model = search.best_estimator_
    found = {
        "noise": error(noisy),
        "as new rows": error(model.denoise(noisy)),
        "5 folds": error(model.denoise(noisy, cross_fit=5)),
        "10 folds": error(model.denoise(noisy, cross_fit=10)),
        "recipe": error(search.denoise(noisy)),
        "recipe in the box": np.nan,
        "linear PCA": min(error(Z) for Z in linear(noisy)),
        "scikit-learn": min(error(Z) for Z in scikit_learn(noisy)),
        "mixture": min((error(Z) for Z in mixtures(noisy, deviation)), default=np.nan),
        "way": search.criterion_
        + (", own parameters" if search.training_estimator_ is not model else ", new rows'")
        + ("" if search.cross_fit_ is None else f", {search.cross_fit_} folds"),
    }
    if name in PICTURES:
        found["recipe in the box"] = error(DenoisingSearch(bounds=(0, 1)).fit(noisy).denoise(noisy))
    return found


def linear(X):
    mean = X.mean(axis=0)
    axes = np.linalg.svd(X - mean, full_matrices=False)[2]
    for n in range(1, min(60, len(axes)) + 1):
        yield mean + (X - mean) @ axes[:n].T @ axes[:n]


def scikit_learn(X):
    """Kernel PCA with a learned inverse: kernel ridge regression from coordinates to inputs with the same γ."""
    median = squared_distance_percentile(X, 50)
    for width in (1 / 4, 1 / 2, 1, 2, 4, 16):
        Y = Peer(min(128, len(X) // 2), kernel="rbf", gamma=1 / (width * median), eigen_solver="dense").fit_transform(X)
        for count in (4, 8, 16, 32, 64, 128):
            if count > Y.shape[1]:
                continue
            values, vectors = np.linalg.eigh(rbf_kernel(Y[:, :count], gamma=1 / (width * median)))
            projected = vectors.T @ X
            for alpha in (1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
                yield vectors @ (projected * (values / (values + alpha))[:, None])


def mixtures(X, deviation):
    """Posterior means of the clean rows under a mixture of Gaussians fitted to the noisy ones."""
    for count in (1, 2, 5, 10, 20, 40):
        if X.shape[1] > 300 or count > len(X) // 10:  # too many parameters
            continue
        mixture = GaussianMixture(count, reg_covar=1e-3 * deviation**2, random_state=0).fit(X)
        for shrink in (0.0, 0.3):  # of covariances towards multiples of the identity: few rows estimate them badly
            Z = np.zeros_like(X)
            for weight, mean, covariance in zip(mixture.predict_proba(X).T, mixture.means_, mixture.covariances_):
                level = np.trace(covariance) / len(covariance)
                values, vectors = np.linalg.eigh((1 - shrink) * covariance + shrink * level * np.eye(len(covariance)))
                keep = np.maximum(values - deviation**2, 0) / np.maximum(values, deviation**2 * 1e-6)
                Z += weight[:, None] * (mean + (X - mean) @ (vectors * keep) @ vectors.T)
            yield Z


def recipe_lines(recipes, names, options):
    yield "\n## The recipe, nothing clean\n"
    yield (
        "`DenoisingSearch().fit(X).denoise(X)`; before, its model for new rows also denoised the rows it was fitted to "
        "(`as new rows`). The last three have the best of their parameters by the true error.\n"
    )
    columns = [key for key in recipes[names[0], options.seeds[0]] if key != "way"]
    yield "| data | " + " | ".join(columns) + " | chosen (first draw) |"
    yield "| --- " * (len(columns) + 2) + "|"
    for name in names:
        draws = [recipes[name, seed] for seed in options.seeds]
        means = [float(np.mean([draw[key] for draw in draws])) for key in columns]
        cells = " | ".join("" if np.isnan(value) else f"{value:.4f}" for value in means)
        yield f"| {name} | {cells} | {draws[0]['way']} |"


def denoised(model, solver, count, X):
    subspace = model.subspace_.leading(min(count, model.n_components_))
    return solver.inverse(subspace, subspace.coordinates(X), X).points


def mean_square(difference):
    return float(np.mean(difference**2))


def report_lines(rows, names, options, seconds):
    yield "# Denoising the training rows\n"
    yield from origin_and_time(minutes(seconds))
    yield "Mean squared error per column, mean over draws; `own`: with the parameters that its estimate chooses.\n"
    yield "| data | noise | in, best | in, own | cross, best | cross, own | in, cross's | by estimate | wrong way |"
    yield "| --- " * 9 + "|"
    for name in names:
        table = defaultdict(list)
        for seed in options.seeds:
            found = rows[name, seed]
            inside, cross = (min(found, key=lambda row, way=way: row[way + " estimate"]) for way in ("in", "cross"))
            choice = ("in", inside) if inside["in estimate"] < cross["cross estimate"] else ("cross", cross)
            table["noise"].append(found[0]["noise"])
            table["in, best"].append(min(row["in"] for row in found))
            table["in, own"].append(inside["in"])
            table["cross, best"].append(min(row["cross"] for row in found))
            table["cross, own"].append(cross["cross"])
            table["in, cross's"].append(cross["in"])
            table["by estimate"].append(choice[1][choice[0]])
            table["wrong"].append(choice[1][choice[0]] > min(inside["in"], cross["cross"]))
        cells = " | ".join(f"{np.mean(table[key]):.4f}" for key in list(table)[:-1])
        yield f"| {name} | {cells} | {sum(table['wrong'])} of {len(options.seeds)} |"
    yield "\n## By the number of components\n"
    yield "Errors in / cross, means over draws, each with the best width and penalty for that number.\n"
    yield "| data | " + " | ".join(str(count) for count in COMPONENTS) + " |"
    yield "| --- " * (len(COMPONENTS) + 1) + "|"
    for name in names:
        yield f"| {name} | " + " | ".join(by_count(rows, name, count, options.seeds) for count in COMPONENTS) + " |"


def by_count(rows, name, count, seeds):
    found = [[row for row in rows[name, seed] if row["components"] == count] for seed in seeds]
    if not found[0]:
        return ""
    return " / ".join(f"{np.mean([min(row[way] for row in draw) for draw in found]):.4f}" for way in ("in", "cross"))


if __name__ == "__main__":
    main()
