"""The metric is that of the surface which the feature map makes of input space."""

import numpy as np
import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from surfaces import (
    DIRECTED,
    DOT_PRODUCTS,
    ISOTROPIC,
    MATRIX,
    MIXED,
    POINTS,
    SMOOTH,
    TALL,
    embedding_derivatives,
    is_smooth,
    jacobian,
    name,
)

from preimage.exceptions import UnsupportedKernelError
from preimage.geometry import geodesic, metric_tensor
from preimage.geometry._curvature import christoffel as christoffel_symbols
from preimage.kernels import (
    CallableKernel,
    Cosine,
    Exponential,
    Gaussian,
    Iterated,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    Normalized,
    Polynomial,
    Precomputed,
    ProfileKernel,
    ScaledInputs,
)


def value(kernel, x, y):
    return float(kernel(x[None], y[None])[0, 0])


@for_each("kernel", ISOTROPIC + DIRECTED, ids=name)
def test_metric_is_the_mixed_derivative_of_the_kernel(kernel):
    slope = lambda x, y: kernel.gradient(x[None], y[None], np.ones((1, 1)))[0]
    if not is_smooth(kernel):  # third derivatives jump on the diagonal: differences are of first order there
        expected = [jacobian(lambda y, x=x: slope(x, y), x, step=1e-6) for x in POINTS]
        np.testing.assert_allclose(metric_tensor(kernel, POINTS), expected, rtol=1e-4, atol=1e-4)
    else:
        expected = [jacobian(lambda y, x=x: slope(x, y), x) for x in POINTS]
        np.testing.assert_allclose(metric_tensor(kernel, POINTS), expected, rtol=1e-8, atol=1e-9)


@for_each("kernel", SMOOTH, ids=name)
def test_metric_from_lengths(kernel):
    """The second form of (C1): half the second derivative of k(x, x) minus that of k(·, y) in y."""
    half = lambda x: kernel.diagonal_gradient(x[None])[0] / 2
    expected = []
    for x in POINTS:
        along = jacobian(lambda y, x=x: kernel.gradient(y[None], x[None], np.ones((1, 1)))[0], x)
        expected.append(jacobian(half, x) - along)
    np.testing.assert_allclose(metric_tensor(kernel, POINTS), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("degree", "constant"), [(1, 0.0), (2, 0.0), (2, 1.0), (3, 0.5), (4, 1.0)])
def test_metric_of_polynomials_is_that_of_their_monomials(degree, constant):
    for x in POINTS:
        J, _ = embedding_derivatives(x, degree, constant)
        g = metric_tensor(Polynomial(degree, coef0=constant), x[None])[0]
        np.testing.assert_allclose(g, J.T @ J, rtol=1e-12, atol=1e-12)


def test_gaussian_metric_is_constant():
    np.testing.assert_array_equal(metric_tensor(Gaussian(0.75), POINTS), np.broadcast_to(1.5 * np.eye(3), (4, 3, 3)))


@pytest.mark.parametrize(("nu", "factor"), [(1.5, 6.0), (2.5, 10 / 3)])
def test_matern_metric(nu, factor):
    """−2f′(0): 2νγ·2 for ν = 1.5, a third of it for ν = 2.5."""
    g = metric_tensor(Matern(0.4, nu=nu), POINTS)
    np.testing.assert_allclose(g, np.broadcast_to(factor * 0.4 * np.eye(3), g.shape), rtol=1e-14)


@pytest.mark.parametrize("base", [Polynomial(3, gamma=0.5), Exponential(0.2), Linear() + Gaussian(0.3)], ids=name)
def test_metric_of_a_normalized_kernel(base):
    """ĝ_ab = g_ab/κ − ∂_aκ ∂_bκ/(4κ²)."""
    length = base.diagonal(POINTS)[:, None, None]
    slope = base.diagonal_gradient(POINTS)
    expected = metric_tensor(base, POINTS) / length - slope[:, :, None] * slope[:, None, :] / (4 * length**2)
    np.testing.assert_allclose(metric_tensor(Normalized(base), POINTS), expected, rtol=1e-12, atol=1e-14)


