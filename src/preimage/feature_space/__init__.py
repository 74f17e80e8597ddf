"""Objects of feature space: vectors, subspaces, moments of coordinates, Gram matrices."""

from preimage.feature_space._class_moments import ClassMoments
from preimage.feature_space._empirical_map import empirical_map
from preimage.feature_space._expansion import Expansion, distinct_images, distinct_rows
from preimage.feature_space._gram import CenteredGram, Gram, require_finite
from preimage.feature_space._growing_span import GrowingSpan, Proposal
from preimage.feature_space._moments import KernelMoments, Moments
from preimage.feature_space._subspace import Subspace

__all__ = ["Expansion", "Gram", "GrowingSpan", "Proposal", "Subspace"]
