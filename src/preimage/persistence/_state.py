"""Fitted models as trees of plain values, arrays and registered objects, and back, trusting nothing.

In the JSON of a file, numbers, words, flags, None and lists stand for themselves. Everything else is an object whose
keys say what it is:

============================================  ==========================================================
``{"class": "kernels.Gaussian", "state": …}``   an object of a registered class, by its fields
``{"object": 3}``                             the object that was written fourth, again
``{"class": …, "member": "NAME"}``              a member of an enumeration
``{"array": "name", …}``, ``{"sparse": …}``       an array in the file, see `Tensors`
``{"texts": "name"}``                           a column of texts in the file: points of kernels on texts
``{"strings": […], …}``, ``{"objects": […], …}``  arrays of text, or of anything in this table
``{"masked": …, "mask": …}``                  an array with missing entries
``{"tuple": […]}``, ``{"dict": [[key, value]]}``  containers of Python that JSON does not have
``{"float": "nan"}``                          a number that JSON does not have
``{"scalar": "float32", "value": 0.5}``       a number of NumPy's
``{"type": "float64"}``, ``{"dtype": …}``       a type of NumPy's numbers
``{"generator": …, "legacy": …}``             a random generator
``{"slice": [0, 3, None]}``                   a slice, as column transformers keep
``{"scorer": "accuracy"}``                    a scorer that scikit-learn has by name, as searches keep
============================================  ==========================================================
"""

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from inspect import Parameter, getattr_static, signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.pipeline import Pipeline

from preimage._engine.arrays import is_foreign, is_objects, is_sparse
from preimage._engine.removed import renamed
from preimage._engine.validation import check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Kernel
from preimage.persistence._checks import check_loaded
from preimage.persistence._compiled_code import check_generator
from preimage.persistence._registry import HOLD_FUNCTIONS, class_named, name_of, unknown_fields
from preimage.persistence._safetensors import Tensors

# A pipeline in a search in a pipeline, whose kernel is a sum of sums, is 30 levels deep. Each level takes four frames
# of Python's stack, which has 1000: a file nested ten times deeper would exhaust it.
DEEPEST = 100
# Parts that a model may consist of where parts are used several times. A part that a file refers to twice at each
# level, k = k + k, doubles them: 30 such lines would keep every evaluation, or copy, busy for hours. Evaluating 10,000
# parts takes seconds. Models with more parts than that (one for each of many classes) share some between all of them.
MOST_PARTS, MOST_REPEATS = 10_000, 20
# NumPy gives every text of an array the length of the longest one, four bytes per letter: one long text among many
# short ones would fill the memory.
MOST_TEXT = 64 * 2**20
# Classes of these packages keep what they learned as attributes, in addition to their parameters. All others with
# parameters (kernels, solvers, selectors, ...) are values, which consist of their parameters.
_OURS = ("estimators.", "inflation.", "model_selection.", "renormalization.")  # the last: in files of 0.2.0
_LEARNING = (*_OURS, "sklearn.")
# The default of scikit-learn's parameters that are about to go away, which versions before do not understand.
_NOT_GIVEN = "deprecated"
_NUMBERS = {
    "bool": np.bool_,
    **{f"{kind}{size}": getattr(np, f"{kind}{size}") for kind in ("int", "uint") for size in (8, 16, 32, 64)},
    "float32": np.float32,
    "float64": np.float64,
}
# What scikit-learn keeps on estimators about those who watch a fit, and a compiled loss that each fit makes anew; no
# part of the model.
_NOT_LEARNED = ("_skl_callbacks", "_parent_callback_ctx", "_loss_function_")
# The scorer of searches without `scoring`: the `score` of its estimator, which is all that it needs to be made again.
# scikit-learn 1.6 keeps requests of metadata in it as well; the constructor finds them in the estimator.
_SCORE_OF_ESTIMATOR = "_PassthroughScorer"
_GENERATORS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}


