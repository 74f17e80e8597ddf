"""The tangent covariance against explicit features, and its order in the step."""

from itertools import pairwise

import numpy as np
import pytest
from naive import monomials

from preimage._engine.arrays import to_numpy
from preimage._engine.rows import forced_block_shape
from preimage.feature_space import Expansion
from preimage.invariances import (
    FunctionTransformation,
    Rotate,
    TangentCovariance,
    TranslateX,
    as_tangent_covariance,
    directional_derivatives,
)
from preimage.invariances import _tangent_covariance as module
from preimage.kernels import CallableKernel, Gaussian, Laplacian, Linear, Polynomial

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(30, 2)), rng.normal(size=(7, 2))


def rotate(X, angle):
    c, s = np.cos(angle), np.sin(angle)
    return X @ np.array([[c, s], [-s, c]])


def shift(X, t):
    return X + t * np.array([1.0, 0.0])


def rotate_anywhere(X, angle):
    """Rotation in any array library."""
    from preimage._engine.arrays import from_numpy

    c, s = np.cos(angle), np.sin(angle)
    return X @ from_numpy(np.array([[c, s], [-s, c]]), X)


ROTATION = FunctionTransformation(rotate, tangent_function=lambda X: np.stack([-X[:, 1], X[:, 0]], axis=1))


@pytest.mark.parametrize("method", ["central", "forward"])
def test_factor_is_that_of_explicit_features(method):
    kernel, t = Polynomial(2, gamma=1.0, coef0=0.0), 0.05
    features = lambda points: monomials(points, 2)
    behind = rotate(X, -t) if method == "central" else X
    tangents = (features(rotate(X, t)) - features(behind)) / (2 * t if method == "central" else t)
    S = tangents.T @ tangents / len(X)
    alpha = rng.normal(size=7)
    w = features(Z).T @ alpha
    T = TangentCovariance(rotate, step=t, method=method).tangent_moment(kernel, Z, X)
    assert alpha @ T @ alpha == pytest.approx(w @ S @ w, rel=1e-11)


def test_analytic_factor_is_that_of_explicit_features():
    kernel = Polynomial(2, gamma=1.0, coef0=0.0)
    jacobian = (monomials(rotate(X, 1e-6), 2) - monomials(rotate(X, -1e-6), 2)) / 2e-6
    expected = monomials(Z, 2) @ (jacobian.T @ jacobian / len(X)) @ monomials(Z, 2).T
    np.testing.assert_allclose(
        TangentCovariance(ROTATION, method="analytic").tangent_moment(kernel, Z, X), expected, rtol=1e-7, atol=1e-8
    )


def error_of(method, t):
    kernel = Gaussian(1.0)
    exact = TangentCovariance(ROTATION, method="analytic").tangent_moment(kernel, Z, X)
    T = TangentCovariance(ROTATION, step=t, method=method).tangent_moment(kernel, Z, X)
    return np.linalg.norm(T - exact) / np.linalg.norm(exact)


@pytest.mark.parametrize(("method", "order"), [("central", 2), ("forward", 1)])
def test_differences_converge_with_their_order(method, order):
    errors = [error_of(method, t) for t in (0.04, 0.02, 0.01)]
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(2**order, rel=0.2)


def test_the_limit_of_central_differences_is_analytic():
    assert error_of("central", 1e-3) < 1e-5
    assert error_of("central", 1e-4) < 1e-7


@pytest.mark.parametrize("method", ["central", "forward", "analytic"])
def test_moment_is_the_product_of_factors(method):
    covariance = TangentCovariance([rotate, shift], method=method)
    G = covariance.tangent_factor(Gaussian(0.5), Z, X)
    assert G.shape == (7, 60)
    np.testing.assert_allclose(covariance.tangent_moment(Gaussian(0.5), Z, X), G @ G.T, atol=1e-13)


def test_several_transformations_are_averaged():
    moment = lambda each: TangentCovariance(each).tangent_moment(Gaussian(0.5), Z, X)
    np.testing.assert_allclose(moment([rotate, shift]), (moment(rotate) + moment(shift)) / 2, atol=1e-13)


def test_blocks_do_not_matter(monkeypatch):
    whole = TangentCovariance(rotate).tangent_moment(Gaussian(0.5), Z, X)
    monkeypatch.setattr(module, "BLOCK", 7)
    with forced_block_shape(4, 3):
        np.testing.assert_allclose(TangentCovariance(rotate).tangent_moment(Gaussian(0.5), Z, X), whole, atol=1e-14)


def test_moment_of_vectors_is_the_change_of_their_functions():
    vectors = Expansion(Gaussian(0.5), Z, rng.normal(size=(7, 2)))
    covariance = TangentCovariance(rotate, step=1e-3)
    change = (vectors(rotate(X, 1e-3)) - vectors(rotate(X, -1e-3))) / 2e-3
    np.testing.assert_allclose(covariance.moment_of(vectors, X), change.T @ change / len(X), rtol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.5),
        Polynomial(3, gamma=0.5, coef0=1.0),
        Linear(),
        Laplacian(0.7),
        Gaussian(0.5) + Linear(),
        Gaussian(0.5) * Polynomial(2, gamma=1.0),
    ],
    ids=repr,
)
def test_directional_derivatives(kernel):
    tau, t = rng.normal(size=X.shape), 1e-6
    difference = (kernel(X + t * tau, Z) - kernel(X - t * tau, Z)) / (2 * t)
    np.testing.assert_allclose(directional_derivatives(kernel, X, tau, Z), difference, rtol=1e-5, atol=1e-7)


