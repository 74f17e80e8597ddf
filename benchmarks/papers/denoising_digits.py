"""Does a pre-image denoise better than scikit-learn's inverse transform, when both are tuned?

Question: which error is left on noisy digits after linear PCA, after scikit-learn's kernel PCA with its learned inverse
transform, and after our kernel PCA with each of its solvers?

Set-up: the 8 × 8 digits that come with scikit-learn, scaled to [0, 1]; 1,000 for training, the other 797 for testing,
Gaussian noise of deviation 0.25. Every method chooses its parameters on 200 of the training digits, with noise added,
by the error to the clean digit, and is fitted again on all 1,000. First with clean training digits; then with noisy
ones, in which case only the 200 digits that judge have a clean version. scikit-learn's grid covers γ, α and the number
of components; a second line lets it choose on the test set. `DenoisingSearch` is our automatic choice: from the clean
digits and the noise, and from noisy digits alone, without any clean one. What a method answers is clipped to the range
of pixels before it is judged, also while parameters are chosen.

What to observe: the ratios of the fixed point's error to those of scikit-learn and linear PCA, with clean and noisy
training digits; what the box of pixel values adds to clipping.

Run: python benchmarks/papers/denoising_digits.py --output table.md
"""

import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as Peer

sys.path.insert(0, str(Path(__file__).parents[1]))
from _reports import minutes, option_parser, origin_and_time, publish

from preimage import KernelPCA
from preimage.model_selection import DenoisingSearch
from preimage.solvers import ConformalMap, DistanceConstraint, FixedPoint, Gradient, LearnedMap, WeightedMean

N_TRAIN, N_VALIDATION, NOISE = 1000, 200, 0.25
GAMMAS = (0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.32, 0.5)
COMPONENTS = (32, 64, 128, 192, 256, 384, 512, 700)
PENALTIES = (0.0, 0.02, 0.05, 0.1, 0.2)  # as multiples of γ
PEER_GAMMAS = (0.003, 0.01, 0.02, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24)
PEER_COMPONENTS = (16, 32, 64, 96, 128, 256, 512)
ALPHAS = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0)
LIMITS = {"tol": 1e-4, "max_iter": 100}
FIXED_POINT, PEER, LINEAR, SEARCH = "fixed point", "scikit-learn", "linear PCA", "automatic search"
PEER_ON_TEST = "scikit-learn, chosen on the test set"
BOXED = "gradient in the box [0, 1]"
# Solvers of our kernel PCA for a width, by the parameter that is tuned with it.
FAMILIES = {
    FIXED_POINT: lambda gamma: {f"λ = {p}γ": FixedPoint(p * gamma, **LIMITS) for p in PENALTIES},
    BOXED: lambda gamma: {f"λ = {p}γ": Gradient(p * gamma, lower=0, upper=1, **LIMITS) for p in PENALTIES[:3]},
    "neighbours": lambda gamma: {
        f"{n} neighbours, rtol = {rtol}": DistanceConstraint(n, rtol=rtol) for n, rtol in product((10, 20), (0.1, 0.3))
    },
    "weighted mean": lambda gamma: {"": WeightedMean()},
    "learned map": lambda gamma: {"": LearnedMap()},
    "conformal map": lambda gamma: {"": ConformalMap()},
}
# With noisy training digits the comparison with linear PCA says little more than that with scikit-learn.
RIVALS = {"clean": (PEER, LINEAR), "noisy": (PEER,)}


def main():
    options = parse_options()
    started = time.perf_counter()
    digits = load_digits().data / 16
    results = {}  # training data: one {method: (test error, choice)} a seed
    runs = list(product(options.seeds, RIVALS))
    with ProcessPoolExecutor(options.jobs) as pool:
        for (seed, training), found in zip(runs, pool.map(partial(one_run, digits), runs), strict=True):
            results.setdefault(training, []).append(found)
            print(f"[{time.perf_counter() - started:5.0f} s] draw {seed}, {training}", file=sys.stderr, flush=True)
    publish(report_lines(results, options, time.perf_counter() - started), options.output)


def parse_options():
    parser = option_parser(__doc__, "jobs", "output")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one draw of digits and noise for each")
    return parser.parse_args()


def one_run(digits, run):
    """{method: (test error, choice)} for one draw of digits and noise."""
    warnings.simplefilter("ignore")
    seed, training = run
    rng = np.random.default_rng(seed)
    digits = digits[rng.permutation(len(digits))]
    noisy = digits + NOISE * rng.standard_normal(digits.shape)
    seen = digits if training == "clean" else noisy  # what models are fitted on
    fit, judge, test = slice(N_VALIDATION, N_TRAIN), slice(0, N_VALIDATION), slice(N_TRAIN, None)
    on_validation = seen[fit], noisy[judge], digits[judge]
    on_test = seen[:N_TRAIN], noisy[test], digits[test]
    found = {
        "nothing": (error(*on_test[1:]), ""),
        LINEAR: tuned(linear_errors, on_validation, on_test),
        PEER: tuned(peer_errors, on_validation, on_test),
    }
    found[PEER_ON_TEST] = best(peer_errors(*on_test))
    for family in FAMILIES:
        errors = lambda X, Q, truth, only=None, family=family: our_errors(FAMILIES[family], X, Q, truth, only)
        found[family] = tuned(errors, on_validation, on_test)
    search = DenoisingSearch(added_noise=NOISE if training == "clean" else None, random_state=0).fit(seen[:N_TRAIN])
    choice = ", ".join(f"{name} = {value:.3g}" for name, value in search.best_params_.items())
    found[SEARCH] = error(search.denoise(noisy[test]), digits[test]), choice
    return found


