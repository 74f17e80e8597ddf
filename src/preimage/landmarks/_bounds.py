"""What samples guarantee: the best of a few candidates, and sums over a few rows."""

import math

from preimage._finite import gives_finite_numbers


def candidates_needed(fraction: float = 0.05, confidence: float = 0.95) -> int:
    r"""How many random candidates contain one of the best `fraction` of all with the given confidence.

    The best of κ independent draws misses the top fraction q with probability :math:`(1 - q)^\kappa`, so
    :math:`\kappa = \lceil \log(1 - c) / \log(1 - q) \rceil` for confidence c; draws without replacement do better. It
    is a statement about ranks: where few candidates are far better than all others, it says little about values.

    Parameters
    ----------
    fraction : float, default=0.05
        q, the fraction of all candidates that is good enough.
    confidence : float, default=0.95
        c, the probability to draw one of them.

    Returns
    -------
    int
        κ.

    See Also
    --------
    SparseGreedy : Draws so many candidates per landmark.
    FeatureAnalysis : The same for another criterion.

    Examples
    --------
    >>> from preimage.landmarks import candidates_needed
    >>> candidates_needed()
    59
    """
    _require_fraction("fraction", fraction)
    _require_fraction("confidence", confidence)
    return math.ceil(math.log1p(-confidence) / math.log1p(-fraction))


@gives_finite_numbers()
def sampling_deviation(n_rows: int, n_sampled: int, spread: float, confidence: float = 0.95) -> float:
    r"""How much the mean of n numbers may exceed the mean of a random sample of them, without replacement.

    .. math:: \varepsilon = b \sqrt{\Bigl(1 - \frac{n' - 1}{n}\Bigr) \frac{\ln(1/\delta)}{2 n'}}

    for n′ sampled of n numbers within a range b, exceeded with probability at most δ = 1 − confidence (G12). This is
    Serfling's inequality; Hoeffding's form (G11) of the paper on sparse greedy approximation holds for independent
    draws, not for a sample of fixed numbers.

    Parameters
    ----------
    n_rows, n_sampled : int
        n ≥ n′ ≥ 1.
    spread : float
        b, the largest minus the smallest possible number; residuals of a kernel lie between 0 and max k(x, x).
    confidence : float, default=0.95
        The probability with which the bound holds.

    Returns
    -------
    float
        ε.

    See Also
    --------
    Landmarks : Has a bound of this kind on its residual trace, `residual_bound`.

    Examples
    --------
    >>> from preimage.landmarks import sampling_deviation
    >>> round(sampling_deviation(10_000, 1_000, spread=1.0), 4)
    0.0367
    """
    _require_fraction("confidence", confidence)
    if not 1 <= n_sampled <= n_rows:
        raise ValueError(
            f"sampling_deviation needs 1 ≤ n_sampled ≤ n_rows; got n_sampled={n_sampled} and n_rows={n_rows}."
        )
    if not (math.isfinite(spread) and spread >= 0):
        raise ValueError(f"sampling_deviation needs a finite spread of the numbers, from 0 on; got {spread!r}.")
    if n_sampled == n_rows:
        return 0.0  # the mean of all rows is exact; the inequality would give a positive number
    remaining = 1 - (n_sampled - 1) / n_rows
    return spread * math.sqrt(remaining * math.log(1 / (1 - confidence)) / (2 * n_sampled))


def _require_fraction(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"`{name}` must lie between 0 and 1; got {value!r}. For five per cent, give 0.05.")
