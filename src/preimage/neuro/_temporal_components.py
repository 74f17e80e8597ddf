"""Temporal components of scans, and the noise that is left without the leading ones."""

from dataclasses import dataclass

import numpy as np

from preimage._finite import gives_finite_numbers
from preimage._typing import Array, Rows


@dataclass(frozen=True)
class TemporalComponents:
    """Scans as time courses times maps.

    Attributes
    ----------
    mean : array of shape (d,)
    courses : array of shape (t, k)
        Sources in time: uncorrelated, each of variance one.
    maps : array of shape (k, d)
    autocorrelations : array of shape (k,)
        Of the courses at the lag, sorted by decreasing absolute value.
    """

    mean: Array
    courses: Array
    maps: Array
    autocorrelations: Array

    def reconstruction(self, first: int = 0) -> Array:
        """The scans made of the components from number `first` on, without the mean, shape (t, d)."""
        return self.courses[:, first:] @ self.maps[first:]


@gives_finite_numbers()
def molgedey_schuster(X: Rows, n_components: int = 10, lag: int = 1) -> TemporalComponents:
    """Independent components in time by their autocorrelations, after Molgedey and Schuster.

    Whitened principal components are rotated by the eigenvectors of their symmetrised covariance at one lag. This
    separates sources whose autocorrelations at that lag differ.

    Parameters
    ----------
    X : array of shape (t, d)
        Scans in rows, in the order of time.
    n_components : int, default=10
        Number of components.
    lag : int, default=1
        Number of scans between the two values of which the covariance is taken.

    Returns
    -------
    TemporalComponents
        Courses in time and maps; its attributes are listed below.

    See Also
    --------
    noise_of_scans : What remains without some of the components.
    preimage.KernelProjectionPursuit : Components that are least Gaussian.

    References
    ----------
    .. [1] L. Molgedey, H. G. Schuster, "Separation of a mixture of independent signals using time delayed
       correlations", Physical Review Letters 72, 1994.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.neuro import molgedey_schuster
    >>> t = np.arange(500)
    >>> sources = np.column_stack([np.sin(t / 40), np.random.default_rng(0).normal(size=500)])
    >>> found = molgedey_schuster(sources @ np.array([[1.0, 2.0, 0.5], [1.0, -1.0, 1.0]]), n_components=2)
    >>> bool(abs(np.corrcoef(found.courses[:, 0], sources[:, 0])[0, 1]) > 0.99)
    True
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not 1 <= lag < X.shape[0]:
        raise ValueError(f"molgedey_schuster needs more rows than the lag {lag}, in time; got shape {X.shape}.")
    if not np.isfinite(np.linalg.norm(X)):
        raise ValueError("molgedey_schuster needs finite scans whose squares are finite, too; divide X by a constant.")
    mean = X.mean(axis=0)
    U, s, Vt = np.linalg.svd(X - mean, full_matrices=False)
    # LAPACK's usual bound on the rounding error of singular values; smaller ones are noise of the arithmetic.
    rank = int(np.sum(s > max(X.shape) * np.finfo(float).eps * s[0]))
    if not 1 <= n_components <= rank:
        raise ValueError(f"n_components must be between 1 and {rank}, the rank of the scans; got {n_components}.")
    t, k = X.shape[0], n_components
    white = U[:, :k] * np.sqrt(t)  # columns of variance one
    lagged = white[:-lag].T @ white[lag:] / (t - lag)
    values, rotation = np.linalg.eigh((lagged + lagged.T) / 2)
    order = np.argsort(-np.abs(values))
    rotation = rotation[:, order]
    maps = rotation.T @ (Vt[:k] * (s[:k] / np.sqrt(t))[:, None])
    return TemporalComponents(mean, white @ rotation, maps, values[order])


@gives_finite_numbers()
def noise_of_scans(X: Rows, n_components: int = 10, n_dropped: int = 3) -> Array:
    """Noise like that of real scans: what remains of them without the components of strongest autocorrelation.

    Parameters
    ----------
    X : array of shape (t, d)
        Scans in rows, in the order of time.
    n_components : int, default=10
        Components to separate.
    n_dropped : int, default=3
        Number of components that are regarded as signal and removed.

    Returns
    -------
    array of shape (t, d)
        Noise, with the mean of the scans removed.

    See Also
    --------
    preimage.neuro.make_scans : Takes such noise.
    molgedey_schuster : The components.

    Examples
    --------
    A slow oscillation is removed, and white noise remains:

    >>> import numpy as np
    >>> from preimage.neuro import noise_of_scans
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(300, 5))
    >>> X = 3 * np.sin(np.arange(300) / 20)[:, None] + noise
    >>> float(noise_of_scans(X, n_components=4, n_dropped=1).std().round(1)), float(X.std().round(1))
    (0.8, 2.3)
    """
    if not 0 <= n_dropped < n_components:
        raise ValueError(f"noise_of_scans must keep a component; got {n_dropped} of {n_components} to drop.")
    return molgedey_schuster(X, n_components).reconstruction(n_dropped)
