"""`preimage denoise scan.nii.gz out.nii.gz --mask mask.nii.gz`: voxels where they were, and plain errors."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("matplotlib", reason="figures need matplotlib")
pytest.importorskip("nilearn", reason="brain images need nilearn")
import nibabel
from typer.testing import CliRunner

from preimage import KernelPCA
from preimage.cli import _app
from preimage.neuro._denoise_image import mask_scans
from preimage.plotting._command_figures import slice_pictures
from preimage.solvers import FixedPoint

FAST = ["--components", "3", "--gamma", "median", "--penalty", "0"]
RNG = np.random.default_rng(0)
AFFINE = np.diag([-3.0, 3.0, 4.0, 1.0])
INSIDE = RNG.uniform(size=(6, 7, 4)) < 0.5
DATA = (1000 + 40 * np.sin(np.arange(24)) * RNG.normal(size=(6, 7, 4, 1)) + 9 * RNG.normal(size=(6, 7, 4, 24))).astype(
    np.int16
)


def run(*arguments):
    return CliRunner().invoke(_app.app, ["denoise", *map(str, arguments)])


def denoised(X, train=None):
    return (
        KernelPCA(3, gamma="median", preimage=FixedPoint())
        .fit(X if train is None else train)
        .denoise(X, cross_fit="auto")
    )


@pytest.fixture
def folder(tmp_path):
    image = nibabel.Nifti1Image(DATA, AFFINE)
    image.header.set_zooms((3, 3, 4, 2.0))
    nibabel.save(image, tmp_path / "scan.nii.gz")
    nibabel.save(nibabel.Nifti1Image(INSIDE.astype(np.uint8), AFFINE), tmp_path / "mask.nii.gz")
    return tmp_path


@pytest.mark.parametrize("name", ["out.nii.gz", "out.nii"])
def test_a_scan_comes_back_as_a_scan(folder, name):
    result = run(folder / "scan.nii.gz", folder / name, "--mask", folder / "mask.nii.gz", *FAST)
    assert result.exit_code == 0, result.output
    saved = nibabel.load(folder / name)
    assert saved.shape == DATA.shape and saved.get_data_dtype() == np.float32
    np.testing.assert_array_equal(saved.affine, AFFINE)
    assert saved.header.get_zooms() == pytest.approx((3, 3, 4, 2))
    np.testing.assert_allclose(saved.get_fdata()[INSIDE].T, denoised(DATA[INSIDE].T.astype(float)), rtol=1e-5)
    np.testing.assert_array_equal(saved.get_fdata()[~INSIDE], DATA[~INSIDE])
    summary = json.loads((folder / "out.json").read_text())
    assert summary["rows"] == 24 and summary["columns"] == INSIDE.sum()
    assert (folder / "out.png").stat().st_size > 1000
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["mask.nii.gz", name, "out.json", "out.png", "scan.nii.gz"]
    )


def test_the_choice_may_be_left_open_and_training_scans_be_others(folder):
    nibabel.save(nibabel.Nifti1Image(DATA[..., :12], AFFINE), folder / "train.nii.gz")
    mask = ["--mask", folder / "mask.nii.gz", "--no-plot"]
    assert run(folder / "scan.nii.gz", folder / "auto.nii.gz", *mask).exit_code == 0
    result = run(folder / "scan.nii.gz", folder / "out.nii.gz", "--fit", folder / "train.nii.gz", *mask, *FAST)
    assert result.exit_code == 0, result.output
    rows = DATA[INSIDE].T.astype(float)
    found = nibabel.load(folder / "out.nii.gz").get_fdata()[INSIDE].T
    np.testing.assert_allclose(found, denoised(rows, rows[:12]), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scan.nii.gz", "out.csv", "--mask", "mask.nii.gz"], "must both be NIfTI scans"),
        (["table.csv", "out.nii.gz"], "must both be NIfTI scans"),
        (["table.csv", "out.csv", "--mask", "mask.nii.gz"], "--mask is for NIfTI files"),
        (["scan.nii.gz", "out.nii.gz", "--mask", "absent.nii.gz"], "absent.nii.gz does not exist"),
        (["scan.nii.gz", "out.nii.gz", "--mask", "moved.nii.gz"], "different affines"),
        (["scan.nii.gz", "out.nii.gz", "--mask", "small.nii.gz"], "Resample it"),
        (["mask.nii.gz", "out.nii.gz", "--mask", "mask.nii.gz"], "4D images"),
        (["broken.nii.gz", "out.nii.gz", "--mask", "mask.nii.gz"], "cannot be read"),
        (["scan.nii.gz", "out.nii.gz", "--mask", "mask.nii.gz", "--landmarks", "5"], "not worked on in chunks"),
        (["scan.nii.gz", "out.nii.gz", "--landmarks", "5"], "large files are written as"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(folder, arguments, message):
    np.savetxt(folder / "table.csv", DATA[INSIDE].T, delimiter=",")
    nibabel.save(nibabel.Nifti1Image(INSIDE.astype(np.uint8), np.eye(4)), folder / "moved.nii.gz")
    nibabel.save(nibabel.Nifti1Image(np.ones((2, 2, 2), np.uint8), AFFINE), folder / "small.nii.gz")
    (folder / "broken.nii.gz").write_bytes(b"no image")
    files = [folder / part if "." in part else part for part in arguments]
    result = run(*files, *FAST)
    assert result.exit_code == 3 and message in result.output
    assert not list(folder.glob("out*"))


def test_training_scans_have_the_mask_of_the_input(folder):
    """Brains found in each would differ, and columns be other voxels."""
    brain = np.zeros((9, 10, 8), dtype=bool)
    brain[2:7, 2:7, 2:6] = True
    moved = np.roll(brain, 1, axis=0)  # as many voxels, elsewhere
    for name, where in [("scan", brain), ("train", moved)]:
        data = RNG.normal(size=(*brain.shape, 20)) + 1000.0 * where[..., None]
        nibabel.save(nibabel.Nifti1Image(data.astype(np.float32), np.eye(4)), folder / f"{name}.nii")
    result = run(folder / "scan.nii", folder / "out.nii", "--fit", folder / "train.nii", *FAST)
    assert result.exit_code == 0, result.output
    scans = mask_scans(folder / "scan.nii")
    train = nibabel.load(folder / "train.nii").get_fdata()[scans.mask].T
    found = nibabel.load(folder / "out.nii").get_fdata()[scans.mask].T
    np.testing.assert_allclose(found, denoised(scans.X, train), rtol=1e-5, atol=1e-3)


def test_a_broken_mask_is_named(folder):
    (folder / "mask.nii.gz").write_bytes((folder / "scan.nii.gz").read_bytes()[:500])
    result = run(folder / "scan.nii.gz", folder / "out.nii.gz", "--mask", folder / "mask.nii.gz", *FAST)
    assert result.exit_code == 3 and "mask.nii.gz cannot be read" in " ".join(result.output.split())


def test_without_nilearn_there_is_a_hint(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "nilearn.image", None)
    result = run(folder / "scan.nii.gz", folder / "out.nii.gz", *FAST)
    assert result.exit_code == 3 and 'pip install "preimage[neuro]"' in result.output


def test_the_picture_is_the_fullest_slice_front_on_top():
    mask = np.zeros((4, 5, 3), dtype=bool)
    mask[1:3, 1:4, 2] = True
    mask[0, 0, 0] = True
    data = RNG.normal(size=(4, 5, 3, 2))
    scans = mask_scans(nibabel.Nifti1Image(data, AFFINE), nibabel.Nifti1Image(mask.astype(np.uint8), AFFINE))
    rows, shape = slice_pictures(scans.mask, scans.X)
    assert shape == (3, 2)
    np.testing.assert_allclose(rows[1].reshape(shape), data[1:3, 1:4, 2, 1].T[::-1])


@pytest.mark.parametrize("outside", ["keep", "zero"])
def test_voxels_left_out_without_a_mask_are_announced_and_kept(folder, outside):
    data = np.zeros((20, 20, 20, 12))
    data[5:15, 5:15, 5:15] = 500
    noisy = (data + np.random.default_rng(0).normal(size=data.shape) * 5).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(noisy, AFFINE), folder / "brain.nii.gz")
    result = run(folder / "brain.nii.gz", folder / "out.nii.gz", *FAST, "--no-plot", "--quiet", "--outside", outside)
    assert result.exit_code == 0, result.output
    written = nibabel.load(folder / "out.nii.gz").get_fdata()
    inside = mask_scans(folder / "brain.nii.gz").mask
    said = "are left as they were" if outside == "keep" else "become zero"
    assert f"{inside.sum()} of 8000 voxels look like a brain and are taken; the others {said}" in result.output
    np.testing.assert_array_equal(written[~inside], noisy[~inside] if outside == "keep" else 0)
    assert (written[inside] != noisy[inside]).mean() > 0.99
