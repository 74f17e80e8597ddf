"""A problem as a small description of plain values, and the arrays, kernels and models that it means."""

import json
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial

import hostile_paths  # noqa: F401
import numpy as np
import sklearn.cluster
import sklearn.decomposition
import sklearn.gaussian_process
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.pipeline
import sklearn.preprocessing
import sklearn.svm
from hostile_containers import contained
from net_data import TWISTS, near_rows, random_labels, random_targets
from net_kernels import random_kernel

import preimage
from preimage import (
    eigensolvers,
    invariances,
    kernels,
    landmarks,
    reduced_sets,
    solvers,
)

# Every number that double precision can hold is fair input, so scales reach this power of ten.
LARGEST_SCALE = 308


@dataclass(frozen=True)
class Problem:
    """What is called, with what parameters, on what data. Equal descriptions mean equal problems, to the last bit.

    Attributes
    ----------
    name : str
        A public estimator, or "module.function".
    params : dict
        Parameters; a string that starts with "=" is an expression of public names, such as "=Gaussian(1e-200)".
    twists : tuple of str
        What is unusual about the rows: names in `net_data.TWISTS` and `MORE_TWISTS`.
    scale : int
        Rows are multiplied by ten to this power.
    given : tuple of str
        Optional arguments that are passed: sample_weight, start, n_components, …
    """

    name: str
    params: dict = field(default_factory=dict)
    n: int = 8
    d: int = 2
    twists: tuple = ()
    scale: int = 0
    dtype: str = "float64"
    container: str = "plain"
    gram: str = "gaussian"
    queries: str = "near"
    query_container: str = ""
    target: str = "classes"
    target_scale: int = 0
    weights: str = "ones"
    route: str = "fit"
    methods: tuple = ()
    given: tuple = ()
    coordinates: int = 0
    seed: int = 0

    def __repr__(self):
        """One line of Python, without what is as usual."""
        usual = Problem("")
        named = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return f"Problem({', '.join(f'{n}={v!r}' for n, v in named if v != getattr(usual, n))})"

    def __hash__(self):
        return hash(self.to_json())

    def to_json(self):
        usual = asdict(Problem(""))
        return json.dumps({name: value for name, value in asdict(self).items() if value != usual[name]})

    @classmethod
    def from_json(cls, text):
        values = json.loads(text) if isinstance(text, str) else text
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    def but(self, **changes):
        return replace(self, **changes)


def _mixed_scales(rng, X):
    return X * 10.0 ** rng.integers(-300, 300, (len(X), 1))


def _with_entry(value):
    def twist(rng, X):
        X[rng.integers(len(X)), rng.integers(X.shape[1])] = value
        return X

    return twist


def _with_holes(rng, X):
    return np.where(rng.random(X.shape) < 1 / 3, np.nan, X)


MORE_TWISTS = {
    "integers": lambda rng, X: np.round(2 * X),
    "constant": lambda rng, X: np.repeat(X[:1], len(X), axis=0),
    "zeros": lambda rng, X: np.zeros_like(X),
    "two points": lambda rng, X: X[np.arange(len(X)) % min(2, len(X))],
    "nearly equal": lambda rng, X: X[:1] * (1 + 1e-15 * rng.integers(-2, 3, X.shape)),
    "histograms": lambda rng, X: np.abs(X) / np.maximum(np.abs(X).sum(axis=1, keepdims=True), 1e-300),
    "mixed scales": _mixed_scales,
    "one huge entry": _with_entry(1e200),
    "NaN": _with_entry(np.nan),
    "holes": _with_holes,
    "infinity": _with_entry(np.inf),
}
ALL_TWISTS = {**TWISTS, **MORE_TWISTS}


def scaled(values, power):
    """Values times ten to a power, beyond the largest number the largest number."""
    with np.errstate(all="ignore"):
        half = power // 2  # ten to twice the power of the largest number is no number, its square root is
        result = values * 10.0**half * 10.0 ** (power - half)
        most = np.finfo(float).max
        return np.where(np.isinf(result) & np.isfinite(values), np.copysign(most, result), result)


