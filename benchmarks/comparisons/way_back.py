"""Which way back reconstructs inputs best from their coordinates, and which denoises best?

Questions: how much of a held-out row does `inverse_transform` give back from its kernel PCA coordinates, compared with
linear PCA of as many components and with scikit-learn's learned inverse at its best ridge? And what is left of noise
after `denoise`?

Set-up: seven data sets, five kernels, 8, 32 and 128 components. Models are fitted on at most `--rows` rows; errors are
mean squared errors per column on other rows, averaged over draws. Tables are standardised, images are scaled to [0, 1],
the swiss roll to unit deviation. scikit-learn's inverse has one parameter, the ridge `alpha`; its kernel on coordinates
is that of the model. `alpha` is chosen among 33 values by five-fold cross-validation, with kernel PCA repeated in each
fold, as for our own choice. "Nearest image" is the fixed point, or descent for the Laplacian and cosine kernels, from
the nearest training point; the fixed point and descent agree where both exist. "Any map" is the smallest test error
over all regressions of inputs on these coordinates that were tried, chosen on the test rows: roughly what the
coordinates allow, whoever inverts them. Where there are at least as many components as columns, PCA is the identity and
no comparison.

For denoising, noise of half a standard deviation of each column is added to the held-out rows; models see clean rows.
"Learned" is the map of `inverse_transform` applied to the coordinates of noisy rows, "auto" the default of `denoise`.

What to observe: the default reconstructs at least as well as scikit-learn's inverse in nearly all cells, and as PCA
wherever some map of the coordinates does. The nearest image is the worse reconstruction. With the number of components
fixed like this, and not chosen for denoising, neither way wins everywhere in denoising.

    OMP_NUM_THREADS=1 python benchmarks/comparisons/way_back.py --rows 400 --draws 1 --jobs 2 --record --output FILE
"""

import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))
from _cells import Cells, add_options, processor_time
from _measure import record
from _reports import option_parser, origin, publish, table
from data import load_abalone, load_ida, load_usps

from preimage import KernelPCA
from preimage.kernels import Cosine, Gaussian, Laplacian, Polynomial, resolve_gamma
from preimage.solvers import FixedPoint
from preimage.solvers._map_choice import candidate_kernels
from preimage.solvers._map_errors import RIDGES

N_TEST = 200
COMPONENTS = (8, 32, 128)
NOISE = 0.5
NEAR = 1.02
ALPHAS = np.logspace(-14, 2, 33)
DATA = ("digits", "USPS", "swiss roll", "wine", "breast cancer", "abalone", "waveform")
KERNELS = ("Gaussian, median", "Gaussian, median/4", "polynomial 3", "Laplacian", "cosine")
# Descent for the Laplacian takes minutes for hundreds of rows: nearest images of few rows, and for 32 components only.
N_DESCENT, DESCENT_AT = 20, 32


def inputs(name):
    """All rows of a data set, and whether its columns are to be standardised."""
    if name == "digits":
        return load_digits().data / 16, False
    if name == "USPS":
        return load_usps().X_train.astype(float), False
    if name == "swiss roll":
        X = make_swiss_roll(2000, random_state=0)[0]
        return X / X.std(), False
    tables = {
        "wine": lambda: load_wine().data,
        "breast cancer": lambda: load_breast_cancer().data,
        "abalone": lambda: load_abalone().X,
        "waveform": lambda: load_ida("waveform").X,
    }
    return np.asarray(tables[name](), dtype=float), True


