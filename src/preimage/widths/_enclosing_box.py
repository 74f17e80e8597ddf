"""The box around images along their principal axes, and covering numbers of linear functions on it."""

from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np

from preimage._engine.arrays import as_points, in_double, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import eigh_descending, no_variance, numerical_rank, require_semidefinite
from preimage._engine.memory import require_square_matrices
from preimage._engine.typing import Rows
from preimage.kernels import Kernel

# Matrices of all pairs of rows that are held at once: values, eigenvectors, work space of LAPACK, coordinates, squares.
MATRICES = 6
# Cut-offs that are tried, spread evenly in their logarithm: neighbours differ by a few per cent where there are more.
MOST_CUTOFFS = 200
# Constants of the bound for a ball (Zhang 2002, theorem 4), which holds in any number of dimensions.
BALL_FACTOR, BALL_STEPS = 36.0, 4.0


@dataclass(frozen=True)
class Covering:
    """Bounds on the logarithm of a covering number.

    Attributes
    ----------
    log_number : float
        ln N for the box: functions on the rows lie within the scale of one of N of them, at every row.
    cutoff : int
        Axes that count at this scale; along the others all functions agree up to it. Zero where one function suffices.
    log_number_of_ball : float
        The same without the lengths of the sides: from the radius and the number of dimensions alone.
    """

    log_number: float
    cutoff: int
    log_number_of_ball: float


@dataclass(frozen=True)
class EnclosingBox:
    """The box with its middle at the mean of the images and edges along their principal axes.

    Attributes
    ----------
    sides : array of shape (q,)
        Half side lengths, descending: the largest modulus of a coordinate along each axis.
    variances : array of shape (q,)
        Variances along the same axes.
    radii : array of shape (q,)
        Entry m − 1 is the longest image after the first m axes were divided by their sides and all others by the side
        of the m-th: the radius of the ball that contains the stretched box of data.
    radius : float
        The longest image, measured from the mean.
    n_points : int
    """

    sides: np.ndarray
    variances: np.ndarray
    radii: np.ndarray
    radius: float
    n_points: int

    def covering(self, norm: float, scale: float) -> Covering:
        r"""How many functions :math:`x \mapsto \langle w, \varphi(x) - \bar\varphi\rangle`, ‖w‖ ≤ `norm`, differ.

        Bounds the number of functions so that every one of the class is within `scale` of one of them at all rows.
        Stretching data by a diagonal A and w by :math:`A^{-1}` changes no value. With the first m axes divided by
        their sides :math:`s_j`, the others by :math:`s_m`, the data lie in a ball of radius :math:`R_m` and the weights
        in an ellipsoid with half axes :math:`e_j = \|w\| s_{\min(j, m)}`. Values change by at most :math:`R_m` times
        the weights, so balls of radius :math:`\delta = \varepsilon / R_m` have to cover the ellipsoid. Where
        :math:`e_m < \delta`, axes beyond m are covered by :math:`\delta'^2 = \delta^2 - e_m^2`, and comparing volumes
        for the others gives

        .. math:: \ln N \le \sum_{j \le m} \tfrac12 \ln\bigl(2 + 8 e_j^2 / \delta'^2\bigr),

        of which the smallest over m is taken, also without stretching  (K20).

        Parameters
        ----------
        norm : float > 0
            Largest length of w.
        scale : float > 0
            ε in units of function values. Bounds for classifiers of margin one use a half.

        Returns
        -------
        Covering
        """
        if not (np.isfinite(norm) and norm > 0 and np.isfinite(scale) and scale > 0):
            raise ValueError(f"A covering needs a positive norm and scale; got norm={norm!r} and scale={scale!r}.")
        if norm * self.radius <= scale:  # the zero function is within the scale of all
            return Covering(0.0, 0, 0.0)
        q = self.sides.size
        flat = q * _log_volume(np.array([norm]), scale / self.radius)
        ball = min(flat, self._dimension_free(norm, scale))
        best, cutoff = min((self._stretched(m, norm, scale), m) for m in _cutoffs(q))
        return Covering(best, cutoff, ball) if best < ball else Covering(ball, q, ball)

    def _stretched(self, m: int, norm: float, scale: float) -> float:
        """ln N where the first m axes are divided by their sides; infinite where the others exceed the scale."""
        delta, axes = scale / self.radii[m - 1], norm * self.sides[:m]
        if m < self.sides.size:
            if axes[-1] >= delta:
                return inf
            delta = delta * np.sqrt(1 - (axes[-1] / delta) ** 2)
        return _log_volume(axes, delta) if delta > 0 else inf

    def _dimension_free(self, norm: float, scale: float) -> float:
        ratio = norm * self.radius / scale
        return BALL_FACTOR * ratio**2 * log(2 * ceil(BALL_STEPS * ratio + 2) * self.n_points + 1)


