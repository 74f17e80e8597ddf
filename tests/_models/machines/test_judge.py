"""Rows that are left out say what a small machine loses, without counting on luck."""

import numpy as np
import pytest

from preimage._models.machines import Binary, Detection, KernelMachine, OneVsRest, Regression, Trial
from preimage._models.machines._compression import first_acceptable
from preimage._models.machines._judge import N_BORROWED, Judge, LeftOutRows
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian

POINTS = np.array([[-1.0, 0.3], [0.2, 1.0], [1.1, -0.6], [-0.4, -0.9]])
COEFFICIENTS = np.array([[1.0], [-0.8], [0.9], [-1.2]])


def machine_on(points, coefficients, output=None, intercept=0.05):
    k = coefficients.shape[1]
    output = Binary(np.arange(2)) if output is None else output
    return KernelMachine(Expansion(Gaussian(0.7), points, coefficients), np.full(k, intercept), output, points.shape[1])


def trial_on(machine, X, y=None):
    return Trial(machine, X, y, X, y)


def labels_of(machine, X, rng):
    """Labels that are a matter of chance near the boundary of the machine."""
    return (rng.random(len(X)) < 1 / (1 + np.exp(-6 * machine(X)[:, 0]))).astype(int)


def test_estimated_changes_are_those_of_other_rows():
    """Averaged over draws of few rows, the fraction of changed decisions is that of many rows."""
    rng = np.random.default_rng(0)
    original = machine_on(POINTS, COEFFICIENTS)
    # The original with many small errors of either sign, as reductions make them.
    small = machine_on(np.r_[POINTS, rng.normal(size=(30, 2))], np.r_[COEFFICIENTS, 0.03 * rng.normal(size=(30, 1))])
    many = rng.normal(size=(200_000, 2))
    true = np.mean(original.output.predict(original(many)) != small.output.predict(small(many)))
    found, counted = [], []
    for _ in range(150):
        X = rng.normal(size=(120, 2))
        said = LeftOutRows([trial_on(original, X)]).compared([small])
        found.append(said.loss)
        counted.append(1 - said.scores[1])
    assert 0.01 < true < 0.1
    assert np.mean(found) == pytest.approx(true, rel=0.12)
    assert np.mean(counted) == pytest.approx(true, abs=3 * np.std(counted) / np.sqrt(len(counted)))
    assert np.std(found) < 0.95 * np.std(counted), "borrowed errors reduce the variance"


def test_the_expected_drop_of_accuracy_is_that_of_other_rows():
    rng = np.random.default_rng(1)
    original = machine_on(POINTS, COEFFICIENTS)
    small = machine_on(POINTS[:3], COEFFICIENTS[:3], intercept=-0.2)
    score = lambda machine, X, y: np.mean(machine.output.predict(machine(X)) == y)
    many = rng.normal(size=(200_000, 2))
    y = labels_of(original, many, rng)
    true = score(original, many, y) - score(small, many, y)
    found = []
    for _ in range(100):
        X = rng.normal(size=(200, 2))
        found.append(LeftOutRows([trial_on(original, X, labels_of(original, X, rng))]).compared([small]).loss)
    assert np.mean(found) == pytest.approx(true, rel=0.3)


def test_changes_are_those_of_the_naive_loop(rng):
    k = 3
    original = machine_on(POINTS, rng.normal(size=(4, k)), OneVsRest(np.arange(k)))
    small = machine_on(POINTS, original.expansion.coefficients + 0.2 * rng.normal(size=(4, k)), original.output)
    X = rng.normal(size=(80, 2))
    rows = LeftOutRows([trial_on(original, X[:30]), trial_on(original, X[30:])])
    F, G = original(X), small(X)
    decided = np.argmax(F, axis=1)
    margins = np.min(np.where(np.arange(k) == decided[:, None], F, -F), axis=1)
    expected = []
    for i in range(len(X)):
        same = np.flatnonzero(decided == decided[i])
        order = same[np.argsort(margins[same], kind="stable")]
        place = int(np.flatnonzero(order == i)[0])
        first = int(np.clip(place - N_BORROWED // 2, 0, max(0, len(order) - N_BORROWED)))
        lenders = [order[first + step % len(order)] for step in range(N_BORROWED)]
        expected.append(np.mean([np.argmax(F[i] + G[j] - F[j]) != decided[i] for j in lenders]))
    values = [small(X[:30]), small(X[30:])]
    np.testing.assert_allclose(rows._changes(values), expected, atol=1e-12)
    assert rows.compared([small, small]).loss == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("kind", ["classifier", "regressor", "detector"])
def test_scores_are_those_of_all_rows_together(kind, rng):
    X = rng.normal(size=(60, 2))
    output = {"classifier": None, "regressor": Regression(), "detector": Detection(0.1)}[kind]
    original = machine_on(POINTS, COEFFICIENTS, output)
    small = machine_on(POINTS[:2], COEFFICIENTS[:2], output)
    y = {"classifier": labels_of(original, X, rng), "regressor": rng.normal(size=60), "detector": None}[kind]
    said = LeftOutRows([trial_on(original, X, y)]).compared([small])
    judge = Judge(original, X, y)
    assert said.scores == pytest.approx((judge.original, judge.score(small(X))))
    if kind != "regressor":
        right = lambda machine: machine.output.predict(machine(X)) == judge.truth
        drops = right(original).astype(float) - right(small)
        assert said.standard_error == pytest.approx(np.std(drops, ddof=1) / np.sqrt(60))
    else:
        error = np.mean((small(X) - original(X)) ** 2) / np.var(y)
        assert said.loss == pytest.approx(error)


def test_the_machine_itself_loses_nothing(rng):
    X = rng.normal(size=(50, 2))
    original = machine_on(POINTS, COEFFICIENTS)
    said = LeftOutRows([trial_on(original, X, labels_of(original, X, rng))]).compared([original])
    assert (said.loss, said.loss_error, said.standard_error, said.recall) == (0, 0, 0, 1)
    assert said.is_within(0.0)


def test_a_vanished_class_is_never_within_the_tolerance(rng):
    X = np.r_[rng.normal(size=(995, 2)) * 0.1, np.full((5, 2), 3.0)]
    original = machine_on(np.array([[3.0, 3.0]]), np.array([[1.0]]), intercept=-0.5)
    small = machine_on(np.array([[3.0, 3.0]]), np.array([[0.2]]), intercept=-0.5)
    said = LeftOutRows([trial_on(original, X)]).compared([small])
    assert said.loss <= 0.006 and not said.is_within(0.05)


def test_whoever_accepts_more_never_gets_a_larger_size(rng):
    for _ in range(50):
        losses = rng.random(200) ** 4  # nothing improves steadily
        chosen = [first_acceptable(losses.__getitem__, limit.__ge__, 200) for limit in (0.01, 0.05, 0.2, 0.9)]
        found = [200 if each is None else each[0] for each in chosen]
        assert found == sorted(found, reverse=True)
        assert all(each is None or losses[each[0]] == each[1] for each in chosen)
    assert first_acceptable(lambda n: n, lambda made: True, 1) is None
    assert first_acceptable(lambda n: n, lambda made: made >= 9, 100) == (11, 11)
    assert first_acceptable(lambda n: n, lambda made: made >= 12, 100) == (16, 16)
