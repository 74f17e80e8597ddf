"""Families of inputs: members, derivatives, bounds and starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage.invariances import Rotate, TranslateX, TranslateY
from preimage.solvers import FunctionFamily, Mixtures, Transformed
from preimage.solvers._families import MOST_STARTS, check_family, members

X = np.random.default_rng(0).normal(size=(4, 6))


def curve(T):
    return np.column_stack([np.cos(T[:, 0]) * T[:, 1], np.sin(T[:, 0]), T[:, 1] ** 2])


def jacobian(T):
    a, b = T.T
    zero = np.zeros_like(a)
    return np.stack(
        [
            np.stack([-np.sin(a) * b, np.cos(a)], axis=1),
            np.stack([np.cos(a), zero], axis=1),
            np.stack([zero, 2 * b], axis=1),
        ],
        axis=1,
    )


FAMILIES = {
    "convex": Mixtures(X),
    "affine": Mixtures(X, "affine"),
    "linear": Mixtures(X, "linear"),
    "moved": Transformed(np.abs(X), [TranslateX((2, 3)), TranslateY((2, 3))], reach=[0.5, 1.0]),
    "function": FunctionFamily(curve, 2),
    "jacobian": FunctionFamily(curve, 2, jacobian),
    "bounded": FunctionFamily(curve, 2, lower=[0.0, -1.0], upper=[3.0, np.inf]),
}


def some_parameters(family, rng, n=5):
    low, high = family.bounds()
    T = rng.random((n, family.n_parameters)) + 0.1
    bounded = np.isfinite(low) & np.isfinite(high)
    T[:, bounded] = low[bounded] + 0.8 * (T[:, bounded] - 0.1) * (high - low)[bounded]
    return T


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_are_those_of_the_members(name, rng):
    family, step = FAMILIES[name], 1e-4
    T = some_parameters(family, rng)
    first = 1 if name == "moved" else 0  # the number of a template has no derivative
    for j in range(first, family.n_parameters):
        move = step * np.eye(family.n_parameters)[j]
        expected = (family(T + move) - family(T - move)) / (2 * step)
        assert_allclose(family.derivatives(T)[j], expected, atol=1e-5)
    gradients = rng.normal(size=family(T).shape)
    expected = np.stack([np.sum(each * gradients, axis=1) for each in family.derivatives(T)], axis=1)
    assert_allclose(family.contracted(T, gradients), expected, atol=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
def test_starts_are_within_the_bounds(name):
    family = FAMILIES[name]
    low, high = family.bounds()
    T = family.starts()
    assert T.shape[1] == family.n_parameters and (low <= T).all() and (high >= T).all()
    assert members(family, T, None).shape[0] == len(T)


@pytest.mark.parametrize("name", FAMILIES)
def test_canonical_parameters_have_the_same_members(name, rng):
    family = FAMILIES[name]
    T = some_parameters(family, rng)
    assert_allclose(family(family.canonical(T)), family(T), atol=1e-12)


def test_weights_of_mixtures_sum_to_one(rng):
    T = rng.random((5, 4))
    for weights in ("convex", "affine"):
        assert_allclose(Mixtures(X, weights).canonical(T).sum(axis=1), 1)
    assert_allclose(Mixtures(X)(np.zeros((1, 4))), X.mean(axis=0)[None])  # no weight at all is all alike
    assert_allclose(Mixtures(sparse.csr_matrix(X))(T), Mixtures(X)(T))


def test_transformations_follow_each_other():
    image = np.zeros((1, 25))
    image[0, 12] = 1.0
    family = Transformed(image, [TranslateX((5, 5)), Rotate((5, 5))], reach=2.0)
    moved = Rotate((5, 5)).apply(TranslateX((5, 5)).apply(image, 1.0), 0.3)
    assert_allclose(family(np.array([[0.0, 1.0, 0.3]])), moved)
    assert family.bounds()[1].tolist() == [0.0, 2.0, 2.0]


def test_differences_stay_within_the_bounds():
    def root(T):
        assert (T >= 0).all() and (T <= 1).all()
        return np.sqrt(T + 1)

    family = FunctionFamily(root, 1, lower=0.0, upper=1.0)
    slopes = family.derivatives(np.array([[0.0], [0.5], [1.0]]))[0][:, 0]
    assert_allclose(slopes, 0.5 / np.sqrt([1.0, 1.5, 2.0]), atol=1e-4)


def test_boxes_of_many_sides_have_random_starts():
    assert len(FunctionFamily(lambda T: T, 9, lower=-1.0, upper=1.0).starts()) == MOST_STARTS
    assert FunctionFamily(lambda T: T, 2, lower=3.0).starts().tolist() == [[3.0, 3.0]]  # nearest to zero


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Mixtures(X[:0]), "one or more rows"),
        (Mixtures(X * np.nan), "finite"),
        (Mixtures(X, "any"), "weights"),
        (Transformed(X, []), "at least one transformation"),
        (Transformed(X, lambda X, t: X, reach=-1.0), "reach"),
        (Transformed(X, lambda X, t: X, reach=[1.0, 2.0]), "reach"),
        (FunctionFamily(lambda T: T, 0), "n_parameters"),
        (FunctionFamily(lambda T: T, 2, lower=[0.0, 0.0, 0.0]), "lower"),
        (FunctionFamily(lambda T: T, 2, lower=1.0, upper=0.0), "lower ≤ upper"),
        (FunctionFamily(lambda T: T, 2, step=2.0), "step"),
    ],
)
def test_families_without_members_are_refused(family, message):
    with pytest.raises(ValueError, match=message):
        check_family(family)


def test_transformations_are_functions():
    with pytest.raises(TypeError, match="function of rows and amounts"):
        check_family(Transformed(X, [3.0]))


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (FunctionFamily(lambda T: T[0], 2), "shape"),
        (FunctionFamily(lambda T: T[:1], 2), "shape"),
        (FunctionFamily(lambda T: T * np.nan, 2), "NaN or infinity"),
    ],
    ids=["one row", "too few rows", "nothing"],
)
def test_members_are_rows_of_numbers(family, message):
    with pytest.raises(ValueError, match=message):
        members(family, np.ones((3, 2)), 2)


def test_jacobians_have_a_shape():
    with pytest.raises(ValueError, match=r"shape \(3, d, 2\)"):
        FunctionFamily(curve, 2, lambda T: T).derivatives(np.ones((3, 2)))
