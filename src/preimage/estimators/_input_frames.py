"""Results of estimators as data frames, where `set_output` asks for them.

scikit-learn makes frames of what `transform` returns. This file does so for rows that are inputs again, and gives them
the names and types of the columns of inputs.
"""

from typing import Any

import numpy as np

from preimage._engine.frames import as_completed_frame, as_frame, floating_types, frame_library
from preimage._engine.typing import Rows
from preimage._engine.validation import feature_names_in, output_library

# Methods whose results have the columns of the inputs and whose rows are those of the first argument, and such methods
# whose rows belong to none.
ROW_BY_ROW = frozenset({"denoise", "impute", "inverse_transform"})
IN_INPUT_SPACE = ROW_BY_ROW | {"navigate", "component_preimages", "component_images", "cluster_preimages"}
# Methods of which scikit-learn makes frames, also where one method of this library calls another.
WRAPPED = frozenset({"transform", "fit_transform"})
# Types of columns that arrays have as well: a model of such columns need not remember them.
OF_ARRAYS = ({"float64"}, {"float32"})


def remember_types(model: Any, rows: Rows) -> None:
    """Store the types of the columns that a model was fitted to, where they are not those of an array."""
    types = floating_types(rows)
    if types and set(types) not in OF_ARRAYS:
        model._column_types = types
    else:
        vars(model).pop("_column_types", None)


def in_frames(model: Any, method: str, result: Any, rows: Rows, is_called_by_user: bool) -> Any:
    """The result of a method as data frames, if it has the columns of the inputs and frames are wanted.

    Parameters
    ----------
    model : Estimator
    method : str
        The name of the method.
    result : object
        What it found. Arrays of other libraries, lazy ones and what is no array stay as they are.
    rows : object
        The first argument of the method.
    is_called_by_user : bool
        Methods of this library that call each other compute with arrays.
    """
    if method not in model._in_input_space or not (is_called_by_user or method in WRAPPED):
        return result
    library = output_library(model)
    if library is None:
        return result
    if isinstance(result, tuple):  # denoised rows, and which of their entries were distrusted
        return tuple(_in_frame(model, method, part, rows, library) for part in result)
    return _in_frame(model, method, result, rows, library)


def _in_frame(model: Any, method: str, result: Any, rows: Rows, library: str) -> Any:
    if type(result) is not np.ndarray or result.ndim != 2:
        return result
    inputs = feature_names_in(model)
    names = model.get_feature_names_out() if method in WRAPPED else inputs
    source = rows if method in ROW_BY_ROW | WRAPPED and frame_library(rows) is not None else None
    if method in model._completing and source is not None:
        return as_completed_frame(result, names, library, source, _places(names, inputs))
    has_types = source is not None and method != "inverse_transform"
    types = floating_types(source) if has_types else getattr(model, "_column_types", None)
    is_number = result.dtype.kind == "f" and len(names) == len(inputs)
    return as_frame(result, names, library, source, types if is_number else None)


def _places(names: np.ndarray, inputs: np.ndarray) -> list[int]:
    """For the name of each column that comes back the number of that of the inputs, or -1."""
    if np.array_equal(names, inputs):
        return [*range(len(inputs))]
    numbers = {name: number for number, name in enumerate(inputs)}
    return [numbers.get(name, -1) for name in names]
