"""Is a reconstruction with ``gamma="reconstruction"`` ever worse than PCA, or than scikit-learn's tuned inverse?

Questions: how much of a held-out row does `inverse_transform` give back from its coordinates if the width is chosen
for that, compared with linear PCA of as many components and with scikit-learn's learned inverse? What does the default
width cost? Do answers stay within the bounds of the model? How long does the first `inverse_transform` take?

Set-up: the seven sets of `way_back`, among them images of 16 × 16, with 8, 32 and 128 components; tables with heavy
tails (t with two degrees of freedom and log-normal, correlated or not), and curved sheets with noise, of 3 to 10
columns and 30 to 300 rows. scikit-learn's inverse has its width chosen among seven and its ridge among 33 by five-fold
cross-validation on the training rows, with kernel PCA repeated in each fold. PCA is left out where it would be the
identity. "Any map" is the smallest test error over all regressions on the coordinates of the default width that were
tried, chosen on the test rows: what these coordinates allow. Errors are mean squared errors per column on other rows;
a cell is a data set with a number of components, averaged over draws. Seconds are of one core's time.

Constants of the method were set on other data: Boston housing, ionosphere, MNIST, COIL, S curves, helices and IDA's
thyroid, heart, German and image sets, and tables of these kinds with other numbers of rows and columns and other random
numbers. Draw 0 of the data here was looked at meanwhile; the report is of draw 1 (`--first 1`).

What to observe: the choice is no worse than PCA beyond rounding in nearly all cells, and much better on curved data.
The default width loses to PCA wherever its coordinates do not hold what PCA keeps; no map can bring that back.

    OMP_NUM_THREADS=1 python benchmarks/comparisons/reconstruction.py --rows 300 --draws 1 --first 1 --record
"""

import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _cells import Cells, add_options, processor_time
from _measure import record
from _reports import option_parser, origin, publish, table
from way_back import ALPHAS, DATA, best_map_error, draw, mean_square

from preimage import KernelPCA
from preimage.kernels import resolve_gamma

COMPONENTS = (8, 32, 128)
WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
FOLDS = 5
N_TEST = 200
EQUAL = 1.001
# Rows, columns and components of tables that are drawn at random.
SHAPES = ((30, 3, 1), (80, 7, 3), (300, 10, 4))
KINDS = ("t(2)", "t(2), mixed", "log-normal", "log-normal, mixed", "sheet")


def random_table(kind, n_columns, rng, n):
    """Rows of a table with heavy tails, or of a curved sheet."""
    mixing = rng.normal(size=(n_columns, n_columns)) * np.linspace(1, 0.2, n_columns)
    if kind == "sheet":
        u, v = rng.uniform(-2, 2, size=(2, n))
        shape = np.column_stack([u, v, u**2 / 2, u * v / 2, np.sin(2 * v)])
        return shape @ rng.normal(size=(5, n_columns)) + 0.05 * rng.normal(size=(n, n_columns))
    if kind.startswith("t(2)"):
        X = rng.standard_t(2, size=(n, n_columns))
        return X @ mixing if kind.endswith("mixed") else X * np.linspace(1, 0.3, n_columns)
    normal = rng.normal(size=(n, n_columns))
    return np.exp(0.7 * normal @ mixing if kind.endswith("mixed") else normal)


def rows_of(name, shape, seed, n_train):
    """Training and test rows."""
    if shape is None:
        return draw(name, seed, n_train)
    rng = np.random.default_rng([KINDS.index(name), *shape, seed + 1000])
    X = random_table(name, shape[1], rng, shape[0] + N_TEST)
    scaler = StandardScaler().fit(X[: shape[0]])
    return scaler.transform(X[: shape[0]]), scaler.transform(X[shape[0] :])


def tuned_peer(X, n_components, seed):
    """scikit-learn's kernel PCA with the width and the ridge of its inverse that are best in five folds."""
    median = resolve_gamma("median", X)
    folds = np.array_split(np.random.default_rng(seed).permutation(len(X)), FOLDS)
    errors = np.zeros((len(WIDTHS), ALPHAS.size))
    for (number, width), held in product(enumerate(WIDTHS), folds):
        rest, gamma = np.setdiff1d(np.arange(len(X)), held), width * median
        few = min(n_components, len(rest) - 1)
        model = Peer(few, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(X[rest])
        Y, Z = model.transform(X[rest]), model.transform(X[held])
        squares = lambda A, B: np.maximum(np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1) - 2 * A @ B.T, 0)
        # Its dual coefficients for all ridges at once: (L + αI)⁻¹X, by the eigenvectors of L.
        values, vectors = np.linalg.eigh(np.exp(-gamma * squares(Y, Y)))
        projected, across = vectors.T @ X[rest], np.exp(-gamma * squares(Z, Y)) @ vectors
        for place, alpha in enumerate(ALPHAS):
            residual = across @ (projected / np.maximum(values + alpha, alpha)[:, None]) - X[held]
            errors[number, place] += np.sum(residual**2)
    number, place = np.unravel_index(np.argmin(errors), errors.shape)
    alpha = float(ALPHAS[place])
    while True:
        try:
            gamma = WIDTHS[number] * median
            return Peer(
                n_components, kernel="rbf", gamma=gamma, alpha=alpha, fit_inverse_transform=True, eigen_solver="dense"
            ).fit(X)
        except np.linalg.LinAlgError:
            alpha *= 10**0.5


