"""Does renormalisation of principal components bring new points back to where training points are?

Question: the simulations and the digits of T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High
Dimensional Kernel Principal Component Analysis", JMLR 12, 2011, with leave-one-out scores that are exact at the price
of one fit, which the paper does not have.

Parts (`--parts`):

- laws: overlap of the first principal axis with a single spike; variances of minimum-norm regression.
- scores: leave-one-out scores by refitting (U. Kjems et al., 2001), exact from one decomposition, and to first order.
- circles: two half circles of radius one (one of them with noise of deviation 0.1) in D noisy dimensions, three fifths
  of the points in the first; SNR is the variance of the signal over that of all noise, Dσ²; a linear discriminant on q
  kernel principal components, kernel exp(−‖x − y‖²/c).
- curve: error against the number of training points.
- usps: digit 8 against the rest, 10 training and 10 test images a digit, c at the 5th percentile of squared distances,
  components for 85 % of the variance, noise of deviation σ on all images; a linear discriminant.

"histogram" sees the whole test set, of the same proportions; all others see training data alone. "guarded" is what the
leave-one-out guard makes of "auto" and of "histogram", with the same discriminant.

What to observe: test errors at the share of the smaller class come down to training errors; where nothing is inflated,
"auto" does nothing; with much noise correction hurts, and the guard notices.

    python benchmarks/papers/variance_inflation.py --parts laws scores circles --draws 2
    python benchmarks/papers/variance_inflation.py --n-jobs 2 --output docs/results/variance_inflation.md
"""

import sys
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import ttest_rel
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import STARTED
from _refits import refitted_scores
from _reports import option_parser, origin, progress, publish
from data import load_usps

from preimage import KernelPCA, Renormalized
from preimage.inflation import leave_one_out, renormalize

PARTS = ("laws", "scores", "circles", "curve", "usps")
METHODS = ("none", "histogram", "transfer", "affine", "auto")
SIZES = (20, 30, 50, 80, 120, 200, 300, 500, 800, 1200, 2000)
NOISES = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0)


def main():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--draws", type=int, default=8, help="repetitions of the simulations")
    parser.add_argument("--digit-draws", type=int, default=300, help="draws of digits; 300 in the paper")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="training points of the curve")
    parser.add_argument("--noises", type=float, nargs="+", default=list(NOISES), help="σ of the noise on digits")
    parser.add_argument("--paper-only", action="store_true", help="of the half circles, only N = 500, c = 0.1, SNR 3")
    options = parser.parse_args()
    body = []
    for part in options.parts:
        body += ["", *globals()[f"part_{part}"](options)]
        progress(part, STARTED)
    heading = ["# Variance inflation of principal components", "", origin(), *INTRODUCTION]
    publish([*heading, *body], options.output)


INTRODUCTION = [
    "`Renormalized` and `preimage.inflation` on the simulations and the digits of Abrahamsen and Hansen (JMLR 12, "
    "2011). SNR, which the paper does not define, is the variance of the signal over that of all noise, Dσ². "
    '"histogram" needs the whole test set at once, with classes in the proportions of training; "transfer", "affine" '
    'and "auto" are learned from training data alone and work for single points.',
    "",
    "One decision of the library was made on test errors of such draws, before these runs: that 'auto' takes lines "
    "with deviations steadied by neighbouring components, not PCHIP curves (40 draws of digits, 8 of circles). The "
    "guard judges by accuracy here, because errors are reported.",
]


def part_laws(options):
    """The single spike, and minimum-norm regression, against their formulas."""
    rng = np.random.default_rng(0)
    lines = [
        "## Laws",
        "",
        "Squared overlap R² of the first axis with the direction of a single spike, D = 1,000, means of 20 draws, and "
        "(αS² − 1)/(αS² + S) with α = N/D and S = 1/σ²:",
        "",
        "| σ | N | measured | law |",
        "|---|---|---|---|",
    ]
    for sigma, n in [(0.17, 30), (0.17, 60), (0.17, 120), (0.17, 300), (0.5, 30), (0.5, 120), (0.5, 300)]:
        overlaps = []
        for _ in range(20):
            X = sigma * rng.normal(size=(n, 1000))
            X[:, 0] += rng.normal(size=n)
            overlaps.append(PCA(1, svd_solver="full").fit(X).components_[0, 0] ** 2)
        alpha, S = n / 1000, 1 / sigma**2
        law = max(0.0, (alpha * S**2 - 1) / (alpha * S**2 + S))
        lines.append(f"| {sigma} | {n} | {np.mean(overlaps):.3f} | {law:.3f} |")
    lines += [
        "",
        "Minimum-norm regression, D = 40, ‖w‖² = 4, noise variance 0.5, 2,000 draws: variance of predictions for new "
        "points over that for training points, and (N/D · ‖w‖² + σ²N/(D − N − 1)) / (‖w‖² + σ²):",
        "",
        "| N | measured | law |",
        "|---|---|---|",
    ]
    w = np.full(40, 2 / np.sqrt(40))
    for n in (5, 15, 25, 35):
        new, train = 0.0, 0.0
        for _ in range(2000):
            X = rng.normal(size=(n, 40))
            y = X @ w + np.sqrt(0.5) * rng.normal(size=n)
            new += ((np.linalg.pinv(X) @ y) ** 2).sum()
            train += (y**2).mean()  # it interpolates
        law = (n / 40 * 4 + 0.5 * n / (40 - n - 1)) / 4.5
        lines.append(f"| {n} | {new / train:.3f} | {law:.3f} |")
    return lines


