"""Outputs by themselves: ties, files, and fields that somebody has tampered with."""

from dataclasses import replace

import numpy as np
import pytest
from for_each import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from labels import label
from numpy.testing import assert_allclose, assert_array_equal

from preimage._models.machines import (
    Binary,
    Coordinates,
    Detection,
    DistanceDetection,
    Logistic,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
    best_threshold,
)
from preimage._models.machines._coupling import couple
from preimage.persistence._file import from_bytes, to_bytes

OBJECTS = np.array(["a", "long", "b"], dtype=object)
OUTPUTS = [
    Binary(np.array([3, 5])),
    Binary(np.array(["no", "yes"]), np.array([-1.5]), np.array([0.2])),
    Binary(np.array([False, True])),
    OneVsOne(np.array([1.0, 2.0, 4.0]), "ovo"),
    OneVsOne(OBJECTS, "ovr", True, np.array([-1.0, -2.0, -0.5]), np.array([0.1, 0.0, -0.1])),
    OneVsRest(np.array([1, 2])),
    OneVsRest(OBJECTS, probA=-np.ones(3), probB=np.zeros(3)),
    OneVsRest(np.arange(3), True, 0.5, np.array([1, -1, 0]), -np.ones(3), np.zeros(3)),
    Regression(),
    Regression(3),
    Regression(1, flat=False),
    Detection(-0.75),
    DistanceDetection(3, 1.0, -0.75),
    Coordinates(2),
]


def values_for(output, q=20):
    return np.random.default_rng(0).normal(size=(q, output.n_functions))


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
def test_outputs_come_back_from_files(output):
    copy = from_bytes(to_bytes(output))
    assert type(copy) is type(output)
    F = values_for(output)
    assert_array_equal(copy.predict(F), output.predict(F))
    assert copy.predict(F).dtype == output.predict(F).dtype
    assert_array_equal(copy.decision(F), output.decision(F))
    assert copy.has_probabilities == output.has_probabilities
    if output.has_probabilities:
        assert_array_equal(copy.probabilities(F), output.probabilities(F))


class Hostile:
    """Anything done to it fails the test."""

    def __call__(self, *args, **kwargs):
        pytest.fail("called")

    __array__ = __float__ = __int__ = __index__ = __iter__ = __call__


GOOD = {type(output).__name__: output for output in OUTPUTS}
NUMBERS = ["1", None, True, np.nan, np.inf, 10**400, [1.0], np.ones(1), Hostile()]
COUNTS = [0, -1, 1.0, "1", None, True, np.inf, [1], Hostile()]
FLAGS = [0, 1, "True", None, [True], Hostile()]
VECTORS = [
    "123",
    1.0,
    [1.0],
    np.ones((3, 1)),
    np.ones(4),
    np.array([1.0, np.nan, 0.0]),
    np.array([1, None, 2], dtype=object),
    np.array(["1", "2", "3"]),
    np.ones(3, dtype=complex),
    [1.0, 10**400, 0.0],
    [1.0, "2", 3.0],
    Hostile(),
    [Hostile()] * 3,
]
CLASSES = [
    None,
    "abc",
    ["a", "b", 3],
    [1, 2, 3],
    [],
    ["a", "b", "a"],
    [["a"], ["b"], ["c"]],
    np.array([1, 1, 2]),
    np.array([1.0, np.nan, 2.0]),
    np.ones((3, 1)),
    np.array([1]),
    np.array([1, 2, object()], dtype=object),
    np.array([1j, 2, 3]),
    np.zeros(3, dtype=[("a", int)]),
    Hostile(),
    [Hostile()] * 3,
]
BAD = [
    *[("Binary", "classes", value) for value in [*CLASSES, np.arange(3)]],
    *[("Binary", "probA", value) for value in VECTORS if not isinstance(value, list) or len(value) != 1],
    ("Binary", "probB", None),
    *[("OneVsOne", "classes", value) for value in [*CLASSES, np.arange(2), np.arange(4)]],
    *[("OneVsOne", "probB", value) for value in [*VECTORS, None]],
    *[("OneVsOne", "break_ties", value) for value in FLAGS],
    *[("OneVsOne", "decision_function_shape", value) for value in ["OVR", "", None, 1, ["ovr"], Hostile()]],
    *[("OneVsRest", "classes", value) for value in [*CLASSES, np.arange(2), np.arange(4)]],
    *[("OneVsRest", "constants", value) for value in [*VECTORS, np.array([0, 1, 2]), np.array([0.5, 0, 0])]],
    *[("OneVsRest", "probA", value) for value in [*VECTORS, None]],
    *[("OneVsRest", "multilabel", value) for value in FLAGS],
    *[("OneVsRest", "threshold", value) for value in NUMBERS],
    *[("Regression", "n_outputs", value) for value in COUNTS],
    *[("Regression", "flat", value) for value in FLAGS],
    *[("Detection", "offset", value) for value in NUMBERS],
    *[("Coordinates", "n_components", value) for value in COUNTS],
]


