"""Check samples of real numbers at the door of this package."""

import numpy as np


def check_sample(caller, name, values, least=0):
    """Values as a float64 array of one dimension: finite, and at least so many."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{caller} needs `{name}` of shape (n,); got shape {values.shape}.")
    if values.size < least:
        raise ValueError(f"{caller} needs at least {least} value(s) in `{name}`; got {values.size}.")
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).sum())
        raise ValueError(f"{caller} needs finite numbers; {count} of {values.size} in `{name}` are NaN or infinite.")
    return values


def check_pairs(caller, x, y):
    """Two samples of equal size, at least one pair."""
    x, y = check_sample(caller, "x", x, least=1), check_sample(caller, "y", y, least=1)
    if x.size != y.size:
        raise ValueError(f"{caller} needs as many y as x; got {x.size} of x and {y.size} of y.")
    return x, y
