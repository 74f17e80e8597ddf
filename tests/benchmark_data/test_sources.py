"""Files as the public sources deliver them become the documented arrays."""

import hashlib
import zipfile

import data as datasets
import nibabel
import numpy as np
import public_sources
import pytest
from data import _files, _gene_expression, _haxby, _ida, _images, _r_files, _sources, _tables
from local_sets import assert_arrays, local_arrays, some_arrays
from sklearn.datasets import fetch_file
from sklearn.utils import Bunch

FILES = {
    _images.USPS: public_sources.usps_files,
    _images.MNIST: public_sources.mnist_files,
    _images.COIL20: public_sources.coil20_files,
    _tables.IONOSPHERE: public_sources.ionosphere_files,
    _tables.ABALONE: public_sources.abalone_files,
    _tables.BOSTON: public_sources.boston_files,
    _gene_expression.GENE_EXPRESSION["colon_tumor"]: public_sources.colon_files,
    _gene_expression.GENE_EXPRESSION["leukemia_allaml"]: public_sources.leukemia_files,
    _gene_expression.GENE_EXPRESSION["lung_cancer"]: public_sources.lung_files,
}


@pytest.mark.parametrize("data_set", FILES, ids=lambda data_set: data_set.name)
def test_files_of_the_web_become_the_documented_arrays(data_set, request):
    arrays = some_arrays(data_set)
    request.getfixturevalue("web").update(FILES[data_set](arrays))
    (found,) = (source.fetch() for source in data_set.sources if not source.name.startswith("OpenML"))
    assert_arrays(found, arrays)


@pytest.mark.parametrize("name", ["heart", "splice", "titanic"])
def test_the_archive_of_ida_sets_gives_all_its_splits(name, request):
    """Of titanic it has 24 patterns instead of 2,201 rows."""
    arrays = some_arrays(_ida.IDA[name])
    # Splits of one size, as those of the archive are.
    arrays["is_train"] = np.stack([np.roll(arrays["is_train"][0], shift) for shift in range(len(arrays["is_train"]))])
    arrays["realisation"] = np.arange(1, len(arrays["is_train"]) + 1, dtype=np.int16)
    request.getfixturevalue("web").update(public_sources.ida_files(name, arrays))
    loaded = datasets.load_ida(name)
    for key in ("is_train", "realisation"):
        assert loaded[key].shape == arrays[key].shape and loaded[key].dtype == arrays[key].dtype
    for split in range(3):
        for part in (True, False):
            found = [rows_in_order(each, each["is_train"][split] == part) for each in (loaded, arrays)]
            np.testing.assert_array_equal(*found)
    assert_arrays(datasets.load_ida(name, download_if_missing=False), loaded)


def rows_in_order(arrays, rows):
    table = np.column_stack([arrays["X"], arrays["y"]])[rows]
    return table[np.lexsort(table.T)]


def test_volumes_of_nilearn_are_masked_without_rest(monkeypatch, tmp_path):
    volumes, mask = np.arange(2 * 3 * 2 * 6, dtype=np.int16).reshape(2, 3, 2, 6), np.zeros((2, 3, 2), dtype=np.uint8)
    mask[0, 1, 0] = mask[1, 0, 0] = mask[0, 2, 1] = 1
    for name, values in (("bold", volumes), ("mask", mask)):
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), tmp_path / f"{name}.nii.gz")
    looked_at = ["rest 0", "face 0", "face 0", "rest 1", "face 1", "cat 1"]
    (tmp_path / "labels.txt").write_text("\n".join(["labels chunks", *looked_at]) + "\n")
    paths = [[str(tmp_path / name)] for name in ("bold.nii.gz", "mask.nii.gz", "labels.txt")]
    files = Bunch(func=paths[0], mask_vt=paths[1], session_target=paths[2])
    monkeypatch.setattr("nilearn.datasets.fetch_haxby", lambda subjects: files)
    scans = _haxby._of_nilearn()
    np.testing.assert_array_equal(scans["voxel_ijk"], [[1, 0, 0], [0, 1, 0], [0, 2, 1]])
    np.testing.assert_array_equal(scans["X"], volumes[[1, 0, 0], [0, 1, 2], [0, 0, 1]][:, [1, 2, 4, 5]].T)
    assert scans["label_names"].tolist() == ["cat", "face"] and scans["y"].tolist() == [1, 1, 1, 0]
    assert scans["run"].tolist() == [0, 0, 1, 1] and scans["block"].tolist() == [1, 1, 2, 3]


