"""Necessary conditions catch what is no kernel and let pass what is one."""

import numpy as np
import pytest
from scipy.optimize import brentq
from surfaces import POINTS, name

from preimage.geometry import mercer_report
from preimage.kernels import (
    CallableKernel,
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Iterated,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Normalized,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(2, coef0=0.0),
        Polynomial(5, gamma=0.5),
        Exponential(0.5),
        Gaussian(0.3),
        Laplacian(0.3),
        RationalQuadratic(2.0),
        InverseMultiquadric(0.1),
        Matern(0.4, nu=0.5),
        Matern(0.4, nu=2.5),
        Constant(1.0),
        Cosine(),
        Normalized(Polynomial(3)),
        Polynomial(2) + Gaussian(0.2),
        Polynomial(2) * Exponential(0.1),
        Iterated(Sigmoid(1.0, 0.0), X[:5]),
    ],
    ids=name,
)
def test_admissible_kernels_pass(kernel):
    report = mercer_report(kernel, X)
    assert report.passed, str(report)
    assert [test.name for test in report.tests] == ["T1", "T2", "T3", "T4", "T5"]


@pytest.mark.parametrize(("a", "b", "published"), [(1.0, 0.0, 0.775), (1.0, 1.0, 0.55), (0.1, 0.5, 6.2)])
def test_hyperbolic_tangent_is_flagged_where_its_metric_turns(a, b, published):
    """k′ + s k″ ≥ 0 is a s tanh(a s + b) ≤ ½."""
    report = mercer_report(Sigmoid(a, b), 3 * X)
    where = report["T3"].where
    assert where == pytest.approx(brentq(lambda s: a * s * np.tanh(a * s + b) - 0.5, 0, 100), rel=1e-9)
    assert where == pytest.approx(published, rel=0.01)
    assert "k′(s) + s k″(s) < 0" in report["T3"].detail
    assert report["T4"].passed is False and report["T4"].where == (3 if b == 0 else 2)


def test_hyperbolic_tangent_passes_the_metric_test_near_the_origin_alone():
    report = mercer_report(Sigmoid(1.0, 0.1), 0.1 * X / np.abs(X).max())
    assert report["T3"].passed and report["T4"].passed is False


def test_negative_offset_of_the_tangent_is_flagged_at_once():
    report = mercer_report(Sigmoid(1.0, -0.5), X)
    assert report["T3"].where == 0.0 and "k(s) < 0" in report["T3"].detail
    assert report["T4"].where == 0


@pytest.mark.parametrize(("degree", "order"), [(2, 1), (3, 0)])
def test_negative_constants_are_flagged(degree, order):
    """(t − c)² = t² − 2ct + c²: the first order is negative; (t − c)³ starts with −c³."""
    report = mercer_report(Polynomial(degree, coef0=-1.0), X)
    assert not report.passed
    assert report["T4"].where == order


def test_negative_kernels_fail_on_the_diagonal():
    report = mercer_report(-1.0 * Gaussian(), X)
    assert report["T1"].passed is False and report["T1"].where == 0
    assert {test.name for test in report.failures} == {"T1", "T3", "T4", "T5"}


def test_the_multiquadric_is_no_kernel_without_centering():
    report = mercer_report(Multiquadric(0.5), X)
    assert report["T1"].passed is False and report["T4"].where == 0 and report["T5"].passed is False


def test_differences_of_gaussians_are_not_completely_monotone():
    report = mercer_report(Gaussian(0.5) + -0.9 * Gaussian(2.0), X)
    assert report["T1"].passed and report["T4"].passed is False


def test_cauchy_schwarz_names_a_pair():
    distance = CallableKernel(lambda A, B: np.sqrt(((A[:, None] - B[None]) ** 2).sum(-1)))
    report = mercer_report(distance, X)
    test = report["T2"]
    assert test.passed is False and test.where == (0, 1)
    assert report["T3"].passed is None and "not known" in report["T3"].detail


def test_metric_of_other_kernels_is_tested_at_the_points():
    kernel = Linear() + -0.8 * Gaussian(1.0)  # g = (1 − 1.6) I
    report = mercer_report(kernel, X)
    assert report["T3"].passed is False and report["T3"].where == 0
    assert report["T4"].passed is None


def test_eigenvalues_find_what_pairs_do_not_show():
    # Two neighbours of one point that are near to it and not to each other.
    near = CallableKernel(lambda A, B: 1.0 - 0.2 * np.abs(A - B.T) - 0.4 * (np.abs(A - B.T) > 1.5))
    report = mercer_report(near, np.array([[0.0], [1.0], [2.0]]))
    assert report["T1"].passed and report["T2"].passed and report["T5"].passed is False


def test_kernels_that_are_not_symmetric_are_found():
    turned = np.array([[1.0, 0.5], [-0.5, 1.0]])  # its symmetric part is the linear kernel
    points = np.random.default_rng(0).normal(size=(6, 2))
    report = mercer_report(CallableKernel(lambda X, Y: X @ turned @ Y.T), points)
    assert not report.passed and "symmetric" in report["T5"].detail


def test_many_points_are_thinned_out():
    rows = []
    kernel = CallableKernel(lambda A, B: rows.append(len(A)) or A @ B.T)
    report = mercer_report(kernel, RNG.normal(size=(300, 2)), max_points=50)
    assert report.passed and max(rows) == 50


def test_the_report_reads_as_a_table():
    text = str(mercer_report(Sigmoid(1.0, 0.0), X))
    assert "not a positive semidefinite kernel" in text and text.count("\n") == 5
    assert "T4  FAILED" in text and "-0.3333 at order 3" in text
    assert "proves nothing" in str(mercer_report(Gaussian(), X))
    with pytest.raises(KeyError, match="T1, T2"):
        mercer_report(Gaussian(), X)["T9"]


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scales_of_kernels_and_inputs_do_not_matter(scale):
    assert mercer_report(scale * Gaussian(0.3), X).passed
    assert mercer_report(Polynomial(3, gamma=1 / scale**2, coef0=1.0), scale * X).passed
    assert mercer_report(Sigmoid(1 / scale**2, 0.0), scale * X)["T3"].where == pytest.approx(
        0.7717 * scale**2, rel=1e-3
    )


def test_zeros_duplicates_and_one_point_pass():
    for points in (np.zeros((3, 2)), np.repeat(X[:3], 4, axis=0), X[:1]):
        assert mercer_report(Polynomial(2, coef0=0.0), points).passed
        assert mercer_report(Gaussian(), points).passed


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="eigvalsh"):
        mercer_report(Precomputed(np.eye(2)), np.eye(2))
    with pytest.raises(ValueError, match="row 0 of X contains NaN"):
        mercer_report(Gaussian(), [[np.nan]])
    with pytest.raises(ValueError, match="order ≥ 1"):
        mercer_report(Gaussian(), POINTS, order=0)
