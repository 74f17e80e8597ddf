"""Missing entries of rows, filled by a fitted kernel PCA."""

from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, take_rows, to_numpy, with_rows
from preimage._engine.typing import Array, Rows
from preimage._models.completion import SubspaceEnergy, fill_near, median_distance, noisy_energy
from preimage.estimators._missing_entries import check_incomplete, map_incomplete
from preimage.estimators._preimages import PreimageMixin


class ImputesRows(PreimageMixin):
    """Mixed into estimators whose `subspace_` has principal axes with `explained_variance_`."""

    explained_variance_: Array
    explained_variance_ratio_: Array
    n_samples_seen_: int

    def impute(self, X: Rows, *, n_components: int | None = None, noise: float | str = "auto") -> Array:
        r"""Fill missing entries, which are NaN, so that rows lie near the principal subspace.

        Minimises :math:`\|\tilde\varphi(z)\|^2 - \sum_i (1 - \sigma^2/\lambda_i) \langle v_i, \tilde\varphi(z)
        \rangle^2` over the missing entries of each row z; known entries do not change. Rows without a known entry get
        the pre-image of the mean. `preimage.KernelImputer` is an imputer for pipelines: it scales columns, chooses the
        kernel width for this purpose, and can be fitted to incomplete rows.

        Parameters
        ----------
        X : array of shape (q, d)
            With NaN where an entry is missing.
        n_components : int or None, default=None
            How many of the leading components span the subspace; None is all.
        noise : "auto" or float in [0, 1), default="auto"
            Variance σ² around the subspace, as a fraction of the variance in feature space. "auto" is the mean of the
            eigenvalues that are left out; with 0 the squared distance :math:`\|\varphi(z) - P\varphi(z)\|^2` to the
            subspace is minimised.

        Returns
        -------
        array of shape (q, d)
            Lazy for a Dask array.

        Examples
        --------
        Points of a half circle, of which one coordinate is missing:

        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> angles = np.linspace(0, np.pi, 200)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
        >>> KernelPCA(10, gamma=1.0).fit(X).impute([[0.6, np.nan]]).round(1)
        array([[0.6, 0.8]])
        """
        check_is_fitted(self)
        PreimageMixin._require_inputs(self)
        filled = partial(_completed, self._energy(n_components, noise))
        return self._map_incomplete(lambda rows, observed: filled(rows, observed), X)

    def _map_incomplete(self, function: Any, X: Rows) -> Array:
        like = self.subspace_.frame.coefficients
        with self._working():
            return map_incomplete(self, function, check_incomplete(self, X, reset=False, like=like), like, np.nan)

    def _energy(self, n_components: int | None, noise: float | str) -> SubspaceEnergy:
        count = self._leading(n_components, self.n_components_)
        variances = self.explained_variance_[:count]
        total = float(self.explained_variance_[0]) / float(self.explained_variance_ratio_[0])
        if isinstance(noise, str) and noise == "auto":
            left = total - float(array_namespace(variances).sum(variances))
            sigma = max(0.0, left) / max(1, self.n_samples_seen_ - 1 - count)
        elif isinstance(noise, Real) and 0 <= noise < 1:
            sigma = float(noise) * total
        else:
            raise ValueError(f"noise must be 'auto' or a number in [0, 1), a fraction of the variance; got {noise!r}.")
        return noisy_energy(self.subspace_.leading(count), variances, sigma)


def _completed(energy: SubspaceEnergy, X: Array, observed: Array) -> Array:
    """Rows X with the entries that are not observed filled."""
    xp = array_namespace(X)
    rows = np.flatnonzero(~to_numpy(xp.all(observed, axis=1)))
    if not rows.size:
        return X
    points = energy.subspace.frame.points
    found = fill_near(energy, take_rows(X, rows), take_rows(observed, rows), points, median_distance(points))
    return with_rows(X, rows, found.points)