def test_volumes_taken_apart_come_together_again():
    """Two runs of the local file, as nilearn delivers them, with a volume of rest before each block."""
    arrays = local_arrays(_haxby.HAXBY)
    if arrays is None:
        pytest.skip("needs haxby_vt.npz in the folder that PREIMAGE_DATA names")
    rows = arrays["run"] < 2
    arrays |= {name: arrays[name][rows] for name in ("X", "y", "run", "block")}
    starts = np.flatnonzero(np.diff(arrays["block"], prepend=0))
    values, mask = np.zeros((40, 64, 64, rows.sum()), dtype=np.int16), np.zeros((40, 64, 64))
    places = tuple(arrays["voxel_ijk"].T)
    values[places], mask[places] = arrays["X"].T, 1
    looked_at, run = arrays["label_names"][arrays["y"]], arrays["run"]
    values, looked_at = np.insert(values, starts, 0, axis=3), np.insert(looked_at, starts, "rest")
    assert_arrays(_haxby.task_volumes(values, mask, looked_at, np.insert(run, starts, 0)), arrays)


def test_digits_of_openml_are_split(openml):
    digits = np.arange(9298) % 10
    images = np.repeat(digits[:, None] / 4.5 - 1, 256, axis=1)
    openml[41082] = Bunch(data=images, target=np.asarray([str(digit + 1) for digit in digits], dtype=object))
    usps = _images._usps_of_openml()
    _images.USPS.check_shapes(usps)
    np.testing.assert_array_equal(np.r_[usps["y_train"], usps["y_test"]], digits)
    np.testing.assert_allclose(usps["X_test"][:, 7], np.round(usps["y_test"] / 4.5 - 1, 3), atol=1e-6)
    digits = np.arange(70_000) % 10
    images = np.broadcast_to((25 * digits[:, None]).astype(np.uint8), (70_000, 784))
    openml[554] = Bunch(data=images, target=digits.astype(str).astype(object))
    mnist = _images._mnist_of_openml()
    _images.MNIST.check_shapes(mnist)
    np.testing.assert_array_equal(np.r_[mnist["y_train"], mnist["y_test"]], digits)
    np.testing.assert_array_equal(mnist["X_test"][:, 3], 25 * mnist["y_test"])


def test_mnist_with_and_without_pixels_of_one_is_the_same_set():
    arrays = {"X_train": np.asarray([[0, 1, 2]], dtype=np.uint8), "X_test": np.asarray([[1]], dtype=np.uint8)}
    with_zeros = arrays | {"X_train": np.asarray([[0, 0, 2]], dtype=np.uint8)}
    same = [_files.checksum(_images.MNIST.comparable(each)) for each in (arrays, with_zeros)]
    assert same[0] == same[1]
    other = arrays | {"X_test": np.asarray([[0]], dtype=np.uint8)}
    assert _files.checksum(_images.MNIST.comparable(other)) != same[0]


