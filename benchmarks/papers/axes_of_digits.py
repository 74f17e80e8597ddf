"""What do principal axes in feature space look like?

Question: which pictures stand for the 1st, 2nd, 4th … 256th axis of kernel PCA on digits, next to those of linear PCA?
Figure 8 of B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Trans. Neural Networks
10, 1999.

Set-up: 300 digits of each kind from USPS, smoothed with a Gaussian of 0.75 pixels as in the experiments on denoising
(the published width is right for smooth images); kernel exp(−‖x − y‖²/(0.5 · 256)). Rows of the figure: the axis of
linear PCA; the pre-image of the axis, of free length and sign; the picture whose pixel i is the projection of φ(eᵢ),
eᵢ the i-th basis vector, less that of φ(0), which is a constant over the picture. Both are the axis itself if the
kernel is linear, which is checked.

What to observe: the first axes agree up to their sign. Axes of linear PCA turn to fine structure at smaller numbers
than those of kernel PCA, which has as many as training points for it. How fine a picture is, is measured by its mean
squared difference between neighbouring pixels over its variance: 2 for white noise, near 0 for smooth pictures, and up
to 4 for a chessboard.

Run: python benchmarks/papers/axes_of_digits.py --output docs/results/axes_of_digits.md
"""

import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

sys.path.insert(0, str(Path(__file__).parents[1]))
from _reports import option_parser, origin_and_time, publish
from data import load_usps
from nonlinear_components import prepared

from preimage import KernelPCA

AXES = tuple(2**power for power in range(9))
PER_DIGIT = 300
WIDTH = 0.5 * 256
SHAPE = (16, 16)
ROWS = ("linear PCA", "pre-image of the axis", "projections of basis vectors")


def main():
    options = parse_options()
    started = time.perf_counter()
    X = digits(options.seed)
    pictures = pictures_of_axes(X)
    agreement = linear_agreement(X)
    publish(report_lines(pictures, agreement, time.perf_counter() - started), options.output)
    if options.output is not None:
        draw(pictures, options.output.with_suffix(".png"))


def parse_options():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of digits")
    return parser.parse_args()


def digits(seed):
    usps, rng = load_usps(), np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(usps.y_train == digit), PER_DIGIT, replace=False) for digit in range(10)]
    return prepared(usps.X_train[np.concatenate(chosen)], raw=False)


def pictures_of_axes(X):
    """For each row of the figure, one picture per axis, of length one, with the sign of the axis of linear PCA."""
    numbers = np.array(AXES) - 1
    linear = PCA(max(AXES), svd_solver="full").fit(X).components_[numbers]
    model = KernelPCA(max(AXES), gamma=1 / WIDTH).fit(X).with_components(numbers)
    at_zero = model.subspace_.frame(np.zeros((1, X.shape[1]))).T
    kernel = model.component_preimages() - X.mean(axis=0), model.component_images() - at_zero
    pictures = [linear, *kernel]
    return [units(rows) * np.sign(np.sum(rows * linear, axis=1, keepdims=True)) for rows in pictures]


def units(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def linear_agreement(X):
    """The smallest cosine between axes of linear PCA and the two pictures of a linear kernel."""
    model = KernelPCA(10, kernel="linear").fit(X)
    linear = PCA(10, svd_solver="full").fit(X).components_
    found = [units(model.component_preimages()), units(model.component_images())]
    return min(float(np.abs(np.sum(rows * linear, axis=1)).min()) for rows in found)


def roughness(rows):
    """Mean squared difference between neighbours over the variance of a picture."""
    pictures = rows.reshape(-1, *SHAPE)
    across = np.mean(np.diff(pictures, axis=2) ** 2, axis=(1, 2)) + np.mean(np.diff(pictures, axis=1) ** 2, axis=(1, 2))
    return across / 2 / pictures.var(axis=(1, 2))


def report_lines(pictures, agreement, seconds):
    yield "# Pictures of principal axes\n"
    yield from origin_and_time(f"{seconds:.0f} seconds")
    yield (
        "Figure 8 of “Input space versus feature space in kernel-based methods” (1999): 3,000 USPS digits, Gaussian "
        "kernel of width 0.5 per pixel. From the left the 1st, 2nd, 4th … 256th axis; rows: linear PCA, pre-images of "
        "the axes of kernel PCA, projections of the images of basis vectors on them.\n"
    )
    yield "![Axes](axes_of_digits.png)\n"
    yield "Cosine with the axis of linear PCA of the same number, and how rough each picture is:\n"
    yield "| | " + " | ".join(map(str, AXES)) + " |"
    yield "| --- " * (len(AXES) + 1) + "|"
    for name, rows in zip(ROWS[1:], pictures[1:]):
        yield f"| cosine: {name} | " + " | ".join(f"{v:.2f}" for v in np.sum(rows * pictures[0], axis=1)) + " |"
    for name, rows in zip(ROWS, pictures):
        yield f"| roughness: {name} | " + " | ".join(f"{v:.2f}" for v in roughness(rows)) + " |"
    yield f"\nWith a linear kernel both pictures are the axes of linear PCA: smallest cosine {agreement:.6f}."


def draw(pictures, path):
    figure, axes = plt.subplots(len(ROWS), len(AXES), figsize=(9, 3.4), layout="constrained")
    for row, name, found in zip(axes, ROWS, pictures):
        row[0].set_ylabel(name.replace(" of ", "\nof ").replace("linear PCA", "linear\nPCA"), fontsize=7)
        for axis, picture in zip(row, found):
            limit = np.abs(picture).max()
            axis.imshow(picture.reshape(SHAPE), cmap="RdBu_r", vmin=-limit, vmax=limit)
            axis.set(xticks=[], yticks=[])
    for axis, number in zip(axes[0], AXES):
        axis.set_title(str(number), fontsize=8)
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main()
