"""Discriminants in feature space: Fisher's criterion, sparse solutions, thresholds, and decisions."""

from preimage._models.discriminants._fit import FisherOptions, FittedDiscriminants, fit_discriminants
from preimage._models.discriminants._gram_fisher import GramFisher
from preimage._models.discriminants._kernel_values import LabelledData
from preimage._models.discriminants._penalized import PenalizedFisher
from preimage._models.discriminants._problem import KernelTable, fisher_problem, select_points
from preimage._models.discriminants._rule import LinearRule
from preimage._models.discriminants._scatter_fisher import ScatterFisher
from preimage._models.discriminants._sparse_fisher import SparseFisherPath
