"""How long do class means of many widths take?

Question: what does the Gram matrix of class means cost for twelve widths of a Gaussian kernel, beside the obvious ways
of computing it, and are 1,000 classes of 72 points within reach?

Set-up: objects on a turntable, closed curves of unit vectors with noise, one class each. "Obvious": scikit-learn's
`rbf_kernel` for every width and a product with class indicators on both sides. "Blocks": blocks of rows, squared
distances once, one exponential and then squarings, still all N² pairs. Ours: the symmetric half, in tiles that stay in
the cache, on all threads, with the row sums and squares that alignment needs besides. The three agree to rounding
errors, which is checked. The large run has no rival: its kernel matrix alone would take 41 GB a width.

Observe: seconds, their ratios, and the peak of memory of the large run.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from preimage.kernels import squared_distance_percentile
from preimage.model_selection import WidthSearch
from preimage.widths import class_gram

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import command, describe_machine, peak_memory, timed
from _reports import option_parser

OCTAVES = np.arange(-6, 6)


def main():
    options = parse()
    print(command())
    print(f"{describe_machine()}\n")
    print("| points | features | classes | type | obvious | blocks | ours | ratios |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for n_classes, n_views, n_features in options.sizes:
        for dtype in (np.float64, np.float32):
            print(compared(n_classes, n_views, n_features, dtype, options.repeats), flush=True)
    if options.large:
        large(*options.large)


def parse():
    parser = option_parser(__doc__)
    size = lambda text: tuple(map(int, text.split("x")))
    parser.add_argument(
        "--sizes",
        type=size,
        nargs="+",
        default=[(10, 400, 64), (10, 400, 784), (100, 72, 32)],
        help="classes x views x d",
    )
    parser.add_argument("--large", type=size, default=None, help="such as 1000x72x32")
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


def objects(n_classes, n_views, n_features, seed=0):
    """A closed curve of unit vectors a class, with noise."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_views) / n_views
    waves = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], axis=1)
    shapes = rng.normal(size=(n_classes, 4, n_features)) * np.array([1, 1, 0.5, 0.5])[None, :, None]
    curves = np.einsum("vw,cwd->cvd", waves, shapes) + 1.5 * rng.normal(size=(n_classes, 1, n_features))
    curves /= np.linalg.norm(curves, axis=2, keepdims=True)
    X = curves.reshape(-1, n_features) + 0.05 * rng.normal(size=(n_classes * n_views, n_features))
    return X, np.repeat(np.arange(n_classes), n_views)


def obvious(X, indicator, gammas):
    return np.stack([indicator.T @ (rbf_kernel(X, gamma=gamma) @ indicator) for gamma in gammas])


def in_blocks(X, indicator, gammas, block=1024):
    squares = (X * X).sum(axis=1)
    out = np.zeros((len(gammas), indicator.shape[1], indicator.shape[1]))
    for start in range(0, len(X), block):
        rows = slice(start, start + block)
        values = np.exp(-gammas[0] * np.maximum(squares[rows, None] + squares - 2 * X[rows] @ X.T, 0))
        for level in range(len(gammas)):
            values = values if level == 0 else values * values
            out[level] += indicator[rows].T @ (values @ indicator)
    return out


def compared(n_classes, n_views, n_features, dtype, repeats):
    X, y = objects(n_classes, n_views, n_features)
    X = X.astype(dtype)
    gammas = 2.0**OCTAVES / squared_distance_percentile(X, 50)
    indicator = ((y[:, None] == np.arange(n_classes)) / n_views).astype(dtype)
    tasks = {
        "obvious": lambda: obvious(X, indicator, gammas),
        "blocks": lambda: in_blocks(X, indicator, gammas),
        "ours": lambda: class_gram(X, y, gammas).values,
    }
    seconds, results = {}, {}
    for name, task in tasks.items():
        seconds[name], results[name] = timed(task, repeats)
    for name in ("obvious", "blocks"):
        np.testing.assert_allclose(results["ours"], results[name], atol=1e-10 if dtype == np.float64 else 1e-4)
    ratios = " ".join(f"{seconds[name] / seconds['ours']:.1f} ×" for name in ("obvious", "blocks"))
    cells = [f"{len(X):,}", str(n_features), str(n_classes), np.dtype(dtype).name]
    return "| " + " | ".join([*cells, *(f"{s:.2f} s" for s in seconds.values()), ratios]) + " |"


def large(n_classes, n_views, n_features):
    """All pairs in bounded memory, and a sample of points."""
    X, y = objects(n_classes, n_views, n_features)
    print(f"\n{len(X):,} points of {n_classes:,} classes in {n_features} dimensions, twelve widths or more:\n")
    print("| search | seconds | chosen γ | peak memory so far |")
    print("| --- | --- | --- | --- |")
    searches = {
        "six criteria, 10 points a class": WidthSearch(n_samples=10 * n_classes),
        "six criteria, all points": WidthSearch(verbose=True),
    }
    for name, search in searches.items():
        seconds, fitted = timed(lambda search=search: search.fit(X, y))
        print(f"| {name} | {seconds:.1f} | {fitted.best_gamma_:.4g} | {peak_memory() / 2**30:.2f} GiB |", flush=True)


if __name__ == "__main__":
    main()
