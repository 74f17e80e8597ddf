"""`KernelPCA.impute`, and coordinates of incomplete rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError

RNG = np.random.default_rng(0)
ANGLES = RNG.uniform(0, np.pi, 150)
ARC = np.column_stack([np.cos(ANGLES), np.sin(ANGLES), ANGLES / 3]) + 0.02 * RNG.normal(size=(150, 3))
ROWS = ARC[:30] + 0.01
KNOWN = np.ones(ROWS.shape, bool)
KNOWN[np.arange(30), np.arange(30) % 3] = False
HOLES = np.where(KNOWN, ROWS, np.nan)


@pytest.fixture
def model():
    return KernelPCA(8, gamma=0.5).fit(ARC)


@pytest.mark.parametrize("noise", ["auto", 0.0, 1e-4])
@pytest.mark.parametrize("landmarks", [None, 40])
def test_missing_coordinates_of_an_arc(noise, landmarks):
    found = KernelPCA(8, gamma=0.5, landmarks=landmarks).fit(ARC).impute(HOLES, noise=noise)
    assert np.array_equal(found[KNOWN], ROWS[KNOWN])
    missing = (found - ROWS)[~KNOWN]
    assert np.median(np.abs(missing)) < 0.1
    assert np.mean(missing**2) < 0.3 * np.mean((ARC.mean(axis=0) - ROWS)[~KNOWN] ** 2)


def test_distances_to_the_subspace_do_not_rise(model):
    """Without noise, what is minimised is the reconstruction error: no other value of the entry has a smaller one."""
    found = model.impute(HOLES, noise=0.0)
    here = model.reconstruction_error(found)
    for step in (-0.02, 0.02):
        assert np.all(model.reconstruction_error(found + step * ~KNOWN) >= here - 1e-7)


def test_linear_kernels_are_principal_component_analysis():
    X = RNG.normal(size=(100, 2)) @ RNG.normal(size=(2, 5)) + 3
    holes = X[:10].copy()
    holes[:, 4] = np.nan
    assert_allclose(KernelPCA(2, kernel="linear").fit(X).impute(holes, noise=0), X[:10], atol=1e-3)


def test_coordinates_of_incomplete_rows(model):
    with pytest.raises(ValueError, match="NaN"):
        model.transform(HOLES)
    assert_allclose(model.transform(HOLES, impute=True), model.transform(model.impute(HOLES)))
    assert_allclose(model.transform(ROWS, impute=True), model.transform(ROWS))


def test_fewer_components(model):
    few = KernelPCA(3, gamma=0.5).fit(ARC)
    assert_allclose(model.impute(HOLES, n_components=3), few.impute(HOLES), atol=1e-4)


def test_rows_without_entries_get_the_pre_image_of_the_mean():
    model = KernelPCA(2, kernel="linear").fit(ARC)
    assert_allclose(model.impute(np.full((2, 3), np.nan)), np.tile(ARC.mean(axis=0), (2, 1)), atol=1e-3)


def test_other_libraries(xp):
    found = KernelPCA(8, gamma=0.5).fit(xp.asarray(ARC)).impute(xp.asarray(HOLES))
    assert_allclose(to_numpy(found), KernelPCA(8, gamma=0.5).fit(ARC).impute(HOLES), atol=1e-6)


def test_chunks(model):
    da = pytest.importorskip("dask.array")
    lazy = model.impute(da.from_array(HOLES, chunks=(7, 3)))
    assert_allclose(lazy.compute(), model.impute(HOLES), atol=1e-8)
    both = model.transform(da.from_array(HOLES, chunks=(7, 3)), impute=True)
    assert_allclose(both.compute(), model.transform(HOLES, impute=True), atol=1e-8)


def test_models_of_sparse_rows(model):
    found = KernelPCA(8, gamma=0.5).fit(sparse.csr_matrix(ARC)).impute(HOLES)
    assert_allclose(found, model.impute(HOLES), atol=1e-6)


def test_refusals(model):
    with pytest.raises(ValueError, match="noise"):
        model.impute(HOLES, noise=2.0)
    with pytest.raises(ValueError, match="noise must be"):
        model.impute(HOLES, noise=np.array([0.1, 0.2]))
    with pytest.raises(ValueError, match="infinity"):
        model.impute(np.where(KNOWN, ROWS, np.inf))
    with pytest.raises(UnsupportedKernelError, match="precomputed"):
        KernelPCA(2, kernel="precomputed").fit(ARC @ ARC.T).impute(HOLES)
