"""Results that are not finite: what is noticed, and what is said."""

import inspect
import warnings
from functools import partialmethod

import numpy as np
import pytest
from all_estimators import MODELS, X, Y, fitted, public_estimators
from for_each import for_each
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from preimage import (
    CompressedClassifier,
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    PenalizedDiscriminant,
    Renormalized,
)
from preimage._engine.arrays import array_namespace
from preimage._engine.finite import FEW_ENTRIES, finite_result, is_finite, refuse_overflowing_fit, working_method
from preimage.estimators._estimator import Estimator, is_fit
from preimage.kernels import Exponential
from preimage.model_selection import WidthSearch


@pytest.mark.parametrize("size", [1, FEW_ENTRIES + 1])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_is_found(xp, size, bad):
    values = np.full((size, 2), 1e-3)
    assert is_finite(xp.asarray(values))
    values[size // 2, 1] = bad
    assert not is_finite(xp.asarray(values))


def test_finite_numbers_with_an_infinite_sum_are_finite():
    assert is_finite(np.full(FEW_ENTRIES + 1, 1e308))


def test_the_message_names_method_row_size_and_remedy(xp):
    rows = np.array([[1.0, 2.0], [3.0, -4e200]])
    values = xp.asarray(np.array([[1.0], [np.inf]]))
    values = array_namespace(values).astype(values, array_namespace(values).float32)
    with working_method("KernelPCA.transform"), pytest.raises(ValueError) as error:
        finite_result(values, xp.asarray(rows), xp.asarray(np.array([[-7.0]])))
    for part in ("KernelPCA.transform", "row 1", "4e+200", "training data 7", "Scale", "float64"):
        assert part in str(error.value)


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([1]), None, [np.nan], np.array([None], dtype=object)])
def test_what_is_no_array_of_floating_numbers_is_left_alone(values):
    assert finite_result(values) is values


def test_the_message_of_a_fit_names_the_attribute_and_the_size_of_the_data():
    with working_method("KernelPCA.fit"), pytest.raises(ValueError, match=r"KernelPCA.fit .*eigenvalues_.*1e\+200"):
        refuse_overflowing_fit("eigenvalues_", np.array([np.inf]), [[1e200]])


@for_each("estimator", public_estimators(), ids=lambda each: each.__name__)
def test_all_public_methods_of_all_estimators_are_looked_at(estimator):
    assert issubclass(estimator, Estimator)
    for name in dir(estimator):
        method = inspect.getattr_static(estimator, name)
        is_method = inspect.isfunction(method) or hasattr(method, "fn")
        if is_method and name[0] != "_" and method.__module__.startswith("preimage."):
            assert hasattr(method, "_gives_finite_results"), name


def test_methods_that_nobody_has_listed_are_looked_at():
    class Methods:
        def give_images(self, X):
            return X * np.inf

        def fit_somehow(self, X):
            self.found_ = X * np.inf
            return self

    for method in (Methods.give_images, Methods.fit_somehow):
        method.__module__ = "preimage.estimators._of_tomorrow"
    tomorrow = type("Tomorrow", (Methods, Estimator), {})()
    with pytest.raises(ValueError, match=r"Tomorrow.give_images .* row 0, whose entries reach 1 "):
        tomorrow.give_images(np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"Tomorrow.fit_somehow .*found_"):
        tomorrow.fit_somehow(np.ones((2, 1)))
    assert not hasattr(tomorrow, "found_")


def test_a_query_that_overflows_is_refused_without_warnings():
    model = KernelPCA(2, kernel=Exponential(1.0)).fit(X)
    far = np.vstack([X[:3], np.full((1, X.shape[1]), 1e4)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"KernelPCA.transform .* row 3, .* 1e\+04 .*training data 7"):
            model.transform(far)


def test_a_chunk_that_overflows_is_refused_when_it_is_computed():
    da = pytest.importorskip("dask.array")
    model = KernelPCA(2, kernel=Exponential(1.0)).fit(X)
    far = model.transform(da.from_array(np.vstack([X, np.full((3, X.shape[1]), 1e4)]), chunks=(len(X), -1)))
    with pytest.raises(ValueError, match=r"KernelPCA.transform .* row 0, .* 1e\+04"):
        far.compute()


def test_a_fit_that_overflows_is_refused_and_leaves_the_model_as_it_was():
    model = KernelPCA(2, kernel=Exponential(1.0)).fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError):
        model.fit(1e5 * X)
    np.testing.assert_array_equal(model.transform(X), before)


def test_a_plain_kernel_map_that_overflows_says_so():
    model = EmpiricalKernelMap(Exponential(1.0)).fit(X)
    with pytest.raises(ValueError, match=r"EmpiricalKernelMap\.transform"):
        model.transform(1e5 * X)


