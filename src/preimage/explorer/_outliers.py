"""Values without their outliers, for scales on which the rest is to be seen."""

import numpy as np

# Values farther from the middle half of their column than so many times its width are outliers: the outer fences of box
# plots, which one of half a million normal values is beyond.
FENCE = 3.0


def within_fences(X: np.ndarray) -> np.ndarray:
    """X with outliers of each column moved to the fences; NaN stays."""
    known = np.where(np.isnan(X).all(axis=0), 0.0, X)
    low, high = np.nanquantile(known, [0.25, 0.75], axis=0)
    # Columns that are mostly one number have no such middle half: their other values are what one looks for.
    reach = np.where(high > low, FENCE * (high - low), np.inf)
    return np.clip(X, low - reach, high + reach)
