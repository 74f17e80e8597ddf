"""Every loader gives the documented arrays, from a folder, a download or a source, or says what is missing."""

import functools
from urllib.error import URLError

import data as datasets
import numpy as np
import pytest
from data import _files, _gene_expression, _ida
from local_sets import LOADERS, assert_arrays, each_set, local_arrays
from sklearn.utils import Bunch


@each_set
def test_files_hold_the_documented_arrays(data_set):
    arrays = local_arrays(data_set)
    if arrays is None:
        pytest.skip(f"needs {data_set.file} in the folder that PREIMAGE_DATA names")
    assert arrays.keys() == data_set.arrays.keys()
    data_set.check_shapes(arrays)
    assert data_set.is_as_expected(arrays)


@pytest.mark.parametrize("name", datasets.IDA_NAMES)
def test_ida_splits_have_one_size_and_signs_for_labels(name):
    arrays = local_arrays(_ida.IDA[name])
    if arrays is None:
        pytest.skip(f"needs ida_{name}.npz in the folder that PREIMAGE_DATA names")
    assert len(set(arrays["is_train"].sum(axis=1))) == 1
    assert set(arrays["y"]) == {-1, 1}


@pytest.mark.parametrize("name", datasets.GENE_EXPRESSION_NAMES)
def test_gene_expression_has_a_few_samples_of_two_classes_and_many_columns(name):
    arrays = local_arrays(_gene_expression.GENE_EXPRESSION[name])
    if arrays is None:
        pytest.skip(f"needs {name} in the folder that PREIMAGE_DATA names")
    n, d = arrays["X"].shape
    assert n < 200 < 1000 < d and arrays["y"].shape == (n,)
    assert len(np.unique(arrays["y"])) == 2 and np.isfinite(arrays["X"]).all()


def test_names_of_gene_expression_are_those_that_load():
    assert set(datasets.GENE_EXPRESSION_NAMES) == set(_gene_expression.GENE_EXPRESSION)
    with pytest.raises(ValueError, match="known: " + ", ".join(datasets.GENE_EXPRESSION_NAMES)):
        datasets.load_gene_expression("prostate")


def test_the_variable_names_the_folder(no_files, monkeypatch, tmp_path):
    assert datasets.data_directory() is None
    np.savez(tmp_path / "coil20.npz", X=np.eye(3), y=np.arange(3))
    monkeypatch.setenv("PREIMAGE_DATA", str(tmp_path))
    assert datasets.data_directory() == tmp_path
    loaded = datasets.load_coil20()
    assert isinstance(loaded, Bunch)
    assert_arrays(loaded, {"X": np.eye(3), "y": np.arange(3)})


def test_a_wrong_folder_is_an_error(no_files, monkeypatch, tmp_path):
    monkeypatch.setenv("PREIMAGE_DATA", str(tmp_path / "typo"))
    with pytest.raises(NotADirectoryError, match=r"PREIMAGE_DATA is .*typo"):
        datasets.load_usps()


def a_set(*sources, sha256=None):
    """A small data set; a source is its name and what it delivers, or the error that it raises."""

    def fetch(delivered):
        if isinstance(delivered, Exception):
            raise delivered
        return {"X": np.asarray(delivered)}

    found = tuple(_files.Source(name, functools.partial(fetch, delivered)) for name, delivered in sources)
    return _files.DataSet("small", "https://example.org", {"X": ((2,), "int64")}, found, sha256)


def test_the_first_source_that_works_is_kept(no_files):
    sources = ("down", URLError("no route")), ("a page", ValueError("not a file")), ("a half", [1]), ("right", [1, 2])
    assert _files.load(a_set(*sources)).X.tolist() == [1, 2]
    # Now it is on this computer.
    assert _files.load(a_set(("down", URLError("no route"))), download_if_missing=False).X.tolist() == [1, 2]


