"""Gaussians of several widths, as vectors of the feature space of one of them."""

from collections.abc import Callable
from math import acosh, exp, log
from numbers import Integral, Real
from typing import Any

from preimage._engine.arrays import array_namespace, concat_columns, device_kwargs, to_dense
from preimage._engine.typing import Array
from preimage._engine.validation import Interval
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._bandwidth import LARGEST_GAMMA
from preimage.kernels._combinations import Scaled
from preimage.kernels._kernel import Kernel, Prepared
from preimage.kernels._pairwise import SquaredDistance
from preimage.kernels._radial import Gaussian
from preimage.kernels._transformed import MappedInputs, ScaledInputs, ShiftedInputs

DISTANCE = SquaredDistance()
# Range of the coordinate θ of widths. A Gaussian with θ = 7 is a thousand times as wide as that of the kernel, and a
# constant among the data; at θ = −2 it has 1.96 γ, and at 2γ it leaves the feature space.
WIDEST, NARROWEST = 7.0, -2.0
# Logarithm of the largest squared norm cosh(θ)^d: numbers of single precision end at e⁸⁸.
LONGEST = 80.0
# Kernels whose points are Gaussians where those of the kernel inside are.
SAME_GAUSSIANS = (Scaled, MappedInputs, ScaledInputs, ShiftedInputs)


