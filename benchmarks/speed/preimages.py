"""How fast are batched pre-images?

Set-up: 2,000 noisy USPS digits against 3,000 training digits, Gaussian kernel with c = 0.5 · 256, 64 components, fixed
points to a relative step of 1e-6, started at the noisy digits. The peer is the same iteration, one query at a time, in
plain NumPy as a textbook writes it, to the same step; it runs on a part of the queries and is scaled up. scikit-learn's
way back (`fit_inverse_transform=True`, a ridge regression) is timed for fitting plus applying. The first
`inverse_transform` of a model, which chooses and learns a map, is compared with scikit-learn's fit with its inverse,
which chooses nothing: processor time, 100, 300 and 1,000 rows of USPS with 16 components and of a normal table with 3.

    python benchmarks/speed/preimages.py --record

Observe: ratios, and the time of an iteration against its two matrix products alone.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import KernelPCA as Peer

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record, timed
from _reports import option_parser
from data import load_usps

from preimage import KernelPCA
from preimage.descent import for_query_blocks
from preimage.solvers import FixedPoint

GAMMA = 1 / 128
TOL = 1e-6
LOOPS = ("textbook loop", "loop with matrix-vector products")


def loop(X, coefficients, starts, tolerance, tuned, max_iter=500):
    """(P2g) for one query after the other; `tuned` has distances by matrix-vector products."""
    out, steps = [], 0
    norms, gamma = np.sum(X * X, axis=1), X.dtype.type(GAMMA)
    for weights, z in zip(np.ascontiguousarray(coefficients), starts, strict=True):
        for _ in range(max_iter):
            squared = norms - 2 * (X @ z) + z @ z if tuned else np.sum((X - z) ** 2, axis=1)
            E = weights * np.exp(-gamma * squared)
            new = E @ X / np.sum(E)
            move = np.linalg.norm(new - z)
            z, steps = new, steps + 1
            if move <= tolerance:
                break
        out.append(z)
    return np.array(out), steps


def gemm_seconds(X, starts, steps):
    """The two matrix products of `steps` iterations of single queries, in the solver's blocks and threads."""
    W = np.random.default_rng(0).normal(size=(len(starts), len(X))).astype(X.dtype)
    XT = X.T.copy()

    def multiply(rows):
        starts[rows] @ XT
        W[rows] @ X

    for_query_blocks(multiply, len(starts), X, starts)
    start = time.perf_counter()
    for _ in range(5):
        for_query_blocks(multiply, len(starts), X, starts)
    return (time.perf_counter() - start) / 5 / len(starts) * steps


def compare(dtype, train, noisy, repeats, n_loop):
    train, noisy = train.astype(dtype), noisy.astype(dtype)
    model = KernelPCA(64, gamma=GAMMA, preimage=FixedPoint(tol=TOL)).fit(train)
    Y = model.transform(noisy)
    seconds, result = timed(lambda: model.find_preimages(Y, start=noisy), repeats)
    target = model.subspace_.embed(Y[:n_loop])
    spread = float(np.sqrt(np.mean(np.sum((train - train.mean(axis=0)) ** 2, axis=1))))
    timings = []
    for tuned in (False, True):
        run = lambda: loop(train, target.coefficients.T, noisy[:n_loop], TOL * spread, tuned)
        loop_seconds, (points, loop_steps) = timed(run, 3)
        timings.append(loop_seconds * len(noisy) / n_loop)
    gemm = gemm_seconds(train, noisy, int(result.n_iter.sum()) + len(noisy))
    difference, name = np.abs(points - result.points[:n_loop]).max(), np.dtype(dtype).name
    values = {"seconds": seconds, "steps": float(result.n_iter.mean()), "over two products": seconds / gemm}
    print(
        f"{name}: ours {seconds:.2f} s ({result.n_iter.mean():.1f} steps a query, at most "
        f"{result.n_iter.max()}, {result.converged.mean():.1%} converged); largest difference {difference:.1e}; "
        f"iterations against their two products: {seconds / gemm:.2f} x"
    )
    for which, value in zip(LOOPS, timings, strict=True):
        values[which] = value
        print(f"          {which}: {value:.1f} s ({loop_steps / n_loop:.1f} steps), {value / seconds:.1f} x ours")

    def peer():
        return Peer(64, kernel="rbf", gamma=GAMMA, fit_inverse_transform=True, alpha=0.01).fit(train)

    own_fit, _ = timed(lambda: KernelPCA(64, gamma=GAMMA).fit(train), repeats)
    with_inverse, fitted = timed(peer, 3)
    apply, _ = timed(lambda: fitted.inverse_transform(Y), repeats)
    print(
        f"          fit and way back: ours {own_fit:.2f} + {seconds:.2f} s, scikit-learn {with_inverse:.2f} + "
        f"{apply:.2f} s, {(with_inverse + apply) / (own_fit + seconds):.1f} x ours"
    )
    values |= {"fit": own_fit, "scikit-learn, fit with inverse": with_inverse, "scikit-learn, inverse": apply}
    return {f"{name}; {key}": value for key, value in values.items()}


def first_inverses(train, repeats):
    """Processor time of the first `inverse_transform` over that of scikit-learn's fit with its inverse, by turns."""
    rng, values = np.random.default_rng(1), {}
    table = rng.normal(size=(1000, 7)) @ rng.normal(size=(7, 7))
    for name, X, k, gamma in (("USPS", train.astype(float), 16, GAMMA), ("table", table, 3, 1 / 7)):
        for n in (100, 300, 1000):
            rows, seconds = X[:n], []
            for _ in range(repeats):
                model = KernelPCA(k, gamma=gamma).fit(rows)
                Z, marks = model.transform(rows[:10]), [time.process_time()]
                model.inverse_transform(Z)
                marks.append(time.process_time())
                Peer(k, kernel="rbf", gamma=gamma, fit_inverse_transform=True, alpha=0.01).fit(rows)
                marks.append(time.process_time())
                Peer(k, kernel="rbf", gamma=gamma).fit(rows)
                seconds.append(np.diff([*marks, time.process_time()]))
            ours, both, fit = np.median(seconds[1:], axis=0)
            alone = ours / max(both - fit, 1e-4)
            values |= {f"first, {name}, {n} rows; seconds": ours, f"first, {name}, {n} rows; over a fit": ours / both}
            print(
                f"first inverse_transform, {name}, {n} rows: {ours * 1e3:.0f} ms, {ours / both:.1f} x scikit-learn's "
                f"fit with its inverse, {alone:.0f} x the inverse alone"
            )
    return values


def main():
    parser = option_parser(__doc__, "record", "folder")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loop-queries", type=int, default=60)
    parser.add_argument("--first-only", action="store_true", help="the first inverse_transform alone")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    usps = load_usps()
    train = usps.X_train[rng.permutation(7291)[:3000]]
    noisy = usps.X_test[rng.permutation(2007)[:2000]]
    noisy = noisy + rng.normal(0, 0.5, noisy.shape)
    print(describe_machine())
    values = {}
    for dtype in () if options.first_only else (np.float64, np.float32):
        values |= compare(dtype, train, noisy, options.repeats, options.loop_queries)
    values |= first_inverses(train, 3 * options.repeats)
    if options.record:
        record("preimages", values, {"queries": len(noisy), "points": len(train)}, options.folder)


if __name__ == "__main__":
    main()
