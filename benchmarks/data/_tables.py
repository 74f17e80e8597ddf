"""Tables: radar returns, and the regression problems of abalone shells and of homes."""

import numpy as np
from sklearn.utils import Bunch

from data._files import Arrays, DataSet, Source, load
from data._sources import github, openml_table, text_columns, wheel_member
from preimage._engine.typing import Array


def load_ionosphere(*, download_if_missing: bool = True) -> Bunch:
    """Ionosphere: 351 radar returns of 34 values, good (+1) or bad (−1). The second column is constant.

    They come from OpenML (set 59) or from a copy of the UCI repository's file, and are kept for the next time.

    Parameters
    ----------
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the returns are not on this computer.

    Returns
    -------
    Bunch
        `X` (351, 34) of float32; `y` (351,), −1 or +1.

    See Also
    --------
    load_ida : Thirteen more sets of two classes, with splits.
    preimage.KernelFisherDiscriminant : A classifier for such data.

    References
    ----------
    V. Sigillito et al., "Classification of radar returns from the ionosphere using neural networks", Johns Hopkins APL
    Technical Digest 10, 1989.

    Examples
    --------
    >>> from data import load_ionosphere
    >>> radar = load_ionosphere()  # doctest: +SKIP
    >>> radar.X.shape, int((radar.y == 1).sum())  # doctest: +SKIP
    ((351, 34), 225)
    """
    return load(IONOSPHERE, download_if_missing)


def load_abalone(*, download_if_missing: bool = True) -> Bunch:
    """Abalone: the number of rings of 4,177 shells from sex and seven measurements.

    They come from OpenML (set 183) or from a copy of the UCI repository's file, and are kept for the next time.

    Parameters
    ----------
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the shells are not on this computer.

    Returns
    -------
    Bunch
        `X` (4177, 10) of float32, the sex as three indicators (male, female, infant) and the measurements, not scaled;
        `y` (4177,), the rings; `feature_names` (10,).

    See Also
    --------
    load_boston : A smaller regression problem.
    preimage.SparseGreedyRegressor : Regression on few of the rows, whose paper uses this set.

    References
    ----------
    W. Nash et al., "The population biology of abalone in Tasmania", report 48, Sea Fisheries Division, 1994.

    Examples
    --------
    >>> from data import load_abalone
    >>> shells = load_abalone()  # doctest: +SKIP
    >>> shells.X.shape, int(shells.y.min()), int(shells.y.max())  # doctest: +SKIP
    ((4177, 10), 1, 29)
    """
    return load(ABALONE, download_if_missing)


def load_boston(*, download_if_missing: bool = True) -> Bunch:
    """Boston housing: the median value of homes in 506 districts from 13 numbers.

    One of the numbers, B, comes from the fraction of Black inhabitants on an assumption that deserves no trust. The set
    is here to compare with published results; do not draw conclusions about housing from it. It comes from the Python
    package mlxtend or from OpenML (set 531), and is kept for the next time.

    Parameters
    ----------
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the set is not on this computer.

    Returns
    -------
    Bunch
        `X` (506, 13) of float64, not scaled; `y` (506,), the value in thousands of dollars; `feature_names` (13,).

    See Also
    --------
    load_abalone : A larger regression problem.
    sklearn.datasets.fetch_california_housing : Prices of houses, without this set's faults.

    References
    ----------
    D. Harrison, D. Rubinfeld, "Hedonic prices and the demand for clean air", Journal of Environmental Economics and
    Management 5, 1978.

    Examples
    --------
    >>> from data import load_boston
    >>> homes = load_boston()  # doctest: +SKIP
    >>> homes.X.shape, round(float(homes.y.mean()), 1)  # doctest: +SKIP
    ((506, 13), 22.5)
    """
    return load(BOSTON, download_if_missing)


UCI_COPY, UCI_COPY_COMMIT = "jbrownlee/Datasets", "d20fcb6402ae34e653d4513b00f39257bb37ed7f"
FROM_COPY = f"https://github.com/{UCI_COPY}"


