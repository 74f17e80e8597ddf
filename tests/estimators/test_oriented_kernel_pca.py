"""Laws of oriented kernel PCA, and its way back."""

import numpy as np
import pytest
from naive import monomials
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh
from sklearn.exceptions import NotFittedError

from preimage import KernelPCA, OrientedKernelPCA, compress
from preimage._engine.arrays import from_numpy, to_numpy
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.invariances import Rotate, TangentCovariance, TranslateX, VirtualExamples
from preimage.kernels import Constant, Gaussian, Linear, Multiquadric, Polynomial, Sigmoid
from preimage.landmarks import KMeans, PivotedCholesky


def rotate(X, angle):
    c, s = np.cos(angle), np.sin(angle)
    return X @ from_numpy(np.array([[c, s], [-s, c]]), X)


def rings(seed=0, n=40):
    rng = np.random.default_rng(seed)
    radii = np.repeat([1.0, 2.0], n // 2) + rng.normal(scale=0.08, size=n)
    angles = rng.uniform(0, 2 * np.pi, size=n)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])


X = rings()
NEW = rings(seed=1, n=10)
KERNEL = Gaussian(1.0)


def test_without_noise_it_is_kernel_pca():
    oriented = OrientedKernelPCA(5, kernel=KERNEL, alpha=1.0).fit(X)
    pca = KernelPCA(5, kernel=KERNEL).fit(X)
    np.testing.assert_allclose(oriented.ratios_, pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(oriented.transform(NEW)), np.abs(pca.transform(NEW)), atol=1e-8)
    np.testing.assert_allclose(oriented.mixing_, np.diag(np.diag(oriented.mixing_)), atol=1e-9)


def test_a_ridge_alone_only_scales():
    small, large = (OrientedKernelPCA(3, kernel=KERNEL, alpha=alpha).fit(X) for alpha in (0.01, 1.0))
    np.testing.assert_allclose(small.ratios_, 100 * large.ratios_, rtol=1e-9)
    np.testing.assert_allclose(small.transform(NEW), 10 * large.transform(NEW), rtol=1e-7, atol=1e-9)


def test_it_is_the_pencil_of_explicit_features():
    kernel, t, alpha = Polynomial(2, gamma=1.0, coef0=0.0), 0.05, 0.1
    covariance = np.cov(monomials(X, 2).T, bias=True)
    tangents = (monomials(rotate(X, t), 2) - monomials(rotate(X, -t), 2)) / (2 * t)
    ratios, _ = eigh(covariance, tangents.T @ tangents / len(X) + alpha * np.eye(3))
    model = OrientedKernelPCA(3, kernel=kernel, invariances=TangentCovariance(rotate, step=t), alpha=alpha).fit(X)
    np.testing.assert_allclose(model.ratios_, ratios[::-1], rtol=1e-10)


@pytest.mark.parametrize("given", ["noise_samples", "pairs", "two arrays"])
def test_noise_given_as_data_is_the_pencil_of_explicit_features(given):
    noisy = X + np.random.default_rng(3).normal(scale=0.2, size=X.shape)
    if given == "noise_samples":
        N = np.cov(monomials(noisy, 2).T, bias=True)
    else:
        change = monomials(X, 2) - monomials(noisy, 2)
        N = change.T @ change / len(X)
    arguments = {given: noisy} if given != "two arrays" else {"pairs": (X, noisy)}
    ratios, _ = eigh(np.cov(monomials(X, 2).T, bias=True), N + 0.1 * np.eye(3))
    model = OrientedKernelPCA(kernel=Polynomial(2, gamma=1.0, coef0=0.0), alpha=0.1).fit(X, **arguments)
    np.testing.assert_allclose(model.ratios_, ratios[::-1], rtol=1e-10)


