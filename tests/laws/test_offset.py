"""The way back of linear kernels does not depend on where the origin of the inputs is."""

import numpy as np
import pytest
from for_each import for_each
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as PeerKernelPCA

from preimage import KernelKMeans, KernelPCA, OrientedKernelPCA
from preimage.kernels import (
    Chi2,
    Cosine,
    Gaussian,
    InnerProduct,
    Iterated,
    Linear,
    MappedInputs,
    Patches,
    Polynomial,
    ProfileKernel,
    ScaledInputs,
    ShiftedInputs,
    Warped,
)
from preimage.solvers import FixedPoint, Gradient, MultiStart

OFFSETS = [0.0, 1e4, 1e6]
SCALES = np.array([3.0, 2.0, 1.0, 0.5])
LINEAR = [
    Linear(),
    2.0 * Linear(),
    Linear() + 0.5 * Linear(),
    Polynomial(degree=1, gamma=0.5, coef0=2.0),
    ScaledInputs(Linear(), np.full(4, 2.0)),
    MappedInputs(Linear(), np.eye(4)[::-1]),
]


@pytest.fixture
def near():
    return np.random.default_rng(0).normal(size=(60, 4)) * SCALES


@pytest.fixture
def queries():
    return np.random.default_rng(1).normal(size=(20, 4)) * SCALES


def rounding(offset, dtype):
    """How exactly inputs at this offset are known, with a margin for operations on them."""
    return 100 * np.finfo(dtype).eps * max(offset, 1)


def rows(near, offset, dtype):
    """The rows as they are stored at an offset, and the same rows about the origin, in double precision."""
    far = (near + offset).astype(dtype)
    return far, far.astype(float) - offset


