"""Reduced sets: the same vectors of feature space with fewer points."""

from preimage.reduced_sets._construction import Construct
from preimage.reduced_sets._l1_selection import SelectL1
from preimage.reduced_sets._names import REDUCERS, as_reducer
from preimage.reduced_sets._reducer import (
    NestedReducer,
    Reducer,
    Reduction,
    ReductionPath,
    project,
    relative_error,
    squared_error,
)
from preimage.reduced_sets._refinement import Distill, Refine
from preimage.reduced_sets._selection import Select

__all__ = [
    "Construct",
    "Distill",
    "NestedReducer",
    "Reducer",
    "Reduction",
    "Refine",
    "Select",
    "SelectL1",
    "relative_error",
]
