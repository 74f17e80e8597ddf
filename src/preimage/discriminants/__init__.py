"""Discriminants in feature space: Fisher's criterion, sparse solutions, thresholds, and decisions."""

from preimage.discriminants._cross_validation import (
    KernelTable,
    cross_validated_scores,
    sparsity_by_cross_validation,
)
from preimage.discriminants._fit import FittedDiscriminants, fit_discriminants, sparse_paths
from preimage.discriminants._gram_fisher import GramFisher, absolute_ridge
from preimage.discriminants._leave_one_out import LeastSquares, leave_one_out_values
from preimage.discriminants._penalized import PenalizedFisher
from preimage.discriminants._point_coordinates import PointCoordinates
from preimage.discriminants._rule import (
    NEED_VALUES,
    THRESHOLDS,
    LinearRule,
    many_class_rule,
    one_vs_rest_rule,
    two_class_rule,
)
from preimage.discriminants._scatter_fisher import ScatterFisher
from preimage.discriminants._sparse_fisher import SparseFisherPath, polished, sparse_fisher_path
from preimage.discriminants._thresholds import (
    empirical_threshold,
    gaussian_threshold,
    margin_threshold,
    midpoint_threshold,
)

__all__ = [
    "NEED_VALUES",
    "THRESHOLDS",
    "FittedDiscriminants",
    "GramFisher",
    "KernelTable",
    "LeastSquares",
    "LinearRule",
    "PenalizedFisher",
    "PointCoordinates",
    "ScatterFisher",
    "SparseFisherPath",
    "absolute_ridge",
    "cross_validated_scores",
    "empirical_threshold",
    "fit_discriminants",
    "gaussian_threshold",
    "leave_one_out_values",
    "many_class_rule",
    "margin_threshold",
    "midpoint_threshold",
    "one_vs_rest_rule",
    "polished",
    "sparse_fisher_path",
    "sparse_paths",
    "sparsity_by_cross_validation",
    "two_class_rule",
]
