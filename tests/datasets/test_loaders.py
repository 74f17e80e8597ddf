"""Every loader gives the documented arrays, from a file or from OpenML, or says what is missing."""

from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from preimage import datasets
from preimage.datasets import _files

# loader, file, and the shape and type of each of its arrays
DOCUMENTED = {
    "usps": (
        datasets.load_usps,
        "usps",
        {
            "X_train": ((7291, 256), np.float32),
            "y_train": ((7291,), np.uint8),
            "X_test": ((2007, 256), np.float32),
            "y_test": ((2007,), np.uint8),
        },
    ),
    "mnist": (
        datasets.load_mnist,
        "mnist",
        {
            "X_train": ((60000, 784), np.uint8),
            "y_train": ((60000,), np.uint8),
            "X_test": ((10000, 784), np.uint8),
            "y_test": ((10000,), np.uint8),
        },
    ),
    "coil20": (datasets.load_coil20, "coil20", {"X": ((1440, 1024), np.uint8), "y": ((1440,), np.uint8)}),
    "abalone": (
        datasets.load_abalone,
        "abalone",
        {"X": ((4177, 10), np.float32), "y": ((4177,), np.uint8), "feature_names": ((10,), np.str_)},
    ),
    "boston": (
        datasets.load_boston,
        "boston_housing",
        {"X": ((506, 13), np.float64), "y": ((506,), np.float64), "feature_names": ((13,), np.str_)},
    ),
    "colon_tumor": (
        lambda: datasets.load_gene_expression("colon_tumor"),
        "colon_tumor",
        {"X": ((62, 2000), np.float32), "y": ((62,), np.int8)},
    ),
    "leukemia_allaml": (
        lambda: datasets.load_gene_expression("leukemia_allaml"),
        "leukemia_allaml",
        {"X": ((72, 7129), np.int32), "y": ((72,), np.int8), "is_train": ((72,), np.bool_)},
    ),
    "lung_cancer": (
        lambda: datasets.load_gene_expression("lung_cancer"),
        "lung_cancer",
        {"X": ((181, 12533), np.float32), "y": ((181,), np.int8), "is_train": ((181,), np.bool_)},
    ),
    "ionosphere": (datasets.load_ionosphere, "ionosphere", {"X": ((351, 34), np.float32), "y": ((351,), np.int8)}),
    "haxby": (
        datasets.load_haxby,
        "haxby_vt",
        {
            "X": ((864, 577), np.int16),
            "y": ((864,), np.uint8),
            "run": ((864,), np.uint8),
            "block": ((864,), np.uint8),
            "voxel_ijk": ((577, 3), np.uint8),
            "label_names": ((8,), np.str_),
        },
    ),
}

NOT_ON_OPENML = ["coil20", "colon_tumor", "leukemia_allaml", "lung_cancer", "haxby"]


def require_file(name):
    directory = datasets.data_directory()
    if directory is None or not (directory / f"{name}.npz").is_file():
        pytest.skip(f"needs {name}.npz in the directory that PREIMAGE_DATA names")


@pytest.fixture
def no_files(monkeypatch, tmp_path):
    """A computer without data files."""
    monkeypatch.delenv("PREIMAGE_DATA", raising=False)
    monkeypatch.setattr(_files, "BESIDE_CHECKOUT", tmp_path / "nowhere")


@pytest.fixture
def openml(no_files, monkeypatch):
    """OpenML, holding what the test puts in by number."""
    shelf = {}

    def fetch_openml(*, data_id, as_frame, parser):
        assert (as_frame, parser) == (False, "liac-arff")
        return shelf[data_id]

    monkeypatch.setattr(_files, "fetch_openml", fetch_openml)
    return shelf


@pytest.mark.parametrize("name", DOCUMENTED)
def test_files_hold_the_documented_arrays(name):
    loader, file, documented = DOCUMENTED[name]
    require_file(file)
    assert_documented(loader(), documented)


@pytest.mark.parametrize("name", datasets.IDA_NAMES)
def test_ida_splits_have_one_size_and_signs_for_labels(name):
    require_file(f"ida_{name}")
    ida = datasets.load_ida(name)
    n_splits = 20 if name in ("image", "splice") else 100
    assert ida.is_train.shape == (n_splits, len(ida.X)) and ida.is_train.dtype == np.bool_
    assert ida.realisation.shape == (n_splits,)
    assert len(set(ida.is_train.sum(axis=1))) == 1
    assert set(ida.y) == {-1, 1}


