"""Why are pre-images unstable for narrow kernels, and what do penalties change?

Question: do neighbours in feature space stay neighbours in input space; how many pre-images has one point; what do the
denoised digits look like? Figures 2, 3 and 6 of T. J. Abrahamsen, L. K. Hansen, "Regularized pre-image estimation for
kernel PCA de-noising", J. Signal Processing Systems 65, 2011.

Set-up, rings: 500 points on two rings, radii 1 and 2, noise 0.1; three quarters of a turn each for the second figure.
Kernel exp(−‖x − y‖²/c). First figure: the 0.5 % nearest pairs after projection on q components are joined by lines, for
several c at q = 5 and several q at c = 0.2. Second figure: the point (0, 0) is denoised with q = 50, from each of the
500 points as a start, without and with a penalty of 0.05 on the squared distance to (0, 0). Set-up, digits: USPS 0, 2,
4, 9, 100 of each, noise 0.5, c = 50, q = 100; the penalty 3e-4, and the sparse path down to 3 % of its first penalty.

What to observe: the narrower the kernel, and the fewer the components, the longer are the lines between neighbours. For
narrow kernels, searches end in many places with nearly equal objectives; with the penalty in few. Wide kernels have one
pre-image, at the noisy point itself.

Run: python benchmarks/papers/unstable_preimages.py --output docs/results/unstable_preimages.md
"""

import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.spatial.distance import pdist

sys.path.insert(0, str(Path(__file__).parents[1]))
from _reports import option_parser, origin_and_time, publish
from data import load_usps
from regularised_preimages import DIGITS, NOISE, PENALTY

from preimage import KernelPCA
from preimage.solvers import FixedPoint, SparsePath

N_POINTS, RING_NOISE, PARTIAL = 500, 0.1, 1.5 * np.pi
NEAREST = 0.005
PAIRS_WIDTHS, PAIRS_COMPONENTS, SHARED = (5.0, 1.0, 0.2), (50, 20, 5), (0.2, 5)
START_WIDTHS, START_COMPONENTS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0), 50
RING_PENALTY = 0.05
DIGIT_WIDTH, DIGIT_COMPONENTS, PER_DIGIT, SHOWN = 50, 100, 100, 3
LIMITS = {"tol": 1e-8, "max_iter": 1000}
RAW, PLAIN, TIKHONOV, SPARSE = "noisy", "fixed point", "with a penalty", "sparse"


def main():
    options = parse_options()
    started = time.perf_counter()
    rng = np.random.default_rng(options.seed)
    pairs = neighbour_pairs(rings(2 * np.pi, rng))
    ends = ends_of_searches(rings(PARTIAL, rng))
    digits = denoised_digits(rng)
    publish(report_lines(pairs, ends, digits, time.perf_counter() - started), options.output)
    if options.output is not None:
        name = lambda part: options.output.with_name(f"{options.output.stem}_{part}.png")
        draw_pairs(pairs, name("neighbours"))
        draw_ends(ends, name("starts"))
        draw_digits(digits, name("digits"))


