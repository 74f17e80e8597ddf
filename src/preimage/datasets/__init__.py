"""The data sets of the papers, which are downloaded when they are first needed, and synthetic scans."""

from preimage.datasets._files import data_directory
from preimage.datasets._gene_expression import GENE_EXPRESSION_NAMES, load_gene_expression
from preimage.datasets._haxby import load_haxby
from preimage.datasets._ida import IDA_NAMES, load_ida
from preimage.datasets._images import load_coil20, load_mnist, load_usps
from preimage.datasets._scans import make_scans
from preimage.datasets._tables import load_abalone, load_boston, load_ionosphere

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
