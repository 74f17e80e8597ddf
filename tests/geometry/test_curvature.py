"""Curvature: closed forms, Gauss' equation on explicit features, derivatives of the connection."""

import numpy as np
import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from surfaces import (
    DIRECTED,
    DOT_PRODUCTS,
    ISOTROPIC,
    MATRIX,
    POINTS,
    RADIAL,
    SMOOTH,
    embedding_derivatives,
    jacobian,
    name,
)

from preimage.exceptions import UnsupportedKernelError
from preimage.geometry import _curvature as curvature_module
from preimage.geometry import metric_tensor, scalar_curvature
from preimage.geometry._curvature import christoffel as christoffel_symbols
from preimage.geometry._curvature import riemann as riemann_tensor
from preimage.geometry._jet import CURVATURE, diagonal_jet
from preimage.kernels import (
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    Normalized,
    Polynomial,
    ScaledInputs,
    Sigmoid,
)

POLYNOMIALS = [(2, 0.0), (3, 0.0), (2, 1.0), (3, 0.5), (4, 1.0)]


def sectional_curvatures(kernel, X, U, V):
    """R(u, v, u, v) over the squared area of the parallelogram of u and v."""
    g = metric_tensor(kernel, X)
    product = lambda A, B: np.einsum("na,nab,nb->n", A, g, B)
    areas = product(U, U) * product(V, V) - product(U, V) ** 2
    return np.einsum("nabcd,na,nb,nc,nd->n", riemann_tensor(kernel, X), U, V, U, V) / areas


@for_each("kernel", ISOTROPIC + DIRECTED, ids=name)
def test_riemann_tensor_is_made_of_derivatives_of_the_connection(kernel):
    """R^a_bcd = ∂_c Γ^a_db − ∂_d Γ^a_cb + Γ^a_ce Γ^e_db − Γ^a_de Γ^e_cb."""
    for x, ours in zip(POINTS, riemann_tensor(kernel, POINTS)):
        connection = christoffel_symbols(kernel, x[None])[0]
        slopes = jacobian(lambda z: christoffel_symbols(kernel, z[None])[0], x)  # [a, b, d, c] = ∂_c Γ^a_bd
        upper = np.einsum("adbc->abcd", slopes) + np.einsum("ace,edb->abcd", connection, connection)
        upper = upper - upper.transpose(0, 1, 3, 2)
        expected = np.einsum("am,mbcd->abcd", metric_tensor(kernel, x[None])[0], upper)
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("degree", "constant"), POLYNOMIALS)
def test_riemann_tensor_of_explicit_monomials(degree, constant):
    """Gauss' equation with the second fundamental form, the part of φ″ across the tangent space."""
    for x in POINTS:
        J, H = embedding_derivatives(x, degree, constant)
        tangential = J @ np.linalg.lstsq(J, H.reshape(len(H), -1), rcond=None)[0]
        normal = H - tangential.reshape(H.shape)
        expected = np.einsum("fac,fbd->abcd", normal, normal) - np.einsum("fad,fbc->abcd", normal, normal)
        ours = riemann_tensor(Polynomial(degree, coef0=constant), x[None])[0]
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9 * np.abs(H).max() ** 2)


@given(hnp.arrays(float, (2, 3), elements=st.floats(0.125, 2, width=32)), st.sampled_from(SMOOTH))
def test_symmetries(X, kernel):
    R = riemann_tensor(kernel, X)
    scale = np.abs(R).max() + np.abs(diagonal_jet(kernel, X, CURVATURE).dense(2, 2, 3)).max()
    zero = lambda tensor: np.testing.assert_allclose(tensor, 0, atol=1e-11 * scale)
    zero(R + np.einsum("nbacd->nabcd", R))
    zero(R + np.einsum("nabdc->nabcd", R))
    zero(R - np.einsum("ncdab->nabcd", R))
    zero(R + np.einsum("nacdb->nabcd", R) + np.einsum("nadbc->nabcd", R))  # Bianchi


