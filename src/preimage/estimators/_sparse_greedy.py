"""Regression and classification by least squares on few basis functions."""

from typing import Self

import numpy as np
from sklearn.base import RegressorMixin

from preimage._engine.arrays import to_numpy
from preimage._engine.progress import reports_progress
from preimage._engine.typing import Rows, Targets
from preimage._engine.validation import check_labels, check_targets
from preimage.estimators._classifier import AnyDeviceClassifierMixin
from preimage.estimators._landmark_machine import ClassesOfMachine, ValuesOfMachine
from preimage.estimators._sparse_greedy_model import SparseGreedyModel


class SparseGreedyRegressor(ValuesOfMachine, RegressorMixin, SparseGreedyModel):
    r"""Kernel ridge regression on few basis functions: the regularisation network of sparse greedy approximation.

    For landmarks I, chosen by `landmarks`, with :math:`C_{ij} = k(x_i, x_j)` and :math:`W` the kernel among landmarks,

    .. math:: \min_\beta \; \sum_i w_i \bigl(y_i - b - \sum_{j \in I} \beta_j k(x_j, x_i)\bigr)^2
        + \alpha\, \beta^\top W \beta, \qquad \beta = (C^\top C + \alpha W)^{-1} C^\top y

    without weights and intercept (G14), which is kernel ridge regression with the kernel matrix replaced by
    :math:`\tilde K = C W^{-1} C^\top` (G16) [1]_. It is solved in an orthonormal frame of the landmarks by QR
    factorisations of blocks of rows (G15): O(nm²) operations for m landmarks, and memory for m² numbers besides the
    data. A prediction costs m kernel values.

    Parameters
    ----------
    landmarks : int, str or LandmarkSelector, default=100
        Basis functions: a number stands for ``SparseGreedy(number)``; a name ("sparse_greedy", "rpcholesky",
        "pivoted_cholesky", "kmeans", "uniform") for that selector's defaults; or a selector of `preimage.landmarks`,
        such as ``SparseGreedy(None, tol=1e-3)``, which leaves the number to the trace of the kernel.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`. The kernel must be positive semidefinite.
    alpha : float, "loo" or array of floats, default=1.0
        Penalty α, as in scikit-learn's `KernelRidge`; λm of [1]_, whose objective is divided by the number m of rows
        there. An array holds candidates, of which the one with the smallest leave-one-out error is taken (for the given
        landmarks; not one penalty for each target, as in `KernelRidge`); "loo" tries 41 that span the singular values.
        Zero is least squares.
    fit_intercept : bool, default=True
        Whether to add a constant b that is not penalised; `KernelRidge` has none.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        For the choice of landmarks. A selector object has its own.

    Attributes
    ----------
    landmarks_ : Landmarks
        The points, their row numbers, and the trace that they leave.
    residual_fraction_ : float
        Fraction of the trace of the kernel that the landmarks leave: what the model cannot express of the full network.
    expansion_ : Expansion
        The functions without their intercepts.
    dual_coef_ : array of shape (m,) or (m, n_targets)
        β.
    intercept_ : array of shape (n_targets,)
    alpha_ : float
        The penalty that was used.
    alphas_, loo_errors_ : arrays, or None
        The candidates and their mean squared leave-one-out errors, when α was chosen.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.landmarks.SparseGreedy : The choice of the points.
    LinearProgrammingRegressor : Still fewer functions.
    compress : Makes fitted machines, also this one, still smaller.
    sklearn.kernel_ridge.KernelRidge : All points as basis functions.

    References
    ----------
    .. [1] A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning",
       ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import SparseGreedyRegressor
    >>> X = np.linspace(0, 10, 500)[:, None]
    >>> model = SparseGreedyRegressor(20, gamma=0.5, alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
    True
    >>> bool(model.path().train_error[4] > model.path().train_error[19])
    True
    """

    @reports_progress
    def fit(self, X: Rows, y: Targets | None = None, sample_weight: Targets | None = None) -> Self:
        """Choose landmarks among the rows of X, and fit the coefficients to y.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel. A memory map or a Dask array is read block
            by block, where its blocks are: once, and once more where α is chosen by leave-one-out errors.
        y : array of shape (n,) or (n, k)
            Held in memory.
        sample_weight : array of shape (n,), optional
            How often each row counts in the errors; rows of weight zero are left out. The choice of landmarks looks at
            rows, whatever their weight; in memory maps and Dask arrays also at those of weight zero.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _test_errors(self, X: Rows, y: np.ndarray) -> np.ndarray:
        y = check_targets(self, y, X.shape[0] if hasattr(X, "shape") else len(X))
        return np.array([np.mean((y - to_numpy(fit)) ** 2) for fit in self.staged_predict(X)])


class SparseGreedyClassifier(AnyDeviceClassifierMixin, ClassesOfMachine, SparseGreedyModel):
    r"""Classification by least squares on few basis functions.

    `SparseGreedyRegressor` fits targets −1 and +1: one function for two classes, one per class against the rest for
    more, of which the largest wins. The squared error is not what a classifier is judged by, but the fit is one
    factorisation for any number of classes, and often as accurate as a support vector machine.

    Parameters
    ----------
    landmarks, kernel, gamma, degree, coef0, kernel_params, alpha, fit_intercept, verbose, random_state
        As in `SparseGreedyRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (m, 1) for two classes, else (m, n_classes)
    landmarks_, residual_fraction_, expansion_, intercept_, alpha_, alphas_, loo_errors_, kernel_, n_features_in_
        As in `SparseGreedyRegressor`; errors are those of the targets ±1.

    See Also
    --------
    SparseGreedyRegressor : The model, its parameters and attributes.
    LinearProgrammingClassifier : Still fewer functions.
    KernelFisherDiscriminant : Also least squares, with a threshold of its own.
    compress : Makes a fitted support vector machine small.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import SparseGreedyClassifier
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> SparseGreedyClassifier(20, gamma=2, alpha=0.1).fit(X, y).score(X, y) > 0.97
    True
    """

    @reports_progress
    def fit(self, X: Rows, y: Targets | None = None, sample_weight: Targets | None = None) -> Self:
        """Choose landmarks among the rows of X, and fit functions that tell the classes apart.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel; a memory map or a Dask array is read as in
            `SparseGreedyRegressor.fit`.
        y : array of shape (n,)
            Class labels, held in memory.
        sample_weight : array of shape (n,), optional
            As in `SparseGreedyRegressor.fit`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _test_errors(self, X: Rows, y: np.ndarray) -> np.ndarray:
        y = check_labels(self, y, X.shape[0] if hasattr(X, "shape") else len(X))
        return np.array([np.mean(y != labels) for labels in self.staged_predict(X)])
