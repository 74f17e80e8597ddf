"""Components for models that have none: a page of a machine or an imputer needs a map, and gets that of kernel PCA."""

from typing import Any

import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from preimage._engine.typing import Rows
from preimage.estimators import KernelImputer, KernelImputerCV, KernelPCA
from preimage.kernels import Kernel

# Components of a map that nobody chose a number for, and points that carry them: what a page has without compression.
COMPONENTS, POINTS = 16, 300
IMPUTERS = (KernelImputer, KernelImputerCV, KNNImputer, SimpleImputer)


def components_of(kernel: Kernel, Z: np.ndarray, n_components: int | None) -> KernelPCA:
    """Kernel PCA of inputs Z with the kernel of a machine: the feature space that the machine decides in."""
    count = min(n_components or COMPONENTS, Z.shape[0])
    if kernel.is_positive_semidefinite and Z.shape[0] > POINTS:
        return KernelPCA(count, kernel=kernel, landmarks=POINTS, random_state=0).fit(Z)
    # Landmarks need a definite kernel.
    return KernelPCA(count, kernel=kernel, random_state=0).fit(Z[:: -(-Z.shape[0] // POINTS)])


def with_components(imputer: Any, X: Rows, n_components: int | None) -> Pipeline:
    """A fitted imputer, followed by kernel PCA on what it fills in, in standard deviations of the columns."""
    filled = np.asarray(imputer.transform(X))
    if filled.dtype.kind not in "iuf":
        raise TypeError(
            f"explore draws numbers; {type(imputer).__name__} fills columns of words. Give it the columns of numbers, "
            "or codes in place of words."
        )
    scaler = StandardScaler().fit(filled)
    scaled = scaler.transform(filled)
    count = min(n_components or COMPONENTS, *scaled.shape)
    landmarks = POINTS if scaled.shape[0] > POINTS else None
    model = KernelPCA(count, gamma="median", landmarks=landmarks, random_state=0).fit(scaled)
    return Pipeline([("imputer", imputer), ("scaler", scaler), ("components", model)])
