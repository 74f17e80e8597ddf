"""What do leave-one-out scores of principal components cost?

Question: scores of all points in models without them, by refitting (a decomposition for each point, of the leading
components only), from one decomposition (a secular equation for each point and component, exact as well), and by the
first-order formula.

Set-up: Gaussian kernel on spiked Gaussian data with 1,000 columns, 20 components; medians of runs from rest. Refitting
is measured up to `--most-refits` points. The brute force that users have, scikit-learn's PCA refitted in a loop, is
measured at the smallest size.

What to observe: the exact form costs a few times the decomposition, and is tens to hundreds of times faster than
refitting, to rounding errors.

    python benchmarks/speed/leave_one_out.py --sizes 100 300 1000
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, timed
from _refits import refitted_scores
from _reports import option_parser

from preimage.inflation import leave_one_out, linear_leave_one_out

N_COMPONENTS, N_COLUMNS = 20, 1000


def main():
    parser = option_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--most-refits", type=int, default=1000, help="refit up to this many points")
    options = parser.parse_args()
    print(describe_machine())
    print(f"{'points':>7} {'refit, s':>10} {'exact, s':>10} {'first order, s':>15} {'speed-up':>9} {'difference':>11}")
    for n in options.sizes:
        X = spiked(n)
        squared = (X**2).sum(axis=1)
        gram = np.exp(-np.maximum(squared + squared[:, None] - 2 * X @ X.T, 0) / (2 * squared.mean()))
        exact_seconds, exact = timed(lambda gram=gram: leave_one_out(gram, N_COMPONENTS), 3)
        first_seconds, _ = timed(lambda gram=gram: leave_one_out(gram, N_COMPONENTS, method="first_order"), 3)
        line = f"{n:7d} {{:>10}} {exact_seconds:10.4f} {first_seconds:15.4f} {{:>9}} {{:>11}}"
        if n > options.most_refits:
            print(line.format("-", "-", "-"))
            continue
        seconds, refit = timed(lambda gram=gram: refitted_scores(gram, N_COMPONENTS))
        difference = np.linalg.norm(exact.left_out - refit.left_out) / np.linalg.norm(refit.left_out)
        print(line.format(f"{seconds:.3f}", f"{seconds / exact_seconds:.0f}", f"{difference:.1e}"))
    X = spiked(options.sizes[0])
    seconds, _ = timed(lambda: [left_out_by_sklearn(X, row) for row in range(len(X))])
    ours, _ = timed(lambda: linear_leave_one_out(X, N_COMPONENTS), 3)
    print(
        f"scikit-learn's PCA refitted for each of {len(X)} points: {seconds:.2f} s; linear_leave_one_out: {ours:.4f} s"
    )


def spiked(n):
    X = np.random.default_rng(n).normal(size=(n, N_COLUMNS))
    X[:, :4] *= (12, 10, 8, 6)
    return X


def left_out_by_sklearn(X, row):
    return PCA(N_COMPONENTS).fit(np.delete(X, row, axis=0)).transform(X[row : row + 1])


if __name__ == "__main__":
    main()
