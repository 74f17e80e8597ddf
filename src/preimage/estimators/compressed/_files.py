"""Compressed models in files that hold no code."""

import math
import os
from numbers import Integral, Real
from pathlib import Path

from preimage._validation import check_parameters
from preimage.estimators.compressed._models import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
)
from preimage.machines import machine_from_bytes, machine_to_bytes
from preimage.machines.files._tensors import Tensors
from preimage.machines.files._values import solver_from_state, value_state

_CLASSES = {
    each.kind: each for each in (CompressedClassifier, CompressedRegressor, CompressedDetector, CompressedTransformer)
}
# Parameters that a file keeps, where they are words or numbers.
_PARAMETERS = ("n_points", "method", "tolerance", "shared", "dtype", "random_state")
_FACTS = {"n_original_points", "error", "scores", "converged", "reason", "parameters", "preimage"}
# Facts that files of the first release lack.
_LATER_FACTS = {"is_scored_by_original", "work_ratio"}


def save(model, path):
    """Write a fitted compressed model to `path`, whole or not at all."""
    data = machine_to_bytes(model._fitted_machine(), _facts(model))
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path):
    """A compressed model from a file that its `save` wrote, with the same predictions to the last bit.

    Nothing in the file is executed: it holds numbers, and names that are looked up in tables.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    CompressedClassifier, CompressedRegressor, CompressedDetector or CompressedTransformer
        With `estimator=None`: the original is not kept.

    Raises
    ------
    ValueError
        If the file is damaged, cut off, of another kind (a pickle, say), or of a later version.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from preimage import compress, load
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> small = compress(SVC(gamma=2).fit(X, y), 8, X=X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     small.save(os.path.join(folder, "small.safetensors"))
    ...     again = load(os.path.join(folder, "small.safetensors"))
    >>> bool((again.decision_function(X) == small.decision_function(X)).all())
    True
    """
    try:
        return _model(*machine_from_bytes(Path(path).read_bytes()))
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded. {error}") from error


def _facts(model):
    parameters = {name: getattr(model, name) for name in _PARAMETERS}
    preimage = getattr(model, "preimage", None)
    return {
        "n_original_points": int(model.n_original_points_),
        "error": _number_or_none(model.error_),
        "scores": None if model.scores_ is None else [_number_or_none(score) for score in model.scores_],
        "is_scored_by_original": bool(model.is_scored_by_original_),
        "work_ratio": float(model.work_ratio_),
        "converged": bool(model.converged_),
        "reason": str(model.reason_),
        "parameters": {name: _plain(value) for name, value in parameters.items() if _is_plain(value)},
        "preimage": preimage if preimage is None or isinstance(preimage, str) else _solver_state(preimage),
    }


def _model(machine, facts):
    if set(facts) - _LATER_FACTS != _FACTS:
        odd = ", ".join(sorted(_FACTS.symmetric_difference(set(facts) - _LATER_FACTS)))[:200]
        raise ValueError(f"It holds a kernel machine, but no compressed model: it lacks or has unknown facts: {odd}.")
    parameters = facts["parameters"]
    if not isinstance(parameters, dict) or not set(parameters) <= set(_PARAMETERS):
        raise ValueError(f"The parameters of the model are unknown: {parameters!r:.100}.")
    made = _CLASSES[machine.output.kind]
    preimage = _preimage(facts["preimage"]) if made is CompressedTransformer else {}
    model = made(None, **parameters, **preimage)
    check_parameters(model)
    model._adopt(machine)
    model.n_original_points_ = _checked(facts, "n_original_points", _is_count, "a positive integer")
    model.error_ = _float(_checked(facts, "error", _is_score, "a number or null"))
    scores = _checked(facts, "scores", _are_scores, "two numbers or null")
    model.scores_ = None if scores is None else tuple(map(_float, scores))
    # Files of the first release do not say; a perfect score of the original was agreement with itself.
    facts = {
        "is_scored_by_original": model.scores_ is not None and model.scores_[0] == 1,
        "work_ratio": model.n_original_points_ / model.n_points_,
    } | facts
    model.is_scored_by_original_ = _checked(facts, "is_scored_by_original", _is_flag, "true or false")
    model.work_ratio_ = float(_checked(facts, "work_ratio", _is_ratio, "a positive number"))
    model.converged_ = _checked(facts, "converged", _is_flag, "true or false")
    model.reason_ = _checked(facts, "reason", lambda text: isinstance(text, str), "text")
    return model


def _solver_state(solver):
    tensors = Tensors()
    state = value_state(solver, tensors, "preimage")
    if tensors.arrays:
        raise ValueError(
            f"A file keeps solvers with numbers as parameters; {type(solver).__name__} has arrays. Give the name of a "
            "solver as `preimage`, and set the solver again after loading."
        )
    return state


def _preimage(state):
    if isinstance(state, str):
        return {"preimage": state}
    return {} if state is None else {"preimage": solver_from_state(state, Tensors())}


def _checked(facts, name, is_right, wanted):
    if not is_right(facts[name]):
        raise ValueError(f"`{name}` must be {wanted}; got {facts[name]!r:.60}.")
    return facts[name]


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**63


def _is_flag(value):
    return isinstance(value, bool)


def _is_ratio(value):
    return value is not None and _is_score(value) and value > 0


def _is_score(value):
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300)


def _are_scores(value):
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_score, value)))


def _float(value):
    return math.nan if value is None else float(value)


def _number_or_none(value):
    return float(value) if math.isfinite(value) else None


def _is_plain(value):
    return value is None or isinstance(value, (bool, str, Integral, Real))


def _plain(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    return int(value) if isinstance(value, Integral) else float(value)