def test_all_noise_adds_up():
    noisy = X + 0.1
    model = OrientedKernelPCA(kernel=Linear(), invariances=rotate, alpha=0.1).fit(X, noise_samples=noisy, pairs=noisy)
    t = model.get_params()["invariances"]
    N = np.cov(X.T, bias=True) + np.full((2, 2), 0.01) + TangentCovariance(t).tangent_moment(Linear(), np.eye(2), X)
    ratios, _ = eigh(np.cov(X.T, bias=True), N + 0.1 * np.eye(2))
    np.testing.assert_allclose(model.ratios_, ratios[::-1], rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_more_expansion_points_never_lower_the_ratio(seed):
    points = np.random.default_rng(seed).permutation(np.concatenate([X, rotate(X, 0.05)]))
    fit = lambda m: OrientedKernelPCA(1, kernel=KERNEL, invariances=rotate, landmarks=points[:m]).fit(X)
    ratios = [fit(m).ratios_[0] for m in (5, 10, 20, 40, 80)]
    assert np.all(np.diff(ratios) >= -1e-6 * np.array(ratios[1:]))
    assert ratios[-1] > ratios[0]


def test_transformed_points_give_a_higher_ratio_than_the_data_alone():
    noise = TangentCovariance(rotate, step=0.05)
    fit = lambda points: OrientedKernelPCA(1, kernel=KERNEL, invariances=noise, landmarks=points).fit(X).ratios_[0]
    alone = max(fit(X), fit(rotate(X, 0.05)))
    both = OrientedKernelPCA(1, kernel=KERNEL, invariances=noise).fit(X).ratios_[0]
    assert both >= alone


def test_features_have_the_variances_and_noise_that_are_reported():
    covariance = TangentCovariance(rotate)
    model = OrientedKernelPCA(4, kernel=KERNEL, invariances=covariance, alpha=1e-3).fit(X)
    Y = model.transform(X)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.cov(Y.T, bias=True), np.diag(model.ratios_), atol=1e-6 * model.ratios_[0])
    T = covariance.moment_of(model.expansion_, X)
    np.testing.assert_allclose(model.noise_variances_, np.diag(T), rtol=1e-5)
    gram = model.expansion_.inner(model.expansion_)
    np.testing.assert_allclose(T + 1e-3 * gram, np.eye(4), atol=1e-6)


def test_the_first_feature_of_rings_forgets_rotation():
    """The bar of the issue: at most 5 % of kernel PCA's variation along the transformation, at equal variance."""
    X = rings(n=120)
    covariance = TangentCovariance(rotate, method="analytic")
    oriented = OrientedKernelPCA(1, kernel=KERNEL, invariances=rotate).fit(X)
    pca = KernelPCA(1, kernel=KERNEL).fit(X)
    share = lambda vectors: covariance.moment_of(vectors, X)[0, 0] / vectors(X).var()
    assert share(oriented.expansion_) <= 0.05 * share(pca.subspace_.frame)
    assert abs(np.corrcoef(oriented.transform(X)[:, 0], np.linalg.norm(X, axis=1))[0, 1]) > 0.99


def test_features_are_mixed_coordinates_of_the_subspace():
    model = OrientedKernelPCA(4, kernel=KERNEL, invariances=rotate, alpha=1e-2).fit(X)
    frame = model.subspace_.frame
    np.testing.assert_allclose(frame.inner(frame), np.eye(4), atol=1e-8)
    np.testing.assert_allclose(model.subspace_.coordinates(NEW) @ model.mixing_, model.transform(NEW), atol=1e-7)


def test_the_way_back_with_a_linear_kernel_is_a_projection():
    data = np.random.default_rng(0).normal(size=(60, 4)) * [3.0, 2.0, 1.0, 0.5] + 1
    shift = lambda X, t: X + t * np.array([1.0, 1.0, 0.0, 0.0])
    model = OrientedKernelPCA(2, kernel="linear", invariances=shift, alpha=1e-3, preimage="exact").fit(data)
    W = model.expansion_.points.T @ model.expansion_.coefficients
    P = W @ np.linalg.pinv(W)
    expected = data.mean(axis=0) + (data - data.mean(axis=0)) @ P
    np.testing.assert_allclose(model.inverse_transform(model.transform(data)), expected, atol=1e-6)
    # One point has the same features as its pre-image.
    np.testing.assert_allclose(model.transform(expected), model.transform(data), atol=1e-7)


def test_denoising_and_walks_stay_near_the_data():
    model = OrientedKernelPCA(10, kernel=KERNEL, invariances=rotate, alpha=1e-2).fit(X)
    clean = model.denoise(NEW)
    assert clean.shape == NEW.shape
    assert np.linalg.norm(clean - NEW, axis=1).mean() < 0.5
    result = model.find_preimages(model.transform(NEW), start=NEW)
    assert result.converged.all()
    np.testing.assert_allclose(result.points, clean, atol=1e-4)
    assert model.navigate(NEW[:1], NEW[1:2], steps=4).shape == (4, 2)
    with pytest.raises(ValueError, match="3 starts for 10 rows"):
        model.find_preimages(model.transform(NEW), start=NEW[:3])


