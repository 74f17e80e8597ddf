"""How few points does kernel ridge regression need, and what do as many points give that were chosen before fitting?

Question: kernel ridge regression on 2,000 points against itself on 10, 20 and 80 points by `compress`, and against
`make_pipeline(Nystroem(m), Ridge())` with as many components, which is what scikit-learn offers for small models.

Set-up: Friedman's function of ten variables, five of which matter, noise of deviation 1, 2,000 rows for training and
2,000 without noise for testing; inputs standardised. Width and ridge of kernel ridge regression by five-fold
cross-validation; Nystroem has the same width and its own ridge by cross-validation as well as a width of its own. R² on
test rows, mean over draws.

    python benchmarks/comparisons/compressed_regression.py --record --output docs/results/compressed_regression.md

Observe: R² at equal numbers of points.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from _cells import Cells, add_options, processor_time
from _measure import record
from _reports import option_parser, origin, publish

from preimage import compress

SIZES = (10, 20, 80)
GAMMAS, ALPHAS = (0.003, 0.01, 0.03, 0.1), (0.01, 0.1, 1.0)
N = 2000


def main():
    parser = option_parser(__doc__, "record", "output")
    add_options(parser)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    cells, tasks = Cells(options.cells), {f"{seed}": (seed,) for seed in range(options.draws)}
    scores = list(cells.compute(tasks, one_draw, options.jobs).values())
    values = {name: float(np.mean([score[name] for score in scores])) for name in scores[0]}
    machine, taken = cells.machine(tasks), processor_time(cells.seconds(tasks))
    publish(report_lines(values, options, origin(machine, taken)), options.output)
    if options.record:
        record("compressed_regression", values, {"draws": options.draws}, machine=machine, taken=taken)


def one_draw(seed):
    """R² of all models: {"all points": R², "compress, 10": R², ...}."""
    X, y = make_friedman1(N, noise=1.0, random_state=seed)
    X_test, y_test = make_friedman1(N, noise=0.0, random_state=1000 + seed)
    center, spread = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - center) / spread, (X_test - center) / spread
    mean = y.mean()  # neither machine has a constant of its own
    y, y_test = y - mean, y_test - mean
    search = GridSearchCV(KernelRidge(kernel="rbf"), {"gamma": GAMMAS, "alpha": ALPHAS}).fit(X, y)
    model = search.best_estimator_
    scores = {"all points": model.score(X_test, y_test)}
    for size in SIZES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            small = compress(model, size, X=X)
        scores[f"compress, {size}"] = small.score(X_test, y_test)
        pipeline = make_pipeline(Nystroem(n_components=size, random_state=seed), Ridge())
        grid = {"nystroem__gamma": GAMMAS, "ridge__alpha": (1e-6, 1e-4, *ALPHAS)}
        scores[f"Nystroem, {size}"] = GridSearchCV(pipeline, grid).fit(X, y).score(X_test, y_test)
    return scores


def report_lines(values, options, made_by):
    yield "# Kernel ridge regression on few points\n"
    yield made_by
    yield (
        f"Friedman's function, {N:,} rows with noise of deviation 1 for training, {N:,} without for testing; R² on "
        f"test rows, mean of {options.draws} draws. Width and ridge of all machines by five-fold cross-validation. "
        f"Kernel ridge regression on all points: {values['all points']:.3f}.\n"
    )
    yield "| points | `compress(model, points, X=X)` | `make_pipeline(Nystroem(points), Ridge())` |\n|---|---|---|"
    for size in SIZES:
        yield f"| {size} | {values[f'compress, {size}']:.3f} | {values[f'Nystroem, {size}']:.3f} |"


if __name__ == "__main__":
    main()
