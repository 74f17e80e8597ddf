"""Images in, images out: voxels where they were, headers kept, mistakes named."""

import sys

import numpy as np
import pytest

pytest.importorskip("nilearn", reason="brain images need nilearn")
import nibabel
from data import load_haxby
from nilearn.maskers import NiftiMasker
from sklearn.base import clone

from preimage import KernelPCA
from preimage.kernels import squared_distance_percentile
from preimage.model_selection import DenoisingSearch
from preimage.neuro import _denoise_image, denoise_image
from preimage.neuro._denoise_image import mask_scans

RNG = np.random.default_rng(0)
AFFINE = np.array([[-3.0, 0, 0, 90], [0, 3.0, 0, -120], [0, 0, 4.0, -60], [0, 0, 0, 1]])
INSIDE = RNG.uniform(size=(5, 6, 4)) < 0.4
MODEL = KernelPCA(4, gamma="median")


def scan(data=None, dtype=np.int16):
    if data is None:
        waves = np.sin(np.linspace(0, 9, 30)) * RNG.normal(size=(5, 6, 4, 1))
        data = 1000 + 50 * waves + 10 * RNG.normal(size=(5, 6, 4, 30))
    image = nibabel.Nifti1Image(data.astype(dtype), AFFINE)
    image.header.set_zooms((3, 3, 4, 2.5)[: data.ndim])
    image.header.set_xyzt_units("mm", "sec")
    image.header["descrip"] = b"a test"
    return image


SCAN = scan()
MASK = nibabel.Nifti1Image(INSIDE.astype(np.uint8), AFFINE)


def test_rows_are_scans_and_columns_are_voxels():
    scans = mask_scans(SCAN, MASK)
    assert scans.X.shape == (30, INSIDE.sum()) and scans.X.dtype == np.float64
    np.testing.assert_array_equal(scans.X[7], SCAN.get_fdata()[..., 7][INSIDE])
    back = scans.unmask(scans.X)
    np.testing.assert_array_equal(back.get_fdata()[INSIDE], SCAN.get_fdata()[INSIDE])
    assert not back.get_fdata()[~INSIDE].any()
    assert scans.unmask(scans.X[0]).shape == INSIDE.shape


def test_the_way_agrees_with_nilearns():
    rows = NiftiMasker(mask_img=MASK, standardize=None).fit_transform(SCAN)
    np.testing.assert_allclose(mask_scans(SCAN, MASK).X, rows)


def test_denoised_voxels_are_those_of_the_estimator(tmp_path):
    result = denoise_image(SCAN, MASK, MODEL, cross_fit=None)
    X = SCAN.get_fdata()[INSIDE].T
    expected = KernelPCA(4, gamma="median").fit(X).denoise(X)
    np.testing.assert_allclose(result.get_fdata()[INSIDE].T, expected, rtol=1e-6)
    assert not hasattr(MODEL, "subspace_")  # a copy was fitted
    nibabel.save(result, tmp_path / "out.nii.gz")
    saved = nibabel.load(tmp_path / "out.nii.gz")
    assert saved.get_data_dtype() == np.float32
    np.testing.assert_allclose(saved.get_fdata()[INSIDE].T, expected, rtol=1e-6)
    np.testing.assert_array_equal(saved.affine, AFFINE)
    assert saved.header.get_zooms() == pytest.approx((3, 3, 4, 2.5))
    assert saved.header.get_xyzt_units() == ("mm", "sec")
    assert bytes(saved.header["descrip"]).startswith(b"a test")


def test_paths_will_do_and_scale_factors_are_undone(tmp_path):
    image = scan()
    image.header.set_slope_inter(2.0, 5.0)
    nibabel.save(image, tmp_path / "scan.nii")
    nibabel.save(MASK, tmp_path / "mask.nii.gz")
    scaled = nibabel.load(tmp_path / "scan.nii")
    result = denoise_image(tmp_path / "scan.nii", str(tmp_path / "mask.nii.gz"), MODEL)
    X = scaled.get_fdata()[INSIDE].T
    np.testing.assert_allclose(result.get_fdata()[INSIDE].T, MODEL.fit(X).denoise(X, cross_fit="auto"), rtol=1e-5)
    nibabel.save(result, tmp_path / "out.nii")
    np.testing.assert_allclose(nibabel.load(tmp_path / "out.nii").get_fdata(), result.get_fdata())


