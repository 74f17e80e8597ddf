"""How much of the kernel do chosen landmarks keep, and what does kernel PCA on them cost against scikit-learn?

Set-up: USPS (7,291 × 256) and MNIST (60,000 × 784, pixels in [0, 1]), Gaussian kernels of several widths, all stated:
"median" is γ = 1/median squared distance, "median/16" a sixteenth of that γ (a wider kernel), "scale" is scikit-learn's
rule 1/(d · variance). Four questions:

    selection   residual trace tr(K − K̃) over all rows against that of uniform landmarks, one seed
    peer        time and errors of the whole fit of 20 components against make_pipeline(Nystroem, PCA) at the same m and
                γ, the fastest of scikit-learn's solvers
    rounding    how many landmarks differ by more than rounding errors, and what is left
    exact       MNIST: eigenvalues and memory of exact kernel PCA against 1,000 landmarks, each in a process of its own
                (the exact fit takes minutes)

    python benchmarks/speed/landmarks.py                          # selection and peer
    python benchmarks/speed/landmarks.py selection --data usps
    python benchmarks/speed/landmarks.py selection peer exact rounding --optimum --record

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
from _measure import describe_machine, peak_memory, record, timed
from _reports import option_parser, stamped, table
from data import load_mnist, load_usps

from preimage import KernelPCA
from preimage._models.components import Wanted, landmark_subspace
from preimage.feature_space import KernelMoments
from preimage.kernels import Gaussian, resolve_gamma
from preimage.landmarks import AutoLandmarks, KMeans, PivotedCholesky, RandomlyPivotedCholesky, SparseGreedy, Uniform

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
    """{"data, width, m, selector": fraction of the trace left}; "best" is that of the best subspace."""
    X, values = data(name, "float32"), {}
    rules = {"uniform": Uniform, "rpcholesky": RandomlyPivotedCholesky, "greedy": SparseGreedy}
    for width in widths:
        kernel = Gaussian(gamma_of(name, width))
        wanted = with_optimum and name == "usps" and width in ("median", "median/16")
        spectrum = np.linalg.eigvalsh(kernel(X))[::-1].astype(float) if wanted else None
        for m in SIZES:
            found = {key: residual_fraction(kernel, X, rule(m)) for key, rule in rules.items()}
            if spectrum is not None:
                found["best"] = 1 - spectrum[:m].sum() / len(X)
            values |= {f"{name}, {width}, {m}, {key}": value for key, value in found.items()}
            print(f"{name}, {width}, {m}: " + ", ".join(f"{k} {v:.4g}" for k, v in found.items()), flush=True)
    return values


def selection_section(contents):
    values = contents["values"]
    yield from stamped("## What a choice of landmarks keeps\n", contents)
    yield (
        "Fraction of the trace left by m landmarks, divided by what uniform landmarks leave (one seed, single "
        "precision); "
        '"best" is the same for the best subspace of m dimensions, which no landmarks reach. γ is that of the median '
        "rule times the factor given. MNIST is judged on 10,000 of its rows. All for m = "
        f"{' / '.join(f'{m:,}' for m in SIZES)}.\n"
    )
    rows = []
    for name in ("usps", "mnist"):
        for width in WIDTHS:
            over = lambda key, name=name, width=width: " / ".join(
                f"{values[f'{name}, {width}, {m}, {key}'] / values[f'{name}, {width}, {m}, uniform']:.2f}"
                for m in SIZES
            )
            left = " / ".join(f"{values[f'{name}, {width}, {m}, uniform']:.2g}" for m in SIZES)
            best = over("best") if f"{name}, {width}, {SIZES[0]}, best" in values else ""
            shown = width.replace("4 median", "4 × median").replace("/", " / ")
            rows.append([name.upper(), shown, left, over("rpcholesky"), over("greedy"), best])
    header = ["data", "γ", "uniform leaves", "`RandomlyPivotedCholesky`", "`SparseGreedy`", "best"]
    yield from table(header, rows)
    yield (
        "\nDigits have no rare groups that uniform draws would miss: random pivots gain little on them, greedy ones "
        "more.\n"
    )


def residual_fraction(kernel, X, selector):
    """tr(K − K̃)/tr K: exact up to 10,000 rows, else on 10,000 rows drawn once for all selectors."""
    points = selector.select(kernel, X).points
    rows = X if len(X) <= 10_000 else X[np.random.default_rng(1).choice(len(X), 10_000, replace=False)]
    moments = KernelMoments.of(kernel, points.astype(np.float64), rows.astype(np.float64))
    return landmark_subspace(moments, Wanted(1)).residual / moments.trace


def compare_with_peer(name, width, dtypes, repeats):
    """{"data, dtype, m, what": number}; errors are those of the sum of the leading eigenvalues."""
    gamma, values = gamma_of(name, width), {}
    exact = exact_eigenvalues(name, gamma) if name == "usps" else None
    for dtype in dtypes:
        X = data(name, dtype)
        for m in SIZES:
            seconds, cpu, model = timed_twice(lambda: KernelPCA(COMPONENTS, gamma=gamma, landmarks=m).fit(X), repeats)
            solvers = {"auto", "covariance_eigh"} if len(X) < 10 * m else {"auto"}
            runs = [
                (*timed_twice(lambda: fit_peer(X, m, gamma, solver), repeats), solver) for solver in sorted(solvers)
            ]
            peer_seconds, peer_cpu, peer, _ = min(runs, key=lambda run: run[0])
            ours, theirs = model.eigenvalues_.astype(float), peer[-1].explained_variance_.astype(float) * (len(X) - 1)
            reference = exact if exact is not None else np.maximum(ours, theirs)
            errors = [float(np.sum(reference - found) / np.sum(reference)) for found in (ours, theirs)]
            parts = dict(zip(("selection", "pass", "eigenproblem"), profile(X, gamma, m), strict=True))
            found = {"seconds": seconds, "peer, seconds": peer_seconds, "ratio": seconds / peer_seconds}
            found |= {"ratio of CPU": cpu / peer_cpu, "error": errors[0], "peer, error": errors[1], **parts}
            values |= {f"{name}, {dtype}, {m}, {what}": number for what, number in found.items()}
            print(f"{name}, {dtype}, {m}: " + ", ".join(f"{k} {v:.3g}" for k, v in found.items()), flush=True)
    return values


def peer_section(contents):
    values = contents["values"]
    yield from stamped("## Against scikit-learn\n", contents)
    yield (
        f"The whole fit of {COMPONENTS} components with `landmarks=m` against `make_pipeline(Nystroem, PCA)` at the "
        "same m, γ = median, the fastest of PCA's solvers; medians of three runs for USPS, one run for MNIST. The "
        f"error is that of the sum of the leading {COMPONENTS} eigenvalues; for MNIST against the larger of both for "
        "each eigenvalue.\n"
    )
    rows = []
    for name, dtypes in PEER_TYPES.items():
        for dtype, m in ((dtype, m) for dtype in dtypes for m in SIZES):
            of = lambda what, key=f"{name}, {dtype}, {m}": values[f"{key}, {what}"]
            seconds = [f"{of(what):.2g}" for what in ("seconds", "peer, seconds")]
            ratios = [f"{of(what):.2f}" for what in ("ratio", "ratio of CPU")]
            errors = [f"{of(what):.2g}" for what in ("error", "peer, error")]
            rows.append([name.upper(), dtype, f"{m:,}", *seconds, *ratios, *errors])
    header = ["data", "dtype", "m", "ours, s", "scikit-learn, s", "time, ratio", "CPU time, ratio", "error"]
    yield from table([*header, "error of scikit-learn"], rows)
    of = lambda what: values[f"mnist, float32, {SIZES[-1]}, {what}"]
    yield (
        f"\nOn MNIST at m = {SIZES[-1]:,} selection takes {of('selection'):.2g} s, the pass over the data "
        f"{of('pass'):.2g} s and eigenproblems {of('eigenproblem'):.2g} s. Leading eigenvalues ask for landmarks where "
        "the data are dense, which is where `landmarks=m` puts centres of clusters.\n"
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
    """{"choice, what": number} on MNIST, each choice in a process of its own."""
    results = {}
    for landmarks in ("None", *SELECTORS):
        command = [sys.executable, __file__, "--inline", landmarks, "--width", width]
        results[landmarks] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(landmarks, {key: value for key, value in results[landmarks].items() if key != "eigenvalues"}, flush=True)
    exact, values = np.array(results["None"]["eigenvalues"]), {}
    for name, result in results.items():
        error = float(np.max(np.abs(np.array(result["eigenvalues"]) - exact) / exact))
        found = {"seconds": result["seconds"], "GB": result["peak"] / 1e9, "left": result["left"], "error": error}
        values |= {f"{name}, {what}": number for what, number in found.items()}
    return values | {"data, GB": results["None"]["data"] / 1e9}


def exact_section(contents):
    values = contents["values"]
    yield from stamped("## Against exact kernel PCA\n", contents)
    yield (
        f"MNIST, 60,000 × 784 float32, γ = median, {COMPONENTS} components, 1,000 landmarks, each in a process of its "
        f"own; data {values['data, GB']:.2f} GB.\n"
    )
    rows = []
    for name, shown in SHOWN.items():
        of = lambda what, name=name: values[f"{name}, {what}"]
        left = f"relative residuals {of('left'):.0e}" if name == "None" else f"{of('left'):.3f}"
        error = "" if name == "None" else f"{of('error'):.3f}"
        rows.append([shown, f"{of('seconds'):.1f} s", f"{of('GB'):.2f} GB", left, error])
    yield from table(["", "time", "peak memory", "trace left", "largest relative error of an eigenvalue"], rows)
    yield "\nThe largest errors are those of the last of the twenty.\n"


def compare_rounding():
    """{"choice, what": number}: where no candidate differs from the span of the others by more than rounding."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    kernel, values = Gaussian(0.1), {}
    choices = {
        "`SparseGreedy`": SparseGreedy(300),
        "`SparseGreedy(block_size=1)`": SparseGreedy(300, block_size=1),
        "`PivotedCholesky`": PivotedCholesky(300),
        "`RandomlyPivotedCholesky`": RandomlyPivotedCholesky(300),
    }
    for name, selector in choices.items():
        found = selector.select(kernel, X)
        values |= {f"{name}, landmarks": len(found.points), f"{name}, left": float(found.residual_fraction)}
    print(values)
    return values


