"""Regression problems."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from preimage.datasets._files import fetch_table, load


def load_abalone() -> Bunch:
    """Abalone: the number of rings of 4,177 shells from sex and seven measurements.

    Returns
    -------
    Bunch
        `X` (4177, 10) of float32, the sex as three indicators (male, female, infant) and the measurements, not scaled;
        `y` (4177,), the rings; `feature_names` (10,).

    References
    ----------
    W. Nash et al., "The population biology of abalone in Tasmania", report 48, Sea Fisheries Division, 1994.
    """
    return load("abalone", _download_abalone)


def load_boston() -> Bunch:
    """Boston housing: the median value of homes in 506 districts from 13 numbers.

    One of the numbers, B, comes from the fraction of Black inhabitants on an assumption that deserves no trust. The set
    is here to compare with published results; do not draw conclusions about housing from it.

    Returns
    -------
    Bunch
        `X` (506, 13) of float64, not scaled; `y` (506,), the value in thousands of dollars; `feature_names` (13,).

    References
    ----------
    D. Harrison, D. Rubinfeld, "Hedonic prices and the demand for clean air", Journal of Environmental Economics and
    Management 5, 1978.
    """
    return load("boston_housing", _download_boston)


def _download_abalone() -> dict[str, Any]:
    columns, rings = fetch_table(183)
    sex = columns.pop("Sex")
    X = np.column_stack([*(sex == each for each in "MFI"), *columns.values()])
    names = [*(f"sex_{each}" for each in "MFI"), *(name.lower() for name in columns)]
    return Bunch(X=X.astype(np.float32), y=rings.astype(np.uint8), feature_names=np.asarray(names))


def _download_boston() -> dict[str, Any]:
    columns, value = fetch_table(531)
    X = np.column_stack([column.astype(np.float64) for column in columns.values()])
    return Bunch(X=X, y=value.astype(np.float64), feature_names=np.asarray(list(columns)))
