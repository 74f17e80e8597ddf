"""Sets that OpenML has, in the form of the data files."""

from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml


def fetch_images(data_id: int) -> Any:
    """Rows of pixels and their numeric labels."""
    images = _fetch(data_id)
    return images.data, images.target.astype(np.int64)


def fetch_table(data_id: int) -> Any:
    """A dictionary of columns, categories as OpenML spells them, and the target."""
    table = _fetch(data_id)
    columns = dict(zip(table.feature_names, table.data.T))
    for name, categories in table.categories.items():
        columns[name] = np.asarray(categories)[columns[name].astype(np.intp)]
    return columns, table.target


def _fetch(data_id: int) -> Any:
    # scikit-learn keeps the file, so only the first call downloads it. Its own parser takes seconds where that of
    # pandas takes one, but it needs no pandas, and it tells which category a code stands for.
    return fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
