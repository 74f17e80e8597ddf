"""How much do unlabelled points teach kernel PCA, and how much do labels?

Question: the learning curves of T. J. Hansen, T. J. Abrahamsen, L. K. Hansen, "Information-based kernel PCA denoising
by semi-supervised manifold learning", 2013, figure 3: the error of denoised test points against the number of training
points, for kernel PCA without labels, with labels for a third of the points, and with all labels, each with the
Gaussian and with the graph kernel. The paper has a figure and no numbers. It says that all labels are best and none
are worst, less clearly where points are few; that a third of the labels is as good as all for the graph kernel; and
that N labelled points and 2N without labels are better than the N labelled ones alone.

Set-up: the spirals of `semi_supervised.py`, noise 0.15, 100 test points, kernel exp(−5‖x − y‖²), three components,
targets ±1 on all of them, label weight 2, the fixed point from the noisy point with at most 300 steps. The paper fixes
s = 10, which is a standard deviation of 0.58 of each component at 300 points, and of more at fewer points; `scale`
here is that deviation, 0.58 at every size; the last section follows the letter of the paper. The geometry of the
spirals is not given in the paper: two are shown, in one of which its order of methods was found before at 300 points,
and one in which it was not. A draw has 600 training points, of which the first N are used, and one set of test points.

What to observe: which of the three statements hold.

    python benchmarks/papers/semi_supervised_curves.py --n-jobs 2 --output docs/results/semi_supervised_curves.md
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from _reports import option_parser, origin, publish
from semi_supervised import GAMMA, N_TEST, PRINTED, C, S, preimages, spirals

from preimage import SemiSupervisedKernelPCA
from preimage.kernels import Gaussian, Warped

GEOMETRIES = ((2, 1.5), (1, 1.5))
NOISE, MOST = 0.15, 600
# Sizes with their thirds, which have as many labels when all points are labelled.
SIZES = (30, 50, 100, 150, 300, 450, 600)
PAIRS = ((50, 150), (100, 300), (150, 450))
KERNELS, LABELS = ("Gaussian", "graph"), ("none", "a third", "all")


def main():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    # {(radius, turns): errors of shape (draws, sizes, kernels, labels)}
    errors = {each: curves(*each, False, options) for each in GEOMETRIES}
    printed = {each: curves(*each, True, options) for each in GEOMETRIES}
    publish(report(errors, printed, options), options.output)
    if options.output is not None:
        draw({shape: (found.mean(axis=0), standard_error(found)) for shape, found in errors.items()}, options)


def curves(radius, turns, printed_scale, options):
    tasks = (
        delayed(errors_of_draw)(radius, turns, seed, options.sizes, printed_scale) for seed in range(options.draws)
    )
    return np.array(Parallel(options.n_jobs)(tasks))


def errors_of_draw(radius, turns, seed, sizes, printed_scale):
    """Mean squared errors of one draw, shape (sizes, kernels, labels)."""
    warnings.simplefilter("ignore")  # problems that stop at the limit of steps, which the protocol wants
    rng = np.random.default_rng([seed, int(100 * radius), int(100 * turns)])
    clean, label = spirals(MOST, radius, turns, rng)
    X = clean + NOISE * rng.normal(size=clean.shape)
    truth, _ = spirals(N_TEST, radius, turns, rng)
    noisy = truth + NOISE * rng.normal(size=truth.shape)
    # Points of both classes take turns, and so do thirds of each class: the first N have N/3 labels.
    order, known = rng.permutation(MOST // 2), np.arange(MOST) // 2 % 3 == 0
    rows = np.column_stack([2 * order, 2 * order + 1]).ravel()
    X, label = X[rows], label[rows]
    return [
        [
            [
                error_of(kernel, X[:n], labels, noisy, truth, printed_scale)
                for labels in labellings(label[:n], known[:n])
            ]
            for kernel in (Gaussian(GAMMA), Warped(Gaussian(GAMMA), X[:n]))
        ]
        for n in sizes
    ]


def labellings(label, known):
    return None, np.where(known, label, -1), label


def error_of(kernel, X, y, noisy, truth, printed_scale):
    n = len(X) if printed_scale else 300
    model = SemiSupervisedKernelPCA(
        3,
        kernel=kernel,
        landmarks=None,
        label_weight=C,
        scale=S / np.sqrt(n),
        encoding="auto" if y is None else "two_class",
    ).fit(X, y)
    return float(np.mean((preimages(model, noisy, PRINTED) - truth) ** 2))


def report(errors, printed, options):
    yield "# Learning curves of semi-supervised kernel PCA\n"
    yield origin()
    yield "\n".join(__doc__.strip().splitlines()[2:-4]) + "\n"
    yield "What came out:\n"
    yield from findings(errors, options.sizes)
    yield ""
    if options.output:
        yield f"![Learning curves]({options.output.stem}.png)\n"
    for (radius, turns), found in errors.items():
        yield f"## Radius {radius:g}, {turns:g} turns\n"
        yield f"Mean squared errors, means of {options.draws} draws ± standard errors; noisy points: {NOISE**2:.4f}.\n"
        yield "| points | " + " | ".join(f"{kernel}, {labels}" for kernel in KERNELS for labels in LABELS) + " |"
        yield "|---" * 7 + "|"
        for i, n in enumerate(options.sizes):
            yield f"| {n} | " + " | ".join(with_error(found[:, i, k, j]) for k in range(2) for j in range(3)) + " |"
        yield ""
        yield from statements(found, options)
        yield ""
    yield "## With s = 10 at every size\n"
    for (radius, turns), found in printed.items():
        yield f"Radius {radius:g}, {turns:g} turns:\n"
        yield from statements(found, options)
        yield ""


def findings(errors, sizes):
    """The three statements of the paper, counted over geometries and sizes."""
    pairs = [pair for pair in PAIRS if set(pair) <= set(sizes)]
    for k, kernel in enumerate(KERNELS):
        gains = [
            found[:, sizes.index(many), k, 1] - found[:, sizes.index(few), k, 2]
            for found in errors.values()
            for few, many in pairs
        ]
        clear = sum(gain.mean() < -2 * standard_error(gain) for gain in gains)
        level = sum(abs(gain.mean()) <= 2 * standard_error(gain) for gain in gains)
        yield (
            f"- {kernel}, N points with labels and 2N without against the N alone: better by more than two standard "
            f"errors in {clear} of {len(gains)} comparisons, level in {level}."
        )
        for name, first, second in (("a third of the labels against all", 1, 2), ("no labels against all", 0, 2)):
            changes = [
                found[:, i, k, first] - found[:, i, k, second] for found in errors.values() for i in range(len(sizes))
            ]
            worse = sum(change.mean() > 2 * standard_error(change) for change in changes)
            better = sum(change.mean() < -2 * standard_error(change) for change in changes)
            yield f"- {kernel}, {name}: worse in {worse}, better in {better} of {len(changes)} sizes and geometries."
    for (radius, turns), found in errors.items():
        below = [n for i, n in enumerate(sizes) if found[:, i, 1, 0].mean() < NOISE**2]
        where = f"Radius {radius:g}, {turns:g} turns"
        yield f"- {where}: the graph kernel without labels is below the noisy points at {words(below)} points."


def statements(found, options):
    """What the paper says, each with the paired differences that decide."""
    means, sizes = found.mean(axis=0), options.sizes
    for k, kernel in enumerate(KERNELS):
        ordered = [n for i, n in enumerate(sizes) if means[i, k, 2] <= means[i, k, 1] <= means[i, k, 0]]
        yield f"- {kernel}: all labels ≤ a third ≤ none at {words(ordered)} points."
        for few, many in PAIRS:
            if {few, many} <= set(sizes):
                gain = found[:, sizes.index(many), k, 1] - found[:, sizes.index(few), k, 2]
                yield f"- {kernel}: {many} points with {few} labels, less {few} with all: {with_error(gain, True)}."
    difference = found[:, :, 1, 1] - found[:, :, 1, 2]
    yield f"- Graph: a third of the labels less all, mean over sizes: {with_error(difference.mean(axis=1), True)}."
    better = [n for i, n in enumerate(sizes) if means[i, 1].max() < means[i, 0].min()]
    yield f"- Every column of the graph kernel below every one of the Gaussian at {words(better)} points."


def words(numbers):
    return ", ".join(map(str, numbers)) if numbers else "no number of"


def with_error(values, signed=False):
    return f"{values.mean():{'+' if signed else ''}.4f} ± {standard_error(values):.4f}"


def standard_error(values):
    """Of means over draws, the first axis."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1:])


def draw(summaries, options):
    """One panel per geometry and kernel, from means and standard errors of shape (sizes, kernels, labels)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    figure, axes = plt.subplots(len(summaries), 2, figsize=(9, 3.2 * len(summaries)), squeeze=False)
    for row, ((radius, turns), (means, errors)) in zip(axes, summaries.items(), strict=True):
        for k, ax in enumerate(row):
            for j, (labels, color) in enumerate(zip(LABELS, ("tab:red", "tab:blue", "tab:green"), strict=True)):
                ax.errorbar(options.sizes, means[:, k, j], errors[:, k, j], label=f"labels: {labels}", color=color)
            ax.axhline(NOISE**2, color="gray", linestyle=":", label="noisy points")
            ax.set(xscale="log", xlabel="training points", ylabel="mean squared error", ylim=(0, None))
            ax.set(title=f"{KERNELS[k]}, radius {radius:g}, {turns:g} turns")
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xticks(options.sizes, map(str, options.sizes))
    axes[0, 1].legend()
    figure.tight_layout()
    figure.savefig(options.output.with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main()
