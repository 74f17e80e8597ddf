"""Necessary conditions for a kernel to be an inner product in some feature space."""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import TypeGuard

import numpy as np

from preimage._engine.finite import finite_result, working_method
from preimage._engine.linalg import is_semidefinite, semidefinite_tolerance
from preimage._engine.typing import Rows
from preimage.exceptions import UnsupportedKernelError
from preimage.geometry._metric import check_geometry, metric, smallest_relative_eigenvalues
from preimage.kernels import InnerProduct, Kernel, PairwiseQuantity, ProfileKernel, SquaredDistance
from preimage.kernels._door import moderate_inputs

# Steps of the scan over s for dot-product and radial profiles: a change of sign that is narrower than a two-thousandth
# of the range may be missed. Bisections that find it within a step: 60 halve an interval to the last digit.
SCAN = 2048
BISECTIONS = 60
# Relative size from which on a negative value of a formula is no rounding error: profiles lose up to four digits.
ROUNDING = 1e-12
# Differences between k(x, y) and k(y, x), relative to the largest value, that may be rounding in single precision.
LARGEST_ASYMMETRY = 1e-5
OVERFLOW = "terms overflow on these points; scale them"


@dataclass(frozen=True)
class MercerTest:
    """One necessary condition, and how a kernel met it.

    Attributes
    ----------
    name : str
        "T1" … "T5".
    condition : str
        What has to hold.
    passed : bool or None
        None where the condition does not apply to the kernel, or cannot be computed.
    margin : float
        The smallest value of what has to be non-negative, in units of what it is compared with.
    where : object
        The first violation: a row number of X, a pair of them, a value of s, or an order; None where there is none.
    detail : str
        The same in words, or why the condition does not apply.
    """

    name: str
    condition: str
    passed: bool | None
    margin: float = float("nan")
    where: object = None
    detail: str = ""

    def __str__(self) -> str:
        word = {True: "passed", False: "FAILED", None: "—"}[self.passed]
        return f"{self.name}  {word:<6}  {self.condition}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True)
class MercerReport:
    """The outcome of all tests, printed as a table.

    Attributes
    ----------
    kernel : Kernel
    tests : tuple of MercerTest
    """

    kernel: Kernel
    tests: tuple[MercerTest, ...]

    @property
    def passed(self) -> bool:
        """Whether no test failed. That proves nothing; one failure proves that the kernel is not admissible."""
        return not self.failures

    @property
    def failures(self) -> tuple[MercerTest, ...]:
        """The tests that failed."""
        return tuple(test for test in self.tests if test.passed is False)

    def __getitem__(self, name: str) -> MercerTest:
        for test in self.tests:
            if test.name == name:
                return test
        raise KeyError(f"The tests are {', '.join(test.name for test in self.tests)}; got {name!r}.")

    def __str__(self) -> str:
        verdict = "no test failed, which proves nothing" if self.passed else "not a positive semidefinite kernel"
        return "\n".join([f"{self.kernel!r}: {verdict}", *map(str, self.tests)])


