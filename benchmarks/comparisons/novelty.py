"""Is the reconstruction error of kernel PCA a good novelty score when nothing is tuned?

Question: `KernelPCA(0.95, gamma="median").reconstruction_error` against the detectors that scikit-learn has, each with
its default settings, and against the reconstruction error of linear PCA at the same fraction of the variance.

Set-up: one task per data set: the rows of its largest class are normal, all others are novel. Every set of classes of
the library and of scikit-learn that is small enough for a table of minutes and has at least 100 rows of the largest
class is taken, whether or not novelty can tell its classes apart (in some no detector does). Half of the normal rows
(at most 500) are for training; the other half and the novel rows (at most 1,000 of each) for testing. Columns are
standardised by the training rows, except pixels. The area under the ROC curve, mean over draws of the halves. Nothing
is tuned.

    python benchmarks/comparisons/novelty.py --record --output docs/results/novelty.md

Observe: the mean over all tasks, and in how many tasks each detector is the best.
"""

import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets as bundled
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import record
from _reports import option_parser, origin, publish

from preimage import KernelPCA
from preimage.datasets import IDA_NAMES, load_ida, load_ionosphere, load_usps

BUNDLED = {"digits": bundled.load_digits, "breast cancer (Wisconsin)": bundled.load_breast_cancer}
PIXELS = ("digits", "usps")
TASKS = [*BUNDLED, *IDA_NAMES, "ionosphere", "usps"]
N_TRAIN, N_TEST = 500, 1000
OURS = "KernelPCA(0.95)"


def main():
    parser = option_parser(__doc__, "jobs", "record", "output")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    settings = {"tasks": options.tasks, "draws": options.draws}
    jobs = (delayed(areas_of)(task, options.draws) for task in options.tasks)
    areas = dict(zip(options.tasks, Parallel(n_jobs=options.jobs)(jobs), strict=True))
    publish(report_lines(areas, options), options.output)
    if options.record:
        record("novelty", values_of(areas), settings)


def measure(tasks=TASKS, draws=10):
    """{"task, detector": area, "mean, detector": mean over tasks}, what the record holds."""
    return values_of({task: areas_of(task, draws) for task in tasks})


def areas_of(task, draws):
    """Mean area under the ROC curve over draws, {detector: area}."""
    X, is_normal = load(task)
    areas = [areas_of_draw(X, is_normal, task in PIXELS, seed) for seed in range(draws)]
    return {name: float(np.mean([each[name] for each in areas])) for name in areas[0]}


def load(task):
    """Rows, and which of them belong to the largest class."""
    if task in BUNDLED:
        X, y = BUNDLED[task](return_X_y=True)
    elif task in IDA_NAMES:
        data = load_ida(task)
        X, y = data.X, data.y
    elif task == "usps":
        data = load_usps()
        X, y = data.X_train, data.y_train
    else:
        data = load_ionosphere()
        X, y = data.X, data.y
    classes, counts = np.unique(y, return_counts=True)
    return np.asarray(X, dtype=float), y == classes[np.argmax(counts)]


def areas_of_draw(X, is_normal, are_pixels, seed):
    rng = np.random.default_rng(seed)
    normal, novel = (rng.permutation(np.flatnonzero(rows)) for rows in (is_normal, ~is_normal))
    half = len(normal) // 2
    train, held = normal[: min(half, N_TRAIN)], normal[half:][:N_TEST]
    test = np.concatenate([held, novel[:N_TEST]])
    truth = np.arange(len(test)) >= len(held)
    if not are_pixels:
        scale = X[train].std(axis=0)
        X = (X - X[train].mean(axis=0)) / np.where(scale > 0, scale, 1)
    return {name: roc_auc_score(truth, score(X[train], X[test], seed)) for name, score in DETECTORS.items()}


def by_kernel_pca(X, Z, seed):
    return KernelPCA(0.95, gamma="median").fit(X).reconstruction_error(Z)


def by_linear_pca(X, Z, seed):
    model = PCA(0.95).fit(X)
    return np.sum((model.inverse_transform(model.transform(Z)) - Z) ** 2, axis=1)


DETECTORS = {
    OURS: by_kernel_pca,
    "LocalOutlierFactor": lambda X, Z, seed: -LocalOutlierFactor(novelty=True).fit(X).score_samples(Z),
    "IsolationForest": lambda X, Z, seed: -IsolationForest(random_state=seed).fit(X).score_samples(Z),
    "OneClassSVM": lambda X, Z, seed: -OneClassSVM().fit(X).score_samples(Z),
    "PCA(0.95)": by_linear_pca,
}


def values_of(areas):
    values = {f"{task}, {name}": area for task, row in areas.items() for name, area in row.items()}
    values |= {f"mean, {name}": np.mean([row[name] for row in areas.values()]) for name in DETECTORS}
    values |= {f"best, {name}": sum(max(row, key=row.get) == name for row in areas.values()) for name in DETECTORS}
    return values | {"tasks": len(areas)}


def report_lines(areas, options):
    values = values_of(areas)
    yield "# Novelty without tuning\n"
    yield origin()
    yield (
        "Area under the ROC curve of novelty scores, each detector with its default settings; the rows of the largest "
        f"class are normal, all others novel. Mean of {options.draws} draws: half of the normal rows (at most "
        f"{N_TRAIN}) for training, the others and the novel rows (at most {N_TEST:,} of each) for testing. Columns are "
        "standardised by the training rows, except pixels. Sets in which no detector can tell the classes apart are in "
        "the table too; no set was left out after its result was seen, and nothing was tuned.\n"
    )
    yield "| set | " + " | ".join(f"`{name}`" for name in DETECTORS) + " |"
    yield "|---|" + "---|" * len(DETECTORS)
    for task, row in areas.items():
        best = max(row.values())
        cells = [f"**{area:.3f}**" if area == best else f"{area:.3f}" for area in row.values()]
        yield f"| {task} | " + " | ".join(cells) + " |"
    yield "| mean | " + " | ".join(f"{values[f'mean, {name}']:.3f}" for name in DETECTORS) + " |"
    yield f"| best of {len(areas)} in | " + " | ".join(str(values[f"best, {name}"]) for name in DETECTORS) + " |"


if __name__ == "__main__":
    main()
