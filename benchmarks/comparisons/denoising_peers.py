"""Does kernel PCA denoise digits better than other methods that scikit-learn users have at hand?

Question: the error on noisy digits of `DenoisingSearch`, which chooses everything itself, against methods that are
tuned on digits whose clean versions they are shown: linear PCA, scikit-learn's kernel PCA, nearest neighbours, kernel
regression (Nadaraya–Watson), the posterior mean under a Gaussian mixture, and an autoencoder (`MLPRegressor`).

Set-up: the draws of benchmarks/papers/denoising_digits.py: 8 × 8 digits in [0, 1], 1,000 for training, 797 for testing,
Gaussian noise of deviation 0.25. All others choose their parameters on 200 training digits by the error to the clean
digit and are fitted again on all 1,000. Results are clipped to the range of pixels before they are judged. The mixture
knows the variance of the noise. The autoencoder learns clean digits from noisy ones where clean ones are there (ten
noisy copies of each), and noisy digits from themselves through a narrow layer where they are not. `DenoisingSearch` is
told the noise when training digits are clean, and nothing when they are noisy.

    OMP_NUM_THREADS=1 python benchmarks/comparisons/denoising_peers.py --jobs 6 --record --output FILE

Observe: the last two rows against the best of the others.
"""

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPRegressor

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "papers")]
from _measure import record
from _reports import option_parser, origin, publish
from denoising_digits import N_TRAIN, N_VALIDATION, NOISE, error, gaussian, linear_errors, peer_errors, tuned

from preimage.model_selection import DenoisingSearch

TRAININGS = ("clean", "noisy")
NEIGHBORS = (1, 3, 5, 7, 10, 15, 20, 30)
BANDWIDTHS = np.geomspace(0.5, 20, 12)  # γ of the weights exp(−γ‖z − x‖²)
COMPONENTS, RIDGES = (1, 5, 10, 20, 40), (1e-4, 1e-3, 1e-2)
HIDDEN = {
    "clean": ((256,), (512,), (512, 512)),
    "noisy": ((16,), (32,), (64,), (256, 8, 256), (256, 16, 256), (256, 32, 256)),
}
N_COPIES = 10
OURS, OURS_BOUNDED = "DenoisingSearch", "DenoisingSearch, bounds=(0, 1)"


def main():
    parser = option_parser(__doc__, "jobs", "record", "output")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    runs = list(product(TRAININGS, options.seeds))
    with ProcessPoolExecutor(options.jobs) as pool:
        found = dict(zip(runs, pool.map(one_run, runs), strict=True))
    means = {
        training: {name: np.mean([found[training, seed][name] for seed in options.seeds]) for name in METHODS}
        for training in TRAININGS
    }
    publish(report_lines(means, options), options.output)
    if options.record:
        values = {f"{training}, {name}": value for training, table in means.items() for name, value in table.items()}
        record("denoising_peers", values, {"seeds": options.seeds, "noise": NOISE, "n_train": N_TRAIN})


def one_run(run):
    """{method: test error} for one draw, the one of denoising_digits.py."""
    warnings.simplefilter("ignore")
    training, seed = run
    rng = np.random.default_rng(seed)
    digits = load_digits().data / 16
    digits = digits[rng.permutation(len(digits))]
    noisy = digits + NOISE * rng.standard_normal(digits.shape)
    seen = digits if training == "clean" else noisy
    fit, judge, test = slice(N_VALIDATION, N_TRAIN), slice(0, N_VALIDATION), slice(N_TRAIN, None)
    on_validation = seen[fit], noisy[judge], digits[judge]
    on_test = seen[:N_TRAIN], noisy[test], digits[test]
    found = {}
    for name, errors in METHODS.items():
        if errors is None:
            continue
        errors = errors if name in ("linear PCA", "scikit-learn's kernel PCA") else partial(errors, training=training)
        found[name] = tuned(errors, on_validation, on_test)[0]
    for name, bounds in ((OURS, None), (OURS_BOUNDED, (0, 1))):
        noise = NOISE if training == "clean" else None
        search = DenoisingSearch(added_noise=noise, bounds=bounds, random_state=0).fit(seen[:N_TRAIN])
        found[name] = error(search.denoise(noisy[test]), digits[test])
    return found


