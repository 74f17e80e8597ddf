"""Images: handwritten digits with their official split, objects on a turntable."""

import bz2
import gzip
import io
from typing import Any

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from data._files import Arrays, DataSet, Source, load
from data._sources import download, github, openml_images
from preimage._engine.typing import Array


def load_usps(*, download_if_missing: bool = True) -> Bunch:
    """USPS zip-code digits: 7,291 for training, 2,007 for testing, 16 × 16 pixels in [−1, 1].

    They come from LIBSVM's collection of data sets, or from OpenML (set 41082), and are kept for the next time.

    Parameters
    ----------
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the digits are not on this computer.

    Returns
    -------
    Bunch
        `X_train` (7291, 256) and `X_test` (2007, 256) of float32, images row by row; `y_train` and `y_test`, the
        digits.

    See Also
    --------
    load_mnist : More and larger digits.
    preimage.KernelPCA.denoise : Removes noise from such digits.
    sklearn.datasets.load_digits : Smaller digits, which are part of scikit-learn.

    References
    ----------
    Y. LeCun et al., "Backpropagation applied to handwritten zip code recognition", Neural Computation 1, 1989.

    Examples
    --------
    >>> from data import load_usps
    >>> digits = load_usps()  # doctest: +SKIP
    >>> digits.X_train.shape, digits.X_test.shape  # doctest: +SKIP
    ((7291, 256), (2007, 256))
    """
    return load(USPS, download_if_missing)


def load_mnist(*, download_if_missing: bool = True) -> Bunch:
    """MNIST digits: 60,000 for training, 10,000 for testing, 28 × 28 pixels in 0 … 255.

    They come from a mirror of the original files, or from OpenML (set 554), and are kept for the next time.

    Parameters
    ----------
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the digits are not on this computer.

    Returns
    -------
    Bunch
        `X_train` (60000, 784) and `X_test` (10000, 784) of uint8, images row by row; `y_train` and `y_test`, the
        digits.

    See Also
    --------
    load_usps : Fewer and smaller digits.
    sklearn.datasets.load_digits : Still smaller ones, which are part of scikit-learn.

    References
    ----------
    Y. LeCun et al., "Gradient-based learning applied to document recognition", Proceedings of the IEEE 86, 1998.

    Examples
    --------
    >>> from data import load_mnist
    >>> digits = load_mnist()  # doctest: +SKIP
    >>> digits.X_train.shape, digits.X_test.shape  # doctest: +SKIP
    ((60000, 784), (10000, 784))
    """
    return load(MNIST, download_if_missing)


def load_coil20(*, download_if_missing: bool = True) -> Bunch:
    """COIL-20: 20 objects, 72 views of each in steps of five degrees, 32 × 32 grey pixels.

    They come from the repository of scikit-feature, which has them in this size, and are kept for the next time.

    Parameters
    ----------
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the views are not on this computer.

    Returns
    -------
    Bunch
        `X` (1440, 1024) of uint8, images row by row, consecutive rows being consecutive views; `y`, the object, 1 … 20.

    See Also
    --------
    load_usps : Pictures of digits.
    preimage.KernelPCA.navigate : Walks between two views of an object.

    References
    ----------
    S. Nene, S. Nayar, H. Murase, "Columbia Object Image Library (COIL-20)", report CUCS-005-96, 1996.

    Examples
    --------
    >>> from data import load_coil20
    >>> views = load_coil20()  # doctest: +SKIP
    >>> views.X.shape, int(views.y.max())  # doctest: +SKIP
    ((1440, 1024), 20)
    """
    return load(COIL20, download_if_missing)


LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"


def _usps_of_libsvm() -> Arrays:
    files = (io.BytesIO(bz2.decompress(download(f"{LIBSVM}/{file}"))) for file in ("usps.bz2", "usps.t.bz2"))
    parts = [load_svmlight_file(file, n_features=256) for file in files]
    return _usps(*((X.toarray(), y) for X, y in parts))


def _usps_of_openml() -> Arrays:
    X, y = openml_images(41082)
    return _usps((X[:7291], y[:7291]), (X[7291:], y[7291:]))


