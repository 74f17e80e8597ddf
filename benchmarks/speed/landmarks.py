"""How much of the kernel do chosen landmarks keep, and what does kernel PCA on them cost against scikit-learn?

Set-up: USPS (7,291 × 256) and MNIST (60,000 × 784, pixels in [0, 1]), Gaussian kernels of several widths, all stated:
"median" is γ = 1/median squared distance, "median/16" a sixteenth of that γ (a wider kernel), "scale" is scikit-learn's
rule 1/(d · variance). Three questions:

    selection   residual trace tr(K − K̃) over all rows against that of uniform landmarks, one seed
    peer        time and errors of the whole fit of 20 components against make_pipeline(Nystroem, PCA) at the same m and
                γ, the fastest of scikit-learn's solvers
    exact       MNIST: eigenvalues and memory of exact kernel PCA against 1,000 landmarks, each in a process of its own
                (the exact fit takes minutes)

    python benchmarks/speed/landmarks.py                          # selection and peer
    python benchmarks/speed/landmarks.py selection --data usps
    python benchmarks/speed/landmarks.py exact

Observe: eigenvalues of K̃ never exceed those of K, so of two approximations the one with larger eigenvalues has the
smaller errors. How much a choice gains depends on the width: where the kernel is so narrow that every point is alone,
or so flat that a few points say all, there is little to choose. With --optimum (USPS, two widths, a minute)
the ratio of the best of all subspaces of m dimensions is printed too: no selection can have a smaller one.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, peak_memory, timed
from _reports import option_parser
from data import load_mnist, load_usps

from preimage import KernelPCA
from preimage._models.components import Wanted, landmark_subspace
from preimage.feature_space import KernelMoments
from preimage.kernels import Gaussian, resolve_gamma
from preimage.landmarks import AutoLandmarks, KMeans, RandomlyPivotedCholesky, SparseGreedy, Uniform

SIZES = (100, 300, 1000)
COMPONENTS = 20
WIDTHS = {
    "4 median": ("median", 4),
    "scale": ("scale", 1),
    "median": ("median", 1),
    "median/4": ("median", 1 / 4),
    "median/16": ("median", 1 / 16),
    "median/64": ("median", 1 / 64),
}


@cache
def data(name, dtype="float64"):
    images = load_usps() if name == "usps" else load_mnist()
    X = images.X_train.astype(dtype)
    return X / X.dtype.type(255) if name == "mnist" else X


@cache
def gamma_of(name, width):
    rule, factor = WIDTHS[width]
    return factor * resolve_gamma(rule, data(name))


def compare_selections(name, widths, with_optimum=False):
    X = data(name, "float32")
    print(f"\nselection, {name} {X.shape[0]:,} × {X.shape[1]}, float32: share of the trace left, and ratio to uniform")
    print(f"{'width':14}{'γ':>10}{'m':>6}{'uniform':>10}{'rpcholesky':>12}{'greedy':>10}{'ratios':>14}")
    for width in widths:
        kernel = Gaussian(gamma_of(name, width))
        wanted = with_optimum and name == "usps" and width in ("median", "median/16")
        spectrum = np.linalg.eigvalsh(kernel(X))[::-1].astype(float) if wanted else None
        for m in SIZES:
            left = [residual_fraction(kernel, X, rule(m)) for rule in (Uniform, RandomlyPivotedCholesky, SparseGreedy)]
            ratios = [share / left[0] for share in left[1:]]
            print(
                f"{width:14}{kernel.gamma:10.3g}{m:6}{left[0]:10.4f}{left[1]:12.4f}{left[2]:10.4f}"
                f"{ratios[0]:8.2f}{ratios[1]:6.2f}"
                + ("" if spectrum is None else f"   best {(1 - spectrum[:m].sum() / len(X)) / left[0]:.2f}"),
                flush=True,
            )


def residual_fraction(kernel, X, selector):
    """tr(K − K̃)/tr K: exact up to 10,000 rows, else on 10,000 rows drawn once for all selectors."""
    points = selector.select(kernel, X).points
    rows = X if len(X) <= 10_000 else X[np.random.default_rng(1).choice(len(X), 10_000, replace=False)]
    moments = KernelMoments.of(kernel, points.astype(np.float64), rows.astype(np.float64))
    return landmark_subspace(moments, Wanted(1)).residual / moments.trace


def compare_with_peer(name, width, dtypes, repeats):
    gamma = gamma_of(name, width)
    exact = exact_eigenvalues(name, gamma) if name == "usps" else None
    print(f"\npeer, {name} {data(name).shape}, {width}: γ = {gamma:.3g}, {COMPONENTS} components, medians of {repeats}")
    print(
        f"{'dtype':9}{'m':>6}{'preimage':>10}{'Nystroem+PCA':>14}{'solver':>17}{'ratio':>7}{'of CPU':>8}",
        end="",
    )
    print(f"{'error':>9}{'peer':>9}   select + pass + eigenproblem")
    for dtype in dtypes:
        X = data(name, dtype)
        for m in SIZES:
            seconds, cpu, model = timed_twice(lambda: KernelPCA(COMPONENTS, gamma=gamma, landmarks=m).fit(X), repeats)
            solvers = {"auto", "covariance_eigh"} if len(X) < 10 * m else {"auto"}
            runs = [
                (*timed_twice(lambda: fit_peer(X, m, gamma, solver), repeats), solver) for solver in sorted(solvers)
            ]
            peer_seconds, peer_cpu, peer, solver = min(runs, key=lambda run: run[0])
            ours, theirs = model.eigenvalues_.astype(float), peer[-1].explained_variance_.astype(float) * (len(X) - 1)
            reference = exact if exact is not None else np.maximum(ours, theirs)
            errors = [float(np.sum(reference - values) / np.sum(reference)) for values in (ours, theirs)]
            parts = " + ".join(f"{part:.2f}" for part in profile(X, gamma, m))
            print(
                f"{dtype:9}{m:6}{seconds:10.3f}{peer_seconds:14.3f}{solver:>17}{seconds / peer_seconds:7.2f}"
                f"{cpu / peer_cpu:8.2f}{errors[0]:9.4f}{errors[1]:9.4f}   {parts} s",
                flush=True,
            )


def fit_peer(X, m, gamma, solver):
    features = Nystroem(kernel="rbf", gamma=gamma, n_components=m, random_state=0)
    return make_pipeline(features, PCA(COMPONENTS, svd_solver=solver, random_state=0)).fit(X)


def timed_twice(function, repeats):
    """Median wall-clock seconds, mean seconds of all cores (which a busy machine disturbs less), and the result."""
    start = time.process_time()
    seconds, result = timed(function, repeats)
    return seconds, (time.process_time() - start) / repeats, result


def exact_eigenvalues(name, gamma):
    return KernelPCA(COMPONENTS, gamma=gamma).fit(data(name)).eigenvalues_


def profile(X, gamma, m):
    """Seconds of selection, of the pass over the data and of the small eigenproblems."""
    kernel, times = Gaussian(gamma), [time.perf_counter()]
    points = AutoLandmarks(m).select(kernel, X, judged=False).points
    times.append(time.perf_counter())
    moments = KernelMoments.of(kernel, points, X)
    times.append(time.perf_counter())
    landmark_subspace(moments, Wanted(COMPONENTS))
    times.append(time.perf_counter())
    return np.diff(times)


def compare_with_exact(width):
    print(f"\nexact, MNIST 60,000 × 784 float32, {width}, {COMPONENTS} components; each in a process of its own")
    results = {}
    for landmarks in ("None", *SELECTORS):
        command = [sys.executable, __file__, "--inline", landmarks, "--width", width]
        results[landmarks] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        result = results[landmarks]
        print(
            f"  landmarks: {landmarks:13}  {result['seconds']:7.1f} s, peak memory {result['peak'] / 1e9:.2f} GB (data "
            f"{result['data'] / 1e9:.2f} GB), {result['note']}",
            flush=True,
        )
    exact = np.array(results["None"]["eigenvalues"])
    for name in SELECTORS:
        error = float(np.max(np.abs(np.array(results[name]["eigenvalues"]) - exact) / exact))
        print(f"  {name}: largest relative error of an eigenvalue {error:.4f}")


def fit_inline(landmarks, width):
    X = data("mnist", "float32")
    gamma = WIDTHS[width][1] * resolve_gamma(WIDTHS[width][0], X[:5000])
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPCA(COMPONENTS, gamma=gamma, landmarks=landmarks, max_memory="4GB").fit(X)
    seconds = time.perf_counter() - start
    if landmarks is None:
        note = f"relative residuals {float(model.eigen_result_.relative_residuals.max()):.1e}"
    else:
        note = f"{model.landmarks_.residual_fraction:.4f} of the trace left"
    result = {"seconds": seconds, "peak": peak_memory(), "data": X.nbytes, "note": note}
    print(json.dumps({**result, "eigenvalues": model.eigenvalues_.astype(float).tolist()}))


SELECTORS = {
    "a number": AutoLandmarks(1000),
    "rpcholesky": RandomlyPivotedCholesky(1000),
    "sparse greedy": SparseGreedy(1000),
    "kmeans": KMeans(1000),
}
PARTS = ("selection", "peer", "exact")


def main():
    parser = option_parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; the first two when left out")
    parser.add_argument("--data", choices=("usps", "mnist", "both"), default="both")
    parser.add_argument("--width", choices=tuple(WIDTHS), default="median")
    parser.add_argument("--optimum", action="store_true", help="also the best subspace, for USPS")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--inline", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inline:
        fit_inline(None if options.inline == "None" else SELECTORS[options.inline], options.width)
        return
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}; known: {', '.join(PARTS)}")
    parts = options.parts or PARTS[:2]
    KernelPCA(2).fit(np.random.default_rng(0).normal(size=(300, 3)))  # thread pools and lazy imports
    print(describe_machine())
    names = ("usps", "mnist") if options.data == "both" else (options.data,)
    for name in names:
        if "selection" in parts:
            compare_selections(name, tuple(WIDTHS), options.optimum)
        if "peer" in parts:
            dtypes = ("float64", "float32") if name == "usps" else ("float32",)
            compare_with_peer(name, options.width, dtypes, options.repeats if name == "usps" else 1)
    if "exact" in parts:
        compare_with_exact(options.width)


if __name__ == "__main__":
    main()
