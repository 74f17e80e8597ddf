"""A search for the width: the peak of its curve, in the space that the kernel sees, handed to the estimator."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import KernelFisherDiscriminant, KernelPCA
from preimage._engine import threads as _threads
from preimage.kernels import Gaussian, Laplacian, Linear, ScaledInputs
from preimage.kernels._bandwidth import CLASS_RULES
from preimage.model_selection._width_search import WidthSearch, class_mean_radius
from preimage.widths import class_gram, class_width, with_class_widths
from preimage.widths._class_width import CLASS_RULES as RULES
from preimage.widths._class_width import class_balls

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]


@parametrize_with_checks(
    [
        WidthSearch(SVC(), gammas=[0.01, 0.1, 1.0], unbiased=False),
        WidthSearch(KernelFisherDiscriminant(), unbiased=False, criterion="alignment"),
        WidthSearch(KernelPCA(2), unbiased=False, criterion="mean_distance"),
        WidthSearch(unbiased=False),
    ]
)
@pytest.mark.filterwarnings("ignore:WidthSearch:sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("criterion", CLASS_RULES)
def test_the_search_finds_the_width_of_the_rule(criterion):
    search = WidthSearch(SVC(), criterion=criterion).fit(X, y)
    assert_allclose(search.best_gamma_, class_width(X, y, criterion), rtol=1e-12)
    assert search.best_params_ == {"gamma": search.best_gamma_} and search.best_estimator_.gamma == search.best_gamma_
    assert search.score(X, y) == SVC(gamma=search.best_gamma_).fit(X, y).score(X, y)


def test_all_curves_come_from_one_pass():
    search = WidthSearch().fit(X, y)
    assert set(search.criteria_) == set(CLASS_RULES)
    gram = class_gram(X, y, search.gammas_)
    for name, curve in search.criteria_.items():
        assert_allclose(curve, RULES[name].make(gram, True), rtol=1e-9)
    assert search.best_index_ == np.argmax(search.criteria_["enclosing_ball"])
    assert_allclose(search.ball_.radius, search.criteria_["enclosing_ball"][search.best_index_], rtol=1e-9)
    assert_array_equal(search.classes_, np.arange(10))


def test_given_candidates_are_chosen_from():
    gammas = [0.01, 1e-4, 1e-3, 1e-3]
    search = WidthSearch(gammas=gammas).fit(X, y)
    assert_array_equal(search.gammas_, [1e-4, 1e-3, 0.01])
    assert search.best_gamma_ == 1e-3
    with pytest.warns(ConvergenceWarning, match=r"WidthSearch: enclosing_ball is largest at gamma=1e-05, the largest"):
        assert WidthSearch(gammas=[1e-6, 1e-5]).fit(X, y).best_gamma_ == 1e-5


@pytest.mark.parametrize(
    ("estimator", "param"),
    [
        (SVC(), "gamma"),
        (Nystroem(n_components=20), "gamma"),
        (KernelPCA(3), "gamma"),
        (KernelFisherDiscriminant(kernel=Gaussian("median")), "kernel__gamma"),
        (KernelPCA(3, kernel=Linear() + Gaussian()), "kernel__right__gamma"),
        (OneVsRestClassifier(SVC()), "estimator__gamma"),
        (make_pipeline(StandardScaler(), SVC()), "svc__gamma"),
        (make_pipeline(KernelPCA(5, kernel="linear"), SVC()), "svc__gamma"),
        (make_pipeline(StandardScaler(), make_pipeline(PCA(5), SVC())), "pipeline__svc__gamma"),
    ],
)
def test_the_width_is_found_among_the_parameters(estimator, param):
    search = WidthSearch(estimator).fit(X[:200], y[:200])
    assert list(search.best_params_) == [param]
    assert search.best_estimator_.get_params()[param] == search.best_gamma_


def test_a_pipeline_is_searched_in_the_space_of_its_kernel():
    scaled = StandardScaler().fit_transform(X)
    assert_allclose(
        WidthSearch(make_pipeline(StandardScaler(), SVC())).fit(X, y).best_gamma_, class_width(scaled, y), rtol=1e-12
    )
    nested = make_pipeline(StandardScaler(), make_pipeline(PCA(5, random_state=0), SVC()))
    reduced = PCA(5, random_state=0).fit_transform(scaled)
    assert_allclose(WidthSearch(nested).fit(X, y).best_gamma_, class_width(reduced, y), rtol=1e-9)


def test_kernels_of_transformed_inputs_are_searched_in_the_space_of_their_part():
    weights = np.r_[np.full(32, 100.0), np.ones(32)]
    kernel = ScaledInputs(Gaussian() + Linear(), weights)
    expected = with_class_widths(ScaledInputs(Gaussian("enclosing_ball"), weights), X, y).kernel.gamma
    assert_allclose(WidthSearch(KernelPCA(3, kernel=kernel)).fit(X, y).best_gamma_, expected)
    steps = make_pipeline(StandardScaler(), KernelPCA(3, kernel=kernel))
    scaled = np.sqrt(weights) * StandardScaler().fit_transform(X)
    assert_allclose(WidthSearch(steps).fit(X, y).best_gamma_, class_width(scaled, y))


def test_the_family_is_that_of_the_kernel():
    expected = class_width(X, y, kernel=Laplacian())
    assert_allclose(WidthSearch(KernelPCA(3, kernel="laplacian")).fit(X, y).best_gamma_, expected)
    assert_allclose(WidthSearch(KernelPCA(3, kernel=Laplacian())).fit(X, y).best_gamma_, expected)


def test_what_has_no_width_or_several_is_refused():
    for estimator in (SVC(kernel="linear"), SVC(kernel="precomputed"), KernelPCA(kernel="poly"), LogisticRegression()):
        with pytest.raises(ValueError, match="found no width among the parameters"):
            WidthSearch(estimator).fit(X, y)
    both = make_pipeline(KernelPCA(5), SVC())
    with pytest.raises(ValueError, match=r"kernelpca__gamma, svc__gamma.*param='kernelpca__gamma'"):
        WidthSearch(both).fit(X, y)
    search = WidthSearch(both, param="kernelpca__gamma").fit(X[:200], y[:200])
    assert_allclose(search.best_estimator_.named_steps["kernelpca"].gamma, class_width(X[:200], y[:200]))
    with pytest.raises(ValueError, match="no parameter 'width'; widths among its parameters: gamma"):
        WidthSearch(SVC(), param="width").fit(X, y)
    with pytest.raises(ValueError, match="is not the width of a kernel of a distance"):
        WidthSearch(SVC(kernel="poly"), param="gamma").fit(X, y)


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({}, None, "requires y to be passed"),
        ({}, np.linspace(0, 1, 600), "Unknown label type"),
        ({}, np.zeros(600), "WidthSearch finds a width from the means of two classes or more"),
        ({}, np.append(y[:-1], 99), "class 99 has one member"),
        ({"gammas": [1.0, -1.0]}, y, "positive finite numbers"),
        ({"gammas": []}, y, "positive finite numbers"),
        ({"criterion": "ball"}, y, "criterion"),
        ({"n_samples": 1}, y, "n_samples"),
    ],
)
def test_wrong_input_is_refused(options, labels, message):
    with pytest.raises(ValueError, match=message):
        WidthSearch(SVC(), **options).fit(X, labels)


def test_nan_is_refused_by_name():
    bad = X.copy()
    bad[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        WidthSearch(SVC()).fit(bad, y)
    with pytest.raises(ValueError, match="NaN"):
        WidthSearch(make_pipeline(StandardScaler(), SVC())).fit(bad, y)


def test_a_class_of_one_is_fine_with_self_pairs_and_for_alignment():
    lonely = np.append(y[:-1], 99)
    assert set(WidthSearch(unbiased=False).fit(X, lonely).criteria_) == set(CLASS_RULES)
    search = WidthSearch(criterion="alignment").fit(X, lonely)
    assert set(search.criteria_) == {"alignment"} and search.ball_.radius > 0


def test_methods_are_those_of_the_estimator():
    search = WidthSearch(SVC())
    assert hasattr(search, "predict") and hasattr(search, "decision_function")
    assert not hasattr(search, "transform") and not hasattr(search, "predict_proba")
    with pytest.raises(NotFittedError):
        search.predict(X)
    search.fit(X, y)
    fitted = SVC(gamma=search.best_gamma_).fit(X, y)
    assert_array_equal(search.predict(X), fitted.predict(X))
    assert_allclose(search.decision_function(X), fitted.decision_function(X))
    transformer = WidthSearch(KernelPCA(3)).fit(X, y)
    assert transformer.transform(X).shape == (600, 3) and not hasattr(transformer, "predict")
    assert transformer.denoise(X[:5]).shape == (5, 64)
    for nothing in (WidthSearch(), WidthSearch(SVC(), refit=False)):
        assert not hasattr(nothing, "predict") and not hasattr(nothing.fit(X, y), "best_estimator_")
        with pytest.raises(AttributeError) as caught:
            nothing.predict  # noqa: B018
        assert "WidthSearch(SVC())" in str(caught.value.__cause__)


def test_the_estimator_that_was_given_is_left_alone():
    machine = SVC(gamma=7.0)
    WidthSearch(machine).fit(X, y)
    assert machine.gamma == 7.0 and not hasattr(machine, "support_")


def test_it_can_be_cross_validated_and_cloned():
    search = WidthSearch(make_pipeline(StandardScaler(), SVC(C=10)))
    assert cross_val_score(search, X, y, cv=3).mean() > 0.85
    assert clone(search).get_params()["estimator__svc__C"] == 10
    assert search.set_params(estimator__svc__C=3).estimator.named_steps["svc"].C == 3


def test_a_sample_of_points_is_reproducible_and_close():
    first, second = (WidthSearch(n_samples=200, random_state=seed).fit(X, y) for seed in (0, 0))
    assert first.best_gamma_ == second.best_gamma_ != WidthSearch(n_samples=200, random_state=1).fit(X, y).best_gamma_
    assert abs(np.log2(first.best_gamma_ / class_width(X, y))) < 0.3


def test_data_frames_sparse_matrices_and_string_labels():
    iris = load_iris(as_frame=True)
    names = iris.target_names[iris.target]
    frame = WidthSearch(SVC()).fit(iris.data, names)
    assert_array_equal(frame.feature_names_in_, iris.data.columns)
    assert frame.n_features_in_ == 4 and set(frame.predict(iris.data)) == set(iris.target_names)
    pandas_labels = WidthSearch(SVC()).fit(iris.data, pd.Series(names))
    assert_allclose(
        [frame.best_gamma_, pandas_labels.best_gamma_], class_width(iris.data.to_numpy(), names), rtol=1e-12
    )
    assert_allclose(WidthSearch(SVC()).fit(sparse.csr_matrix(X), y).best_gamma_, class_width(X, y), rtol=1e-9)


def test_steps_before_the_kernel_take_what_they_take():
    table = pd.DataFrame({"size": X[:90, 20], "color": np.array(["red", "green", "blue"])[y[:90] % 3]})
    steps = make_pipeline(make_column_transformer((OneHotEncoder(), ["color"]), remainder=StandardScaler()), SVC())
    assert WidthSearch(steps).fit(table, y[:90] % 3).score(table, y[:90] % 3) == 1


def test_fit_parameters_reach_the_estimator():
    weights = np.where(y < 5, 1.0, 1e-9)
    search = WidthSearch(SVC(C=1.0)).fit(X, y, sample_weight=weights)
    assert set(search.predict(X)) <= set(range(5))
    assert_allclose(search.best_gamma_, class_width(X, y))
    without = WidthSearch(SVC()).fit(X, y, sample_weight=np.where(y < 5, 1.0, 0.0))
    assert_allclose(without.best_gamma_, class_width(X[y < 5], y[y < 5]), rtol=1e-12)
    with pytest.raises(ValueError, match="positive sample_weight, finds a width from the means of two classes"):
        WidthSearch(SVC()).fit(X, y, sample_weight=np.where(y == 5, 1.0, 0.0))


def test_tensors_are_searched_where_they_are():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    search = WidthSearch(KernelPCA(3)).fit(torch.asarray(X), y)
    assert_allclose(search.best_gamma_, class_width(X, y), rtol=1e-9)
    assert isinstance(search.transform(torch.asarray(X[:4])), torch.Tensor)


def test_many_classes_within_bounded_memory(rng):
    centers = rng.normal(size=(300, 5))
    labels = np.repeat(np.arange(300), 4)
    points = centers[labels] + 0.05 * rng.normal(size=(1200, 5))
    exact = WidthSearch().fit(points, labels)
    assert exact.ball_.converged


def test_the_radius_of_class_means():
    labels, points = np.repeat([0, 1, 2], 10), np.random.default_rng(0).normal(size=(30, 2))
    assert_allclose(class_mean_radius(points, labels, 1e9) ** 2, (1 - 1 / 3) / 10)
    several = class_mean_radius(points, labels, [0.1, 1.0], unbiased=True)
    expected = [ball.radius for ball in class_balls(class_gram(points, labels, [0.1, 1.0]).unbiased)]
    assert_allclose(several, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="class_mean_radius finds a width"):
        class_mean_radius(points, np.zeros(30), 1.0)


@pytest.mark.parametrize("criterion", ["enclosing_ball", "mean_distance", "alignment"])
def test_the_best_score_is_the_highest_of_the_candidates(criterion):
    X, y = load_iris(return_X_y=True)
    search = WidthSearch(criterion=criterion, gammas=np.geomspace(1e-3, 1e2, 11)).fit(X, y)
    assert search.best_score_ == search.criteria_[criterion].max()


def test_the_width_does_not_depend_on_threads(monkeypatch):
    X, y = load_digits(return_X_y=True)
    searches = []
    for threads in (1, 2, 8):
        monkeypatch.setattr(_threads, "allowed_threads", lambda count=threads: count)
        searches.append(WidthSearch().fit(X[:700], y[:700]))
    searches.append(WidthSearch(n_jobs=3).fit(X[:700], y[:700]))
    for other in searches[1:]:
        assert other.best_gamma_ == searches[0].best_gamma_
        for name, curve in other.criteria_.items():
            assert_array_equal(curve, searches[0].criteria_[name])
