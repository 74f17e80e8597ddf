"""How much of the variance of targets predictions explain."""

import numpy as np
from sklearn.metrics import r2_score


def determination(who: str, expected: np.ndarray, found: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The coefficient R² of predictions for targets of any size; where it is no number, an error names `who`."""
    if found.shape[0] < 2:
        raise ValueError(
            f"{who} needs two rows at least, as R² compares errors with those of their mean; got {found.shape[0]}. "
            "`predict` answers for one."
        )
    # R² has no unit. In that of the targets their squares are numbers, however large they are.
    unit = float(np.max(np.abs(expected))) or 1.0
    score = float(r2_score(expected / unit, found / unit, sample_weight=weights))
    if not np.isfinite(score):
        raise ValueError(
            f"{who} leaves the range of numbers: predictions are up to {np.max(np.abs(found)):.2g} for targets up to "
            f"{unit:.2g}."
        )
    return score
