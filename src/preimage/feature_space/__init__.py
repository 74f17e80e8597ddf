"""Objects of feature space: vectors, subspaces, moments of coordinates, Gram matrices."""

from preimage.feature_space._empirical_map import empirical_map
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import CenteredGram, Gram, require_finite
from preimage.feature_space._moments import Moments
from preimage.feature_space._subspace import Subspace

__all__ = ["CenteredGram", "Expansion", "Gram", "Moments", "Subspace", "empirical_map", "require_finite"]
