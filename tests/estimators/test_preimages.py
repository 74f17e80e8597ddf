"""Kernel PCA and back."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelKMeans, KernelPCA, OrientedKernelPCA, SemiSupervisedKernelPCA
from preimage._engine.arrays import to_numpy
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, UnsupportedKernelError
from preimage.kernels import (
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    Iterated,
    Laplacian,
    Linear,
    MappedInputs,
    Normalized,
    Patches,
    Polynomial,
    ScaledInputs,
    Sigmoid,
)
from preimage.solvers import SOLVERS, FixedPoint, Gradient, LearnedMap, Reason
from preimage.solvers._learned import FittedMap


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 4)) @ np.diag([3.0, 2.0, 1.0, 0.5]) + 1


def test_linear_kernel_reconstructs_like_pca(X):
    """Data with a mean: what scikit-learn's linear-kernel inverse loses."""
    model, linear = KernelPCA(2, kernel="linear").fit(X), PCA(2).fit(X)
    assert_allclose(
        model.inverse_transform(model.transform(X)), linear.inverse_transform(linear.transform(X)), atol=1e-9
    )
    assert_allclose(model.denoise(X), linear.inverse_transform(linear.transform(X)), atol=1e-9)


def test_wide_gaussian_denoises_like_pca(X):
    expected = PCA(2).fit(X)
    expected = expected.inverse_transform(expected.transform(X))
    errors = []
    for gamma in (1e-3, 1e-4, 1e-5):
        model = KernelPCA(2, gamma=gamma, preimage=Gradient(tol=1e-9)).fit(X)
        errors.append(np.abs(model.denoise(X) - expected).max())
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 1e-2


def test_all_components_return_training_points(X):
    model = KernelPCA(gamma=0.1, preimage=FixedPoint(tol=1e-9)).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in SOLVERS.names if name != "exact"])
def test_every_solver_by_name(name, X):
    model = KernelPCA(10, gamma=0.05, preimage=name).fit(X - X.mean(axis=0))
    Z = model.denoise(X - X.mean(axis=0))
    assert Z.shape == X.shape and np.isfinite(Z).all()


def test_denoising_denoises():
    X = load_digits().data / 16
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    train, test = X[order[:800]], X[order[800:1100]]
    noisy = test + rng.normal(0, 0.25, test.shape)
    linear = PCA(16).fit(train)
    by_pca = np.mean((linear.inverse_transform(linear.transform(noisy)) - test) ** 2)
    model = KernelPCA(256, gamma=0.2).fit(train)
    assert np.mean((model.denoise(noisy) - test) ** 2) < 0.6 * by_pca


def test_result_tells_how_it_went(X):
    model = KernelPCA(5, gamma=0.1).fit(X)
    result = model.find_preimages(model.transform(X), start=X)
    assert result.converged.all() and set(result.reason) == {Reason.CONVERGED}
    assert_allclose(result.points, model.denoise(X))


def test_unconverged_preimages_warn(X):
    model = KernelPCA(5, gamma=0.1, preimage=FixedPoint(max_iter=1, tol=1e-12)).fit(X)
    with pytest.warns(ConvergenceWarning, match="of 60 pre-images did not converge"):
        model.denoise(X)


def test_walks_begin_and_end_at_the_preimages_of_the_ends(X):
    model = KernelPCA(8, gamma=0.1).fit(X)
    walk = model.navigate(X[:1], X[1:2], steps=7)
    assert walk.shape == (7, 4)
    Y = model.transform(X[:2])
    ends = model.find_preimages(Y, start=model.inverse_transform(Y)).points
    assert_allclose(walk[0], ends[0], atol=1e-4)
    coordinates = model.transform(walk[-1:])
    residual = np.linalg.norm(coordinates - model.transform(X[1:2]))
    assert residual <= np.linalg.norm(model.transform(ends[1:]) - model.transform(X[1:2])) + 0.3
    sets = model.navigate(X[:20], X[20:40], steps=3)
    assert np.isfinite(sets).all()
    with pytest.raises(ValueError, match="two ends"):
        model.navigate(X[:1], X[1:2], steps=1)


def test_sparse_training_data(rng):
    X = np.where(rng.random((60, 8)) < 0.4, rng.normal(size=(60, 8)), 0)
    dense, thin = KernelPCA(5, gamma=0.1).fit(X), KernelPCA(5, gamma=0.1).fit(sparse.csr_matrix(X))
    assert_allclose(thin.denoise(sparse.csr_matrix(X[:9])), dense.denoise(X[:9]), atol=1e-5)


def test_pipelines_go_back_too(X):
    pipeline = make_pipeline(StandardScaler(), KernelPCA(gamma=0.3, preimage=FixedPoint(tol=1e-9))).fit(X)
    assert_allclose(pipeline.inverse_transform(pipeline.transform(X)), X, atol=1e-3)


def test_precomputed_kernels_have_no_way_back(X):
    model = KernelPCA(2, kernel="precomputed").fit(X @ X.T)
    with pytest.raises(UnsupportedKernelError, match="no inputs to go back to"):
        model.inverse_transform(np.ones((1, 2)))


