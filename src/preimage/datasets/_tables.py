"""Tables: the two-class benchmark sets, radar returns, gene expression, and regression problems."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from preimage.datasets._files import fetch_table, load

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


def load_ida(name: str) -> Bunch:
    """One of the IDA benchmark sets, with its splits in training and test part.

    Parameters
    ----------
    name : str
        One of `IDA_NAMES`.

    Returns
    -------
    Bunch
        `X` (n, d); `y` (n,), −1 or +1; `is_train` (r, n), each row a split: 100 of them, 20 for image and splice;
        `realisation` (r,), the number of the split in the original benchmark, 0 for one whose number is not known,
        −1 for a random split of the same sizes.

    References
    ----------
    G. Rätsch, T. Onoda, K.-R. Müller, "Soft margins for AdaBoost", Machine Learning 42, 2001.

    Examples
    --------
    >>> from preimage.datasets import load_ida
    >>> banana = load_ida("banana")  # doctest: +SKIP
    >>> X, y = banana.X[banana.is_train[0]], banana.y[banana.is_train[0]]  # doctest: +SKIP
    """
    if name not in IDA_NAMES:
        raise ValueError(f"Unknown IDA set {name!r}; known: {', '.join(IDA_NAMES)}.")
    return load(f"ida_{name}")


def load_ionosphere() -> Bunch:
    """Ionosphere: 351 radar returns of 34 values, good (+1) or bad (−1). The second column is constant.

    Returns
    -------
    Bunch
        `X` (351, 34) of float32; `y` (351,), −1 or +1.

    References
    ----------
    V. Sigillito et al., "Classification of radar returns from the ionosphere using neural networks", Johns Hopkins APL
    Technical Digest 10, 1989.
    """
    return load("ionosphere", _download)


def _download() -> dict[str, Any]:
    columns, label = fetch_table(59)
    X = np.column_stack(list(columns.values())).astype(np.float32)
    return Bunch(X=X, y=np.where(label == "g", 1, -1).astype(np.int8))


GENE_EXPRESSION_NAMES = ("colon_tumor", "leukemia_allaml", "lung_cancer")


def load_gene_expression(name: str) -> Bunch:
    """A two-class microarray set.

    Parameters
    ----------
    name : {"colon_tumor", "leukemia_allaml", "lung_cancer"}
        62 × 2,000, tumour (+1) or normal; 72 × 7,129, ALL (+1) or AML; 181 × 12,533, mesothelioma (+1) or
        adenocarcinoma.

    Returns
    -------
    Bunch
        `X` (n, d), raw intensities; `y` (n,), −1 or +1; and `is_train` (n,), the original split, for the last two.

    References
    ----------
    U. Alon et al., PNAS 96, 1999; T. Golub et al., Science 286, 1999; G. Gordon et al., Cancer Research 62, 2002.
    """
    if name not in GENE_EXPRESSION_NAMES:
        raise ValueError(f"Unknown gene expression set {name!r}; known: {', '.join(GENE_EXPRESSION_NAMES)}.")
    return load(name)


def load_abalone() -> Bunch:
    """Abalone: the number of rings of 4,177 shells from sex and seven measurements.

    Returns
    -------
    Bunch
        `X` (4177, 10) of float32, the sex as three indicators (male, female, infant) and the measurements, not scaled;
        `y` (4177,), the rings; `feature_names` (10,).

    References
    ----------
    W. Nash et al., "The population biology of abalone in Tasmania", report 48, Sea Fisheries Division, 1994.
    """
    return load("abalone", _download_abalone)


def load_boston() -> Bunch:
    """Boston housing: the median value of homes in 506 districts from 13 numbers.

    One of the numbers, B, comes from the fraction of Black inhabitants on an assumption that deserves no trust. The set
    is here to compare with published results; do not draw conclusions about housing from it.

    Returns
    -------
    Bunch
        `X` (506, 13) of float64, not scaled; `y` (506,), the value in thousands of dollars; `feature_names` (13,).

    References
    ----------
    D. Harrison, D. Rubinfeld, "Hedonic prices and the demand for clean air", Journal of Environmental Economics and
    Management 5, 1978.
    """
    return load("boston_housing", _download_boston)


def _download_abalone() -> dict[str, Any]:
    columns, rings = fetch_table(183)
    sex = columns.pop("Sex")
    X = np.column_stack([*(sex == each for each in "MFI"), *columns.values()])
    names = [*(f"sex_{each}" for each in "MFI"), *(name.lower() for name in columns)]
    return Bunch(X=X.astype(np.float32), y=rings.astype(np.uint8), feature_names=np.asarray(names))


def _download_boston() -> dict[str, Any]:
    columns, value = fetch_table(531)
    X = np.column_stack([column.astype(np.float64) for column in columns.values()])
    return Bunch(X=X, y=value.astype(np.float64), feature_names=np.asarray(list(columns)))
