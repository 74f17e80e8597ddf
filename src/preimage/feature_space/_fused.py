"""Products with kernel matrices on NVIDIA GPUs whose values never leave the processor, for kernels of the distance.

A block of K that is written to memory, and read again by every step of a formula, takes several times as long as its
arithmetic. Here one program computes a tile of inner products, distances, kernel values and their product with V in
registers. Points and V are pairs of float16 numbers that have 22 bits together: products of pairs on matrix units are
as accurate as float32 products, at several times the speed.

Device code is compiled by Triton, which comes with torch, when it is first used. Where that fails (no Triton, no C
compiler, an older device) and for other kernels and precisions, functions return None, and callers take the plain path,
which gives the same to rounding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import array_api_compat

from preimage._engine.typing import Array
from preimage.kernels import Gaussian, InverseMultiquadric, Kernel, Matern, RationalQuadratic
from preimage.kernels._pairwise import distance_origin, distance_rounding

# Kernel values from which fused code pays, those of 65,536 points. Compiling takes some seconds when it is first used
# on a machine (Triton keeps the result on disk); below this, the plain path takes a fraction of a second for a fit.
FEWEST_VALUES = 2**32
# Columns of points that a tile of a product holds in shared memory. Matrices that are held take points of any length.
MOST_FEATURES = 128
# Columns of V that one program multiplies with, and the step in which they cost more.
MOST_COLUMNS, COLUMN_STEP = 128, 64
# Points whose values are summed by one launch. With 64 columns of points and of V their pairs take 32 MiB, and stay in
# the second-level cache; and sums of float32 numbers are short, which keeps rounding errors small.
POINTS_AT_ONCE = 2**16
# The largest number of each array is scaled to just below 2^14: float16 numbers end at 65504, and both parts of numbers
# a thousand times smaller are normal ones.
EXPONENT = 14
# Largest difference of fused and plain results on a small problem, relative to the largest value. Rounding errors are
# 1e-6 of it; an error in a profile, in a layout or in a compiler shows in the first digits.
AGREEMENT = 1e-4
# Points of that small problem: some tiles, and a ragged one.
TRIAL_POINTS = 300


@dataclass(frozen=True)
class _Profile:
    """A profile that the device code knows: its number there, and the factor of the squared distance."""

    number: int
    scale: float


# By exact type: a subclass may have another profile. All have values in [0, 1], for which the pairs are scaled.
_PROFILES: dict[type, Callable[[Any], _Profile]] = {
    Gaussian: lambda kernel: _Profile(0, kernel.gamma),
    RationalQuadratic: lambda kernel: _Profile(1, kernel.gamma),
    InverseMultiquadric: lambda kernel: _Profile(2, kernel.gamma),
    Matern: lambda kernel: _Profile({0.5: 3, 1.5: 4, 2.5: 5}[kernel.nu], 4 * kernel.nu * kernel.gamma),
}


def profile_of(kernel: Kernel) -> _Profile | None:
    """What the device code needs to know of a kernel; None for kernels that it does not know."""
    found = _PROFILES.get(type(kernel))
    return None if found is None else found(kernel)


def fused_product(kernel: Kernel, X: Array, Y: Array, V: Array) -> Array | None:
    """k(X, Y) V for X, Y and V of shapes (n, d), (m, d) and (m, c); None where the plain path is to be taken."""
    profile = profile_of(kernel)
    if profile is None or X.shape[0] * Y.shape[0] < FEWEST_VALUES or not _on_device(X, Y, V):
        return None
    if X.shape[1] > MOST_FEATURES or not V.shape[1]:
        return None
    sizes = padded_size(X.shape[1]), padded_size(min(V.shape[1], MOST_COLUMNS))
    return product(profile, X, Y, V) if _product_works(X.device, type(kernel), profile.number, *sizes) else None


def fused_gram(kernel: Kernel, X: Array) -> Array | None:
    """All values k(X, X), exactly symmetric; None where the plain path is to be taken."""
    if X.shape[0] ** 2 < FEWEST_VALUES or not _on_device(X) or (profile := profile_of(kernel)) is None:
        return None
    return gram(profile, X) if _gram_works(X.device, type(kernel), profile.number) else None


def fused_held_product(kernel: Kernel, values: Array, V: Array) -> Array | None:
    """K V for values of the kernel in memory; None where the plain path is to be taken."""
    size = values.shape[0] * values.shape[1]
    if size < FEWEST_VALUES or not V.shape[1] or not _on_device(values, V) or profile_of(kernel) is None:
        return None
    if not values.is_contiguous():
        return None
    works = _held_product_works(values.device, padded_size(min(V.shape[1], MOST_COLUMNS)))
    return held_product(values, V) if works else None


def fused_column_step(kernel: Kernel, X: Array) -> int:
    """Numbers of columns up to the next multiple of this cost the same in a product with k(X, X)."""
    is_fused = profile_of(kernel) is not None and X.shape[0] ** 2 >= FEWEST_VALUES and X.shape[1] <= MOST_FEATURES
    return COLUMN_STEP if is_fused and _on_device(X) else 1


def padded_size(size: int) -> int:
    """The power of two that holds `size`, and at least 16: sides of products on matrix units."""
    return max(16, 1 << (size - 1).bit_length())


def split(scaled: Array) -> tuple[Array, Array]:
    """Float16 arrays high and low whose sum is `scaled`, to 22 bits of numbers up to 2^14."""
    import torch

    high = scaled.to(torch.float16)
    return high, (scaled - high).to(torch.float16)


def scaling_exponent(largest: Array) -> Array:
    """The e with 2^13 ≤ largest · 2^e < 2^14, elementwise.

    Bounded where `largest` is zero or nearly so: 2^e stays in the range of float32 numbers.
    """
    import torch

    return EXPONENT - torch.clamp(torch.frexp(largest).exponent, min=-100)


def product(profile: _Profile, X: Array, Y: Array, V: Array) -> Array | None:
    """k(X, Y) V by the device code; None where distances need float64 numbers."""
    import torch

    from preimage._engine.triton_kernels import product_kernel

    tile = _Tile.of(padded_size(X.shape[1]))
    prepared = _prepared(X, Y, tile.width, tile.columns)
    if prepared is None:
        return None
    left, right, floors, unit = prepared
    parts = []
    for start in range(0, V.shape[1], MOST_COLUMNS):
        high, low, exponents = _pairs_of_columns(V[:, start : start + MOST_COLUMNS], right.norms.shape[0])
        out = torch.zeros((X.shape[0], high.shape[0]), device=X.device)
        with _launching(X):
            for first in range(0, right.norms.shape[0], POINTS_AT_ONCE):
                product_kernel[(-(-X.shape[0] // tile.rows),)](
                    left.high, left.low, left.norms, floors, right.high, right.low, right.norms, high, low, out,
                    X.shape[0], first, min(first + POINTS_AT_ONCE, right.norms.shape[0]), right.norms.shape[0],
                    profile.scale * unit, 2.0**EXPONENT,
                    D=tile.width, C=high.shape[0], ROWS=tile.rows, COLUMNS=tile.columns,
                    PROFILE=profile.number, STAGES=tile.stages, num_warps=tile.warps,
                )  # fmt: skip
        parts.append(torch.ldexp(out[:, : exponents.shape[0]], -exponents))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def held_product(values: Array, V: Array) -> Array:
    """K V by the device code, for a K with entries in [−1, 1]."""
    import torch

    from preimage._engine.triton_kernels import held_kernel

    n, m = values.shape
    parts = []
    for start in range(0, V.shape[1], MOST_COLUMNS):
        high, low, exponents = _pairs_of_columns(V[:, start : start + MOST_COLUMNS], _multiple(m, HELD.columns))
        out = torch.empty((n, high.shape[0]), device=values.device)
        with _launching(values):
            held_kernel[(-(-n // HELD.rows),)](
                values, high, low, out, n, m, values.stride(0), high.shape[1], 2.0**EXPONENT,
                C=high.shape[0], ROWS=HELD.rows, COLUMNS=HELD.columns, STAGES=HELD.stages, num_warps=HELD.warps,
            )  # fmt: skip
        parts.append(torch.ldexp(out[:, : exponents.shape[0]], -exponents))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def gram(profile: _Profile, X: Array) -> Array | None:
    """All values k(X, X) by the device code; None where distances need float64 numbers."""
    import torch

    from preimage._engine.triton_kernels import symmetric_kernel

    n = X.shape[0]
    prepared = _prepared(X, X, _multiple(X.shape[1], FILL.width), FILL.rows)
    if prepared is None:
        return None
    points, _, floors, unit = prepared
    out = torch.empty((n, n), device=X.device)
    tiles = -(-n // FILL.rows)
    with _launching(X):
        symmetric_kernel[(_multiple(tiles, FILL_GROUP) * tiles,)](
            points.high, points.low, points.norms, floors, out, n, tiles, profile.scale * unit, 2.0,
            D=points.high.shape[1], CHUNK=FILL.width, TILE=FILL.rows, GROUP=FILL_GROUP,
            PROFILE=profile.number, num_warps=FILL.warps, num_stages=FILL.stages,
        )  # fmt: skip
    return out


@dataclass(frozen=True)
class _Tile:
    """How a program works: rows and columns of its tile, columns of points, warps, and tiles loaded ahead."""

    rows: int
    columns: int
    width: int
    warps: int
    stages: int

    @classmethod
    def of(cls, width: int) -> _Tile:
        return cls(128, 64, width, 8, 2)


HELD = _Tile(128, 32, 0, 8, 4)
FILL = _Tile(128, 128, 32, 8, 3)
# Rows of tiles that are filled together.
FILL_GROUP = 8


@dataclass(frozen=True)
class _Points:
    """Points as pairs of float16 numbers in rows of the same length, padded with zeros, and their squared norms."""

    high: Array
    low: Array
    norms: Array

    @classmethod
    def of(cls, scaled: Array, n_rows: int, width: int) -> _Points:
        import torch

        (n, d), device = scaled.shape, scaled.device
        high, low = (torch.zeros((n_rows, width), dtype=torch.float16, device=device) for _ in range(2))
        high[:n, :d], low[:n, :d] = split(scaled)
        norms = torch.zeros(n_rows, device=device)
        norms[:n] = torch.sum(scaled * scaled, dim=1)
        return cls(high, low, norms)


def _prepared(X: Array, Y: Array, width: int, step: int) -> tuple[_Points, _Points, Array, float] | None:
    """Both sets of points, what counts as distance zero from rows of X, and the unit of squared distances.

    Rows of Y are padded to a multiple of `step`, and those of X where both are the same.
    """
    import torch

    origin = distance_origin(Y)
    if origin is None:
        return None
    left = X - origin
    right = left if X is Y else Y - origin
    largest = torch.maximum(torch.max(torch.abs(left)), torch.max(torch.abs(right)))
    exponent = scaling_exponent(largest)
    right_points = _Points.of(torch.ldexp(right, exponent), _multiple(Y.shape[0], step), width)
    left_points = right_points if X is Y else _Points.of(torch.ldexp(left, exponent), X.shape[0], width)
    floors = distance_rounding(X.shape[1], X.dtype) * left_points.norms
    return left_points, right_points, floors, 2.0 ** (-2 * int(exponent))


def _pairs_of_columns(V: Array, n_rows: int) -> tuple[Array, Array, Array]:
    """Vᵀ as pairs, padded with zeros, each column scaled by its own power of two; and the exponents of these."""
    import torch

    exponents = scaling_exponent(torch.amax(torch.abs(V), dim=0))
    shape = padded_size(V.shape[1]), n_rows
    high, low = (torch.zeros(shape, dtype=torch.float16, device=V.device) for _ in range(2))
    inside = slice(0, V.shape[1]), slice(0, V.shape[0])
    high[inside], low[inside] = split(torch.ldexp(V, exponents).T)
    return high, low, exponents


def _multiple(size: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-size // step) * step


def _launching(array: Array) -> contextlib.AbstractContextManager[Any]:
    """The device of `array` as the present one."""
    import torch

    return torch.cuda.device(array.device) if array.device.type == "cuda" else contextlib.nullcontext()


def _on_device(*arrays: Array) -> bool:
    """Whether device code can be compiled for arrays: float32 tensors on one NVIDIA GPU, and Triton is installed."""
    if not all(array_api_compat.is_torch_array(array) for array in arrays):
        return False
    import torch

    if any(array.dtype != torch.float32 or array.device.type != "cuda" or array.requires_grad for array in arrays):
        return False
    # Matrix units take pairs of float16 numbers since compute capability 8.
    is_nvidia = torch.version.hip is None and torch.cuda.get_device_capability(arrays[0].device) >= (8, 0)
    return is_nvidia and find_spec("triton") is not None


@cache
def _product_works(device: Any, kernel_type: type[Kernel], number: int, width: int, n_columns: int) -> bool:
    kernel, X = _trial(kernel_type, number, width, device)
    Y, V = X[: TRIAL_POINTS // 2, :], X[: TRIAL_POINTS // 2, :1].repeat(1, n_columns)
    return _agrees(lambda: product(_known_profile(kernel), X, Y, V), lambda: kernel(X, Y) @ V)


@cache
def _gram_works(device: Any, kernel_type: type[Kernel], number: int) -> bool:
    kernel, X = _trial(kernel_type, number, FILL.width + 1, device)
    return _agrees(lambda: gram(_known_profile(kernel), X), lambda: kernel(X))


@cache
def _held_product_works(device: Any, n_columns: int) -> bool:
    _, X = _trial(Gaussian, 0, n_columns, device)
    values = X @ X.T / (X @ X.T).abs().max()
    return _agrees(lambda: held_product(values, X), lambda: values @ X)


def _known_profile(kernel: Kernel) -> _Profile:
    profile = profile_of(kernel)
    assert profile is not None
    return profile


def _trial(kernel_type: type[Kernel], number: int, width: int, device: Any) -> tuple[Kernel, Array]:
    """A kernel with the profile of that number, and random points with distances near its width."""
    import torch

    smoothness = {3: 0.5, 4: 1.5, 5: 2.5}.get(number)
    kernel = kernel_type() if smoothness is None else Matern(nu=smoothness)
    points = torch.randn((TRIAL_POINTS, width), generator=torch.Generator().manual_seed(0)) / (2 * width) ** 0.5
    return kernel, points.to(device)


def _agrees(fused: Callable[[], Array], plain: Callable[[], Array]) -> bool:
    """Whether device code can be compiled, runs, and gives what the plain path gives."""
    try:
        found, expected = fused(), plain()
        return float((found - expected).abs().max()) <= AGREEMENT * float(expected.abs().max())
    except Exception:  # whatever a compiler, a driver or a device reports: the plain path works there
        return False