def part_scores(options):
    """Leave-one-out scores: the exact ones from one decomposition, those by refitting, and the first-order formula."""
    lines = [
        "## Leave-one-out scores",
        "",
        "Relative error of the standard deviations of left-out scores (largest over components) and of the scores "
        "themselves (root mean square over that of the scores), against refitting without each point; seconds of "
        "processor time; N = 300, means over draws. Linear: four signals of deviation 1.4, 1.2, 1, 0.8 in 2,000 "
        "dimensions, "
        "noise 0.2. Half circles: D = 1,000, SNR 3.",
        "",
        "| data | q | method | error of deviations | error of scores | seconds | times faster |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios, errors = [], []
    cases = [("linear", 4), ("linear", 20), ("half circles, c = 0.1", 20), ("half circles, c = 1", 20)]
    for name, q in cases:
        scores_by = {
            "refit": refitted_scores,
            "exact": leave_one_out,
            "first_order": lambda gram, q: leave_one_out(gram, q, method="first_order"),
        }
        found = {method: [] for method in scores_by}
        for draw in range(options.draws):
            gram = _gram(name, draw)
            results = {m: timed(partial(scores_by[m], gram, q), 1 + 2 * (m != "refit")) for m in found}
            truth = results["refit"][1].left_out
            for method, (seconds, scores) in results.items():
                spread = np.abs(scores.left_out.std(axis=0) / truth.std(axis=0) - 1).max()
                error = np.linalg.norm(scores.left_out - truth) / np.linalg.norm(truth)
                found[method].append((spread, error, seconds))
        means = {method: np.mean(rows, axis=0) for method, rows in found.items()}
        for method, (spread, error, seconds) in means.items():
            ratio = means["refit"][2] / seconds
            lines.append(f"| {name} | {q} | {method} | {spread:.1e} | {error:.1e} | {seconds:.4f} | {ratio:.0f} |")
        ratios.append(means["refit"][2] / means["exact"][2])
        errors.append((max(means["exact"][:2]), means["first_order"][0]))
    (exact, _), (first, last) = np.max(errors, axis=0), (min(e for _, e in errors), max(e for _, e in errors))
    return [
        *lines,
        "",
        f"The exact form, one decomposition and a rank-one change for each point, equals refitting to {exact:.0e} at "
        f"{min(ratios):.0f} to {max(ratios):.0f} times its speed; refits here compute leading eigenpairs only. The "
        f"first-order formula of the literature misses deviations by {100 * first:.0f} to {100 * last:.0f} %.",
    ]


def timed(function, repeats):
    """Median seconds of processor time, which do not depend on what else the machine does, and the last result."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        result = function()
        seconds.append(time.process_time() - started)
    return float(np.median(seconds)), result


def _gram(name, draw):
    rng = np.random.default_rng(draw)
    if name == "linear":
        X = 0.2 * rng.normal(size=(300, 2000))
        X[:, :4] += rng.normal(size=(300, 4)) * [1.4, 1.2, 1.0, 0.8]
        return X @ X.T
    X, _, _, _ = half_circles(300, 1, 1000, 3, draw)
    squared = (X**2).sum(axis=1)
    distances = np.maximum(squared + squared[:, None] - 2 * X @ X.T, 0)
    return np.exp(-distances / (0.1 if "0.1" in name else 1.0))


def part_circles(options):
    """Errors of a linear discriminant on kernel principal components of half circles."""
    draws = range(options.draws)
    lines = [
        "## Half circles",
        "",
        f"Errors on 1,000 new points, means of {len(draws)} draws. The paper: 0.4 → 0.002 at N = 500, D = 1,000. "
        '"std ratio": of training scores to new ones, first component.',
        "",
        "| N | D | c | SNR | q | std ratio | train | plain | histogram | transfer | affine | auto | guarded auto |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    settings = [(500, 1000, 0.1, 3, q) for q in (5, 20)]
    if not options.paper_only:
        settings += [(300, 600, c, snr, q) for c, snr, q in product((0.05, 0.1, 0.5), (1, 3, 10, 60), (5, 20))]
    run = Parallel(n_jobs=options.n_jobs)
    rows = run(delayed(circle_errors)(*setting, draw) for setting in settings for draw in draws)
    means = np.mean(np.reshape(rows, (len(settings), len(draws), -1)), axis=1)
    for (n, d, c, snr, q), (ratio, *errors) in zip(settings, means, strict=True):
        cells = " | ".join(f"{error:.3f}" for error in errors)
        lines.append(f"| {n} | {d} | {c} | {snr} | {q} | {ratio:.3g} | {cells} |")
    return [*lines, "", circle_finding(settings, means)]


def circle_finding(settings, means):
    """The case of the paper, and what correction costs where nothing is inflated."""
    names = ("train", *METHODS, "guarded")
    column = lambda name: means[:, 1 + names.index(name)]
    paper = np.array([setting[0] == 500 for setting in settings])
    learned = max(column(name)[paper].max() for name in ("transfer", "affine", "auto"))
    cost, guarded = (column(name) - column("none") for name in ("auto", "guarded"))
    worst = settings[int(np.argmax(cost))]
    return (
        f"In the case of the paper (N = 500) the error is at most {learned:.3f} with all methods that are learned at "
        "fit "
        f"time, and {column('histogram')[paper].max():.3f} at worst with histogram specification. `auto` costs at most "
        f"{max(0.0, cost.max()):.3f} against plain (c = {worst[2]}, SNR {worst[3]}, q = {worst[4]}), with the guard "
        f"{max(0.0, guarded.max()):.3f}. Other data can lose more without the guard, which is on when classes are "
        "given."
    )


def circle_errors(n, d, c, snr, q, draw):
    X, y, X_new, y_new = half_circles(n, 1000, d, snr, draw)
    model = KernelPCA(q, gamma=1 / c)
    plain = model.fit(X)
    ratio = plain.transform(X)[:, 0].std() / plain.transform(X_new)[:, 0].std()
    judge = LinearDiscriminantAnalysis().fit(plain.transform(X), y)
    errors = [np.mean(judge.predict(plain.transform(X)) != y)]
    errors += [method_error(model, method, X, y, X_new, y_new) for method in METHODS]
    return [ratio, *errors, method_error(model, "auto", X, y, X_new, y_new, guard=LinearDiscriminantAnalysis())]


def method_error(model, method, X, y, X_new, y_new, guard=None):
    """Share of new points that a discriminant on scores, corrected by a method, gets wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collinear scores of discriminants, and what a guard meets in folds
        if guard is None and method in ("none", "histogram"):  # no need to leave points out
            model = clone(model).fit(X)
            train, new = model.transform(X), model.transform(X_new)
            new = new if method == "none" else renormalize(train, new)
        else:
            first = Renormalized(model, method=method, guard=guard, scoring="accuracy").fit(X, y)
            train, new = first.transform(X), first.transform(X_new)
        return float(np.mean(LinearDiscriminantAnalysis().fit(train, y).predict(new) != y_new))


def half_circles(n, n_new, d, snr, draw):
    """Training points and classes, and new ones."""
    rng = np.random.default_rng(draw)
    y = (rng.uniform(size=n + n_new) >= 0.6).astype(int)
    angle = rng.uniform(0, np.pi, size=n + n_new)
    first = np.c_[np.cos(angle), np.sin(angle)]
    second = np.c_[1 - np.cos(angle), 0.5 - np.sin(angle)] + 0.1 * rng.normal(size=(n + n_new, 2))
    points = np.where(y[:, None] == 1, second, first)
    plane = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    noise = np.sqrt(points.var(axis=0).sum() / (d * snr))
    X = points @ plane + noise * rng.normal(size=(n + n_new, d))
    return X[:n], y[:n], X[n:], y[n:]


def part_curve(options):
    """How many training points it takes."""
    draws = range(options.draws)
    lines = [
        "## Learning curves",
        "",
        f"Errors on 1,000 new points, D = 1,000, q = 20 (a third of the points at most), means of {len(draws)} draws. "
        "The paper: about ten times more data are needed without renormalisation.",
        "",
        "| c | SNR | method | " + " | ".join(f"N = {n}" for n in options.sizes) + " | first N with error ≤ 0.05 |",
        "|---|---|---|" + "---|" * (len(options.sizes) + 1),
    ]
    needed = []
    for c, snr in ((0.1, 3), (0.1, 6), (0.5, 1)):
        first = {}
        jobs = [(n, c, snr, draw) for n in options.sizes for draw in draws]
        rows = np.array(Parallel(n_jobs=options.n_jobs)(delayed(curve_errors)(*job) for job in jobs))
        rows = rows.reshape(len(options.sizes), len(draws), 3).mean(axis=1)
        for name, column in zip(("plain", "histogram", "auto"), rows.T, strict=True):
            enough = [n for n, error in zip(options.sizes, column, strict=True) if error <= 0.05]
            cells = " | ".join(f"{error:.3f}" for error in column)
            lines.append(f"| {c} | {snr} | {name} | {cells} | {enough[0] if enough else 'none'} |")
            first[name] = enough[0] if enough else None
        if first["auto"]:
            most = first["plain"] or max(options.sizes)
            more = "" if first["plain"] else "more than "
            needed.append(f"{more}{most / first['auto']:.0f} at c = {c} and SNR {snr}")
    return [
        *lines,
        "",
        "Examples that plain kernel PCA needs for an error of 0.05, over those that `auto` needs: "
        f'{", ".join(needed)}. "About ten times" depends on how strong the inflation is.',
    ]


def curve_errors(n, c, snr, draw):
    data = half_circles(n, 1000, 1000, snr, draw)
    model = KernelPCA(min(20, n // 3), gamma=1 / c)
    return [method_error(model, method, *data) for method in ("none", "histogram", "auto")]


def part_usps(options):
    """Digit 8 against the rest, from ten examples a digit."""
    usps = load_usps()
    images = np.concatenate([usps.X_train, usps.X_test]).astype(float)
    digits = np.concatenate([usps.y_train, usps.y_test]).astype(int)
    lines = [
        "## USPS, digit 8 against the rest",
        "",
        f"Test errors, means of {options.digit_draws} draws; p: paired t-test against plain. The paper: 0.06 → 0.05 "
        "without "
        "noise (p = 2·10⁻¹¹); a separate program: 0.051 → 0.047 (p = 4·10⁻⁵). Digits are drawn from the pooled "
        "official sets.",
        "",
        "| σ | plain | histogram (p) | transfer (p) | affine (p) | auto (p) | guarded histogram | guarded auto | guard "
        "accepts | worst guarded − plain |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    tasks = [(sigma, draw) for sigma in options.noises for draw in range(options.digit_draws)]
    found = Parallel(n_jobs=options.n_jobs)(delayed(digit_errors)(images, digits, *task) for task in tasks)
    lowered, costs = [], []
    for sigma, rows in zip(
        options.noises, np.reshape(found, (len(options.noises), options.digit_draws, -1)), strict=True
    ):
        plain, means = rows[:, 0], rows.mean(axis=0)
        corrected = " | ".join(f"{means[k]:.4f} ({_p_value(rows[:, k], plain)})" for k in range(1, len(METHODS)))
        guarded = means[5:7]
        lines.append(
            f"| {sigma:g} | {means[0]:.4f} | {corrected} | {guarded[0]:.4f} | {guarded[1]:.4f} | {means[7]:.2f} | "
            f"{(guarded - means[0]).max():+.4f} |"
        )
        costs.append((guarded - means[0]).max())
        lowered += [sigma] if means[METHODS.index("auto")] < means[0] else []
    return [
        *lines,
        "",
        f"`auto` lowers the error at σ = {', '.join(f'{sigma:g}' for sigma in lowered) or 'none'}. With more noise all "
        "corrections raise it, unless they are guarded. A guard costs at most "
        f"{max(0.0, max(costs)):.4f}.",
    ]


def digit_errors(images, digits, sigma, draw):
    rng = np.random.default_rng(draw)
    chosen = np.stack([rng.choice(np.flatnonzero(digits == digit), 20, replace=False) for digit in range(10)])
    train, test = chosen[:, :10].ravel(), chosen[:, 10:].ravel()
    X = images[train] + sigma * rng.normal(size=(100, images.shape[1]))
    X_new = images[test] + sigma * rng.normal(size=(100, images.shape[1]))
    y, y_new = (digits[train] == 8).astype(int), (digits[test] == 8).astype(int)
    model, data = KernelPCA(0.85, gamma="p5"), (X, y, X_new, y_new)
    errors = [method_error(model, method, *data) for method in METHODS]
    judge = LinearDiscriminantAnalysis()
    guarded = [method_error(model, method, *data, guard=judge) for method in ("histogram", "auto")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accepted = Renormalized(model, guard=judge, scoring="accuracy").fit(X, y).method_ != "none"
    return [*errors, *guarded, float(accepted)]


def _p_value(errors, plain):
    return "–" if np.array_equal(errors, plain) else f"{ttest_rel(errors, plain).pvalue:.1g}"


if __name__ == "__main__":
    main()