def test_contents_that_differ_are_given_with_a_warning_and_not_kept(no_files):
    expected = _files.checksum({"X": np.asarray([1, 2])})
    different = ("another", [1, 3])
    for _ in range(2):
        with pytest.warns(UserWarning, match="small from another differ.*example.org"):
            assert _files.load(a_set(different, sha256=expected)).X.tolist() == [1, 3]
    assert _files.load(a_set(different, ("right", [1, 2]), sha256=expected)).X.tolist() == [1, 2]


def test_a_download_is_used_where_it_cannot_be_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("PREIMAGE_DATA", raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "file"))
    assert _files.load(a_set(("right", [1, 2]))).X.tolist() == [1, 2]


@pytest.mark.parametrize("contents", [b"", b"<html>", b"PK\x03\x04 cut"])
def test_a_damaged_file_is_named(no_files, contents):
    path = _files.download_directory() / "small.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=r"small\.npz is damaged.*Remove it"):
        _files.load(a_set(("right", [1, 2])))


@pytest.mark.parametrize("sha256", [None, _files.checksum({"X": np.asarray([1, 2])})], ids=["none", "of the set"])
@pytest.mark.parametrize("changed", [{"X": [1, 3]}, {"X": [1.0, 2.0]}, {"X": [1, 2, 3]}, {"Z": [1, 2]}], ids=str)
def test_a_download_that_was_changed_is_refused(no_files, changed, sha256):
    """The file is whole, and its contents are others: a checksum of the archive's own would not tell."""
    known = a_set(("right", [1, 2]), sha256=sha256)
    assert _files.load(known).X.tolist() == [1, 2]
    assert _files.load(known).X.tolist() == [1, 2]
    path = _files.download_directory() / "small.npz"
    np.savez_compressed(path, **{name: np.asarray(values) for name, values in changed.items()})
    for download_if_missing in (True, False):
        with pytest.raises(ValueError, match=r"small\.npz is damaged, or .*Remove it"):
            _files.load(known, download_if_missing)
    path.unlink()
    assert _files.load(known).X.tolist() == [1, 2]


def test_a_download_of_before_there_were_checksums_is_read(no_files):
    known = a_set(("right", [1, 2]))
    _files.load(known)
    (_files.download_directory() / "small.npz.sha256").unlink()
    assert _files.load(known, download_if_missing=False).X.tolist() == [1, 2]


def test_pickles_are_not_opened(no_files):
    class Program:
        def __reduce__(self):
            return pytest.fail, ("a pickle was opened",)

    path = _files.download_directory() / "small.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, X=np.array([Program()], dtype=object))
    with pytest.raises(ValueError, match=r"small\.npz is damaged.*allow_pickle=False"):
        _files.load(a_set(("right", [1, 2])))


def test_checksums_depend_on_contents_only():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    same = _files.checksum({"X": array, "y": array[0]})
    assert _files.checksum({"y": array[0], "X": np.asfortranarray(array)}) == same
    assert _files.checksum({"X": array.astype(">i4"), "y": array[0]}) == same
    for other in (array.T, array.astype(np.int64), array + 1):
        assert _files.checksum({"X": other, "y": array[0]}) != same


@each_set
def test_sets_that_cannot_be_had_say_what_to_get_and_where_to_put_it(data_set, offline):
    with pytest.raises(FileNotFoundError) as raised:
        LOADERS[data_set]()
    text = str(raised.value)
    for part in (f"{data_set.file} was not found", "no route to host", data_set.page, "PREIMAGE_DATA", "X"):
        assert part in text
    with pytest.raises(FileNotFoundError, match=r"was not found in .*download_if_missing=True"):
        LOADERS[data_set](download_if_missing=False)


@pytest.mark.parametrize("loader", [datasets.load_ida, datasets.load_gene_expression])
def test_unknown_names_are_answered_with_the_known_ones(loader):
    with pytest.raises(ValueError, match=r"Unknown .*'bananas'; known: "):
        loader("bananas")
