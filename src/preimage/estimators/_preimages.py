"""Pre-images as estimators hand them out: points, and a warning where a solver did not converge."""

import numpy as np

from preimage._warnings import warn_user
from preimage.exceptions import ConvergenceWarning


def points_of(result):
    """The points of a `PreimageResult`; says how many did not converge, and why."""
    failed = len(result.converged) - int(np.sum(result.converged))
    if failed:
        reasons = ", ".join(sorted(set(result.reason[~result.converged])))
        warn_user(
            f"{failed} of {len(result.converged)} pre-images did not converge ({reasons}). They are no worse than "
            "their starts; find_preimages() says which, and a solver with a larger max_iter may help.",
            ConvergenceWarning,
        )
    return result.points
