"""Signal that models of most rows find in balanced folds."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import KernelPCA, inflation_report
from preimage.inflation._balanced import balanced_signal
from preimage.inflation._comparison import signal_of

JUDGE = LinearDiscriminantAnalysis()


def rows(shift, n=40, d=60, small=15, seed=0):
    X, y = np.random.default_rng(seed).normal(size=(n, d)), np.arange(n) < small
    X[y, :10] += shift
    return X, y


class TellsTheMissingClass(ClassifierMixin, BaseEstimator):
    """Decides against the class that has fewer rows than it should: the bias of leaving one out, alone."""

    def fit(self, X, y):
        self.classes_, self.share_ = np.unique(y), np.mean(y)
        return self

    def decision_function(self, X):
        return np.full(len(X), self.share_)

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0.5).astype(int)]


def test_leaving_out_a_row_tells_its_class_and_balanced_folds_do_not():
    X, y = rows(0.0)
    left_out = cross_val_predict(TellsTheMissingClass(), X, y, cv=LeaveOneOut(), method="decision_function")
    assert signal_of(left_out[:, None], y.astype(int)).auc == 0.0
    found = balanced_signal(TellsTheMissingClass(), X, y)
    assert found.auc == 0.5 and found.is_balanced


@pytest.mark.parametrize("model", [PCA(3), pytest.param(KernelPCA(3, gamma="median"), marks=pytest.mark.net)], ids=str)
def test_components_of_noise_have_no_bias(model):
    areas = [balanced_signal(model, *rows(0.0, n=30, d=40, seed=seed), judge=JUDGE).auc for seed in range(20)]
    assert abs(np.mean(areas) - 0.5) < 0.1
    left_out = [inflation_report(model, *rows(0.0, n=30, d=40, seed=seed), n_permutations=0) for seed in range(4)]
    assert np.mean([signal_of(each.calibration.judged.plain, each.y.astype(int)).auc for each in left_out]) < 0.4


@pytest.mark.parametrize(
    ("model", "judge"),
    [(SVC(), None), (RidgeClassifier(), None), (make_pipeline(PCA(5), SVC()), None), (PCA(5), JUDGE)],
    ids=str,
)
def test_planted_signal_is_found(model, judge):
    X, y = rows(1.5)
    found = balanced_signal(model, X, y, judge=judge)
    assert found.verdict == "yes" and found.auc > 0.8
    named = np.where(y, "ill", "healthy")
    assert balanced_signal(model, X, named, judge=judge).auc == pytest.approx(found.auc)


def test_folds_that_are_given_are_used_where_they_have_both_classes():
    X, y = rows(1.0)
    folds = list(StratifiedKFold(4).split(X, y))
    values = cross_val_predict(SVC(), X, y, cv=folds, method="decision_function")
    numbers = np.concatenate([np.full(len(test), k) for k, (_, test) in enumerate(folds)])
    order = np.argsort(np.concatenate([test for _, test in folds]))
    expected = signal_of(values[:, None], y.astype(int), folds=numbers[order])
    assert balanced_signal(SVC(), X, y, cv=folds) == expected
    assert balanced_signal(SVC(), X, y, cv=LeaveOneOut()) == balanced_signal(SVC(), X, y)


def test_subjects_are_left_out_whole_and_counted_once():
    """Scans of a subject resemble each other: as single rows they would tell the class by the subject."""
    rng = np.random.default_rng(1)
    subjects = np.repeat(np.arange(12), 5)
    X = rng.normal(size=(12, 30))[subjects] * 3 + rng.normal(size=(60, 30))
    y = subjects % 2
    alone, together = balanced_signal(SVC(), X, y), balanced_signal(SVC(), X, y, groups=subjects)
    assert alone.verdict == "yes" and together.verdict != "yes"
    assert together.standard_error > 1.8 * alone.standard_error


def test_several_classes_single_rows_and_copies():
    X, y = rows(0.0, n=36)
    y = np.arange(36) % 3
    X[:, :3] += 4 * np.eye(3)[y]
    assert balanced_signal(SVC(), X, y).verdict == "yes"
    y[0] = 3  # a class of one row
    assert balanced_signal(SVC(), X, y).verdict == "yes"
    assert balanced_signal(SVC(), X[:4], np.array([0, 0, 0, 1])) is None
    X, y = rows(0.0, n=20, small=10)
    copies = balanced_signal(SVC(), np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert copies.verdict != "yes"


def test_models_that_folds_are_too_small_for_have_no_verdict_of_no_signal():
    X, y = rows(0.0, n=20, small=10)
    assert balanced_signal(PCA(19), X, y, judge=JUDGE) is None
    report = inflation_report(PCA(19), X, y, n_permutations=0)
    assert not report.signal.is_balanced and report.signal.verdict != "no"


def test_the_same_seed_gives_the_same_signal():
    X, y = rows(0.5)
    first, second = (balanced_signal(SVC(), X, y, rng=np.random.default_rng(3)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_kernel_values_of_a_fitted_machine_serve_all_folds(kernel):
    X, y = rows(0.7)
    machine = SVC(kernel=kernel, gamma=0.01, C=10, tol=1e-8)
    once, again = balanced_signal(clone(machine).fit(X, y), X, y), balanced_signal(machine, X, y)
    assert once.auc == pytest.approx(again.auc, abs=0.003)  # ties aside
    scaled = make_pipeline(StandardScaler(), machine).fit(X, y)
    assert balanced_signal(scaled, X, y).auc == pytest.approx(once.auc, abs=0.1)
