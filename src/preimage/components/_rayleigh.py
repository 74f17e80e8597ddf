"""Directions along which a signal is large compared with noise."""

import numpy as np

from preimage._arrays import array_namespace
from preimage._decompositions import cholesky, svd
from preimage._lapack import triangular_solve
from preimage._linalg import fix_signs
from preimage._typing import Array


def rayleigh(signal_factor: Array, noise: Array, n_components: int | None = None) -> tuple[Array, Array]:
    r"""Directions of largest ratio of signal to noise.

    Maximises :math:`J(a) = a^\top A A^\top a \,/\, a^\top Q a` over a, and again among those a' with
    :math:`a^\top Q a' = 0`. With the Cholesky factor :math:`Q = L L^\top` they are the columns of
    :math:`L^{-\top} U`, where U are left singular vectors of :math:`L^{-1} A`; unlike the eigenvectors of
    :math:`A A^\top` this does not square the condition of the signal.

    Kernel Fisher discriminants (between and within classes), oriented kernel PCA (signal and noise, or tangents of
    transformations) and kernel PCA (noise of equal size everywhere) are of this form.

    Parameters
    ----------
    signal_factor : array of shape (m, r)
        A; the signal is AAᵀ.
    noise : array of shape (m, m)
        Q, symmetric and positive definite: add a ridge to one that is not.
    n_components : int or None, default=None
        Number of directions; None is all, min(m, r) of them.

    Returns
    -------
    ratios : array of shape (n_components,)
        J of each direction, descending.
    directions : array of shape (m, n_components)
        With aᵀQa = 1; the entry of largest modulus of each is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.components import rayleigh
    >>> ratios, directions = rayleigh(np.array([[2.0], [0.0]]), np.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> ratios, directions
    (array([1.]), array([[0.5],
           [0. ]]))
    """
    factor = cholesky(noise)
    if factor is None:
        raise np.linalg.LinAlgError(
            f"A ratio of signal to noise needs noise in every direction; the noise matrix of shape "
            f"{tuple(noise.shape)} is not positive definite. Add a ridge to it, or a larger one."
        )
    U, singular, _ = svd(_solve_lower(factor, signal_factor))
    count = singular.shape[0] if n_components is None else min(n_components, singular.shape[0])
    directions = _solve_upper(factor, U[:, :count])
    return singular[:count] ** 2, directions * fix_signs(directions)


def _solve_lower(factor: Array, B: Array) -> Array:
    """L⁻¹ B."""
    if isinstance(factor, np.ndarray):
        return triangular_solve(factor, B)
    return array_namespace(factor).linalg.solve(factor, B)


def _solve_upper(factor: Array, B: Array) -> Array:
    """L⁻ᵀ B."""
    if isinstance(factor, np.ndarray):
        return triangular_solve(factor, B, transposed=True)
    return array_namespace(factor).linalg.solve(factor.T, B)
