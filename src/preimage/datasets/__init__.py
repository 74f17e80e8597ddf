"""The data sets of the papers, from local files or from OpenML, and synthetic scans."""

from preimage.datasets._files import data_directory
from preimage.datasets._images import load_coil20, load_mnist, load_usps
from preimage.datasets._scans import load_haxby, make_scans
from preimage.datasets._tables import (
    GENE_EXPRESSION_NAMES,
    IDA_NAMES,
    load_abalone,
    load_boston,
    load_gene_expression,
    load_ida,
    load_ionosphere,
)

__all__ = [
    "GENE_EXPRESSION_NAMES",
    "IDA_NAMES",
    "load_abalone",
    "load_boston",
    "load_coil20",
    "load_gene_expression",
    "load_haxby",
    "load_ida",
    "load_ionosphere",
    "load_mnist",
    "load_usps",
    "make_scans",
]
