"""Kernels that no rotation about the origin changes: two curvatures describe the surface in any dimension."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from preimage.exceptions import UnsupportedKernelError
from preimage.geometry._diagonal_jet import diagonal_jet, input_map
from preimage.geometry._jet import CURVATURE, METRIC, Jet
from preimage.geometry._metric import require_regular
from preimage.kernels import (
    InnerProduct,
    Kernel,
    MappedInputs,
    Normalized,
    Power,
    Product,
    ProfileKernel,
    Scaled,
    ScaledInputs,
    SquaredDistance,
    Sum,
    is_profile,
)


class Chart(NamedTuple):
    """A kernel without the linear maps around it, and the coordinates X Aᵀ in which it sees the points."""

    kernel: Kernel
    X: np.ndarray
    matrix: np.ndarray | None

    def log_stretch(self) -> float:
        """log |det A|."""
        return 0.0 if self.matrix is None else float(np.linalg.slogdet(self.matrix)[1])


def isotropic_chart(kernel: Kernel, X: np.ndarray) -> Chart | None:
    """Coordinates, reached by an invertible linear map, in which the kernel is rotation invariant; None without."""
    matrix = None
    while isinstance(kernel, (ScaledInputs, MappedInputs)):
        step = input_map(kernel)
        if step.shape[0] != step.shape[1] or np.linalg.matrix_rank(step) < len(step):
            return None
        matrix = step if matrix is None else step @ matrix
        kernel, X = kernel.kernel, X @ step.T
    return Chart(kernel, X, matrix) if is_isotropic(kernel) else None


def is_isotropic(kernel: Kernel) -> bool:
    """Whether k(Qx, Qy) = k(x, y) for all rotations Q, as the structure of the kernel shows it."""
    if is_profile(kernel):
        return kernel.pairwise in (InnerProduct(), SquaredDistance())
    if isinstance(kernel, (Sum, Product)):
        return is_isotropic(kernel.left) and is_isotropic(kernel.right)
    return isinstance(kernel, (Scaled, Power, Normalized)) and is_isotropic(kernel.kernel)


def is_radial(kernel: Kernel) -> bool:
    """Whether the kernel is a profile of the squared distance: the surface is flat."""
    return kernel.is_radial


def metric_eigenvalues(kernel: Kernel, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of the metric of an isotropic kernel: across x, d − 1 times, and along x."""
    g = diagonal_jet(kernel, _on_an_axis(X, 2), METRIC).dense(1, 1, 2)
    return g[:, 1, 1], g[:, 0, 0]


def isotropic_curvatures(who: str, kernel: Kernel, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sectional curvatures of an isotropic kernel: of planes across x, and of planes that contain x."""
    across, along = metric_eigenvalues(kernel, X)
    smallest, largest = (along, along) if X.shape[1] == 1 else (np.minimum(across, along), np.maximum(across, along))
    require_regular(who, kernel, X, smallest / np.where(largest > 0, largest, 1.0))
    if is_radial(kernel) or X.shape[1] == 1:
        return np.zeros(len(X)), np.zeros(len(X))
    if is_profile(kernel):
        with suppress(UnsupportedKernelError):  # a profile of a user, with its first derivative alone
            return _dot_product_curvatures(kernel, np.einsum("ij,ij->i", X, X))
    # Three directions, one along x and two across it, hold one plane of either kind.
    jet = diagonal_jet(kernel, _on_an_axis(X, 3), CURVATURE)
    R, g = embedded_riemann(jet, 3), jet.dense(1, 1, 3)
    return R[:, 1, 2, 1, 2] / g[:, 1, 1] / g[:, 1, 1], R[:, 0, 1, 0, 1] / g[:, 0, 0] / g[:, 1, 1]


def _dot_product_curvatures(kernel: ProfileKernel, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The closed form (C8) at the squared lengths s, which has all digits near the singular origin."""
    _, first, second, third = kernel.profile_derivatives(s, 3)
    across, along = first, first + s * second
    # One division after the other: squares of small eigenvalues would underflow.
    with np.errstate(over="ignore"):
        radial_part = third - second**2 / across
        return -second / across / across, (-second - s * radial_part) / across / along


def embedded_riemann(jet: Jet, d: int) -> np.ndarray:
    """Gauss' equation (C3): R_abcd = S_ac,bd − S_ad,bc with S the inner products of normal accelerations."""
    g, connection, S = jet.dense(1, 1, d), jet.dense(2, 1, d), jet.dense(2, 2, d)
    # Γ_{m,ac} Γ^m_bd as squares of L⁻¹Γ for g = LLᵀ, with the diagonal of g scaled to one first.
    lengths = np.sqrt(np.diagonal(g, axis1=1, axis2=2))
    L = np.linalg.cholesky(g / lengths[:, :, None] / lengths[:, None, :])
    tangential = connection.reshape(len(g), d * d, d).transpose(0, 2, 1) / lengths[:, :, None]
    tangential = np.linalg.solve(L, tangential).reshape(len(g), d, d, d)
    S = S - np.einsum("nmac,nmbd->nacbd", tangential, tangential)
    return S.transpose(0, 1, 3, 2, 4) - S.transpose(0, 1, 3, 4, 2)


def _on_an_axis(X: np.ndarray, dimension: int) -> np.ndarray:
    """Points at the same distances from the origin on the first axis of a space of few dimensions."""
    points = np.zeros((len(X), dimension))
    points[:, 0] = np.sqrt(np.einsum("ij,ij->i", X, X))
    return points
