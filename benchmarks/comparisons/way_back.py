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

Run: python benchmarks/comparisons/way_back.py --jobs 16 --output table.md
"""

import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import command, describe_machine, record
from _reports import option_parser, publish
from data import load_abalone, load_ida, load_usps

from preimage import KernelPCA
from preimage.kernels import Cosine, Gaussian, Laplacian, Polynomial, resolve_gamma
from preimage.solvers import FixedPoint
from preimage.solvers._map_choice import candidate_kernels
from preimage.solvers._map_errors import RIDGES

N_TEST = 200
COMPONENTS = (8, 32, 128)
NOISE = 0.5
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


def cell(job):
    """Errors of all ways back for one data set, kernel, number of components and draw."""
    name, kernel_name, n_components, seed, n_train = job
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
    return job, back, clean


def table(results, which, columns):
    """Markdown: one line per data set, kernel and number of components, errors averaged over draws."""
    lines = ["| data | kernel | components | " + " | ".join(columns) + " |", "|" + "---|" * (3 + len(columns))]
    ratios = {}
    for key in dict.fromkeys(job[:3] for job, *_ in results):
        rows = [result[which] for result in results if result[0][:3] == key]
        mean = {way: float(np.mean([row[way] for row in rows])) for way in rows[0]}
        if which == 1:
            peers = [mean[way] for way in ("PCA", "scikit-learn") if way in mean]
            mean["ratio"], ratios[key] = mean["auto"] / min(peers), (mean["auto"], mean)
        shown = " | ".join(f"{mean[way]:.3g}" if way in mean else "" for way in columns)
        lines.append(f"| {key[0]} | {key[1]} | {key[2]} | {shown} |")
    return "\n".join(lines), ratios


def summary(ratios):
    """How often the default is within 2 % of each peer, and where the coordinates forbid it."""
    against = lambda way: {key: auto / mean[way] for key, (auto, mean) in ratios.items() if way in mean}
    theirs, linear = against("scikit-learn"), against("PCA")
    possible = {
        key: value for key, value in linear.items() if ratios[key][1]["any map"] <= 1.02 * ratios[key][1]["PCA"]
    }
    return {
        "cells": len(ratios),
        "within 1.02 of scikit-learn": sum(value <= 1.02 for value in theirs.values()),
        "largest ratio to scikit-learn": max(theirs.values()),
        "median ratio to scikit-learn": float(np.median(list(theirs.values()))),
        "cells with PCA": len(linear),
        "within 1.02 of PCA": sum(value <= 1.02 for value in linear.values()),
        "cells where some map reaches PCA": len(possible),
        "within 1.02 of PCA there": sum(value <= 1.02 for value in possible.values()),
        "largest ratio to PCA there": max(possible.values(), default=0.0),
    }


def finished(path):
    """Cells of an earlier run, {job: (job, reconstruction errors, denoising errors)}."""
    if path is None or not path.exists():
        return {}
    cells = [json.loads(line) for line in path.read_text().splitlines()]
    return {tuple(job): (tuple(job), back, clean) for job, back, clean in cells}


def main():
    parser = option_parser(__doc__, "jobs", "record", "output")
    parser.add_argument("--quick", action="store_true", help="wine and swiss roll, two kernels, one draw")
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--rows", type=int, default=1000, help="most training rows")
    parser.add_argument("--draws", type=int, default=2, help="draws of each data set")
    parser.add_argument("--cells", type=Path, default=None, help="file of finished cells, to go on from")
    options = parser.parse_args()
    data, kernels = (("wine", "swiss roll"), KERNELS[::2]) if options.quick else (options.data, KERNELS)
    draws = lambda name: 1 if options.quick else options.draws
    jobs = [
        (name, kernel, k, seed, options.rows)
        for name, kernel, k in product(data, kernels, COMPONENTS)
        for seed in range(draws(name))
    ]
    done = finished(options.cells)
    # First draws first: if time runs out, every cell has some.
    open_jobs = sorted((job for job in jobs if job not in done), key=lambda job: job[3])
    with ProcessPoolExecutor(options.jobs) as pool:
        for job, *errors in pool.map(cell, open_jobs):
            done[job] = (job, *errors)
            if options.cells:
                with options.cells.open("a") as lines:
                    lines.write(json.dumps([job, *errors]) + "\n")
    results = [done[job] for job in jobs]
    back, ratios = table(results, 1, ["PCA", "scikit-learn", "auto", "nearest image", "any map", "ratio"])
    clean, _ = table(results, 2, ["noisy", "PCA", "scikit-learn", "learned", "auto"])
    found = summary(ratios)
    facts = "\n".join(f"- {key}: {value:.4g}" for key, value in found.items())
    head = [describe_machine(), command()]
    publish([*head, "", "Reconstruction", "", facts, "", back, "", "Denoising", "", clean], options.output)
    if options.record:
        settings = {"rows": options.rows, "draws": draws(data[0]), "data": list(data), "components": list(COMPONENTS)}
        record("way_back", found, settings)


if __name__ == "__main__":
    main()
