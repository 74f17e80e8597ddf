"""Device code of `feature_space._fused`, in Triton: imported only where Triton is installed.

Numbers are float16 pairs (high, low) with x ≈ high + low to 22 bits, and a product of pairs is three products on matrix
units: high·high + high·low + low·high. Sums over a tile are made there; sums over tiles are float32 additions, as
matrix units round towards zero and thousands of their steps would add up to a bias.
"""
# mypy: disallow-untyped-defs=False

import triton
import triton.language as tl

# Names of profiles, as `_fused` gives them.
GAUSSIAN = tl.constexpr(0)
RATIONAL_QUADRATIC = tl.constexpr(1)
INVERSE_MULTIQUADRIC = tl.constexpr(2)
MATERN_1 = tl.constexpr(3)
MATERN_3 = tl.constexpr(4)


@triton.jit
def _profile(s, gamma, PROFILE: tl.constexpr):
    if PROFILE == GAUSSIAN:
        return tl.exp2(s * (-1.4426950408889634 * gamma))
    elif PROFILE == RATIONAL_QUADRATIC:
        return 1.0 / (1.0 + gamma * s)
    elif PROFILE == INVERSE_MULTIQUADRIC:
        return tl.rsqrt(1.0 + gamma * s)
    else:
        r = tl.sqrt(gamma * s)
        decay = tl.exp2(r * -1.4426950408889634)
        if PROFILE == MATERN_1:
            return decay
        elif PROFILE == MATERN_3:
            return (1.0 + r) * decay
        else:
            return (1.0 + r + r * r * 0.3333333333333333) * decay


@triton.jit
def _values(dots, x_norms, y_norms, floors, gamma, PROFILE: tl.constexpr):
    """Kernel values from twice the inner products; squared distances up to their rounding errors count as zero."""
    s = (x_norms[:, None] + y_norms[None, :]) - dots
    return _profile(tl.where(s <= floors[:, None], 0.0, s), gamma, PROFILE)


@triton.jit
def _split(values):
    high = values.to(tl.float16)
    return high, (values - high.to(tl.float32)).to(tl.float16)


@triton.jit
def product_kernel(
    x_high, x_low, x_norms, floors, y_high, y_low, y_norms, v_high, v_low, out,
    n, first, last, stride, gamma, unit,
    D: tl.constexpr, C: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    PROFILE: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """out += k(X, Y[first:last]) V[first:last], one tile of rows per program; Y and V are padded with zeros."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    d, c = tl.arange(0, D), tl.arange(0, C)
    at = rows[:, None].to(tl.int64) * D + d[None, :]
    xh = tl.load(x_high + at, mask=inside[:, None], other=0.0)
    xl = tl.load(x_low + at, mask=inside[:, None], other=0.0)
    xn, floor = tl.load(x_norms + rows, mask=inside, other=0.0), tl.load(floors + rows, mask=inside, other=0.0)
    column = c[None, :].to(tl.int64) * stride
    total = tl.zeros((ROWS, C), tl.float32)
    for start in tl.range(first, last, COLUMNS, num_stages=STAGES):
        j = start + tl.arange(0, COLUMNS)
        point = j[None, :].to(tl.int64) * D + d[:, None]
        yh, yl, yn = tl.load(y_high + point), tl.load(y_low + point), tl.load(y_norms + j)
        dots = tl.dot(xl, yh)
        dots = tl.dot(xh, yl, dots)
        dots = tl.dot(xh, yh, dots)
        ph, pl = _split(_values(2.0 * dots, xn, yn, floor, gamma, PROFILE) * unit)
        vh, vl = tl.load(v_high + column + j[:, None]), tl.load(v_low + column + j[:, None])
        part = tl.dot(pl, vh)
        part = tl.dot(ph, vl, part)
        part = tl.dot(ph, vh, part)
        # The factor keeps the compiler from continuing the sum in the matrix units.
        total = total + part * (1.0 / unit)
    target = out + rows[:, None].to(tl.int64) * C + c[None, :]
    total += tl.load(target, mask=inside[:, None], other=0.0)
    tl.store(target, total, mask=inside[:, None])


@triton.jit
def held_kernel(
    values, v_high, v_low, out, n, m, row_stride, stride, unit,
    C: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """out = K V for a K in memory with entries in [−1, 1], one tile of rows per program; V is padded with zeros."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    c = tl.arange(0, C)
    column = c[None, :].to(tl.int64) * stride
    row = rows[:, None].to(tl.int64) * row_stride
    total = tl.zeros((ROWS, C), tl.float32)
    for start in tl.range(0, m, COLUMNS, num_stages=STAGES):
        j = start + tl.arange(0, COLUMNS)
        p = tl.load(values + row + j[None, :], mask=inside[:, None] & (j[None, :] < m), other=0.0)
        vh, vl = tl.load(v_high + column + j[:, None]), tl.load(v_low + column + j[:, None])
        ph, pl = _split(p * unit)
        part = tl.dot(pl, vh)
        part = tl.dot(ph, vl, part)
        part = tl.dot(ph, vh, part)
        total = total + part * (1.0 / unit)
    tl.store(out + rows[:, None].to(tl.int64) * C + c[None, :], total, mask=inside[:, None])


@triton.jit
def symmetric_kernel(
    x_high, x_low, norms, floors, out, n, tiles, gamma, two,
    D: tl.constexpr, CHUNK: tl.constexpr, TILE: tl.constexpr, GROUP: tl.constexpr, PROFILE: tl.constexpr,
):  # fmt: skip
    """All entries k(X, X), one tile above the diagonal and its mirror image per program.

    Programs that run at the same time work on `GROUP` rows of tiles, so that the columns they share stay in the cache.
    """
    number = tl.program_id(0)
    rest = number % (GROUP * tiles)
    a, b = number // (GROUP * tiles) * GROUP + rest % GROUP, rest // GROUP
    if (a < tiles) & (b >= a):
        rows, columns = a * TILE + tl.arange(0, TILE), b * TILE + tl.arange(0, TILE)
        chunk = tl.arange(0, CHUNK)
        dots = tl.zeros((TILE, TILE), tl.float32)
        for start in range(0, D, CHUNK):
            left = rows[:, None].to(tl.int64) * D + (start + chunk)[None, :]
            right = columns[None, :].to(tl.int64) * D + (start + chunk)[:, None]
            xh, xl = tl.load(x_high + left), tl.load(x_low + left)
            yh, yl = tl.load(x_high + right), tl.load(x_low + right)
            part = tl.dot(xl, yh)
            part = tl.dot(xh, yl, part)
            part = tl.dot(xh, yh, part)
            dots = dots + part * two
        floor = tl.load(floors + rows)
        values = _values(dots, tl.load(norms + rows), tl.load(norms + columns), floor, gamma, PROFILE)
        # Within a tile on the diagonal the upper triangle alone is written, and mirrored: exactly symmetric.
        keep = (columns[None, :] >= rows[:, None]) & (columns[None, :] < n)
        tl.store(out + rows[:, None].to(tl.int64) * n + columns[None, :], values, mask=keep)
        tl.store(out + columns[None, :].to(tl.int64) * n + rows[:, None], values, mask=keep)
