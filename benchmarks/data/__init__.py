"""The data sets of the papers, which are downloaded when they are first needed."""

from data._files import data_directory
from data._gene_expression import GENE_EXPRESSION_NAMES, load_gene_expression
from data._haxby import load_haxby
from data._ida import IDA_NAMES, load_ida
from data._images import load_coil20, load_mnist, load_usps
from data._tables import load_abalone, load_boston, load_ionosphere

__all__ = [
    "GENE_EXPRESSION_NAMES",
    "IDA_NAMES",
    "data_directory",
    "load_abalone",
    "load_boston",
    "load_coil20",
    "load_gene_expression",
    "load_haxby",
    "load_ida",
    "load_ionosphere",
    "load_mnist",
    "load_usps",
]
