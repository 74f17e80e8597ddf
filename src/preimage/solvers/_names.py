"""From names to solvers."""

from preimage.solvers._auto import Auto
from preimage.solvers._closed_form import ConformalMap, DistanceConstraint, WeightedMean
from preimage.solvers._exact import ExactInverse
from preimage.solvers._fixed_point import FixedPoint
from preimage.solvers._gradient import Gradient
from preimage.solvers._learned import LearnedMap
from preimage.solvers._preimage import Preimage
from preimage.solvers._sparse_path import SparsePath

_NAMED: dict[str, type[Preimage]] = {
    "auto": Auto,
    "fixed_point": FixedPoint,
    "gradient": Gradient,
    "exact": ExactInverse,
    "distance_constraint": DistanceConstraint,
    "weighted_mean": WeightedMean,
    "conformal": ConformalMap,
    "learned": LearnedMap,
    "sparse": SparsePath,
}

SOLVER_NAMES = tuple(_NAMED)


def as_preimage(preimage: str | Preimage, auto: Preimage | None = None) -> Preimage:
    """The solver that a name means, with its default parameters; a solver is returned as it is.

    `auto` is what "auto" means for a model that knows better than `Auto()`.
    """
    if auto is not None and isinstance(preimage, str) and preimage == "auto":
        return auto
    if isinstance(preimage, Preimage):
        return preimage
    if isinstance(preimage, str) and preimage in _NAMED:
        return _NAMED[preimage]()
    raise ValueError(f"Unknown pre-image solver {preimage!r}; known names: {', '.join(_NAMED)}, or a solver object.")
