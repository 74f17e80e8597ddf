"""Radar returns from the ionosphere."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from preimage.datasets._files import fetch_table, load


def load_ionosphere() -> Bunch:
    """Ionosphere: 351 radar returns of 34 values, good (+1) or bad (−1). The second column is constant.

    Returns
    -------
    Bunch
        `X` (351, 34) of float32; `y` (351,), −1 or +1.

    References
    ----------
    V. Sigillito et al., "Classification of radar returns from the ionosphere using neural networks", Johns Hopkins APL
    Technical Digest 10, 1989.
    """
    return load("ionosphere", _download)


def _download() -> dict[str, Any]:
    columns, label = fetch_table(59)
    X = np.column_stack(list(columns.values())).astype(np.float32)
    return Bunch(X=X, y=np.where(label == "g", 1, -1).astype(np.int8))
