"""The nearest of given rows: against all distances, and steps among variants that only go down."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from preimage import KernelKMeans, KernelPCA
from preimage.kernels import Gaussian, Sigmoid, Strings
from preimage.solvers import Auto, FixedPoint, NearestRow, Reason

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
WORDS = ["".join(RNG.choice(list("abc"), RNG.integers(2, 8))) for _ in range(30)]


def shorter(word):
    return [word[:i] + word[i + 1 :] for i in range(len(word))]


def one_letter_changed(word):
    return shorter(word) + [word[:i] + letter + word[i:] for i in range(len(word) + 1) for letter in "abc"]


@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("landmarks", [None, 10])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Sigmoid(0.1, 0.5)])
def test_results_are_the_rows_with_the_smallest_distance(kernel, landmarks):
    if landmarks and not kernel.is_positive_semidefinite:
        return
    model = KernelPCA(4, kernel=kernel, landmarks=landmarks, preimage="nearest").fit(X)
    Y = RNG.normal(size=(9, 4)) * 0.3
    found = model.find_preimages(Y)
    all_pairs = np.stack([model.subspace_.squared_distances(X, np.tile(y, (len(X), 1))) for y in Y])
    assert_allclose(found.objective, all_pairs.min(axis=1), atol=1e-12)
    assert_array_equal(found.points, X[all_pairs.argmin(axis=1)])
    assert found.converged.all() and set(found.reason) == {Reason.NEAREST}


def test_training_rows_come_back_where_all_components_are_kept():
    model = KernelPCA(None, kernel=Strings.blended(3)).fit(sorted(set(WORDS)))
    words = sorted(set(WORDS))
    assert model.inverse_transform(model.transform(words)).tolist() == words
    assert model.denoise(words).tolist() == words


def test_candidates_of_ones_own():
    model = KernelPCA(3, kernel=Strings.blended(2), preimage=NearestRow(["zz", "ab", "cc"])).fit(WORDS)
    assert model.inverse_transform(model.transform(["abab", "cccc"])).tolist() == ["ab", "cc"]
    rows = sparse.csr_array(np.eye(3))
    model = KernelPCA(3, kernel=Gaussian(0.3), preimage=NearestRow(rows)).fit(X)
    assert_array_equal(model.inverse_transform(model.transform(np.eye(3))), np.eye(3))


def test_variants_lower_the_distance_and_end_in_a_minimum_among_them():
    nearest = KernelPCA(6, kernel=Strings.blended(2), preimage=NearestRow()).fit(WORDS)
    model = KernelPCA(6, kernel=Strings.blended(2), preimage=NearestRow(variants=one_letter_changed)).fit(WORDS)
    Y = model.transform(["abcabc", "ccccc", "bab"])
    first, found = nearest.find_preimages(Y), model.find_preimages(Y)
    assert (found.objective <= first.objective + 1e-12).all() and (found.objective < first.objective - 1e-6).any()
    distance = lambda words, y: model.subspace_.squared_distances(
        model.kernel_.rows(words), np.tile(y, (len(words), 1))
    )
    for word, y, objective in zip(found.points, Y, found.objective, strict=True):
        assert_allclose(distance([word], y), objective, atol=1e-12)
        assert distance(one_letter_changed(word), y).min() >= objective - 1e-9
    assert found.converged.all()


def test_steps_are_limited_and_may_end_for_want_of_variants():
    solver = NearestRow(["aaaaaaaa"], variants=shorter, max_iter=2)
    model = KernelPCA(3, kernel=Strings.blended(2, normalize=False), preimage=solver).fit(WORDS)
    with pytest.warns(UserWarning, match="iteration limit"):
        assert model.inverse_transform(model.transform(["aa"])).tolist() == ["aaaaaa"]
    model.set_params(preimage=NearestRow(["ab"], variants=lambda word: [])).fit(WORDS)
    assert model.inverse_transform(model.transform(["aa"])).tolist() == ["ab"]


def test_large_training_sets_are_sampled():
    model = KernelPCA(2, kernel=Strings.blended(2), preimage=NearestRow(max_rows=5)).fit(WORDS)
    assert model.preimage_.rows.shape == (5, 1)
    again = KernelPCA(2, kernel=Strings.blended(2), preimage=NearestRow(max_rows=5)).fit(WORDS)
    assert_array_equal(model.preimage_.rows, again.preimage_.rows)


def test_auto_means_the_nearest_row_for_objects():
    model = KernelPCA(2, kernel=Strings.blended(2)).fit(WORDS)
    assert "NearestRow" in repr(model.preimage_) and set(model.navigate(WORDS[:3], WORDS[3:6], 4)) <= set(WORDS)
    assert set(model.component_preimages()) <= set(WORDS)
    assert set(KernelKMeans(2, kernel=Strings.blended(2), random_state=0).fit(WORDS).cluster_preimages()) <= set(WORDS)


@pytest.mark.parametrize(
    ("solver", "rows", "message"),
    [
        (NearestRow(variants=shorter), X, "variants, which are for kernels on objects"),
        (NearestRow([[1.0, 2.0]]), X, "candidates like the training rows"),
        (NearestRow(np.zeros((0, 3))), X, "one at least"),
        (NearestRow([3]), WORDS, "compares texts"),
        (NearestRow(max_rows=0), X, "max_rows"),
        (FixedPoint(), WORDS, "arithmetic on rows of numbers"),
        (Auto(FixedPoint()), WORDS, "arithmetic on rows of numbers"),
        ("learned", WORDS, "preimage='nearest'"),
    ],
)
def test_refusals(solver, rows, message):
    kernel = Gaussian(0.3) if rows is X else Strings.blended(2)
    with pytest.raises((ValueError, TypeError), match=message):
        KernelPCA(2, kernel=kernel, preimage=solver).fit(rows)


def test_it_answers_after_fit_alone():
    model = KernelPCA(2, kernel=Gaussian(0.3)).fit(X)
    with pytest.raises(ValueError, match="fit"):
        NearestRow().inverse(model.subspace_, np.zeros((1, 2)))
