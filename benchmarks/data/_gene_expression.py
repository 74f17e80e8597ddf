"""Gene expression: few patients, thousands of genes."""

import numpy as np
from sklearn.utils import Bunch

from data._files import Arrays, DataSet, Source, load
from data._r_files import read_r_file
from data._sources import github, text_columns

GENE_EXPRESSION_NAMES = ("colon_tumor", "leukemia_allaml", "lung_cancer")


def load_gene_expression(name: str, *, download_if_missing: bool = True) -> Bunch:
    """A two-class microarray set.

    It comes from a public repository (that of the R package datamicroarray for the last two), and is kept for the next
    time.

    Parameters
    ----------
    name : {"colon_tumor", "leukemia_allaml", "lung_cancer"}
        62 × 2,000, tumour (+1) or normal; 72 × 7,129, ALL (+1) or AML; 181 × 12,533, mesothelioma (+1) or
        adenocarcinoma.
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the set is not on this computer.

    Returns
    -------
    Bunch
        `X` (n, d), raw intensities; `y` (n,), −1 or +1; and `is_train` (n,), the original split, for the last two.

    See Also
    --------
    GENE_EXPRESSION_NAMES : The names.
    preimage.Renormalized : Corrects models of few rows and many variables.
    preimage.inflation_report : Whether correction helps.

    References
    ----------
    U. Alon et al., PNAS 96, 1999; T. Golub et al., Science 286, 1999; G. Gordon et al., Cancer Research 62, 2002.

    Examples
    --------
    >>> from data import load_gene_expression
    >>> colon = load_gene_expression("colon_tumor")  # doctest: +SKIP
    >>> colon.X.shape, int((colon.y == 1).sum())  # doctest: +SKIP
    ((62, 2000), 40)
    """
    if name not in GENE_EXPRESSION_NAMES:
        raise ValueError(f"Unknown gene expression set {name!r}; known: {', '.join(GENE_EXPRESSION_NAMES)}.")
    return load(GENE_EXPRESSION[name], download_if_missing)


COLON_REPOSITORY = "isa96/microarray-classification"
R_REPOSITORY, R_COMMIT = "ramhiser/datamicroarray", "a95f6f68ed3debf48ee54f198435fa12aa655b16"
# Rows of the 32 patients of the original training set; the R package has patients in another order.
LUNG_TRAINING_ROWS = [0, 1, 2, 4, 5, *range(12, 23), 44, 52, 64, 71, 86, 100, 115, 128, 133, 151, 161, 164, 171]
LUNG_TRAINING_ROWS += [174, 177, 179]


def _colon() -> Arrays:
    commit = "782bb57cee48198a6187f621be5dd349acd4d23c"
    *genes, label = text_columns(github(COLON_REPOSITORY, commit, "data/colonTumor.data"))
    # The file calls the 40 tumours negative and the 22 normal tissues positive.
    return {
        "X": np.asarray(genes, dtype=np.float64).T.astype(np.float32),
        "y": np.where(np.asarray(label) == "negative", 1, -1).astype(np.int8),
    }


def _leukemia() -> Arrays:
    objects = read_r_file(github(R_REPOSITORY, R_COMMIT, "data/golub.RData"))
    parts = objects["golub_train"], objects["golub_test"]
    label = np.concatenate([part["y"] for part in parts])
    return {
        "X": np.vstack([part["x"] for part in parts]).astype(np.int32),
        "y": np.where(label == "ALL", 1, -1).astype(np.int8),
        "is_train": np.arange(len(label)) < len(parts[0]["y"]),
    }


def _lung() -> Arrays:
    gordon = read_r_file(github(R_REPOSITORY, R_COMMIT, "data/gordon.RData"))["gordon"]
    is_train = np.zeros(len(gordon["y"]), dtype=bool)
    is_train[LUNG_TRAINING_ROWS] = True
    return {
        "X": gordon["x"].astype(np.float32),
        "y": np.where(gordon["y"] == "mesothelioma", 1, -1).astype(np.int8),
        "is_train": is_train,
    }


def _described(n: int, d: int, dtype: str, split: bool) -> dict[str, tuple[tuple[int, ...], str]]:
    arrays: dict[str, tuple[tuple[int, ...], str]] = {"X": ((n, d), dtype), "y": ((n,), "int8")}
    return arrays | {"is_train": ((n,), "bool")} if split else arrays


GENE_EXPRESSION = {
    "colon_tumor": DataSet(
        name="colon_tumor",
        page="http://genomics-pubs.princeton.edu/oncology/affydata",
        arrays=_described(62, 2000, "float32", split=False),
        sources=(Source(f"https://github.com/{COLON_REPOSITORY}", _colon),),
        sha256="f05fc05399d195ac36a2ad2be4725496fcebf0b89028152d48704c92e90d63a1",
    ),
    "leukemia_allaml": DataSet(
        name="leukemia_allaml",
        page="https://bioconductor.org/packages/golubEsets",
        arrays=_described(72, 7129, "int32", split=True),
        sources=(Source(f"https://github.com/{R_REPOSITORY}", _leukemia),),
        sha256="0972883eb7782176a04d06b6db5b01303b53c57e94f5f03433ec9cc76dbda2ce",
    ),
    "lung_cancer": DataSet(
        name="lung_cancer",
        page=f"https://github.com/{R_REPOSITORY}",
        arrays=_described(181, 12533, "float32", split=True),
        sources=(Source(f"https://github.com/{R_REPOSITORY}", _lung),),
        sha256="d01d196989decad83d944ad8e461e9f4f889cd7b56f0994856930c535f4c0897",
    ),
}