class FreeWidthGaussian(Kernel):
    r"""Inner products of Gaussians of several widths in the feature space of the Gaussian kernel with one of them.

    A row (z, w) of d + 1 columns stands for the function :math:`g(x) = \exp(-\gamma_w \|x - z\|^2)` with

    .. math:: \gamma_w = \gamma\,(1 - \tanh\theta), \qquad \theta = 2 w \sqrt{\gamma / d},

    and a row of d columns for :math:`\exp(-\gamma\|x - z\|^2)`, that is w = 0. All of them are vectors of the feature
    space of the Gaussian kernel with γ, which contains every Gaussian with less than 2γ. With
    :math:`p = \tanh\theta` and :math:`q = \tanh\theta'` their inner product is (R26)

    .. math:: k((z, w), (z', w')) = (1 - pq)^{-d/2}
              \exp\Bigl(-\gamma \frac{(1 - p)(1 - q)}{1 - pq} \|z - z'\|^2\Bigr);

    with q = 0 it is the value of the Gaussian at z′. A wide Gaussian is the mean image of a cloud of inputs around z.
    The last column is scaled such that steps along it move images as far as steps along the others do.

    Reducers with ``widths="free"`` use this kernel for the points that they find.

    Parameters
    ----------
    gamma : float, default=1.0
        γ > 0 of the feature space.
    n_features : int, default=1
        Columns d of inputs; rows with one more have a width of their own.

    See Also
    --------
    Gaussian : The kernel with one width.
    preimage.compress : Approximates machines by Gaussians of free widths.
    preimage.reduced_sets.Construct : Finds such points with ``widths="free"``.

    Examples
    --------
    A Gaussian that is wider than the kernel, at two inputs:

    >>> import numpy as np
    >>> from preimage.kernels import FreeWidthGaussian
    >>> kernel = FreeWidthGaussian(gamma=1.0, n_features=1)
    >>> wide = np.array([[0.0, 0.4]])
    >>> kernel.gammas(wide).round(3)
    array([0.336])
    >>> kernel(np.array([[0.0], [1.0]]), wide).round(3)
    array([[1.   ],
           [0.715]])
    """

    is_positive_semidefinite = True
    is_bound_to_columns = True
    own_columns = 1
    _parameter_constraints = {
        "gamma": [Interval(Real, 0, LARGEST_GAMMA, closed="right")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, gamma: float = 1.0, n_features: int = 1) -> None:
        self.gamma = gamma
        self.n_features = n_features

    def gammas(self, points: Array) -> Array:
        """γ_w of every row of `points`."""
        inputs, relative = self._split(points)
        if relative is None:
            xp = array_namespace(inputs)
            relative = xp.ones(points.shape[0], dtype=inputs.dtype, **device_kwargs(inputs))
        return self.gamma * relative

    def prepare(self, Y: Array) -> Prepared:
        inputs, of_points = self._split(Y)
        squared = DISTANCE.prepare(inputs)
        some = lambda relative, chosen: None if relative is None else relative[chosen]

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            rows_of_X, of_rows = (inputs, of_points) if X is Y else self._split(X)
            distances = squared.tiles(rows_of_X)
            pairs = lambda rows, columns: _Pairs(self, some(of_rows, rows), some(of_points, columns))
            return lambda rows, columns: pairs(rows, columns).values(distances(rows, columns))

        def with_gradient(Z: Array) -> tuple[Array, Callable[[Array], Array]]:
            rows, of_rows = self._split(Z)
            s, pairs = squared(rows), _Pairs(self, of_rows, of_points)
            values = pairs.values(s)

            def contracted(weights: Array) -> Array:
                weights = weights * values
                moved = DISTANCE.gradient(rows, inputs, -self.gamma * weights * pairs.ratio)
                if of_rows is None:
                    return moved
                # d(γ_w/γ)/dw = −(1 − p²) dθ/dw, and 1 − p² = r(2 − r).
                change = -of_rows * (2 - of_rows) * self._scale() * self._inside(Z)
                along = array_namespace(weights).sum(weights * pairs.derivative(s), axis=1)
                return concat_columns(moved, (change * along)[:, None])

            return values, contracted

        return Prepared(self, Y, tiles, with_gradient)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        return self.prepare(X).with_gradient(Z)[1](weights)

    def diagonal(self, X: Array) -> Array:
        inputs, relative = self._split(X)
        xp = array_namespace(inputs)
        if relative is None:
            return xp.ones(X.shape[0], dtype=inputs.dtype, **device_kwargs(inputs))
        return xp.exp(-0.5 * self.n_features * xp.log(relative * (2 - relative)))

    def diagonal_gradient(self, Z: Array) -> Array:
        inputs, relative = self._split(Z)
        nothing = array_namespace(inputs).zeros_like(to_dense(inputs))
        if relative is None:
            return nothing
        # d cosh(θ)^d = d tanh θ cosh(θ)^d dθ.
        along = self.n_features * (1 - relative) * self.diagonal(Z) * self._scale() * self._inside(Z)
        return concat_columns(nothing, along[:, None])

    def _split(self, X: Array) -> tuple[Array, Array | None]:
        """Inputs, and the relative widths r = γ_w/γ = 1 − tanh θ of rows that have one."""
        columns = X.shape[1] - self.n_features
        if columns not in (0, 1):
            raise ValueError(
                f"FreeWidthGaussian takes rows of {self.n_features} columns, or of one more for a width; got "
                f"{X.shape[1]}."
            )
        if columns == 0:
            return X, None
        xp = array_namespace(X)
        theta = self._theta(X)
        low, high = self._range()
        return X[:, : self.n_features], 2 / (1 + xp.exp(2 * xp.clip(theta, low, high)))

    def _theta(self, X: Array) -> Array:
        return self._scale() * to_dense(X[:, self.n_features :])[:, 0]

    def _inside(self, X: Array) -> Array:
        """One for rows whose width is within the range, and zero for the others, which do not change with w."""
        theta = self._theta(X)
        low, high = self._range()
        return array_namespace(theta).astype((theta > low) & (theta < high), theta.dtype)

    def _scale(self) -> float:
        """dθ/dw, by which ½d dθ², the squared length of a step of θ in feature space, is 2γ dw², as for inputs."""
        return 2 * (float(self.gamma) / self.n_features) ** 0.5

    def _range(self) -> tuple[float, float]:
        longest = LONGEST / self.n_features
        # acosh(e^y) = y + log 2 for large y, where the exponential would overflow.
        largest = acosh(exp(longest)) if longest < 20 else longest + log(2)
        return max(-largest, NARROWEST), min(largest, WIDEST)


class _Pairs:
    """What (R26) needs of the relative widths r and t of two sets of rows; None is one for all."""

    def __init__(self, kernel: FreeWidthGaussian, of_rows: Array | None, of_columns: Array | None) -> None:
        self.gamma, self.n_features, self.of_columns = kernel.gamma, kernel.n_features, of_columns
        r: Any = 1.0 if of_rows is None else of_rows[:, None]
        t: Any = 1.0 if of_columns is None else of_columns[None, :]
        self.both = of_rows is not None and of_columns is not None
        self.union = r + t - r * t if self.both else 1.0  # 1 − pq
        self.ratio = r * t / self.union

    def values(self, s: Array) -> Array:
        """k at the squared distances s."""
        xp = array_namespace(s)
        exponent = -self.gamma * (self.ratio * s)
        if self.both:
            exponent = exponent - 0.5 * self.n_features * xp.log(self.union)
        return xp.exp(exponent)

    def derivative(self, s: Array) -> Array:
        """d log k / dr at the squared distances s."""
        gamma = self.gamma
        if self.of_columns is None:
            return -gamma * s
        t = self.of_columns[None, :] / self.union
        return -0.5 * self.n_features * (1 / self.union - t) - gamma * s * t * t


def free_widths(kernel: Kernel, n_features: int, who: str) -> Kernel:
    """The kernel whose points may have widths of their own in the feature space of `kernel`; `who` needs it.

    Parameters
    ----------
    kernel : Kernel
        A Gaussian, also times a number, or on inputs weighted, mapped linearly or shifted. One that has free widths
        already comes back as it is.
    n_features : int
        Columns of inputs.
    who : str
        For the message.
    """
    if kernel.own_columns:
        return kernel
    if type(kernel) is Gaussian:
        return FreeWidthGaussian(float(kernel.gamma), n_features)
    if type(kernel) in SAME_GAUSSIANS and getattr(kernel, "factor", 1) > 0:
        columns = len(kernel.matrix) if type(kernel) is MappedInputs else n_features
        return kernel.rebuilt(lambda part: free_widths(part, columns, who), lambda name, value: value)
    raise UnsupportedKernelError(
        f"{who} with widths='free' needs a Gaussian kernel, whose feature space contains Gaussians of other widths; "
        f"got {kernel!r}. widths='fixed' works with every kernel."
    )


def gammas_of(kernel: Kernel, points: Array) -> Array | None:
    """γ of the Gaussian of every point, on inputs as the kernel maps them; None where points are no Gaussians."""
    while type(kernel) in SAME_GAUSSIANS:
        (part,) = kernel.parts()
        kernel, points = part, kernel.inputs_of_parts(points)
    if type(kernel) is Gaussian:
        xp = array_namespace(points)
        return xp.full((points.shape[0],), float(kernel.gamma), dtype=points.dtype, **device_kwargs(points))
    return kernel.gammas(points) if isinstance(kernel, FreeWidthGaussian) else None
