"""Discriminants in feature space: Fisher's criterion, sparse solutions, thresholds, and decisions."""

from preimage._models.discriminants._class_scatters import ClassScatters, after_batch
from preimage._models.discriminants._gram_fisher import GramFisher
from preimage._models.discriminants._kernel_table import KernelTable, fisher_problem, select_points
from preimage._models.discriminants._penalized import PenalizedFisher
from preimage._models.discriminants._problem import FisherOptions, FittedDiscriminants, LabelledData, fit_discriminants
from preimage._models.discriminants._rule import LinearRule
from preimage._models.discriminants._scatter_fisher import ScatterFisher
from preimage._models.discriminants._sparse_fisher import SparseFisherPath
