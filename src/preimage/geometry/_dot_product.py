"""Closed forms of the geometry of kernels k(x·y)."""

from typing import NamedTuple

import numpy as np

from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import InnerProduct, Kernel, ProfileKernel


class DotProductGeometry(NamedTuple):
    """Points, squared lengths s, and the derivatives k′, k″, k‴ of the profile at s."""

    X: np.ndarray
    s: np.ndarray
    first: np.ndarray
    second: np.ndarray
    third: np.ndarray

    def metric(self) -> np.ndarray:
        """g_ab = k′δ_ab + k″x_a x_b  (C4)."""
        squares = self.X[:, :, None] * self.X[:, None, :]
        return self.first[:, None, None] * np.eye(self.X.shape[1]) + self.second[:, None, None] * squares

    def metric_eigenvalues(self) -> tuple[np.ndarray, np.ndarray]:
        """k′, of directions across x, and k′ + s k″, of the direction of x; in one dimension there is only this."""
        return self.first, self.first + self.s * self.second

    def christoffel(self) -> np.ndarray:
        """Γ^a_bc = (k″/k′)(x_b δ_ac + x_c δ_ab) + x_a x_b x_c (k′k‴ − 2k″²)/(k′(k′ + s k″))  (C6)."""
        X, eye = self.X, np.eye(self.X.shape[1])
        across, along = self.metric_eigenvalues()
        if X.shape[1] == 1:  # where k′ alone may vanish
            return ((2 * self.second + self.s * self.third) / along)[:, None, None, None] * X[:, :, None, None]
        mixed = np.einsum("nb,ac->nabc", X, eye) + np.einsum("nc,ab->nabc", X, eye)
        cubic = (across * self.third - 2 * self.second**2) / (across * along)
        ratio = (self.second / across)[:, None, None, None]
        return ratio * mixed + np.einsum("n,na,nb,nc->nabc", cubic, X, X, X)

    def riemann(self) -> np.ndarray:
        """R_abcd of (C7): antisymmetric products of δ with −k″δ and with −(k‴ − k″²/k′) x xᵀ."""
        X, eye = self.X, np.eye(self.X.shape[1])
        if X.shape[1] == 1:
            return np.zeros((len(X), 1, 1, 1, 1))
        # δ_acδ_bd − δ_adδ_bc, the tensor of constant curvature; `radial` has xxᵀ in place of one δ.
        planes = np.einsum("ac,bd->abcd", eye, eye) - np.einsum("ad,bc->abcd", eye, eye)
        squares = X[:, :, None] * X[:, None, :]
        radial = np.einsum("ac,nbd->nabcd", eye, squares) + np.einsum("bd,nac->nabcd", eye, squares)
        radial -= np.einsum("ad,nbc->nabcd", eye, squares) + np.einsum("bc,nad->nabcd", eye, squares)
        radial_part = self.third - self.second**2 / self.first
        return -self.second[:, None, None, None, None] * planes - radial_part[:, None, None, None, None] * radial

    def plane_curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Sectional curvatures of planes across x and of planes that contain x  (C8)."""
        across, along = self.metric_eigenvalues()
        radial_part = self.third - self.second**2 / across
        # One division after the other: squares of small eigenvalues would underflow.
        with np.errstate(over="ignore"):
            return -self.second / across / across, (-self.second - self.s * radial_part) / across / along


def dot_product_geometry(kernel: Kernel, X: np.ndarray) -> DotProductGeometry | None:
    """The closed forms of a profile kernel of the inner product, or None for other kernels."""
    if not (isinstance(kernel, ProfileKernel) and kernel.pairwise == InnerProduct()):
        return None
    s = np.einsum("ij,ij->i", X, X)
    try:
        _, *derivatives = kernel.profile_derivatives(s, 3)
    except UnsupportedKernelError:  # a profile of a user, with its first derivative alone
        return None
    return DotProductGeometry(X, s, *derivatives)
