"""Pre-images: from feature space back to input space."""

from preimage.descent import Box, Evaluation, Objective, PreimageResult, QuasiNewton, Reason, StepRule, minimize_rows
from preimage.solvers._auto import Auto, MultiStart
from preimage.solvers._closed_form import ConformalMap, DistanceConstraint, WeightedMean
from preimage.solvers._exact import ExactInverse
from preimage.solvers._families import Family, FunctionFamily, Mixtures, Transformed
from preimage.solvers._fixed_point import FixedPoint
from preimage.solvers._gradient import Gradient
from preimage.solvers._learned import LearnedMap
from preimage.solvers._names import SOLVERS, as_preimage
from preimage.solvers._nearest_row import NearestRow
from preimage.solvers._parametrized import Parametrized, ParametrizedResult
from preimage.solvers._preimage import Preimage, TargetSolver, objective_at
from preimage.solvers._sparse_path import SparsePath, SparsePathResult
from preimage.solvers._walks import free_length_preimages

__all__ = [
    "Auto",
    "ConformalMap",
    "DistanceConstraint",
    "Evaluation",
    "ExactInverse",
    "Family",
    "FixedPoint",
    "FunctionFamily",
    "Gradient",
    "LearnedMap",
    "Mixtures",
    "MultiStart",
    "NearestRow",
    "Objective",
    "Parametrized",
    "ParametrizedResult",
    "Preimage",
    "PreimageResult",
    "QuasiNewton",
    "Reason",
    "SparsePath",
    "TargetSolver",
    "Transformed",
    "WeightedMean",
    "minimize_rows",
    "objective_at",
]
