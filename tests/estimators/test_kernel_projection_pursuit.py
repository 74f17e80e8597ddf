"""Projection pursuit in feature space."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kurtosis
from sklearn.decomposition import PCA, FastICA
from sklearn.model_selection import GridSearchCV

from preimage import KernelPCA, KernelProjectionPursuit, compress
from preimage._engine.arrays import to_numpy
from preimage._engine.warnings import ignored
from preimage.exceptions import ConvergenceWarning, RankWarning, UnsupportedKernelError
from preimage.kernels import Gaussian, Sigmoid
from preimage.solvers import FixedPoint, Gradient


@pytest.fixture
def X(rng):
    return np.vstack([rng.normal(size=(60, 3)), rng.normal(4, 0.5, size=(20, 3))])


def test_features_are_white_and_have_the_moments_that_are_said(X, xp):
    model = KernelProjectionPursuit(3, gamma=0.1, n_principal=5).fit(xp.asarray(X))
    Y = to_numpy(model.transform(xp.asarray(X)))
    assert_allclose(Y.mean(axis=0), 0, atol=1e-9)
    assert_allclose(np.cov(Y.T, bias=True), np.eye(3), atol=1e-8)
    assert_allclose(kurtosis(Y), to_numpy(model.contrasts_), atol=1e-7)
    assert (model.n_components_, model.n_principal_) == (3, 5)


def test_features_are_combinations_of_principal_components(X):
    model = KernelProjectionPursuit(2, gamma=0.1, n_principal=4).fit(X)
    scores = KernelPCA(4, gamma=0.1).fit(X).transform(X)
    Y = model.transform(X)
    assert_allclose(scores @ np.linalg.lstsq(scores, Y, rcond=None)[0], Y, atol=1e-8)


def test_a_linear_kernel_gives_independent_components(rng):
    """As extreme as what FastICA finds, on the same white coordinates."""
    S = np.stack([rng.laplace(size=1500), rng.uniform(size=1500), rng.exponential(size=1500)], axis=1)
    X = S @ rng.normal(size=(3, 3))
    model = KernelProjectionPursuit(kernel="linear", n_principal=3).fit(X)
    Y = model.transform(X)
    assert_allclose(np.abs(np.corrcoef(Y.T, S.T)[:3, 3:]).max(axis=1), 1, atol=0.02)
    theirs = FastICA(fun="cube", whiten="unit-variance", random_state=0, tol=1e-8, max_iter=1000).fit_transform(X)
    assert np.abs(model.contrasts_).sum() >= np.abs(kurtosis(theirs)).sum() * (1 - 1e-6)
    # All components together lose nothing: the way back is that of PCA.
    assert_allclose(model.inverse_transform(Y), X, atol=1e-6)
    assert_allclose(model.denoise(X[:5]), X[:5], atol=1e-6)


def test_some_components_leave_the_others_at_their_mean(rng):
    """With a linear kernel the reconstruction is the regression of inputs on features."""
    X = rng.laplace(size=(300, 4)) @ rng.normal(size=(4, 4)) + 5
    model = KernelProjectionPursuit(4, kernel="linear", n_principal=4).fit(X)
    Y = model.transform(X)
    for count in (1, 2, 3):
        design = np.column_stack([np.ones(300), Y[:, :count]])
        expected = design @ np.linalg.lstsq(design, X, rcond=None)[0]
        assert_allclose(model.inverse_transform(Y[:, :count]), expected, atol=1e-6)
        assert_allclose(model.denoise(X, n_components=count), expected, atol=1e-6)


def test_all_components_denoise_like_kernel_pca(X):
    pursuit = KernelProjectionPursuit(gamma=0.1, n_principal=4, preimage="fixed_point").fit(X)
    principal = KernelPCA(4, gamma=0.1, preimage="fixed_point").fit(X)
    assert_allclose(pursuit.denoise(X[:9]), principal.denoise(X[:9]), atol=1e-5)
    assert_allclose(pursuit.find_preimages(pursuit.transform(X[:9]), X[:9]).points, pursuit.denoise(X[:9]), atol=1e-6)


def test_pictures_are_of_the_directions(rng):
    X = rng.laplace(size=(400, 3)) @ rng.normal(size=(3, 3))
    model = KernelProjectionPursuit(kernel="linear", n_principal=3).fit(X)
    directions = model.component_images()  # for a linear kernel the directions themselves
    assert_allclose((X - X.mean(axis=0)) @ directions.T, model.transform(X), atol=1e-8)
    pictures = model.component_preimages(2)
    cosines = np.sum(pictures * directions[:2], axis=1) / (
        np.linalg.norm(pictures, axis=1) * np.linalg.norm(directions[:2], axis=1)
    )
    assert_allclose(np.abs(cosines), 1, atol=1e-6)


def test_landmarks_of_all_rows_are_no_landmarks(X):
    every = KernelProjectionPursuit(2, gamma=0.1, n_principal=3, tol=1e-14).fit(X)
    on_all = KernelProjectionPursuit(2, gamma=0.1, n_principal=3, landmarks=len(X), tol=1e-14).fit(X)
    assert on_all.landmarks_ is not None and every.landmarks_ is None
    assert_allclose(on_all.contrasts_, every.contrasts_, rtol=1e-2)
    few = KernelProjectionPursuit(2, gamma=0.1, n_principal=3, landmarks=15).fit(X)
    assert few.expansion_.points.shape[0] <= 15
    assert_allclose(np.abs(np.corrcoef(few.transform(X).T, every.transform(X).T)[:2, 2:]).max(axis=1), 1, atol=0.05)


def test_a_small_group_is_the_most_extreme_direction(rng):
    X = np.vstack([rng.normal(size=(200, 2)), rng.normal(6, 0.3, size=(8, 2))])
    model = KernelProjectionPursuit(1, gamma=0.1, n_principal=4, extreme="largest").fit(X)
    feature = model.transform(X)[:, 0]
    assert feature[200:].min() > feature[:200].max()
    two = KernelProjectionPursuit(1, gamma=0.05, n_principal=4, extreme="smallest")
    halves = np.vstack([rng.normal(size=(100, 2)), rng.normal(5, 1, size=(100, 2))])
    feature = two.fit(halves).transform(halves)[:, 0]
    assert abs(np.corrcoef(feature, np.arange(200) < 100)[0, 1]) > 0.95
    assert two.contrasts_[0] < -1.5


def test_scores_of_other_rows_choose_the_number_of_axes(rng):
    """In pure noise, extreme moments of the training set do not come again."""
    X = rng.normal(size=(300, 2))
    model = KernelProjectionPursuit(3, gamma=1.0, n_principal=40).fit(X[:150])
    assert model.score(X[:150]) == pytest.approx(np.abs(model.contrasts_).mean(), rel=1e-6)
    assert model.score(X[150:]) < 0.5 * model.score(X[:150])
    search = GridSearchCV(KernelProjectionPursuit(1), {"n_principal": [2, 4]}, cv=2).fit(X)
    assert search.best_params_["n_principal"] in (2, 4)
    with pytest.raises(ValueError, match="two different rows"):
        model.score(X[:1])


def test_the_same_seed_gives_the_same_model_and_any_seed_the_same_extremes(rng):
    X = rng.standard_t(4, size=(150, 3))
    fit = lambda seed: KernelProjectionPursuit(2, gamma=0.1, n_principal=5, algorithm="deflation", random_state=seed)
    one, again, other = (fit(seed).fit(X) for seed in (0, 0, 7))
    assert np.array_equal(one.transform(X), again.transform(X))
    assert_allclose(np.abs(other.contrasts_[0]), np.abs(one.contrasts_[0]), rtol=1e-4)


def test_models_are_compressed_and_navigated(X):
    model = KernelProjectionPursuit(2, gamma=0.1, n_principal=3).fit(X)
    small = compress(model, 40, X=X)
    assert_allclose(small.transform(X), model.transform(X), atol=0.3)
    assert model.navigate(X[:5], X[70:], steps=4).shape == (4, 3)


def test_warnings_say_what_is_missing(X):
    with pytest.warns(RankWarning, match="asked for 7 components; there are 3 principal axes"):
        assert KernelProjectionPursuit(7, kernel="linear").fit(X).n_components_ == 3
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        KernelProjectionPursuit(gamma=0.1, max_iter=1).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelProjectionPursuit(kernel="linear").fit(X)  # fewer axes than ten by default


def test_indefinite_kernels_and_bad_orders_are_refused(X):
    model = KernelProjectionPursuit(2, kernel=Sigmoid(1.0, -1.0))
    with ignored(UserWarning), pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        model.fit(X)
    for wrong in ({"order": 2}, {"order": 9}, {"extreme": "most"}, {"algorithm": "symmetric"}, {"n_principal": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            KernelProjectionPursuit(**wrong).fit(X)


@pytest.mark.parametrize("solver", [FixedPoint(), Gradient()], ids=repr)
def test_solvers_of_kernel_pca_serve(X, solver):
    model = KernelProjectionPursuit(2, kernel=Gaussian(0.1), n_principal=3, preimage=solver).fit(X)
    assert np.isfinite(model.denoise(X[:4])).all()


def test_whitening_is_that_of_pca(rng):
    """Two columns: features are the white coordinates of PCA, turned."""
    X = rng.laplace(size=(200, 2)) @ rng.normal(size=(2, 2))
    Y = KernelProjectionPursuit(kernel="linear", n_principal=2).fit_transform(X)
    Z = PCA(whiten=True).fit_transform(X) * np.sqrt(200 / 199)
    turn = np.linalg.lstsq(Z, Y, rcond=None)[0]
    assert_allclose(turn.T @ turn, np.eye(2), atol=1e-6)
