"""compress without a size: judged on rows that were left out."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from preimage import CompressedClassifier, KernelPCA, compress, load
from preimage.estimators.compressed._trials import ENOUGH_ROWS, FOLDS, _folds, trials_of
from preimage.interop import fold, machine_of

X, Y = make_moons(240, noise=0.25, random_state=0)
OTHER_X, OTHER_Y = make_moons(150, noise=0.25, random_state=1)
NEW_X, NEW_Y = make_moons(4000, noise=0.25, random_state=2)


def folds_of(labels, rows=X):
    return _folds(len(rows), labels, np.random.default_rng(0))


def pooled(model_of, small_of, labels, rows=X):
    """Decisions of originals and small ones on the rows that were left out, computed again."""
    folds, before, after = folds_of(labels, rows), np.empty(len(rows)), np.empty(len(rows))
    for number in range(FOLDS):
        kept, left = np.flatnonzero(folds != number), np.flatnonzero(folds == number)
        model = model_of(kept)
        small = small_of(model, kept)
        before[left], after[left] = model.predict(rows[left]), small.predict(rows[left])
    return before, after


def test_reported_scores_are_refits_without_the_rows():
    svc = SVC(gamma=1, C=20).fit(X, Y)
    small = compress(svc, X=X, y=Y, tolerance=0.01)
    n = small.n_points_
    before, after = pooled(
        lambda kept: clone(svc).fit(X[kept], Y[kept]), lambda model, kept: compress(model, n, X=X[kept], y=Y[kept]), Y
    )
    assert small.is_retrained_
    assert small.left_out_scores_ == pytest.approx((np.mean(before == Y), np.mean(after == Y)))
    drops = (before == Y).astype(float) - (after == Y)
    assert small.left_out_standard_error_ == pytest.approx(np.std(drops, ddof=1) / np.sqrt(len(Y)))
    # The two kinds of rows are told apart.
    assert small.scores_ == (svc.score(X, Y), small.score(X, Y))
    assert f"{small.scores_[1]:.4f} on the rows it was fitted to, " in repr(small)
    assert f"→ {small.left_out_scores_[1]:.4f} ± {small.left_out_standard_error_:.4f} on rows left out" in repr(small)


def test_other_rows_than_those_of_the_training_are_only_left_out_of_the_compression():
    svc = SVC(gamma=1, C=20).fit(X, Y)
    small = compress(svc, X=OTHER_X, y=OTHER_Y, tolerance=0.01)
    n = small.n_points_
    again = lambda model, kept: compress(model, n, X=OTHER_X[kept], y=OTHER_Y[kept])
    before, after = pooled(lambda kept: svc, again, OTHER_Y, OTHER_X)
    assert not small.is_retrained_
    assert small.left_out_scores_ == pytest.approx((np.mean(before == OTHER_Y), np.mean(after == OTHER_Y)))


def test_without_labels_agreement_is_reported():
    svc = SVC(gamma=1, C=20).fit(X, Y)
    small = compress(svc, X=X, tolerance=0.02)
    assert not small.is_retrained_ and small.left_out_scores_[0] == 1
    assert repr(small).endswith(
        f"{small.left_out_scores_[1]:.4f} ± {small.left_out_standard_error_:.4f} on rows left out"
    )


def test_a_given_size_is_not_judged_on_other_rows():
    svc = SVC(gamma=1).fit(X, Y)
    small = compress(svc, 6, X=X, y=Y)
    assert small.left_out_scores_ is None and small.left_out_standard_error_ is None and not small.is_retrained_
    assert "left out" not in repr(small)
    assert compress(svc, tolerance=0.1).left_out_scores_ is None


def test_the_result_is_that_of_the_chosen_size():
    svc = SVC(gamma=1, C=20).fit(X, Y)
    small = compress(svc, X=X, y=Y)
    same = compress(svc, small.n_points_, X=X, y=Y)
    assert np.array_equal(small.points_, same.points_) and np.array_equal(small.intercept_, same.intercept_)


def test_looser_tolerances_never_need_more_points():
    svc = SVC(gamma=1, C=20).fit(X, Y)
    sizes = [compress(svc, X=X, y=Y, tolerance=t, method="select").n_points_ for t in (0.0005, 0.005, 0.02, 0.1)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1]


def test_shuffled_rows_give_about_the_same_size():
    svc = SVC(gamma=1, C=20).fit(X, Y)
    orders = [np.random.default_rng(seed).permutation(len(X)) for seed in range(4)]
    sizes = [compress(svc, X=X[order], y=Y[order], method="select").n_points_ for order in orders]
    assert max(sizes) <= 2 * min(sizes)


def test_new_rows_agree_with_what_was_foretold():
    svc = SVC(gamma=1, C=20).fit(X, Y)
    small = compress(svc, X=X, y=Y)
    foretold, slack = small.left_out_scores_, 3 * small.left_out_standard_error_ + 0.01
    assert svc.score(NEW_X, NEW_Y) - small.score(NEW_X, NEW_Y) <= 0.01
    assert abs((foretold[0] - foretold[1]) - (svc.score(NEW_X, NEW_Y) - small.score(NEW_X, NEW_Y))) <= slack


@pytest.mark.net
def test_regressors_and_transformers(rng):
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    for original in (SVR(gamma=0.5, C=10), KernelRidge(kernel="rbf", gamma=0.5, alpha=0.01)):
        model = clone(original).fit(X, y)
        small = compress(model, X=X, y=y)
        n, scores = small.n_points_, []
        assert small.is_retrained_ and n < small.n_original_points_ / 3
        folds = folds_of(None)
        for number in range(FOLDS):
            kept, left = np.flatnonzero(folds != number), np.flatnonzero(folds == number)
            other = clone(original).fit(X[kept], y[kept])
            few = compress(other, n, X=X[kept], y=y[kept])
            scores.append([r2_score(y[left], each.predict(X[left])) for each in (other, few)])
        assert small.left_out_scores_ == pytest.approx(tuple(np.mean(scores, axis=0)), abs=1e-6)
        assert small.left_out_scores_[1] > small.left_out_scores_[0] - 0.01
    small = compress(KernelPCA(3, gamma=0.5).fit(X), X=X)
    assert small.is_retrained_ and small.left_out_scores_[1] > 0.98
    small = compress(OneClassSVM(gamma=0.5, nu=0.2).fit(X), X=X, tolerance=0.02)
    assert small.is_retrained_ and small.left_out_scores_[1] > 0.95


def test_fits_searches_and_pipelines_are_judged_on_left_out_rows(tmp_path):
    weights = np.random.default_rng(0).random(len(X)) + 0.5
    fitted = CompressedClassifier(SVC(gamma=1), method="select").fit(X, Y, sample_weight=weights)
    scaled = CompressedClassifier(make_pipeline(StandardScaler(), SVC(gamma=1)), method="select")
    scaled.fit(X, Y, svc__sample_weight=weights)
    search = compress(GridSearchCV(SVC(gamma=1), {"C": [1, 10]}, cv=2).fit(X, Y), X=X, y=Y, method="select")
    pipeline = compress(make_pipeline(StandardScaler(), SVC(gamma=1)).fit(X, Y), X=X, y=Y, method="select")[-1]
    for small in (fitted, scaled, search, pipeline):
        assert small.is_retrained_ and 0.8 < small.left_out_scores_[1] <= 1
    pytest.importorskip("safetensors", reason="files are safetensors")
    fitted.save(tmp_path / "small.safetensors")
    again = load(tmp_path / "small.safetensors")
    assert (again.left_out_scores_, again.is_retrained_) == (fitted.left_out_scores_, True)
    assert again.left_out_standard_error_ == fitted.left_out_standard_error_


def test_weights_of_the_fit_are_those_of_the_trials():
    """Examples without weight are as good as absent in the machines of the trials as well."""
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    svc = SVC(gamma=1).fit(X, Y, sample_weight=weights)
    folded = fold(svc)
    trials = trials_of(folded, machine_of(svc), X, Y, Y, {"sample_weight": weights}, np.random.default_rng(0))
    folds = folds_of(Y)
    for number, trial in enumerate(trials):
        rows = np.flatnonzero((folds != number) & (weights > 0))
        expected = machine_of(SVC(gamma=1).fit(X[rows], Y[rows]))(X)
        np.testing.assert_allclose(trial.machine(X), expected, atol=0.02)


def test_many_rows_need_one_trial():
    rows, labels = make_moons(FOLDS * ENOUGH_ROWS, noise=0.3, random_state=0)
    svc = SVC(gamma=1).fit(rows, labels)
    trials = trials_of(fold(svc), machine_of(svc), rows, labels, labels, {}, np.random.default_rng(0))
    assert len(trials) == 1 and len(trials[0].left_out_X) == ENOUGH_ROWS


@pytest.mark.parametrize("n", [2, 5, 19])
def test_few_rows_judge_what_is_fitted_to_them(n):
    svc = SVC(gamma=1).fit(X, Y)
    rows = np.r_[:n]
    small = compress(svc, X=X[rows], y=Y[rows])
    assert small.left_out_scores_ is None and np.isfinite(small.decision_function(NEW_X)).all()


def test_a_class_of_one_row_is_no_obstacle():
    labels = np.where(np.arange(len(X)) == 7, 2, Y)
    small = compress(SVC(gamma=1, C=10).fit(X, labels), X=X, y=labels)
    assert not small.is_retrained_ and small.left_out_scores_ is not None


def test_several_labels_per_row():
    data = load_digits()
    rows, labels = data.data[:300] / 16, np.stack([data.target[:300] % 2, data.target[:300] > 4], axis=1).astype(int)
    model = OneVsRestClassifier(SVC(gamma=0.05, C=5)).fit(rows, labels)
    small = compress(model, X=rows, y=labels, tolerance=0.05, method="select")
    assert small.is_retrained_ and small.left_out_scores_[1] >= small.left_out_scores_[0] - 0.08


def test_precomputed_kernels_are_left_out_of_the_compression():
    gram = lambda A: np.exp(-((A[:, None] - X) ** 2).sum(axis=-1))
    svc = SVC(kernel="precomputed", C=10).fit(gram(X), Y)
    small = compress(svc, X=gram(X), y=Y, tolerance=0.02)
    assert not small.is_retrained_ and small.n_points_ < small.n_original_points_
    assert small.left_out_scores_ is not None


def test_inputs_are_not_changed():
    rows, labels = X.copy(), Y.copy()
    compress(SVC(gamma=1).fit(rows, labels), X=rows, y=labels)
    assert np.array_equal(rows, X) and np.array_equal(labels, Y)


def test_labels_of_another_number_of_rows_are_refused():
    svc = SVC(gamma=1).fit(X, Y)
    for size in (None, 5):
        with pytest.raises(ValueError, match="y has 230 labels for 240 rows of X"):
            compress(svc, size, X=X, y=Y[:230])


@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_targets_of_any_size(unit):
    y = np.sin(2 * X[:, 0])
    one, other = (
        compress(KernelRidge(kernel="rbf", gamma=0.5, alpha=0.01).fit(X, scale * y), X=X, y=scale * y, method="select")
        for scale in (1.0, unit)
    )
    assert other.n_points_ == one.n_points_
    assert other.left_out_scores_ == pytest.approx(one.left_out_scores_, abs=1e-4)
    assert other.left_out_standard_error_ == pytest.approx(one.left_out_standard_error_, rel=0.01)
