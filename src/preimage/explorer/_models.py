"""Fitted models as a page has them: axes and mean in feature space, on few points, in double precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA as PlainKernelPCA
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import to_dense, to_numpy
from preimage._engine.objects import refuse_objects
from preimage._engine.warnings import unwarned
from preimage.estimators import (
    CompressedTransformer,
    KernelNoveltyDetector,
    KernelPCA,
    OrientedKernelPCA,
    SemiSupervisedKernelPCA,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.explorer._precision import require_moderate
from preimage.feature_space import Expansion, Subspace
from preimage.interop import machine_of
from preimage.kernels import Kernel, Warped
from preimage.solvers import Auto, FixedPoint, Gradient, Preimage, as_preimage
from preimage.solvers._auto import FittedAuto
from preimage.solvers._fixed_point import has_fixed_point

CLASSES = (
    KernelPCA,
    SemiSupervisedKernelPCA,
    OrientedKernelPCA,
    CompressedTransformer,
    KernelNoveltyDetector,
    PlainKernelPCA,
)
SUPPORTED = (
    "KernelPCA (also scikit-learn's), SemiSupervisedKernelPCA, OrientedKernelPCA, CompressedTransformer, "
    "KernelNoveltyDetector, imputers, and kernel machines that decide or predict, such as SVC, KernelRidge and "
    "SparseGreedyClassifier"
)


@dataclass(frozen=True)
class PageModel:
    """Features y = ⟨W, φ(z)⟩ − offset of inputs z, and the vectors of feature space that they stand for.

    Attributes
    ----------
    functions : Expansion of k vectors
        W, on NumPy points in double precision, with a kernel that does not shift its inputs.
    offset : array of shape (k,)
    origin : Expansion of one vector or None
        The mean of feature space, on the same points; None is zero.
    origin_squared_norm : float
    signature : array of shape (k,) or None
        Signs of the squared norms of the axes of indefinite kernels.
    features : lower triangular array of shape (k, k) or None
        F, with coordinates Fy in the orthonormal frame WFᵀ; None where W itself is one.
    eigenvalues, variances, explained : arrays of shape (k,) or None
        Of the components on the training set, where the model knows them.
    solver : FixedPoint or Gradient
    shift : array of shape (d,) or None
        What is subtracted from the inputs of the original before the kernel sees them.
    other_solver : str or None
        The solver of the original, where pages do not have it.
    n_rows : int or None
        Rows that the original was fitted to, where it knows them.
    """

    functions: Expansion
    offset: np.ndarray
    origin: Expansion | None
    origin_squared_norm: float
    signature: np.ndarray | None
    features: np.ndarray | None
    eigenvalues: np.ndarray | None
    variances: np.ndarray | None
    explained: np.ndarray | None
    solver: FixedPoint | Gradient
    shift: np.ndarray | None = None
    other_solver: str | None = None
    n_rows: int | None = None

    def __len__(self) -> int:
        return len(self.functions)

    @property
    def kernel(self) -> Kernel:
        return self.functions.kernel

    @property
    def points(self) -> np.ndarray:
        return self.functions.points

    def coordinates(self, Z: np.ndarray) -> np.ndarray:
        """What `transform` gives for rows that the kernel takes, shape (n, k)."""
        return self.functions(Z) - self.offset

    def residuals(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Squared distances of φ(z) from the subspace, for rows Z with the coordinates Y, shape (n,)."""
        B = Y if self.features is None else Y @ self.features.T
        squared = np.asarray(self.kernel.diagonal(Z))
        if self.origin is not None:
            squared = squared - 2 * self.origin(Z)[:, 0] + self.origin_squared_norm
        found = squared - np.sum(B * B if self.signature is None else B * B * self.signature, axis=1)
        return found if self.signature is not None else np.maximum(found, 0.0)

    def target(self, Y: np.ndarray) -> Expansion:
        """The vectors of feature space with the coordinates Y, as the page computes them."""
        B = Y if self.features is None else Y @ self.features.T @ self.features
        B = B if self.signature is None else B * self.signature
        mean = 0.0 if self.origin is None else self.origin.coefficients
        return Expansion(self.kernel, self.points, self.functions.coefficients @ B.T + mean)

    def deviations(self, Y: np.ndarray) -> np.ndarray:
        """Standard deviations of coordinates: on the training set, else of the coordinates Y, else of the points."""
        if self.variances is not None:
            known = np.sqrt(np.abs(self.variances))
        else:
            of_points = self.coordinates(self.kernel.inputs_of_points(self.points))
            known = np.where(np.std(Y, axis=0) > 0, np.std(Y, axis=0), np.std(of_points, axis=0))
        return np.where(known > 0, known, 1.0)

    def leading(self, count: int) -> PageModel:
        """The model of the first components."""
        cut = lambda array: None if array is None else array[:count]
        return replace(
            self,
            functions=self.functions[:count],
            offset=self.offset[:count],
            signature=cut(self.signature),
            features=None if self.features is None else self.features[:count, :count],
            eigenvalues=cut(self.eigenvalues),
            variances=cut(self.variances),
            explained=cut(self.explained),
        )

    def on(self, functions: Expansion, intercept: np.ndarray) -> PageModel:
        """The same model made of approximations: k functions and, where there is an origin, that of the origin.

        Intercepts are what is added to their values. Those are nearer to the values of the original than norms of the
        approximations are to its norms: ρ = k(z, z) − 2ψ(z) + ‖Ψ‖² is that of the original with the constants moved
        from ψ to ‖Ψ‖².
        """
        k = len(self)
        offset = -intercept[:k]
        own = Expansion(self.kernel, functions.points, np.ascontiguousarray(functions.coefficients[:, :k]))
        if self.origin is None:
            return replace(self, functions=own, offset=offset)
        origin = Expansion(self.kernel, functions.points, np.ascontiguousarray(functions.coefficients[:, k:]))
        norm = self.origin_squared_norm - 2 * float(intercept[k])
        return replace(self, functions=own, offset=offset, origin=origin, origin_squared_norm=norm)