def draw(name, seed, n_train):
    X, is_table = inputs(name)
    order = np.random.default_rng(seed).permutation(len(X))
    held = min(N_TEST, len(X) // 4)
    train, test = X[order[held : held + n_train]], X[order[:held]]
    if is_table:
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    return train, test


def kernel_of(name, X):
    median = resolve_gamma("median", X)
    return {
        "Gaussian, median": Gaussian(median),
        "Gaussian, median/4": Gaussian(4 * median),
        "polynomial 3": Polynomial(3, 1 / X.shape[1], 1.0),
        "Laplacian": Laplacian(resolve_gamma("median", X, "cityblock")),
        "cosine": Cosine(),
    }[name]


def peer(kernel, n_components, alpha):
    """scikit-learn's kernel PCA with the same kernel and a learned inverse."""
    if isinstance(kernel, Laplacian):
        return PeerByMatrix(kernel, n_components, alpha)
    name = {Gaussian: "rbf", Polynomial: "poly"}.get(type(kernel), "cosine")
    options = {} if name == "cosine" else {"gamma": kernel.gamma}
    if name == "poly":
        options.update(degree=kernel.degree, coef0=kernel.coef0)
    return Peer(n_components, kernel=name, alpha=alpha, fit_inverse_transform=True, eigen_solver="dense", **options)


class PeerByMatrix:
    """The same estimate for a kernel that scikit-learn's kernel PCA takes as a function of two rows only, too slowly.

    Its coordinates of a precomputed matrix, and its kernel ridge regression of inputs on coordinates.
    """

    def __init__(self, kernel, n_components, alpha):
        self.kernel = kernel
        self.coordinates = Peer(n_components, kernel="precomputed", eigen_solver="dense")
        self.regression = KernelRidge(alpha=alpha, kernel="laplacian", gamma=kernel.gamma)

    def fit(self, X):
        self.points = X
        self.regression.fit(self.coordinates.fit_transform(self.kernel(X)), X)
        return self

    def transform(self, X):
        return self.coordinates.transform(self.kernel(X, self.points))

    def inverse_transform(self, Y):
        return self.regression.predict(Y)


def best_alpha(kernel, n_components, X, seed):
    """The ridge of scikit-learn's inverse with the smallest error in five folds, each with kernel PCA of its own."""
    folds = np.array_split(np.random.default_rng(seed).permutation(len(X)), 5)
    errors = np.zeros(ALPHAS.size)
    for held in folds:
        rest = np.setdiff1d(np.arange(len(X)), held)
        model = peer(kernel, n_components, 1.0).fit(X[rest])
        Y, Z = model.transform(X[rest]), model.transform(X[held])
        # Its dual coefficients for all ridges at once: (L + αI)⁻¹X, by the eigenvectors of L.
        values, vectors = np.linalg.eigh(kernel(Y))
        projected, across = vectors.T @ X[rest], kernel(Z, Y) @ vectors
        for number, alpha in enumerate(ALPHAS):
            residual = across @ (projected / np.maximum(values + alpha, alpha)[:, None]) - X[held]
            errors[number] += np.sum(residual**2)
    return float(ALPHAS[np.argmin(errors)])


def fitted_peer(kernel, n_components, alpha, X):
    """scikit-learn's model with this ridge, or the next larger one with which its equations can be solved."""
    while True:
        try:
            return peer(kernel, n_components, alpha).fit(X)
        except np.linalg.LinAlgError:
            alpha *= 10**0.5


def best_map_error(Y, X, Z, T):
    """The smallest mean squared error at (Z, T) of regressions of X on Y, linear or by Gaussians, of any ridge."""
    mean, shift = X.mean(axis=0), Y.mean(axis=0)
    errors = []
    for kernel in candidate_kernels(Y):
        values, vectors = np.linalg.eigh(kernel(Y - shift))
        projected, across = vectors.T @ (X - mean), kernel(Z - shift, Y - shift) @ vectors
        for ridge in RIDGES * np.mean(kernel.diagonal(Y - shift)):
            predicted = across @ (projected / (np.maximum(values, 0) + ridge)[:, None])
            errors.append(mean_square(mean + predicted - T))
    return float(np.nanmin(errors))


def mean_square(difference):
    return float(np.mean(difference**2))


def cell(name, kernel_name, n_components, seed, n_train):
    """Errors of all ways back for one data set, kernel, number of components and draw: restored, and without noise."""
    X, T = draw(name, seed, n_train)
    kernel = kernel_of(kernel_name, X)
    n_components = min(n_components, len(X) - 1)
    noisy = T + NOISE * X.std(axis=0) * np.random.default_rng(seed + 100).normal(size=T.shape)
    back, clean = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if n_components < X.shape[1]:
            linear = PCA(n_components).fit(X)
            back["PCA"] = mean_square(linear.inverse_transform(linear.transform(T)) - T)
            clean["PCA"] = mean_square(linear.inverse_transform(linear.transform(noisy)) - T)
        theirs = fitted_peer(kernel, n_components, best_alpha(kernel, n_components, X, seed), X)
        back["scikit-learn"] = mean_square(theirs.inverse_transform(theirs.transform(T)) - T)
        clean["scikit-learn"] = mean_square(theirs.inverse_transform(theirs.transform(noisy)) - T)
        model = KernelPCA(n_components, kernel=kernel).fit(X)
        Y, Z = model.transform(X), model.transform(T)
        back["auto"] = mean_square(model.inverse_transform(Z) - T)
        clean["learned"] = mean_square(model.inverse_transform(model.transform(noisy)) - T)
        if isinstance(model.preimage_.projection, FixedPoint) or n_components == DESCENT_AT:
            nearest = model.preimage_.projection.inverse(model.subspace_, Z[:N_DESCENT]).points
            back["nearest image"] = mean_square(nearest - T[:N_DESCENT])
            clean["auto"] = mean_square(model.denoise(noisy[:N_DESCENT]) - T[:N_DESCENT])
            clean["learned"] = mean_square(model.inverse_transform(model.transform(noisy[:N_DESCENT])) - T[:N_DESCENT])
        clean["noisy"] = mean_square(noisy - T)
        back["any map"] = min(best_map_error(Y, X, Z, T), back["auto"], back["scikit-learn"])
    return back, clean


def means(results, which):
    """{(data, kernel, components): mean error of each way over draws}."""
    found = {}
    for (name, kernel, k, *_), errors in results.items():
        found.setdefault((name, kernel, k), []).append(errors[which])
    return {key: {way: float(np.mean([row[way] for row in rows])) for way in rows[0]} for key, rows in found.items()}


def rows_of(mean, columns):
    for (name, kernel, k), errors in mean.items():
        yield [name, kernel, str(k), *(f"{errors[way]:.3g}" if way in errors else "" for way in columns)]


def ratios_to(peer, restored):
    return {key: errors["auto"] / errors[peer] for key, errors in restored.items() if peer in errors}


def summary(restored):
    """How often the default is within 2 % of each peer, and where the coordinates forbid it."""
    theirs, linear = (ratios_to(peer, restored) for peer in ("scikit-learn", "PCA"))
    possible = {key: ratio for key, ratio in linear.items() if restored[key]["any map"] <= NEAR * restored[key]["PCA"]}
    nearest = [errors for errors in restored.values() if "nearest image" in errors]
    return {
        "cells": len(restored),
        "within 1.02 of scikit-learn": sum(ratio <= NEAR for ratio in theirs.values()),
        "largest ratio to scikit-learn": max(theirs.values()),
        "median ratio to scikit-learn": float(np.median(list(theirs.values()))),
        "cells with PCA": len(linear),
        "PCA better": sum(ratio > 1 for ratio in linear.values()),
        "within 1.02 of PCA": sum(ratio <= NEAR for ratio in linear.values()),
        "cells where some map reaches PCA": len(possible),
        "within 1.02 of PCA there": sum(ratio <= NEAR for ratio in possible.values()),
        "largest ratio to PCA there": max(possible.values(), default=0.0),
        "cells with nearest images": len(nearest),
        "nearest image worse": sum(errors["nearest image"] > errors["auto"] for errors in nearest),
    }


def report_lines(results, options, made_by):
    restored, clean = (means(results, which) for which in (0, 1))
    for errors in restored.values():
        errors["ratio"] = errors["auto"] / min(errors[way] for way in ("PCA", "scikit-learn") if way in errors)
    found = summary(restored)
    worse = {key: ratio for key, ratio in ratios_to("scikit-learn", restored).items() if ratio > NEAR}
    listed = ";\n  ".join(
        f"{name}, {kernel}, {k} components ({ratio:.3g})"
        for (name, kernel, k), ratio in sorted(worse.items(), key=lambda item: -item[1])
    )
    draws = "one draw, so that single cells are noisy" if options.draws == 1 else f"means of {options.draws} draws"
    yield "# Ways back: reconstruction and denoising\n"
    yield "How well do rows that a model has not seen come back from their kernel PCA coordinates?\n"
    yield made_by
    yield (
        f"At most {options.rows} rows of each data set for training and {N_TEST} others for testing, {draws}. Tables "
        "are standardised, images scaled to [0, 1], the swiss roll to unit deviation. Numbers are mean squared errors "
        "per column. scikit-learn is `KernelPCA(fit_inverse_transform=True)` with the same kernel and with `alpha` "
        "chosen "
        f'among {ALPHAS.size} values by five-fold cross-validation. "auto" is the default of `inverse_transform`, a '
        'regression whose kernel and ridge are chosen on held-out training rows; "nearest image" is '
        '`preimage="fixed_point"`, or "gradient" for the Laplacian and cosine kernels (of the first '
        f'{N_DESCENT} test rows; with descent for {DESCENT_AT} components only). "Any map" is the best regression of '
        "inputs on these coordinates in sight of the test rows. PCA has as many components as kernel PCA, and is left "
        'out where it would have as many as there are columns, because it is the identity there. The ratio is "auto" '
        "over the smaller of PCA and scikit-learn.\n"
    )
    yield "## What came out\n"
    yield (
        f"- The default is within {NEAR} of scikit-learn's inverse at its best ridge in "
        f"{found['within 1.02 of scikit-learn']} of {found['cells']} cells; the median ratio is "
        f"{found['median ratio to scikit-learn']:.2f}."
        + (f" It is above in {len(worse)}, with these ratios:\n  {listed}." if worse else "")
    )
    if any(name == "swiss roll" for name, *_ in worse):
        yield (
            "  Errors of the swiss roll are small: our ridge is bounded by what rounding may do to the result, "
            "scikit-learn's is not."
        )
    yield (
        "  The choice is made by at most 400 rows, each left out once, and a map has to be surely better than a "
        "simpler one."
    )
    yield (
        f"- Linear PCA of as many components is better in {found['PCA better']} of {found['cells with PCA']} cells "
        "where it is no identity. These are limits of the coordinates and not of the inverse transformation: narrow "
        "kernels spend their first components on other things than the variance of inputs. Some map of the coordinates "
        f"comes within {NEAR} of PCA in {found['cells where some map reaches PCA']} cells; there the default does in "
        f"{found['within 1.02 of PCA there']} (largest ratio {found['largest ratio to PCA there']:.3f}). For a "
        'reconstruction of inputs alone, compare with PCA first, or use [`gamma="reconstruction"`](reconstruction.md).'
    )
    yield (
        f"- The nearest image reconstructs worse than the regression in {found['nearest image worse']} of "
        f"{found['cells with nearest images']} cells. It answers another question, below.\n"
    )
    columns = ["PCA", "scikit-learn", "auto", "nearest image", "any map", "ratio"]
    yield from table(["data", "kernel", "components", *columns], rows_of(restored, columns))
    yield "\n## Denoising\n"
    won = {
        k: [errors["learned"] < errors["auto"] for key, errors in clean.items() if key[2] == k and "auto" in errors]
        for k in COMPONENTS
    }
    counts = ", ".join(f"{sum(each)} of {len(each)} with {k} components" for k, each in won.items())
    yield (
        'Noise of half a standard deviation of each column added to the held-out rows; models of clean rows; "auto" is '
        'the default of `denoise` (the nearest image from the noisy row), "learned" the map of `inverse_transform` '
        f"applied to the coordinates of the noisy rows; both on {N_DESCENT} rows. The number of components is not "
        "chosen for denoising here: [tuned](denoising_digits.md), the nearest image is the better denoiser. Cells of "
        "this table "
        f'in which the regression has the smaller error: {counts}; try `preimage="learned"` if the number of '
        "components must be small.\n"
    )
    columns = ["noisy", "PCA", "scikit-learn", "learned", "auto"]
    yield from table(["data", "kernel", "components", *columns], rows_of(clean, columns))


def main():
    parser = option_parser(__doc__, "record", "output")
    add_options(parser)
    parser.add_argument("--quick", action="store_true", help="wine and swiss roll, two kernels, one draw")
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--rows", type=int, default=1000, help="most training rows")
    parser.add_argument("--draws", type=int, default=2, help="draws of each data set")
    options = parser.parse_args()
    data, kernels = (("wine", "swiss roll"), KERNELS[::2]) if options.quick else (options.data, KERNELS)
    options.draws = 1 if options.quick else options.draws
    tasks = {
        " | ".join(map(str, task)): task
        for task in product(data, kernels, COMPONENTS, range(options.draws), [options.rows])
    }
    cells = Cells(options.cells)
    found = cells.compute(dict(sorted(tasks.items(), key=lambda item: item[1][3])), cell, options.jobs)
    results = {task: found[key] for key, task in tasks.items()}
    machine, taken = cells.machine(tasks), processor_time(cells.seconds(tasks))
    publish(report_lines(results, options, origin(machine, taken)), options.output)
    if options.record:
        settings = {"rows": options.rows, "draws": options.draws, "data": list(data), "components": list(COMPONENTS)}
        record("way_back", summary(means(results, 0)), settings, machine=machine, taken=taken)


if __name__ == "__main__":
    main()
