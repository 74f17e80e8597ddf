"""Names for the types of public signatures."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

# Any array of the array API standard (NumPy, torch, CuPy, ...). The standard has no common base class, so type
# checkers cannot say more than this name says to readers.
Array: TypeAlias = Any
# What public methods accept as rows of data: arrays, sparse matrices, frames, Dask arrays, nested lists.
Rows: TypeAlias = Any
# What public methods accept as labels, targets or weights: one value per row.
Targets: TypeAlias = Any
# What `random_state` accepts.
Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
# One fold after the other: row numbers to learn from and row numbers to judge by.
Folds: TypeAlias = Sequence[tuple[Array, Array]]
