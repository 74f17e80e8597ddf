"""Images: handwritten digits with their official split, objects on a turntable."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from preimage._typing import Array
from preimage.datasets._files import fetch_images, load


def load_usps() -> Bunch:
    """USPS zip-code digits: 7,291 for training, 2,007 for testing, 16 × 16 pixels in [−1, 1].

    Returns
    -------
    Bunch
        `X_train` (7291, 256) and `X_test` (2007, 256) of float32, images row by row; `y_train` and `y_test`, the
        digits.

    References
    ----------
    Y. LeCun et al., "Backpropagation applied to handwritten zip code recognition", Neural Computation 1, 1989.

    Examples
    --------
    >>> from preimage.datasets import load_usps
    >>> load_usps().X_train.shape  # doctest: +SKIP
    (7291, 256)
    """
    return load("usps", _download_usps)


def load_mnist() -> Bunch:
    """MNIST digits: 60,000 for training, 10,000 for testing, 28 × 28 pixels in 0 … 255.

    Returns
    -------
    Bunch
        `X_train` (60000, 784) and `X_test` (10000, 784) of uint8, images row by row; `y_train` and `y_test`, the
        digits. In the training images of the data file pixels of value 1 read 0; those of OpenML are exact.

    References
    ----------
    Y. LeCun et al., "Gradient-based learning applied to document recognition", Proceedings of the IEEE 86, 1998.
    """
    return load("mnist", _download_mnist)


def _download_usps() -> dict[str, Any]:
    X, y = fetch_images(41082)
    return _split(X.astype(np.float32), y - 1, n_train=7291)  # OpenML's labels are the digits plus one


def _download_mnist() -> dict[str, Any]:
    X, y = fetch_images(554)
    return _split(X.astype(np.uint8), y, n_train=60_000)


def _split(X: Array, y: Array, n_train: int) -> dict[str, Any]:
    y = y.astype(np.uint8)
    return Bunch(X_train=X[:n_train], y_train=y[:n_train], X_test=X[n_train:], y_test=y[n_train:])


def load_coil20() -> Bunch:
    """COIL-20: 20 objects, 72 views of each in steps of five degrees, 32 × 32 grey pixels.

    Returns
    -------
    Bunch
        `X` (1440, 1024) of uint8, images row by row, consecutive rows being consecutive views; `y`, the object, 1 … 20.

    References
    ----------
    S. Nene, S. Nayar, H. Murase, "Columbia Object Image Library (COIL-20)", report CUCS-005-96, 1996.
    """
    return load("coil20")
