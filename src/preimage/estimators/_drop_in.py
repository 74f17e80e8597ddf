"""Parameters and attributes of `sklearn.decomposition.KernelPCA`, which ours takes the place of."""

from typing import Any

from sklearn.exceptions import NotFittedError

from preimage._engine.arrays import array_namespace
from preimage._engine.typing import Array
from preimage._engine.validation import check_parameters
from preimage._models.components import Wanted
from preimage.eigensolvers import Eigensolver
from preimage.estimators._kernel_input import is_precomputed, named_kernel, without_origin
from preimage.feature_space import Subspace
from preimage.kernels import Kernel
from preimage.solvers import LearnedMap, Preimage, as_preimage

# scikit-learn's names of eigensolvers, and ours.
SKLEARN_SOLVERS = {"auto": "auto", "dense": "dense", "arpack": "arpack", "randomized": "block_krylov"}


class DropIn:
    """Mixed into `KernelPCA`: what scikit-learn's parameters mean here, and its fitted attributes."""

    n_components: float | None
    kernel: Any
    eigensolver: str | Eigensolver
    eigen_solver: str | None
    remove_zero_eig: bool | None
    center: bool
    fit_inverse_transform: bool | None
    alpha: float | None
    preimage: str | Preimage
    kernel_: Kernel
    subspace_: Subspace
    preimage_: Any
    eigenvalues_: Array
    explained_variance_: Array
    route_: str
    _kept_weights: Array | None
    n_features_in_: int

    @property
    def eigenvectors_(self) -> Array:
        self._require_fitted("eigenvectors_")
        if self.route_ != "exact":
            raise AttributeError("eigenvectors_ belong to the Gram matrix of all rows; this KernelPCA has landmarks.")
        xp = array_namespace(self.eigenvalues_)
        vectors = self.subspace_.frame.coefficients * xp.sqrt(xp.abs(self.eigenvalues_))
        # √w of (S3) is part of the axes, not of unit eigenvectors.
        weights = self._relative_weights()
        if weights is None:
            return vectors
        return vectors / xp.sqrt(weights * self.eigenvalues_[0] / self.explained_variance_[0])

    @property
    def X_fit_(self) -> Array:
        self._require_fitted("X_fit_")
        return self.subspace_.frame.points

    @property
    def dual_coef_(self) -> Array:
        self._require_fitted("dual_coef_")
        if not self.fit_inverse_transform:
            raise AttributeError("dual_coef_ are weights of a learned map; fit with fit_inverse_transform=True.")
        if not hasattr(self.preimage_, "weights"):
            raise AttributeError("This KernelPCA was fitted without fit_inverse_transform=True; fit it again.")
        return self.preimage_.weights

    @property
    def gamma_(self) -> float:
        self._require_fitted("gamma_")
        return getattr(self.kernel_.unshifted()[0], "gamma", 1 / self.n_features_in_)

    def _relative_weights(self) -> Array | None:
        """Weights of the rows of an exact model, with the sum one, shape (n, 1); None if all are equal."""
        # The mean has them for coefficients; where axes go through zero there is no mean.
        origin = self.subspace_.origin
        return self._kept_weights if origin is None else origin.coefficients

    def _require_fitted(self, attribute: str) -> None:
        if not hasattr(self, "subspace_"):
            raise AttributeError(f"This KernelPCA is not fitted yet and has no {attribute}; call fit first.")

    def _check_settings(self) -> None:
        """Check parameters, each by itself and together."""
        check_parameters(self)
        if not self.fit_inverse_transform:
            return
        if self.preimage not in ("auto", "learned"):
            raise ValueError(
                "KernelPCA was given fit_inverse_transform=True, which learns a map to inputs, and preimage="
                f"{self.preimage!r}, another way to find pre-images. Leave one of them out."
            )
        if is_precomputed(self.kernel):
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel: it has no inputs to go back to. Give "
                "KernelPCA the kernel itself and the inputs."
            )
        kernel = named_kernel(self)
        if self.alpha is not None and kernel.is_bound_to_columns:
            raise ValueError(
                "The map of `alpha`, scikit-learn's, evaluates the kernel on coordinates, which have columns and "
                f"values of their own; {kernel!r} takes inputs like the training set alone. Leave `alpha` out, or use "
                "preimage='learned', which chooses a kernel on coordinates."
            )

    def _wanted(self) -> Wanted:
        return Wanted.of(self.n_components, with_zeros=self.remove_zero_eig is False, about_mean=self.center)

    def _solver_name(self) -> str | Eigensolver:
        if self.eigen_solver is None:
            return self.eigensolver
        if self.eigensolver != "auto":
            raise ValueError(
                f"KernelPCA was given eigensolver={self.eigensolver!r} and eigen_solver={self.eigen_solver!r}, two "
                "spellings of one parameter. Leave one of them out."
            )
        return SKLEARN_SOLVERS[self.eigen_solver]

    def _preimage_solver(self) -> Preimage:
        """The solver that `preimage`, or `fit_inverse_transform` and `alpha`, ask for."""
        if not self.fit_inverse_transform:
            return as_preimage(self.preimage)
        if self.alpha is None:
            return as_preimage("learned")
        return LearnedMap(kernel=without_origin(self.kernel_), ridge=float(self.alpha), center=False, max_rows=None)

    def _require_inverse_transform(self) -> None:
        if self.fit_inverse_transform is False:
            raise NotFittedError(
                "This KernelPCA was fitted with fit_inverse_transform=False, so it finds no pre-images. Leave the "
                "parameter out, or set it to True, and fit again."
            )