@for_each(("name", "field", "value"), BAD, ids=lambda part: label(part)[:30])
def test_bad_values_are_refused(name, field, value):
    good = OUTPUTS[1] if name == "Binary" else GOOD[name]
    with pytest.raises(ValueError, match=name):
        replace(good, **{field: value})


def test_fields_cannot_be_changed_afterwards():
    classes = np.array([1, 2])
    output = Binary(classes)
    classes[0] = 7
    assert_array_equal(output.classes, [1, 2])
    with pytest.raises(AttributeError):
        output.classes = classes
    with pytest.raises(ValueError, match="read-only"):
        output.classes[0] = 7


@pytest.mark.parametrize("output", [OUTPUTS[0], OUTPUTS[3], OUTPUTS[5], *OUTPUTS[8:]], ids=str)
def test_missing_probabilities_say_so(output):
    assert not output.has_probabilities
    with pytest.raises(AttributeError, match="no probabilities"):
        output.probabilities(values_for(output))


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
def test_values_of_other_functions_are_refused(output):
    for shape in [(4, output.n_functions - 1), (4,), (4, output.n_functions, 1)]:
        with pytest.raises(ValueError, match=f"needs the values of {output.n_functions} functions"):
            output.predict(np.zeros(shape))


@for_each("output", OUTPUTS, ids=str)
def test_values_of_any_array_library(xp, output):
    F = values_for(output)
    theirs = xp.asarray(F)
    assert_array_equal(np.asarray(output.predict(theirs)), output.predict(F))
    assert_array_equal(np.asarray(output.decision(theirs)), output.decision(F))
    if output.kind in ("classifier", "detector"):
        assert isinstance(output.predict(theirs), np.ndarray)
    if output.has_probabilities:
        assert_array_equal(output.probabilities(theirs), output.probabilities(F))


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
def test_no_rows_are_no_rows(output):
    F = values_for(output, q=0)
    assert output.predict(F).shape[0] == 0
    assert output.decision(F).shape[0] == 0
    if output.has_probabilities:
        assert output.probabilities(F).shape[0] == 0


def test_coordinates_are_the_first_ones():
    F = np.arange(12.0).reshape(3, 4)
    assert_array_equal(Coordinates(2).predict(F), F[:, :2])


def test_zero_values_in_each_rule():
    zero = np.zeros((1, 3))
    # libsvm votes for the second class of a pair: 2 beats 0 and 1.
    assert OneVsOne(np.arange(3)).predict(zero) == 2
    # scikit-learn's confidences count it for the first class.
    assert_array_equal(OneVsOne(np.arange(3)).decision(zero), [[2, 1, 0]])
    assert OneVsRest(np.arange(3)).predict(zero) == 0
    assert OneVsRest(np.array(["a", "b"])).predict(zero[:, :1]) == "a"
    assert Binary(np.array(["a", "b"])).predict(zero[:, :1]) == "b"
    assert Detection(0.0).predict(zero[:, :1]) == -1


