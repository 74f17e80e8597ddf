"""Pre-images of fitted transformers: from coordinates in a subspace of feature space, or from its axes, to inputs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, is_chunked, is_lazy, to_numpy
from preimage._engine.memory import limited_memory
from preimage._engine.progress import progress_bar
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_coordinate_shape, check_coordinates, require_in_memory
from preimage._engine.warnings import warn_user
from preimage._models.machines import Coordinates, KernelMachine
from preimage.estimators._kernel_input import check_queries, map_queries
from preimage.exceptions import ConvergenceWarning, UnsupportedKernelError
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel
from preimage.solvers import PreimageResult, TargetSolver, free_length_preimages
from preimage.solvers._walks import as_linear_functions, basis_images, navigate


class PreimageMixin:
    """Mixed into transformers with a `kernel_`, a `subspace_` of feature space and a fitted solver `preimage_`."""

    kernel_: Kernel
    subspace_: Subspace
    preimage_: Any
    n_components_: int

    def inverse_transform(self, Y: Rows, *, n_components: int | None = None) -> Array:
        r"""Inputs with the coordinates Y: reconstruction.

        With ``preimage="auto"`` a map from coordinates to inputs, learned from the training rows at the first call. Its
        answers stay within the range of these rows and a margin for new ones, judged by the tails of each column:
        ``preimage_.reconstruction.lower`` and ``upper`` show the bounds.
        Other solvers minimise :math:`\|\varphi(z) - (\bar\varphi + \sum_j y_j V_j)\|^2` from the training point that is
        nearest in feature space. To denoise, use `denoise`, which starts at the noisy inputs.

        Parameters
        ----------
        Y : array of shape (q, `n_components_`), or of fewer columns
            Fewer columns are the coordinates along the first components.
        n_components : int or None, default=None
            How many of the leading components to use; None is all columns of Y.

        Returns
        -------
        array of shape (q, d)
            Lazy for a Dask array.

        Examples
        --------
        A circle needs a few components in feature space, and comes back from them:

        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
        >>> model = KernelPCA(4, gamma=0.5).fit(X)
        >>> Y = model.transform(X)
        >>> bool(np.abs(model.inverse_transform(Y) - X).max() < 0.01)
        True
        """
        if not is_chunked(Y):
            return points_of(self.find_preimages(Y, n_components=n_components))
        check_is_fitted(self)
        self._require_inputs()
        check_coordinate_shape(self, Y, self.n_components_)
        count = self._leading(n_components, Y.shape[1])
        # Not the whole estimator, which would travel to workers.
        subspace, in_frame = self.subspace_.leading(count), self._in_frame(count)
        solver = self.preimage_.ready(subspace, with_start=False)
        return self._map(lambda rows: solver.inverse(subspace, in_frame(rows[:, :count]), None).points, Y)

    def denoise(self, X: Rows, *, n_components: int | None = None) -> Array:
        r"""Project X on the subspace, through the mean, and find pre-images of the projections, starting at X.

        Parameters
        ----------
        X : array of shape (q, d)
        n_components : int or None, default=None
            How many of the leading components to project on; None is all.

        Returns
        -------
        array of shape (q, d)
            Lazy for a Dask array, without a warning where solvers do not converge.
        """
        return self._denoised(self._check_inputs(X), n_components)

    def find_preimages(self, Y: Rows, start: Rows = None, *, n_components: int | None = None) -> PreimageResult:
        """The full result of the pre-image solver: points, objectives, iterations, reasons of stopping.

        Parameters
        ----------
        Y : array of shape (q, `n_components_`), or of fewer columns
        start : array of shape (q, d), optional
            Where to start; penalties are on the distance to it. With ``preimage="auto"`` and a start, the result is the
            input near it whose image is nearest to the target, as in `denoise`; without a start it is a reconstruction,
            as in `inverse_transform`.
        n_components : int or None, default=None
            How many of the leading components to use; None is all columns of Y.

        Returns
        -------
        PreimageResult

        Examples
        --------
        How far the images of the pre-images are from the points that were asked for, and why the search stopped:

        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> model = KernelPCA(5, gamma=0.2, preimage="fixed_point").fit(X)
        >>> result = model.find_preimages(model.transform(X[:3]), start=X[:3])
        >>> result.objective.shape, result.converged.tolist(), str(result.reason[0])
        ((3,), [True, True, True], 'the stopping rule was met')
        """
        check_is_fitted(self)
        self._require_inputs()
        advice = "Use inverse_transform(Y), which stays lazy, or pass Y.compute()."
        require_in_memory(Y, "find_preimages gives results in memory and needs an array", advice)
        Y = check_coordinates(self, Y, self.n_components_, fitted=self.subspace_.frame.coefficients)
        start = None if start is None else self._check_inputs(start)
        if start is not None and start.shape[0] != Y.shape[0]:
            raise ValueError(
                f"There are {start.shape[0]} starts for {Y.shape[0]} rows of coordinates; one each is needed."
            )
        count = self._leading(n_components, Y.shape[1])
        with self._working():
            return self.preimage_.inverse(self.subspace_.leading(count), self._in_frame(count)(Y[:, :count]), start)

    def navigate(self, A: Rows, B: Rows, steps: int = 10, *, beyond: float | tuple[float, float] = 0.0) -> Array:
        """Inputs along the straight line between two points of the subspace, and beyond them.

        Beyond its ends the line shows what distinguishes them, exaggerated: a caricature of B seen from A. Far from
        the data no image of a Gaussian kernel is near the line any more, and pre-images stop changing.

        Parameters
        ----------
        A, B : arrays of shape (n, d)
            One point each, or a set each, which stands for its mean in feature space: class means, for instance.
        steps : int, default=10
            Points on the line, at equal distances, both ends included. Each pre-image starts at the one before.
        beyond : float or two floats, default=0.0
            How far the line goes on after each end, or before A and after B, in units of the distance between the two.

        Returns
        -------
        array of shape (steps, d)

        Examples
        --------
        From one end of a half circle to the other. The walk stays near the circle; the straight line between the two
        inputs goes through its centre.

        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> angles = np.linspace(0, np.pi, 100)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
        >>> model = KernelPCA(6, gamma=1.0).fit(X)
        >>> walk = model.navigate(X[:1], X[-1:], steps=5)
        >>> walk.shape, bool(np.linalg.norm(walk, axis=1).min() > 0.5)
        ((5, 2), True)
        """
        for rows in (A, B):
            require_in_memory(rows, "navigate needs arrays", "Pass A.compute() and B.compute().")
        A, B = self._check_inputs(A), self._check_inputs(B)
        self._require_inputs()
        return points_of(navigate(self.subspace_, self.preimage_, A, B, steps, beyond))

    def _denoised(self, X: Rows, n_components: int | None) -> Array:
        """Denoise validated rows; in memory with a warning where solvers do not converge."""
        self._require_inputs()
        subspace = self._leading_subspace(n_components)
        project = self._projection(subspace)
        if not is_lazy(X):
            with self._working():
                return points_of(self.preimage_.inverse(subspace, project(X), X))
        solver = self.preimage_.ready(subspace, with_start=True)
        return self._map(lambda rows: solver.inverse(subspace, project(rows), rows).points, X)

    def _projection(self, subspace: Subspace) -> Callable[[Array], Array]:
        """The function from inputs to the coordinates of what is kept of them in a leading subspace."""
        return subspace.coordinates

    def _in_frame(self, count: int) -> Callable[[Array], Array]:
        """The function from the first columns of what `transform` returns to coordinates in `subspace_`."""
        return lambda Y: Y

    def _leading(self, n_components: int | None, most: int) -> int:
        """A number of leading components, validated; all of them for None."""
        if n_components is None:
            return most
        if not isinstance(n_components, Integral) or not 1 <= n_components <= most:
            raise ValueError(f"n_components must be between 1 and {most}; got {n_components!r}.")
        return int(n_components)

    def _leading_subspace(self, n_components: int | None) -> Subspace:
        """The subspace of the first components; all of it for None."""
        if n_components is None:
            return self.subspace_
        return self.subspace_.leading(self._leading(n_components, self.n_components_))

    def _check_inputs(self, X: Rows) -> Rows:
        """Inputs for the fitted model: validated, of its library, device and precision."""
        if "n_features_in_" not in vars(self):  # tags take an eighth of the time of one row
            check_is_fitted(self)
        return check_queries(self, X, self.subspace_.frame.coefficients)

    def _map(self, function: Callable[[Array], Array], X: Rows) -> Array:
        with self._working():
            return map_queries(self, function, X, self.subspace_.frame.coefficients)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Report progress if the model is `verbose`, and keep temporary arrays within its `max_memory`."""
        limit, array = getattr(self, "max_memory", None), self.subspace_.frame.coefficients
        with progress_bar(getattr(self, "verbose", False)), limited_memory(limit, array):
            yield

    def _require_inputs(self) -> None:
        if self.kernel_.points_are_row_numbers:
            raise UnsupportedKernelError(
                f"A precomputed kernel has no inputs to go back to. Give {type(self).__name__} the kernel itself and "
                "the inputs."
            )