def is_machine(estimator: Any) -> bool:
    """Whether a model of a class that has no components decides or predicts, and is a kernel machine."""
    return not isinstance(estimator, CLASSES) and hasattr(estimator, "predict") and not isinstance(estimator, type)


def fitted_kernel(estimator: Any) -> Kernel:
    """The kernel of a fitted estimator of a class that pages know."""
    if is_machine(estimator):
        try:
            return machine_of(estimator).expansion.kernel.unshifted()[0]
        except TypeError as error:
            raise _unknown(estimator) from error
    if not isinstance(estimator, CLASSES):
        raise _unknown(estimator)
    check_is_fitted(estimator)
    kernel = estimator.kernel_ if hasattr(estimator, "kernel_") else machine_of(estimator).expansion.kernel
    return kernel.unshifted()[0]


def _unknown(estimator: Any) -> TypeError:
    return TypeError(
        f"explore shows fitted models of {SUPPORTED}, alone or as the last step of a Pipeline; got "
        f"{_described(estimator)}."
    )


def width_of(kernel: Kernel) -> float | None:
    """γ of a resolved kernel or of the one that it changes; None where there is none."""
    while not hasattr(kernel, "gamma") and isinstance(getattr(kernel, "kernel", None), Kernel):
        kernel = kernel.kernel
    gamma = getattr(kernel, "gamma", None)
    return float(gamma) if isinstance(gamma, (int, float, np.number)) else None


def page_model(estimator: Any) -> PageModel:
    """A fitted estimator as a `PageModel`.

    Raises
    ------
    TypeError
        If pages do not know its class.
    NotFittedError
        If it has not been fitted.
    UnsupportedKernelError
        If its kernel has no gradient, or no inputs.
    """
    fitted_kernel(estimator)
    if isinstance(estimator, KernelNoveltyDetector):
        return page_model(estimator.kernel_pca_)
    if isinstance(estimator, OrientedKernelPCA):
        # Coordinates β with βR = y, see `OrientedKernelPCA._in_frame`: F is the inverse of Rᵀ, lower triangular.
        features = np.linalg.inv(_double(estimator.mixing_).T)
        functions, offset, ratios = estimator.expansion_, estimator.offset_, estimator.ratios_
        return _checked_model(estimator, estimator.subspace_, ratios, ratios, None, functions, offset, features)
    if isinstance(estimator, (CompressedTransformer, PlainKernelPCA)):
        return _model_of_machine(estimator)
    variances = estimator.explained_variance_
    eigenvalues = getattr(estimator, "eigenvalues_", variances)
    return _checked_model(estimator, estimator.subspace_, eigenvalues, variances, estimator.explained_variance_ratio_)


def _model_of_machine(estimator: Any) -> PageModel:
    machine = machine_of(estimator)
    expansion, k = machine.expansion, machine.output.n_functions
    require_inputs(estimator, expansion.kernel)
    if len(expansion) == k:
        raise TypeError(
            f"explore needs the mean in feature space, which this {type(estimator).__name__} does not have: only "
            "models compressed from KernelPCA with a definite kernel have it. Pass the original; explore compresses it."
        )
    mean = expansion[k:]
    # The constant of the function of the mean is moved to its norm, see `PageModel.on`.
    norm = float(mean.squared_norms()[0]) - 2 * float(machine.intercept[k])
    space = Subspace(expansion[:k], mean, offset=-machine.intercept[:k], origin_squared_norm=norm)
    eigenvalues = getattr(estimator, "eigenvalues_", None)
    variances = None if eigenvalues is None else np.asarray(eigenvalues) / expansion.points.shape[0]
    return _checked_model(estimator, space, eigenvalues, variances, None)