@pytest.mark.parametrize("Y", [np.ones((3, 6)), np.full((3, 5), np.nan)], ids=["columns", "nan"])
def test_bad_coordinates_are_refused(X, Y):
    with pytest.raises(ValueError, match=r"5 components|NaN"):
        KernelPCA(5, gamma=0.1).fit(X).inverse_transform(Y)


def test_array_libraries_agree(xp, X):
    expected = KernelPCA(5, gamma=0.1).fit(X)
    model = KernelPCA(5, gamma=0.1).fit(xp.asarray(X))
    assert_allclose(to_numpy(model.denoise(xp.asarray(X[:9]))), expected.denoise(X[:9]), atol=1e-5)
    walk = model.navigate(xp.asarray(X[:1]), xp.asarray(X[1:2]), steps=3)
    assert_allclose(to_numpy(walk), expected.navigate(X[:1], X[1:2], steps=3), atol=1e-4)


def test_float32_stays_float32(X):
    model = KernelPCA(5, gamma=0.1).fit(X.astype(np.float32))
    assert model.denoise(X.astype(np.float32)).dtype == np.float32


def test_targets_are_made_in_parts(X, monkeypatch):
    model = KernelPCA(5, gamma=0.1).fit(X)
    whole = model.denoise(np.repeat(X, 30, axis=0))
    monkeypatch.setattr("preimage.descent._blocks.BLOCK_BYTES", 1)
    assert_allclose(model.denoise(np.repeat(X, 30, axis=0)), whole, atol=1e-6)


def test_no_queries(X):
    model = KernelPCA(5, gamma=0.1).fit(X)
    with pytest.raises(ValueError, match="0 sample"):
        model.denoise(X[:0])


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_every_target_needs_its_start(X, rows):
    model = KernelPCA(2, gamma=0.1).fit(X)
    with pytest.raises(ValueError, match=f"{rows} starts for 5 rows"):
        model.find_preimages(model.transform(X[:5]), start=X[:rows])


@pytest.mark.parametrize("n_components", [0, -1, 6])
def test_pictures_of_components_that_are_not_there(X, n_components):
    model = KernelPCA(5, gamma=0.1).fit(X)
    for method in (model.component_images, model.component_preimages):
        with pytest.raises(ValueError, match="between 1 and 5"):
            method(n_components)


@pytest.mark.parametrize("kernel", [Sigmoid(0.5, 0.0), Exponential(0.5)], ids=repr)
@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
def test_distances_out_of_the_range_of_the_kernel_give_no_nan(kernel):
    for seed in range(6):
        A = np.random.default_rng(seed).normal(size=(12, 3))
        model = KernelPCA(2, kernel=kernel, preimage="distance_constraint").fit(A)
        result = model.find_preimages(model.transform(A))
        assert (np.isfinite(result.points).all(axis=1) | ~result.converged).all()
        assert np.isfinite(result.points).mean() > 0.9


def _bump(x, y):
    return float(np.exp(-0.1 * np.sum((x - y) ** 2)))


EVERY_KERNEL = [
    Cosine(),
    Laplacian(0.2),
    _bump,
    Patches((2, 2), patch=2),
    ScaledInputs(Gaussian(0.1), np.array([1.0, 2.0, 0.5, 1.0])),
    MappedInputs(Gaussian(0.1), np.diag([1.0, 2.0, 3.0, 4.0])),
    Normalized(Polynomial(2)),
    Iterated(Sigmoid(0.1)),
    Linear() + Constant(1.0),
    Gaussian(0.1) + 0.1 * Linear(),
    Sigmoid(0.5, 0.0),
    Polynomial(3),
]


@pytest.mark.parametrize("kernel", EVERY_KERNEL, ids=lambda kernel: getattr(kernel, "__name__", repr(kernel)))
@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
def test_the_default_goes_back_for_every_kernel_and_stays_near_the_data(kernel, X):
    model = KernelPCA(3, kernel=kernel).fit(X)
    answers = [
        model.inverse_transform(model.transform(X)),
        model.denoise(X + 0.1),
        model.navigate(X[:3], X[3:6], steps=4),
        model.component_preimages(),
        KernelKMeans(2, kernel=kernel, n_init=1).fit(X).cluster_preimages(),
    ]
    middle = X.mean(axis=0)
    radius = np.linalg.norm(X - middle, axis=1).max()
    for points in answers:
        assert np.isfinite(points).all()
        assert np.linalg.norm(points - middle, axis=1).max() <= 2.2 * radius
    # Coordinates tell more than the mean does.
    assert np.mean((answers[0] - X) ** 2) < 0.8 * np.mean((X - middle) ** 2)


@pytest.mark.parametrize(
    "estimator", [OrientedKernelPCA(3, gamma=0.1), SemiSupervisedKernelPCA(3, gamma=0.1)], ids=repr
)
def test_the_default_of_other_transformers_answers_both_questions(estimator, X):
    model = estimator.fit(X)
    assert isinstance(model.preimage_.reconstruction, FittedMap)
    assert isinstance(model.preimage_.projection, Gradient)
    Y = model.transform(X)
    assert np.isfinite(model.inverse_transform(Y)).all() and np.isfinite(model.denoise(X)).all()
    assert_allclose(model.inverse_transform(Y[:, :2]), model.inverse_transform(Y, n_components=2))