SEE_RESULT = "find_preimages() says which, and a solver with a larger max_iter may help."


def points_of(result: PreimageResult, advice: str = SEE_RESULT) -> Array:
    """The points of a result, with a warning that says how many did not converge, why, and what to do."""
    failed = len(result.converged) - int(np.sum(result.converged))
    if failed:
        reasons = ", ".join(sorted(set(result.reason[~result.converged])))
        warn_user(
            f"{failed} of {len(result.converged)} pre-images did not converge ({reasons}). They are no worse than "
            f"their starts; {advice}",
            ConvergenceWarning,
        )
    return result.points


def axes_machine(estimator: Any) -> KernelMachine:
    """Axes and mean of `subspace_` as the functions of a machine; an error of an axis counts by its variance."""
    check_is_fitted(estimator)
    space = estimator.subspace_
    frame, xp = space.frame, array_namespace(estimator.explained_variance_)
    weights = xp.sqrt(xp.abs(estimator.explained_variance_))
    expansion, intercept = frame, xp.zeros_like(weights) if space.offset is None else -space.offset
    if space.signature is None and not estimator.kernel_.points_are_row_numbers:  # pre-images need the mean as well
        mean = xp.zeros_like(frame.coefficients[:, :1]) if space.origin is None else space.origin.coefficients
        expansion = Expansion(frame.kernel, frame.points, xp.concat([frame.coefficients, mean], axis=1))
        one = xp.ones_like(weights[:1])
        intercept, weights = xp.concat([intercept, 0 * one]), xp.concat([weights, one])
    return KernelMachine(
        expansion,
        intercept,
        Coordinates(estimator.n_components_),
        estimator.n_features_in_,
        getattr(estimator, "feature_names_in_", None),
        to_numpy(weights),
    )