def test_equal_votes_go_to_the_first_class():
    cycle = np.array([[1.0, -3.0, 2.0]])  # 0 beats 1, 2 beats 0, 1 beats 2
    assert OneVsOne(np.arange(3)).predict(cycle) == 0
    assert OneVsOne(np.arange(3), break_ties=True).predict(cycle) == 1


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_coupling_of_consistent_pairs_finds_their_distribution(n_classes, seed):
    """rᵢⱼ = pᵢ/(pᵢ + pⱼ) has p as its exact solution; the stopping rule leaves some of the way."""
    p = np.random.default_rng(seed).dirichlet(np.full(n_classes, 5.0), size=7) + 0.02
    p /= p.sum(axis=1, keepdims=True)
    first, second = np.triu_indices(n_classes, 1)
    coupled = couple(p[:, first] / (p[:, first] + p[:, second]), n_classes)
    assert_allclose(coupled.sum(axis=1), 1, rtol=1e-12)
    assert np.all(coupled >= 0)
    assert_allclose(coupled, p, atol=0.1)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_rows_are_coupled_independently(n_classes, seed):
    pairs = np.random.default_rng(seed).uniform(1e-7, 1 - 1e-7, size=(6, n_classes * (n_classes - 1) // 2))
    alone = [couple(row[None, :], n_classes)[0] for row in pairs]
    assert_allclose(couple(pairs, n_classes), alone, rtol=1e-13)


def test_the_interface_cannot_be_made():
    with pytest.raises(TypeError):
        Output()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=30), st.floats(-6, 6))
def test_thresholds_never_add_errors(pairs, old):
    scores = np.array([score for score, _ in pairs], dtype=float)
    labels = np.where([label for _, label in pairs], 1, -1)
    errors = lambda b: np.sum((scores + b > 0) != (labels > 0))
    new = best_threshold(scores, labels, old)
    possible = [errors(b) for b in np.arange(-7, 7, 0.5)]
    assert errors(new) == min(*possible, errors(old))
    if errors(old) == errors(new):
        assert new == old


def test_constants_keep_decisions_and_means():
    rng = np.random.default_rng(0)
    for output in OUTPUTS:
        before = values_for(output, 50)
        after = before + rng.normal(size=before.shape[1]) * (output.kind != "transformer")
        shift, moved = output.recentred(before, after, None)
        if output.kind == "regressor":
            assert_allclose(after + shift, before)
        elif isinstance(output, DistanceDetection):  # functions are squared: the threshold moves, and no constants
            assert not shift.any()
            wrong = [np.sum(each.predict(after) != output.predict(before)) for each in (output, moved)]
            assert wrong[1] <= wrong[0]
        else:
            assert_array_equal(after + shift > 0, before > 0)
        if output.has_probabilities:
            # They move with the thresholds, so that they name the classes that they named before.
            assert_allclose(moved.probabilities(after + shift), output.probabilities(after + shift))


# Decisions that links cannot tell apart: σ is one to the last digit, both ends are clipped, or F is below rounding.
SATURATED = np.array(
    [[40.0, -40.0, -90.0, 80.0], [-9.0, -5.0, -3.0, -4.0], [2.0, 5.0, 3.0, 5.0], [0.0, 1e-18, 0.0, 0.0], [0.0] * 4]
)


@pytest.mark.parametrize("link", ["softmax", "one_vs_rest", "clipped"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=label)
def test_the_class_that_wins_is_the_most_probable_where_links_saturate(link, dtype):
    for n_classes, F in ((4, SATURATED), (2, SATURATED.reshape(-1, 1))):
        output = Logistic(np.arange(n_classes), link, temperature=1.5)
        P = output.probabilities(F.astype(dtype))
        assert_array_equal(np.argmax(P, axis=1), output.predict(F.astype(dtype)))
        assert_allclose(P.sum(axis=1), 1, rtol=8 * np.finfo(dtype).eps)
        assert np.all((P >= 0) & (P <= 1))
