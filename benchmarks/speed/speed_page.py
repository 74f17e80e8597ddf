"""How fast are exact fits and pre-images, on processors and on a GPU?

Set-up: `grid.py`, `kernel_pca.py`, `preimages.py` and the scripts for GPUs keep records, and this script makes tables
and the page of them. Nothing is measured here.

    python benchmarks/speed/speed_page.py --output docs/results/speed.md

Observe: ratios to scikit-learn's fastest solver that is as accurate, times on a GPU, and pre-images next to the same
iteration, one query at a time.
"""

import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _measure import command
from _reports import option_parser, publish, table
from cores_page import origin_of, read
from preimages import LOOPS

KINDS = ("blobs", "isotropic", "swiss roll", "low rank", "flat")
DTYPES = ("float64", "float32")
SMALL = (20, 100, 500, 2000)

ABOUT_GRID = """\
Every process has cores of its own. Points are 30 Gaussian blobs or one Gaussian in 30 dimensions, a swiss roll,
points whose matrix has a low rank, and one whose eigenvalues are all alike; γ = 1/(2 · median squared distance), and
wider or narrower for the last two. In every cell our fit with its defaults runs in turn with every solver of
scikit-learn in several settings (ARPACK with four tolerances, randomized with three powers, dense). The number is the
time of the fastest of those that are as accurate as ours, or as ours promises to be, over our time, minima of at
least three rounds: above 1 we are faster. Accuracy is measured against LAPACK in float64: relative errors of
eigenvalues, residuals relative to the largest eigenvalue, and to their own. This is `fit` on one thread;
`fit_transform` is in the record, with the same picture."""

WHERE_SLOWER = """\
Most of them are flat spectra, where no component is much larger than the next, with 50 to 500 points. There the dense
solver has to do all of its work, and ours goes to smaller residuals and looks for copies of eigenvalues, which ARPACK
does not. Matrices of low rank are fitted several times faster: the reduction stops when nothing is left that the data
determine."""

ABOUT_GPU = """\
One NVIDIA H200; blobs as above, float32 tensors on the device. Products with K are fused: kernel values stay in
registers and are multiplied there, as pairs of float16 numbers on matrix units, with the accuracy of float32
arithmetic. Times are those of a second fit; the first one compiles device code, some seconds, which are kept on disk.
The path of plain array operations is taken where Triton or a C compiler is missing, and for kernels other than
`Gaussian`, `RationalQuadratic`, `InverseMultiquadric` and `Matern`. Eigenvectors of the small matrices within these
methods are computed in double precision: torch's iterations in single precision stop early."""

ABOUT_PREIMAGES = """\
2,000 noisy USPS digits against 3,000 training digits, 64 components, fixed points to relative steps of 1e-6. The
first `inverse_transform` of a model chooses and learns a map; scikit-learn's fit with its inverse chooses nothing."""


def grid_cells(values):
    """{(data, n, k, dtype, method, threads): ratio}."""
    found = {}
    for key, value in values.items():
        match key.split(", "):
            case [data, n, k, dtype, method, threads] if data in KINDS:
                numbers = (int(each.split()[-1]) for each in (n, k))
                found[data, *numbers, dtype, method, int(threads.split()[0])] = value
    return found


def grid_table(cells):
    columns = [(data, dtype) for data in KINDS for dtype in DTYPES]
    cell = lambda n, k, data, dtype: cells.get((data, n, k, dtype, "fit", 1))
    sizes = sorted({(n, k) for _, n, k, _, method, threads in cells if method == "fit" and threads == 1})
    rows = [
        [f"{n:,}", f"{k}", *("" if cell(n, k, *each) is None else f"{cell(n, k, *each):.2f}" for each in columns)]
        for n, k in sizes
    ]
    return table(["n", "k", *(f"{data}, {dtype}" for data, dtype in columns)], rows)


def grid_summary(cells):
    mean = lambda found: float(np.exp(np.mean(np.log(found))))
    worst = min(cells, key=cells.get)
    slower = [value for value in cells.values() if value < 1]
    sizes = [
        f"{mean([value for key, value in cells.items() if key[1] == n]):.2f} for {n:,} points"
        for n in SMALL
        if any(key[1] == n for key in cells)
    ]
    threads = sorted({key[-1] for key in cells})
    by_threads = [
        f"{mean([value for key, value in cells.items() if key[-1] == each]):.2f} on {each} thread{'s' * (each > 1)}"
        for each in threads
    ]
    data, n, k, dtype, method, count = worst
    return (
        f"Over all {len(cells)} cells of both methods the geometric mean is {mean(list(cells.values())):.2f} "
        f"({', '.join([*by_threads, *sizes])}). In {len(slower)} cells scikit-learn is faster, in "
        f"{sum(value < 1 / 1.1 for value in slower)} of them by more than a tenth; at worst it needs "
        f"{cells[worst]:.2f} of our time ({k} components of {n:,} points, {data}, {dtype}, `{method}`, "
        f"{count} thread{'s' * (count > 1)})."
    )


