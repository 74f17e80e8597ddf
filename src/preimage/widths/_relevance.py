"""Widths of single columns, learned from targets: those that do not help get the weight zero."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from preimage._engine.progress import stage
from preimage._engine.warnings import unwarned
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Kernel
from preimage.kernels._bandwidth import RELEVANCE
from preimage.widths._evidence import Evidence

# Rows from which widths are learned: an evaluation of the evidence takes a fifth of a second, ten times more rows take
# five hundred times longer. On 500 rows of Abalone the weights leave 1 % more of the variance unexplained.
MOST_ROWS = 1500
# Rows times rows times columns at most, the operations of a gradient: with 784 columns 750 rows.
MOST_OPERATIONS = 4.5e8
# Rows on which descents from several starts are compared; the best goes on with all rows.
SCREENING_ROWS = 500
# Sums of weights of standardised columns where descents start: wide and narrow kernels. Half of the mean squared
# distance of rows is the sum, so kernel values are about 0.6 and 0.0003.
WIDE, NARROW = 0.25, 4.0
# Iterations of a descent on few rows, on all rows, and after columns were dropped.
SCREENING_STEPS, STEPS, LAST_STEPS = 40, 25, 10
# Bounds on weights of standardised columns and on the ridge: far beyond what data decide, and far within the range in
# which matrices of 1,500 rows have a factor.
WEIGHTS, RIDGES = (1e-9, 1e6), (1e-6, 1e4)
FIRST_RIDGE = 0.1
# Standard deviations below this fraction of the largest entry are rounding errors: a hundred times those of a mean.
ROUNDING = 1e-12
# A column stays if it raises the logarithm of the evidence by this much, as Akaike's criterion asks of a parameter.
PRICE = 1.0


@dataclass(frozen=True)
class Widths:
    """Widths of columns, and what the columns matter with them.

    Attributes
    ----------
    gammas : array of shape (d,)
        γ of every column.
    shares : array of shape (d,)
        Mean squared derivatives of the fitted functions, in units of the standard deviations of columns, with the sum
        one.
    """

    gammas: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True)
class Relevance:
    """Widths learned from targets, all by the same criterion.

    Attributes
    ----------
    one : Widths
        One γ for all columns.
    standardized : Widths
        One γ for all columns divided by their standard deviations; zero for constant ones.
    per_column : Widths
        A γ for each column, zero for those that do not help.
    """

    one: Widths
    standardized: Widths
    per_column: Widths


def rows_for(d: int) -> int:
    """Rows from which widths of d columns are learned."""
    return int(min(MOST_ROWS, max((MOST_OPERATIONS / d) ** 0.5, 100)))


def varying_columns(X: np.ndarray) -> np.ndarray:
    """Which columns are not constant, or nearly so; boolean array of shape (d,)."""
    return np.std(X, axis=0) > ROUNDING * np.max(np.abs(X), axis=0, initial=0.0)


def require_relevance(kernel: Kernel) -> None:
    """Raise for kernels that have no widths per column, or of which only a part would have."""
    own = getattr(kernel, "gamma", None)
    if not (isinstance(own, str) and own == RELEVANCE):
        raise UnsupportedKernelError(
            f"gamma={RELEVANCE!r} learns the widths of a whole kernel, such as Gaussian({RELEVANCE!r}); in {kernel!r} "
            "a part of it has it. Learn the weights with that part alone, and give it to the combination: "
            "`SparseGreedyRegressor(gamma='relevance').fit(X, y).kernel_`."
        )
    if not (kernel.is_radial and kernel.is_positive_semidefinite):
        raise UnsupportedKernelError(
            f"gamma={RELEVANCE!r} learns a weight for each column of squared distances, and needs a positive "
            f"semidefinite kernel of the squared distance: Gaussian, Matern, RationalQuadratic, InverseMultiquadric or "
            f"Student; got {kernel!r}. Give gamma as a number, or the rule 'median'."
        )


def with_gamma(kernel: Kernel, gamma: float) -> Kernel:
    """The kernel with a number in place of the rule."""
    return kernel.rebuilt(lambda part: part, lambda name, value: gamma if value == RELEVANCE else value)


@unwarned()
def learn_relevance(
    kernel: Kernel, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, start: np.ndarray | None = None
) -> Relevance:
    """Widths of columns with the largest evidence  (K21), on rows in a random order.

    Descends in the logarithms of weights and ridge from a wide kernel, a narrow one, and the best kernels with one
    width, or from the widths `start` where they are given; drops columns that do not raise the evidence enough.

    Parameters
    ----------
    kernel : Kernel
        With ``gamma="relevance"``, as `require_relevance` wants it.
    X : array of shape (n, d)
        Of which one of `varying_columns` at least.
    Y : array of shape (n, k)
        Targets that are not constant.
    weights : array of shape (n,)
        Of rows, positive.
    start : array of shape (d,), optional
        Widths that were found before.
    """
    scales, varies = np.std(X, axis=0), varying_columns(X)
    squares = scales[varies] ** 2
    evidence = Evidence(
        with_gamma(kernel, 1.0),
        (X[:, varies] - np.mean(X[:, varies], axis=0)) / scales[varies],
        (Y - np.mean(Y, axis=0)) / np.std(Y, axis=0),
        np.mean(weights) / weights,
    )
    d, few = squares.size, evidence.rows(SCREENING_ROWS)
    at = lambda total, direction: (np.full(d, total / d) * direction, FIRST_RIDGE)
    with stage("Learning widths of columns", 6) as advance:
        simple = []
        # Columns of one width have weights in proportion to their variances.
        for direction in (squares / np.mean(squares), np.ones(d)):
            tried = [_descend(few, *at(total, direction), SCREENING_STEPS, shared=True) for total in (WIDE, NARROW)]
            simple.append(min(tried, key=_value)[:2])
            advance()
        starts = [at(WIDE, np.ones(d)), at(NARROW, np.ones(d)), *simple]
        if start is not None:
            starts = [(np.maximum(start[varies] * squares, WEIGHTS[0]), simple[1][1])]
        best = min((_descend(few, *each, SCREENING_STEPS) for each in starts), key=_value)
        advance()
        best = _descend(evidence, *best[:2], STEPS)
        advance()
        simple = [_descend(evidence, *each, LAST_STEPS, shared=True)[:2] for each in simple]
        advance()
        columns = _without_idle(evidence, *best)
        advance()

    def widths(columns: np.ndarray, ridge: float) -> Widths:
        gammas, shares = np.zeros((2, X.shape[1]))
        gammas[varies], shares[varies] = columns / squares, _shares(evidence, columns, ridge)
        return Widths(gammas, shares)

    one, standardized, per_column = (widths(*each) for each in (*simple, columns))
    return Relevance(Widths(np.full(X.shape[1], np.max(one.gammas)), one.shares), standardized, per_column)


def _value(found: tuple[np.ndarray, float, float]) -> float:
    return found[2]


def _descend(
    evidence: Evidence, weights: np.ndarray, ridge: float, steps: int, *, shared: bool = False
) -> tuple[np.ndarray, float, float]:
    """Weights, ridge and evidence after a descent in their logarithms; `shared` keeps the ratios of weights."""
    weights = np.clip(weights, *WEIGHTS)
    first = 0.0 if shared else np.log(weights)
    of = lambda place: (weights * np.exp(place[:-1]) if shared else np.exp(place[:-1]), float(np.exp(place[-1])))

    def objective(place: np.ndarray) -> tuple[float, np.ndarray]:
        columns, noise = of(place)
        value, by_weights, by_ridge = evidence.with_gradient(columns, noise)
        by_logarithm = by_weights * columns
        along = [np.sum(by_logarithm)] if shared else by_logarithm
        return value, np.append(along, by_ridge * noise)

    low, high = np.log(WEIGHTS)
    most = (low - np.log(weights).min(), high - np.log(weights).max()) if shared else (low, high)
    bounds = [(min(most), max(most))] * (1 if shared else weights.size) + [tuple(np.log(RIDGES))]
    start = np.append(first, np.clip(np.log(ridge), *np.log(RIDGES)))
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
    return *of(found.x), float(found.fun)


def _without_idle(evidence: Evidence, weights: np.ndarray, ridge: float, value: float) -> tuple[np.ndarray, float]:
    """Weights and ridge without the columns whose weights the evidence does not pay for."""
    n, k = evidence.Y.shape
    order = np.argsort(weights, kind="stable")

    def is_idle(count: int) -> bool:
        rest = order[count:]
        return n * k / 2 * (evidence.columns(rest).at(weights[rest], ridge) - value) <= PRICE * count

    count = _last(is_idle, weights.size - 1)
    if count == 0:
        return weights, ridge
    kept = np.sort(order[count:])
    some, ridge, _ = _descend(evidence.columns(kept), weights[kept], ridge, LAST_STEPS)
    found = np.zeros(weights.size)
    found[kept] = some
    return found, ridge


def _last(holds: Callable[[int], bool], most: int) -> int:
    """The largest number up to `most` for which a condition holds, by bisection: it holds for 0, and up to some one."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _shares(evidence: Evidence, weights: np.ndarray, ridge: float) -> np.ndarray:
    squares = evidence.squared_gradients(weights, ridge)
    total = float(np.sum(squares))
    return squares / total if total > 0 else np.full(weights.size, 1 / weights.size)