def timed(call):
    begin = time.process_time()
    result = call()
    return result, time.process_time() - begin


def cell(name, shape, n_components, seed, n_train):
    """Errors of all ways back for one data set, number of components and draw."""
    X, T = rows_of(name, shape, seed, n_train)
    n_components = min(n_components, len(X) - 1)
    back = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if n_components < X.shape[1]:
            linear = PCA(n_components).fit(X)
            back["PCA"] = mean_square(linear.inverse_transform(linear.transform(T)) - T)
        theirs = tuned_peer(X, n_components, seed)
        back["scikit-learn"] = mean_square(theirs.inverse_transform(theirs.transform(T)) - T)
        model, back["fit, s"] = timed(lambda: KernelPCA(n_components, gamma="reconstruction").fit(X))
        back["reconstruction"] = -model.score(T)
        back["width"] = model.gamma_ / resolve_gamma("median", X)
        plain = KernelPCA(n_components).fit(X)
        Z = plain.transform(T)
        found, back["first, s"] = timed(lambda: plain.inverse_transform(Z))
        back["default"] = mean_square(found - T)
        peer = Peer(n_components, kernel="rbf", fit_inverse_transform=True, alpha=theirs.alpha)
        _, back["scikit-learn's fit, s"] = timed(lambda: peer.fit(X))
        bounds = plain.preimage_.reconstruction
        back["outside"] = float(np.sum((found < bounds.lower) | (found > bounds.upper)))
        Y = plain.transform(X)
        back["any map"] = min(best_map_error(Y, X, Z, T), back["default"])
    return back


def mean_errors(results):
    """{(data, shape, components): errors and ratios, averaged over draws}."""
    drawn, means = {}, {}
    for task, back in results.items():
        drawn.setdefault(task[:3], []).append(back)
    for key, rows in drawn.items():
        mean = {way: float(np.mean([row[way] for row in rows])) for way in rows[0]}
        mean["ratio"] = mean["reconstruction"] / min(mean[way] for way in ("PCA", "scikit-learn") if way in mean)
        if "PCA" in mean:
            mean["default / PCA"] = mean["default"] / mean["PCA"]
        means[key] = mean
    return means


def named(key):
    name, shape, _ = key
    return name if shape is None else f"{name}, {shape[0]} × {shape[1]}"


def summary(means, results):
    """How often the choice is no worse than each rival; what the default width costs; bounds and seconds."""
    ratios = np.array([mean["ratio"] for mean in means.values()])
    linear = [mean for mean in means.values() if "PCA" in mean]
    to_pca = np.array([mean["reconstruction"] / mean["PCA"] for mean in linear])
    default = np.array([mean["default / PCA"] for mean in linear])
    possible = np.array([mean["any map"] / mean["PCA"] for mean in linear])
    whole = [mean["reconstruction"] / mean["scikit-learn"] for mean in means.values() if "PCA" not in mean]
    first = np.array([back["first, s"] / back["scikit-learn's fit, s"] for back in results.values()])
    return {
        "cells": ratios.size,
        "no worse than the better of both (to 0.1 %)": int(np.sum(ratios <= EQUAL)),
        "within 1.03 of it": int(np.sum(ratios <= 1.03)),
        "largest ratio to it": float(ratios.max()),
        "median ratio to it": float(np.median(ratios)),
        "cells with PCA": to_pca.size,
        "no worse than PCA (to 0.1 %)": int(np.sum(to_pca <= EQUAL)),
        "largest ratio to PCA": float(to_pca.max()),
        "default width within 1.25 of PCA": int(np.sum(default <= 1.25)),
        "largest ratio of the default width to PCA": float(default.max()),
        "some map of its coordinates within 1.25 of PCA": int(np.sum(possible <= 1.25)),
        "smallest ratio with as many components as columns": min(whole, default=0.0),
        "largest ratio with as many components as columns": max(whole, default=0.0),
        "answers outside the bounds": int(sum(back["outside"] for back in results.values())),
        "first inverse_transform over scikit-learn's fit with its inverse, median": float(np.median(first)),
    }


