"""Problems on which fitted models are asked whether what they say of themselves is true of the rows.

A problem is a data set, a kernel whose width lies anywhere in eight decades, a precision and a route by which a model
is fitted. Kernel values for the comparison are computed here, from differences and in extended precision.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_moons

from preimage._engine.arrays import to_numpy

LONG = np.longdouble


def _moons(rng):
    return make_moons(60, noise=0.1, random_state=int(rng.integers(2**31)))


def _curve(rng):
    t = np.sort(rng.uniform(0, 3 * np.pi, 60))
    return np.column_stack([np.cos(t), np.sin(t), t / 4]) + 0.02 * rng.normal(size=(60, 3)), t > 4


def _iris(rng):
    X, y = load_iris(return_X_y=True)
    some = rng.permutation(150)[:60]
    return X[some], y[some]


def _wine(rng):
    X, y = load_wine(return_X_y=True)
    some = rng.permutation(len(X))[:60]
    return X[some], y[some]


def _duplicates(rng):
    X, y = _moons(rng)
    some = rng.integers(0, 20, 60)
    return X[some], y[some]


def _offset(rng):
    X, y = _moons(rng)
    return X + 10.0 ** rng.uniform(1, 4) * np.array([1.0, -2.0]), y


def _one_column(rng):
    x = rng.normal(size=(40, 1))
    return x, x[:, 0] + 0.3 * rng.normal(size=40) > 0


def _five_rows(rng):
    return rng.normal(size=(5, 3)), np.array([0, 1, 0, 1, 1])


DATA = {
    "moons": _moons,
    "curve": _curve,
    "iris": _iris,
    "wine": _wine,
    "duplicates": _duplicates,
    "offset": _offset,
    "one column": _one_column,
    "five rows": _five_rows,
}
# γ in units of 1/median(d²) of the rows, as powers of ten.
WIDTHS = (-4, -3, -2, -1, 0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Problem:
    """One combination of data, width, precision and route; `seed` draws the rows and whatever else is random."""

    data: str
    width: float
    dtype: str
    route: str
    seed: int = 0
    kernel: str = "rbf"

    @cached_property
    def _drawn(self):
        X, y = DATA[self.data](np.random.default_rng([self.seed, 5]))
        if np.unique(y).size < 2:
            y = np.arange(len(X)) % 2
        return np.ascontiguousarray(X, dtype=self.dtype), np.asarray(y).astype(int)

    @property
    def X(self):
        return self._drawn[0]

    @property
    def y(self):
        return self._drawn[1]

    @cached_property
    def rng(self):
        return np.random.default_rng([self.seed, 7])

    @cached_property
    def targets(self):
        x = self.X[:, 0].astype(float)
        rng = np.random.default_rng([self.seed, 11])
        return np.sin(2 * (x - x.mean()) / (x.std() or 1.0)) + 0.1 * rng.normal(size=len(x))

    @cached_property
    def weights(self):
        rng = np.random.default_rng([self.seed, 13])
        w = rng.integers(0, 4, len(self.X)) if self.seed % 2 else rng.uniform(0.1, 3, len(self.X))
        w[:3] = 1  # never all zero
        for label in np.unique(self.y):  # nor one class
            w[np.flatnonzero(self.y == label)[0]] = 1
        return w.astype(float)

    @cached_property
    def gamma(self):
        distances = _squared_distances(self.X, self.X)
        positive = distances[distances > 0]
        return float(10.0**self.width / np.median(positive.astype(float)))

    @property
    def parameters(self):
        """Parameters of an estimator that give it the kernel of this problem."""
        if self.kernel == "linear":
            return {"kernel": "linear"}
        if self.kernel in ("poly", "indefinite poly"):
            # γ x·y of order 10^width: of the rows as they are, offset included.
            gamma = 10.0 ** (self.width / 4) / float(np.mean(np.sum(self.X.astype(float) ** 2, axis=1)))
            return {"kernel": "poly", "gamma": gamma, "degree": 3, "coef0": 1.0 if self.kernel == "poly" else -0.5}
        if self.kernel == "laplacian":
            return {"kernel": "laplacian", "gamma": self.gamma**0.5}
        return {"kernel": "rbf", "gamma": self.gamma}

    def values(self, A, B):
        """Kernel values in extended precision, from differences where the kernel is one of distances."""
        A, B, p = np.asarray(A, LONG), np.asarray(B, LONG), self.parameters
        match p["kernel"]:
            case "rbf":
                return np.exp(-LONG(p["gamma"]) * _squared_distances(A, B))
            case "laplacian":
                return np.exp(-LONG(p["gamma"]) * np.abs(A[:, None] - B[None]).sum(axis=-1))
            case "poly":
                return (LONG(p["gamma"]) * A @ B.T + LONG(p["coef0"])) ** p["degree"]
            case _:
                return A @ B.T

    def __str__(self):
        return (
            f"{self.kernel} on {self.data}, γ = 1e{self.width:g}/median, {self.dtype}, {self.route}, seed {self.seed}"
        )


def _squared_distances(A, B):
    A, B = np.asarray(A, LONG), np.asarray(B, LONG)
    return ((A[:, None] - B[None]) ** 2).sum(axis=-1)


# How far from the truth a claim may be, relative to what it is about.
TOLERANCE = {"float64": 1e-6, "float32": 1e-2}


@dataclass
class Fitted:
    """A fitted model, the rows it was fitted to, the warnings that it gave; and what it says that is not so."""

    model: object
    problem: Problem
    weights: np.ndarray
    warnings: list
    y: object = None
    found: list = field(default_factory=list)

    @property
    def tolerance(self):
        return TOLERANCE[self.problem.dtype]

    @cached_property
    def X(self):
        return self.problem.X.astype(float)

    @cached_property
    def features(self):
        """`transform` of the training rows, as a caller would compute it, in double precision."""
        return np.asarray(to_numpy(self.model.transform(self.rows())), float)

    def values(self, A, B):
        """Kernel values in extended precision; of a linear kernel about the point that the model computes it about."""
        if self.problem.parameters["kernel"] == "linear":
            shift = self.model.kernel_.unshifted()[1]
            if shift is not None:
                A, B = np.asarray(A, LONG) - to_numpy(shift), np.asarray(B, LONG) - to_numpy(shift)
        return self.problem.values(A, B)

    def rows(self):
        """The rows as the model takes them."""
        if self.problem.route != "torch":
            return self.problem.X
        import torch

        return torch.asarray(self.problem.X)

    def warned(self, category):
        return any(issubclass(each.category, category) for each in self.warnings)

    def equal(self, claim, said, true, tolerance=None, floor=0.0):
        """`said` is `true`, to a relative `tolerance` of each entry and at least `floor`."""
        said, true = np.asarray(said, float), np.asarray(true, float)
        if said.shape != true.shape:
            self.found.append((claim, f"shape {said.shape} for {true.shape}"))
            return
        allowed = np.maximum((self.tolerance if tolerance is None else tolerance) * np.abs(true), floor)
        error = np.abs(said - true)
        if not np.all(error <= allowed):  # NaN is not
            worst = np.nanargmax(np.where(np.isnan(error), np.inf, error - allowed)) if said.ndim else 0
            said, true = np.ravel(said)[worst], np.ravel(true)[worst]
            self.found.append((claim, f"says {said:.6g}, is {true:.6g} (entry {worst} of {error.size})"))

    def at_most(self, claim, said, bound):
        said, bound = np.asarray(said, float), np.asarray(bound, float)
        if not np.all(said <= bound):
            worst = int(np.nanargmax(np.where(np.isnan(said - bound), np.inf, said - bound))) if said.ndim else 0
            bound = np.ravel(np.broadcast_to(bound, said.shape))[worst]
            self.found.append((claim, f"{np.ravel(said)[worst]:.6g} above {bound:.6g} (entry {worst})"))

    def holds(self, claim, condition, message=""):
        if not condition:
            self.found.append((claim, message or "does not hold"))


# Routes ---------------------------------------------------------------------------------------------------------------

SELECTORS = ("kmeans", "uniform", "rpcholesky", "pivoted_cholesky", "sparse_greedy")


def landmark_count(problem):
    return min(20, max(2, len(problem.X) - 1))


def selector(name, count):
    from preimage import landmarks

    classes = {
        "kmeans": landmarks.KMeans,
        "uniform": landmarks.Uniform,
        "rpcholesky": landmarks.RandomlyPivotedCholesky,
        "pivoted_cholesky": landmarks.PivotedCholesky,
        "sparse_greedy": landmarks.SparseGreedy,
    }
    return classes[name](count, **({} if name == "pivoted_cholesky" else {"random_state": 0}))


def fit(estimator, problem, y):
    """The estimator fitted by the route of the problem."""
    X, route, n = problem.X, problem.route, len(problem.X)
    count, weights = landmark_count(problem), np.ones(n)
    model = clone(estimator)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        if route in SELECTORS:
            model.set_params(landmarks=selector(route, count)).fit(X, y)
        elif route == "all landmarks":
            model.set_params(landmarks=n).fit(X, y)
        elif route == "all rows as landmarks":
            model.set_params(landmarks=selector("uniform", n)).fit(X, y)
        elif route == "chunks":
            # All landmarks come from the first chunk: earlier rows along later landmarks are not known, by contract.
            first = n - 2 * (n // 4)
            order = np.random.default_rng([problem.seed, 19]).permutation(n)
            distinct = len(np.unique(X[order[:first]], axis=0))
            model.set_params(landmarks=selector("kmeans", max(2, min(count, distinct // 2))))
            for part in np.split(order, [first, first + n // 4]):
                model.partial_fit(X[part], None if y is None else y[part])
        elif route == "dask":
            import dask.array

            lazy = dask.array.from_array(X, chunks=(-(-n // 3), -1))
            model.set_params(landmarks=selector("rpcholesky", count)).fit(lazy, y)
        elif route == "dask exact":
            import dask.array

            model.fit(dask.array.from_array(X, chunks=(-(-n // 3), -1)), y)
        elif route == "weights":
            weights = problem.weights
            model.fit(X, y, sample_weight=weights)
        elif route == "weighted landmarks":
            weights = problem.weights
            model.set_params(landmarks=selector("kmeans", count)).fit(X, y, sample_weight=weights)
        elif route == "torch":
            import torch

            model.fit(torch.asarray(X), y)
        elif route == "krylov":
            model.set_params(eigen_solver="block_krylov").fit(X, y)
        else:
            model.fit(X, y)
    return Fitted(model, problem, weights, list(given), y)


def with_route(problem, route):
    return replace(problem, route=route)
