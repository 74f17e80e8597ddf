"""Rows with gross errors: gradients, closed forms, invariances, and neighbourhoods of columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._engine.arrays import to_numpy
from preimage._models.completion import LOSSES, SubspaceEnergy, SubspaceFit, as_loss
from preimage._models.completion import repair as repair_rows
from preimage._models.completion._repair import Neighborhoods, RobustObjective, RobustStart, default_penalty
from preimage._models.components import Wanted
from preimage.kernels import Gaussian, Linear

NAMES = LOSSES.names
RNG = np.random.default_rng(0)
# A closed curve in twelve dimensions: any two coordinates determine the others.
HARMONICS = (1, 1, 1, 2, 2, 3)
D = 2 * len(HARMONICS)


def curve(angles):
    return np.column_stack([f(k * angles) for k in HARMONICS for f in (np.cos, np.sin)])


CURVE, QUERIES = curve(RNG.uniform(0, 2 * np.pi, 200)), curve(np.linspace(0.1, 6, 9))
CHAIN = np.diag(np.ones(D - 1), 1)


def energy_of(X=CURVE, kernel=None, count=40):
    return SubspaceFit(Gaussian(0.05) if kernel is None else kernel, Wanted(number=count), 0.0)(X).energy


def spoiled(X=QUERIES, column=4, by=3.0):
    X = X.copy()
    X[:, column] += by
    return X


def everything(X):
    return np.ones(X.shape, bool)


def repair(energy, X, known, loss="cauchy", scale=0.2, **options):
    return repair_rows(energy, X, known, loss=as_loss(loss), scale=scale, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("connectivity", [None, CHAIN, np.eye(D)[[0] * D]], ids=["alone", "chain", "star"])
def test_entries_without_residuals_are_trusted_everywhere(name, connectivity):
    scales, neighborhoods = np.full((len(QUERIES), 1), 0.5), Neighborhoods.of(connectivity, QUERIES)
    known = np.ones(QUERIES.shape)
    objective = RobustObjective(energy_of(count=5), as_loss(name), neighborhoods, 1.0, QUERIES, known, scales)
    assert_allclose(objective.trust(QUERIES), 1.0)
    far = objective.trust(spoiled(by=100.0))
    assert far.max() <= 1 + 1e-12 and far[:, 4].max() < 0.6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("connectivity", [None, CHAIN], ids=["alone", "neighbours"])
def test_gradients_are_those_of_differences(name, connectivity):
    X, energy, step = spoiled(), energy_of(count=5), 1e-6
    known = np.where(RNG.random(X.shape) < 0.8, 1.0, 0.0)
    neighborhoods = Neighborhoods.of(connectivity, X)
    objective = RobustObjective(energy, as_loss(name), neighborhoods, 0.7, X, known, np.full((len(X), 1), 0.4))
    Z = QUERIES + 0.1 * RNG.normal(size=X.shape)
    found = objective.at(Z).gradient
    for column in range(X.shape[1]):
        shift = step * np.eye(X.shape[1])[column]
        difference = (objective.at(Z + shift).value - objective.at(Z - shift).value) / (2 * step)
        assert_allclose(found[:, column], difference, rtol=1e-4, atol=1e-6)


def test_a_loss_of_squares_and_a_linear_kernel_have_a_closed_form():
    """λ = 1: half way between a row and its projection by PCA."""
    X = CURVE @ RNG.normal(size=(D, D))
    energy = energy_of(X, Linear(), 2)
    assert_allclose(default_penalty(energy), 1.0, rtol=1e-9)
    rows = X[:7] + RNG.normal(size=(7, D))
    axes = np.linalg.svd(X - X.mean(axis=0))[2][:2]
    projected = X.mean(axis=0) + (rows - X.mean(axis=0)) @ axes.T @ axes
    found = repair(energy, rows, everything(rows), loss="huber", scale=1e4, tol=1e-8)
    assert_allclose(found.preimages.points, (rows + projected) / 2, atol=1e-5)
    assert not found.outliers.any()


@pytest.mark.parametrize("name", NAMES)
def test_one_wrong_entry_is_found_and_mended(name, xp):
    X = spoiled()
    energy = energy_of(xp.asarray(CURVE))
    found = repair(energy, xp.asarray(X), xp.asarray(everything(X), dtype=bool), loss=name)
    errors = np.abs(to_numpy(found.preimages.points) - QUERIES).max(axis=1)
    assert errors.max() < (1.2 if name in ("huber", "l1") else 0.1)
    assert to_numpy(found.outliers)[:, 4].all()
    if name in ("cauchy", "tukey"):
        assert not np.delete(to_numpy(found.outliers), 4, axis=1).any()


@pytest.mark.parametrize("name", NAMES)
def test_no_objective_ends_above_that_of_its_start(name):
    X, energy = spoiled(by=1.5), energy_of(count=8)
    weights, scale = np.ones(X.shape), np.full(X.shape, 0.3)
    start = RobustStart.of(CURVE, Neighborhoods()).at(X, weights, scale)
    objective = RobustObjective(energy, as_loss(name), Neighborhoods(), default_penalty(energy), X, weights, scale)
    found = repair(energy, X, everything(X), name, 0.3)
    assert np.all(found.preimages.objective <= objective.at(start).value + 1e-12)
    assert_allclose(objective.at(found.preimages.points).value, found.preimages.objective, rtol=1e-9)


def test_how_wrong_an_outlier_is_makes_no_difference_to_tukey():
    energy = energy_of()
    near, far = (
        repair(energy, X, everything(X), loss="tukey", scale=0.1).preimages.points
        for X in (spoiled(by=5.0), spoiled(by=5e4))
    )
    assert_allclose(near, far, atol=1e-9)


def test_what_stands_in_place_of_missing_entries_makes_no_difference():
    X, energy = spoiled(), energy_of()
    known = everything(X)
    known[:, 1] = False
    known[2:4, 5] = False
    results = [repair(energy, np.where(known, X, other), known, loss="cauchy") for other in (0.0, 77.0)]
    assert_allclose(results[0].preimages.points, results[1].preimages.points, atol=1e-12)
    assert results[0].outliers[~known].all()


def test_rows_without_any_entry_get_the_preimage_of_the_mean():
    X, energy = spoiled(), energy_of(CURVE + 1.0)
    known = everything(X)
    known[3] = False
    found = repair(energy, X, known)
    assert np.isfinite(found.preimages.points).all() and found.outliers[3].all()
    lengths = energy.of_the_mean()
    around = found.preimages.points[3] + 0.1 * RNG.normal(size=(20, D))
    assert np.all(lengths.at(found.preimages.points[3:4]).value < lengths.at(around).value)


def test_rows_do_not_depend_on_each_other():
    X, energy = spoiled(), energy_of()
    together = repair(energy, X, everything(X)).preimages.points
    for row in range(0, len(X), 3):
        alone = repair(energy, X[row : row + 1], everything(X[row : row + 1])).preimages.points
        assert_allclose(alone[0], together[row], atol=1e-9)


@pytest.mark.parametrize("name", ["cauchy", "tukey"])
def test_units_of_the_inputs_make_no_difference(name):
    X, factor, shift = spoiled(), 1000.0, 7.0
    here = repair(energy_of(), X, everything(X), loss=name)
    energy = energy_of(factor * CURVE + shift, Gaussian(0.05 / factor**2))
    there = repair(energy, factor * X + shift, everything(X), name, factor * 0.2)
    assert_allclose((there.preimages.points - shift) / factor, here.preimages.points, atol=1e-4)
    assert np.array_equal(there.outliers, here.outliers)


def test_single_precision_is_kept_and_agrees():
    X = spoiled()
    single = repair(energy_of(CURVE.astype(np.float32)), X.astype(np.float32), everything(X), loss="tukey")
    double = repair(energy_of(), X, everything(X), loss="tukey")
    assert single.preimages.points.dtype == np.float32
    assert_allclose(single.preimages.points, double.preimages.points, atol=1e-2)


def test_rows_of_many_columns_are_compared_with_fewer_points():
    points = np.broadcast_to(np.arange(2000.0)[:, None], (2000, 60_000))
    kept = RobustStart.of(points, Neighborhoods()).points
    assert kept.shape[0] == 2**22 // 60_000
    assert_allclose(kept[[0, -1], 0], [0, 1999])


def test_points_that_repeat_have_a_least_scale_above_zero():
    assert RobustStart.of(np.tile(CURVE[:2], (10, 1)), Neighborhoods()).least > 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.coo_array, lambda A: A.tolist()])
def test_neighbourhoods_are_means_over_linked_columns(form, xp):
    values = RNG.random((3, D))
    found = Neighborhoods.of(form(CHAIN), xp.asarray(values))
    expected = [[row[max(0, j - 1) : j + 2].mean() for j in range(D)] for row in values]
    assert_allclose(to_numpy(found.averages(xp.asarray(values))), expected)
    cube = RNG.random((2, 4, D))
    averaged = to_numpy(found.averages(xp.asarray(cube)))
    assert_allclose(averaged[1], to_numpy(found.averages(xp.asarray(cube[1]))))
    other = RNG.random((3, D))
    here = np.sum(to_numpy(found.averages(xp.asarray(values))) * other)
    assert_allclose(here, np.sum(values * to_numpy(found.returned(xp.asarray(other)))))


def test_a_graph_without_links_is_no_graph():
    X, energy = spoiled(), energy_of()
    objective = lambda graph: RobustObjective(
        energy, as_loss("cauchy"), Neighborhoods.of(graph, X), 1.0, X, np.ones(X.shape), np.full((len(X), 1), 0.3)
    ).at(QUERIES)
    assert_allclose(objective(np.zeros((D, D))).value, objective(None).value)
    assert_allclose(objective(np.eye(D)).gradient, objective(None).gradient)


@pytest.mark.parametrize(
    ("graph", "message"), [(np.eye(5), r"\(12, 12\); got \(5, 5\)"), (CHAIN * np.nan, "not finite")]
)
def test_graphs_of_other_columns_are_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        Neighborhoods.of(graph, QUERIES)


def test_all_energies_of_a_subspace_will_do():
    energy = energy_of(count=20)
    weighted = SubspaceEnergy(energy.subspace, np.full(20, 0.99))
    X = spoiled()
    found = repair(weighted, X, everything(X), loss="tukey").preimages.points
    assert np.abs(found - QUERIES).max() < 0.3
