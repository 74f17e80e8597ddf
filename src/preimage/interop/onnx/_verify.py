"""Graphs run and compared with the model that they stand for, before they are handed out."""

from copy import copy
from typing import Any
from warnings import catch_warnings

import numpy as np
from sklearn.pipeline import Pipeline

from preimage._engine.arrays import to_dense, to_numpy
from preimage._engine.typing import Rows
from preimage._engine.warnings import filters_in_use
from preimage._models.machines import KernelMachine, Output
from preimage.interop._pipeline import Steps, transformed

# Rows on which a graph and its model are compared: a wrong graph is wrong on most rows.
N_ROWS = 32
# Iterations of libsvm for probabilities stop at a threshold; single rows may differ by this much.
OF_PROBABILITIES = 5e-3
# How often the function values are moved by the tolerance, to see which labels hang on the last digits.
N_MOVES = 8
_METHODS = {
    "decision": "decision_function",
    "probabilities": "predict_proba",
    "prediction": "predict",
    "label": "predict",
    "coordinates": "transform",
}


class GraphMismatchError(ValueError):
    """A graph computes something else than its model."""


def sample_rows(machine: KernelMachine, front: Steps, d: int, dtype: str) -> np.ndarray:
    """Inputs like those that a model was made for: its points, between them, and beyond, before the steps of `front`.

    Steps that cannot be inverted get random numbers, which show a wrong graph as well.
    """
    rng = np.random.default_rng(0)
    if machine.expansion.kernel.points_are_row_numbers:
        return rng.uniform(size=(N_ROWS, d)).astype(dtype)
    points = to_numpy(to_dense(machine.expansion.inputs)).astype(np.float64)
    points = points[:: max(1, points.shape[0] // N_ROWS)][:N_ROWS]
    weights = rng.uniform(-0.2, 1.2, size=(len(points), 1))
    rows = np.concatenate([points, weights * points + (1 - weights) * np.roll(points, 1, axis=0)])
    for _, step in reversed(front):
        try:
            rows = np.asarray(step.inverse_transform(rows), dtype=np.float64)
        except (AttributeError, ValueError, TypeError):
            rows = rng.normal(size=(len(rows), step.n_features_in_))
    return rows.astype(dtype)


def check_graph(
    proto: Any, model: Any, machine: KernelMachine, front: Steps, rows: np.ndarray, tolerance: float
) -> None:
    """Run a graph on `rows`, and raise unless its outputs are those of the model.

    Parameters
    ----------
    tolerance : float
        Of function values; where they exceed 100, of a hundredth of them.

    Raises
    ------
    GraphMismatchError
        With the first row, both numbers, and what was allowed.
    """
    wide = rows.astype(np.float64)
    with np.errstate(all="ignore"), filters_in_use, catch_warnings(action="ignore"):
        F = machine(to_numpy(to_dense(transformed(front, _named_as_in_fit(front, wide)))))
        expected = _answers_of(model, _named_as_in_fit(front, wide))
    scale = max(1.0, 0.01 * float(np.max(np.abs(F), initial=0.0)))
    moves = tolerance * scale * np.random.default_rng(0).choice([-1.0, 1.0], size=(N_MOVES, *F.shape))
    found = run_graph(proto, rows)
    for name, values in found.items():
        mine = _of_output(machine.output, F, name)
        moved = [_of_output(machine.output, F + move, name) for move in moves]
        _compare(name, values, expected.get(name, mine), mine, moved, tolerance * scale)


def run_graph(proto: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The outputs of a graph by name, from onnxruntime or, where that is not installed, from onnx itself."""
    names = [output.name for output in proto.graph.output]
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return dict(zip(names, ReferenceEvaluator(proto).run(names, {"X": rows})))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, {"X": rows})))


def _named_as_in_fit(front: Steps, X: np.ndarray) -> Rows:
    """X with the names of columns that the first step was fitted to, by which it may choose columns."""
    names = getattr(front[0][1], "feature_names_in_", None) if front else None
    if names is None:
        return X
    try:
        import pandas
    except ImportError:  # names of another kind of frame
        return X
    return pandas.DataFrame(X, columns=names)


def _answers_of(model: Any, X: Rows) -> dict[str, np.ndarray]:
    """What the methods of a model say of new rows, by the names of outputs; nothing of machines, which have none."""
    model, answers = _for_new_rows(model), {}
    for name, method in _METHODS.items():
        try:
            answers[name] = np.asarray(getattr(model, method)(X))
        except AttributeError:  # a method that the model, or what is inside of it, does not have
            continue
    return answers


def _for_new_rows(model: Any) -> Any:
    """A model that takes all rows for new ones: a graph does not recognise those of a training set."""
    if isinstance(model, Pipeline):
        model = copy(model)
        name, last = model.steps[-1]
        model.steps = [*model.steps[:-1], (name, _for_new_rows(last))]
    return model._for_new_rows() if hasattr(model, "_for_new_rows") else model


def _of_output(output: Output, F: np.ndarray, name: str) -> np.ndarray:
    if name == "values":
        return F
    compute = {"decision": output.decision, "probabilities": output.probabilities}.get(name, output.predict)
    return np.asarray(to_numpy(compute(F)))


def _compare(
    name: str, found: np.ndarray, expected: np.ndarray, mine: np.ndarray, moved: list[np.ndarray], tolerance: float
) -> None:
    if found.shape != expected.shape:
        raise GraphMismatchError(f"The graph has {name!r} of shape {found.shape}, and the model {expected.shape}.")
    if found.dtype.kind in "UO" or expected.dtype.kind in "UO":
        differs = found.astype(str) != expected.astype(str)
        allowed: Any = np.any([each.astype(str) != mine.astype(str) for each in moved], axis=0)
        wrong = differs & ~allowed
    elif name == "label":
        allowed = np.any([each != mine for each in moved], axis=0)
        wrong = (found != expected) & ~allowed
    else:
        slack = OF_PROBABILITIES if name == "probabilities" else 2 * tolerance
        allowed = slack + np.max([np.abs(each - mine) for each in moved], axis=0)
        wrong = ~(np.abs(found - expected) <= allowed)
        wrong &= np.isfinite(expected)  # what the model itself cannot say
    if np.any(wrong):
        where = tuple(int(part[0]) for part in np.nonzero(wrong))
        raise GraphMismatchError(
            f"The ONNX graph does not compute what the model does: {name!r} of row {where[0]} is {found[where]!s:.30} "
            f"there and {expected[where]!s:.30} in the model, and so are {int(np.sum(wrong))} of {wrong.size} values. "
            "compute_dtype='float64' has more digits."
        )
