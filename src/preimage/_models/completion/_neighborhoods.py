"""Entries that are likely to be wrong together: neighbours of a graph of the columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse

from preimage._engine.arrays import array_namespace, from_numpy, is_host
from preimage._engine.typing import Array


@dataclass(frozen=True)
class Neighborhoods:
    """Averages over each column and its neighbours.

    Attributes
    ----------
    matrix : sparse matrix of SciPy, or array of shape (d, d), or None
        Row j has the weights of the average of column j, which sum to one. None averages nothing.
    """

    matrix: Any = None

    @classmethod
    def of(cls, connectivity: Any, like: Array) -> "Neighborhoods":
        """Means over the neighbours that a (d, d) matrix connects, and the column itself, for arrays like `like`.

        As in scikit-learn's `FeatureAgglomeration`: what counts of an entry is whether it is zero.
        """
        if connectivity is None:
            return cls()
        d = like.shape[1]
        if not hasattr(connectivity, "shape"):
            connectivity = np.asarray(connectivity, dtype=float)
        if tuple(connectivity.shape) != (d, d):
            raise ValueError(
                f"`connectivity` says which of the {d} columns are neighbours and needs the shape ({d}, {d}); got "
                f"{tuple(connectivity.shape)}. For images, sklearn.feature_extraction.image.grid_to_graph makes it."
            )
        links = sparse.csr_array(connectivity)
        if not np.isfinite(links.data).all():
            raise ValueError("`connectivity` has entries that are not finite; 1 connects two columns, 0 does not.")
        links = sparse.csr_array((abs(links) + abs(links).T + sparse.eye_array(d)) != 0).astype(like_dtype(like))
        averages = sparse.csr_array(sparse.diags_array(1 / links.sum(axis=1)) @ links).astype(like_dtype(like))
        return cls(averages if is_host(like) else from_numpy(averages.toarray(), like))

    def averages(self, values: Array) -> Array:
        """Averages along the last axis."""
        return values if self.matrix is None else self._times(values, self.matrix.T)

    def returned(self, values: Array) -> Array:
        """The transpose of `averages`: each column gets back its part of the averages that it is in."""
        return values if self.matrix is None else self._times(values, self.matrix)

    def _times(self, values: Array, matrix: Any) -> Array:
        if not sparse.issparse(matrix):
            return values @ matrix
        xp = array_namespace(values)
        return xp.reshape(xp.reshape(values, (-1, values.shape[-1])) @ matrix, values.shape)


def like_dtype(like: Array) -> Any:
    """The NumPy type of the precision of an array."""
    return np.float32 if "32" in str(like.dtype) else np.float64
