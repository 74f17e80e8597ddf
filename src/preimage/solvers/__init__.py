"""Pre-images: from feature space back to input space."""

from preimage.solvers._auto import Auto, FittedAuto
from preimage.solvers._basis import values_at_basis
from preimage.solvers._conformal import ConformalMap
from preimage.solvers._descent import Box, SameFunction, minimize_rows
from preimage.solvers._distance_constraint import DistanceConstraint
from preimage.solvers._exact import ExactInverse
from preimage.solvers._fixed_point import FixedPoint
from preimage.solvers._free_length import free_length_preimages
from preimage.solvers._gradient import Gradient
from preimage.solvers._learned import CoordinateMap, FittedMap, LearnedMap, training_sample
from preimage.solvers._multistart import MultiStart
from preimage.solvers._names import SOLVER_NAMES, as_preimage
from preimage.solvers._navigation import navigate
from preimage.solvers._preimage import Preimage, PreimageResult, Reason, TargetSolver, objective_at
from preimage.solvers._quasi_newton import QuasiNewton, minimize_set
from preimage.solvers._shifted import as_linear_functions, terms_of
from preimage.solvers._sparse_path import SparsePath, SparsePathResult
from preimage.solvers._starts import spread
from preimage.solvers._weighted_mean import WeightedMean

__all__ = [
    "SOLVER_NAMES",
    "Auto",
    "Box",
    "ConformalMap",
    "CoordinateMap",
    "DistanceConstraint",
    "ExactInverse",
    "FittedAuto",
    "FittedMap",
    "FixedPoint",
    "Gradient",
    "LearnedMap",
    "MultiStart",
    "Preimage",
    "PreimageResult",
    "QuasiNewton",
    "Reason",
    "SameFunction",
    "SparsePath",
    "SparsePathResult",
    "TargetSolver",
    "WeightedMean",
    "as_linear_functions",
    "as_preimage",
    "free_length_preimages",
    "minimize_rows",
    "minimize_set",
    "navigate",
    "objective_at",
    "spread",
    "terms_of",
    "training_sample",
    "values_at_basis",
]
