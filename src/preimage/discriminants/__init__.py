"""Discriminants in feature space: Fisher's criterion, sparse solutions, thresholds, and decisions."""

from preimage.discriminants._fit import FisherOptions, FittedDiscriminants, fit_discriminants
from preimage.discriminants._gram_fisher import GramFisher
from preimage.discriminants._kernel_values import LabelledData
from preimage.discriminants._penalized import PenalizedFisher
from preimage.discriminants._problem import KernelTable, fisher_problem, select_points
from preimage.discriminants._rule import LinearRule
from preimage.discriminants._scatter_fisher import ScatterFisher
from preimage.discriminants._sparse_fisher import SparseFisherPath
