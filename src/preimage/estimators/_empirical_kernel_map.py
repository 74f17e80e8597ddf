"""Kernel values with a set of points, as features."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, from_numpy, in_memory, is_lazy, own_copy, to_dense
from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.removed import ignores_removed
from preimage._engine.threads import on_own_threads
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import StrOptions, check_lazy_points, check_parameters, check_points
from preimage._models.machines import Coordinates, KernelMachine
from preimage.estimators._estimator import Estimator
from preimage.estimators._has_landmarks import HasLandmarks
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    check_rows_of,
    gives_points,
    is_precomputed,
    kernel_and_inputs,
    kernel_on_sample,
    named_kernel,
    selected,
    uses_landmarks,
    with_kernel_tags,
)
from preimage.feature_space import Expansion, Gram, empirical_map
from preimage.kernels import Precomputed
from preimage.landmarks import Landmarks


class EmpiricalKernelMap(HasLandmarks, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""The map :math:`x \mapsto (k(z_1, x), \dots, k(z_m, x))`, plain or whitened.

    The whitened map :math:`(K_{ZZ}^+)^{1/2} (k(z_1, x), \dots, k(z_m, x))` has inner products equal to k(x, y)
    whenever x or y is one of the points z; for others it is the inner product of projections on the span of
    :math:`\varphi(Z)`. It turns linear methods into kernel methods: a linear SVM on it is a kernel SVM.

    Inner products of real features cannot be negative definite. Where a kernel has negative eigenvalues on the points
    (a sigmoid, "additive_chi2", many similarities), the whitened map has the positive part alone,
    :math:`K_+ = \sum_{\lambda_i > 0} \lambda_i u_i u_i^\top`, the nearest positive semidefinite matrix; `fit` warns
    and says how much is left out. The plain map keeps the values as they are.

    Similarities that are not symmetric, and different sets on both sides, are whitened by the data, ``whiten="data"``:
    with the values F = k(X, Z) of training rows X and points Z the features are :math:`((F^\top F)^+)^{1/4}` times the
    kernel values, and inner products of training rows are :math:`(F F^\top)^{1/2}` [1]_. F may be any matrix; where it
    is symmetric, its negative eigenvalues count by their modulus.

    Parameters
    ----------
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    landmarks : array of shape (m, d), int, str, LandmarkSelector or None, default=None
        The points z; None takes the training set. A number, a name or a selector chooses them as in `KernelPCA`, and
        "auto" does so from 20,000 rows on. With landmarks, X may be a memory map or a Dask array, of which `fit` reads
        no more than it must: some rows where a width or points are looked for, all of them block by block with
        ``whiten="data"``.
    whiten : bool or "data", default=False
        Whether to multiply by the inverse root of the Gram matrix of the points. "data" multiplies by the inverse
        fourth root of :math:`F^\top F`, F the values between training rows and points. The kernel may then have a
        direction, ``CallableKernel(function, symmetric=False)``, and a precomputed matrix any shape: it is F itself.
    random_state : int, RandomState, Generator or None, default=0
        For the choice of points; selectors given as objects have their own seed.

    Attributes
    ----------
    expansion_ : Expansion
        The features as vectors of feature space.
    landmarks_ : Landmarks or None
        The points and what they leave of the kernel, where a selector chose them.
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelPCA : Coordinates of largest variance.
    preimage.kernels.CallableKernel : Similarities of your own, also with a direction.
    preimage.kernels.Iterated : The kernel whose inner products these are.
    sklearn.kernel_approximation.Nystroem : The whitened map on random points.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999, section II-C.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import EmpiricalKernelMap
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> features = EmpiricalKernelMap(gamma=0.5, whiten=True).fit(X)
    >>> np.allclose(features.transform(X) @ features.transform(X).T, features.kernel_(X))
    True

    A similarity of queries and documents, in which the two are not treated alike:

    >>> from preimage.kernels import CallableKernel
    >>> recall = CallableKernel(lambda x, z: np.minimum(x, z).sum() / z.sum(), symmetric=False)
    >>> queries, documents = np.abs(X), np.abs(X[:5])
    >>> features = EmpiricalKernelMap(recall, landmarks=documents, whiten="data").fit(queries)
    >>> F, S = recall(queries, documents), features.transform(queries)
    >>> np.allclose(S @ S.T @ S @ S.T, F @ F.T)
    True
    """

    _takes_objects = True
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "landmarks": ["array-like", "sparse matrix", object],
        "whiten": ["boolean", StrOptions({"data"})],
        "random_state": ["random_state", np.random.Generator],
    }

    @ignores_removed
    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        landmarks: Any = None,
        whiten: bool | str = False,
        random_state: Seed = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.whiten = whiten
        self.random_state = random_state

    @on_own_threads
    def fit(self, X: Rows, y: Targets = None) -> "EmpiricalKernelMap":
        """Store the points, and whiten their Gram matrix when asked.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Fixes data-dependent parameters of the kernel; also the points unless `landmarks` are given. With
            `landmarks`, also a memory map or a Dask array.
        y : array of shape (n,), optional
            Class labels for a rule that finds the width from class means, such as ``gamma="enclosing_ball"``; ignored
            otherwise.
        """
        check_parameters(self)
        if is_precomputed(self.kernel) and self.landmarks is not None:
            raise ValueError("A precomputed kernel knows the training points only; leave `landmarks` out.")
        by_data = isinstance(self.whiten, str)
        self.landmarks_: Landmarks | None = None
        if by_data and is_precomputed(self.kernel):
            self.expansion_: Expansion = self._of_values(X)
            return self
        X = self._resolved_on(X, y)
        against = X if by_data else None
        points = self.kernel_.inputs(self._chosen_points(X))
        self.expansion_ = empirical_map(self.kernel_, points, whiten=bool(self.whiten), against=against)
        return self

    def _resolved_on(self, X: Rows, y: Targets) -> Rows:
        """Fix the kernel on X, which is returned validated; of lazy rows some are enough for widths."""
        symmetric = self.whiten is True or not (self.landmarks is None or gives_points(self.landmarks))
        if self.landmarks is None or not is_lazy(X):
            self.kernel_, X = kernel_and_inputs(self, X, y, symmetric=symmetric)
            return X
        X = check_lazy_points(self, X, reset=True, min_samples=1)
        self.kernel_ = kernel_on_sample(self, named_kernel(self, symmetric=symmetric), X, in_memory(y))
        return X

    def _chosen_points(self, X: Rows) -> Array:
        if gives_points(self.landmarks):
            return own_copy(check_rows_of(self, self.kernel_, self.landmarks, reset=False, like=X), self.landmarks)
        if not uses_landmarks("A map to all rows", self.landmarks, X):
            return X
        self.landmarks_ = selected(self, self.landmarks, self.kernel_, X)
        refuse_overflowing_fit("landmarks_.residuals_path", self.landmarks_.residuals_path, X)
        return self.landmarks_.points

    def _of_values(self, X: Rows) -> Expansion:
        """The map of a matrix of values between rows and points, of any shape: points are numbers of its columns."""
        values = to_dense(check_points(self, X, reset=True))
        self.kernel_ = Precomputed()
        xp = array_namespace(values)
        columns = from_numpy(np.arange(values.shape[1])[:, None], values, dtype=xp.int64)
        return empirical_map(self.kernel_, columns, whiten=True, against=values)

    def transform(self, X: Rows) -> Array:
        """The kernel features of X, shape (q, m); lazy for a Dask array."""
        X = self._check_inputs(X)
        expansion, kernel = self.expansion_, self.kernel_  # not the whole estimator, which would travel to workers
        # The plain map is the kernel matrix itself; a product with the identity would double its cost.
        plain = lambda rows: Gram(kernel, rows, expansion.points).dense()
        return self._map(expansion if self.whiten else plain, X)

    def _kernel_machine(self) -> KernelMachine:
        """The features as the functions of a machine."""
        check_is_fitted(self)
        expansion = self.expansion_
        return KernelMachine(
            expansion,
            array_namespace(expansion.coefficients).zeros_like(expansion.coefficients[0, :]),
            Coordinates(len(expansion)),
            self._n_columns,
            getattr(self, "feature_names_in_", None),
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.expansion_)

    def __sklearn_tags__(self) -> Tags:
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)