def test_usps_files_hold_the_official_split():
    require_file("usps")
    usps = datasets.load_usps()
    assert np.bincount(usps.y_train).tolist() == [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    assert np.abs(usps.X_train).max() == 1


def test_the_variable_names_the_directory(no_files, monkeypatch, tmp_path):
    assert datasets.data_directory() is None
    np.savez(tmp_path / "coil20.npz", X=np.eye(3), y=np.arange(3))
    monkeypatch.setenv("PREIMAGE_DATA", str(tmp_path))
    assert datasets.data_directory() == tmp_path
    loaded = datasets.load_coil20()
    assert isinstance(loaded, Bunch) and sorted(loaded) == ["X", "y"]
    np.testing.assert_array_equal(loaded.X, np.eye(3))


def test_a_checkout_supplies_what_the_directory_of_the_variable_lacks(monkeypatch, tmp_path):
    chosen, beside = tmp_path / "chosen", tmp_path / "beside"
    for directory, value in ((chosen, 1), (beside, 2)):
        directory.mkdir()
        np.savez(directory / "usps.npz", X_train=value)
    np.savez(beside / "coil20.npz", X=2)
    monkeypatch.setenv("PREIMAGE_DATA", str(chosen))
    monkeypatch.setattr(_files, "BESIDE_CHECKOUT", beside)
    assert datasets.load_usps().X_train == 1
    assert datasets.load_coil20().X == 2


def test_a_wrong_directory_is_an_error(no_files, monkeypatch, tmp_path):
    monkeypatch.setenv("PREIMAGE_DATA", str(tmp_path / "typo"))
    with pytest.raises(NotADirectoryError, match=r"PREIMAGE_DATA is .*typo"):
        datasets.load_usps()


@pytest.mark.parametrize("name", NOT_ON_OPENML)
def test_sets_without_a_source_say_where_to_put_the_file(name, no_files):
    loader, file, _ = DOCUMENTED[name]
    with pytest.raises(FileNotFoundError, match=rf"{file}\.npz was not found.*PREIMAGE_DATA"):
        loader()


def test_a_failed_download_says_where_to_put_the_file(no_files, monkeypatch):
    def unreachable(**_):
        raise URLError("no route to host")

    monkeypatch.setattr(_files, "fetch_openml", unreachable)
    with pytest.raises(FileNotFoundError, match=r"no route to host.*usps\.npz in a directory.*PREIMAGE_DATA"):
        datasets.load_usps()


@pytest.mark.parametrize("loader", [datasets.load_ida, datasets.load_gene_expression])
def test_unknown_names_are_answered_with_the_known_ones(loader):
    with pytest.raises(ValueError, match=r"Unknown .*'bananas'; known: "):
        loader("bananas")


def test_usps_of_openml_is_split_and_its_labels_become_digits(openml):
    digits = np.arange(9298) % 10
    images = np.repeat(digits[:, None] / 4.5 - 1, 256, axis=1)
    openml[41082] = Bunch(data=images, target=np.asarray([str(digit + 1) for digit in digits], dtype=object))
    usps = datasets.load_usps()
    assert_documented(usps, DOCUMENTED["usps"][2])
    np.testing.assert_array_equal(np.r_[usps.y_train, usps.y_test], digits)
    np.testing.assert_allclose(usps.X_test[:, 7], usps.y_test / 4.5 - 1, atol=1e-6)


def test_mnist_of_openml_is_split(openml):
    digits = np.arange(70_000) % 10
    images = np.broadcast_to(25.0 * digits[:, None], (70_000, 784))
    openml[554] = Bunch(data=images, target=digits.astype(str).astype(object))
    mnist = datasets.load_mnist()
    assert_documented(mnist, DOCUMENTED["mnist"][2])
    np.testing.assert_array_equal(np.r_[mnist.y_train, mnist.y_test], digits)
    np.testing.assert_array_equal(mnist.X_test[:, 3], 25 * mnist.y_test)


def test_abalone_of_openml_gets_one_indicator_for_each_sex(openml):
    measurements = ["Length", "Diameter", "Height", "Whole_weight", "Shucked_weight", "Viscera_weight", "Shell_weight"]
    openml[183] = Bunch(
        data=np.column_stack([[1.0, 0.0, 2.0], np.arange(21.0).reshape(3, 7)]),
        feature_names=["Sex", *measurements],
        categories={"Sex": ["F", "I", "M"]},
        target=np.asarray(["15", "7", "29"], dtype=object),
    )
    abalone = datasets.load_abalone()
    # Codes 1, 0, 2 mean infant, female, male; the columns are male, female, infant.
    np.testing.assert_array_equal(abalone.X[:, :3], [[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(abalone.X[:, 3:], np.arange(21).reshape(3, 7))
    np.testing.assert_array_equal(abalone.y, [15, 7, 29])
    assert abalone.feature_names.tolist()[:4] == ["sex_M", "sex_F", "sex_I", "length"]
    assert (abalone.X.dtype, abalone.y.dtype) == (np.float32, np.uint8)


def test_boston_of_openml_has_values_and_not_codes(openml):
    openml[531] = Bunch(
        data=np.asarray([[0.1, 0.0, 2.0], [0.2, 1.0, 0.0]]),
        feature_names=["CRIM", "CHAS", "RAD"],
        categories={"CHAS": ["0", "1"], "RAD": ["1", "2", "24"]},
        target=np.asarray([24.0, 21.6]),
    )
    boston = datasets.load_boston()
    np.testing.assert_array_equal(boston.X, [[0.1, 0, 24], [0.2, 1, 1]])
    np.testing.assert_array_equal(boston.y, [24.0, 21.6])
    assert boston.feature_names.tolist() == ["CRIM", "CHAS", "RAD"]


def test_ionosphere_of_openml_has_signs_for_labels(openml):
    openml[59] = Bunch(
        data=np.arange(102.0).reshape(3, 34),
        feature_names=[f"a{column:02d}" for column in range(1, 35)],
        categories={},
        target=np.asarray(["g", "b", "g"], dtype=object),
    )
    ionosphere = datasets.load_ionosphere()
    np.testing.assert_array_equal(ionosphere.X, np.arange(102).reshape(3, 34))
    np.testing.assert_array_equal(ionosphere.y, [1, -1, 1])
    assert (ionosphere.X.dtype, ionosphere.y.dtype) == (np.float32, np.int8)


def assert_documented(loaded, documented):
    assert isinstance(loaded, Bunch)
    assert loaded.keys() == documented.keys()
    for name, (shape, dtype) in documented.items():
        assert loaded[name].shape == shape and np.issubdtype(loaded[name].dtype, dtype), name
