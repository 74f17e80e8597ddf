"""How long does kernel PCA of ten million points take, streamed through a GPU?

Set-up: float32 blobs in host memory, as NumPy; ``KernelPCA(50, landmarks=RandomlyPivotedCholesky(2000),
device="cuda")`` selects landmarks, sends all rows through the device once, and keeps a small NumPy model. Times include
selection and checks of the input. The arithmetic is 2nm(d + m) operations: kernel values in float32, their scatter in
float64.

    python benchmarks/speed/gpu_landmarks.py --points 10000000

Observe: the time, the rate of arithmetic, and the agreement with a fit on the CPU.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _blobs import large_blobs
from _measure import record
from _reports import option_parser, stamped

from preimage import KernelPCA
from preimage.landmarks import RandomlyPivotedCholesky


def main():
    import torch

    parser = option_parser(__doc__, "record")
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--landmarks", type=int, default=2000)
    parser.add_argument("--components", type=int, default=50)
    options = parser.parse_args()
    n, d, m, k = options.points, options.features, options.landmarks, options.components
    X, gamma = large_blobs(n, d), 1 / (4 * d)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; {n:,} × {d} float32, {m} landmarks")

    few = X[:20_000]
    here = KernelPCA(k, gamma=gamma, landmarks=RandomlyPivotedCholesky(300)).fit(few)
    there = KernelPCA(k, gamma=gamma, landmarks=RandomlyPivotedCholesky(300), device="cuda").fit(few)
    error = np.abs(there.eigenvalues_ / here.eigenvalues_ - 1).max()
    print(f"20,000 points, 300 landmarks: eigenvalues on GPU and CPU agree to {error:.1e}")

    start = time.perf_counter()
    RandomlyPivotedCholesky(m).select(here.kernel_, X, judged=False, device="cuda")
    selection = time.perf_counter() - start
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        model = KernelPCA(k, gamma=gamma, landmarks=RandomlyPivotedCholesky(m), device="cuda").fit(X)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        flops = 2 * n * m * (d + m)
        print(
            f"fit {seconds:.2f} s (selection alone {selection:.2f} s): {flops / seconds / 1e12:.1f} TFLOP/s over all, "
            f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB on the device; {model.landmarks_}"
        )
    if options.record:
        settings = {"points": n, "features": d, "landmarks": f"RandomlyPivotedCholesky({m})", "components": k}
        settings |= {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        values = {"seconds": seconds, "selection, seconds": selection, "TFLOP/s": flops / seconds / 1e12}
        values |= {"peak, GB": torch.cuda.max_memory_allocated() / 1e9, "difference of eigenvalues": float(error)}
        record("gpu_landmarks", values, settings)
    start = time.perf_counter()
    Y = model.transform(X[:2_000_000])
    seconds = time.perf_counter() - start
    print(f"transform of {Y.shape[0]:,} rows: {seconds:.2f} s, {type(Y).__module__}.{type(Y).__name__}")


def section(contents):
    values, settings = contents["values"], contents["settings"]
    yield from stamped("## A GPU\n", contents)
    yield (
        f"On one {settings['device']}, torch {settings['torch']}: {settings['points']:,} × {settings['features']} "
        "float32 "
        f'in host memory as NumPy, {settings["landmarks"]}, {settings["components"]} components, `device="cuda"`: '
        f"{values['seconds']:.1f} s with selection ({values['selection, seconds']:.2f} s) and checks of the input, "
        f"{values['TFLOP/s']:.0f} TFLOP/s over all of it, {values['peak, GB']:.1f} GB on the device. Rows move to the "
        "device while it works on those before; landmarks are selected and the eigenproblem is solved there too. "
        "Eigenvalues of a smaller problem agree with those of a CPU to "
        f"{values['difference of eigenvalues']:.0e}.\n"
    )


if __name__ == "__main__":
    main()
