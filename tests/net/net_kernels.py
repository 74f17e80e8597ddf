"""Random kernels by random algebra, and their values in extended precision, one formula per kernel."""

import numpy as np

from preimage.kernels import (
    AdditiveChi2,
    CallableKernel,
    Chi2,
    Cosine,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Iterated,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    Multiquadric,
    Normalized,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Scaled,
    ScaledInputs,
    ShiftedInputs,
    Sigmoid,
    Sum,
    is_profile,
)

LONG = np.longdouble


def random_kernel(rng, X, depth=2):
    """A kernel for rows like X: a leaf, or a combination of kernels of less depth."""
    if depth == 0 or rng.random() < 0.45:
        return _leaf(rng, X)
    part = lambda: random_kernel(rng, X, depth - 1)
    choice = rng.integers(8)
    if choice == 0:
        return part() + part()
    if choice == 1:
        return part() * part()
    if choice == 2:
        return 10.0 ** rng.uniform(-3, 3) * part()
    if choice == 3:
        return part() ** int(rng.integers(1, 4))
    if choice == 4:
        return Normalized(part())
    if choice == 5:
        weights = rng.random(X.shape[1]) * (rng.random(X.shape[1]) < 0.8)
        return ScaledInputs(part(), weights)
    if choice == 6:
        matrix = np.abs(rng.normal(size=(int(rng.integers(1, 4)), X.shape[1])))  # non-negative rows stay so
        return MappedInputs(random_kernel(rng, X @ matrix.T.astype(X.dtype), depth - 1), matrix)
    return Iterated(part())


def _leaf(rng, X):
    gamma = _gamma(rng, X)
    inner = _inner_gamma(rng, X)
    leaves = [
        lambda: Gaussian(gamma),
        lambda: Gaussian(gamma),
        lambda: Laplacian(_laplacian_gamma(rng, X)),
        lambda: RationalQuadratic(gamma),
        lambda: InverseMultiquadric(gamma),
        lambda: Multiquadric(gamma),
        lambda: Matern(gamma, nu=float(rng.choice([0.5, 1.5, 2.5]))),
        lambda: Linear(),
        lambda: Cosine(),
        lambda: Polynomial(int(rng.integers(1, 5)), inner, float(rng.choice([0.0, 0.5, 1.0, 10.0]))),
        lambda: Exponential(inner),
        lambda: Sigmoid(inner, float(rng.choice([0.0, 0.3, -0.5]))),
        lambda: CallableKernel(_rows_product if rng.random() < 0.5 else _matrix_product),
    ]
    if X.min() >= 0:
        leaves += [lambda: Chi2(_laplacian_gamma(rng, X)), lambda: AdditiveChi2()] * 2
    return leaves[rng.integers(len(leaves))]()


def _rows_product(x, y):
    return float(np.dot(x, y))


def _matrix_product(X, Y):
    return X @ Y.T


def _gamma(rng, X):
    """A rule, a width near the distances of the data or far from them, or whatever it is."""
    kind = rng.integers(4)
    if kind == 0:
        rule = str(rng.choice(["scale", "median", "p5", "auto"]))
        return rule if rule in ("scale", "auto") or len(np.unique(X, axis=0)) > 1 else 1.0
    if kind == 1:
        return float(10.0 ** rng.uniform(-6, 6))
    squared = float(np.mean((X - X.mean(axis=0)).astype(float) ** 2)) * X.shape[1]
    return float(10.0 ** rng.uniform(-4, 2) / squared) if squared > 1e-250 else 1.0


def _laplacian_gamma(rng, X):
    size = float(np.mean(np.abs(X - X.mean(axis=0)).astype(float))) * X.shape[1]
    return float(10.0 ** rng.uniform(-3, 2) / size) if size > 1e-250 else 1.0


def _inner_gamma(rng, X):
    largest = float(np.max(np.sum(X.astype(float) ** 2, axis=1)))
    return float(10.0 ** rng.uniform(-2, 0.5) / largest) if largest > 1e-250 else 1.0


def exact_values(kernel, X, Y):
    """k(X, Y) of a resolved kernel in extended precision; quantities by differences, without cancellation."""
    X, Y = np.asarray(X, LONG), np.asarray(Y, LONG)
    if is_profile(kernel):
        return kernel.profile(_quantity(kernel.pairwise, X, Y))
    return _RULES[type(kernel)](kernel, X, Y)


def exact_diagonal(kernel, X):
    return np.array([exact_values(kernel, x[None], x[None])[0, 0] for x in X])


def _quantity(pairwise, X, Y):
    left, right = X[:, None, :], Y[None, :, :]
    name = type(pairwise).__name__
    if name == "InnerProduct":
        return X @ Y.T
    if name == "SquaredDistance":
        return np.sum((left - right) ** 2, axis=2)
    if name == "ManhattanDistance":
        return np.sum(np.abs(left - right), axis=2)
    total = left + right
    return np.sum(np.where(total > 0, (left - right) ** 2 / np.where(total > 0, total, LONG(1)), LONG(0)), axis=2)


def _normalized(kernel, X, Y):
    # Double precision has a smaller range: lengths below it have no direction there.
    lengths = [exact_diagonal(kernel.kernel, points) for points in (X, Y)]
    inverse = [np.where(s > 1e-300, 1 / np.sqrt(np.where(s > 1e-300, s, LONG(1))), LONG(0)) for s in lengths]
    return exact_values(kernel.kernel, X, Y) * inverse[0][:, None] * inverse[1][None, :]


def _iterated(kernel, X, Y):
    left, right = (exact_values(kernel.kernel, points, kernel.reference) for points in (X, Y))
    return left @ right.T / left.shape[1]


_RULES = {
    Sum: lambda k, X, Y: exact_values(k.left, X, Y) + exact_values(k.right, X, Y),
    Product: lambda k, X, Y: exact_values(k.left, X, Y) * exact_values(k.right, X, Y),
    Scaled: lambda k, X, Y: LONG(k.factor) * exact_values(k.kernel, X, Y),
    Power: lambda k, X, Y: exact_values(k.kernel, X, Y) ** k.exponent,
    Normalized: _normalized,
    ScaledInputs: lambda k, X, Y: exact_values(k.kernel, *(P * np.sqrt(np.asarray(k.weights, LONG)) for P in (X, Y))),
    MappedInputs: lambda k, X, Y: exact_values(k.kernel, *(P @ np.asarray(k.matrix, LONG).T for P in (X, Y))),
    ShiftedInputs: lambda k, X, Y: exact_values(k.kernel, *(P - np.asarray(k.origin, LONG) for P in (X, Y))),
    Iterated: _iterated,
    CallableKernel: lambda k, X, Y: X @ Y.T,
}
