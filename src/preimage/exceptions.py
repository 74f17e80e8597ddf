"""Errors and warnings of the library; each message says who, what was needed, what came, what to do."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning", "IndefiniteKernelWarning", "RankWarning", "UnsupportedKernelError"]


class UnsupportedKernelError(TypeError):
    """A kernel lacks what an operation needs: a gradient, an inverse profile, values between new points."""


class IndefiniteKernelWarning(UserWarning):
    """The kernel has negative eigenvalues on these data, so feature space is not Euclidean."""


class RankWarning(UserWarning):
    """The data hold fewer directions than were asked for."""