@working_method("mercer_report")
def mercer_report(kernel: Kernel, X: Rows, *, order: int = 12, max_points: int = 1000) -> MercerReport:
    r"""Look for proofs that a kernel is *not* positive semidefinite.

    ==  ===========================================================================================================
    T1  :math:`k(x, x) \ge 0` at all points
    T2  :math:`k(x, y)^2 \le k(x, x)\,k(y, y)` for all pairs
    T3  the metric is positive semidefinite: for dot products, k, k′ and :math:`k' + s k''` are non-negative for all
        :math:`0 \le s \le \max\|x\|^2`  (C14), at the points themselves for other kernels
    T4  in all dimensions at once: Taylor coefficients of :math:`k(x \cdot y)` are non-negative; profiles of the
        squared distance are completely monotone, :math:`(-1)^m f^{(m)}(s) \ge 0`
    T5  the Gram matrix is symmetric, and no eigenvalue is negative beyond half of the digits
    ==  ===========================================================================================================

    A failure of T1, T2, T3 or T5 shows that the kernel is not admissible on these inputs, or for dot products in the
    ball around them; one of T4, that it is not in spaces of many dimensions. Passing proves nothing.

    Parameters
    ----------
    kernel : Kernel
        Resolved: with a number for `gamma`.
    X : array of shape (n, d)
        Points, typical for the use of the kernel.
    order : int, default=12
        Derivatives in T4, of this order at most.
    max_points : int, default=1000
        T2, T3 (of general kernels) and T5 look at this many rows of X at most, evenly spaced.

    Returns
    -------
    MercerReport
        One entry per test, by name; its attributes are listed below.

    See Also
    --------
    preimage.kernels.Iterated : Makes a kernel of an indefinite similarity.
    preimage.exceptions.IndefiniteKernelWarning : What estimators say of such kernels.
    preimage.testing.check_kernel : Whether the code of a kernel keeps its contract.

    Examples
    --------
    The sigmoid "kernel" cannot be one where :math:`s \tanh s > \frac12`, from s = 0.772 on:

    >>> from preimage.geometry import mercer_report
    >>> from preimage.kernels import Sigmoid
    >>> report = mercer_report(Sigmoid(1.0, 0.0), [[0.1, 0.2], [1.0, 0.5]])
    >>> report.passed
    False
    >>> round(report["T3"].where, 3)
    0.772
    >>> report["T4"].where  # the order of the negative Taylor coefficient of tanh
    3
    """
    if kernel.points_are_row_numbers:
        raise TypeError("mercer_report evaluates a kernel at points; for a matrix look at numpy.linalg.eigvalsh(K).")
    if order < 1 or max_points < 1:
        raise ValueError(f"mercer_report needs order ≥ 1 and max_points ≥ 1; got {order!r} and {max_points!r}.")
    points = moderate_inputs("mercer_report", kernel, check_geometry("mercer_report", kernel, X)[0])
    rows = np.unique(np.linspace(0, len(points) - 1, min(len(points), max_points)).round().astype(int))
    K = finite_result(np.asarray(kernel(points[rows]), dtype=float), points[rows])
    asymmetry = float(np.abs(K - K.T).max())
    K = (K + K.T) / 2
    return MercerReport(
        kernel,
        (
            _lengths(kernel, points),
            _cauchy_schwarz(K, rows),
            _metric_test(kernel, points, rows),
            _all_dimensions(kernel, points, order),
            _eigenvalues(K, asymmetry),
        ),
    )


def _lengths(kernel: Kernel, X: np.ndarray) -> MercerTest:
    values = np.asarray(kernel.diagonal(X), dtype=float)
    scale = np.abs(values).max() or 1.0
    margin = float(values.min() / scale)
    bad = values < -ROUNDING * scale
    where = int(np.argmax(bad)) if bad.any() else None
    detail = "" if where is None else f"{values[where]:.4g} at point {where}"
    return MercerTest("T1", "k(x, x) ≥ 0", not bad.any(), margin, where, detail)


def _cauchy_schwarz(K: np.ndarray, rows: np.ndarray) -> MercerTest:
    bounds = np.abs(np.multiply.outer(np.diagonal(K), np.diagonal(K)))
    scale = bounds.max() or 1.0
    slack = (bounds - K**2) / scale
    # Relative to the pair, whose lengths may be far below the largest; relative to the largest where the pair itself is
    # rounding.
    bad = slack < -np.maximum(ROUNDING * bounds / scale, ROUNDING * np.finfo(float).eps)
    detail, where = "", None
    if bad.any():
        i, j = (int(index) for index in np.argwhere(bad)[0])
        where = (int(rows[i]), int(rows[j]))
        detail = f"k² = {K[i, j] ** 2:.4g} > {bounds[i, j]:.4g} for points {where[0]} and {where[1]}"
    return MercerTest("T2", "k(x, y)² ≤ k(x, x) k(y, y)", not bad.any(), float(slack.min()), where, detail)


def _metric_test(kernel: Kernel, X: np.ndarray, rows: np.ndarray) -> MercerTest:
    if _is_profile_of(kernel, InnerProduct()):
        return _dot_product_metric(kernel, X)
    condition = "metric positive semidefinite"
    try:
        smallest = smallest_relative_eigenvalues(metric(kernel, X[rows]))
    except (UnsupportedKernelError, ValueError) as error:
        return MercerTest("T3", condition, None, detail=str(error))
    bad = smallest < -semidefinite_tolerance(smallest.dtype)
    where = int(rows[np.argmax(bad)]) if bad.any() else None
    detail = "" if where is None else f"eigenvalue {smallest[np.argmax(bad)]:.4g} of the largest at point {where}"
    return MercerTest("T3", condition, not bad.any(), float(smallest.min()), where, detail)