def test_noise_goes_and_the_choice_may_be_left_open():
    t = np.linspace(0, 12, 60)
    clean = 100 + 20 * np.sin(t) * RNG.normal(size=(5, 6, 4, 1)) + 20 * np.cos(t) * RNG.normal(size=(5, 6, 4, 1))
    noisy = clean + 5 * RNG.normal(size=clean.shape)
    gamma = 1 / squared_distance_percentile(noisy[INSIDE].T, 50)
    for estimator in (None, DenoisingSearch(gammas=(gamma, gamma / 4))):
        result = denoise_image(scan(noisy, np.float32), MASK, estimator)
        error = np.mean((result.get_fdata() - clean)[INSIDE] ** 2)
        assert error < 0.6 * np.mean((noisy - clean)[INSIDE] ** 2)


def test_many_components_leave_scans_or_runs_out_of_their_own_basis():
    X = SCAN.get_fdata()[INSIDE].T
    model, runs = KernelPCA(4, gamma="median").fit(X), np.repeat([1, 2, 3], 10)
    for cross_fit in ("auto", 5, None):
        found = denoise_image(SCAN, MASK, MODEL, cross_fit=cross_fit).get_fdata()[INSIDE].T
        np.testing.assert_allclose(found, model.denoise(X, cross_fit=cross_fit), rtol=1e-5)
    by_runs = denoise_image(SCAN, MASK, MODEL, runs=runs, cross_fit=3).get_fdata()[INSIDE].T
    means = np.repeat([X[runs == run].mean(axis=0) for run in (1, 2, 3)], 10, axis=0)
    centred = clone(MODEL).fit(X - means)
    np.testing.assert_allclose(by_runs, centred.denoise(X - means, cross_fit=runs) + means, rtol=1e-5)
    search = DenoisingSearch(gammas=(1 / squared_distance_percentile(X - means, 50),), n_components=(8,))
    chosen = clone(search).fit(X - means, groups=runs)
    by_search = denoise_image(SCAN, MASK, search, runs=runs)
    np.testing.assert_allclose(by_search.get_fdata()[INSIDE].T, chosen.denoise(X - means) + means, rtol=1e-5)


def test_runs_are_the_folds_that_are_judged():
    X = RNG.normal(size=(30, INSIDE.sum()))  # pure noise, which all components keep and models of other runs do not
    noise = np.zeros((5, 6, 4, 30))
    noise[INSIDE] = X.T
    runs = np.repeat([1, 2, 3], 10)
    found = denoise_image(scan(noise, np.float64), MASK, KernelPCA(gamma="median"), runs=runs).get_fdata()[INSIDE].T
    means = np.repeat([X[runs == run].mean(axis=0) for run in (1, 2, 3)], 10, axis=0)
    expected = KernelPCA(gamma="median").fit(X - means).denoise(X - means, cross_fit=runs) + means
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_masker_has_its_own_way():
    masker = NiftiMasker(mask_img=MASK, standardize=None)
    ours, theirs = denoise_image(SCAN, MASK, MODEL, outside="zero"), denoise_image(SCAN, masker, MODEL)
    np.testing.assert_allclose(ours.get_fdata(), theirs.get_fdata(), rtol=1e-5)


def test_a_masker_keeps_the_time_between_scans_too():
    result = denoise_image(SCAN, NiftiMasker(mask_img=MASK, standardize=None), MODEL)
    assert result.header.get_zooms() == SCAN.header.get_zooms()
    assert result.header.get_xyzt_units() == ("mm", "sec") and result.get_data_dtype() == np.float32