def _checked_model(
    estimator: Any,
    space: Subspace,
    eigenvalues: Any,
    variances: Any,
    explained: Any,
    functions: Expansion | None = None,
    offset: Any = None,
    features: np.ndarray | None = None,
) -> PageModel:
    """The model of a subspace, whose features are coordinates in its frame or the values of other `functions`."""
    if functions is None:
        functions, offset = space.frame, space.offset
    kernel = functions.kernel
    require_inputs(estimator, kernel)
    optional = lambda array: None if array is None else _double(array)
    given = (
        estimator.preimage_ if hasattr(estimator, "preimage_") else as_preimage(getattr(estimator, "preimage", "auto"))
    )
    solver = page_solver(given, kernel.unshifted()[0])
    own = getattr(given, "projection", given)
    functions, origin, shift = _on_plain_points(functions, space.origin)
    k = len(functions)
    model = PageModel(
        functions,
        np.zeros(k) if offset is None else _double(offset),
        origin,
        0.0 if space.origin_squared_norm is None else float(space.origin_squared_norm),
        optional(space.signature),
        features,
        optional(eigenvalues),
        optional(variances),
        optional(explained),
        solver,
        shift,
        None if own is solver or isinstance(given, Auto) else type(getattr(given, "settings", given)).__name__,
        getattr(estimator, "n_samples_seen_", None),
    )
    return _without_zero_components(estimator, model)


def require_inputs(estimator: Any, kernel: Kernel) -> None:
    """Raise for kernels whose points are rows of a matrix, and no inputs."""
    if kernel.points_are_row_numbers:
        raise UnsupportedKernelError(
            f"explore goes back to inputs, which a precomputed kernel does not have. Fit {type(estimator).__name__} "
            "with the kernel itself and the inputs."
        )


def _on_plain_points(
    functions: Expansion, origin: Expansion | None
) -> tuple[Expansion, Expansion | None, np.ndarray | None]:
    """Functions and origin on one set of points of a kernel that does not shift its inputs, and its former shift.

    Points without coefficients stay: tolerances of solvers are relative to the spread of all of them.
    """
    kernel, shift = functions.kernel.unshifted()
    if origin is not None and origin.points is not functions.points:
        both = Expansion.join([functions, origin])
        functions, origin = both[: len(functions)], both[len(functions) :]
    refuse_objects("explore", functions.points, "Draw transform(X), or the nearest rows of components, by matplotlib.")
    points = _double(functions.points)
    require_moderate(points, "the points of the model")
    if shift is not None:
        shift = _double(shift)
        points = points - shift
    mean = None if origin is None else Expansion(kernel, points, _double(origin.coefficients))
    return Expansion(kernel, points, _double(functions.coefficients)), mean, shift


def _without_zero_components(estimator: Any, model: PageModel) -> PageModel:
    """The model without the columns of zeros that ``remove_zero_eig=False`` keeps at its end."""
    directed = int(np.sum(np.any(model.functions.coefficients != 0, axis=0)))
    if directed == 0:
        raise ValueError(f"explore needs at least one component; this {type(estimator).__name__} has none.")
    return model if directed == len(model) else model.leading(directed)


def _double(array: Any) -> np.ndarray:
    with unwarned():
        return np.ascontiguousarray(to_numpy(to_dense(array)), dtype=np.float64)


def _described(estimator: Any) -> str:
    return f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__


def page_solver(preimage: Preimage, kernel: Kernel) -> FixedPoint | Gradient:
    """The solver of nearest images that stands for the solver of a model on its page.

    A page has the fixed point and descent. Solvers that learn or use a closed formula answer another question; the
    default for the kernel takes their place.
    """
    solver = preimage.projection if isinstance(preimage, FittedAuto) else preimage
    if type(solver) not in (FixedPoint, Gradient):
        solver = Auto().for_vectors(kernel)
    if type(solver) is FixedPoint and has_fixed_point(kernel) and not isinstance(kernel, Warped):
        return solver
    if type(solver) is Gradient:
        return solver
    # A program of the page differentiates itself, also where a kernel of the library has no gradient.
    return Gradient(**{name: getattr(solver, name) for name in ("penalty", "tol", "max_iter") if hasattr(solver, name)})
