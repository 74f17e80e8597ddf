"""Does kernel PCA on landmarks stay linear in time and flat in memory up to a million points?

Set-up: float32 blobs in 32 dimensions (30 clusters of deviation 1, centres of deviation 3), Gaussian kernel with
γ = 1/128, 500 landmarks, 20 components. Every size runs in a process of its own, so that the peak resident memory
(VmHWM) is that of one fit; data are made in place. "Products" is the time that the matrix products of the pass take
alone, in the same blocks on the same threads. CPU seconds of all cores are given as well: a busy
machine disturbs them less.

    python benchmarks/speed/scale.py --record

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
from _measure import describe_machine, peak_memory, record
from _reports import option_parser, stamped, table

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
    parser = option_parser(__doc__, "record")
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
    if options.record:
        values = {
            f"{name}, {what}": number
            for name, found in (("a quarter", quarter), ("all", whole))
            for what, number in found.items()
            if what != "notes"
        }
        values |= {
            "time ratio": ratio,
            "CPU ratio": cpu_ratio,
            "rows that did not converge": len(whole.get("notes", [])),
        }
        settings = {"features": FEATURES, "landmarks": LANDMARKS, "components": COMPONENTS, "repeats": options.repeats}
        record("landmark_scale", values, settings | {"rows": options.points, "denoised": options.denoise})


def section(contents):
    values, settings = contents["values"], contents["settings"]
    yield from stamped("## A million points\n", contents)
    yield (
        f"float32, {settings['features']} features, {settings['landmarks']} landmarks, {settings['components']} "
        f"components, medians of {settings['repeats']}.\n"
    )
    rows = []
    for name in ("a quarter", "all"):
        of = lambda what, name=name: values[f"{name}, {what}"]
        products = f"{of('products_cpu') / of('cpu'):.0%}".replace("%", " %")
        memory = [f"{of(what) / 1e9:.2f} GB" for what in ("peak", "data")]
        rows.append([f"{of('n'):,.0f}", f"{of('seconds'):.2f} s", f"{of('cpu'):.2f} s", products, *memory])
    yield from table(["rows", "time", "CPU time", "of it, matrix products", "peak memory", "data"], rows)
    beyond = (values["all, peak"] - values["all, data"]) / 1e9
    missed = values["rows that did not converge"]
    yield (
        f"\nThe ratio of times is {values['time ratio']:.2f}, memory {beyond:.2f} GB beyond the data. `denoise` of "
        f"{settings['denoised']:,} rows: {values['all, denoise']:.1f} s, peak {values['all, peak_denoise'] / 1e9:.2f} "
        f"GB, {'not all' if missed else 'all'} converged.\n"
    )


if __name__ == "__main__":
    main()
