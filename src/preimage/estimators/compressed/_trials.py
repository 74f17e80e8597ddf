"""Rows left out of training and of compression, on which the size of a compressed model is chosen."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from preimage._engine.arrays import in_precision, is_foreign, is_sparse, take_rows, to_numpy
from preimage._engine.typing import Array, Targets
from preimage._engine.warnings import filters_in_use, ignored
from preimage._models.machines import KernelMachine, Trial
from preimage.estimators._bounded_fit import bounded_iterations
from preimage.estimators._training_rows import TrainingRows
from preimage.interop import Folded, fold

# Each fold is left out by one trial. With three, machines of two thirds of the rows would stand for the original; ten
# take twice the time.
FOLDS = 5
# Rows that are left out in all. Where one fold has as many, other trials would only cost time: the standard error of a
# changed decision in two hundred is a quarter of a percentage point on a thousand rows.
ENOUGH_ROWS = 1000
# With fewer rows a fold has one or two, and machines of the others say little about the original.
FEWEST_ROWS = 4 * FOLDS


def trials_of(
    folded: Folded,
    machine: KernelMachine,
    X: Array,
    y: Targets | None,
    labels: np.ndarray | None,
    fit_params: dict[str, Any],
    rng: np.random.Generator,
) -> list[Trial]:
    """Trials that leave out each row once, or enough rows; none where rows are too few.

    Where X holds all points of the machine, these are its training rows, or among them. Machines are then trained
    again without the rows that a trial leaves out, because on its training rows a machine is surer than on others.
    Without the labels that this needs, and for kernels that are given as matrices, rows are only left out of the
    compression.

    Parameters
    ----------
    folded : Folded
        The original.
    machine : KernelMachine
        Its machine.
    X : array of shape (n, d)
        Inputs of the machine.
    y : array of shape (n,) or (n, k), or None
        For training.
    labels : the same in the form that scores take, or None
    fit_params : dict
        Of the fit of the original; arrays with one entry per row are taken apart.
    rng : numpy.random.Generator
    """
    n = X.shape[0]
    if n < FEWEST_ROWS:
        return []
    folds = _folds(n, labels if machine.output.kind == "classifier" else None, rng)
    n_trials = min(FOLDS, -(-ENOUGH_ROWS * FOLDS // n))
    template = _trainable(folded, machine, X, y)
    parts = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(n_trials)]
    if template is not None:
        params = fit_params
        if folded.name is not None and not isinstance(template, Pipeline):  # alone, a last step has no prefix
            params = {key.removeprefix(f"{folded.name}__"): value for key, value in fit_params.items()}
        found = (_retrained(template, X, y, labels, params, *part) for part in parts)
        retrained = [trial for trial in found if trial is not None and _is_alike(trial.machine, machine)]
        if len(retrained) == n_trials:
            return retrained
    of = lambda rows: (take_rows(X, rows), None if labels is None else labels[rows])
    return [Trial(machine, *of(kept), *of(left)) for kept, left in parts]


def _folds(n: int, labels: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """The fold of each row: equal sizes, and equal numbers of each class up to one."""
    order = rng.permutation(n)
    if labels is not None and labels.ndim == 1:
        order = order[np.argsort(np.unique(labels, return_inverse=True)[1][order], kind="stable")]
    folds = np.empty(n, dtype=int)
    folds[order] = np.arange(n) % FOLDS
    return folds


def _trainable(folded: Folded, machine: KernelMachine, X: Array, y: Targets | None) -> Any:
    """The original unfitted, where machines like it can be trained on rows of X; otherwise None."""
    kernel, template = machine.expansion.kernel, folded.template
    needs_labels = machine.output.kind in ("classifier", "regressor")
    if template is None or kernel.points_are_row_numbers or (needs_labels and y is None):
        return None
    points, rows = ((to_numpy(each) if is_foreign(each) else each) for each in (machine.expansion.inputs, X))
    if is_sparse(points) != is_sparse(rows) or not np.all(TrainingRows(rows).contain(points)):
        return None
    return template


def _retrained(
    template: Any,
    X: Array,
    y: Targets | None,
    labels: np.ndarray | None,
    fit_params: dict[str, Any],
    kept: np.ndarray,
    left: np.ndarray,
) -> Trial | None:
    """A trial with a machine trained on the rows `kept`; None where they cannot be trained on."""
    model, n = clone(template), X.shape[0]
    rows = take_rows(X, kept), take_rows(X, left)
    params = {key: _rows_of(value, kept, n) for key, value in fit_params.items()}
    try:
        with _without_warnings(model), bounded_iterations(model, len(kept)):
            model.fit(rows[0], _rows_of(y, kept, n), **params)
        found = fold(model)
    except (ValueError, TypeError):
        return None  # a fold without some class, or weights that are zero there
    for _, step in found.front:
        rows = step.transform(rows[0]), step.transform(rows[1])
    dtype = found.machine.expansion.coefficients.dtype
    fitted, judged = (in_precision(each, dtype) for each in rows)
    of = lambda numbers: None if labels is None else labels[numbers]
    return Trial(found.machine, fitted, of(kept), judged, of(left), is_retrained=True)


def _is_alike(one: KernelMachine, other: KernelMachine) -> bool:
    """Whether two machines tell the same classes apart; numbers that they predict may come of any functions."""
    outputs: Any = (one.output, other.output)
    if other.output.kind != "classifier":
        return one.output.kind == other.output.kind
    return len(one.expansion) == len(other.expansion) and np.array_equal(*(each.classes for each in outputs))


def _rows_of(values: Any, rows: np.ndarray, n: int) -> Any:
    """Some rows of what has one entry per row; anything else as it is."""
    if values is None or isinstance(values, str) or not hasattr(values, "__len__") or len(values) != n:
        return values
    return (to_numpy(values) if is_foreign(values) else np.asarray(values))[rows]


@contextmanager
def _without_warnings(model: Any) -> Iterator[None]:
    """No warnings of a fit: the user has heard those of the original."""
    parts = [model, *model.get_params().values()]
    if any(type(part).__module__.startswith("preimage.") for part in parts):
        with ignored(Warning):
            yield
    else:
        with filters_in_use, warnings.catch_warnings(action="ignore"):
            yield