# Symmetric matrices from rows: what users hand over as kernel matrices.
GRAMS = {
    "gaussian": lambda rng, A, B: np.exp(-np.sum((A[:, None] - B[None]) ** 2, axis=2)),
    "linear": lambda rng, A, B: A @ B.T,
    "zeros": lambda rng, A, B: np.zeros((len(A), len(B))),
    "constant": lambda rng, A, B: np.ones((len(A), len(B))),
    "negative": lambda rng, A, B: -A @ B.T,
    "indefinite": lambda rng, A, B: np.sin(3 * (A @ B.T)),
    "identity": lambda rng, A, B: np.all(A[:, None] == B[None], axis=2).astype(float),
    "rank one": lambda rng, A, B: np.outer(A[:, :1].sum(axis=1), B[:, :1].sum(axis=1)),
    "distances": lambda rng, A, B: np.sqrt(np.sum((A[:, None] - B[None]) ** 2, axis=2)),
    "asymmetric": lambda rng, A, B: A @ np.roll(B, 1, axis=0).T,
}

QUERIES = {
    "near": near_rows,
    "training": lambda rng, X: X,
    "one": lambda rng, X: X[:1],
    "zeros": lambda rng, X: np.zeros((2, X.shape[1])),
    "tiny": lambda rng, X: X[:3] * 1e-160 * 1e-140,
    "far": lambda rng, X: scaled(near_rows(rng, X), 8),
    "1e150": lambda rng, X: 1e150 * (1 + rng.random((3, X.shape[1]))),
    "1e300": lambda rng, X: np.where(X[:3] < 0, -1e300, 1e300),
    "largest": lambda rng, X: np.full((2, X.shape[1]), np.finfo(float).max),
    "empty": lambda rng, X: X[:0],
    "narrow": lambda rng, X: X[:3, :-1],
    "NaN": _with_entry(np.nan),
    "holes": _with_holes,
    "nothing": lambda rng, X: np.full((2, X.shape[1]), np.nan),
}
WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "zeros": lambda rng, n: np.zeros(n),
    "random": lambda rng, n: rng.random(n),
    "some zero": lambda rng, n: (rng.random(n) < 0.5).astype(float),
    "one row": lambda rng, n: (np.arange(n) == 0).astype(float),
    "huge": lambda rng, n: 1e300 * (1 + rng.random(n)),
    "tiny": lambda rng, n: 1e-300 * (1 + rng.random(n)),
    "uneven": lambda rng, n: 10.0 ** rng.uniform(-150, 150, n),
    "negative": lambda rng, n: -np.ones(n),
    "integers": lambda rng, n: rng.integers(0, 3, n),
    "short": lambda rng, n: np.ones(max(n - 1, 0)),
    "NaN": lambda rng, n: np.full(n, np.nan),
}


def _labels(rng, X):
    return random_labels(rng, X) if len(X) > 1 else np.zeros(len(X), int)


TARGETS = {
    "classes": _labels,
    "two classes": lambda rng, X: (_labels(rng, X) > 0).astype(int),
    "one class": lambda rng, X: np.zeros(len(X), int),
    "singletons": lambda rng, X: np.arange(len(X)),
    "lonely class": lambda rng, X: np.eye(len(X), dtype=int)[0],
    "text": lambda rng, X: np.array(["a", "bb", "ccc", "d"])[_labels(rng, X)],
    "objects": lambda rng, X: np.array(["a", "bb", "ccc", "d"], dtype=object)[_labels(rng, X)],
    "booleans": lambda rng, X: _labels(rng, X) > 0,
    "signs": lambda rng, X: np.where(_labels(rng, X) > 0, 1.0, -1.0),
    "list": lambda rng, X: _labels(rng, X).tolist(),
    "partly": lambda rng, X: np.where(rng.random(len(X)) < 0.5, -1, _labels(rng, X)),
    "unlabelled": lambda rng, X: np.full(len(X), -1),
    "numbers": random_targets,
    "constant": lambda rng, X: np.ones(len(X)),
    "columns": lambda rng, X: np.stack([random_targets(rng, X), rng.normal(size=len(X))], axis=1),
    "short": lambda rng, X: _labels(rng, X)[:-1],
    "NaN": lambda rng, X: np.full(len(X), np.nan),
    "none": lambda rng, X: None,
}