def _ionosphere_of_openml() -> Arrays:
    columns, label = openml_table(59)
    return _ionosphere(list(columns.values()), label)


def _ionosphere_of_copy() -> Arrays:
    *columns, label = text_columns(github(UCI_COPY, UCI_COPY_COMMIT, "ionosphere.csv"))
    return _ionosphere([np.asarray(column) for column in columns], np.asarray(label))


def _ionosphere(columns: list[Array], label: Array) -> dict[str, Array]:
    X = np.column_stack([column.astype(np.float64) for column in columns])
    return {"X": X.astype(np.float32), "y": np.where(label == "g", 1, -1).astype(np.int8)}


MEASUREMENTS = ["length", "diameter", "height", "whole_weight", "shucked_weight", "viscera_weight", "shell_weight"]


def _abalone_of_openml() -> Arrays:
    columns, rings = openml_table(183)
    sex = columns.pop("Sex")
    return _abalone(sex, list(columns.values()), rings)


def _abalone_of_copy() -> Arrays:
    sex, *columns, rings = map(np.asarray, text_columns(github(UCI_COPY, UCI_COPY_COMMIT, "abalone.csv")))
    return _abalone(sex, columns, rings)


def _abalone(sex: Array, columns: list[Array], rings: Array) -> dict[str, Array]:
    indicators = [(sex == each).astype(np.float64) for each in "MFI"]
    X = np.column_stack([*indicators, *(column.astype(np.float64) for column in columns)])
    names = [*(f"sex_{each}" for each in "MFI"), *MEASUREMENTS]
    return {"X": X.astype(np.float32), "y": rings.astype(np.uint8), "feature_names": np.asarray(names)}


MLXTEND = "mlxtend==0.23.4"
MLXTEND_SHA256 = "8675456e2b71841116e5317f6d7aa568848ea2546865eb5eca7192e9b7f395f4"
BOSTON_COLUMNS = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"]


def _boston_of_mlxtend() -> Arrays:
    file = wheel_member(MLXTEND, MLXTEND_SHA256, "mlxtend/data/data/boston_housing.csv")
    table = np.loadtxt(file, delimiter=",")
    return _boston(table[:, :-1], table[:, -1])


def _boston_of_openml() -> Arrays:
    columns, value = openml_table(531)
    return _boston(np.column_stack([columns[name].astype(np.float64) for name in BOSTON_COLUMNS]), value)


def _boston(X: Array, y: Array) -> dict[str, Array]:
    return {"X": X, "y": y.astype(np.float64), "feature_names": np.asarray(BOSTON_COLUMNS)}


IONOSPHERE = DataSet(
    name="ionosphere",
    page="https://archive.ics.uci.edu/dataset/52/ionosphere",
    arrays={"X": ((351, 34), "float32"), "y": ((351,), "int8")},
    sources=(Source("OpenML, set 59", _ionosphere_of_openml), Source(FROM_COPY, _ionosphere_of_copy)),
    sha256="d77d66bb0812f15ac3da7679736a2f2c432d2080ad4afae3efdaa8a0cc144c88",
)
ABALONE = DataSet(
    name="abalone",
    page="https://archive.ics.uci.edu/dataset/1/abalone",
    arrays={"X": ((4177, 10), "float32"), "y": ((4177,), "uint8"), "feature_names": ((10,), "str")},
    sources=(Source("OpenML, set 183", _abalone_of_openml), Source(FROM_COPY, _abalone_of_copy)),
    sha256="8c9af89a476d2bb9238565a6bfb3ba1b4985decd1ea1c2b655ec485494946f61",
)
BOSTON = DataSet(
    name="boston_housing",
    page="http://lib.stat.cmu.edu/datasets/boston",
    arrays={"X": ((506, 13), "float64"), "y": ((506,), "float64"), "feature_names": ((13,), "str")},
    sources=(Source("mlxtend, a package of PyPI", _boston_of_mlxtend), Source("OpenML, set 531", _boston_of_openml)),
    sha256="3b9d742117255c75a9f7f42dc7feff725fd4d95f4e6c5b32691c9c81fd21734f",
)
