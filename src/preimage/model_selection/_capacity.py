"""Radius, margin and capacity of fitted kernel machines."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from preimage._engine.arrays import to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Rows, Targets
from preimage._models.machines import Output
from preimage.exceptions import UnsupportedKernelError
from preimage.inflation._renormalized import without_correction
from preimage.interop import machine_of
from preimage.interop._pipeline import taken_apart, transformed
from preimage.widths import enclosing_ball, enclosing_box
from preimage.widths._enclosing import Ball, Covering, EnclosingBox

# Functions that a printed report shows; more, as pairs of many classes, are summed up by their range.
MOST_SHOWN = 10


@dataclass(frozen=True)
class CapacityReport:
    """What `capacity_report` measured; print it.

    Attributes
    ----------
    ball : Ball
        The smallest ball around the images of the rows; `ball.radius` is R.
    box : EnclosingBox
        The box around them along principal axes.
    dimension : int
        Dimensions of the span of the images, measured from their mean.
    norms : array of shape (k,)
        ‖w‖ of each function.
    smallest_margins : array of shape (k,) or None
        With labels: the smallest distance of a row to the boundary, negative where one is on the wrong side; zero for a
        constant function.
    vc_dimensions : integer array of shape (k,)
        The bound min(⌈R²‖w‖²⌉, dimension) + 1 on the Vapnik–Chervonenkis dimension of functions with these norms on
        data of this radius  (K18).
    coverings : tuple of k Coverings
        Bounds on covering numbers at `scale`, and the number of axes that count.
    scale : float
    """

    ball: Ball
    box: EnclosingBox
    dimension: int
    norms: np.ndarray
    smallest_margins: np.ndarray | None
    vc_dimensions: np.ndarray
    coverings: tuple[Covering, ...]
    scale: float

    @property
    def margins(self) -> np.ndarray:
        """1/‖w‖, the distance in feature space between values zero and one; infinite for a constant function."""
        with np.errstate(divide="ignore"):
            return 1 / self.norms

    def __str__(self) -> str:
        head = [
            f"{self.box.n_points} rows in feature space: smallest ball of radius {self.ball.radius:.4g}, "
            f"{self.dimension} dimensions, half sides of the box {_some(self.box.sides)}",
            f"{'':12}{'‖w‖':>10}{'margin':>10}{'smallest':>10}{'VC bound':>10}{'axes':>6}{'ln N':>10}{'of ball':>10}",
        ]
        lines = [self._line(number) for number in range(min(len(self.norms), MOST_SHOWN))]
        if len(self.norms) > MOST_SHOWN:
            lines.append(f"… and {len(self.norms) - MOST_SHOWN} more, VC bounds up to {self.vc_dimensions.max()}")
        return "\n".join([*head, *lines, f"N functions come within {self.scale:g} of all others at every row."])

    def _line(self, number: int) -> str:
        covering = self.coverings[number]
        smallest = "" if self.smallest_margins is None else f"{self.smallest_margins[number]:.3g}"
        return (
            f"function {number:<3}{self.norms[number]:>10.4g}{self.margins[number]:>10.3g}{smallest:>10}"
            f"{self.vc_dimensions[number]:>10}{covering.cutoff:>6}{covering.log_number:>10.4g}"
            f"{covering.log_number_of_ball:>10.4g}"
        )


@gives_finite_numbers()
def capacity_report(estimator: Any, X: Rows, y: Targets = None, *, scale: float = 0.5) -> CapacityReport:
    r"""Radius of the data, margins of a kernel machine, and between how many functions its fit had to choose.

    The Vapnik–Chervonenkis dimension of functions with weights of length at most ‖w‖, on data in a ball of radius R, is
    bounded by

    .. math:: h \le \min(\lceil R^2 \|w\|^2 \rceil, \dim) + 1.

    The bound treats the ball as if data filled it. They fill a box whose sides fall with the eigenvalues of the kernel,
    so functions differ along a few axes only [1]_: the logarithm of the covering number counts them, with the lengths
    of the sides and without. Both are bounds, not estimates of errors; they are for comparing kernels and widths on the
    same rows, where smaller is simpler.

    Parameters
    ----------
    estimator : fitted kernel machine
        SVC, SVR, KernelRidge, KernelFisherDiscriminant and others that `compress` takes, and pipelines that end in one.
        Values ±1 are taken to be its margin, as they are of support vector machines.
    X : array or sparse matrix of shape (n, d)
        The training rows.
    y : array of shape (n,), optional
        Class labels, for `smallest_margins`.
    scale : float, default=0.5
        Differences of function values that do not count. Bounds for classifiers of margin one use a half.

    Returns
    -------
    CapacityReport
        Its attributes are listed below.

    See Also
    --------
    preimage.widths.enclosing_ball : The ball alone.
    WidthSearch : Chooses a width by class means.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999, section II-D.

    Examples
    --------
    A narrower kernel has more capacity:

    >>> from sklearn.datasets import make_circles
    >>> from sklearn.svm import SVC
    >>> from preimage.model_selection import capacity_report
    >>> X, y = make_circles(100, factor=0.4, noise=0.1, random_state=0)
    >>> for gamma in (0.1, 1, 10, 100):
    ...     report = capacity_report(SVC(gamma=gamma, C=100).fit(X, y), X, y)
    ...     print(f"{report.ball.radius:.2f} {report.coverings[0].cutoff} {report.coverings[0].log_number:.0f}")
    0.49 12 37
    0.86 29 75
    0.97 87 221
    0.99 99 373
    """
    if not isinstance(scale, Real) or isinstance(scale, bool) or not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"capacity_report needs a positive scale of function values; got {scale!r}.")
    check_consistent_length(X, y)
    steps, last = taken_apart(estimator, without_correction)
    machine = machine_of(last)
    if machine.expansion.kernel.points_are_row_numbers:
        raise UnsupportedKernelError(
            "capacity_report needs the kernel itself: a precomputed one has no values among the rows of X. Fit the "
            "model with the kernel and the inputs, or call enclosing_ball(Precomputed(), K) on its matrix."
        )
    Z = check_array(transformed(steps, X), dtype=np.float64, accept_sparse="csr", ensure_min_samples=2)
    functions = machine.expansion[: machine.output.n_functions]
    norms = np.sqrt(np.maximum(to_numpy(functions.squared_norms()).astype(float), 0))
    ball, box = enclosing_ball(functions.kernel, Z), enclosing_box(functions.kernel, Z)
    dimension = box.sides.size
    signs = None if y is None else _signs(machine.output, y)
    smallest = None if signs is None else _smallest(signs, to_numpy(machine(Z))[:, : len(norms)], norms)
    bounds = np.minimum(np.ceil(ball.squared_radius * norms**2), dimension).astype(int) + 1
    coverings = tuple(box.covering(norm, scale) if norm > 0 else Covering(0.0, 0, 0.0) for norm in norms.tolist())
    return CapacityReport(ball, box, dimension, norms, smallest, bounds, coverings, float(scale))


def _signs(output: Output, y: Targets) -> np.ndarray | None:
    """The signs that functions should have, of labels that a classifier knows."""
    classes, labels = getattr(output, "classes", None), np.asarray(y)
    if classes is not None and labels.ndim == 1 and not np.all(np.isin(labels, classes)):
        raise ValueError(
            f"capacity_report needs labels that the machine has learnt, {np.asarray(classes).tolist()!s:.100}; y has "
            f"{np.setdiff1d(labels, classes).tolist()!s:.100} too."
        )
    return output.signs(y)


def _smallest(signs: np.ndarray, values: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """The smallest signed distance of a row that a function should tell apart; zero where there is none."""
    smallest = np.where(signs == 0, np.inf, signs * values).min(axis=0)
    told = (norms > 0) & np.isfinite(smallest)
    return np.where(told, smallest, 0.0) / np.where(told, norms, 1.0)


def _some(sides: np.ndarray) -> str:
    shown = ", ".join(f"{side:.3g}" for side in sides[:4])
    return shown if sides.size <= 4 else f"{shown}, … {sides[-1]:.2g}"