@pytest.mark.parametrize(("p", "c"), [*POLYNOMIALS, (1, 1.0), (7, 2.0)])
def test_polynomials_have_the_curvature_of_their_closed_form(p, c):
    """(C10) and (C12)."""
    N, eye = 3, np.eye(3)
    for x in POINTS:
        s, u = x @ x, x @ x + c
        planes = np.einsum("ac,bd->abcd", eye, eye) - np.einsum("ad,bc->abcd", eye, eye)
        radial = np.einsum("ac,b,d->abcd", eye, x, x) + np.einsum("bd,a,c->abcd", eye, x, x)
        radial -= np.einsum("ad,b,c->abcd", eye, x, x) + np.einsum("bc,a,d->abcd", eye, x, x)
        kernel = Polynomial(p, coef0=c)
        expected = -p * (p - 1) * u ** (p - 2) * (planes - radial / u)
        np.testing.assert_allclose(riemann_tensor(kernel, x[None])[0], expected, rtol=1e-10, atol=1e-12 * u**p)
        scalar = -(p - 1) * (N - 1) / (p * u**p) * ((N - 2) + 2 * c / (c + p * s))
        np.testing.assert_allclose(scalar_curvature(kernel, x[None]), [scalar], rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(("p", "c"), [(2, 1.0), (3, 0.5), (4, 0.0)])
def test_mixed_riemann_tensor_of_polynomials(p, c):
    """(C11): the last index raised."""
    eye = np.eye(3)
    for x in POINTS:
        s, u = x @ x, x @ x + c
        first = np.einsum("ac,bd->abcd", eye, eye) - np.einsum("bc,ad->abcd", eye, eye)
        second = np.einsum("d,ac,b->abcd", x, eye, x) - np.einsum("d,bc,a->abcd", x, eye, x)
        third = np.einsum("c,a,bd->abcd", x, x, eye) - np.einsum("c,b,ad->abcd", x, x, eye)
        expected = -(p - 1) / u * (first - p / (c + p * s) * second - third / u)
        kernel = Polynomial(p, coef0=c)
        inverse = np.linalg.inv(metric_tensor(kernel, x[None])[0])
        ours = np.einsum("abce,ed->abcd", riemann_tensor(kernel, x[None])[0], inverse)
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("p", [2, 3, 5])
@pytest.mark.parametrize("d", [2, 3, 6, 12])
def test_curvature_at_the_origin(p, d):
    R = scalar_curvature(Polynomial(p, coef0=1.0), np.zeros((1, d)))
    np.testing.assert_allclose(R, -(p - 1) * d * (d - 1) / p, rtol=1e-13)


@pytest.mark.parametrize("p", [2, 3, 4, 5])
def test_homogeneous_surfaces_of_two_inputs_are_flat(p):
    X, kernel = POINTS[:, :2], Polynomial(p, coef0=0.0)
    scale = np.abs(diagonal_jet(kernel, X, CURVATURE).dense(2, 2, 2)).max()
    np.testing.assert_allclose(riemann_tensor(kernel, X), 0, atol=1e-13 * scale)
    np.testing.assert_allclose(scalar_curvature(kernel, X), 0, atol=1e-13)


@pytest.mark.parametrize("p", [2, 3, 4])
def test_inhomogeneous_surfaces_of_two_inputs_are_not(p):
    """R_1212 = −p(p − 1) c u^(p − 3)."""
    c = 0.7
    u = np.sum(POINTS[:, :2] ** 2, axis=1) + c
    R = riemann_tensor(Polynomial(p, coef0=c), POINTS[:, :2])[:, 0, 1, 0, 1]
    np.testing.assert_allclose(R, -p * (p - 1) * c * u ** (p - 3), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(1, coef0=3.0), *RADIAL, ScaledInputs(Linear(), [1.0, 2.0, 3.0])], ids=name
)
def test_linear_and_radial_kernels_are_flat(kernel):
    assert not scalar_curvature(kernel, POINTS).any()
    np.testing.assert_allclose(riemann_tensor(kernel, POINTS), 0, atol=1e-15)


def test_disguised_flat_kernels_are_flat():
    for kernel in (Normalized(Exponential(0.6)), Linear() + Gaussian(0.4), Linear() + Matern(0.4, nu=1.5)):
        np.testing.assert_allclose(riemann_tensor(kernel, POINTS), 0, atol=1e-12)
        np.testing.assert_allclose(scalar_curvature(kernel, POINTS), 0, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5, 12])
def test_the_sphere_has_the_curvature_of_the_sphere(d):
    """(x, 1)/‖(x, 1)‖ is a chart of the unit sphere, times 1.5 of one with the radius 1.5."""
    X = np.random.default_rng(0).normal(size=(3, d)) / np.sqrt(d)
    sphere = Normalized(Polynomial(1, coef0=1.0))
    np.testing.assert_allclose(scalar_curvature(sphere, X), d * (d - 1), rtol=1e-10)
    np.testing.assert_allclose(scalar_curvature(1.5**2 * sphere, X), d * (d - 1) / 1.5**2, rtol=1e-10)