def test_the_normalized_exponential_is_the_gaussian():
    expected = metric_tensor(Gaussian(0.35), POINTS)
    np.testing.assert_allclose(metric_tensor(Normalized(Exponential(0.7)), POINTS), expected, atol=1e-14)


@pytest.mark.parametrize("matrix", [MATRIX, TALL, MATRIX[:2]], ids=["square", "tall", "wide"])
def test_linear_maps_pull_the_metric_back(matrix):
    base = Polynomial(3, gamma=0.2) + Gaussian(0.1)
    expected = matrix.T @ metric_tensor(base, POINTS @ matrix.T) @ matrix
    np.testing.assert_allclose(metric_tensor(MappedInputs(base, matrix), POINTS), expected, rtol=1e-12, atol=1e-12)


def test_scaled_inputs_scale_the_metric():
    weights = np.array([1.0, 0.0, 4.0])
    g = metric_tensor(ScaledInputs(Gaussian(0.5), weights), POINTS)
    np.testing.assert_allclose(g, np.broadcast_to(np.diag(weights), g.shape))


def test_metric_adds_and_multiplies_as_features_do():
    left, right = Polynomial(2, gamma=0.5), Gaussian(0.3)
    g, h = metric_tensor(left, POINTS), metric_tensor(right, POINTS)
    np.testing.assert_allclose(metric_tensor(left + right, POINTS), g + h)
    np.testing.assert_allclose(metric_tensor(2.5 * right, POINTS), 2.5 * h)
    # φ ⊗ φ′: both parts of ∂(φ ⊗ φ′) and their products, which are halves of gradients of lengths.
    lengths = left.diagonal(POINTS)[:, None, None], right.diagonal(POINTS)[:, None, None]
    slopes = left.diagonal_gradient(POINTS) / 2, right.diagonal_gradient(POINTS) / 2
    crossed = slopes[0][:, :, None] * slopes[1][:, None, :]
    expected = g * lengths[1] + h * lengths[0] + crossed + crossed.transpose(0, 2, 1)
    np.testing.assert_allclose(metric_tensor(left * right, POINTS), expected, rtol=1e-13)


class Cubic(ProfileKernel):
    """(x·y)³ + x·y by somebody who knows the first derivative alone."""

    pairwise = Linear.pairwise

    def profile(self, s):
        return s**3 + s

    def profile_derivative(self, s):
        return 3 * s**2 + 1


@given(
    hnp.arrays(float, (3, 2), elements=st.floats(-3, 3, width=32)),
    st.sampled_from([kernel for kernel in DOT_PRODUCTS[:-4] + MIXED if "Sigmoid" not in repr(kernel)]),
)
def test_metrics_of_admissible_kernels_are_symmetric_and_semidefinite(X, kernel):
    if "Normalized" in repr(kernel):
        X = X + 0.01
    g = metric_tensor(kernel, X)
    np.testing.assert_array_equal(g, g.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(g) >= -1e-12 * (1 + np.abs(g).max())).all()


def test_homogeneous_kernels_have_no_metric_at_the_origin():
    assert not metric_tensor(Polynomial(2, coef0=0.0), np.zeros((1, 3))).any()


def test_duplicates_and_one_input():
    g = metric_tensor(Polynomial(2, coef0=1.0), [[1.0], [1.0], [-1.0]])
    np.testing.assert_allclose(g.ravel(), [6.0, 6.0, 6.0])  # the derivative of (x², √2 x, 1) squared: 4x² + 2


def test_results_live_where_the_points_do(xp):
    X = xp.asarray(POINTS)
    g = metric_tensor(Polynomial(3, gamma=0.5), X)
    assert type(g) is type(X) or isinstance(g, np.ndarray)
    np.testing.assert_allclose(np.asarray(g), metric_tensor(Polynomial(3, gamma=0.5), POINTS))


def test_single_precision_stays_single_and_is_computed_in_double():
    g = metric_tensor(Polynomial(3, gamma=0.5), POINTS.astype(np.float32))
    assert g.dtype == np.float32
    np.testing.assert_allclose(g, metric_tensor(Polynomial(3, gamma=0.5), POINTS), rtol=1e-5)