def _usps(train: tuple[Array, Array], test: tuple[Array, Array]) -> dict[str, Array]:
    # The original files have three decimals; copies have passed through other number formats. Labels are the digits
    # plus one.
    (X_train, y_train), (X_test, y_test) = train, test
    return {
        "X_train": np.round(X_train, 3).astype(np.float32),
        "y_train": (y_train - 1).astype(np.uint8),
        "X_test": np.round(X_test, 3).astype(np.float32),
        "y_test": (y_test - 1).astype(np.uint8),
    }


def _thousandths(arrays: Arrays) -> dict[str, Array]:
    """USPS in whole numbers, so that rounding does not matter."""
    return {
        name: np.rint(1000.0 * array).astype(np.int16) if name.startswith("X") else array
        for name, array in arrays.items()
    }


# Files, in the order images and labels of the training set and images and labels of the test set, and their checksums.
MNIST_FILES = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
MNIST_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"


def _mnist_of_mirror() -> Arrays:
    names = ("X_train", "y_train", "X_test", "y_test")
    files = [download(f"{MNIST_MIRROR}/{file}", sha256) for file, sha256 in MNIST_FILES.items()]
    arrays = {name: _bytes_after_header(gzip.decompress(file)) for name, file in zip(names, files)}
    return {name: array.reshape(-1, 784) if name.startswith("X") else array for name, array in arrays.items()}


def _bytes_after_header(contents: bytes) -> Array:
    # The fourth byte of the header is the number of dimensions; a length of four bytes for each of them follows.
    return np.frombuffer(contents, np.uint8, offset=4 + 4 * contents[3])


def _mnist_of_openml() -> Arrays:
    X, y = openml_images(554)
    X, y = X.astype(np.uint8), y.astype(np.uint8)
    return {"X_train": X[:60_000], "y_train": y[:60_000], "X_test": X[60_000:], "y_test": y[60_000:]}


def _without_ones(arrays: Arrays) -> dict[str, Any]:
    """MNIST with 0 in place of 1 in the training images: some copies differ in that."""
    X_train = arrays["X_train"]
    return dict(arrays) | {"X_train": np.where(X_train == 1, 0, X_train).astype(np.uint8)}


def _coil20_of_scikit_feature() -> Arrays:
    commit = "48cffad4e88ff4b9d2f1c7baffb314d1b3303792"
    views = loadmat(io.BytesIO(github("jundongl/scikit-feature", commit, "skfeature/data/COIL20.mat")))
    # Grey values in [0, 1], images column by column.
    images = np.rint(255 * np.asarray(views["X"], dtype=np.float64)).astype(np.uint8).reshape(-1, 32, 32)
    return {"X": images.transpose(0, 2, 1).reshape(-1, 1024), "y": views["Y"].ravel().astype(np.uint8)}


USPS = DataSet(
    name="usps",
    page="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html (usps, usps.t)",
    arrays={
        "X_train": ((7291, 256), "float32"),
        "y_train": ((7291,), "uint8"),
        "X_test": ((2007, 256), "float32"),
        "y_test": ((2007,), "uint8"),
    },
    sources=(Source("LIBSVM's data sets", _usps_of_libsvm), Source("OpenML, set 41082", _usps_of_openml)),
    sha256="ceb4010d78ff14beeeac38ea933b1d597fc58a67b62e93e237084b16b0381524",
    comparable=_thousandths,
)
MNIST = DataSet(
    name="mnist",
    page="https://www.openml.org/d/554",
    arrays={
        "X_train": ((60000, 784), "uint8"),
        "y_train": ((60000,), "uint8"),
        "X_test": ((10000, 784), "uint8"),
        "y_test": ((10000,), "uint8"),
    },
    sources=(Source(MNIST_MIRROR, _mnist_of_mirror), Source("OpenML, set 554", _mnist_of_openml)),
    sha256="229c460bd3852fde89e7f66b2f930cb18040e5aca0d477fadab23f0a9a46edde",
    comparable=_without_ones,
)
COIL20 = DataSet(
    name="coil20",
    page="https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php (reduced to 32 × 32 pixels)",
    arrays={"X": ((1440, 1024), "uint8"), "y": ((1440,), "uint8")},
    sources=(Source("https://github.com/jundongl/scikit-feature", _coil20_of_scikit_feature),),
    sha256="925430dabb747f40a15f877470cf0eb5a02433f80e18422f3aa3c637d35322a2",
)