def test_abalone_of_openml_gets_one_indicator_for_each_sex(openml):
    openml[183] = Bunch(
        data=np.column_stack([[1.0, 0.0, 2.0], np.arange(21.0).reshape(3, 7)]),
        feature_names=["Sex", *_tables.MEASUREMENTS],
        categories={"Sex": ["F", "I", "M"]},
        target=np.asarray(["15", "7", "29"], dtype=object),
    )
    abalone = _tables._abalone_of_openml()
    # Codes 1, 0, 2 mean infant, female, male; the columns are male, female, infant.
    np.testing.assert_array_equal(abalone["X"][:, :3], [[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(abalone["X"][:, 3:], np.arange(21).reshape(3, 7))
    np.testing.assert_array_equal(abalone["y"], [15, 7, 29])
    assert abalone["feature_names"].tolist()[:4] == ["sex_M", "sex_F", "sex_I", "length"]


def test_answers_of_openml_are_read(no_files, monkeypatch):
    """Through scikit-learn, with answers of the form that the servers give."""
    arff = "@RELATION shells\n@ATTRIBUTE Sex {F,I,M}\n@ATTRIBUTE Length REAL\n@ATTRIBUTE Rings {7,15,29}\n"
    arff += "@DATA\nM,0.455,15\nI,0.35,7\nF,0.53,29\n"
    answers = public_sources.openml_answers(183, arff, target="Rings")

    def urlopen(request, *_, **__):
        return public_sources.Answer(next(body for end, body in answers.items() if request.full_url.endswith(end)))

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
    columns, target = _sources.openml_table(183)
    assert columns["Sex"].tolist() == ["M", "I", "F"] and columns["Length"].tolist() == [0.455, 0.35, 0.53]
    np.testing.assert_array_equal(_tables._abalone_of_openml()["y"], [15, 7, 29])
    assert target.tolist() == ["15", "7", "29"]


def test_boston_of_openml_has_values_and_not_codes(openml):
    columns = {name: [0.0, 1.0] for name in _tables.BOSTON_COLUMNS} | {"RAD": [2.0, 0.0]}
    openml[531] = Bunch(
        data=np.column_stack(list(columns.values())),
        feature_names=list(columns),
        categories={"CHAS": ["0", "1"], "RAD": ["1", "2", "24"]},
        target=np.asarray([24.0, 21.6]),
    )
    boston = _tables._boston_of_openml()
    expected = [[24 if name == "RAD" else 0 for name in columns], [1] * len(columns)]
    np.testing.assert_array_equal(boston["X"], expected)
    np.testing.assert_array_equal(boston["y"], [24.0, 21.6])


def test_ionosphere_of_openml_has_signs_for_labels(request):
    arrays = some_arrays(_tables.IONOSPHERE)
    request.getfixturevalue("openml")[59] = Bunch(
        data=arrays["X"].astype(float),
        feature_names=[f"a{column:02d}" for column in range(1, 35)],
        categories={},
        target=np.where(arrays["y"] == 1, "g", "b").astype(object),
    )
    assert_arrays(_tables._ionosphere_of_openml(), arrays)


def test_files_are_downloaded_once_and_compared_with_their_checksums(server):
    address, folder = server
    (folder / "table.csv").write_text("1, 2,g\n3,4,b\n")
    sha256 = hashlib.sha256((folder / "table.csv").read_bytes()).hexdigest()
    contents = _sources.download(f"{address}/table.csv", sha256)
    assert _sources.text_columns(contents) == [("1", "3"), ("2", "4"), ("g", "b")]
    (folder / "table.csv").unlink()
    assert _sources.download(f"{address}/table.csv", sha256) == contents
    (folder / "other.csv").write_text("not the file")
    with pytest.raises(OSError, match="checksum"):
        _sources.download(f"{address}/other.csv", sha256)


def test_what_a_server_delivers_by_mistake_is_not_kept(server):
    address, folder = server
    (folder / "usps.bz2").write_text("<html>Down for maintenance</html>")
    _sources.download(f"{address}/usps.bz2")
    (folder / "usps.bz2").write_text("the file")
    assert _sources.download(f"{address}/usps.bz2") == b"the file"


def test_downloads_need_no_folder_that_can_be_written(server, openml, monkeypatch, tmp_path):
    address, folder = server
    (folder / "table.csv").write_text("1,2\n")
    openml[1] = Bunch(data=np.eye(2), target=np.asarray(["1", "2"]))
    (tmp_path / "file").touch()
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "file"))
    monkeypatch.setattr(_sources, "fetch_file", fetch_file)
    assert _sources.download(f"{address}/table.csv", hashlib.sha256(b"1,2\n").hexdigest()) == b"1,2\n"
    assert _sources.openml_images(1)[1].tolist() == [1, 2]


def test_files_of_r_are_read_and_refused_when_cut():
    matrix = np.arange(6.0).reshape(2, 3)
    labels = public_sources.factor(np.asarray([True, False]), ["a", "b"])
    # Attributes of the second object refer to symbols of the first.
    whole = public_sources.r_file(first={"x": matrix, "y": labels}, second={"x": 2 * matrix})
    objects = _r_files.read_r_file(whole)
    np.testing.assert_array_equal(objects["first"]["x"], matrix)
    np.testing.assert_array_equal(objects["second"]["x"], 2 * matrix)
    assert objects["first"]["y"].tolist() == ["b", "a"]
    raw = _r_files.OPENERS[whole[:2]](whole)
    assert _r_files.read_r_file(raw).keys() == objects.keys()
    with pytest.raises(ValueError, match="ends too early"):
        _r_files.read_r_file(raw[:-20])
    backwards = raw[:19] + (14).to_bytes(4, "big") + (-1).to_bytes(4, "big", signed=True)
    with pytest.raises(ValueError, match="ends too early"):
        _r_files.read_r_file(backwards)
    with pytest.raises(ValueError, match="not a binary file of R"):
        _r_files.read_r_file(b"<html>")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that pip finds in a folder, and the hash of its wheel."""
    pytest.importorskip("pip", reason="pip is not installed")
    path = tmp_path / "some_data-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("some_data/table.csv", "1,2")
        wheel.writestr("some_data-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: some-data\nVersion: 1.0\n")
        wheel.writestr("some_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("some_data-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_of_a_package_is_read_from_where_pip_finds_packages(package):
    assert _sources.wheel_member("some-data==1.0", package, "some_data/table.csv").read() == b"1,2"


def test_a_package_with_another_hash_or_none_at_all_is_an_error(package):
    with pytest.raises(OSError, match=r"pip could not download some-data==1\.0"):
        _sources.wheel_member("some-data==1.0", "0" * 64, "some_data/table.csv")
    with pytest.raises(OSError, match=r"pip could not download other-data==1\.0: .*other-data"):
        _sources.wheel_member("other-data==1.0", package, "some_data/table.csv")
