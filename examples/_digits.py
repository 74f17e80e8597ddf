"""The digits of the demo, with noise, and the methods that take it out again."""

import time
from dataclasses import dataclass
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.neighbors import NearestNeighbors

from preimage import KernelPCA
from preimage.solvers import FixedPoint, LearnedMap

NOISE, N_TRAIN, N_VALID = 0.25, 1000, 200
LINEAR = "linear PCA"
SKLEARN = "scikit-learn kernel PCA"
TUNED = "preimage, fixed point, tuned"
SEARCHED = "preimage, automatic search"


@dataclass(frozen=True)
class Digits:
    """Digits of 8 × 8 pixels between 0 and 1, clean and with noise."""

    train: np.ndarray
    noisy_train: np.ndarray
    test: np.ndarray
    noisy_test: np.ndarray
    train_labels: np.ndarray
    test_labels: np.ndarray

    @classmethod
    def load(cls):
        X, y = load_digits(return_X_y=True)
        rng = np.random.default_rng(0)
        order = rng.permutation(len(X))
        clean = X[order] / 16
        noisy = clean + NOISE * rng.standard_normal(clean.shape)
        train, test, noisy_train, noisy_test, *labels = (
            part
            for array in (clean, noisy, y[order])
            for part in np.split(array, [N_TRAIN])
        )
        return cls(train, noisy_train, test, noisy_test, *labels)


@dataclass(frozen=True)
class Outcome:
    """What a method did: its parameters, its output on test digits, and how long it took."""

    parameters: dict
    output: np.ndarray
    error: float
    seconds_choosing: float
    seconds_denoising: float
    model: object = None


# Each method below is a function (training digits, noisy digits, **parameters) → denoised digits.


def linear_pca(X, Z, n_components):
    model = PCA(n_components).fit(X)
    return model.inverse_transform(model.transform(Z))


def sklearn_kernel_pca(X, Z, n_components, gamma, alpha):
    model = SklearnKernelPCA(
        n_components,
        kernel="rbf",
        gamma=gamma,
        alpha=alpha,
        fit_inverse_transform=True,
        eigen_solver="dense",
    ).fit(X)
    return model.inverse_transform(model.transform(Z))


def nearest_neighbors(X, Z, n_neighbors):
    return X[
        NearestNeighbors(n_neighbors=n_neighbors)
        .fit(X)
        .kneighbors(Z, return_distance=False)
    ].mean(axis=1)


def learned_map(X, Z, n_components, gamma, ridge):
    return (
        KernelPCA(n_components, gamma=gamma, preimage=LearnedMap(ridge=ridge))
        .fit(X)
        .denoise(Z)
    )


def fixed_point(X, Z, n_components, gamma, penalty):
    solver = FixedPoint(penalty * gamma, tol=1e-4, max_iter=100)
    return KernelPCA(n_components, gamma=gamma, preimage=solver).fit(X).denoise(Z)


METHODS = {
    LINEAR: (linear_pca, {"n_components": list(range(4, 33))}),
    "mean of nearest neighbours": (
        nearest_neighbors,
        {"n_neighbors": [1, 3, 5, 7, 10, 15, 20, 30]},
    ),
    SKLEARN: (
        sklearn_kernel_pca,
        {
            "n_components": [32, 64, 128],
            "gamma": [0.01, 0.02, 0.04, 0.08],
            "alpha": [0.01, 0.03, 0.1, 0.3, 0.5, 1],
        },
    ),
    "preimage, learned map": (
        learned_map,
        {"n_components": [32, 64], "gamma": [0.03, 0.1], "ridge": [0.3, 1, 3]},
    ),
    # The penalty as a multiple of γ.
    TUNED: (
        fixed_point,
        {
            "n_components": [192, 256, 700],
            "gamma": [0.24, 0.32],
            "penalty": [0.02, 0.05],
        },
    ),
}


def tuned(digits, X, denoise, grid):
    """Fit on the last 800 digits, choose by the error on the first 200, whose clean versions are known."""
    started = time.perf_counter()
    candidates = [dict(zip(grid, values)) for values in product(*grid.values())]
    truth, noisy = digits.train[:N_VALID], digits.noisy_train[:N_VALID]
    score = lambda parameters: mean_square(
        in_range(denoise(X[N_VALID:], noisy, **parameters)) - truth
    )
    errors = Parallel(n_jobs=2, prefer="threads")(
        delayed(score)(parameters) for parameters in candidates
    )
    return run(
        digits,
        X,
        denoise,
        candidates[int(np.argmin(errors))],
        time.perf_counter() - started,
    )


def run(digits, X, denoise, parameters, seconds_choosing):
    """The outcome of one method with training digits X and given parameters."""
    started = time.perf_counter()
    output = in_range(denoise(X, digits.noisy_test, **parameters))
    seconds = time.perf_counter() - started
    return Outcome(
        parameters, output, mean_square(output - digits.test), seconds_choosing, seconds
    )


def searched(digits, X, search):
    """The fixed point, with parameters from a search that never sees the clean version of a noisy digit."""
    started = time.perf_counter()
    search.fit(X)
    seconds_choosing = time.perf_counter() - started
    chosen = search.best_params_
    model = KernelPCA(
        chosen["n_components"],
        gamma=chosen["gamma"],
        preimage=FixedPoint(penalty=chosen["penalty"]),
    )
    started = time.perf_counter()
    output = in_range(model.fit(X).denoise(digits.noisy_test))
    seconds = time.perf_counter() - started
    return Outcome(
        chosen,
        output,
        mean_square(output - digits.test),
        seconds_choosing,
        seconds,
        model,
    )


def in_range(Z):
    """No pixel is darker than black or lighter than white, which every method may know."""
    return np.clip(Z, 0, 1)


def mean_square(difference):
    return float(np.mean(difference**2))