@gives_finite_numbers()
def enclosing_box(kernel: Kernel, X: Rows) -> EnclosingBox:
    r"""The box in feature space around the images of the rows of X, with edges along their principal axes.

    Mercer's theorem puts images into a box with half sides :math:`C\sqrt{\lambda_j}`, which fall as fast as the
    eigenvalues of the kernel [1]_. Here the sides are measured: :math:`s_j = \max_i |\beta_j(x_i)|` with the
    coordinates of kernel PCA. A ball that contains the box is much larger than it, and there are many more functions on
    it: see `EnclosingBox.covering`.

    Parameters
    ----------
    kernel : Kernel
        With all parameters resolved, and positive semidefinite on differences of images.
    X : array or sparse matrix of shape (n, d)
        Two different rows at least.

    Returns
    -------
    EnclosingBox
        Half sides along the principal axes, and `covering`.

    See Also
    --------
    enclosing_ball : The smallest ball.
    preimage.model_selection.capacity_report : Coverings of the functions of a machine.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999, section II-D.

    Examples
    --------
    The wider the kernel, the flatter the box:

    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.widths import enclosing_box
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> for gamma in (0.01, 0.1, 1.0):
    ...     sides = enclosing_box(Gaussian(gamma), X).sides
    ...     print(f"{sides[0]:.2f} {sides[5] / sides[0]:.3f}")
    0.32 0.020
    0.68 0.197
    0.70 0.810
    """
    X = in_double(as_points(X))
    advice = "Give some of the rows: two thousand, for instance."
    require_square_matrices("A box around images", X.shape[0], MATRICES, X, advice)
    gram = to_numpy(kernel(X))
    means = gram.mean(axis=0)
    centered = gram - means - means[:, None] + means.mean()
    centered = (centered + centered.T) / 2
    advice = "Without one, lengths have no meaning. Iterated(kernel) is positive semidefinite."
    require_semidefinite(kernel, centered, "enclosing_box", advice)
    values, vectors = eigh_descending(centered)
    rank = numerical_rank(values, X.shape[0], scale=float(np.max(np.abs(np.diagonal(gram)))))
    if rank == 0:
        raise no_variance(kernel)
    return _box(vectors[:, :rank] * np.sqrt(values[:rank]))


def _box(coordinates: np.ndarray) -> EnclosingBox:
    """The box of centred coordinates along the axes, shape (n, q)."""
    sides = np.abs(coordinates).max(axis=0)
    order = np.argsort(-sides, kind="stable")
    sides, squares = sides[order], coordinates[:, order] ** 2
    lengths = squares.sum(axis=1)
    inside = np.cumsum(squares, axis=1)
    # Row i, column m − 1: Σ_{j ≤ m} (β_ij/s_j)² + Σ_{j > m} (β_ij/s_m)². Differences of sums may round below zero.
    outside = np.maximum(lengths[:, None] - inside, 0) / sides**2
    outside[:, -1] = 0
    radii = np.sqrt((np.cumsum(squares / sides**2, axis=1) + outside).max(axis=0))
    return EnclosingBox(sides, squares.mean(axis=0), radii, float(np.sqrt(lengths.max())), len(coordinates))


def _cutoffs(q: int) -> list[int]:
    """Numbers of axes to try, one at least, q among them."""
    if q <= MOST_CUTOFFS:
        return list(range(1, q + 1))
    return sorted({round(number) for number in np.geomspace(1, q, MOST_CUTOFFS).tolist()})


def _log_volume(axes: np.ndarray, delta: float) -> float:
    """ln of how many balls of radius δ cover an ellipsoid: a packing with half of it fits into the sum of both.

    The sum of the ellipsoid and a ball of radius r is inside the ellipsoid with the half axes √2·√(e² + r²), because
    (‖Eu‖ + r‖u‖)² ≤ 2‖Eu‖² + 2r²‖u‖².
    """
    return float(0.5 * np.sum(np.log(2 + 8 * (axes / delta) ** 2)))
