"""How much faster than scikit-learn is exact kernel PCA, and where does it go on when scikit-learn stops?

Set-up: points from 30 Gaussian blobs (cluster deviation 3), Gaussian kernel with γ = 1/(2 · median squared distance),
as in the library's design page. Both libraries run in one process; every round runs each of them once, without a rest
between runs; times are medians over rounds. scikit-learn runs with its default solver and with its other two. Its best
setting is the fastest of those whose eigenvalues are right to 1e-5. Errors are relative, against LAPACK in
float64.

    python benchmarks/speed/kernel_pca.py                         # everything
    python benchmarks/speed/kernel_pca.py many flat               # some of it: many, flat, sizes, transform, memory
    python benchmarks/speed/kernel_pca.py many memory --record    # what the README quotes

Observe: "many" (5,000 points) has 29 large eigenvalues and then a flat bulk, of which three more are wanted, which is
what makes randomized solvers inaccurate; "flat" wants a hundred from the bulk; "sizes" goes down to 500 points, where
scikit-learn with its best solver is faster; "memory" holds no Gram matrix at all.
"""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import KernelPCA as Peer

sys.path.insert(0, str(Path(__file__).parents[1]))
from _blobs import blobs
from _measure import describe_machine, peak_memory, record, timed, timed_in_turn
from _reports import option_parser

from preimage import KernelPCA
from preimage._engine.rows import block_shape, cut
from preimage._engine.threads import run_parallel
from preimage.kernels import Gaussian


def exact_eigenvalues(X, gamma, k):
    K = Gaussian(gamma)(X.astype(np.float64))
    means = K.mean(axis=0)
    return np.linalg.eigvalsh(K - means - means[:, None] + means.mean())[::-1][:k]


EQUAL_ACCURACY = 1e-5  # randomized solvers leave 5e-3; all others stay below 1e-6, float32 included


def compare_fits(title, n, d, k, dtypes, solvers, repeats):
    """Prints a table; returns {key: ratio} of scikit-learn's median times to ours, by dtype."""
    print(f"\n{title}: {n:,} × {d}, {k} components")
    print(f"{'':34}{'dtype':>9}{'seconds':>9}{'worst eigenvalue':>18}{'times ours':>12}")
    X, gamma = blobs(n, d)
    exact = exact_eigenvalues(X, gamma, k)
    values = {}
    for dtype in dtypes:
        data, name_of_type = X.astype(dtype), np.dtype(dtype).name
        fits = {"preimage": lambda: KernelPCA(k, gamma=gamma).fit(data)}
        for solver in solvers:
            peer = Peer(k, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0)
            fits[f"scikit-learn, {solver}"] = lambda peer=peer: peer.fit(data)
        seconds, models = timed_in_turn(fits, repeats)
        ours = float(np.median(seconds["preimage"]))
        best = np.inf
        for name, model in models.items():
            median, error = float(np.median(seconds[name])), np.max(np.abs(model.eigenvalues_ - exact) / exact)
            print(f"{name:34}{name_of_type:>9}{median:9.3f}{error:18.1e}{median / ours:12.2f}")
            if name != "preimage" and error < EQUAL_ACCURACY:
                best = min(best, median)
        result = models["preimage"].eigen_result_
        residual = float(result.relative_residuals.max())
        print(f"{'':34}residual {residual:.1e}, {result.n_products} products; best of scikit-learn {best / ours:.2f}")
        default = float(np.median(seconds["scikit-learn, auto"]))
        values |= {
            f"{title} {name_of_type} seconds": ours,
            f"{title} {name_of_type} default over ours": default / ours,
            f"{title} {name_of_type} best over ours": best / ours,
        }
    return values


def compare_sizes(repeats):
    """Where the exact fit is faster than scikit-learn's best solver, and where it is slower."""
    values = {}
    for n, d, k in SIZES:
        values |= compare_fits(f"n = {n}, k = {k}", n, d, k, (np.float64,), ("auto", "randomized", "arpack"), repeats)
    return values