@for_each("dtype", [np.float64, np.float32])
@for_each("offset", OFFSETS)
@for_each("preimage", ["auto", "fixed_point", "exact", "gradient", "conformal"])
def test_the_way_back_is_that_of_pca_at_any_offset(near, queries, offset, dtype, preimage):
    (X, plain), (Z, plain_queries) = rows(near, offset, dtype), rows(queries, offset, dtype)
    model, peer = KernelPCA(2, kernel="linear", preimage=preimage).fit(X), PCA(2).fit(plain)
    expected = peer.inverse_transform(peer.transform(plain_queries))
    # Solvers stop when steps are shorter than a millionth of the spread; closed formulas end at rounding.
    atol = rounding(offset, dtype) + (1e-4 if preimage == "gradient" else 0)
    np.testing.assert_allclose(model.inverse_transform(model.transform(Z)) - offset, expected, atol=atol)
    np.testing.assert_allclose(model.denoise(Z) - offset, expected, atol=atol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("kernel", LINEAR[:1] + LINEAR[3:4], ids=repr)
def test_pictures_of_components_are_the_axes_of_pca_at_any_offset(near, offset, dtype, kernel):
    X, plain = rows(near, offset, dtype)
    model, peer = KernelPCA(2, kernel=kernel).fit(X), PCA(2).fit(plain)
    root = 0.5**0.5 if isinstance(kernel, Polynomial) else 1.0
    images = model.component_images() / root
    signs = np.sign(np.sum(images * peer.components_, axis=1, keepdims=True))
    np.testing.assert_allclose(signs * images, peer.components_, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("preimage", ["auto", "fixed_point", "gradient"])
def test_preimages_of_components_point_along_the_axes_of_pca_at_any_offset(near, offset, dtype, preimage):
    X, plain = rows(near, offset, dtype)
    found = KernelPCA(2, kernel="linear", preimage=preimage).fit(X).component_preimages()
    found = found / np.linalg.norm(found, axis=1, keepdims=True)
    axes = PCA(2).fit(plain).components_
    np.testing.assert_allclose(np.abs(np.sum(found * axes, axis=1)), 1, atol=1e-5)


@pytest.mark.parametrize("kernel", LINEAR, ids=repr)
def test_component_images_of_all_linear_kernels_do_not_depend_on_the_offset(near, kernel):
    images = [KernelPCA(2, kernel=kernel).fit(near + offset).component_images() for offset in OFFSETS]
    for moved in images[1:]:
        signs = np.sign(np.sum(moved * images[0], axis=1, keepdims=True))
        np.testing.assert_allclose(signs * moved, images[0], atol=1e-7)


def test_component_images_of_a_sum_are_those_of_the_kernel_as_it_was_given(near):
    """At an offset where inner products are still exact enough to compare with."""
    X, kernel = near + 250, 2.0 * (Linear() + Gaussian(0.1))
    model = KernelPCA(2, kernel=kernel).fit(X)
    assert not model.kernel_.is_same(kernel)
    axes = model.subspace_.frame.coefficients  # of the exact route, which sum to zero: origins cancel
    np.testing.assert_allclose(model.component_images(), axes.T @ kernel(X, np.eye(4)), atol=1e-7)


@pytest.mark.parametrize("kernel", LINEAR, ids=repr)
def test_coordinates_of_all_linear_kernels_do_not_depend_on_the_offset(near, queries, kernel):
    scores = [KernelPCA(4, kernel=kernel).fit(near + offset).transform(queries + offset) for offset in OFFSETS]
    for moved in scores[1:]:
        np.testing.assert_allclose(np.abs(moved), np.abs(scores[0]), atol=1e-7)


@pytest.mark.parametrize("offset", OFFSETS)
def test_landmarks_give_the_same_pictures_of_components_at_any_offset(near, offset):
    model = KernelPCA(2, kernel="linear", landmarks=20).fit(near + offset)
    np.testing.assert_allclose(np.abs(model.component_images()), np.abs(PCA(2).fit(near).components_), atol=1e-7)


@pytest.mark.parametrize("offset", OFFSETS)
def test_distances_place_preimages_at_any_offset(near, queries, offset):
    model = KernelPCA(4, kernel="linear", preimage="distance_constraint").fit(near + offset)
    np.testing.assert_allclose(model.denoise(queries + offset) - offset, queries, atol=1e-7)


@pytest.mark.parametrize("solver", [Gradient(penalty=0.3), FixedPoint(penalty=0.3), MultiStart(FixedPoint())])
def test_penalties_and_starts_move_with_the_inputs(near, queries, solver):
    back = [KernelPCA(2, kernel="linear", preimage=solver).fit(near + c).denoise(queries + c) - c for c in OFFSETS]
    np.testing.assert_allclose(back[1], back[0], atol=1e-4)
    np.testing.assert_allclose(back[2], back[0], atol=1e-4)


def test_bounds_are_kept_at_an_offset(near, queries):
    solver = Gradient(lower=1e4 - 0.5, upper=1e4 + 0.5)
    found = KernelPCA(2, kernel="linear", preimage=solver).fit(near + 1e4).denoise(queries + 1e4)
    assert found.min() >= 1e4 - 0.5 and found.max() <= 1e4 + 0.5
    plain = KernelPCA(2, kernel="linear", preimage=Gradient(lower=-0.5, upper=0.5)).fit(near).denoise(queries)
    np.testing.assert_allclose(found - 1e4, plain, atol=1e-3)


@pytest.mark.parametrize("preimage", ["auto", "fixed_point", "exact", "gradient"])
def test_centres_of_clusters_are_means_at_any_offset(near, preimage):
    model = KernelKMeans(3, kernel="linear", preimage=preimage, random_state=0).fit(near + 1e4)
    means = [near[model.labels_ == label].mean(axis=0) for label in range(3)]
    np.testing.assert_allclose(model.cluster_preimages() - 1e4, means, atol=1e-4)


def test_a_linear_term_with_one_of_distances_goes_back_as_near_the_origin(near, queries):
    kernel = Linear() + Gaussian(0.1)
    back = [KernelPCA(3, kernel=kernel).fit(near + c).denoise(queries + c) - c for c in OFFSETS]
    np.testing.assert_allclose(back[1], back[0], atol=1e-3)
    np.testing.assert_allclose(back[2], back[0], atol=1e-3)


@pytest.mark.parametrize("kernel", [Linear() + Polynomial(2, gamma=1e-8), 2.0 * (Linear() + Polynomial(2, gamma=1e-8))])
def test_terms_of_inner_products_keep_their_fixed_point(near, kernel):
    model = KernelPCA(2, kernel=kernel, preimage="fixed_point").fit(near + 1e4)
    assert np.all(np.isfinite(model.denoise(near + 1e4)))


def test_kernels_know_their_origin(near):
    c = np.arange(4.0)
    plain, origin = ShiftedInputs(ShiftedInputs(Gaussian(0.5), c), 2 * c).unshifted()
    assert plain.is_same(Gaussian(0.5))
    np.testing.assert_array_equal(origin, 3 * c)
    mixed = (2.0 * (Linear() + Gaussian(0.5))).recentered(c)
    plain, origin = mixed.unshifted()
    np.testing.assert_allclose(plain(near - origin), mixed(near), atol=1e-12)
    other = ShiftedInputs(Linear(), c) + Cosine()
    assert other.unshifted() == (other, None)
    two = ShiftedInputs(Linear(), c) + ShiftedInputs(Linear(), 2 * c)
    assert two.unshifted() == (two, None)


@pytest.mark.parametrize(("offset", "atol"), [(0.0, 1e-7), (10.0, 1e-7), (1e4, 5e-3)])
@pytest.mark.parametrize("n_components", [3, 4])
@pytest.mark.parametrize("named", [{"kernel": "linear"}, {"kernel": "poly", "degree": 1, "gamma": 0.5}])
def test_a_given_ridge_is_the_estimate_of_scikit_learn_at_any_offset(near, queries, offset, atol, n_components, named):
    settings = {**named, "fit_inverse_transform": True, "alpha": 1.0}
    X, Z = near + offset, queries + offset
    model, peer = KernelPCA(n_components, **settings).fit(X), PeerKernelPCA(n_components, **settings).fit(X)
    # Errors of scikit-learn's centred Gram matrix are ε offset², and the map multiplies those of its coordinates by
    # inputs of the size of the offset. Another estimate is off by the size of the inputs.
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(Z)), peer.inverse_transform(peer.transform(Z)), atol=atol
    )
    assert model.gamma_ == pytest.approx(peer.gamma_)


