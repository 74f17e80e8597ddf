"""Fitted pipelines taken apart, and the affine maps that their steps are: the one reader of both."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from preimage._engine.arrays import concat_columns, is_sparse, to_dense, to_numpy
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import unwarned
from preimage._models.machines import KernelMachine
from preimage.feature_space import Expansion
from preimage.kernels import FreeWidthGaussian, Kernel, ProfileKernel, ScaledInputs, ShiftedInputs

# Fitted transformers with their names in a pipeline.
Steps: TypeAlias = list[tuple[str, Any]]


def unwrapped(estimator: Any) -> Any:
    """The model that a fitted search has found, or that is frozen; anything else as it is."""
    while isinstance(estimator, FrozenEstimator) or hasattr(estimator, "best_estimator_"):
        is_frozen = isinstance(estimator, FrozenEstimator)
        estimator = estimator.estimator if is_frozen else estimator.best_estimator_
    return estimator


def taken_apart(estimator: Any, opened: Callable[[Any], Any] = unwrapped) -> tuple[Steps, Any]:
    """The steps of a fitted pipeline before its last estimator, without those that change nothing; and that estimator.

    Pipelines inside of it are taken apart as well. `opened` says what is inside of the last estimator; steps are
    always unwrapped.
    """
    estimator = opened(estimator)
    if not isinstance(estimator, Pipeline):
        return [], estimator
    steps: Steps = []
    for name, step in active(estimator.steps[:-1]):
        before, last = taken_apart(step)
        steps += [*before, (name, last)]
    before, last = taken_apart(final_step(estimator), opened)
    return [*steps, *before], last


def active(steps: Steps) -> Steps:
    """Steps of a pipeline without those that pass inputs through."""
    passes = lambda step: (
        step is None or isinstance(step, str) or (isinstance(step, FunctionTransformer) and step.func is None)
    )
    return [(name, step) for name, step in steps if not passes(step)]


def final_step(estimator: Any) -> Any:
    """The last step of a pipeline, fitted or not; anything else as it is."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def transformed(steps: Steps, X: Rows) -> Rows:
    """X after the steps."""
    for _, step in steps:
        X = step.transform(X)
    return X


@dataclass(frozen=True)
class AffineMap:
    """y ↦ yA + b.

    Attributes
    ----------
    matrix : array or sparse array of shape (p, q), or array of shape (p,)
        Sparse for selections: images have tens of thousands of columns. A vector scales columns.
    shift : array of shape (q,)
    """

    matrix: Array
    shift: Array

    def __call__(self, Y: Array) -> Array:
        return _product(Y, self.matrix) + self.shift

    @property
    def multiplications(self) -> int:
        """What one row costs."""
        return int(self.matrix.nnz if is_sparse(self.matrix) else self.matrix.size)

    def then(self, other: "AffineMap") -> "AffineMap":
        """This map, followed by another."""
        scales_first = self.matrix.ndim == 1 and other.matrix.ndim == 2
        matrix = self.matrix[:, None] * other.matrix if scales_first else _product(self.matrix, other.matrix)
        return AffineMap(matrix, other(self.shift))


@singledispatch
def affine_map_of(step: Any) -> AffineMap | None:
    """The map of a fitted transformer as an `AffineMap`, or None if its class is not known."""
    return None


@affine_map_of.register
def _(scaler: StandardScaler) -> AffineMap:
    return _scaling(scaler, scaler.mean_ if scaler.with_mean else None, scaler.scale_ if scaler.with_std else None)


@affine_map_of.register
def _(scaler: RobustScaler) -> AffineMap:
    center, scale = scaler.center_ if scaler.with_centering else None, scaler.scale_ if scaler.with_scaling else None
    return _scaling(scaler, center, scale)


@affine_map_of.register(MinMaxScaler)
@affine_map_of.register(MaxAbsScaler)
def _(scaler: Any) -> AffineMap | None:
    return None if getattr(scaler, "clip", False) else unclipped_map_of(scaler)


def unclipped_map_of(scaler: MinMaxScaler | MaxAbsScaler) -> AffineMap:
    """What a scaler does to values in its range, of which it may clip the results."""
    if isinstance(scaler, MinMaxScaler):
        return AffineMap(scaler.scale_, scaler.min_)
    return _scaling(scaler, None, scaler.scale_)


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
def _(svd: TruncatedSVD) -> AffineMap:
    return AffineMap(svd.components_.T, np.zeros(svd.components_.shape[0]))


@affine_map_of.register
def _(selector: SelectorMixin) -> AffineMap:
    chosen = selector.get_support(indices=True)
    return AffineMap(sparse.eye_array(selector.n_features_in_, format="csc")[:, chosen], np.zeros(chosen.size))


def on_unscaled_inputs(machine: KernelMachine, scaler: Any) -> KernelMachine | None:
    """The machine that takes what the scaler before it takes; None if the step is no scaler.

    A scaler x ↦ (x − c)s makes k(x, y) the kernel k((x − c)s, (y − c)s), and z the point z/s + c. Distances do not
    change with the shift. One machine in place of two steps can be saved and exported; `compress` itself leaves scalers
    alone, whose parameters mean something.
    """
    affine, expansion = affine_map_of(scaler), machine.expansion
    if affine is None or expansion.kernel.points_are_row_numbers or affine.matrix.ndim == 2:
        return None
    scale = affine.matrix
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
    names = getattr(scaler, "feature_names_in_", None)
    expansion = Expansion(kernel, points, expansion.coefficients)
    return KernelMachine(expansion, machine.intercept, machine.output, scale.size, names, machine.weights)


def _is_of_distances(kernel: Kernel) -> bool:
    return isinstance(kernel, FreeWidthGaussian) or (isinstance(kernel, ProfileKernel) and kernel.is_radial)


def _scaling(scaler: Any, center: Array | None, scale: Array | None) -> AffineMap:
    """y ↦ (y − center)/scale; None is zero and one."""
    scale = np.ones(scaler.n_features_in_) if scale is None else scale
    return AffineMap(1 / scale, np.zeros(scale.size) if center is None else -center / scale)


def _product(A: Array, B: Array) -> Array:
    return A * B if B.ndim == 1 else A @ B