def _queries(model):
    """Methods of rows of inputs alone."""
    for name in dir(type(model)):
        method = inspect.getattr_static(type(model), name)
        if not hasattr(method, "_gives_finite_results") or not hasattr(model, name) or is_fit(name):
            continue
        first, *others = list(inspect.signature(getattr(model, name)).parameters.values()) or [None]
        others = {each.name: each for each in others}
        has_defaults = all(each.default is not each.empty for each in others.values())
        if first is not None and first.name == "X" and has_defaults and "y" not in others:
            yield name


@pytest.mark.parametrize("name", MODELS)
def test_far_queries_get_finite_numbers_or_an_error_without_warnings(name):
    model, messages = fitted(name), []
    for size in (1e20, 1e155, 1e307):  # above, scikit-learn's own checks warn
        for method in _queries(model):
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    found = getattr(model, method)(np.sign(X[:3] - X.mean()) * size)
                except ValueError as error:
                    messages.append(str(error))
                    continue
            if method != "staged_predict":
                assert np.asarray(found).dtype.kind != "f" or np.isfinite(found).all(), (method, size)
    said = (
        "finite",
        "large",
        "fitted with sample_posterior=True",
        "fitted without categories",
        "loss='squared'",
        "that are left out",
    )
    assert all(any(part in message for part in said) for message in messages), messages


def _with_duplicates():
    """A CSR matrix with unsorted entries, some of them for the same place."""
    dense = np.round(X - X.mean(axis=0), 1)
    entries = sparse.coo_matrix(np.hstack([dense, dense[:, ::-1]]))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(entries.row, minlength=len(X)))])
    order = np.argsort(entries.row, kind="stable")
    return sparse.csr_matrix((entries.data[order], entries.col[order] % X.shape[1], indptr), shape=X.shape)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Renormalized(SVC()),
        lambda: WidthSearch(SVC()),
        lambda: CompressedClassifier(SVC(), 3),
        lambda: KernelFisherDiscriminant(),
        lambda: KernelPCA(2),
    ],
)
def test_sparse_matrices_with_several_entries_for_a_place_are_not_changed(make):
    rows = _with_duplicates()
    data, indices = rows.data.copy(), rows.indices.copy()
    model = make().fit(rows, Y > 0)
    getattr(model, "predict" if hasattr(model, "predict") else "transform")(rows)
    np.testing.assert_array_equal(rows.data, data)
    np.testing.assert_array_equal(rows.indices, indices)


@pytest.mark.parametrize("factor", [1e-300, 1e300])
@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelFisherDiscriminant(gamma=0.5),
        lambda: KernelFisherDiscriminant(gamma=0.5, sparsity=3),
        lambda: KernelFisherDiscriminant(gamma=0.5, landmarks=20),
        lambda: KernelFisherDiscriminantCV(alphas=[1e-3], cv="loo"),
        lambda: PenalizedDiscriminant(),
        lambda: KernelKMeans(2, gamma=0.5, random_state=0),
        lambda: Renormalized(KernelFisherDiscriminant(gamma=0.5)),
    ],
)
def test_extreme_weights_count_by_their_proportions(make, factor):
    weights = 1.0 + np.arange(len(X)) % 3
    expected = make().fit(X, Y > 0, sample_weight=weights / weights.mean()).predict(X)
    np.testing.assert_array_equal(make().fit(X, Y > 0, sample_weight=factor * weights).predict(X), expected)


def test_machines_of_unscaled_inputs_come_to_an_end():
    rng = np.random.default_rng(3)
    rows, labels = rng.integers(-50, 50, size=(20, 2)) * 1000.0, np.arange(20) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Renormalized(SVC(kernel="linear")).fit(rows, labels)
    assert np.isfinite(model.decision_function(rows + 1)).all()
    assert model.estimator_.max_iter == -1


def test_logarithms_of_probabilities_are_numbers():
    model = PenalizedDiscriminant().fit(X, Y)
    found = model.predict_log_proba(1e100 * X[:3])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-12)


def test_classes_of_one_row_each_cannot_be_cross_validated():
    with pytest.raises(ValueError, match=r"fit chooses by cross-validation.* more than one row"):
        KernelFisherDiscriminantCV().fit(X[:2], [0, 1])


def test_a_fold_without_a_class_predicts_the_other():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, of the class of one row
        model = KernelFisherDiscriminantCV(sparsity=5).fit(X[:4], [0, 1, 1, 1])
    assert np.isfinite(model.decision_function(X)).all()


def test_methods_of_classes_that_users_make_of_ours_are_their_own():
    class Theirs(KernelPCA):
        predict = partialmethod(KernelPCA.transform)

        @property
        def decompose(self):
            return lambda X: X

        @staticmethod
        def navigate(X):
            return X

        def fit(self, X, y=None):
            super().fit(X)
            self.found_ = np.array([np.nan, np.inf])
            return self

        def score_samples(self, X):
            return np.full(len(X), -np.inf)

    model = Theirs(2).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.transform(X))
    assert model.decompose(1) == model.navigate(1) == 1
    assert np.isinf(model.score_samples(X)).all()
    with pytest.raises(ValueError, match=r"Theirs\.transform"):
        Theirs(2, kernel=Exponential(1.0)).fit(X).transform(1e5 * X)