def test_standardised_voxels_count_alike_and_runs_keep_their_means():
    factor = np.where(np.arange(4) < 2, 1.0, 1000.0)[:, None]
    data = SCAN.get_fdata()
    plain = denoise_image(scan(data, np.float64), MASK, MODEL, standardize=True).get_fdata()
    scaled = denoise_image(scan(data * factor, np.float64), MASK, MODEL, standardize=True).get_fdata()
    np.testing.assert_allclose(scaled, plain * factor, rtol=1e-4)
    runs = np.repeat(["a", "b"], 15)
    shifted = denoise_image(scan(data + 500.0 * (runs == "b"), np.float64), MASK, MODEL, runs=runs).get_fdata()
    together = denoise_image(scan(data, np.float64), MASK, MODEL, runs=runs).get_fdata()
    np.testing.assert_allclose((shifted - together)[INSIDE], 500.0 * np.tile(runs == "b", (INSIDE.sum(), 1)), atol=0.1)


def test_constant_voxels_stay_constant():
    data = SCAN.get_fdata().copy()
    first = tuple(np.argwhere(INSIDE)[0])
    data[first] = 7.0
    result = denoise_image(scan(data, np.float64), MASK, MODEL, standardize=True)
    np.testing.assert_allclose(result.get_fdata()[first], 7.0)


def test_a_brain_is_found_without_a_mask():
    data = np.zeros((20, 20, 20, 12))
    data[5:15, 5:15, 5:15] = 500
    image = scan(data + RNG.normal(size=data.shape) * 5, np.float32)
    inside = mask_scans(image).mask
    assert inside[8:12, 8:12, 8:12].all() and not inside[:3].any()


@pytest.mark.parametrize(
    ("image", "mask", "message"),
    [
        (lambda: scan(np.ones((5, 6, 4))), lambda: MASK, r"4D images, volumes in time; got the shape \(5, 6, 4\)"),
        (lambda: scan(SCAN.get_fdata(), np.complex64), lambda: MASK, "hold real numbers; got the type complex64"),
        (lambda: SCAN, lambda: nibabel.Nifti1Image(np.ones((5, 6, 5)), AFFINE), r"shape \(5, 6, 5\), the scans"),
        (lambda: SCAN, lambda: nibabel.Nifti1Image(INSIDE.astype(float), np.eye(4)), "different affines"),
        (lambda: SCAN, lambda: nibabel.Nifti1Image(np.zeros((5, 6, 4)), AFFINE), "mask is empty"),
        (
            lambda: scan(np.where(INSIDE[..., None], np.nan, SCAN.get_fdata()), float),
            lambda: MASK,
            "missing or infinite",
        ),
    ],
)
def test_mistakes_are_named(image, mask, message):
    with pytest.raises(ValueError, match=message):
        denoise_image(image(), mask(), MODEL)


def test_missing_values_outside_the_mask_do_not_matter_and_stay(tmp_path):
    data = np.where(INSIDE[..., None], SCAN.get_fdata(), np.nan)
    result = denoise_image(scan(data, float), MASK, MODEL)
    nibabel.save(result, tmp_path / "out.nii.gz")
    saved = nibabel.load(tmp_path / "out.nii.gz")
    np.testing.assert_array_equal(np.isnan(saved.get_fdata()), np.isnan(data))
    assert saved.header.get_zooms() == SCAN.header.get_zooms() and saved.get_data_dtype() == np.float32
    assert np.isfinite(denoise_image(scan(data, float), MASK, MODEL, outside="zero").get_fdata()).all()


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("slope", [None, (2.0, 5.0), (0.1, -3.0)])
def test_voxels_outside_the_mask_stay_exactly_as_they_were(tmp_path, dtype, slope):
    top = {np.uint8: 255, np.int32: 2**30}.get(dtype, 30000)
    values = RNG.uniform(top / 2, top, size=(5, 6, 4, 12)).astype(dtype)
    image = nibabel.Nifti1Image(values, AFFINE)
    if slope is not None:
        image.header.set_slope_inter(*slope)
    image.header.set_zooms((3, 3, 4, 2.5))
    image.header.set_xyzt_units("mm", "sec")
    image.set_sform(AFFINE, code=4)
    image.set_qform(AFFINE, code=1)
    nibabel.save(image, tmp_path / "in.nii.gz")
    before = nibabel.load(tmp_path / "in.nii.gz")
    nibabel.save(denoise_image(tmp_path / "in.nii.gz", MASK, MODEL), tmp_path / "out.nii.gz")
    after = nibabel.load(tmp_path / "out.nii.gz")
    np.testing.assert_array_equal(after.get_fdata()[~INSIDE], before.get_fdata()[~INSIDE])
    assert (after.get_fdata()[INSIDE] != before.get_fdata()[INSIDE]).mean() > 0.9
    np.testing.assert_array_equal(after.affine, before.affine)
    assert after.header.get_zooms() == before.header.get_zooms()
    assert after.header.get_xyzt_units() == ("mm", "sec")
    assert (int(after.header["sform_code"]), int(after.header["qform_code"])) == (4, 1)


