"""Does kernel PCA on landmarks stay linear in time and flat in memory up to a million points?

Set-up: float32 blobs in 32 dimensions (30 clusters of deviation 1, centres of deviation 3), Gaussian kernel with
γ = 1/128, 500 landmarks, 20 components. Every size runs in a process of its own, so that the peak resident memory
(VmHWM) is that of one fit; data are made in place. "Products" is the time that the matrix products of the pass take
alone, in the same blocks on the same threads. CPU seconds of all cores are given as well: a busy
machine disturbs them less.

    python benchmarks/speed/scale.py

Observe: peak memory beyond the data, the growth of time with rows, and the fraction of matrix products. Then `denoise`
of 100,000 rows.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _blobs import large_blobs
from _measure import describe_machine, peak_memory
from _reports import option_parser

from preimage import KernelPCA
from preimage._engine.rows import cut
from preimage._engine.threads import available_threads, run_parallel
from preimage.feature_space._moments import BLOCK, TILE_BYTES

FEATURES, LANDMARKS, COMPONENTS = 32, 500, 20
GAMMA = 1 / 128


def model():
    return KernelPCA(COMPONENTS, gamma=GAMMA, landmarks=LANDMARKS)


def fit_inline(n, n_denoised, repeats):
    X = large_blobs(n, FEATURES)
    model().fit(X[:2000])  # thread pools and lazy imports
    seconds, cpu = [], time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        fitted = model().fit(X)
        seconds.append(time.perf_counter() - start)
    result = {"n": n, "seconds": float(np.median(seconds)), "data": X.nbytes, "peak": peak_memory()}
    result["cpu"] = (time.process_time() - cpu) / repeats
    cpu = time.process_time()
    result["products"], share = product_seconds(n)
    result["products_cpu"] = (time.process_time() - cpu) * share
    result["left"] = fitted.landmarks_.residual_fraction
    if n_denoised:
        noisy = X[:n_denoised] + np.random.default_rng(1).standard_normal((n_denoised, FEATURES), dtype=np.float32)
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            denoised = fitted.denoise(noisy)
        result["denoise"] = time.perf_counter() - start
        result["notes"] = [str(warning.message) for warning in caught]
        result["moved"] = float(np.sqrt(np.mean((denoised - noisy) ** 2)))
        result["peak_denoise"] = peak_memory()
    print(json.dumps(result))


def product_seconds(n):
    """Time of the matrix products of one pass alone: kernel values in float32, their scatter in float64."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((BLOCK, FEATURES + 2), dtype=np.float32)
    right = rng.standard_normal((FEATURES + 2, LANDMARKS), dtype=np.float32)
    values = rng.standard_normal((BLOCK, LANDMARKS))
    sample = 16 * available_threads()

    def multiply(_):
        for tile in cut(BLOCK, TILE_BYTES // (8 * LANDMARKS)):
            left[tile] @ right
        values.T @ values

    start = time.perf_counter()
    run_parallel(multiply, range(sample))
    scale = n / (BLOCK * sample)
    return (time.perf_counter() - start) * scale, scale


def run(n, n_denoised, repeats):
    command = [sys.executable, __file__, "--inline", str(n), "--denoise", str(n_denoised), "--repeats", str(repeats)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = option_parser(__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="of the larger problem; the other has a quarter")
    parser.add_argument("--denoise", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--inline", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inline:
        fit_inline(options.inline, options.denoise, options.repeats)
        return
    print(describe_machine())
    print(f"float32, {FEATURES} features, {LANDMARKS} landmarks, {COMPONENTS} components, medians of {options.repeats}")
    quarter = run(options.points // 4, 0, options.repeats)
    whole = run(options.points, options.denoise, options.repeats)
    for result in (quarter, whole):
        extra = result["peak"] - result["data"]
        print(
            f"  {result['n']:,} rows: {result['seconds']:.2f} s ({result['cpu']:.2f} s CPU), products alone "
            f"{result['products']:.2f} s ({result['products'] / result['seconds']:.0%}; of CPU "
            f"{result['products_cpu'] / result['cpu']:.0%}); peak {result['peak'] / 1e9:.2f} GB, data "
            f"{result['data'] / 1e9:.2f} GB, {extra / 1e9:.2f} GB beyond; "
            f"{result['left']:.4f} of the trace left"
        )
    ratio = whole["seconds"] / quarter["seconds"]
    cpu_ratio = whole["cpu"] / quarter["cpu"]
    print(f"  time ratio {ratio:.2f}; ratio of CPU times {cpu_ratio:.2f}")
    if options.denoise:
        print(
            f"  denoise of {options.denoise:,} rows: {whole['denoise']:.1f} s, peak "
            f"{whole['peak_denoise'] / 1e9:.2f} GB, "
            f"entries moved by {whole['moved']:.2f}; {'; '.join(whole['notes']) or 'all converged'}"
        )


if __name__ == "__main__":
    main()
