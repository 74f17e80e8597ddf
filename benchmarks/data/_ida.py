"""The two-class benchmark sets with their splits in training and test part."""

import io
from functools import partial

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch

from data._files import Arrays, DataSet, Source, load
from data._sources import download
from preimage._engine.typing import Array

IDA_NAMES = (
    "banana",
    "breast_cancer",
    "diabetis",
    "flare_solar",
    "german",
    "heart",
    "image",
    "ringnorm",
    "splice",
    "thyroid",
    "titanic",
    "twonorm",
    "waveform",
)


def load_ida(name: str, *, download_if_missing: bool = True) -> Bunch:
    """One of the IDA benchmark sets, with its splits in training and test part.

    It comes from a repository that keeps all sets with their original splits, and is kept for the next time.

    Parameters
    ----------
    name : str
        One of `IDA_NAMES`.
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the set is not on this computer.

    Returns
    -------
    Bunch
        `X` (n, d); `y` (n,), −1 or +1; `is_train` (r, n), each row a split: 100 of them, 20 for image and splice;
        `realisation` (r,), the number of the split in the original benchmark, 0 for one whose number is not known,
        −1 for a random split of the same sizes.

    See Also
    --------
    IDA_NAMES : The names.
    load_ionosphere : Another set of two classes.
    preimage.KernelFisherDiscriminant : A classifier whose paper uses these sets.

    Notes
    -----
    What is downloaded has the original splits only. The results of this project were obtained with files that have
    the first ones of them, up to ten, and random splits of the same sizes for the rest; means over splits should agree
    within their standard errors.

    References
    ----------
    G. Rätsch, T. Onoda, K.-R. Müller, "Soft margins for AdaBoost", Machine Learning 42, 2001.

    Examples
    --------
    >>> from data import load_ida
    >>> banana = load_ida("banana")  # doctest: +SKIP
    >>> X, y = banana.X[banana.is_train[0]], banana.y[banana.is_train[0]]  # doctest: +SKIP
    >>> banana.X.shape, X.shape  # doctest: +SKIP
    ((5300, 2), (400, 2))
    """
    if name not in IDA_NAMES:
        raise ValueError(f"Unknown IDA set {name!r}; known: {', '.join(IDA_NAMES)}.")
    return load(IDA[name], download_if_missing)


REPOSITORY = "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets"
SHA256 = "47c19e4bc4716edc4077cfa5ea61edf4d02af4ec51a0ecfe035626ae8b561c75"

# Patterns, variables and splits of each set, and the type that holds its values exactly or to single precision.
SIZES = {
    "banana": (5300, 2, 100, "float32"),
    "breast_cancer": (277, 9, 100, "float32"),
    "diabetis": (768, 8, 100, "float32"),
    "flare_solar": (1066, 9, 100, "uint8"),
    "german": (1000, 20, 100, "float32"),
    "heart": (270, 13, 100, "float32"),
    "image": (2310, 18, 20, "float32"),
    "ringnorm": (7400, 20, 100, "float32"),
    "splice": (3175, 60, 20, "uint8"),
    "thyroid": (215, 5, 100, "float32"),
    "titanic": (2201, 3, 100, "float32"),
    "twonorm": (7400, 20, 100, "float32"),
    "waveform": (5000, 21, 100, "float32"),
}


def _of_repository(name: str) -> Arrays:
    file = io.BytesIO(download(f"{REPOSITORY}/raw/master/benchmarks.mat", SHA256))
    found = loadmat(file, variable_names=[name], squeeze_me=True, struct_as_record=False)[name]
    numbers, is_train = with_repeated_patterns(found.train.astype(np.intp) - 1, found.test.astype(np.intp) - 1)
    return {
        "X": found.x[numbers].astype(SIZES[name][3]),
        "y": found.t[numbers].astype(np.int8),
        "is_train": is_train,
        "realisation": np.arange(1, len(is_train) + 1, dtype=np.int16),
    }


def with_repeated_patterns(train: Array, test: Array) -> tuple[Array, Array]:
    """The number of the pattern in each row of the whole set, and which rows each split trains on.

    The archive has each pattern once, and a split has the number of one that occurs several times as often: Titanic's
    2,201 passengers are 24 patterns. Copies of a pattern are equal, so that it does not matter which of them are
    trained on.
    """
    n_patterns = 1 + max(train.max(), test.max())
    counts = np.bincount(np.r_[train[0], test[0]], minlength=n_patterns)
    numbers = np.repeat(np.arange(n_patterns), counts)
    copy = np.arange(numbers.size) - (np.cumsum(counts) - counts)[numbers]
    n_trained_on = np.stack([np.bincount(split, minlength=n_patterns) for split in train])
    is_train = copy < n_trained_on[:, numbers]
    if np.any(is_train.sum(axis=1) != train.shape[1]):
        raise ValueError("the splits are not of one set")
    return numbers, is_train


def _described(name: str) -> DataSet:
    n, d, n_splits, dtype = SIZES[name]
    return DataSet(
        name=f"ida_{name}",
        page=REPOSITORY,
        arrays={
            "X": ((n, d), dtype),
            "y": ((n,), "int8"),
            "is_train": ((n_splits, n), "bool"),
            "realisation": ((n_splits,), "int16"),
        },
        sources=(Source(REPOSITORY, partial(_of_repository, name)),),
    )


IDA = {name: _described(name) for name in IDA_NAMES}
