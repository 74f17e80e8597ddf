"""The covariance of tangents in feature space: what transformations of the inputs change there."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    concat_rows,
    from_numpy,
    in_double,
    is_chunked,
    is_lazy,
    known_rows,
    to_dense,
)
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import Interval, StrOptions, check_finite_block, check_parameters
from preimage.feature_space import Expansion
from preimage.invariances._transformation import Transformation, as_transformations
from preimage.kernels import InnerProduct, Kernel, ProfileKernel, SquaredDistance

# Rows that are transformed and compared with the expansion points together: their kernel values with a thousand points
# take 4 MB per transformation.
BLOCK = 512


class TangentCovariance(BaseEstimator):
    r"""Second moment T of :math:`\frac{d}{dt}\varphi(L_t x)` over patterns x and transformations.

    On vectors :math:`w = \sum_i \alpha_i \varphi(z_i)`, :math:`\langle w, T w\rangle = \alpha^\top G G^\top \alpha` is
    the mean squared change of the function :math:`f(x) = \langle w, \varphi(x)\rangle` along the transformations, with

    ========= =================================================== =============
    method    column of G for the pattern x, times √(patterns)    error
    ========= =================================================== =============
    central   :math:`(k(Z, L_t x) - k(Z, L_{-t} x)) / 2t`         of order t²
    forward   :math:`(k(Z, L_t x) - k(Z, x)) / t`                 of order t
    analytic  :math:`\nabla_2 k(Z, x) \cdot \tau(x)`              none
    ========= =================================================== =============

    Several transformations are averaged, as in [1]_, or weighted. Differences need no centring: this is a second
    moment, not a covariance, in spite of its name in [1]_. Everything is computed in double precision, since
    differences cancel.

    Parameters
    ----------
    transformations : Transformation, callable, or list of them
        A function (X, t) stands for ``FunctionTransformation(function)``.
    step : float, default=0.01
        t, in the units of the transformations. Images should move by about a thousandth to a hundredth of the width
        of the kernel.
    method : {"central", "forward", "analytic"}, default="central"
        "analytic" needs a kernel with a gradient.
    weights : sequence of float or None, default=None
        How much each transformation counts, not negative: T is their weighted mean. A model that ignores rotations by
        and large and shifts strictly has a larger weight for shifts. None counts all alike.

    See Also
    --------
    preimage.OrientedKernelPCA : Features that vary over the data, but not along transformations.
    preimage.KernelFisherDiscriminant : A classifier that takes it as `invariances`.
    VirtualExamples : The other way: transformed copies of the data.

    References
    ----------
    .. [1] S. Mika et al., "Invariant feature extraction and classification in kernel spaces",
       NIPS 12, 1999.

    Examples
    --------
    The function x₁ does not change when x₂ does:

    >>> import numpy as np
    >>> from preimage.invariances import TangentCovariance
    >>> from preimage.kernels import Linear
    >>> shift = lambda X, t: X + t * np.array([0.0, 1.0])
    >>> TangentCovariance(shift).tangent_moment(Linear(), np.eye(2), np.ones((5, 2))).round(9) + 0
    array([[0., 0.],
           [0., 1.]])
    """

    _parameter_constraints = {
        "transformations": [Transformation, callable, list, tuple],
        "step": [Interval(Real, 0, None, closed="neither")],
        "method": [StrOptions({"central", "forward", "analytic"})],
        "weights": ["array-like", None],
    }

    def __init__(
        self,
        transformations: Any,
        step: float = 0.01,
        method: str = "central",
        weights: Sequence[float] | None = None,
    ) -> None:
        self.transformations = transformations
        self.step = step
        self.method = method
        self.weights = weights

    @gives_finite_numbers()
    def tangent_factor(self, kernel: Kernel, points: Array, X: Array) -> Array:
        """G with T = G Gᵀ on the expansion points, shape (m, n · number of transformations).

        Parameters
        ----------
        kernel : Kernel
            With all parameters resolved.
        points : array of shape (m, d)
            The expansion points z.
        X : array of shape (n, d)
            The patterns, in memory.
        """
        factors = np.sqrt(self._weights())
        changes = self._changes(kernel, in_double(points))(X)
        changes = [change if factor == 1 else float(factor) * change for factor, change in zip(factors, changes)]
        return (concat_rows(*changes) / float(np.sqrt(X.shape[0] * len(changes)))).T

    @gives_finite_numbers()
    def tangent_moment(self, kernel: Kernel, points: Array, X: Array, sample_weight: np.ndarray | None = None) -> Array:
        """T = G Gᵀ on the expansion points, shape (m, m), without ever holding G; parameters as `tangent_factor`.

        X may also be a memory map or a Dask array, which is read block by block. With sample weights, a NumPy array of
        shape (n,), it is a weighted mean over patterns.
        """
        return self._moment(self._changes(kernel, in_double(points)), X, sample_weight)

    @gives_finite_numbers()
    def moment_of(self, vectors: Expansion, X: Array, sample_weight: np.ndarray | None = None) -> Array:
        """⟨vᵢ, T vⱼ⟩ for the vectors of an `Expansion`, shape (k, k).

        The diagonal is the mean squared change of each function along the transformations; with sample weights, a
        weighted mean over patterns. X may also be a memory map or a Dask array, which is read block by block.
        """
        vectors = Expansion(vectors.kernel, in_double(vectors.points), in_double(vectors.coefficients))
        changes = self._changes(vectors.kernel, vectors.points)
        return self._moment(lambda rows: [change @ vectors.coefficients for change in changes(rows)], X, sample_weight)

    def displaced(self, X: Rows) -> Array:
        """L_t x for every row of X and every transformation: with X, what an expansion needs to represent T."""
        check_parameters(self)
        counts = self._weights() > 0
        parts = [part for part, does_count in zip(as_transformations(self), counts) if does_count]
        return concat_rows(*[part.apply(X, self.step) for part in parts])

    def _weights(self) -> np.ndarray:
        """Weights of the transformations, with mean one."""
        count = len(as_transformations(self))
        if self.weights is None:
            return np.ones(count)
        weights = np.asarray(self.weights)
        weights = weights.astype(float) if weights.dtype.kind in "biuf" else np.full(weights.shape, np.nan)
        if weights.shape != (count,) or not np.all(np.isfinite(weights)) or weights.min() < 0 or not weights.any():
            raise ValueError(
                f"`weights` of TangentCovariance has one number per transformation, {count} here, finite, not negative "
                f"and not all zero; got {self.weights!r}."
            )
        weights = weights / weights.max()  # whose sum could overflow
        return weights * (count / weights.sum())

    def _moment(self, changes: Callable[[Array], list[Array]], X: Array, weights: np.ndarray | None = None) -> Array:
        from_disk, parts = is_lazy(X), self._weights()

        def second_moment(rows: Array, weights: np.ndarray | None) -> Array:
            rows = check_finite_block("TangentCovariance", as_points(rows)) if from_disk else rows
            terms = [
                change.T @ (change if weights is None else from_numpy(weights, change)[:, None] * change)
                for change in changes(rows)
            ]
            terms = [term if part == 1 else float(part) * term for part, term in zip(parts, terms)]
            return sum(terms[1:], start=terms[0])

        X = known_rows(X) if is_chunked(X) else X
        count = X.shape[0] if weights is None else float(np.sum(weights))
        return sum_rows(second_moment, X, weights, rows=BLOCK) / (count * len(as_transformations(self)))

    def _changes(self, kernel: Kernel, points: Array) -> Callable[[Array], list[Array]]:
        """Function of rows: derivatives of their kernel values with the points, one (q, m) array per transformation."""
        check_parameters(self)
        parts, t = as_transformations(self), float(self.step)
        if self.method == "analytic":
            one = lambda rows, part: directional_derivatives(kernel, rows, in_double(part.tangents(rows)), points)
        else:
            values = kernel.prepare(points)
            behind = -t if self.method == "central" else 0.0
            at = lambda rows, part, t: values(in_double(part.apply(rows, t)) if t else rows)
            one = lambda rows, part: (at(rows, part, t) - at(rows, part, behind)) / (t - behind)
        return lambda rows: [one(in_double(to_dense(rows)), part) for part in parts]


def as_tangent_covariance(invariances: Any) -> TangentCovariance:
    """The tangent covariance that an `invariances` or `noise` parameter means; one given is returned as it is."""
    return invariances if isinstance(invariances, TangentCovariance) else TangentCovariance(invariances)


def directional_derivatives(kernel: Kernel, X: Rows, directions: Rows, points: Array) -> Array:
    r"""Derivatives of kernel values along directions of x, :math:`\nabla_1 k(x_j, z_i) \cdot \tau_j`, shape (q, m).

    Parameters
    ----------
    kernel : Kernel
        With a gradient, and all parameters resolved.
    X : array of shape (q, d)
    directions : array of shape (q, d)
        The velocities τ.
    points : array of shape (m, d)
        The fixed arguments z.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import directional_derivatives
    >>> from preimage.kernels import Linear
    >>> directional_derivatives(Linear(), np.array([[1.0, 1.0]]), np.array([[0.0, 2.0]]), np.array([[5.0, 3.0]]))
    array([[6.]])
    """
    kernel.require_gradient("An analytic tangent covariance")
    X, directions = to_dense(X), to_dense(directions)
    xp = array_namespace(X)
    if isinstance(kernel, ProfileKernel) and kernel.pairwise in (InnerProduct(), SquaredDistance()):
        outer = kernel.profile_derivative(kernel.pairwise.prepare(points)(X))
        inner = to_dense(directions @ points.T)
        if kernel.pairwise == SquaredDistance():
            inner = 2 * (xp.sum(X * directions, axis=1)[:, None] - inner)
        return outer * inner
    # One point at a time: as many operations as a product, and never a (q, m, d) array.
    one = xp.ones_like(X[:, :1])
    columns = [
        xp.sum(kernel.gradient(X, points[i : i + 1, :], one) * directions, axis=1) for i in range(points.shape[0])
    ]
    return xp.stack(columns, axis=1)
