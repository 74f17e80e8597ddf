"""A fitted kernel PCA with some of its components."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import take_rows
from preimage._engine.memory import limited_memory
from preimage._engine.typing import Array
from preimage.eigensolvers import EigenResult
from preimage.feature_space import Subspace
from preimage.kernels import Kernel
from preimage.solvers import Preimage


class ComponentChoice:
    """Mixed into `KernelPCA`: keep components by number, not only the leading ones."""

    kernel_: Kernel
    subspace_: Subspace
    eigen_result_: EigenResult
    n_components_: int
    max_memory: Any
    _preimage_solver: Callable[[], Preimage]

    def with_components(self, components: Array) -> Self:
        """This fitted model with the given components alone: in them it transforms, denoises and goes back.

        The leading components have the largest variance, which need not be what one looks for: drifts and heart beats
        are large in brain scans. Choose by a reference instead (`preimage.neuro.reference_components`), or
        leave out a component that shows an artefact.

        Parameters
        ----------
        components : sequence of int, or of bool with one entry per component
            Numbers of components, from 0 on, each once, in the order in which `transform` shall return them.

        Returns
        -------
        KernelPCA
            Another model, which shares the points of this one. A further `fit` or `partial_fit` finds all components
            again.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> model = KernelPCA(5, gamma=0.1).fit(X)
        >>> some = model.with_components([0, 3])
        >>> bool(np.allclose(some.transform(X), model.transform(X)[:, [0, 3]]))
        True
        """
        check_is_fitted(self)
        numbers = _numbers(components, self.n_components_)
        some: Any = copy(self)
        some.subspace_ = self.subspace_.take(numbers)
        for name in ("eigenvalues_", "explained_variance_", "explained_variance_ratio_"):
            setattr(some, name, take_rows(getattr(self, name), numbers))
        found = self.eigen_result_
        values, residuals = (take_rows(array, numbers) for array in (found.values, found.residuals))
        some.eigen_result_ = replace(found, values=values, residuals=residuals)
        some.n_components_ = len(numbers)
        solver = self._preimage_solver()
        if solver.learns and not self.kernel_.points_are_row_numbers:
            with limited_memory(self.max_memory, some.subspace_.frame.coefficients):
                some.preimage_ = solver.fit(some.subspace_, some.subspace_.frame.points)
        return some


def _numbers(components: Array, count: int) -> np.ndarray:
    """Numbers of components, checked."""
    given = np.asarray(components)
    if given.dtype == bool and given.shape == (count,):
        given = np.flatnonzero(given)
    is_list = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu"
    if not is_list or given.min() < 0 or given.max() >= count or np.unique(given).size < given.size:
        raise ValueError(
            f"KernelPCA.with_components needs numbers of components, each once, from 0 to {count - 1}, or {count} "
            f"truth values of which one or more are true; got {components!r}."
        )
    return given.astype(np.intp)
