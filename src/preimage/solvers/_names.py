"""Pre-image solvers by name."""

from preimage._engine.registry import Part, Registry
from preimage._engine.validation import own_parameters
from preimage.solvers._auto import Auto
from preimage.solvers._closed_form import ConformalMap, DistanceConstraint, WeightedMean
from preimage.solvers._exact import ExactInverse
from preimage.solvers._fixed_point import FixedPoint
from preimage.solvers._gradient import Gradient
from preimage.solvers._learned import LearnedMap
from preimage.solvers._nearest_row import NearestRow
from preimage.solvers._preimage import Preimage
from preimage.solvers._sparse_path import SparsePath

SOLVERS: Registry[Preimage] = Registry(
    "pre-image solver",
    Part("auto", Auto, "what suits the kernel and the question"),
    Part("fixed_point", FixedPoint, "the iteration of the papers, for radial and dot-product kernels"),
    Part("gradient", Gradient, "descent, for any kernel that has a gradient; bounds"),
    Part("exact", ExactInverse, "where an exact pre-image exists"),
    Part("distance_constraint", DistanceConstraint, "distances to the nearest training points"),
    Part("weighted_mean", WeightedMean, "one weighted mean of the training points"),
    Part("conformal", ConformalMap, "a linear map that preserves inner products"),
    Part("learned", LearnedMap, "a regression of inputs on coordinates"),
    Part("nearest", NearestRow, "the training row with the nearest image, also for objects"),
    Part("sparse", SparsePath, "few coordinates away from a background"),
    also="a solver of preimage.solvers",
)


def as_preimage(preimage: str | Preimage, auto: Preimage | None = None) -> Preimage:
    """The solver that a name means, with its default parameters; a solver with arrays of its own, if it has any.

    `auto` is what "auto" means for a model that knows better than `Auto()`.
    """
    if isinstance(preimage, Preimage):
        return own_parameters(preimage)
    made = SOLVERS.made(preimage)
    return auto if auto is not None and isinstance(made, Auto) else made