def error(Z, truth):
    return float(np.mean((np.clip(Z, 0, 1) - truth) ** 2))


def best(errors):
    choice = min(errors, key=errors.get)
    return errors[choice], described(choice)


def described(choice):
    return ", ".join(str(part) for part in choice if part != "") if isinstance(choice, tuple) else str(choice)


def tuned(errors, on_validation, on_test):
    """The test error of what is best on validation digits."""
    found = errors(*on_validation)
    choice = min(found, key=found.get)
    return errors(*on_test, only=choice)[choice], described(choice)


def linear_errors(X, noisy, truth, only=None):
    mean = X.mean(axis=0)
    axes = np.linalg.svd(X - mean, full_matrices=False)[2]
    numbers = range(1, len(axes) + 1) if only is None else (only,)
    return {n: error(mean + (noisy - mean) @ axes[:n].T @ axes[:n], truth) for n in numbers}


def peer_errors(X, noisy, truth, only=None):
    """scikit-learn's inverse transform: kernel ridge regression from coordinates to inputs, with the kernel's own γ."""
    errors = {}
    for gamma in PEER_GAMMAS if only is None else (only[0],):
        fitted = Peer(max(PEER_COMPONENTS), kernel="rbf", gamma=gamma, eigen_solver="dense").fit(X)
        coordinates, queries = fitted.transform(X), fitted.transform(noisy)
        for q in PEER_COMPONENTS if only is None else (only[1],):
            if q > coordinates.shape[1]:
                continue
            if only is not None:
                peer = Peer(
                    q, kernel="rbf", gamma=gamma, alpha=only[2], fit_inverse_transform=True, eigen_solver="dense"
                )
                return {only: error(peer.fit(X).inverse_transform(peer.transform(noisy)), truth)}
            # The same regression for all α from one eigendecomposition; the final fit is scikit-learn's own.
            values, vectors = np.linalg.eigh(gaussian(coordinates[:, :q], coordinates[:, :q], gamma))
            projected, cross = vectors.T @ X, gaussian(queries[:, :q], coordinates[:, :q], gamma) @ vectors
            for alpha in ALPHAS:
                errors[gamma, q, alpha] = error(cross @ (projected / (values + alpha)[:, None]), truth)
    return errors


def gaussian(A, B, gamma):
    return np.exp(-gamma * np.maximum(np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1) - 2 * A @ B.T, 0))


def our_errors(family, X, noisy, truth, only=None):
    # The others only stand for comparison, and get every other number of components.
    numbers = COMPONENTS if family is FAMILIES[FIXED_POINT] else COMPONENTS[::2]
    errors = {}
    for gamma in GAMMAS if only is None else (only[0],):
        model = KernelPCA(min(max(COMPONENTS), len(X) - 1), gamma=gamma, eigen_solver="dense").fit(X)
        for q in numbers if only is None else (only[1],):
            if q > model.n_components_:
                continue
            subspace = model.subspace_.leading(q)
            Y = subspace.coordinates(noisy)
            for name, solver in family(gamma).items():
                if only is None or name == only[2]:
                    Z = solver.fit(subspace, X).inverse(subspace, Y, noisy).points
                    errors[gamma, q, name] = error(Z, truth)
    return errors


def report_lines(results, options, seconds):
    yield "# Denoising small digits\n"
    yield from origin_and_time(minutes(seconds))
    yield (
        f"8 × 8 digits in [0, 1], {N_TRAIN:,} for training, 797 for testing, Gaussian noise {NOISE}; mean squared "
        f"error per pixel on test digits, all clipped to [0, 1]; "
        f"draws {', '.join(map(str, options.seeds))}; choices of the first draw.\n"
    )
    for training, runs in results.items():
        yield f"## Training digits {training}\n"
        columns = " | ".join(f"draw {seed}" for seed in options.seeds)
        yield f"| method | {columns} | mean | chosen |"
        yield "| --- " * (len(runs) + 3) + "|"
        for method in runs[0]:
            errors = [run[method][0] for run in runs]
            cells = " | ".join(f"{value:.4f}" for value in errors)
            yield f"| {method} | {cells} | {np.mean(errors):.4f} | {runs[0][method][1]} |"
        yield ""
        for peer in RIVALS[training]:
            yield ratio_line(runs, FIXED_POINT, peer)
            yield ratio_line(runs, BOXED, peer)
        yield ratio_line(runs, SEARCH, PEER)
        yield ratio_line(runs, FIXED_POINT, PEER_ON_TEST) + "\n"


def ratio_line(runs, ours, peer):
    ratios = [run[ours][0] / run[peer][0] for run in runs]
    return f"- {ours} / {peer}: {', '.join(f'{ratio:.3f}' for ratio in ratios)}."


if __name__ == "__main__":
    main()
