"""Tissue samples with thousands of gene expressions each: far more variables than samples."""

from sklearn.utils import Bunch

from preimage.datasets._files import load

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
