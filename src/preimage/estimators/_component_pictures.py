"""Pictures of principal axes in input space."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import to_numpy
from preimage._typing import Array
from preimage.estimators._preimages import PreimageMixin
from preimage.solvers import TargetSolver, free_length_preimages
from preimage.solvers._walks import as_linear_functions, basis_images


class ComponentPictures(PreimageMixin):
    """Mixed into estimators whose `subspace_` has principal axes with `eigenvalues_`."""

    eigenvalues_: Array
    n_features_in_: int

    def component_preimages(self, n_components: int | None = None) -> Array:
        """Inputs whose images point along the axes, of either sign, shape (n_components, d): pictures of components.

        For a kernel without a gradient, the training points whose images do so best.
        """
        check_is_fitted(self)
        self._require_inputs()
        axes = self._leading_subspace(n_components).frame
        n_directed = int(np.sum(to_numpy(self.eigenvalues_) != 0))
        if len(axes) > n_directed:
            raise ValueError(
                f"Only the first {n_directed} of {len(axes)} components have a direction; the others are zeros, kept "
                f"by remove_zero_eig=False. Ask for component_preimages({n_directed})."
            )
        solver = self.preimage_ if isinstance(self.preimage_, TargetSolver) else None
        return free_length_preimages(as_linear_functions(axes), solver)[0]

    def component_images(self, n_components: int | None = None) -> Array:
        r"""Projections of the mapped basis vectors on the axes, shape (n_components, d).

        Entry (j, i) is :math:`\langle V_j, \varphi(e_i) \rangle`: for a linear kernel the principal axis itself.
        """
        check_is_fitted(self)
        self._require_inputs()
        return basis_images(self._leading_subspace(n_components).frame, self.n_features_in_)