def test_sparse_points_and_lists_are_points():
    np.testing.assert_allclose(
        metric_tensor(Exponential(), sparse.csr_matrix(POINTS)), metric_tensor(Exponential(), POINTS)
    )
    np.testing.assert_allclose(metric_tensor(Linear(), [[1, 2]]), [np.eye(2)])


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(),
        Matern(nu=0.5),
        Linear() + Laplacian(),
        Normalized(Matern(nu=0.5)),
    ],
    ids=["Laplacian", "Matérn", "sum", "normalized"],
)
def test_rough_kernels_are_refused(kernel):
    with pytest.raises(UnsupportedKernelError, match=r"(?s)differentiable on the diagonal.*Matern\(nu=1.5\)"):
        metric_tensor(kernel, POINTS)


@pytest.mark.parametrize(
    "kernel", [CallableKernel(lambda X, Y: X @ Y.T), Precomputed(np.eye(3)), Iterated(Gaussian(0.3), POINTS), Cubic()]
)
def test_kernels_without_known_derivatives_are_refused(kernel):
    with pytest.raises(UnsupportedKernelError):
        metric_tensor(kernel, POINTS)


@pytest.mark.parametrize(
    ("kernel", "X", "error", "message"),
    [
        ("rbf", POINTS, TypeError, "needs a kernel of preimage.kernels"),
        (Gaussian("median"), POINTS, ValueError, "call `resolve"),
        (Gaussian(), POINTS[0], ValueError, "2D data"),
        (Gaussian(), np.empty((0, 3)), ValueError, "2D data"),
        (Gaussian(), [[0.0, 1.0], [np.nan, 0.0]], ValueError, "row 1 of X contains NaN"),
        (Gaussian(), [[0.0, np.inf]], ValueError, "row 0 of X contains NaN or infinity"),
        (ScaledInputs(Gaussian(), [1.0, 2.0]), POINTS, ValueError, "2 weights; the inputs have 3 columns"),
        (Polynomial(9), np.full((1, 2), 1e30), ValueError, r"k\(x, x\) is inf at point 0"),
        (Cosine(), np.zeros((1, 2)), ValueError, r"k\(x, x\) = 0: point 0"),
    ],
)
def test_bad_input_is_named(kernel, X, error, message):
    with pytest.raises(error, match=message):
        metric_tensor(kernel, X)


@for_each("kernel", ISOTROPIC + DIRECTED, ids=name)
def test_christoffel_symbols_are_derivatives_of_the_metric(kernel):
    """Γ^c_ab = ½ g^cm (∂_a g_mb + ∂_b g_ma − ∂_m g_ab)."""
    gamma = christoffel_symbols(kernel, POINTS)
    for x, ours in zip(POINTS, gamma):
        slopes = jacobian(lambda z: metric_tensor(kernel, z[None])[0], x)  # [a, b, m] = ∂_m g_ab
        lowered = (slopes.transpose(0, 2, 1) + slopes - slopes.transpose(2, 0, 1)) / 2
        expected = np.einsum("cm,mab->cab", np.linalg.inv(metric_tensor(kernel, x[None])[0]), lowered)
        np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-8)


def test_radial_kernels_have_no_christoffel_symbols():
    assert not christoffel_symbols(Matern(nu=1.5), POINTS).any()
    assert not christoffel_symbols(Gaussian(), POINTS).any()


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Polynomial(2, coef0=0.0), np.vstack([POINTS, np.zeros((1, 3))]), "at point 0 .* degenerate.*1 of 1"),
        (Cosine(), POINTS, "degenerate.*1 of 1"),
        (MappedInputs(Gaussian(), MATRIX[:2]), POINTS, "degenerate"),
        (ScaledInputs(Gaussian(), [1.0, 0.0, 1.0]), POINTS, "degenerate"),
        (-1.0 * Gaussian(), POINTS, "indefinite.*mercer_report"),
        (Polynomial(2, coef0=-30.0), POINTS, "indefinite"),
    ],
)
def test_singular_metrics_are_refused_with_a_reason(kernel, X, message):
    with pytest.raises(ValueError, match=message):
        geodesic(kernel, X[-1], np.ones(3))