def test_the_default_says_which_solver_answers_which_question(X):
    model = KernelPCA(3, gamma=0.1).fit(X)
    assert repr(model.preimage_) == "Auto: reconstruction by LearnedMap(), projection by FixedPoint()"
    assert isinstance(model.preimage_.projection, FixedPoint)
    assert "Gradient" in repr(KernelPCA(3, kernel="laplacian").fit(X).preimage_)
    assert repr(KernelPCA(3, kernel=_bump).fit(X).preimage_).count("LearnedMap") == 2


def test_models_that_are_never_asked_learn_no_map(X):
    model = KernelPCA(3, gamma=0.1).fit(X)
    model.denoise(X)
    assert model.preimage_.reconstruction.maps == {}
    assert model.preimage_.reconstruction.rows is model.subspace_.frame.points
    first = model.inverse_transform(model.transform(X))
    assert_allclose(model.inverse_transform(model.transform(X)), first, rtol=0, atol=0)


@pytest.mark.parametrize("solver", ["auto", "fixed_point", "learned"])
def test_the_first_components_of_one_fit(solver, X):
    """`n_components` and fewer columns mean a fit with fewer components."""
    many, few = (KernelPCA(k, gamma=0.05, preimage=solver, eigen_solver="dense").fit(X) for k in (6, 3))
    Y = few.transform(X)
    signs = np.sign(np.sum(many.transform(X)[:, :3] * Y, axis=0))
    expected = few.inverse_transform(Y)
    assert_allclose(many.inverse_transform(Y * signs), expected, atol=1e-4)
    padded = np.hstack([Y * signs, np.ones((60, 3))])
    assert_allclose(many.inverse_transform(padded, n_components=3), expected, atol=1e-4)
    assert_allclose(many.denoise(X, n_components=3), few.denoise(X), atol=1e-4)
    assert_allclose(many.reconstruction_error(X, n_components=3), few.reconstruction_error(X), atol=1e-8)
    assert_allclose(many.score_samples(X, n_components=3), few.score_samples(X), atol=1e-8)
    assert_allclose(many.find_preimages(padded, X, n_components=3).points, few.denoise(X), atol=1e-4)
    for wrong in (0, 7, 2.5):
        with pytest.raises(ValueError, match="between 1 and 6"):
            many.denoise(X, n_components=wrong)


def test_a_learned_map_can_be_that_of_scikit_learn(X):
    for kernel, ours in (("rbf", Gaussian(0.05)), ("poly", Polynomial(3, 0.05, 1.0)), ("linear", Linear())):
        theirs = SklearnKernelPCA(4, kernel=kernel, gamma=0.05, fit_inverse_transform=True, alpha=0.3).fit(X)
        settings = LearnedMap(kernel=ours, ridge=0.3, center=False, max_rows=None)
        model = KernelPCA(4, kernel=ours, preimage=settings, eigen_solver="dense").fit(X)
        signs = np.sign(np.sum(model.transform(X) * theirs.transform(X), axis=0))
        Y = theirs.transform(X)
        assert_allclose(model.inverse_transform(Y * signs), theirs.inverse_transform(Y), atol=1e-7)


def test_ridges_are_added_to_the_diagonal_of_indefinite_kernels_too(X):
    model = KernelPCA(4, gamma=0.05, preimage=LearnedMap(Sigmoid(0.5, -1.0), ridge=0.3, center=False)).fit(X)
    Y = model.transform(X)
    L = Sigmoid(0.5, -1.0)(Y)
    assert np.linalg.eigvalsh(L)[0] < 0
    assert_allclose(model.inverse_transform(Y), L @ np.linalg.solve(L + 0.3 * np.eye(60), X), atol=1e-8)


def test_maps_learn_from_a_sample_of_many_rows(rng):
    X = rng.normal(size=(700, 3))
    model = KernelPCA(3, gamma=0.1, preimage=LearnedMap(max_rows=200)).fit(X)
    assert model.preimage_.coordinates.shape == (200, 3)
    again = KernelPCA(3, gamma=0.1, preimage=LearnedMap(max_rows=200)).fit(X)
    Y = model.transform(X)
    assert_allclose(again.inverse_transform(Y), model.inverse_transform(Y), rtol=0, atol=0)
    assert np.mean((model.inverse_transform(Y) - X) ** 2) < 0.1


def test_unbounded_objectives_fall_back_to_the_learned_map(rng):
    X = StandardScaler().fit_transform(load_wine().data)
    noisy = X + 0.5 * rng.normal(size=X.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        model = KernelPCA(5, kernel="sigmoid").fit(X)
    result = model.find_preimages(model.transform(noisy), start=noisy)
    assert Reason.LEARNED in set(result.reason)
    linear = PCA(5).fit(X)
    assert np.mean((result.points - X) ** 2) < np.mean((linear.inverse_transform(linear.transform(noisy)) - X) ** 2)
    assert np.abs(model.inverse_transform(model.transform(X))).max() < 2 * np.abs(X).max()