def report_lines(means, found, options, made_by):
    draws = "of one draw, so that single cells are noisy" if options.draws == 1 else f"means of {options.draws} draws"
    yield "# Reconstruction with a chosen width\n"
    yield (
        'Is a reconstruction with `gamma="reconstruction"` ever worse than PCA, or than scikit-learn\'s tuned '
        "inverse?\n"
    )
    yield made_by
    yield (
        f"Seven data sets with at most {options.rows} training rows; tables with heavy tails (t with two degrees of "
        "freedom, log-normal) and curved sheets, of 30 to 300 rows and 3 to 10 columns. Errors are mean squared errors "
        f"per column on up to {N_TEST} other rows, {draws}. scikit-learn's inverse has its width chosen among "
        f"{len(WIDTHS)} and its ridge among {ALPHAS.size} by five-fold cross-validation. PCA is left out where it "
        "would have as many components as there are columns. The ratio is the error with the chosen width over the "
        "smaller of "
        'PCA and scikit-learn; the width is γ times the median squared distance. "Any map" is the best regression on '
        "the coordinates of the default width in sight of the test rows. Constants of the method were set on other "
        "data sets and other random tables. An earlier draw of the same sets had been looked at while the method was "
        "developed.\n"
    )
    yield "## What came out\n"
    cells, linear = found["cells"], found["cells with PCA"]
    yield (
        f"- The chosen width is no worse than PCA in {found['no worse than PCA (to 0.1 %)']} of {linear} cells. It is "
        f"no worse than the better of PCA and scikit-learn's tuned inverse in "
        f"{found['no worse than the better of both (to 0.1 %)']} of {cells}, and has "
        f"{found['median ratio to it']:.2f} times the error of the better one in the median."
    )
    worse = sorted(((mean["ratio"], key) for key, mean in means.items() if mean["ratio"] > EQUAL), reverse=True)
    if worse:
        listed = ";\n  ".join(
            f"{named(key)}, {key[2]} component{'s' * (key[2] > 1)} ({ratio:.2f})" for ratio, key in worse
        )
        yield (
            f"- It is worse in these cells:\n  {listed}.\n  A map that is not surely better than a linear one on the "
            "training rows is not taken. The smaller of two errors on test rows is a hard mark for few rows."
        )
    yield (
        "- With as many components as columns or more, errors are "
        f"{found['smallest ratio with as many components as columns']:.0e} to "
        f"{found['largest ratio with as many components as columns']:.2f} times those of scikit-learn's inverse."
    )
    yield (
        f"- With the default width `inverse_transform` is within 1.25 of PCA in "
        f"{found['default width within 1.25 of PCA']} of {linear} cells, and has "
        f"{found['largest ratio of the default width to PCA']:.0f} times its error in the worst. No map can change "
        "that: the best one in sight of the test rows is within 1.25 in "
        f"{found['some map of its coordinates within 1.25 of PCA']}. The coordinates do not hold what PCA keeps. Only "
        "the rows of the training set themselves could be recognised by their coordinates and given back as they were, "
        "which helps no new row."
    )
    outside = found["answers outside the bounds"]
    yield f"- {f'{outside} answers were' if outside else 'No answer was'} outside the bounds of its model."
    ratio = found["first inverse_transform over scikit-learn's fit with its inverse, median"]
    yield (
        f"- The first `inverse_transform` of so few rows takes {ratio:.1f} times as long as scikit-learn's fit with "
        "its inverse in the median, which chooses nothing.\n"
    )
    columns = ["PCA", "scikit-learn", "reconstruction", "ratio", "width", "default", "any map", "default / PCA"]
    shown = lambda mean: [f"{mean[way]:.3g}" if way in mean else "" for way in columns]
    yield from table(
        ["data", "components", *columns], ([named(key), str(key[2]), *shown(mean)] for key, mean in means.items())
    )


def main():
    parser = option_parser(__doc__, "record", "output")
    add_options(parser)
    parser.add_argument("--quick", action="store_true", help="wine, and the smallest random tables, one draw")
    parser.add_argument("--rows", type=int, default=400, help="most training rows of the seven sets")
    parser.add_argument("--draws", type=int, default=2, help="draws of each data set")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw, the seed of its random numbers")
    options = parser.parse_args()
    options.draws = 1 if options.quick else options.draws
    draws = range(options.first, options.first + options.draws)
    data, shapes = (("wine",), SHAPES[:1]) if options.quick else (DATA, SHAPES)
    tasks = [(name, None, k, seed, options.rows) for name, k, seed in product(data, COMPONENTS, draws)]
    tasks += [(kind, shape, shape[2], seed, shape[0]) for kind, shape, seed in product(KINDS, shapes, draws)]
    tasks = {" | ".join(map(str, task)): task for task in tasks}
    cells = Cells(options.cells)
    found = cells.compute(dict(sorted(tasks.items(), key=lambda item: item[1][3])), cell, options.jobs)
    results = {task: found[key] for key, task in tasks.items()}
    means = mean_errors(results)
    facts = summary(means, results)
    machine, taken = cells.machine(tasks), processor_time(cells.seconds(tasks))
    publish(report_lines(means, facts, options, origin(machine, taken)), options.output)
    if options.record:
        settings = {"rows": options.rows, "draws": list(draws), "data": list(data)}
        record("reconstruction", facts, settings, machine=machine, taken=taken)


if __name__ == "__main__":
    main()