def parse_options():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def rings(arc, rng):
    angles = rng.uniform(0, arc, size=N_POINTS)
    radii = np.repeat([1.0, 2.0], N_POINTS // 2)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return radii[:, None] * circle + RING_NOISE * rng.normal(size=(N_POINTS, 2))


def neighbour_pairs(X):
    """For each (c, q): the nearest pairs in the subspace, as line segments, and their mean length."""
    first, second = np.triu_indices(N_POINTS, 1)
    count = round(NEAREST * first.size)
    cells = [*((c, SHARED[1]) for c in PAIRS_WIDTHS), *((SHARED[0], q) for q in PAIRS_COMPONENTS)]
    found = {"points": X, "nearest": float(np.sort(pdist(X))[:count].mean())}
    for c, q in dict.fromkeys(cells):
        Y = KernelPCA(q, gamma=1 / c).fit_transform(X)
        nearest = np.argsort(pdist(Y))[:count]
        lines = np.stack([X[first[nearest]], X[second[nearest]]], axis=1)
        found[c, q] = lines, float(np.linalg.norm(lines[:, 0] - lines[:, 1], axis=1).mean())
    return found


def ends_of_searches(X):
    """For each c: pre-images of the projection of (0, 0) from all starts, plain and with a penalty, with objectives."""
    found = {"points": X}
    query = np.zeros((N_POINTS, 2))
    for c in START_WIDTHS:
        space = KernelPCA(START_COMPONENTS, gamma=1 / c).fit(X).subspace_
        target = space.embed(space.coordinates(query))
        solved = {
            PLAIN: FixedPoint(**LIMITS).solve(target, X, anchor=query),
            TIKHONOV: FixedPoint(RING_PENALTY, **LIMITS).solve(target, X, anchor=query),
        }
        distances = {name: space.squared_distances(s.points, space.coordinates(query)) for name, s in solved.items()}
        found[c] = {name: (result.points, distances[name]) for name, result in solved.items()}
    return found


def denoised_digits(rng):
    """Clean, noisy and denoised test digits by name."""
    usps = load_usps()
    X, y = np.concatenate([usps.X_train, usps.X_test]), np.concatenate([usps.y_train, usps.y_test])
    drawn = np.stack([rng.choice(np.flatnonzero(y == digit), 2 * PER_DIGIT, replace=False) for digit in DIGITS])
    train, clean = (X[part.ravel()].astype(float) for part in (drawn[:, :PER_DIGIT], drawn[:, PER_DIGIT:]))
    noisy = clean + NOISE * rng.normal(size=clean.shape)
    model = KernelPCA(DIGIT_COMPONENTS, gamma=1 / DIGIT_WIDTH, preimage=FixedPoint()).fit(train)
    space = model.subspace_
    solvers = {
        PLAIN: FixedPoint(tol=1e-4, max_iter=200),
        TIKHONOV: FixedPoint(PENALTY, tol=1e-4, max_iter=200),
        # The background of these digits is −1.
        SPARSE: SparsePath(background=-1.0, n_penalties=15, smallest=0.03, tol=1e-4, max_iter=200),
    }
    shown = np.concatenate([np.arange(SHOWN) + j * PER_DIGIT for j in range(len(DIGITS))])
    pictures = {"original": clean[shown], RAW: noisy[shown]}
    errors = {RAW: np.mean((noisy - clean) ** 2)}
    for name, solver in solvers.items():
        rows = shown if name == SPARSE else np.arange(len(noisy))  # its path takes seconds per digit
        Z = solver.inverse(space, space.coordinates(noisy[rows]), noisy[rows]).points
        errors[name] = np.mean((Z - clean[rows]) ** 2)
        pictures[name] = Z if name == SPARSE else Z[shown]
    return pictures, errors


def report_lines(pairs, ends, digits, seconds):
    yield "# Unstable pre-images\n"
    yield from origin_and_time(f"{seconds:.0f} seconds")
    yield "Figures 2, 3 and 6 of “Regularized pre-image estimation for kernel PCA de-noising” (2011).\n"
    yield "## Neighbours in feature space\n"
    yield (
        f"Mean distance in input space of the {100 * NEAREST:g} % of pairs that are nearest after projection on q "
        f"components of a kernel of width c; for the nearest pairs of inputs it is {pairs['nearest']:.3f}.\n"
    )
    yield "| c | q | mean distance |"
    yield "| --- | --- | --- |"
    yield from (f"| {c:g} | {q} | {pairs[c, q][1]:.3f} |" for c, q in cells_of(pairs))
    yield "\n![Neighbours](unstable_preimages_neighbours.png)\n"
    yield "## Pre-images of one point from 500 starts\n"
    yield (
        "How many differ by more than 0.01, the mean distance between two of them, and the range of ‖φ(z) − Ψ‖²; the "
        f"penalty is {RING_PENALTY:g}.\n"
    )
    yield "| c | distinct | mean distance | range | distinct with the penalty | mean distance with it |"
    yield "| --- " * 6 + "|"
    for c in START_WIDTHS:
        (Z, R), (Z_held, _) = ends[c][PLAIN], ends[c][TIKHONOV]
        yield (
            f"| {c:g} | {distinct(Z)} | {pdist(Z).mean():.2f} | {R.min():.3f} to {R.max():.3f} | {distinct(Z_held)} | "
            f"{pdist(Z_held).mean():.2f} |"
        )
    yield "\n![Starts](unstable_preimages_starts.png)\n"
    yield "## Digits\n"
    yield (
        f"c = {DIGIT_WIDTH}, q = {DIGIT_COMPONENTS}; mean squared error per pixel over 400 test digits (sparse: the 12 "
        "shown).\n"
    )
    yield "\n".join(f"- {name}: {error:.3f}" for name, error in digits[1].items())
    yield "\n![Digits](unstable_preimages_digits.png)"


def cells_of(pairs):
    return [key for key in pairs if isinstance(key, tuple)]


def distinct(Z):
    return len(np.unique(np.round(Z, 2), axis=0))


def draw_pairs(pairs, path):
    cells, X = cells_of(pairs), pairs["points"]
    figure, axes = plt.subplots(1, len(cells), figsize=(2.3 * len(cells), 2.5), layout="constrained")
    for axis, (c, q) in zip(axes, cells):
        axis.add_collection(LineCollection(pairs[c, q][0], colors="tab:green", linewidths=0.5, alpha=0.6))
        axis.scatter(*X.T, c=np.repeat(["tab:blue", "tab:red"], N_POINTS // 2), s=3)
        axis.set(xticks=[], yticks=[], aspect="equal", title=f"c = {c:g}, q = {q}")
    figure.savefig(path, dpi=80)


def draw_ends(ends, path):
    X, colors = ends["points"], np.repeat(["tab:blue", "tab:red"], N_POINTS // 2)
    figure, axes = plt.subplots(3, len(START_WIDTHS), figsize=(2 * len(START_WIDTHS), 6), layout="constrained")
    for column, c in zip(axes.T, START_WIDTHS):
        for axis, name in zip(column, (PLAIN, TIKHONOV)):
            axis.scatter(*X.T, c="lightgrey", s=3)
            axis.scatter(*ends[c][name][0].T, c="black", s=14, marker="x", linewidths=0.8)
            axis.plot(0, 0, "o", color="tab:green")
            axis.set(xticks=[], yticks=[], aspect="equal", xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))
        column[0].set_title(f"c = {c:g}")
        column[2].scatter(np.arange(N_POINTS), ends[c][PLAIN][1], c=colors, s=2)
        low, high = ends[c][PLAIN][1].min(), ends[c][PLAIN][1].max()
        column[2].set(xticks=[], ylim=(low - max(0.1 * (high - low), 0.005), high + max(0.1 * (high - low), 0.005)))
    for axis, label in zip(axes[:, 0], ("fixed point", "with a penalty", "objective by start")):
        axis.set_ylabel(label)
    figure.savefig(path, dpi=70)


def draw_digits(digits, path):
    pictures = digits[0]
    count = len(next(iter(pictures.values())))
    figure, axes = plt.subplots(len(pictures) + 1, count, figsize=(0.75 * count, 5), layout="constrained")
    for row, (name, rows) in zip(axes, pictures.items()):
        for axis, image in zip(row, rows):
            axis.imshow(image.reshape(16, 16), cmap="gray_r", vmin=-1, vmax=1)
            axis.set(xticks=[], yticks=[])
        row[0].set_ylabel(name.replace("with a ", "with a\n"), fontsize=8)
    for number, axis in enumerate(axes[-1]):  # the intensity along the middle row of pixels
        for name, color in ((RAW, "lightgrey"), ("original", "black"), (PLAIN, "tab:red"), (TIKHONOV, "tab:blue")):
            axis.plot(pictures[name][number].reshape(16, 16)[8], color=color, linewidth=0.9, label=name)
        axis.set(xticks=[], yticks=[], ylim=(-2, 2))
    axes[-1, 0].set_ylabel("row 8", fontsize=8)
    figure.legend(*axes[-1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
