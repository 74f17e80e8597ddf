"""Features that are vectors of feature space less an offset, with pre-images: what their estimators share."""

from collections.abc import Callable
from typing import Any

from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import is_lazy
from preimage._engine.typing import Array, Rows
from preimage._models.machines import Coordinates, KernelMachine
from preimage.estimators._kernel_input import with_kernel_tags
from preimage.estimators._preimages import PreimageMixin
from preimage.feature_space import Expansion
from preimage.solvers import Preimage
from preimage.solvers._learned import training_sample


class ExpansionFeatures(PreimageMixin):
    """Mixed into transformers whose features of x are ``expansion_(x) - offset_``."""

    kernel: Any
    expansion_: Expansion
    offset_: Array
    n_features_in_: int

    def _features(self, count: int) -> Callable[[Array], Array]:
        """From inputs to the first features; not the whole estimator, which would travel to workers."""
        features, offset = self.expansion_[:count], self.offset_[:count]
        return lambda rows: features(rows) - offset

    def _fitted_preimage(self, solver: Preimage, X: Rows) -> Preimage:
        """The solver, made ready for the subspace; from lazy rows it learns from some of them."""
        if self.kernel_.points_are_row_numbers:
            return solver  # a precomputed kernel has no inputs to go back to; `inverse_transform` says so
        if is_lazy(X):
            X = training_sample(X) if solver.learns else self.expansion_.points
        return solver.fit(self.subspace_, X)

    def _kernel_machine(self) -> KernelMachine:
        """The features as the functions of a machine."""
        check_is_fitted(self)
        return KernelMachine(
            self.expansion_,
            -self.offset_,
            Coordinates(self.n_components_),
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)  # type: ignore[misc]