# Each function below returns {choice: error} for all choices, or for the only one that is asked for.


def neighbors(X, noisy, truth, only=None, training=None):
    found = NearestNeighbors(n_neighbors=max(NEIGHBORS)).fit(X).kneighbors(noisy, return_distance=False)
    return {n: error(X[found[:, :n]].mean(axis=1), truth) for n in (NEIGHBORS if only is None else (only,))}


def kernel_regression(X, noisy, truth, only=None, training=None):
    errors = {}
    for gamma in BANDWIDTHS if only is None else (only,):
        weights = gaussian(noisy, X, gamma) + 1e-300  # far from all points the weights vanish
        errors[gamma] = error(weights @ X / weights.sum(axis=1, keepdims=True), truth)
    return errors


def mixture(X, noisy, truth, only=None, training=None):
    """E[x | z] for z = x + noise and x from a Gaussian mixture, whose covariances contain the noise when X does."""
    errors = {}
    for count, ridge in product(COMPONENTS, RIDGES) if only is None else (only,):
        model = GaussianMixture(count, reg_covar=ridge, random_state=0).fit(X)
        covariances = model.covariances_
        if training == "noisy":
            values, vectors = np.linalg.eigh(covariances)
            values = np.maximum(values - NOISE**2, ridge)
            covariances = np.einsum("kij,kj,klj->kil", vectors, values, vectors)
        errors[count, ridge] = error(posterior_mean(model, covariances, noisy), truth)
    return errors


def posterior_mean(model, covariances, Z):
    noise = NOISE**2 * np.eye(Z.shape[1])
    logs, means = [], []
    for weight, mean, covariance in zip(model.weights_, model.means_, covariances, strict=True):
        whole = covariance + noise
        residual = np.linalg.solve(whole, (Z - mean).T).T
        logs.append(np.log(weight) - 0.5 * (np.linalg.slogdet(whole)[1] + np.sum((Z - mean) * residual, axis=1)))
        means.append(mean + residual @ covariance)
    logs = np.array(logs)
    weights = np.exp(logs - logs.max(axis=0))
    return np.einsum("kq,kqd->qd", weights / weights.sum(axis=0), np.array(means))


def autoencoder(X, noisy, truth, only=None, training=None):
    errors, rng = {}, np.random.default_rng(0)
    inputs, targets = X, X
    if training == "clean":
        targets = np.repeat(X, N_COPIES, axis=0)
        inputs = targets + NOISE * rng.standard_normal(targets.shape)
    for layers in HIDDEN[training] if only is None else (only,):
        model = MLPRegressor(hidden_layer_sizes=layers, early_stopping=True, max_iter=300, random_state=0)
        errors[layers] = error(model.fit(inputs, targets).predict(noisy), truth)
    return errors


METHODS = {
    "linear PCA": linear_errors,
    "scikit-learn's kernel PCA": peer_errors,
    "nearest neighbours": neighbors,
    "kernel regression": kernel_regression,
    "Gaussian mixture": mixture,
    "autoencoder": autoencoder,
    OURS: None,
    OURS_BOUNDED: None,
}


def report_lines(means, options):
    yield "# Denoising digits, against other methods\n"
    yield origin()
    yield (
        f"8 × 8 digits in [0, 1], {N_TRAIN:,} for training, 797 for testing, Gaussian noise {NOISE}; mean squared "
        "error per pixel on test digits of results that are clipped to [0, 1], mean of draws "
        f"{', '.join(map(str, options.seeds))}. All but `DenoisingSearch` are tuned on {N_VALIDATION} training digits "
        "whose clean versions they are shown. `DenoisingSearch` is told the noise when "
        "training digits are clean, and nothing when they are noisy. The mixture is told the noise in both cases.\n"
    )
    yield "| method | training digits clean | training digits noisy |\n|---|---|---|"
    for name in METHODS:
        yield f"| {name} | " + " | ".join(f"{means[training][name]:.4f}" for training in TRAININGS) + " |"


if __name__ == "__main__":
    main()