class Case:
    """The data of a description."""

    def __init__(self, problem):
        self.problem = problem
        rng = np.random.default_rng([problem.seed, 7])
        with np.errstate(all="ignore"):
            rows = rng.normal(size=(problem.n, problem.d))
            for name in problem.twists:
                rows = ALL_TWISTS[name](rng, rows)
            queries = QUERIES[problem.queries](rng, rows.copy())
            plain = np.nan_to_num(rows)
            if self.is_finite:  # twists and spreads of huge rows may be infinite by themselves
                rows, queries = plain, np.nan_to_num(queries)
            self.y = self._target(rng, plain)
            self.w = WEIGHTS[problem.weights](rng, problem.n)
            self.query_weights = WEIGHTS[problem.weights](rng, len(queries))
            if self.is_gram:
                gram = GRAMS[problem.gram]
                rows, queries = (
                    gram(rng, rows, rows),
                    gram(rng, queries[:, : rows.shape[1]], rows[:, : queries.shape[1]]),
                )
                if self.is_finite:
                    rows, queries = np.nan_to_num(rows), np.nan_to_num(queries)
            self.values = scaled(rows, problem.scale)
            absolute = problem.queries in ("1e150", "1e300", "largest")
            self.query_values = queries if absolute and not self.is_gram else scaled(queries, problem.scale)
            self.X = contained(self.values, problem.dtype, problem.container)
            self.Z = contained(self.query_values, problem.dtype, problem.query_container or problem.container)
            self.query_y = self._answers(len(queries))
            self.params = {name: self.meaning(value) for name, value in problem.params.items()}

    @property
    def is_gram(self):
        return self.problem.params.get("kernel") == "precomputed"

    @property
    def is_finite(self):
        """Whether no NaN or infinity is given: such input may be refused for other reasons only."""
        spoilt = {"NaN", "infinity", "holes", "nothing"}
        problem = self.problem
        return not (spoilt & {*problem.twists, problem.queries, problem.weights, problem.target})

    def _target(self, rng, rows):
        y = TARGETS[self.problem.target](rng, rows)
        if self.problem.target_scale and isinstance(y, np.ndarray) and y.dtype.kind == "f":
            y = scaled(y.astype(float), self.problem.target_scale)
        return y

    def _answers(self, count):
        """Targets for queries, for scores."""
        return None if self.y is None else [self.y[i % len(self.y)] for i in range(count)] if len(self.y) else []

    def meaning(self, value):
        """A parameter from its description."""
        if isinstance(value, str) and value.startswith("="):
            names = {**_NAMES, "X": self.values, "d": self.values.shape[1], "net_kernel": self._net_kernel}
            return eval(value[1:], {"__builtins__": {}}, names)
        if isinstance(value, (list, tuple)):
            return type(value)(self.meaning(each) for each in value)
        if isinstance(value, dict):
            return {name: self.meaning(each) for name, each in value.items()}
        return value

    def _net_kernel(self, seed):
        with np.errstate(all="ignore"):
            return random_kernel(np.random.default_rng(seed), np.nan_to_num(self.values))


# Functions of users: what they say of their own overflows is theirs.
def _dot(x, y):
    with np.errstate(all="ignore"):
        return float(np.dot(x, y))


def _product(X, Y):
    with np.errstate(all="ignore"):
        return X @ Y.T


def _directed(x, y):
    with np.errstate(all="ignore"):
        return float(np.dot(x, y) + x[0])


def _public(module):
    return {name: getattr(module, name) for name in module.__all__}


# Steps of the estimators of libsvm, whose own fits would not end on rows and targets of some scales. Dozens of rows of
# usual scales take hundreds.
LIBSVM_STEPS = 10_000
LIBSVM = ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")


_NAMES = {
    **{name: value for name, value in vars(np).items() if name in ("array", "ones", "zeros", "eye", "full")},
    **_public(sklearn.svm),
    **{name: partial(getattr(sklearn.svm, name), max_iter=LIBSVM_STEPS) for name in LIBSVM},
    **_public(sklearn.linear_model),
    **_public(sklearn.preprocessing),
    "KernelRidge": sklearn.kernel_ridge.KernelRidge,
    **{name: getattr(sklearn.pipeline, name) for name in ("make_pipeline",)},
    **{name: getattr(sklearn.gaussian_process, name) for name in ("GaussianProcessRegressor",)},
    **{name: getattr(sklearn.decomposition, name) for name in ("PCA",)},
    **_public(eigensolvers),
    **_public(invariances),
    **_public(landmarks),
    **_public(reduced_sets),
    **_public(solvers),
    **_public(kernels),
    **_public(preimage),
    **{name: getattr(kernels, name) for name in ("Constant", "FreeWidthGaussian", "ShiftedInputs")},
    "dot": _dot,
    "product": _product,
    "directed": _directed,
}