def gpu_lines(records):
    million, hundred, first, queries = records
    rows = [
        [
            "1,000,000 × 64, 32 components, exact",
            f"{million['values']['seconds']:.1f} s",
            f"residuals {million['values']['residual']:.0e}; {million['values']['gigabytes']:.1f} GB (K: 4 TB)",
        ],
        ["100,000 × 256, 64 components, exact", f"{hundred['values']['seconds']:.2f} s", "K held, 41 GB"],
        [
            "`transform` of 100,000 rows by the model of 1,000,000 points",
            f"{first['values']['second process; second transform']:.2f} s",
            f"relative errors {first['values']['second process; error of transform']:.0e}",
        ],
    ]
    found = queries["values"]
    about = f"{found['converged']:.1%} converged; {found['gigabytes']:.0f} GB"
    rows.append(["pre-images of 1,000,000 noisy digits", f"{found['seconds']:.1f} s", about])
    yield from table(["problem", "time", ""], rows)
    yield ""
    for each in records:
        yield f"- {origin_of(each)}"


def preimage_lines(values):
    both = lambda text: [text(dtype) for dtype in DTYPES]
    of = lambda dtype, key: values[f"{dtype}; {key}"]
    seconds = lambda key: both(lambda dtype: f"{of(dtype, key):.2f} s")
    gains = lambda key: both(lambda d: f"{of(d, key):.1f} s, {of(d, key) / of(d, 'seconds'):.1f} ×")
    yield from table(
        ["", *DTYPES],
        [
            ["preimage", *seconds("seconds")],
            ["the same iteration, one query at a time, as a textbook writes it", *gains(LOOPS[0])],
            ["one query at a time, distances by matrix-vector products", *gains(LOOPS[1])],
            [
                "an iteration against its two matrix products alone",
                *both(lambda dtype: f"{of(dtype, 'over two products'):.2f} ×"),
            ],
            [
                "fit and way back, preimage",
                *both(lambda dtype: f"{of(dtype, 'fit'):.2f} + {of(dtype, 'seconds'):.2f} s"),
            ],
            [
                "fit and way back, scikit-learn's ridge regression",
                *both(lambda d: " + ".join(f"{of(d, f'scikit-learn, {key}'):.2f}" for key in INVERSE) + " s"),
            ],
        ],
    )
    yield "\nProcessor time of the first `inverse_transform`:\n"
    names = [key.removesuffix("; seconds") for key in values if key.startswith("first") and key.endswith("; seconds")]
    yield from table(
        ["data", "ours", "over scikit-learn's fit with its inverse"],
        [
            [
                name.removeprefix("first, "),
                f"{values[f'{name}; seconds'] * 1e3:.0f} ms",
                f"{values[f'{name}; over a fit']:.1f}",
            ]
            for name in names
        ],
    )


INVERSE = ("fit with inverse", "inverse")


def page():
    grid, memory, preimages = map(read, ("grid", "kernel_pca", "preimages"))
    cells = grid_cells(grid["values"])
    yield "# Speed\n"
    yield f"Written by `{command()}` from the records that are named below.\n"
    yield "## Exact kernel PCA\n"
    yield f"{origin_of(grid)} {ABOUT_GRID}\n"
    yield from grid_table(cells)
    yield f"\n{grid_summary(cells)} {WHERE_SLOWER}\n"
    yield "How fits and other jobs gain from threads, and from workers of a cluster, is in [scaling.md](scaling.md).\n"
    found = memory["values"]
    yield (
        f'**Bounded memory.** 40,000 × 32, 16 components, `max_memory="1GB"`: peak resident memory '
        f"{found['memory GB']:.2f} GB, libraries included, where K alone takes "
        f"{found['memory of the matrix GB']:.1f} GB. {origin_of(memory)}\n"
    )
    yield "## Graphics processors\n"
    yield f"{ABOUT_GPU}\n"
    yield from gpu_lines([read(name) for name in ("gpu_million", "gpu_kernel_pca", "gpu_first", "gpu_preimages")])
    yield "\n## Pre-images\n"
    yield f"{ABOUT_PREIMAGES} {origin_of(preimages)}\n"
    yield from preimage_lines(preimages["values"])


def main():
    options = option_parser(__doc__, "output").parse_args()
    publish(page(), options.output)


if __name__ == "__main__":
    main()
