"""The same pre-images in the browser and in Python: 200 random targets for each of six kernels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from preimage import KernelPCA, explore
from preimage.descent import spread
from preimage.kernels import (
    Chi2,
    Gaussian,
    Laplacian,
    Matern,
    Polynomial,
    ProfileKernel,
    RationalQuadratic,
    Sigmoid,
    SquaredDistance,
)
from preimage.solvers import FixedPoint, Gradient, Reason

IMAGES = load_digits().data / 10  # numbers that single precision rounds
N_TARGETS, N_COMPONENTS = 200, 16
# Largest difference between pre-images, in units of the spread of the points, that no picture shows.
LARGEST_DIFFERENCE = 1e-4

SOLVE = """({ Model }, record, Y, starts) => {
  const model = new Model(record), [count, k] = Y.shape;
  const at = (array, i) => array.values.slice(i * array.shape[1], (i + 1) * array.shape[1]);
  return Array.from({ length: count }, (_, i) =>
    model.preimage(at(Y, i), { start: starts === null ? null : at(starts, i) }));
}"""


class HeavyTails(ProfileKernel):
    """A kernel as users write them: f(s) = 1/√(1 + γs)³."""

    pairwise = SquaredDistance()
    is_positive_semidefinite = True

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def profile(self, s):
        return (1 + self.gamma * s) ** -1.5

    def profile_derivative(self, s):
        return -1.5 * self.gamma * (1 + self.gamma * s) ** -2.5


# With 100 images of 64 pixels the library begins fixed points of a Gaussian with rough steps in single precision. The
# page does not: numbers of steps differ, results do not.
KERNELS = {
    "Gaussian": Gaussian(0.1),
    "polynomial": Polynomial(degree=3, gamma=0.02, coef0=1.0),
    "RationalQuadratic": RationalQuadratic(0.1),
    "Matern": Matern(0.05, nu=1.5),
    "sum": Gaussian(0.05) + 0.1 * Polynomial(degree=2, gamma=0.02),
    "user's profile": HeavyTails(0.05),
}


def random_targets(model, rng, count=N_TARGETS, beyond=0.3):
    """Points between images of rows, inside the cloud of all of them and beyond it."""
    Y = model.transform(IMAGES[100:1500])
    first, second = rng.integers(len(Y), size=(2, count))
    fraction = rng.uniform(-beyond, 1 + beyond, size=(count, 1))
    return (
        (1 - fraction) * Y[first] + fraction * Y[second] + 0.2 * np.std(Y, axis=0) * rng.normal(size=(count, len(Y.T)))
    )


def record_of(model, X=IMAGES[:100]):
    return explore(model, X).header["models"][0]


def assert_agree(found, result, points, same_steps=True):
    """Equal reasons everywhere, equal pre-images where both converge; returns how many do."""
    assert [each["reason"] for each in found] == [str(reason) for reason in result.reason]
    both = result.converged & np.array([each["converged"] for each in found])
    rows = np.array([each["row"] for each in found])
    differences = np.linalg.norm(rows - result.points, axis=1) / spread(points)
    assert differences[both].max() <= LARGEST_DIFFERENCE
    objectives = np.array([each["objective"] for each in found])
    np.testing.assert_allclose(objectives[both], result.objective[both], rtol=1e-6, atol=1e-6)
    if same_steps:
        # The same path: other step lengths or safeguards would take other numbers of steps, even to the same minimum.
        # Rounding may add or save a last one.
        steps = np.array([each["iterations"] for each in found]) - result.n_iter
        assert np.mean(np.abs(steps) > 1) <= 0.05
    return int(both.sum())


def projection(model):
    """The solver of nearest images: `inverse_transform` would answer by a learned map, which no page has."""
    return model.preimage_.projection


@pytest.mark.parametrize("name", KERNELS)
def test_browser_and_python_find_the_same_preimages(javascript, name):
    model = KernelPCA(N_COMPONENTS, kernel=KERNELS[name]).fit(IMAGES[:100])
    Y = random_targets(model, np.random.default_rng(0))
    found = javascript("model.js", SOLVE, record_of(model), Y, None)
    result = projection(model).inverse(model.subspace_, Y)
    assert assert_agree(found, result, IMAGES[:100], name != "Gaussian") >= 0.95 * N_TARGETS


@pytest.mark.parametrize("name", KERNELS)
def test_browser_and_python_agree_from_noisy_starts(javascript, name):
    rng = np.random.default_rng(1)
    model = KernelPCA(N_COMPONENTS, kernel=KERNELS[name]).fit(IMAGES[:100])
    X = IMAGES[1000:1050] + 0.3 * rng.normal(size=(50, IMAGES.shape[1]))
    Y = model.transform(X)
    found = javascript("model.js", SOLVE, record_of(model), Y, X)
    result = projection(model).inverse(model.subspace_, Y, X)
    assert assert_agree(found, result, IMAGES[:100], name != "Gaussian") >= 0.95 * len(X)


@pytest.mark.parametrize("solver", [FixedPoint(), Gradient(), Gradient(memory=2)], ids=repr)
def test_far_from_the_data_both_take_the_same_steps(javascript, solver):
    # Targets far beyond the data: weights have both signs, and safeguards decide where to go.
    model = KernelPCA(40, kernel=Gaussian(0.05), preimage=solver).fit(IMAGES[:70])
    Y = 2 * random_targets(model, np.random.default_rng(6), 100, beyond=2)
    found = javascript("model.js", SOLVE, record_of(model, IMAGES[:70]), Y, None)
    result = solver.inverse(model.subspace_, Y)
    assert assert_agree(found, result, IMAGES[:70]) >= 95


SOLVERS = {
    "penalty": FixedPoint(penalty=0.02),
    "descent with a penalty": Gradient(penalty=0.02),
    "pixels within bounds": Gradient(lower=0.0, upper=1.2),
    "bounds per pixel, little memory": Gradient(lower=np.linspace(-0.1, 0.2, 64), memory=2),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_settings_of_the_solver_of_a_model_count_in_the_browser(javascript, name):
    rng = np.random.default_rng(2)
    solver = SOLVERS[name]
    model = KernelPCA(N_COMPONENTS, kernel=Gaussian(0.1), preimage=solver).fit(IMAGES[:70])
    X = IMAGES[1000:1060] + 0.3 * rng.normal(size=(60, IMAGES.shape[1]))
    Y = model.transform(X)
    found = javascript("model.js", SOLVE, record_of(model, IMAGES[:70]), Y, X)
    result = solver.inverse(model.subspace_, Y, X)
    assert assert_agree(found, result, IMAGES[:70]) >= 0.95 * len(X)
    rows = np.array([each["row"] for each in found])
    if isinstance(solver, Gradient) and solver.lower is not None:
        assert np.all(rows >= solver.lower - 1e-12)
        assert np.any(rows == np.broadcast_to(solver.lower, rows.shape))


@pytest.mark.parametrize("kernel", [Laplacian(0.05), Chi2(0.1)], ids=repr)
def test_most_descents_end_alike_in_both_where_a_kernel_has_corners(javascript, kernel):
    # A descent along corners is decided by rounding errors, in Python as well.
    model = KernelPCA(12, kernel=kernel, preimage="gradient").fit(IMAGES[:70])
    Y = random_targets(model, np.random.default_rng(7), 40)
    found = javascript("model.js", SOLVE, record_of(model, IMAGES[:70]), Y, None)
    result = model.preimage_.inverse(model.subspace_, Y)
    assert np.mean([each["reason"] == str(reason) for each, reason in zip(found, result.reason, strict=True)]) > 0.9
    differences = np.linalg.norm([each["row"] for each in found] - result.points, axis=1) / spread(IMAGES[:70])
    assert np.mean(differences <= LARGEST_DIFFERENCE) > 0.75


def test_few_iterations_end_at_the_limit_in_both(javascript):
    solver = FixedPoint(max_iter=3)
    model = KernelPCA(N_COMPONENTS, kernel=Polynomial(degree=3, gamma=0.02), preimage=solver).fit(IMAGES[:100])
    Y = random_targets(model, np.random.default_rng(3), 40)
    found = javascript("model.js", SOLVE, record_of(model), Y, None)
    result = solver.inverse(model.subspace_, Y)
    assert [each["reason"] for each in found] == [str(reason) for reason in result.reason]
    assert sum(reason == Reason.ITERATION_LIMIT for reason in result.reason) > 20
    np.testing.assert_allclose([each["row"] for each in found], result.points, atol=1e-5)
    assert [each["iterations"] for each in found] == result.n_iter.tolist()


@pytest.mark.parametrize("solver", [FixedPoint(tol=0.0), Gradient(tol=0.0)], ids=repr)
def test_searches_that_never_have_enough_end_where_rounding_begins_in_both(javascript, solver):
    model = KernelPCA(N_COMPONENTS, kernel=Gaussian(0.05), preimage=solver).fit(IMAGES[:70])
    Y = random_targets(model, np.random.default_rng(8), 40)
    found = javascript("model.js", SOLVE, record_of(model, IMAGES[:70]), Y, None)
    assert assert_agree(found, solver.inverse(model.subspace_, Y), IMAGES[:70], same_steps=False) == 40


def test_preimages_of_a_definite_kernel_may_lie_far_outside_the_data(javascript):
    model = KernelPCA(5, kernel="linear", preimage="fixed_point").fit(IMAGES[:70])
    Y = 50 * random_targets(model, np.random.default_rng(9), 20)
    found = javascript("model.js", SOLVE, record_of(model, IMAGES[:70]), Y, None)
    result = model.preimage_.inverse(model.subspace_, Y)
    assert {each["reason"] for each in found} == {str(reason) for reason in result.reason} == {str(Reason.CONVERGED)}
    np.testing.assert_allclose([each["row"] for each in found], result.points, rtol=1e-5, atol=1e-4)


def test_starts_where_the_kernel_vanishes_begin_again_at_the_nearest_image(javascript):
    model = KernelPCA(N_COMPONENTS, kernel=Gaussian(0.1), preimage="fixed_point").fit(IMAGES[:70])
    Y = random_targets(model, np.random.default_rng(4), 30)
    # Kernel values there are lost in rounding, then without correct digits, then zero.
    far = np.linspace(8.0, 16.0, 30)[:, None] * np.ones(IMAGES.shape[1])
    found = javascript("model.js", SOLVE, record_of(model, IMAGES[:70]), Y, far)
    result = model.preimage_.inverse(model.subspace_, Y, far)
    assert assert_agree(found, result, IMAGES[:70]) == 30
    assert max(np.linalg.norm(each["row"]) for each in found[-10:]) < np.linalg.norm(IMAGES, axis=1).max()


@pytest.mark.filterwarnings("ignore:The kernel is indefinite")
@pytest.mark.parametrize(("gamma", "has_signs"), [(0.01, False), (0.1, True)])
def test_objectives_without_a_minimum_are_kept_within_the_data_in_both(javascript, gamma, has_signs):
    model = KernelPCA(5, kernel=Sigmoid(gamma=gamma, coef0=0.5), preimage="gradient").fit(IMAGES[:100])
    assert (model.subspace_.signature is not None) == has_signs
    Y = random_targets(model, np.random.default_rng(5), 60)
    found = javascript("model.js", SOLVE, record_of(model), Y, None)
    result = model.preimage_.inverse(model.subspace_, Y)
    assert [each["reason"] for each in found] == [str(reason) for reason in result.reason]
    assert Reason.RESTRICTED in set(result.reason)
    np.testing.assert_allclose([each["objective"] for each in found], result.objective, rtol=1e-4, atol=1e-4)


def test_texts_of_reasons_are_those_of_the_library(javascript):
    reasons = javascript("descent.js", "({ Reason }) => Reason")
    assert reasons == {name: str(Reason[name]) for name in reasons}
    assert {"CONVERGED", "ITERATION_LIMIT", "STALLED", "VANISHING", "RESTRICTED"} <= set(reasons)