@pytest.mark.parametrize("kernel", DOT_PRODUCTS, ids=name)
def test_planes_of_dot_products_have_the_curvature_of_their_closed_form(kernel):
    """(C8): of planes across x, and of planes that contain x."""
    s = np.sum(POINTS**2, axis=1)
    _, first, second, third = kernel.profile_derivatives(s, 3)
    across, along = -second / first**2, (-second - s * (third - second**2 / first)) / (first * (first + s * second))
    aside = np.cross(POINTS, [1.0, 0.3, -0.2])
    other = np.cross(POINTS, aside)
    np.testing.assert_allclose(sectional_curvatures(kernel, POINTS, aside, other), across, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sectional_curvatures(kernel, POINTS, POINTS, aside), along, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scalar_curvature(kernel, POINTS), 2 * across + 4 * along, rtol=1e-9, atol=1e-12)


def test_curvature_is_invariant_under_rotations_and_charts():
    Q = np.linalg.qr(MATRIX)[0]
    for kernel in (Polynomial(3, coef0=0.5), Normalized(Polynomial(2) + Gaussian(0.3))):
        expected = scalar_curvature(kernel, POINTS)
        np.testing.assert_allclose(scalar_curvature(kernel, POINTS @ Q), expected, rtol=1e-10)
        chart = POINTS @ np.linalg.inv(MATRIX).T
        np.testing.assert_allclose(scalar_curvature(MappedInputs(kernel, MATRIX), chart), expected, rtol=1e-8)
        nested = ScaledInputs(MappedInputs(kernel, MATRIX), [4.0, 1.0, 0.25])
        np.testing.assert_allclose(scalar_curvature(nested, chart / [2.0, 1.0, 0.5]), expected, rtol=1e-8)


def test_multiples_divide_the_curvature():
    kernel = Polynomial(2) + Gaussian(0.3)
    np.testing.assert_allclose(
        scalar_curvature(2.5 * kernel, POINTS), scalar_curvature(kernel, POINTS) / 2.5, rtol=1e-12
    )


def test_blocks_of_points_do_not_matter(monkeypatch):
    kernel, X = DIRECTED[4], np.random.default_rng(0).normal(size=(11, 3))
    expected = scalar_curvature(kernel, X)
    monkeypatch.setattr(curvature_module, "LARGEST_BLOCK", 4 * 3**4)
    np.testing.assert_allclose(scalar_curvature(kernel, X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [Polynomial(3, coef0=0.0), Exponential(0.3), Gaussian(), Polynomial(2) + Gaussian()], ids=name
)
def test_one_input_has_no_curvature(kernel):
    X = [[0.5], [-2.0]]
    assert not scalar_curvature(kernel, X).any()
    assert not riemann_tensor(kernel, np.array(X)).any()


def test_single_precision_and_tensors(xp):
    expected = scalar_curvature(Polynomial(3), POINTS)
    np.testing.assert_allclose(np.asarray(scalar_curvature(Polynomial(3), xp.asarray(POINTS))), expected)
    single = scalar_curvature(Polynomial(3), POINTS.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-5)


def test_curvature_that_overflows_near_the_singular_origin_is_refused():
    with pytest.raises(ValueError, match="scalar_curvature gives numbers that are not finite"):
        scalar_curvature(Polynomial(2, coef0=0.0), [[1e-90, 0.0, 0.0]])


def test_the_singular_origin_is_named():
    with pytest.raises(ValueError, match=r"point 1 \(\[0. 0. 0.\]\) is degenerate.*Homogeneous"):
        scalar_curvature(Polynomial(2, coef0=0.0), [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def test_indefinite_metrics_are_refused():
    with pytest.raises(ValueError, match=r"indefinite.*mercer_report"):
        scalar_curvature(Sigmoid(1.0, 0.0), [[1.0, 1.0]])
    with pytest.raises(ValueError, match="degenerate"):
        scalar_curvature(Cosine(), POINTS)


def test_rough_kernels_are_refused():
    with pytest.raises(UnsupportedKernelError, match="differentiable"):
        scalar_curvature(Laplacian(), POINTS)
    with pytest.raises(UnsupportedKernelError, match="infinite derivative"):
        scalar_curvature(Matern(nu=0.5), POINTS)


def test_tensors_too_large_are_refused():
    with pytest.raises(ValueError, match=r"100 inputs are too many \(the most is 45\)"):
        scalar_curvature(Polynomial(2), np.ones((1, 100)))