def rounding_section(contents):
    values = contents["values"]
    yield from stamped("## What rounding leaves\n", contents)
    yield (
        "500 normal points in the plane, γ = 0.1, 300 landmarks asked for; the fraction of the trace left when no "
        "candidate differs from the span of the others by more than rounding errors. "
        "`tests/oracles/test_greedy_selection.py` compares residuals, choices and reasons with 60 digits, over widths "
        "of eight decades.\n"
    )
    names = [key.removesuffix(", landmarks") for key in values if key.endswith(", landmarks")]
    yield from table(
        ["", *names],
        [
            ["landmarks", *(f"{values[f'{name}, landmarks']:.0f}" for name in names)],
            ["left", *(f"{values[f'{name}, left']:.0e}" for name in names)],
        ],
    )
    yield ""


def fit_inline(landmarks, width):
    X = data("mnist", "float32")
    gamma = WIDTHS[width][1] * resolve_gamma(WIDTHS[width][0], X[:5000])
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPCA(COMPONENTS, gamma=gamma, landmarks=landmarks, max_memory="4GB").fit(X)
    seconds = time.perf_counter() - start
    if landmarks is None:
        left = float(model.eigen_result_.relative_residuals.max())
    else:
        left = float(model.landmarks_.residual_fraction)
    result = {"seconds": seconds, "peak": peak_memory(), "data": X.nbytes, "left": left}
    print(json.dumps({**result, "eigenvalues": model.eigenvalues_.astype(float).tolist()}))


