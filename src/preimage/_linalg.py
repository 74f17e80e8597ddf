"""Small dense algebra, and every decision about numerical rank."""

import numpy as np
from scipy import linalg

from preimage._arrays import array_namespace, epsilon, itemsize

# Smallest pivot of a Cholesky factor, as a share of the largest diagonal entry, that needs no eigenvalues to trust it.
LONG_PIVOT = 1e-3
# Largest error of a coordinate, in units of its own standard deviation, with which a component counts as determined.
DETERMINED = {8: 1e-6, 4: 1e-2}
# By how much errors of new points exceed (error of products)/λ. Measured against extended precision on radial and
# polynomial kernels over eight decades of widths: 2 to 30 where eigenvalues differ by a tenth; new points lie several
# standard deviations out along weak components.
AMPLIFICATION = 32


def rank_tolerance(size, dtype):
    """Eigenvalues below this share of the largest are rounding errors of a matrix with `size` rows."""
    return size * epsilon(dtype)


def eigh_descending(A):
    """All eigenpairs of a symmetric matrix, largest eigenvalue first."""
    # Not SciPy's: it brings a BLAS of its own, whose idle threads spin for a while and halve the speed of NumPy's.
    xp = array_namespace(A)
    values, vectors = xp.linalg.eigh(A)
    return xp.flip(values), xp.flip(vectors, axis=1)


def top_eigh(A, k):
    """The k eigenpairs of a symmetric matrix with the largest eigenvalues, largest first; all for None."""
    n = A.shape[0]
    k = n if k is None else k
    if isinstance(A, np.ndarray) and k < n // 3:
        # LAPACK's subset driver skips most of the back-transformation.
        values, vectors = linalg.eigh(A, subset_by_index=[n - k, n - 1], check_finite=False)
        if values.shape[0] == k:
            return values[::-1], vectors[:, ::-1]
        # The driver silently returns fewer pairs where eigenvalues coincide; the full decomposition does not.
    values, vectors = eigh_descending(A)
    return values[:k], vectors[:, :k]


def orthonormal_columns(W, floor=0.0):
    """An orthonormal basis of the columns of a tall W, by the eigenvectors of WᵀW.

    Directions of length at most `floor` are dropped. One pass keeps orthogonality to about ε·cond(W)²; call it again
    on its own result (as `orthogonalize` does) for full precision. Unlike a QR factorisation it is all products with
    tall matrices, fast on every device, and it notices rank deficiency.
    """
    xp = array_namespace(W)
    values, vectors = eigh_descending(W.T @ W)
    keep = int(xp.sum(xp.astype(values > max(floor**2, epsilon(W.dtype) * float(values[0])), xp.int64)))
    if keep == 0:
        return W[:, :0]
    return W @ (vectors[:, :keep] / xp.sqrt(values[:keep]))


def orthogonalize(W, basis, floor=0.0, recent=None):
    """Orthonormal columns that span W without its part in the orthonormal `basis`.

    Two passes, because the first leaves rounding errors of the size of what it removed. When W is known to lie in all
    but a few directions of the basis only up to rounding, `recent` holds those, and the first pass needs no others.
    """
    for directions in (basis if recent is None else recent, basis):
        if directions.shape[1]:
            W = W - directions @ (directions.T @ W)
        W = orthonormal_columns(W, floor)
        if W.shape[1] == 0:
            break
        floor = 0.5  # what was of length one and is not now was rounding
    return W


def orthonormal_factor(K, scale=0.0):
    """F with Fᵀ K F = I that spans the range of a positive semidefinite K; shape (n, rank).

    Columns are eigenvectors over √λ: dividing by the roots of rounding errors would destroy everything, so
    eigenvalues below `rank_tolerance` are left out. Where K is a difference of larger matrices, `scale` is the size
    of those, and of their rounding.
    """
    xp = array_namespace(K)
    values, vectors = eigh_descending(K)
    rank = numerical_rank(values, K.shape[0], scale)
    return vectors[:, :rank] / xp.sqrt(values[:rank])


def whitening_factor(K, shortest):
    """F with Fᵀ K F = I for a Gram matrix K, without directions of an eigenvalue below `shortest` times the largest.

    The inverse of a Cholesky factor where all pivots are long: several times faster than eigenvectors.
    """
    if isinstance(K, np.ndarray):
        try:
            L = np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            L = None
        if L is not None and np.diagonal(L).min() ** 2 > LONG_PIVOT * np.diagonal(K).max():
            return np.linalg.inv(L).T
    xp = array_namespace(K)
    values, vectors = eigh_descending(K)
    threshold = max(rank_tolerance(K.shape[0], K.dtype), shortest) * float(values[0])
    rank = max(1, int(xp.sum(xp.astype(values > threshold, xp.int64))))
    roots = xp.sqrt(xp.where(values > 0, values, xp.ones_like(values)))
    return vectors[:, :rank] / roots[:rank]


def determined_count(values, error):
    """How many leading eigenpairs of a Gram matrix have coordinates that the data determine.

    An error of norm δ in the matrix or in a product with it moves the coordinates of points along an axis by δ/√λ,
    while their standard deviation is √λ (both times √n). A component is kept while `AMPLIFICATION` times δ/λ, the
    relative error, is within `DETERMINED`.

    Parameters
    ----------
    values : array of shape (k,)
        Descending, by modulus where the matrix is indefinite.
    error : float
        δ.
    """
    xp = array_namespace(values)
    threshold = AMPLIFICATION * error / DETERMINED[itemsize(values.dtype)]
    return int(xp.sum(xp.astype(xp.abs(values) > threshold, xp.int64)))


def numerical_rank(values, size, scale=0.0):
    """How many of the descending eigenvalues of a matrix with `size` rows are more than rounding errors."""
    xp = array_namespace(values)
    if values.shape[0] == 0:
        return 0
    threshold = rank_tolerance(size, values.dtype) * max(float(xp.max(xp.abs(values))), scale)
    return int(xp.sum(xp.astype(values > threshold, xp.int64)))


def fix_signs(vectors):
    """Signs ±1, one a column, that make the entry of largest modulus of each column positive."""
    xp = array_namespace(vectors)
    highest, lowest = xp.max(vectors, axis=0), xp.min(vectors, axis=0)
    first_high, first_low = xp.argmax(vectors, axis=0), xp.argmin(vectors, axis=0)
    # Equal moduli of both signs: the smallest index decides.
    negative = (highest < -lowest) | ((highest == -lowest) & (first_low < first_high))
    return xp.where(negative, -xp.ones_like(highest), xp.ones_like(highest))
