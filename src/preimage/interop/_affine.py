"""Affine maps between coordinates: scalers, projections and selections of scikit-learn."""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler


class AffineMap(NamedTuple):
    """y ↦ yA + b.

    Attributes
    ----------
    matrix : array or sparse array of shape (p, q)
        Sparse for scalers and selections: images have tens of thousands of columns.
    shift : array of shape (q,)
    """

    matrix: Any
    shift: Any


@singledispatch
def affine_map_of(step):
    """The map of a fitted transformer as an `AffineMap`, or None if it is none that we know."""
    return None


@affine_map_of.register
def _(scaler: StandardScaler):
    return _scaling(scaler, scaler.mean_ if scaler.with_mean else None, scaler.scale_ if scaler.with_std else None)


@affine_map_of.register
def _(scaler: RobustScaler):
    center, scale = scaler.center_ if scaler.with_centering else None, scaler.scale_ if scaler.with_scaling else None
    return _scaling(scaler, center, scale)


@affine_map_of.register
def _(scaler: MaxAbsScaler):
    return None if getattr(scaler, "clip", False) else _scaling(scaler, None, scaler.scale_)


@affine_map_of.register
def _(scaler: MinMaxScaler):
    return None if scaler.clip else AffineMap(sparse.diags_array(scaler.scale_).tocsr(), scaler.min_)


@affine_map_of.register(PCA)
@affine_map_of.register(IncrementalPCA)
def _(pca):
    matrix = pca.components_.T
    if pca.whiten:
        # scikit-learn divides by at least this, so that directions without variance do not explode.
        floor = np.finfo(pca.explained_variance_.dtype).eps
        matrix = matrix / np.maximum(np.sqrt(pca.explained_variance_), floor)
    return AffineMap(matrix, -pca.mean_ @ matrix)


@affine_map_of.register
def _(svd: TruncatedSVD):
    return AffineMap(svd.components_.T, np.zeros(svd.components_.shape[0]))


@affine_map_of.register
def _(selector: SelectorMixin):
    chosen = selector.get_support(indices=True)
    return AffineMap(sparse.eye_array(selector.n_features_in_, format="csc")[:, chosen], np.zeros(chosen.size))


def _scaling(scaler, center, scale):
    """y ↦ (y − center)/scale; None is zero and one."""
    scale = np.ones(scaler.n_features_in_) if scale is None else scale
    return AffineMap(sparse.diags_array(1 / scale).tocsr(), np.zeros(scale.size) if center is None else -center / scale)
