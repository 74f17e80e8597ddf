"""How well a fitted kernel PCA reconstructs rows, and the width that does it best."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from preimage._engine.arrays import array_namespace, in_memory, to_dense, to_numpy
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import check_weights
from preimage._engine.warnings import ignored
from preimage._models.components import Wanted
from preimage.estimators._kernel_input import is_precomputed
from preimage.estimators._preimages import PreimageMixin
from preimage.exceptions import RankWarning
from preimage.kernels import Kernel
from preimage.kernels._bandwidth import RECONSTRUCTION
from preimage.solvers._reconstruction_width import with_reconstruction_width


def _has_inputs(estimator: Any) -> bool:
    """A precomputed kernel has no inputs to reconstruct."""
    return not is_precomputed(estimator.kernel)


class ReconstructsRows(PreimageMixin):
    """Mixed into `KernelPCA`."""

    center: bool

    @available_if(_has_inputs)
    def score(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> float:
        r"""Minus the mean squared error of reconstructing X from its coordinates: the higher, the better.

        :math:`-\frac{1}{qd} \sum_i \|x_i - r(\beta(x_i))\|^2`, where r is `inverse_transform`; in the squared units of
        the inputs, and zero if all rows come back exactly. Rows of the training set are reconstructed too well to judge
        by: give others, as ``GridSearchCV(KernelPCA(), ...)`` does. It is not the mean of `score_samples`, which are
        distances in feature space, and cannot be compared between kernels.

        Parameters
        ----------
        X : array of shape (q, d)
            Rows that the model has not seen; also a memory map or a Dask array.
        y : None
            Ignored.
        sample_weight : array of shape (q,), optional
            How often each row counts.

        Returns
        -------
        float

        Examples
        --------
        A search for the width that reconstructs best:

        >>> import numpy as np
        >>> from sklearn.model_selection import GridSearchCV
        >>> from preimage import KernelPCA
        >>> rng = np.random.default_rng(0)
        >>> angles = rng.uniform(0, 2 * np.pi, size=100)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles), np.cos(2 * angles)])
        >>> search = GridSearchCV(KernelPCA(2), {"gamma": [0.01, 0.1, 10.0]}).fit(X)
        >>> search.best_params_["gamma"] < 10
        True
        >>> bool(search.best_estimator_.score(X) < 0)
        True
        """
        X = self._check_inputs(X)
        self._require_inputs()
        weights = check_weights(self, in_memory(sample_weight), X.shape[0])
        subspace = self.subspace_
        solver = self.preimage_.ready(subspace, with_start=False)

        def squared_errors(rows: Rows) -> Array:
            found = solver.inverse(subspace, subspace.coordinates(rows), None).points
            return array_namespace(found).mean((found - to_dense(rows)) ** 2, axis=1)

        errors = to_numpy(in_memory(self._map(squared_errors, X)))
        return -float(np.average(np.asarray(errors, dtype=np.float64), weights=weights))

    def _with_reconstruction_width(self, kernel: Kernel, X: Rows) -> Kernel:
        """The kernel with the width that reconstructs left-out rows of X best from the components that are wanted."""
        wanted: Wanted = self._wanted()  # type: ignore[attr-defined]
        linear = min(X.shape) - 1 if self.center else min(X.shape)
        if wanted.number is not None:
            count: Any = wanted.number
        elif wanted.fraction is not None:
            count = lambda values: wanted.count(values, float(np.sum(values)))
        else:  # all: those of PCA at least
            count = max(1, linear)
        return with_reconstruction_width(kernel, X, count, about_mean=self.center)

    def _expected_rank(self, X: Rows) -> AbstractContextManager[Any]:
        """No warning where fewer components than were asked for, but as many as columns, are what was chosen."""
        model: Any = self
        gamma, number = getattr(model.kernel, "gamma", model.gamma), self._wanted().number  # type: ignore[attr-defined]
        is_chosen = isinstance(gamma, str) and gamma == RECONSTRUCTION
        return ignored(RankWarning) if is_chosen and (number or 0) > X.shape[1] else nullcontext()
