"""Widths from class means: right on data where they are known, and refused with a reason elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning

from preimage.estimators._kernel_input import needs_labels
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import (
    Gaussian,
    InverseMultiquadric,
    Iterated,
    Kernel,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    ScaledInputs,
    Warped,
    resolve_gamma,
)
from preimage.kernels._bandwidth import CLASS_RULES as NAMES
from preimage.widths import class_gram, class_width, with_class_widths
from preimage.widths._class_width import CLASS_RULES, settled_gamma, width_curves

X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize("unbiased", [True, False])
def test_the_width_is_at_the_peak_of_a_fine_grid(rule, unbiased):
    gamma = class_width(X, y, rule, unbiased=unbiased)
    fine = gamma * 2.0 ** np.linspace(-2, 2, 33)
    curve = CLASS_RULES[rule].make(class_gram(X, y, fine), unbiased)
    assert abs(np.log2(fine[np.argmax(curve)] / gamma)) < 0.3
    assert curve[16] > 0.995 * curve.max()


@pytest.mark.parametrize("rule", NAMES)
def test_a_scale_of_the_points_scales_the_width(rule):
    assert_allclose(class_width(10 * X, y, rule), class_width(X, y, rule) / 100, rtol=1e-9)
    assert_allclose(
        class_width(10 * X, y, rule, kernel=Laplacian()), class_width(X, y, rule, kernel=Laplacian()) / 10, rtol=1e-9
    )


def test_rows_in_another_order_have_the_same_width(rng):
    order = rng.permutation(len(y))
    assert_allclose(class_width(X[order], y[order]), class_width(X, y), rtol=1e-9)
    assert_allclose(class_width(X, y.astype(str)), class_width(X, y), rtol=1e-9)


def test_other_libraries_and_sparse_points(xp):
    assert_allclose(class_width(xp.asarray(X), y), class_width(X, y), rtol=1e-9)
    assert_allclose(class_width(sparse.csr_matrix(X), y), class_width(X, y), rtol=1e-9)
    assert_allclose(class_width(X.tolist(), y.tolist()), class_width(X, y), rtol=1e-9)
    assert_allclose(class_width(X.astype(np.float32), y), class_width(X, y), rtol=1e-4)


@pytest.mark.parametrize("kernel", [Laplacian, Matern, RationalQuadratic, InverseMultiquadric])
def test_every_kernel_of_a_distance_finds_its_own_width(kernel):
    found = with_class_widths(kernel("enclosing_ball"), X, y)
    assert isinstance(found, kernel) and found.is_resolved
    assert_allclose(found.gamma, class_width(X, y, kernel=kernel()), rtol=0)
    assert not np.isclose(found.gamma, class_width(X, y), rtol=1e-3)


def test_parts_of_combinations_find_theirs():
    ball, mean = class_width(X, y), class_width(X, y, "mean_distance")
    found = with_class_widths(Gaussian("enclosing_ball") + 2.0 * Gaussian("mean_distance") * Linear(), X, y)
    assert_allclose([found.left.gamma, found.right.left.kernel.gamma], [ball, mean])
    assert with_class_widths(Gaussian("median") + Gaussian("enclosing_ball"), X, y).resolve(
        X
    ).left.gamma == resolve_gamma("median", X)
    assert_allclose(with_class_widths(Normalized(Gaussian("enclosing_ball")), X, y).kernel.gamma, ball)
    assert_allclose(with_class_widths(Gaussian("enclosing_ball") ** 2, X, y).kernel.gamma, ball)


def test_widths_on_transformed_inputs_are_of_those():
    mapped = with_class_widths(MappedInputs(Gaussian("enclosing_ball"), 10 * np.eye(64)), X, y)
    assert_allclose(mapped.kernel.gamma, class_width(X, y) / 100, rtol=1e-9)
    weights = np.linspace(0, 2, 64)
    scaled = with_class_widths(ScaledInputs(Gaussian("enclosing_ball"), weights), X, y)
    assert_allclose(scaled.kernel.gamma, class_width(X * np.sqrt(weights), y), rtol=1e-9)


def test_reference_points_stay_all_points():
    """The sample that a width is found on is not what an iterated or warped kernel is made on."""
    found = with_class_widths(Iterated(Gaussian("enclosing_ball")), X, y).resolve(X)
    assert np.array_equal(found.reference, X)
    assert_allclose(found.kernel.gamma, class_width(X, y))
    warped = with_class_widths(Warped(Gaussian("alignment")), X[:60], y[:60]).resolve(X[:60])
    assert_allclose(warped.kernel.gamma, class_width(X[:60], y[:60], "alignment"))


class Doubled(Kernel):
    """A user's kernel from the time before labels."""

    _parameter_constraints = {"kernel": [Kernel]}

    def __init__(self, kernel):
        self.kernel = kernel

    def resolve(self, X):
        return Doubled(self.kernel.resolve(X))

    def prepare(self, Y):
        return self.kernel.prepare(Y).changed(self, lambda values: 2 * values)

    def diagonal(self, X):
        return 2 * self.kernel.diagonal(X)

    def gradient(self, Z, X, weights):
        return 2 * self.kernel.gradient(Z, X, weights)

    def diagonal_gradient(self, Z):
        return 2 * self.kernel.diagonal_gradient(Z)