@pytest.mark.parametrize("landmarks", [15, "kmeans", PivotedCholesky(15), KMeans(15)], ids=repr)
def test_selectors_choose_expansion_points(landmarks):
    model = OrientedKernelPCA(2, kernel=KERNEL, invariances=rotate, landmarks=landmarks).fit(X)
    assert model.expansion_.points.shape[0] <= 100
    assert model.ratios_[0] > 10


def test_centers_of_virtual_examples_are_expansion_points():
    points = VirtualExamples(rotate, amounts=(-0.2, 0.2)).points(X, 30)
    model = OrientedKernelPCA(2, kernel=KERNEL, invariances=rotate, landmarks=points).fit(X)
    np.testing.assert_array_equal(model.expansion_.points, points)


def test_compressed_features_come_close():
    model = OrientedKernelPCA(2, kernel=KERNEL, invariances=rotate, alpha=1e-2).fit(X)
    small = compress(model, 25, X=X)
    assert small.n_points_ == 25
    Y, Y_small = model.transform(NEW), small.transform(NEW)
    assert np.linalg.norm(Y - Y_small) < 0.1 * np.linalg.norm(Y)


def test_array_libraries_agree(xp):
    fit = lambda data: OrientedKernelPCA(3, kernel=KERNEL, invariances=rotate, alpha=1e-2).fit(data)
    model, expected = fit(xp.asarray(X)), fit(X)
    assert type(model.ratios_) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(model.ratios_), expected.ratios_, rtol=1e-7)
    np.testing.assert_allclose(to_numpy(model.transform(xp.asarray(NEW))), expected.transform(NEW), atol=1e-6)
    np.testing.assert_allclose(to_numpy(model.denoise(xp.asarray(NEW))), expected.denoise(NEW), atol=1e-4)


def test_single_precision_comes_close():
    single = OrientedKernelPCA(3, kernel=KERNEL, invariances=rotate).fit(X.astype("f"))
    double = OrientedKernelPCA(3, kernel=KERNEL, invariances=rotate).fit(X)
    Y = single.transform(NEW.astype("f"))
    assert Y.dtype == single.ratios_.dtype == np.float32
    np.testing.assert_allclose(single.ratios_, double.ratios_, rtol=5e-3)
    np.testing.assert_allclose(Y, double.transform(NEW), atol=0.05)  # values range over 18


def test_sparse_rows_are_rows():
    dense = OrientedKernelPCA(2, kernel=KERNEL, invariances=rotate, alpha=1e-2).fit(X)
    model = OrientedKernelPCA(2, kernel=KERNEL, invariances=rotate, alpha=1e-2).fit(sparse.csr_array(X))
    np.testing.assert_allclose(model.transform(sparse.csr_array(NEW)), dense.transform(NEW), atol=1e-5)


