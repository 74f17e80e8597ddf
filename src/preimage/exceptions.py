"""Errors and warnings of the library; messages say what raised them, what was needed, what was given, and a remedy."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning", "IndefiniteKernelWarning", "RankWarning", "UnsupportedKernelError"]


class UnsupportedKernelError(TypeError):
    """A kernel lacks what an operation needs: a gradient, an inverse profile, values between new points."""


class IndefiniteKernelWarning(UserWarning):
    """The kernel has negative eigenvalues on these data, so feature space is not Euclidean."""


class RankWarning(UserWarning):
    """The data determine fewer components than were requested."""