SELECTORS = {
    "a number": AutoLandmarks(1000),
    "rpcholesky": RandomlyPivotedCholesky(1000),
    "sparse greedy": SparseGreedy(1000),
    "kmeans": KMeans(1000),
}
SHOWN = {
    "None": 'exact, max_memory="4GB"',
    "a number": "`landmarks=1000`",
    "rpcholesky": "`RandomlyPivotedCholesky`",
    "sparse greedy": "`SparseGreedy`",
    "kmeans": "`KMeans`",
}
PEER_TYPES = {"usps": ("float64", "float32"), "mnist": ("float32",)}
PARTS = ("selection", "peer", "exact", "rounding")


def main():
    parser = option_parser(__doc__, "record")
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
    settings = {"data": list(names), "sizes": list(SIZES), "components": COMPONENTS}
    found = {part: {} for part in parts}
    for name in names:
        if "selection" in parts:
            found["selection"] |= compare_selections(name, tuple(WIDTHS), options.optimum)
        if "peer" in parts:
            repeats = options.repeats if name == "usps" else 1
            found["peer"] |= compare_with_peer(name, options.width, PEER_TYPES[name], repeats)
    if "exact" in parts:
        found["exact"] = compare_with_exact(options.width)
    if "rounding" in parts:
        found["rounding"] = compare_rounding()
    if not options.record:
        return
    if "selection" in parts:
        record("landmark_selection", found["selection"], settings)
    if "peer" in parts:
        record("landmark_peer", found["peer"], settings | {"width": options.width, "repeats": options.repeats})
    if "exact" in parts:
        record("landmark_exact", found["exact"], settings | {"data": ["mnist"], "width": options.width})
    if "rounding" in parts:
        record("landmark_rounding", found["rounding"], {"points": 500, "gamma": 0.1, "landmarks": 300})


if __name__ == "__main__":
    main()
