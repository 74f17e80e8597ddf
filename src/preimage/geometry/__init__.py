"""The shape of data in feature space."""

from preimage.geometry._higher_moments import component_moments, directional_moment, excess_kurtosis

__all__ = ["component_moments", "directional_moment", "excess_kurtosis"]
