"""Matrices D + GGᵀ of a diagonal and a thin factor: solves, determinants, preconditioners."""

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from preimage._arrays import array_namespace, as_points, device_kwargs, is_foreign, to_numpy
from preimage._finite import gives_finite_numbers, is_finite
from preimage._typing import Array, Rows


class LowRankPlusDiagonal:
    r"""The matrix :math:`D + G G^\top`, factorised once for many solves.

    With :math:`S = D^{-1/2} G` and the QR factorisation :math:`\binom{S}{I} = \binom{Q_1}{Q_2} R`,

    .. math:: (D + G G^\top)^{-1} v = D^{-1/2} (I - Q_1 Q_1^\top) D^{-1/2} v, \qquad
        \log\det(D + G G^\top) = \sum_i \log D_i + 2 \sum_j \log |R_{jj}|,

    which is Woodbury's formula (G17) without the product :math:`I + S^\top S`, whose condition number is the square of
    that of S. One step of iterative refinement restores the digits that entries of D from many decades cost, as at the
    end of interior point methods; it is kept where it lowers the residual. O(nm²) once, O(nm) per solve.

    Parameters
    ----------
    factor : array of shape (n, m)
        G, for instance `Landmarks.factor`.
    diagonal : float or array of shape (n,)
        Positive entries of D.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.landmarks._low_rank import LowRankPlusDiagonal
    >>> A = LowRankPlusDiagonal(np.array([[1.0], [1.0]]), [1.0, 2.0])
    >>> A @ A.solve(np.array([3.0, 4.0]))
    array([3., 4.])
    >>> bool(np.isclose(A.logdet(), np.log(5)))
    True
    """

    def __init__(self, factor: Rows, diagonal: Any) -> None:
        self.factor = _checked_factor(factor)
        self.diagonal = _checked_diagonal(diagonal, self.factor)
        xp = array_namespace(self.factor)
        n, m = self.factor.shape
        self._roots = xp.sqrt(self.diagonal)
        identity = xp.eye(m, dtype=self.factor.dtype, **device_kwargs(self.factor))
        stacked = xp.concat([self.factor / self._roots[:, None], identity], axis=0)
        Q, R = xp.linalg.qr(stacked)
        self._Q = Q[:n, :]
        if not is_finite(self._Q):
            raise ValueError(
                "D + GGᵀ cannot be factorised: entries of G over roots of D leave the range of numbers. Divide "
                "G by a constant and D by its square."
            )
        self._log_determinant = float(xp.sum(xp.log(xp.abs(xp.linalg.diagonal(R)))))

    @property
    def shape(self) -> tuple[int, int]:
        return (self.factor.shape[0], self.factor.shape[0])

    @property
    def dtype(self) -> Any:
        return self.factor.dtype

    @gives_finite_numbers()
    def __matmul__(self, v: Array) -> Array:
        """(D + GGᵀ)v for a vector or the columns of a matrix."""
        D = self.diagonal if v.ndim == 1 else self.diagonal[:, None]
        return D * v + self.factor @ (self.factor.T @ v)

    @gives_finite_numbers()
    def solve(self, v: Array) -> Array:
        """(D + GGᵀ)⁻¹v for a vector of shape (n,) or the columns of an array of shape (n, k)."""
        v = self._checked_sides(v)
        xp = array_namespace(self.factor)
        x = self._project(v)
        residual = v - self @ x
        refined = x + self._project(residual)
        # Beyond the precision of the floating type a correction is noise itself.
        lengths = lambda r: xp.sum(r * r, axis=0)
        return xp.where(lengths(v - self @ refined) < lengths(residual), refined, x)

    @gives_finite_numbers()
    def logdet(self) -> float:
        """log det(D + GGᵀ)."""
        xp = array_namespace(self.diagonal)
        return float(xp.sum(xp.log(self.diagonal))) + 2 * self._log_determinant

    def preconditioner(self) -> LinearOperator:
        """(D + GGᵀ)⁻¹ as a SciPy operator, the `M` of `scipy.sparse.linalg.cg`."""
        if is_foreign(self.factor):
            raise TypeError("SciPy's solvers take NumPy arrays; make the factor one, or call `solve` directly.")
        # An approximate inverse needs no refinement.
        return LinearOperator(self.shape, matvec=self._apply, matmat=self._apply, rmatvec=self._apply, dtype=self.dtype)

    @gives_finite_numbers()
    def _apply(self, v: Array) -> np.ndarray:
        return self._project(np.asarray(v))

    def _project(self, v: Array) -> Array:
        roots = self._roots if v.ndim == 1 else self._roots[:, None]
        u = v / roots
        return (u - self._Q @ (self._Q.T @ u)) / roots

    def _checked_sides(self, v: Array) -> Array:
        v = as_points(v)
        if v.ndim not in (1, 2) or v.shape[0] != self.factor.shape[0]:
            raise ValueError(
                f"A matrix of {self.factor.shape[0]} rows needs right-hand sides of that length; got shape "
                f"{tuple(v.shape)}."
            )
        return v


