"""How long does exact kernel PCA of a million points take on one GPU?

Set-up: blobs as in kernel_pca.py, float32 torch tensors on the device, the same class as on the CPU. K would take 4 TB,
so every product computes it again, tile by tile, without writing it to memory. Times are wall-clock, synchronised; the
first fit compiles device code. Observe the time, the memory, and three errors: the relative residuals of all
eigenpairs, the eigenvalues of some of the points against those in double precision, and a product with K against
float64 on some rows.

    python benchmarks/speed/gpu_million.py --record
"""

import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from _blobs import blobs
from _measure import record
from _reports import option_parser
from gpu_kernel_pca import fit

from preimage.feature_space import Gram
from preimage.kernels import Gaussian

FEW = 50_000


def product_error(X, gamma, n_rows=200, n_columns=32):
    """Error of a product with K, relative to its length, on some rows; and seconds of the product."""
    V = torch.randn(X.shape[0], n_columns, device=X.device)
    torch.cuda.synchronize()
    start = time.perf_counter()
    product = Gram(Gaussian(gamma), X) @ V
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    rows = slice(0, X.shape[0], X.shape[0] // n_rows)
    exact = Gram(Gaussian(gamma), X[rows].double(), X.double()) @ V.double()
    return float((product[rows] - exact).norm() / exact.norm()), seconds


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--components", type=int, default=32)
    options = parser.parse_args()
    n, d, k = options.points, options.features, options.components
    X, gamma = blobs(n, d)
    X = torch.asarray(X, dtype=torch.float32, device="cuda")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; {n:,} × {d} float32, {k} components")
    for name in ("first", "second"):
        torch.cuda.reset_peak_memory_stats()
        seconds, model = fit(X, gamma, k)
        result, gigabytes = model.eigen_result_, torch.cuda.max_memory_allocated() / 1e9
        residual = float(result.relative_residuals.max())
        print(
            f"{name} fit: {seconds:.2f} s, {result.reason}, {result.n_products} products with K, relative residuals "
            f"{residual:.1e}, {gigabytes:.1f} GB at the peak"
        )
    if options.record:
        settings = {"points": n, "features": d, "components": k, "device": torch.cuda.get_device_name()}
        values = {"seconds": seconds, "gigabytes": gigabytes, "residual": residual}
        record("gpu_million", values, settings | {"torch": torch.__version__})
    few = X[:: max(1, n // FEW)]
    _, single = fit(few, gamma, k)
    _, double = fit(few.double(), gamma, k, tol=1e-8)
    errors = torch.abs(single.eigenvalues_ / double.eigenvalues_ - 1)
    print(
        f"eigenvalues of {len(few):,} of the points against those in double precision: median error "
        f"{float(errors.median()):.0e}, worst {float(errors.max()):.0e}"
    )
    error, product = product_error(X, gamma)
    print(f"a product with 32 columns: {product:.2f} s, relative error {error:.0e}")
    torch.cuda.synchronize()
    start = time.perf_counter()
    model.transform(X)
    torch.cuda.synchronize()
    print(f"transform of all points: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
