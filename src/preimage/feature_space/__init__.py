"""Objects of feature space: vectors, subspaces, moments of coordinates, Gram matrices."""

from preimage.feature_space._empirical_map import empirical_map
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import CenteredGram, Gram, require_finite
from preimage.feature_space._moments import Moments
from preimage.feature_space._subspace import Subspace
from preimage.feature_space._union import distinct_rows, join

__all__ = [
    "CenteredGram",
    "Expansion",
    "Gram",
    "Moments",
    "Subspace",
    "distinct_rows",
    "empirical_map",
    "join",
    "require_finite",
]