@gives_finite_numbers()
def lowrank_plus_diagonal(factor: Rows, diagonal: Any) -> LowRankPlusDiagonal:
    r"""Factorise :math:`D + G G^\top` for solves, products and its determinant.

    With the factor of `LandmarkSelector.select` this replaces K + D wherever many systems are solved with it:
    interior point methods, Gaussian processes, ridge regression.

    Parameters
    ----------
    factor : array of shape (n, m)
        G with K ≈ GGᵀ, n rows and m columns.
    diagonal : float or array of shape (n,)
        Positive.

    Returns
    -------
    LowRankPlusDiagonal
        The factorised matrix, with `solve`, `logdet` and products by ``@``.

    See Also
    --------
    preconditioner : For iterations with the exact kernel matrix.
    RandomlyPivotedCholesky : Landmarks with a small residual, ``select(kernel, X, with_factor=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import PivotedCholesky, lowrank_plus_diagonal
    >>> X, kernel = np.linspace(0, 1, 50)[:, None], Gaussian(2.0)
    >>> G = PivotedCholesky(12).select(kernel, X, with_factor=True).factor
    >>> A = lowrank_plus_diagonal(G, 0.1)
    >>> y = np.sin(5 * X[:, 0])
    >>> np.allclose(A.solve(y), np.linalg.solve(kernel(X) + 0.1 * np.eye(50), y))
    True
    """
    return LowRankPlusDiagonal(factor, diagonal)


@gives_finite_numbers()
def preconditioner(factor: Rows, mu: float) -> LinearOperator:
    r"""An approximate inverse of K + µI for conjugate gradients, :math:`P^{-1} = (G G^\top + \mu I)^{-1}`.

    With the residual R = K − GGᵀ of the factor, the eigenvalues of :math:`P^{-1}(K + \mu I)` lie between 1 and
    :math:`1 + \|R\|_2/\mu \le 1 + \operatorname{tr} R/\mu`: with a residual trace near µ a handful of iterations is
    enough.

    Parameters
    ----------
    factor : array of shape (n, m)
        G with K ≈ GGᵀ.
    mu : float
        Positive.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator

    See Also
    --------
    lowrank_plus_diagonal : Solves with the approximation itself.
    RandomlyPivotedCholesky : Landmarks with a small residual.
    scipy.sparse.linalg.cg : The iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import cg
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import PivotedCholesky, preconditioner
    >>> X, kernel, mu = np.linspace(0, 1, 80)[:, None], Gaussian(20.0), 1e-3
    >>> G = PivotedCholesky(10).select(kernel, X, with_factor=True).factor
    >>> A = kernel(X) + mu * np.eye(80)
    >>> solution, info = cg(A, np.sin(9 * X[:, 0]), M=preconditioner(G, mu), rtol=1e-8, maxiter=15)
    >>> info
    0
    """
    return LowRankPlusDiagonal(factor, mu).preconditioner()


def _checked_factor(factor: Rows) -> Array:
    # Integers would truncate D and all that is computed with it.
    factor = as_points(factor)
    if factor.ndim != 2:
        raise ValueError(f"A factor is a matrix of shape (n, m); got shape {tuple(factor.shape)}.")
    return factor


def _checked_diagonal(diagonal: Any, factor: Array) -> Array:
    xp = array_namespace(factor)
    D = np.asarray(to_numpy(diagonal) if hasattr(diagonal, "shape") else diagonal, dtype=float)
    n = factor.shape[0]
    if D.ndim > 1 or (D.ndim == 1 and D.shape[0] != n):
        raise ValueError(f"`diagonal` is a number or has shape ({n},), as the factor has rows; got shape {D.shape}.")
    if not np.all(D > 0) or not np.all(np.isfinite(D)):
        raise ValueError(f"`diagonal` must be positive and finite; the smallest entry is {D.min():.3g}.")
    return xp.asarray(np.broadcast_to(D, (n,)).copy(), dtype=factor.dtype, **device_kwargs(factor))
