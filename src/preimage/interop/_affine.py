"""Affine maps of scikit-learn's scalers, projections and selections, and machines that take them in."""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from preimage._engine.arrays import concat_columns, is_sparse, to_dense, to_numpy
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage._models.machines import KernelMachine
from preimage.feature_space import Expansion
from preimage.kernels import FreeWidthGaussian, Kernel, ProfileKernel, ScaledInputs, ShiftedInputs


class AffineMap(NamedTuple):
    """y ↦ yA + b.

    Attributes
    ----------
    matrix : array or sparse array of shape (p, q)
        Sparse for scalers and selections: images have tens of thousands of columns.
    shift : array of shape (q,)
    """

    matrix: Array
    shift: Array

    @property
    def multiplications(self) -> int:
        """What one row costs."""
        return int(self.matrix.nnz if is_sparse(self.matrix) else self.matrix.size)


@singledispatch
def affine_map_of(step: Any) -> AffineMap | None:
    """The map of a fitted transformer as an `AffineMap`, or None if its class is not known."""
    return None


@affine_map_of.register
def _(scaler: StandardScaler) -> AffineMap | None:
    return _scaling(scaler, scaler.mean_ if scaler.with_mean else None, scaler.scale_ if scaler.with_std else None)


@affine_map_of.register
def _(scaler: RobustScaler) -> AffineMap | None:
    center, scale = scaler.center_ if scaler.with_centering else None, scaler.scale_ if scaler.with_scaling else None
    return _scaling(scaler, center, scale)


@affine_map_of.register
def _(scaler: MaxAbsScaler) -> AffineMap | None:
    return None if getattr(scaler, "clip", False) else _scaling(scaler, None, scaler.scale_)


@affine_map_of.register
def _(scaler: MinMaxScaler) -> AffineMap | None:
    return None if scaler.clip else AffineMap(sparse.diags_array(scaler.scale_).tocsr(), scaler.min_)


@affine_map_of.register(PCA)
@affine_map_of.register(IncrementalPCA)
def _(pca: PCA | IncrementalPCA) -> AffineMap:
    matrix = pca.components_.T
    if pca.whiten:
        # scikit-learn divides by at least this, so that directions without variance do not explode.
        floor = np.finfo(pca.explained_variance_.dtype).eps
        matrix = matrix / np.maximum(np.sqrt(pca.explained_variance_), floor)
    return AffineMap(matrix, -pca.mean_ @ matrix)


@affine_map_of.register
def _(svd: TruncatedSVD) -> AffineMap | None:
    return AffineMap(svd.components_.T, np.zeros(svd.components_.shape[0]))


@affine_map_of.register
def _(selector: SelectorMixin) -> AffineMap | None:
    chosen = selector.get_support(indices=True)
    return AffineMap(sparse.eye_array(selector.n_features_in_, format="csc")[:, chosen], np.zeros(chosen.size))


def on_unscaled_inputs(machine: KernelMachine, scaler: Any) -> KernelMachine | None:
    """The machine that takes what the scaler before it takes; None if the step is no scaler.

    A scaler x ↦ (x − c)s makes k(x, y) the kernel k((x − c)s, (y − c)s), and z the point z/s + c. Distances do not
    change with the shift. One machine in place of two steps can be saved and exported; `compress` itself leaves scalers
    alone, whose parameters mean something.
    """
    affine, expansion = affine_map_of(scaler), machine.expansion
    if affine is None or expansion.kernel.points_are_row_numbers:
        return None
    scale = _positive_diagonal(affine.matrix)
    if scale is None:
        return None
    with unwarned():
        squared = scale**2
    if not np.all(np.isfinite(squared)) or not np.all(squared > 0):
        raise ValueError(
            f"{type(scaler).__name__} divides columns by {1 / np.max(scale):.3g} to {1 / np.min(scale):.3g}, whose "
            "squares are no numbers: it cannot become part of the kernel. Give the inputs in another unit."
        )
    # x·s + t = (x − c)s with c = −t/s.
    center = -affine.shift / scale
    kernel: Kernel = ScaledInputs(expansion.kernel, squared)
    # A kernel of distances does not change when both arguments are shifted.
    if np.any(center) and not _is_of_distances(expansion.kernel):
        kernel = ShiftedInputs(kernel, center)
    points = expansion.inputs
    # Without a shift zeros stay zeros, and sparse points stay sparse.
    if is_sparse(points) and not np.any(center):
        points = points.multiply(1 / scale).tocsr()
    else:
        points = to_numpy(to_dense(points)) / scale + center
    if expansion.kernel.own_columns:  # which scalers leave as they are
        points = concat_columns(points, to_numpy(to_dense(expansion.points[:, points.shape[1] :])))
    return KernelMachine(
        Expansion(kernel, points, expansion.coefficients),
        machine.intercept,
        machine.output,
        scale.size,
        getattr(scaler, "feature_names_in_", None),
        machine.weights,
    )


def _is_of_distances(kernel: Kernel) -> bool:
    return isinstance(kernel, FreeWidthGaussian) or (isinstance(kernel, ProfileKernel) and kernel.is_radial)


def _scaling(scaler: Any, center: Array | None, scale: Array | None) -> AffineMap:
    """y ↦ (y − center)/scale; None is zero and one."""
    scale = np.ones(scaler.n_features_in_) if scale is None else scale
    return AffineMap(sparse.diags_array(1 / scale).tocsr(), np.zeros(scale.size) if center is None else -center / scale)


def _positive_diagonal(matrix: Array) -> np.ndarray | None:
    """The diagonal of a map that only scales; None for any other."""
    is_square = is_sparse(matrix) and matrix.shape[0] == matrix.shape[1]
    diagonal = matrix.diagonal() if is_square else np.zeros(1)
    return diagonal if np.all(diagonal > 0) and matrix.nnz == diagonal.size else None