def compare_transforms(repeats):
    X, gamma = blobs(5000, 64)
    Z, _ = blobs(20000, 64)
    Z = Z + np.random.default_rng(0).normal(size=Z.shape)
    print("\ntransform: 20,000 points against 5,000 × 64, 32 components")
    for dtype in (np.float64, np.float32):
        data, queries = X.astype(dtype), Z.astype(dtype)
        ours = KernelPCA(32, gamma=gamma, eigen_solver="dense").fit(data)
        peer = Peer(32, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(data)
        seconds, Y = timed(lambda: ours.transform(queries), repeats)
        peer_seconds, expected = timed(lambda: peer.transform(queries), repeats)
        difference = np.max(np.abs(np.abs(Y) - np.abs(expected)))
        print(
            f"  {np.dtype(dtype).name}: preimage {seconds:.3f} s, scikit-learn {peer_seconds:.3f} s, "
            f"ratio {peer_seconds / seconds:.1f}, largest difference {difference:.1e}"
        )


SIZES = [(500, 20, 5), (500, 20, 50), (1000, 30, 10), (2000, 30, 10), (2000, 30, 100), (4000, 30, 10)]


def fit_in_bounded_memory(n=40_000, d=32, k=16, max_memory="1GB"):
    """Prints what the fit took; returns its peak memory and the size of the matrix that it never held, in GB."""
    X, gamma = blobs(n, d)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelPCA(k, gamma=gamma, max_memory=max_memory).fit(X)
    seconds = time.perf_counter() - start
    result = model.eigen_result_
    width = 48
    passes = result.n_products / width
    gemm = passes * gemm_seconds(n, d, width)
    print(f"\nmemory: {n:,} × {d}, {k} components, max_memory={max_memory!r} (K takes {n * n * 8 / 1e9:.1f} GB)")
    print(
        f"  {seconds:.1f} s, {passes:.0f} passes, largest relative residual "
        f"{float(result.relative_residuals.max()):.1e}, peak resident memory {peak_memory() / 1e9:.2f} GB, "
        f"fraction of matrix products {gemm / seconds:.0%}"
    )
    return {"memory GB": peak_memory() / 1e9, "memory of the matrix GB": n * n * 8 / 1e9, "memory seconds": seconds}


def gemm_seconds(n, d, width):
    """Time of the matrix products of one symmetric pass alone, in the same blocks on the same threads."""
    rng = np.random.default_rng(0)
    left, right, V = rng.normal(size=(n, d + 2)), rng.normal(size=(d + 2, n)), rng.normal(size=(n, width))
    rows, columns = block_shape(left, n)
    sample = cut(n, rows)[:: max(1, n // rows // 16)]

    def multiply(block):
        for tile in cut(n, columns)[block.start // columns :]:
            values = left[block] @ right[:, tile]
            values @ V[tile]
            values.T @ V[block]

    start = time.perf_counter()
    run_parallel(multiply, sample)
    return (time.perf_counter() - start) * len(cut(n, rows)) / len(sample)


PARTS = ("many", "flat", "sizes", "transform", "memory")


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all when left out")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--inline", action="store_true", help="run the memory part in this process")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}; known: {', '.join(PARTS)}")
    options.parts = options.parts or PARTS
    if options.inline:
        print(json.dumps(fit_in_bounded_memory()))
        return
    KernelPCA(2).fit(np.random.default_rng(0).normal(size=(300, 3)))  # thread pools and lazy imports
    print(describe_machine())
    values = {}
    if "many" in options.parts:
        solvers = ("auto", "randomized", "arpack")
        values |= compare_fits("many", 5000, 64, 32, (np.float64, np.float32), solvers, options.repeats)
    if "flat" in options.parts:
        values |= compare_fits("flat", 5000, 256, 128, (np.float64, np.float32), ("auto", "arpack"), options.repeats)
    if "sizes" in options.parts:
        values |= compare_sizes(options.repeats)
    if "transform" in options.parts:
        compare_transforms(options.repeats)
    if "memory" in options.parts:
        # A process of its own, so that its peak memory is what the fit needs.
        command = [sys.executable, __file__, "memory", "--inline"]
        *lines, last = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        print("\n".join(lines))
        values |= json.loads(last)
    if options.record:
        sizes = {"many": "5,000 × 64, 32 components", "flat": "5,000 × 256, 128 components", "sizes": SIZES}
        sizes["memory"] = "40,000 × 32, 16 components, max_memory='1GB'"
        settings = {part: sizes[part] for part in options.parts if part in sizes} | {"repeats": options.repeats}
        record("kernel_pca", values, settings)


if __name__ == "__main__":
    main()