def test_analytic_needs_a_gradient():
    kernel = CallableKernel(lambda x, y: float(x @ y))
    with pytest.raises(TypeError, match="needs the gradient"):
        TangentCovariance(rotate, method="analytic").tangent_moment(kernel, Z, X)
    assert TangentCovariance(rotate).tangent_moment(kernel, Z, X).shape == (7, 7)


@pytest.mark.parametrize("method", ["central", "forward", "analytic"])
def test_array_libraries_agree(xp, method):
    covariance = TangentCovariance(rotate_anywhere, method=method)
    T = covariance.tangent_moment(Gaussian(0.5), xp.asarray(Z), xp.asarray(X))
    expected = covariance.tangent_moment(Gaussian(0.5), Z, X)
    np.testing.assert_allclose(to_numpy(T), expected, atol=1e-10)


def test_single_precision_loses_no_digits_to_differences():
    single = TangentCovariance(rotate, step=1e-3).tangent_moment(Gaussian(0.5), Z.astype("f"), X.astype("f"))
    double = TangentCovariance(rotate, step=1e-3).tangent_moment(Gaussian(0.5), Z, X)
    np.testing.assert_allclose(single, double, atol=1e-6)


def test_displaced_rows_are_transformed_ones():
    np.testing.assert_array_equal(
        TangentCovariance([rotate, shift], step=0.1).displaced(X), np.concatenate([rotate(X, 0.1), shift(X, 0.1)])
    )


@pytest.mark.parametrize("step", [0, -1.0, "small"])
def test_steps_are_positive(step):
    with pytest.raises(ValueError, match="step"):
        TangentCovariance(rotate, step=step).tangent_moment(Linear(), Z, X)


def test_transformations_are_needed():
    with pytest.raises(ValueError, match="at least one transformation"):
        TangentCovariance([]).tangent_moment(Linear(), Z, X)
    with pytest.raises(TypeError, match=r"such as Rotate\(\(16, 16\)\)"):
        TangentCovariance(["rotate"]).tangent_moment(Linear(), Z, X)


def test_missing_values_are_refused():
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="NaN or infinity"):
        TangentCovariance(rotate).tangent_moment(Linear(), Z, bad)


def test_shorthands():
    given = TangentCovariance(Rotate((4, 4)), step=0.1)
    assert as_tangent_covariance(given) is given
    assert as_tangent_covariance([TranslateX((4, 4))]).step == 0.01


def test_weights_are_repetitions(rng):
    X, points = rng.normal(size=(40, 2)), rng.normal(size=(5, 2))
    weights = rng.integers(0, 4, 40)
    tangents = TangentCovariance([lambda X, t: X + t, lambda X, t: X * (1 + t)])
    weighted = tangents.tangent_moment(Gaussian(0.5), points, X, weights)
    np.testing.assert_allclose(weighted, tangents.tangent_moment(Gaussian(0.5), points, np.repeat(X, weights, axis=0)))


@pytest.mark.parametrize("method", ["central", "forward", "analytic"])
def test_weights_make_a_weighted_mean_of_transformations(method):
    kernel = Gaussian(0.4)
    alone = [TangentCovariance(part, method=method).tangent_moment(kernel, Z, X) for part in (rotate, shift)]
    both = TangentCovariance([rotate, shift], method=method, weights=[3, 1])
    expected = (3 * alone[0] + alone[1]) / 4
    np.testing.assert_allclose(both.tangent_moment(kernel, Z, X), expected, rtol=1e-12)
    G = both.tangent_factor(kernel, Z, X)
    np.testing.assert_allclose(G @ G.T, expected, rtol=1e-11)
    vectors = Expansion(kernel, Z, np.eye(7)[:, :3])
    np.testing.assert_allclose(both.moment_of(vectors, X), expected[:3, :3], rtol=1e-12)


def test_equal_weights_are_none_and_their_size_does_not_matter():
    kernel = Gaussian(0.4)
    moment = lambda weights: TangentCovariance([rotate, shift], weights=weights).tangent_moment(kernel, Z, X)
    np.testing.assert_array_equal(moment([7, 7]), moment(None))
    np.testing.assert_allclose(moment([2e300, 1e300]), moment([2, 1]), rtol=1e-13)


def test_a_transformation_of_weight_zero_is_left_out():
    one, none = TangentCovariance(rotate), TangentCovariance([rotate, shift], weights=[1, 0])
    np.testing.assert_allclose(none.tangent_moment(Gaussian(0.4), Z, X), one.tangent_moment(Gaussian(0.4), Z, X))
    np.testing.assert_array_equal(none.displaced(X), one.displaced(X))


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [1, np.nan], [[1, 1]], ["a", "b"]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match=r"one number per transformation, 2 here"):
        TangentCovariance([rotate, shift], weights=weights).tangent_moment(Gaussian(0.4), Z, X)
