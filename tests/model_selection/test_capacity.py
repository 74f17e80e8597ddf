"""The report on radius, margins and capacity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_circles
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import KernelFisherDiscriminant
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian
from preimage.model_selection import capacity_report
from preimage.widths import enclosing_ball, enclosing_box


def test_two_points_have_two_dimensions_at_most():
    """The plane between two points: R is half of their distance, and so is the margin."""
    X, y = np.array([[0.0, 0.0], [0.0, 4.0]]), np.array([0, 1])
    report = capacity_report(SVC(kernel="linear", C=1e6, tol=1e-9).fit(X, y), X, y)
    assert report.ball.radius == pytest.approx(2)
    assert_allclose([report.margins[0], report.smallest_margins[0]], [2, 2], rtol=1e-6)
    assert report.vc_dimensions[0] == 2 and report.dimension == 1


def test_norms_and_margins_are_those_of_a_linear_machine():
    X, y = load_iris(return_X_y=True)
    svm = SVC(kernel="linear").fit(X, y)
    report = capacity_report(svm, X, y)
    assert_allclose(report.norms, np.linalg.norm(svm.coef_, axis=1), rtol=1e-8)
    assert_allclose(report.margins, 1 / report.norms)
    signs = np.where(y == 0, 1, -1)[y < 2]
    pair = signs * svm.set_params(decision_function_shape="ovo").decision_function(X)[y < 2, 0]
    assert report.smallest_margins[0] == pytest.approx(pair.min() / report.norms[0], rel=1e-6)
    assert report.dimension == 4


def test_ball_and_box_are_those_of_the_rows():
    X, y = make_circles(60, factor=0.4, noise=0.1, random_state=0)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X, y)
    report, Z = capacity_report(model, X, y, scale=0.25), model[0].transform(X)
    assert report.ball.radius == pytest.approx(enclosing_ball(Gaussian(0.5), Z).radius)
    box = enclosing_box(Gaussian(0.5), Z)
    assert report.coverings[0] == box.covering(float(report.norms[0]), 0.25)
    assert report.vc_dimensions[0] <= report.dimension + 1
    text = str(report)
    assert "60 rows" in text and "VC bound" in text and "within 0.25" in text


def test_other_machines_and_no_labels():
    X, y = load_iris(return_X_y=True)
    assert capacity_report(KernelRidge(kernel="rbf").fit(X, y), X).smallest_margins is None
    assert len(capacity_report(KernelFisherDiscriminant(gamma=0.1).fit(X, y), X, y).norms) >= 2
    many = SVC(gamma=1.0).fit(np.vstack([X, X + 5]), np.repeat(np.arange(10), 30))
    assert "… and 35 more" in str(capacity_report(many, np.vstack([X, X + 5])))


def test_constant_functions_have_no_margin_and_no_capacity():
    X = np.random.default_rng(0).normal(size=(10, 2))
    report = capacity_report(KernelRidge(kernel="rbf").fit(X, np.zeros(10)), X)
    assert report.norms[0] == 0 and np.isinf(report.margins[0])
    assert report.vc_dimensions[0] == 1 and report.coverings[0].log_number == 0


def test_bad_arguments():
    X, y = load_iris(return_X_y=True)
    svm = SVC().fit(X, y)
    for scale in (0, -1.0, np.nan, "half", True):
        with pytest.raises(ValueError, match="positive scale"):
            capacity_report(svm, X, y, scale=scale)
    assert capacity_report(svm, X, y, scale=np.float32(0.5)).scale == 0.5
    with pytest.raises(ValueError, match=r"has learnt, \[0, 1, 2\]; y has \[7\]"):
        capacity_report(svm, X, np.where(y == 2, 7, y))
    with pytest.raises(ValueError, match="inconsistent"):
        capacity_report(svm, X, y[:-1])
    with pytest.raises(UnsupportedKernelError, match="precomputed"):
        capacity_report(SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T, y)
    with pytest.raises(TypeError, match="kernel machines"):
        capacity_report(StandardScaler().fit(X), X)