class Encoder:
    """Takes values apart; `tensors` has their arrays afterwards."""

    def __init__(self) -> None:
        self.tensors = Tensors()
        self.uses_sklearn = False
        # Objects by identity, with their numbers in order of writing; held, so that no other object can get their id.
        self._written: dict[int, tuple[Any, int]] = {}

    def encode(self, value: Any, path: str, depth: int = 0) -> Any:
        """What stands for a value in JSON. `path` says where it belongs, in messages and names of arrays."""
        if depth > DEEPEST:
            raise TypeError(f"`{path[:200]}` is nested more than {DEEPEST} deep, or contains itself; it has no file.")
        if value is None or (isinstance(value, (bool, str)) and not isinstance(value, Enum)):
            return value
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        if isinstance(value, (int, float)) and not isinstance(value, Enum):
            return _number(value)
        if isinstance(value, list):
            return [self.encode(each, f"{path}.{i}", depth + 1) for i, each in enumerate(value)]
        if type(value) is tuple:
            return {"tuple": [self.encode(each, f"{path}.{i}", depth + 1) for i, each in enumerate(value)]}
        if isinstance(value, dict):
            pairs = ([key, self.encode(item, f"{path}.{key}", depth + 1)] for key, item in value.items())
            return {"dict": [[self.encode(key, path, depth + 1), item] for key, item in pairs]}
        if isinstance(value, np.dtype):
            return {"dtype": self._known_number(value.name, path)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"type": self._known_number(np.dtype(value).name, path)}
        if isinstance(value, np.ndarray) or is_sparse(value) or is_foreign(value):
            return self._array(value, path, depth)
        if type(value).__module__ == "torch":  # the precision of a model, whose arrays become NumPy's
            return {"type": self._known_number(str(value).removeprefix("torch."), path)}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return self._generator(value, path, depth)
        if isinstance(value, slice):
            parts = [value.start, value.stop, value.step]
            return {"slice": [self.encode(part, path, depth + 1) for part in parts]}
        if (scorer := _scorer_name(value)) is not None:
            self.uses_sklearn = True
            return {"scorer": scorer}
        return self._object(value, path, depth)

    def _object(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        if id(value) in self._written:
            return {"object": self._written[id(value)][1]}
        name = name_of(type(value))
        if name is None:
            raise _refusal(value, path)
        self.uses_sklearn |= name.startswith("sklearn.")
        if isinstance(value, Enum):
            return {"class": name, "member": value.name}
        state = _state_of(value, name)
        # Numbered before its parts would be wrong: a reader has the parts first.
        encoded = {key: self.encode(item, f"{path}.{key}", depth + 1) for key, item in state.items()}
        self._written[id(value)] = value, len(self._written)
        return {"class": name, "state": encoded}

    def _array(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        if isinstance(value, np.ma.MaskedArray):  # as searches of scikit-learn keep the parameters that they tried
            parts = {"masked": value.data, "mask": np.ma.getmaskarray(value)}
            return {name: self._array(part, f"{path}.{name}", depth + 1) for name, part in parts.items()}
        if is_objects(value) and all(type(each) is str for each in value[:, 0]):
            return self.tensors.put(path, value)
        if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
            kind = "strings" if all(isinstance(each, str) for each in value.flat) else "objects"
            if value.dtype.kind == "O" or kind == "strings":
                items = [self.encode(each, f"{path}.{i}", depth + 1) for i, each in enumerate(value.flat)]
                _check_length(f"`{path}`", items if value.dtype.kind == "U" else [])
                return {kind: items, "shape": list(value.shape), "type": value.dtype.kind}
        return self.tensors.put(path, value)

    def _scalar(self, value: np.generic, path: str) -> dict[str, Any]:
        name = self._known_number(value.dtype.name, path)
        return {"scalar": name, "value": bool(value) if name == "bool" else _number(value.item())}

    def _known_number(self, name: str, path: str) -> str:
        if name not in _NUMBERS:
            raise TypeError(f"Numbers of the type {name} cannot be stored; `{path}` has this type. Use float64.")
        return name

    def _generator(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        is_legacy = isinstance(value, np.random.RandomState)
        state = value.get_state(legacy=False) if is_legacy else value.bit_generator.state
        name = state["bit_generator"]
        if name not in _GENERATORS:
            raise TypeError(f"`{path}` is a random generator of the kind {name}; use np.random.default_rng(seed).")
        # Integers of 128 bits as text: most readers of JSON keep 64.
        inner = {key: str(item) if type(item) is int else item for key, item in state["state"].items()}
        return {"generator": self.encode({**state, "state": inner}, path, depth + 1), "legacy": is_legacy}


class Decoder:
    """Puts together what `Encoder` took apart; a ValueError for anything else. `made` has all objects afterwards."""

    def __init__(self, tensors: Tensors):
        self.tensors = tensors
        self.made: list[Any] = []
        # Fields that no line of the installed classes mentions, such as "KernelPCA.flavour".
        self.unknown: list[str] = []
        # Of every object in `made`, how many it consists of, and how many were met: an object counts wherever it is
        # referred to.
        self._sizes: list[int] = []
        self._met = 0

    def decode(self, item: Any, depth: int = 0) -> Any:
        """The value that `item` of the JSON stands for."""
        if depth > DEEPEST:
            raise ValueError(f"The model of the file is nested more than {DEEPEST} deep; that is no file of ours.")
        if item is None or isinstance(item, (bool, str)):
            return item
        if isinstance(item, (int, float)):
            if not (math.isfinite(item) if isinstance(item, float) else abs(item) < 2**63):
                raise ValueError(f"The file has a number beyond all that we write: {item!r:.60}.")
            return item
        if isinstance(item, list):
            return [self.decode(each, depth + 1) for each in item]
        if "class" in item:
            return self._object(item, depth)
        if "array" in item or "sparse" in item or "texts" in item:
            return self.tensors.get(item)
        kind = frozenset(item)
        _require(kind in self._KINDS, item)
        try:
            return self._KINDS[kind](self, item, depth)
        except (TypeError, LookupError, AttributeError, OverflowError) as error:
            what = "random generator" if "generator" in item else "value"
            raise ValueError(f"The file has a {what} of an unknown kind: {error}") from error

    def _object(self, item: dict[str, Any], depth: int) -> Any:
        made = class_named(item["class"])
        if set(item) == {"class", "member"}:
            if not issubclass(made, Enum) or item["member"] not in made.__members__:
                raise ValueError(f"{item['class']} of the file has no member {item['member']!r:.60}.")
            return made[item["member"]]
        if set(item) != {"class", "state"} or not isinstance(item["state"], dict) or issubclass(made, Enum):
            raise ValueError(f"A stored object has a class and a state; got {item!r:.100}.")
        # Names are checked before anything is made: a field such as a method or `__class__` could change behaviour.
        for name in item["state"]:
            _check_field(made, name)
        met = self._met
        state = {name: self.decode(part, depth + 1) for name, part in item["state"].items()}
        try:
            value = _from_state(made, name_of(made) or "", state)
            check_loaded(value)
        except (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError) as error:
            raise ValueError(f"{item['class']} of the file has parts that do not fit: {error}") from error
        self.unknown += [f"{made.__name__}.{field}" for field in unknown_fields(made, state)]
        self.made.append(value)
        self._met += 1
        self._sizes.append(self._met - met)
        return value

    def _again(self, item: dict[str, Any], depth: int) -> Any:
        number = item["object"]
        if type(number) is not int or not 0 <= number < len(self.made):
            raise ValueError(f"The file refers to an object that it does not have: {item!r:.60}.")
        self._met += self._sizes[number]
        if self._met > max(MOST_PARTS, MOST_REPEATS * len(self.made)):
            raise ValueError(
                f"The file refers to its parts so often that the model would consist of more than {self._met} parts; "
                f"at most {MOST_PARTS} parts, or {MOST_REPEATS} for each one that is written, are allowed."
            )
        return self.made[number]

    def _items(self, item: dict[str, Any], depth: int) -> np.ndarray:
        key = "strings" if "strings" in item else "objects"
        _require(item["type"] in ("U", "O") and isinstance(item[key], list), item)
        items, shape = [self.decode(each, depth + 1) for each in item[key]], item["shape"]
        is_shape = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
        if not is_shape or math.prod(shape) != len(items):
            raise ValueError(f"An array of text or objects in the file does not fit its shape {shape!r:.60}.")
        is_text = key == "strings" or item["type"] == "U"
        _require(not is_text or all(isinstance(each, str) for each in items), item)
        _check_length("An array of text in the file", items if item["type"] == "U" else [])
        # np.array(items) would turn items that are sequences into further axes.
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(shape).astype(str) if item["type"] == "U" else array.reshape(shape)

    def _masked(self, item: dict[str, Any], depth: int) -> np.ndarray:
        data, mask = (self.decode(item[name], depth + 1) for name in ("masked", "mask"))
        are_arrays = isinstance(data, np.ndarray) and isinstance(mask, np.ndarray) and mask.dtype == bool
        _require(are_arrays and mask.shape == data.shape, item)
        return np.ma.MaskedArray(data, mask)

    def _tuple(self, item: dict[str, Any], depth: int) -> tuple:
        _require(isinstance(item["tuple"], list), item)
        return tuple(self.decode(item["tuple"], depth))

    def _dict(self, item: dict[str, Any], depth: int) -> dict:
        pairs = item["dict"]
        _require(isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), item)
        return {self.decode(key, depth + 1): self.decode(value, depth + 1) for key, value in pairs}

    def _float(self, item: dict[str, Any], depth: int) -> float:
        _require(item["float"] in ("nan", "inf", "-inf"), item)
        return float(item["float"])

    def _scalar(self, item: dict[str, Any], depth: int) -> np.generic:
        value = self.decode(item["value"], depth + 1)
        _require(isinstance(value, (bool, int, float)), item)
        return _NUMBERS[item["scalar"]](value)

    def _type(self, item: dict[str, Any], depth: int) -> Any:
        return np.dtype(_NUMBERS[item["dtype"]]) if "dtype" in item else _NUMBERS[item["type"]]

    def _slice(self, item: dict[str, Any], depth: int) -> slice:
        parts = item["slice"]
        is_bound = lambda part: part is None or type(part) is int
        _require(isinstance(parts, list) and len(parts) == 3 and all(map(is_bound, parts)), item)
        return slice(*parts)

    def _scorer(self, item: dict[str, Any], depth: int) -> Any:
        if item["scorer"] not in get_scorer_names():
            raise ValueError(f"The file has a scorer that scikit-learn does not have: {item!r:.60}.")
        return get_scorer(item["scorer"])

    def _generator(self, item: dict[str, Any], depth: int) -> Any:
        state = self.decode(item["generator"], depth + 1)
        inner = {key: int(part) if isinstance(part, str) else part for key, part in state["state"].items()}
        bits = _GENERATORS[state["bit_generator"]]()
        check_generator(state["bit_generator"], inner)
        if item["legacy"] is not True:
            bits.state = {**state, "state": inner}
            return np.random.Generator(bits)
        legacy = np.random.RandomState(bits)
        legacy.set_state({**state, "state": inner})
        return legacy

    # By the keys of an item, of which none may be missing or added.
    _KINDS = {
        frozenset({"object"}): _again,
        frozenset({"strings", "shape", "type"}): _items,
        frozenset({"objects", "shape", "type"}): _items,
        frozenset({"masked", "mask"}): _masked,
        frozenset({"tuple"}): _tuple,
        frozenset({"dict"}): _dict,
        frozenset({"float"}): _float,
        frozenset({"scalar", "value"}): _scalar,
        frozenset({"type"}): _type,
        frozenset({"dtype"}): _type,
        frozenset({"generator", "legacy"}): _generator,
        frozenset({"slice"}): _slice,
        frozenset({"scorer"}): _scorer,
    }


def on_host(model: Any) -> Any:
    """The same model with NumPy arrays in place of those of other libraries; a TypeError where it has no file."""
    encoder = Encoder()
    encoded = encoder.encode(model, type(model).__name__)
    return Decoder(encoder.tensors).decode(encoded)


def _require(condition: Any, item: Any) -> None:
    if not condition:
        raise ValueError(f"The file has a value of an unknown kind: {item!r:.100}.")


def _state_of(value: Any, name: str) -> dict[str, Any]:
    """The fields that make up an object; what can be computed from them again is left out."""
    cls = type(value)
    if hasattr(value, "get_params"):
        unsaved = _unsaved_parameters(cls, vars(value))
        parameters = {key: item for key, item in value.get_params(deep=False).items() if key not in unsaved}
        if not name.startswith(_LEARNING):
            return parameters
        return parameters | {key: item for key, item in _attributes(value).items() if key not in unsaved}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if hasattr(value, "_asdict"):
        return value._asdict()
    if cls.__name__ == _SCORE_OF_ESTIMATOR:
        return {"_estimator": value._estimator}
    if not hasattr(value, "__dict__"):
        raise TypeError(f"{cls.__name__} has no fields that could be stored: {value!r:.100}.")
    return _attributes(value)


def _unsaved_parameters(cls: type, state: dict[str, Any]) -> tuple[str, ...]:
    """The parameters that files of such objects leave out; some only when there are learned attributes in `state`."""
    if issubclass(cls, Pipeline):
        # Pipelines read pickles from the folder `memory` when they are fitted again: a file must not choose it.
        return ("memory",)
    is_fitted = any(name.endswith("_") for name in state)
    return getattr(cls, "_unsaved_parameters", ()) + (getattr(cls, "_unsaved_once_fitted", ()) if is_fitted else ())


def _attributes(value: Any) -> dict[str, Any]:
    cls = type(value)
    return {
        name: item
        for name, item in vars(value).items()
        if not isinstance(getattr_static(cls, name, None), cached_property) and name not in _NOT_LEARNED
    }


def _from_state(cls: type, name: str, state: dict[str, Any]) -> Any:
    """An object of its fields. Constructors that only store and check their arguments are called, no others."""
    if hasattr(cls, "get_params"):
        state = renamed(cls.__name__, state, warns=False)
        parameters = set(_parameters_of(cls))
        wanted = parameters - set(_unsaved_parameters(cls, state))
        given = {key: _as_given(cls, key, item) for key, item in state.items() if key in wanted}
        learned = {key: item for key, item in state.items() if key not in wanted}
        lacking = wanted - set(given) - (_optional_parameters(cls) if name.startswith(_OURS) else set())
        if lacking or parameters & set(learned) or (learned and not name.startswith(_LEARNING)):
            raise _misfit(name, wanted, state)
        value = cls(**given)
        if hasattr(value, "_parameter_constraints"):
            check_parameters(value)  # a ValueError that names the parameter
        vars(value).update(learned)
        return value
    if is_dataclass(cls) or hasattr(cls, "_fields"):
        wanted = {field.name for field in fields(cls) if field.init} if is_dataclass(cls) else set(cls._fields)
        lacking = wanted - set(state) - (_optional_parameters(cls) if is_dataclass(cls) else set())
        if lacking or set(state) - wanted:
            raise _misfit(name, wanted, state)
        return cls(**state)
    if cls.__name__ == _SCORE_OF_ESTIMATOR:
        if set(state) != {"_estimator"} or not hasattr(state["_estimator"], "score"):
            raise _misfit(name, {"_estimator"}, state)
        return cls(state["_estimator"])
    plain: Any = object.__new__(cls)
    vars(plain).update(state)
    return plain


def _as_given(cls: type, name: str, value: Any) -> Any:
    """A parameter of a file, or its default where a later scikit-learn marks it as one that nobody gave."""
    default = _parameters_of(cls)[name].default
    return default if isinstance(value, str) and value == _NOT_GIVEN and default is not Parameter.empty else value


@cache
def _parameters_of(cls: type) -> dict[str, Parameter]:
    """The arguments of a constructor by name; those that it collects (`*`, `**`) are none."""
    # The signature of `object` would be compiled from text.
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    takes_any = ("VAR_KEYWORD", "VAR_POSITIONAL")
    return {each.name: each for each in signature(cls).parameters.values() if each.kind.name not in takes_any}


def _optional_parameters(cls: type) -> set[str]:
    """Parameters with a default, which files of before they existed lack."""
    return {each.name for each in _parameters_of(cls).values() if each.default is not each.empty}


def _check_field(cls: type, name: str) -> None:
    """Refuse fields that would take the place of a method, and those that are never written."""
    own = {field.name for field in fields(cls)} if is_dataclass(cls) else getattr(cls, "_fields", ())
    is_method = hasattr(type(getattr_static(cls, name, None)), "__get__") and name not in _parameters_of(cls)
    is_name = name.isidentifier() and not name.startswith("__") and name not in _NOT_LEARNED
    if not is_name or (is_method and name not in own):
        raise ValueError(f"{cls.__name__} of the file has a field that cannot be one: {name!r:.60}.")


def _scorer_name(value: Any) -> str | None:
    """The name of one of scikit-learn's scorers; None for anything else, such as a scorer of a user's function."""
    if type(value).__module__ != type(get_scorer("r2")).__module__:
        return None
    is_alike = lambda known: type(known) is type(value) and vars(known) == vars(value)
    return next((name for name in get_scorer_names() if is_alike(get_scorer(name))), None)


def _number(value: Any) -> Any:
    if isinstance(value, Integral):
        return int(value)
    assert isinstance(value, Real)
    return float(value) if math.isfinite(value) else {"float": str(float(value))}


def _misfit(name: str, wanted: set[str], state: dict[str, Any]) -> ValueError:
    found = ", ".join(sorted(state))[:200] or "none"
    return ValueError(f"{name} has the fields {', '.join(sorted(wanted)) or 'none'}; the file has {found}.")


def _check_length(who: str, texts: list[str]) -> None:
    """Refuse to write, or to read, texts of which the longest one would make the array of all of them too large."""
    longest = max(map(len, texts), default=0)
    if 4 * longest * len(texts) > MOST_TEXT:
        raise ValueError(
            f"{who} has {len(texts)} texts, and each would take the {longest} letters of the longest one. Arrays of "
            "dtype=object do not."
        )


def _refusal(value: Any, path: str) -> TypeError:
    """What cannot be stored, where it is, and what to do."""
    cls = type(value)
    advice = "Keep the model with skops or pickle, which store code by name."
    if cls.__name__ in HOLD_FUNCTIONS or (callable(value) and not hasattr(value, "get_params")):
        what = cls.__name__ if cls.__name__ in HOLD_FUNCTIONS else "A function"
        reason = f"{what} cannot be written to a file that holds no code: `{path}` is {value!r:.100}."
        if isinstance(value, Kernel) or path.endswith(".kernel"):
            return UnsupportedKernelError(
                f"{reason} Write the kernel with those of preimage.kernels (sums, products, ScaledInputs, ...), or "
                "keep the model with skops or pickle, which store code by name."
            )
        return TypeError(f"{reason} {advice}")
    if hasattr(value, "get_params"):
        return TypeError(
            f"{cls.__name__} cannot be written to a file that holds no code: files keep models of preimage, and those "
            f"of scikit-learn that numbers describe; `{path}` is {value!r:.100}. {advice}"
        )
    return TypeError(f"`{path}` is of the type {cls.__module__}.{cls.__name__}, which files do not hold. {advice}")