class ComponentPictures(PreimageMixin):
    """Mixed into estimators whose components are vectors of feature space: axes of `subspace_`, unless they say so."""

    n_features_in_: int

    def component_preimages(self, n_components: int | None = None) -> Array:
        """Inputs whose images point along the axes, of either sign, shape (n_components, d): pictures of components.

        For a kernel without a gradient, the training points whose images do so best.

        Parameters
        ----------
        n_components : int or None, default=None
            How many of the leading components; None is all.

        Returns
        -------
        array of shape (n_components, d)
            One input per component.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from preimage import KernelPCA
        >>> X = load_digits().data[:200] / 16
        >>> pictures = KernelPCA(8, gamma="median").fit(X).component_preimages(3)
        >>> pictures.reshape(3, 8, 8).shape
        (3, 8, 8)
        """
        check_is_fitted(self)
        self._require_inputs()
        axes = self._axes(n_components)
        eigenvalues = getattr(self, "eigenvalues_", None)
        n_directed = len(axes) if eigenvalues is None else int(np.sum(to_numpy(eigenvalues) != 0))
        if len(axes) > n_directed:
            raise ValueError(
                f"Only the first {n_directed} of {len(axes)} components have a direction; the others are zeros, kept "
                f"by remove_zero_eig=False. Ask for component_preimages({n_directed})."
            )
        solver = self.preimage_ if isinstance(self.preimage_, TargetSolver) else None
        with self._working():
            return free_length_preimages(as_linear_functions(axes), solver)[0]

    def component_images(self, n_components: int | None = None) -> Array:
        r"""Projections of the mapped basis vectors on the axes, shape (n_components, d).

        Entry (j, i) is :math:`\langle V_j, \varphi(e_i) \rangle`: for a linear kernel the principal axis itself.

        Parameters
        ----------
        n_components : int or None, default=None
            How many of the leading components; None is all.

        Returns
        -------
        array of shape (n_components, d)
            One row per component.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.decomposition import PCA
        >>> from preimage import KernelPCA
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> axes = KernelPCA(2, kernel="linear").fit(X).component_images()
        >>> np.allclose(np.abs(axes), np.abs(PCA(2).fit(X).components_))
        True
        """
        check_is_fitted(self)
        self._require_inputs()
        return basis_images(self._axes(n_components), self.n_features_in_)

    def _axes(self, n_components: int | None) -> Expansion:
        """The vectors of the first components; all of them for None."""
        return self._leading_subspace(n_components).frame
