"""How fast are neighbours in feature space found, and how many of them?

Set-up: rows of 20 columns, "curved": nonlinear functions of six hidden numbers with a little noise, as columns of real
tables depend on each other; or "independent": normal numbers, the hardest case, in which no row has near neighbours.
Ten neighbours of queries from the same source by `FeatureSpaceNeighbors`, against two ways to compare all pairs:

- blocks: kernel values of 50 queries with all rows at once, and `np.argpartition` of each row, the fair rival;
- metric: `NearestNeighbors(algorithm="brute")` of scikit-learn with the distance as a Python function, on three
  queries.

    python benchmarks/speed/neighbors.py --record --output docs/results/neighbors.md
    python benchmarks/speed/neighbors.py --data independent --kernels poly

Times are processor times of one thread, since they do not depend on what else a machine does.

Observe: recall of ten neighbours at least 0.99 at ten times the speed of blocks for the polynomial kernel on curved
rows; the Laplacian kernel, whose neighbours are those of Manhattan distances, is exact; on independent rows bounds rule
out nothing, and the search says so by comparing all pairs itself.
"""

import os
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sklearn.neighbors import NearestNeighbors

sys.path[:0] = [str(Path(__file__).parents[1])]
from _measure import record
from _reports import option_parser, origin, publish, table

from preimage import FeatureSpaceNeighbors
from preimage.kernels import Cosine, Exponential, Laplacian, Polynomial

KERNELS = {
    "poly": Polynomial(3, gamma=1 / 20, coef0=1.0),
    "exponential": Exponential(0.1),
    "cosine": Cosine(),
    "laplacian": Laplacian(0.1),
    "laplacian by landmarks": Laplacian(0.1),
}
# The one that has both routes, by the one that is no default.
LANDMARKS = "laplacian by landmarks"
COLUMNS, HIDDEN, K = 20, 6, 10
QUERIES_TOGETHER, QUERIES_OF_METRIC = 50, 3
FIGURES = ("fit", "ours", "blocks", "metric", "recall")


def main():
    parser = option_parser(__doc__, "record", "output")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--data", choices=["curved", "independent"], default="curved")
    parser.add_argument(
        "--kernels", nargs="+", choices=KERNELS, default=["poly", "exponential", "laplacian", LANDMARKS]
    )
    options = parser.parse_args()
    rows = rows_of(options.data, options.rows + options.queries)
    X, Z = rows[: options.rows], rows[options.rows :]
    found = {name: compared(name, X, Z) for name in options.kernels}
    publish(report_lines(found, options), options.output)
    if options.record:
        values = {f"{name}, {key}": each[key] for name, each in found.items() for key in FIGURES}
        values |= {f"{name}, times faster": each["blocks"] / each["ours"] for name, each in found.items()}
        values |= {f"{name}, times faster than metric": each["metric"] / each["ours"] for name, each in found.items()}
        record("neighbors", values, {"rows": options.rows, "queries": options.queries, "data": options.data})


def timed(function):
    """Processor seconds of `function()`, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def rows_of(kind, n):
    rng = np.random.default_rng(0)
    if kind == "independent":
        return rng.normal(size=(n, COLUMNS))
    mixing, spreading = rng.normal(size=(HIDDEN, 40)), rng.normal(size=(40, COLUMNS)) / HIDDEN
    return np.tanh(rng.normal(size=(n, HIDDEN)) @ mixing / 2) @ spreading + 0.05 * rng.normal(size=(n, COLUMNS))


def compared(name, X, Z):
    """Seconds per query of each way, recall, and what the search says of itself."""
    kernel = KERNELS[name]
    model = FeatureSpaceNeighbors(K, kernel=kernel, exact=False if name == LANDMARKS else "auto", n_jobs=1)
    fit, _ = timed(lambda: model.fit(X))
    ours, found = timed(lambda: model.kneighbors(Z, return_distance=False))
    blocks, true = timed(lambda: by_blocks(kernel, X, Z))
    metric = NearestNeighbors(n_neighbors=K, algorithm="brute", metric=distance_by(kernel)).fit(X)
    by_metric, _ = timed(lambda: metric.kneighbors(Z[:QUERIES_OF_METRIC]))
    recall = np.mean([np.isin(one, other).mean() for one, other in zip(true, found, strict=True)])
    return {
        "model": model,
        "fit": fit,
        "ours": ours / len(Z),
        "blocks": blocks / len(Z),
        "metric": by_metric / QUERIES_OF_METRIC,
        "recall": float(recall),
    }


def by_blocks(kernel, X, Z):
    diagonal, found = kernel.diagonal(X), []
    for start in range(0, len(Z), QUERIES_TOGETHER):
        squared = diagonal - 2 * kernel(Z[start : start + QUERIES_TOGETHER], X)
        found.append(np.argpartition(squared, K, axis=1)[:, :K])
    return np.concatenate(found)


def distance_by(kernel):
    def distance(x, z):
        values = kernel(np.stack([x, z]))
        return max(values[0, 0] - 2 * values[0, 1] + values[1, 1], 0.0) ** 0.5

    return distance


def report_lines(found, options):
    yield "# Neighbours in feature space\n"
    yield origin()
    yield (
        f"{options.rows:,} {options.data} rows of {COLUMNS} columns, {options.queries:,} queries, {K} neighbours; "
        "processor times of one thread. What `FeatureSpaceNeighbors` is for: [classes and clusters]"
        "(../guides/classes_and_clusters.md).\n"
    )
    header = ["kernel", "route", "fit, s", "query, ms", "blocks, ms", "metric, ms", "times faster", "recall", "recall_"]
    yield from table(header, ([name, *cells(each)] for name, each in found.items()))
    first = next(iter(found.values()))
    worth = first["fit"] / first["blocks"]
    yield (
        "\n- blocks: kernel values of 50 queries with all rows, and the ten smallest distances by "
        "`numpy.argpartition`, the fastest way to compare all pairs that we know; the column of ratios is for these.\n"
        '- metric: `NearestNeighbors(algorithm="brute")` of scikit-learn with the distance of the kernel as a '
        "function, which it calls for each pair.\n"
        "- fit: the choice of landmarks, coordinates of all rows, and the comparison of 256 rows with all others, by "
        f"which settings are found and `recall_` is measured. With the first kernel it takes as long as {worth:,.0f} "
        "queries by blocks: for fewer, `exact=True` is faster.\n"
        "- The Laplacian kernel falls with Manhattan distances, so that trees of scikit-learn find its neighbours; "
        "distances of independent rows differ too little for any bound, and all pairs are compared."
    )


def cells(found):
    times = [f"{1e3 * found[name]:.3g}" for name in ("ours", "blocks", "metric")]
    faster = f"{found['blocks'] / found['ours']:.1f}"
    model = found["model"]
    return [model.route_, f"{found['fit']:.1f}", *times, faster, f"{found['recall']:.4f}", f"{model.recall_:.4f}"]


if __name__ == "__main__":
    main()
