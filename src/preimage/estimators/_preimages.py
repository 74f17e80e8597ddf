"""Pre-images of fitted transformers: from coordinates in a subspace of feature space, or from its axes, to inputs."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, in_precision, is_chunked, is_lazy, to_numpy
from preimage._engine.objects import refuse_objects
from preimage._engine.progress import ReportsProgress
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_coordinate_shape, check_coordinates, require_in_memory
from preimage._engine.warnings import warn_user
from preimage._models.components import Features
from preimage._models.machines import Coordinates, KernelMachine
from preimage.estimators._estimator import Estimator
from preimage.estimators._kernel_input import KERNEL_CONSTRAINTS, with_kernel_tags
from preimage.exceptions import ConvergenceWarning, UnsupportedKernelError
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel
from preimage.solvers import Preimage, PreimageResult, TargetSolver, free_length_preimages
from preimage.solvers._learned import training_sample
from preimage.solvers._walks import as_linear_functions, basis_images, navigate

# Constraints of the parameters that all of them have.
TRANSFORMER_CONSTRAINTS = {
    **KERNEL_CONSTRAINTS,
    "preimage": [str, Preimage],
    "verbose": ["verbose"],
    "random_state": ["random_state", np.random.Generator],
}


class PreimageTransformer(ReportsProgress, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A transformer with a `kernel_`, a `subspace_` of feature space and a fitted solver `preimage_`."""

    kernel: Any
    kernel_: Kernel
    subspace_: Subspace
    preimage_: Any
    explained_variance_: Array
    n_components_: int
    n_features_in_: int

    def transform(self, X: Rows) -> Array:
        """The features of X, shape (q, `n_components_`), centred on the training set; lazy for a Dask array."""
        X = self._check_inputs(X)  # which checks that there are features
        return self._map(self._features(), X)

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
            Y, count = self._checked_coordinates(Y, n_components)
            subspace = self.subspace_ if count == len(self.subspace_) else self.subspace_.leading(count)
            with self._working():
                Y = self._in_frame(count)(Y[:, :count])
                found = self.preimage_._reconstruct(subspace, Y)
                return points_of(self.preimage_.inverse(subspace, Y)) if found is None else found
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
        X = self._check_inputs(X)
        self._require_inputs()
        subspace = self._leading_subspace(n_components)
        project = self._projection(subspace)
        if not is_lazy(X):
            with self._working():
                return points_of(self.preimage_.inverse(subspace, project(X), X))
        solver = self.preimage_.ready(subspace, with_start=True)
        return self._map(lambda rows: solver.inverse(subspace, project(rows), rows).points, X)

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
        Y, count = self._checked_coordinates(Y, n_components)
        start = None if start is None else self._check_inputs(start)
        if start is not None and start.shape[0] != Y.shape[0]:
            raise ValueError(
                f"There are {start.shape[0]} starts for {Y.shape[0]} rows of coordinates; one each is needed."
            )
        with self._working():
            return self.preimage_.inverse(self.subspace_.leading(count), self._in_frame(count)(Y[:, :count]), start)

    def _checked_coordinates(self, Y: Rows, n_components: int | None) -> tuple[Array, int]:
        """Validated coordinates in memory, and how many of their columns count."""
        check_is_fitted(self)
        self._require_inputs()
        advice = "Use inverse_transform(Y), which stays lazy, or pass Y.compute()."
        require_in_memory(Y, "find_preimages gives results in memory and needs an array", advice)
        Y = check_coordinates(self, Y, self.n_components_, fitted=self.subspace_.frame.coefficients)
        return Y, self._leading(n_components, Y.shape[1])

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

    def _features(self) -> Callable[[Array], Array]:
        """From inputs to features; not the whole estimator, which would travel to workers."""
        return self.subspace_.coordinates

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

    def _require_inputs(self) -> None:
        if self.kernel_.points_are_row_numbers:
            raise UnsupportedKernelError(
                f"A precomputed kernel has no inputs to go back to. Give {type(self).__name__} the kernel itself and "
                "the inputs."
            )

    def _require_numbers(self, what: str, instead: str) -> None:
        """Refuse what is arithmetic on inputs where these are objects; `instead` says what there is."""
        refuse_objects(f"{type(self).__name__}.{what}", self._vectors.points, instead)

    def _fitted_preimage(self, solver: Preimage, X: Rows) -> Preimage:
        """The solver, made ready for the subspace; from lazy rows it learns from some of them."""
        if self.kernel_.points_are_row_numbers:
            return solver  # a precomputed kernel has no inputs to go back to; `inverse_transform` says so
        solver.require_inputs_like(self.subspace_.frame.points)
        if is_lazy(X):
            X = training_sample(X) if solver.learns else self._vectors.points
        return solver.fit(self.subspace_, X)

    def _kernel_machine(self) -> KernelMachine:
        """Axes and mean as the functions of a machine; an error of an axis counts by its variance."""
        check_is_fitted(self)
        space = self.subspace_
        frame, xp = space.frame, array_namespace(self.explained_variance_)
        weights = xp.sqrt(xp.abs(self.explained_variance_))
        expansion, intercept = frame, xp.zeros_like(weights) if space.offset is None else -space.offset
        if space.signature is None and not self.kernel_.points_are_row_numbers:  # pre-images need the mean as well
            mean = xp.zeros_like(frame.coefficients[:, :1]) if space.origin is None else space.origin.coefficients
            expansion = Expansion(frame.kernel, frame.points, xp.concat([frame.coefficients, mean], axis=1))
            one = xp.ones_like(weights[:1])
            intercept, weights = xp.concat([intercept, 0 * one]), xp.concat([weights, one])
        return self._machine_of(expansion, intercept, to_numpy(weights))

    def _machine_of(self, expansion: Expansion, intercept: Array, weights: np.ndarray | None = None) -> KernelMachine:
        output, names = Coordinates(self.n_components_), getattr(self, "feature_names_in_", None)
        return KernelMachine(expansion, intercept, output, self._n_columns, names, weights)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)


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


class ComponentPictures(PreimageTransformer):
    """A transformer whose components are vectors of feature space: axes of `subspace_`, unless it says so."""

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
        self._require_numbers("component_images", "component_preimages() has the training rows along the components.")
        return basis_images(self._axes(n_components), self.n_features_in_)

    def _axes(self, n_components: int | None) -> Expansion:
        """The vectors of the first components; all of them for None."""
        return self._leading_subspace(n_components).frame


class ExpansionFeatures(PreimageTransformer):
    """A transformer whose features of x are ``expansion_(x) - offset_``."""

    expansion_: Expansion
    offset_: Array

    def _features(self) -> Callable[[Array], Array]:
        features, offset = self.expansion_, self.offset_
        return lambda rows: features(rows) - offset

    def _store_features(self, found: Features, solver: Preimage, X: Rows, dtype: Any) -> Callable[[Array], Array]:
        """Store features and their way back, in the precision of `dtype`; the function that converts other arrays."""
        narrow = lambda array: in_precision(array, dtype)
        points = found.vectors.points  # one array of points for all expansions
        points = points if self.kernel_.points_are_row_numbers else narrow(points)
        self.expansion_ = found.vectors.converted(narrow, points)
        self.offset_ = narrow(found.offset)
        self.subspace_ = found.subspace.converted(narrow, points)
        self.n_components_ = len(self.expansion_)
        self.preimage_ = self._fitted_preimage(solver, X)
        return narrow

    def _kernel_machine(self) -> KernelMachine:
        """The features as the functions of a machine."""
        check_is_fitted(self)
        return self._machine_of(self.expansion_, -self.offset_)