def _dot_product_metric(kernel: ProfileKernel, X: np.ndarray) -> MercerTest:
    """(C14), scanned over s; the first change of sign is found by bisection."""
    condition = "k, k′ and k′ + s k″ ≥ 0 up to s = max‖x‖²"
    largest = float(np.einsum("ij,ij->i", X, X).max())
    try:
        kernel.profile_derivatives(np.zeros(1), 2)
    except UnsupportedKernelError as error:
        return MercerTest("T3", condition, None, detail=str(error))

    def conditions(s: np.ndarray | float) -> np.ndarray:
        value, first, second = kernel.profile_derivatives(np.atleast_1d(np.asarray(s, dtype=float)), 2)
        return np.stack([value, first, first + s * second])

    s = np.linspace(0.0, largest, SCAN + 1)
    values = conditions(s)
    if not np.isfinite(values).all():
        return MercerTest("T3", condition, None, detail=OVERFLOW)
    # Each condition relative to its own largest value: k″ may differ from k by many orders of magnitude.
    scale = np.abs(values).max(axis=1, keepdims=True)
    relative = values / np.where(scale > 0, scale, 1.0)
    bad = relative < -ROUNDING
    margin = float(relative.min())
    if not bad.any():
        return MercerTest("T3", condition, True, margin)
    step = int(np.argmax(bad.any(axis=0)))
    which = int(np.argmax(bad[:, step]))
    where = 0.0 if step == 0 else _first_negative(lambda t: conditions(t)[which, 0], s[step - 1], s[step])
    name = ("k(s)", "k′(s)", "k′(s) + s k″(s)")[which]
    return MercerTest("T3", condition, False, margin, where, f"{name} < 0 from s = {where:.4g} on")


def _first_negative(function: Callable[[float], float], lowest: float, highest: float) -> float:
    for _ in range(BISECTIONS):
        middle = (lowest + highest) / 2
        lowest, highest = (lowest, middle) if function(middle) < 0 else (middle, highest)
    return float(highest)


def _all_dimensions(kernel: Kernel, X: np.ndarray, order: int) -> MercerTest:
    dot_product = _is_profile_of(kernel, InnerProduct())
    if not dot_product and not _is_profile_of(kernel, SquaredDistance()):
        return MercerTest("T4", "all dimensions", None, detail="for kernels of x·y or ‖x − y‖² alone")
    condition = "Taylor coefficients ≥ 0" if dot_product else "(−1)ᵐ f⁽ᵐ⁾(s) ≥ 0"
    squares = np.einsum("ij,ij->i", X, X)
    largest = float(squares.max()) or 1.0
    # Distances in a ball of radius √largest reach to s = 4·largest; zero itself is left to limits.
    s = np.zeros(1) if dot_product else 4 * largest * np.arange(1, SCAN + 1) / SCAN
    try:
        derivatives = kernel.profile_derivatives(s, order)
    except UnsupportedKernelError as error:
        return MercerTest("T4", condition, None, detail=str(error))
    sign = 1 if dot_product else -1
    reach = np.float64(largest) if dot_product else s
    # Terms a_m sᵐ of the series where s is as large as it gets, in units of the largest up to this order: far from the
    # origin high orders dwarf all others, and a negative one among these still counts.
    terms = np.stack([sign**m * reach**m / factorial(m) * values for m, values in enumerate(derivatives)])
    if not np.isfinite(terms).all():
        return MercerTest("T4", condition, None, detail=OVERFLOW)
    largest_so_far = np.maximum.accumulate(np.abs(terms))
    relative = terms / np.where(largest_so_far > 0, largest_so_far, 1.0)
    bad = relative < -ROUNDING
    if not bad.any():
        return MercerTest("T4", condition, True, float(relative.min()), detail=f"up to order {order}")
    m = int(np.argmax(bad.any(axis=1)))
    value = derivatives[m][np.argmax(bad[m])]
    detail = f"{value / factorial(m) if dot_product else value:.4g} at order {m}"
    return MercerTest("T4", condition, False, float(relative.min()), m, detail)


def _eigenvalues(K: np.ndarray, asymmetry: float) -> MercerTest:
    values = np.linalg.eigvalsh(K)
    scale = np.abs(values).max() or 1.0
    margin = float(values[0] / scale)
    if asymmetry > LARGEST_ASYMMETRY * (np.abs(K).max() + asymmetry):
        detail = f"it is not symmetric: k(x, y) and k(y, x) differ by up to {asymmetry:.4g}"
        return MercerTest("T5", "eigenvalues of the Gram matrix ≥ 0", False, margin, None, detail)
    passed = is_semidefinite(values)
    detail = "" if passed else f"smallest is {values[0]:.4g}, {-margin:.2g} of the largest modulus"
    return MercerTest("T5", "eigenvalues of the Gram matrix ≥ 0", passed, margin, None, detail)


def _is_profile_of(kernel: Kernel, quantity: PairwiseQuantity) -> TypeGuard[ProfileKernel]:
    return isinstance(kernel, ProfileKernel) and kernel.pairwise == quantity
