"""Which decisions are better? Smoothed shares of right ones in every class, and the error of their differences."""

import numpy as np
from scipy.special import ndtr

# Bandwidth of smoothed shares: Silverman's, for normal data.
BANDWIDTH = 1.06


def predicted_codes(values):
    """Places of the classes that decisions name, shape (n,); `values` as in `margins_of`."""
    return (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)


def recall_mean(codes, predicted):
    """Geometric mean of the shares of the classes that are named right.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.calibration import recall_mean
    >>> recall_mean(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])) ** 2
    0.6666
    """
    recalls = [float(np.mean(predicted[codes == code] == code)) for code in np.unique(codes)]
    return float(np.prod(recalls) ** (1 / len(recalls)))


def margins_of(values, codes):
    """By how much decisions are right: shape (n,), negative where they are wrong.

    Parameters
    ----------
    values : array of shape (n, k)
        One column for two classes, positive for the second; else one a class, the largest of which wins.
    codes : integer array of shape (n,)
    """
    if values.shape[1] == 1:
        return np.where(codes == 1, values[:, 0], -values[:, 0])
    rows = np.arange(len(codes))
    others = values.copy()
    others[rows, codes] = -np.inf
    return values[rows, codes] - others.max(axis=1)


def compare_decisions(candidates, baseline, codes, weights=None):
    r"""Gains in the geometric mean of the classes' recalls, and their standard errors.

    Counts of right decisions are coarse in small classes. The recall of a class is smoothed here,
    :math:`r_k = \operatorname{mean} \Phi(m_i / h_k)` over its margins m, with the bandwidth of a kernel estimate of
    their distribution: how far from the threshold decisions fall matters as well as on which side. The standard error
    of :math:`G - G_0`, :math:`G = \prod_k r_k^{1/K}`, is that of its linearisation: differences are between decisions
    on the same rows.

    Parameters
    ----------
    candidates : dict of arrays of shape (n,)
        Margins, by name; see `margins_of`.
    baseline : array of shape (n,)
        Margins of what they are compared with.
    codes : integer array of shape (n,)
        Classes.
    weights : array of shape (n,), optional

    Returns
    -------
    dict of (gain, standard error), by name

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.calibration import compare_decisions
    >>> codes = np.repeat([0, 1], 20)
    >>> missed = np.where(codes == 1, -1.0, 3.0) + np.tile(np.linspace(-1.5, 1.5, 20), 2)
    >>> balanced = missed + np.where(codes == 1, 2, -2)
    >>> gain, error = compare_decisions({"balanced": balanced}, missed, codes)["balanced"]
    >>> gain > 2 * error > 0
    True
    """
    present = np.unique(codes)
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    base, base_influence = _geometric_mean(baseline, codes, present, weights)
    out = {}
    for name, margins in candidates.items():
        mean, influence = _geometric_mean(margins, codes, present, weights)
        variance = 0.0
        for code in present:
            rows = codes == code
            share = weights[rows] / weights[rows].sum()
            difference = (influence - base_influence)[rows]
            variance += share**2 @ (difference - share @ difference) ** 2
        out[name] = (float(mean - base), float(np.sqrt(variance)))
    return out


def _geometric_mean(margins, codes, present, weights):
    """Of smoothed recalls, and how much each row's share of being right counts in it."""
    right = np.empty(len(codes))
    recalls = np.empty(len(present))
    for k, code in enumerate(present):
        rows = codes == code
        right[rows] = _smoothed(margins[rows])
        recalls[k] = weights[rows] @ right[rows] / weights[rows].sum()
    recalls = np.maximum(recalls, np.finfo(float).tiny)
    mean = np.exp(np.log(recalls).mean())
    slopes = mean / (len(present) * recalls)
    return mean, slopes[np.searchsorted(present, codes)] * right


def _smoothed(margins):
    margins = margins / (np.abs(margins).max() or 1.0)  # squares of the largest numbers would overflow
    low, high = np.percentile(margins, [25, 75])
    deviation = margins.std()
    spread = min(deviation, (high - low) / 1.349) or deviation
    if spread == 0:
        return (margins > 0).astype(float)
    return ndtr(margins / (BANDWIDTH * spread * len(margins) ** -0.2))