@pytest.mark.parametrize(
    "kernel",
    [
        ScaledInputs(Linear(), np.ones(4)),
        MappedInputs(Linear(), np.eye(4)),
        ShiftedInputs(Linear(), np.zeros(4)),
        Iterated(Gaussian(0.1)),
        Patches((2, 2), patch=1),
        Chi2(0.1),
        Warped(Gaussian(0.1)),
        Linear() + ScaledInputs(Gaussian(0.1), np.ones(4)),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.parametrize("landmarks", [None, 10])
def test_a_ridge_is_refused_where_the_kernel_has_no_values_on_coordinates(near, kernel, landmarks):
    model = KernelPCA(3, kernel=kernel, fit_inverse_transform=True, alpha=1.0, landmarks=landmarks)
    with pytest.raises(ValueError, match=r"alpha.*preimage='learned'"):
        model.fit(np.abs(near))


@pytest.mark.parametrize("offset", [1e4, 1e5, 1e6])
def test_oriented_features_of_a_linear_kernel_do_not_depend_on_the_offset(near, queries, offset):
    noise = np.random.default_rng(2).normal(size=(30, 4))
    fit = lambda c: OrientedKernelPCA(3, kernel="linear", alpha=0.1).fit(near + c, noise_samples=noise + c)
    plain, moved = fit(0.0), fit(offset)
    np.testing.assert_allclose(moved.ratios_, plain.ratios_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(moved.transform(queries + offset)), np.abs(plain.transform(queries)), atol=1e-6)
    np.testing.assert_allclose(moved.denoise(queries + offset) - offset, plain.denoise(queries), atol=1e-3)


def test_a_kernel_with_a_profile_of_its_own_is_not_taken_for_a_linear_one(near):
    class Squared(ProfileKernel):
        pairwise = InnerProduct()

        def profile(self, s):
            return s**2

        def profile_derivative(self, s):
            return 2 * s

    kernel = Squared()
    assert kernel.recentered(np.ones(4)) is kernel
    assert isinstance(Linear().recentered(np.ones(4)), ShiftedInputs)


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_number_of_landmarks_means_centres_of_clusters_at_any_offset(near, offset):
    model = KernelPCA(2, kernel="linear", landmarks=3).fit(near + offset)
    assert model.landmarks_.indices is None  # means, not rows


class LinearFromZero(Linear):
    """The linear kernel, never recentred."""

    is_bilinear = False


def _turned(X, angle):
    """Rows turned in the plane of the first two inputs, about a point near the data."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.eye(4)
    turn[:2, :2] = [[c, s], [-s, c]]
    return (X - 250) @ turn + 250


@pytest.mark.parametrize("noise", ["samples", "pairs", "tangents"])
def test_recentring_does_not_change_oriented_features(near, queries, noise):
    X, Z = near + 250, queries + 250
    rng = np.random.default_rng(2)
    given = {
        "samples": {"noise_samples": 250 + rng.normal(size=(30, 4))},
        "pairs": {"pairs": X + rng.normal(size=X.shape)},
        "tangents": {},
    }[noise]
    settings = {"alpha": 0.1, "invariances": _turned if noise == "tangents" else None}
    fit = lambda kernel: OrientedKernelPCA(3, kernel=kernel, **settings).fit(X, **given)
    plain, recentred = fit(LinearFromZero()), fit(Linear())
    assert isinstance(recentred.kernel_, ShiftedInputs) and not isinstance(plain.kernel_, ShiftedInputs)
    np.testing.assert_allclose(recentred.ratios_, plain.ratios_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(recentred.transform(Z)), np.abs(plain.transform(Z)), atol=1e-6)