def test_a_found_mask_is_announced_and_no_brain_is_refused():
    data = np.zeros((20, 20, 20, 12))
    data[5:15, 5:15, 5:15] = 500
    image = scan(data + RNG.normal(size=data.shape) * 5, np.float32)
    taken = mask_scans(image).mask
    with pytest.warns(UserWarning, match=f"{taken.sum()} of 8000 voxels look like a brain .* left as they were"):
        result = denoise_image(image, estimator=MODEL)
    np.testing.assert_array_equal(result.get_fdata()[~taken], image.get_fdata()[~taken])
    for empty in (np.zeros((5, 6, 4, 12)), np.full((5, 6, 4, 12), np.nan)):
        with pytest.raises(ValueError, match="No brain was found"):
            denoise_image(scan(empty, float), estimator=MODEL)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="`fit` and `denoise`"):
        denoise_image(SCAN, MASK, "kpca")
    with pytest.raises(ValueError, match="each scan needs one"):
        denoise_image(SCAN, MASK, MODEL, runs=[1, 2])
    with pytest.raises(ValueError, match="'keep' or 'zero'; got 'nan'"):
        denoise_image(SCAN, MASK, MODEL, outside="nan")
    with pytest.raises(ValueError, match="30 scans whose voxels could be kept"):
        mask_scans(SCAN, MASK).unmask(np.ones((3, INSIDE.sum())), "keep")
    with pytest.raises(ValueError, match="voxels; got rows"):
        mask_scans(SCAN, MASK).unmask(np.ones((3, 2)))


def test_memory_is_counted_before_scans_are_read(monkeypatch):
    monkeypatch.setattr(_denoise_image, "free_memory", lambda like: 1000)
    with pytest.raises(MemoryError, match=r"\(5, 6, 4, 30\) take .* GB are free. Take fewer scans"):
        mask_scans(SCAN, MASK)


def test_without_nilearn_there_is_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "nilearn.image", None)
    with pytest.raises(ImportError, match=r'pip install "preimage\[neuro\]"'):
        mask_scans(SCAN, MASK)


def test_a_real_volume_keeps_its_voxels():
    try:
        haxby = load_haxby(download_if_missing=False)
    except FileNotFoundError as absent:
        pytest.skip(str(absent).splitlines()[0])
    first = haxby.run == haxby.run[0]
    places = tuple(haxby.voxel_ijk.astype(int).T)
    data, inside = np.zeros((40, 64, 64, first.sum())), np.zeros((40, 64, 64), dtype=np.uint8)
    data[places], inside[places] = haxby.X[first].T, 1
    affine = np.diag([3.5, 3.75, 3.75, 1])
    image, mask = nibabel.Nifti1Image(data.astype(np.int16), affine), nibabel.Nifti1Image(inside, affine)
    result = denoise_image(image, mask, KernelPCA(10, gamma="median"), standardize=True).get_fdata()
    noisy, denoised = data[places], result[places]
    changes = [(values - values.mean(axis=1, keepdims=True)).ravel() for values in (noisy, denoised)]
    assert np.corrcoef(*changes)[0, 1] > 0.5
    assert (denoised.std(axis=1) <= noisy.std(axis=1) * 1.01).mean() > 0.95