def test_several_image_transformations():
    images = np.random.default_rng(0).uniform(size=(30, 25))
    model = OrientedKernelPCA(3, invariances=[Rotate((5, 5)), TranslateX((5, 5))], landmarks=40).fit(images)
    assert model.transform(images).shape == (30, 3)
    with pytest.raises(ValueError, match="36 pixels; X has 25"):
        OrientedKernelPCA(3, invariances=Rotate((6, 6))).fit(images)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="alpha"):
        OrientedKernelPCA(alpha=0.0).fit(X)
    with pytest.raises(ValueError, match="step"):
        OrientedKernelPCA(invariances=TangentCovariance(rotate, step=0)).fit(X)
    with pytest.raises(ValueError, match="40 and 10 rows"):
        OrientedKernelPCA().fit(X, pairs=NEW)
    with pytest.raises(ValueError, match="expecting 2 features"):
        OrientedKernelPCA().fit(X, noise_samples=np.ones((5, 3)))
    with pytest.raises(ValueError, match="NaN"):
        OrientedKernelPCA().fit(X, noise_samples=np.full((5, 2), np.nan))
    with pytest.raises(UnsupportedKernelError, match="precomputed"):
        OrientedKernelPCA(kernel="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="no variance"):
        OrientedKernelPCA(kernel="linear").fit(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="no variance"):
        OrientedKernelPCA().fit(np.full((5, 2), 0.1))


def test_fewer_features_than_asked_for_is_a_warning():
    with pytest.warns(RankWarning, match="only 2"):
        model = OrientedKernelPCA(5, kernel="linear", invariances=rotate).fit(X)
    assert model.n_components_ == 2


def test_transform_needs_a_fit():
    with pytest.raises(NotFittedError):
        OrientedKernelPCA().transform(X)


def test_pairs_may_be_a_list_of_two_arrays():
    fits = [OrientedKernelPCA(2, kernel=KERNEL).fit(X, pairs=kind((X[:9], X[9:18]))) for kind in (tuple, list)]
    np.testing.assert_array_equal(fits[0].ratios_, fits[1].ratios_)
    partners = [OrientedKernelPCA(2, kernel=KERNEL).fit(X, pairs=rows) for rows in (X[::-1], X[::-1].tolist())]
    np.testing.assert_array_equal(partners[0].ratios_, partners[1].ratios_)
    with pytest.raises(ValueError, match="two arrays"):
        OrientedKernelPCA(2, kernel=KERNEL).fit(X, pairs=[X, X, X])


@pytest.mark.parametrize("kernel", [Sigmoid(1.0, -1.0), Multiquadric(1.0) + Constant(3.0)], ids=repr)
def test_indefinite_kernels_are_refused(kernel, rng):
    with pytest.raises((UnsupportedKernelError, ValueError), match="positive semidefinite"):
        OrientedKernelPCA(2, kernel=kernel).fit(rng.normal(size=(30, 3)))


@pytest.mark.parametrize("what", ["tangents", "samples", "pairs", "nothing"])
def test_weights_are_repetitions(what, rng):
    X = rng.normal(size=(40, 3))
    weights = rng.integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    partners = X + 0.1 * rng.normal(size=X.shape)
    shift = lambda X, t: X + t * np.array([1.0, 0.0, 0.0])
    noise = {"invariances": shift} if what == "tangents" else {}
    given = {"samples": {"noise_samples": 0.3 * partners}, "pairs": {"pairs": partners}}.get(what, {})
    of_rows = {"pairs": partners[rows]} if what == "pairs" else given
    weighted = OrientedKernelPCA(3, gamma="scale", alpha=0.01, **noise).fit(X, sample_weight=weights, **given)
    repeated = OrientedKernelPCA(3, gamma="scale", alpha=0.01, **noise).fit(X[rows], **of_rows)
    assert_allclose(weighted.ratios_, repeated.ratios_, rtol=1e-6)
    assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-5)


@pytest.mark.parametrize("n_partners", [30, 50])
@pytest.mark.parametrize("weights", [None, np.ones(40), np.repeat([0.0, 1.0], 20)], ids=["none", "ones", "half"])
def test_every_row_needs_a_partner(n_partners, weights):
    partners = rings(seed=2, n=n_partners)
    with pytest.raises(ValueError, match=f"a partner for each row; got 40 and {n_partners} rows"):
        OrientedKernelPCA(2, kernel=KERNEL).fit(X, sample_weight=weights, pairs=partners)


def test_landmarks_that_are_overwritten_after_the_fit_change_nothing():
    points = X[:12].copy()
    model = OrientedKernelPCA(2, kernel=KERNEL, invariances=rotate, landmarks=points).fit(X)
    features, images = model.transform(NEW), model.inverse_transform(model.transform(NEW))
    assert not np.shares_memory(model.expansion_.points, points)
    points[:] = 7.0
    assert_allclose(model.transform(NEW), features, rtol=0)
    assert_allclose(model.inverse_transform(features), images, rtol=0)
    np.testing.assert_array_equal(model.expansion_.points, X[:12])
    assert model.landmarks is points


def test_landmarks_of_a_lazy_fit_that_are_overwritten_change_nothing():
    dask = pytest.importorskip("dask.array")
    points = X[:12].copy()
    model = OrientedKernelPCA(2, kernel=KERNEL, invariances=rotate, landmarks=points).fit(dask.from_array(X, chunks=9))
    points[:] = 7.0
    np.testing.assert_array_equal(model.expansion_.points, X[:12])