def test_kernels_that_know_no_labels_still_work():
    assert Doubled(Gaussian("median")).resolve(X).kernel.gamma == resolve_gamma("median", X)
    assert with_class_widths(Doubled(Gaussian("median")) + Linear(), X, y).resolve(
        X
    ).left.kernel.gamma == resolve_gamma("median", X)
    found = with_class_widths(Doubled(Gaussian("enclosing_ball")), X, y).resolve(X)
    assert_allclose(found.kernel.gamma, class_width(X, y))


def test_labels_are_needed_and_looked_at_only_where_a_rule_asks():
    assert needs_labels(Gaussian("enclosing_ball")) and needs_labels(Linear() + Laplacian("alignment"))
    assert not any(needs_labels(kernel) for kernel in (Gaussian("median"), Gaussian(), Linear(), Polynomial()))
    continuous = np.linspace(0, 1, len(y))
    kernel = Gaussian("median")
    assert with_class_widths(kernel, X, continuous) is kernel
    for kernel in (Gaussian("enclosing_ball"), Linear() + Gaussian("alignment")):
        with pytest.raises(ValueError, match=r"needs labels: call fit\(X, y\), or preimage.widths.with_class_widths"):
            kernel.resolve(X)
        with pytest.raises(ValueError, match=r"call `resolve\(X\)` first"):
            kernel(X)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.linspace(0, 1, 500), "got continuous targets"),
        (np.zeros(500), "all labels are 0.0"),
        (np.append(y[:-1], 77), "class 77 has one member"),
        (y[:-1], "500 rows of X but 499 labels"),
        (None, "it got none"),
    ],
)
def test_wrong_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        class_width(X, labels)


def test_single_members_are_fine_where_nothing_is_left_out():
    lonely = np.append(y[:-1], 77)
    assert class_width(X, lonely, unbiased=False) > 0
    assert class_width(X, lonely, "alignment") > 0


def test_kernels_without_a_width_and_unknown_rules_are_refused():
    with pytest.raises(UnsupportedKernelError, match=r"Gaussian, Laplacian.* are such kernels"):
        with_class_widths(Polynomial(2, gamma="enclosing_ball"), X, y)
    with pytest.raises(ValueError, match=r"Unknown rule .* 'ball'; known are 'enclosing_ball'"):
        class_width(X, y, "ball")
    with pytest.raises(ValueError, match=r"'enclosing_ball'.*got 'ball'"):
        with_class_widths(Gaussian("ball"), X, y).resolve(X)
    with pytest.raises(ValueError, match="two distinct points"):
        class_width(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])


def test_the_sample_of_points_barely_matters():
    assert_allclose(np.log2(class_width(X, y, n_samples=200)), np.log2(class_width(X, y)), atol=0.25)


def test_a_grid_grows_until_it_has_the_peak():
    """Two tight pairs of clusters far apart: classes are distinguished at a width far below the median distance."""
    centers = np.array([[0, 0], [0.1, 0], [1000, 0], [1000.1, 0]])
    points, labels = make_blobs(80, centers=centers, cluster_std=1e-3, random_state=0)
    curves = width_curves(points, labels, "min_distance")
    assert curves.peak.at_edge == 0 and len(curves.gammas) > 12
    assert_allclose(np.diff(np.log2(curves.gammas)), 1, rtol=1e-9)
    assert 10 < curves.peak.gamma < 1e6


def test_two_points_a_class_suffice():
    assert class_width(np.array([[0.0], [0.1], [1.0], [1.1]]), [0, 0, 1, 1]) > 0


def test_classes_that_are_alike_at_every_width_bring_a_warning():
    points = np.repeat(np.arange(10.0)[:, None], 2, axis=0)
    labels = np.tile([0, 1], 10)  # both classes are the same points
    with pytest.warns(ConvergenceWarning, match="cannot be told apart"):
        gamma = class_width(points, labels, unbiased=True)
    assert gamma == resolve_gamma("median", points)


def test_a_peak_at_the_end_of_a_given_grid_brings_a_warning():
    curves = width_curves(X, y, "enclosing_ball", gammas=[1e-6, 2e-6, 4e-6])
    with pytest.warns(ConvergenceWarning, match="largest of the grid.*Give larger candidates"):
        assert settled_gamma(curves, X, Gaussian(), "enclosing_ball") == 4e-6


def test_tiny_and_huge_units():
    for scale in (1e-90, 1e90):
        assert_allclose(class_width(scale * X[:100], y[:100]) * scale**2, class_width(X[:100], y[:100]), rtol=1e-8)


def test_kernels_know_the_names_of_the_rules():
    assert CLASS_RULES.names == NAMES and all(f'"{name}"' in class_width.__doc__ for name in NAMES)
