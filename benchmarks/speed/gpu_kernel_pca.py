"""How long does exact kernel PCA of 100,000 points take on a GPU?

Set-up: blobs as in kernel_pca.py, float32 torch tensors on the device, the same class as on the CPU. K is held on the
device (40 GB for 100,000 points). Times are wall-clock, synchronised, after a warm-up. A smaller problem is solved in
float64 as well, to see the error of the eigenvalues.

    python benchmarks/speed/gpu_kernel_pca.py --points 100000

Observe: the time against the bound printed below it, of arithmetic alone (one Gram matrix, and the products with it, at
the rate of float32 products). The first fit compiles device code.
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from _blobs import blobs
from _measure import record
from _reports import option_parser

from preimage import KernelPCA


def fit(X, gamma, k, **options):
    torch.cuda.synchronize()
    start = time.perf_counter()
    model = KernelPCA(k, gamma=gamma, **options).fit(X)
    torch.cuda.synchronize()
    return time.perf_counter() - start, model


def gemm_rate(dtype=torch.float32, n=8192):
    A = torch.randn(n, n, device="cuda", dtype=dtype)
    A @ A
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(5):
        A @ A
    torch.cuda.synchronize()
    return 5 * 2 * n**3 / (time.perf_counter() - start)


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--components", type=int, default=64)
    options = parser.parse_args()
    n, d, k = options.points, options.features, options.components
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, float32 products {gemm_rate() / 1e12:.0f} TFLOP/s"
    )

    X, gamma = blobs(20_000, d)
    single, double = torch.asarray(X, dtype=torch.float32, device="cuda"), torch.asarray(X, device="cuda")
    fit(single[:5000], gamma, k)
    seconds, model = fit(single, gamma, k)
    _, exact = fit(double, gamma, k, tol=1e-10)
    error = torch.max(torch.abs(model.eigenvalues_ - exact.eigenvalues_) / exact.eigenvalues_)
    print(f"{len(X):,} × {d}: {seconds:.2f} s in float32, worst eigenvalue {float(error):.1e} off float64's")
    del single, double, exact

    X, gamma = blobs(n, d)
    X = torch.asarray(X, dtype=torch.float32, device="cuda")
    for _ in range(3):
        seconds, model = fit(X, gamma, k)
        result = model.eigen_result_
        print(
            f"{n:,} × {d}, {k} components: {seconds:.2f} s, {result.reason}, {result.n_products} products, largest "
            f"relative residual {float(result.relative_residuals.max()):.1e}, "
            f"peak memory {torch.cuda.max_memory_allocated() / 1e9:.0f} GB"
        )
    flops = n * n * (d + 2) + 2 * n * n * result.n_products
    print(f"arithmetic alone, at the rate above: {flops / gemm_rate():.2f} s")
    start = time.perf_counter()
    Y = model.transform(X)
    torch.cuda.synchronize()
    assert bool(torch.all(torch.isfinite(Y))) and np.isfinite(float(model.reconstruction_error(X[:1000]).max()))
    print(f"transform of all {n:,} points: {time.perf_counter() - start:.2f} s")
    if options.record:
        settings = {"points": n, "features": d, "components": k, "device": torch.cuda.get_device_name()}
        record("gpu_kernel_pca", {"seconds": seconds}, settings | {"torch": torch.__version__})


if __name__ == "__main__":
    main()
