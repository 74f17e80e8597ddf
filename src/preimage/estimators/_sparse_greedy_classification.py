"""Classification by least squares on few basis functions."""

from typing import Self

import numpy as np
from sklearn.base import ClassifierMixin

from preimage._progress import reports_progress
from preimage._typing import Array, Rows, Targets
from preimage._validation import check_labels
from preimage.estimators._sparse_greedy_model import SparseGreedyModel
from preimage.machines import OneVsRest


class SparseGreedyClassifier(ClassifierMixin, SparseGreedyModel):
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

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import SparseGreedyClassifier
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> SparseGreedyClassifier(20, gamma=2, alpha=0.1).fit(X, y).score(X, y) > 0.97
    True
    """

    @reports_progress
    def fit(self, X: Rows, y: Targets, sample_weight: Targets | None = None) -> Self:
        """Choose landmarks among the rows of X, and fit functions that tell the classes apart.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel.
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            As in `SparseGreedyRegressor.fit`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X: Rows) -> Array:
        """Function values: shape (q,) for two classes, positive for the second; else (q, n_classes)."""
        values = self._values(X)  # first, because it checks that the model is fitted
        return self._output.decision(values)

    def predict(self, X: Rows) -> Array:
        """Class labels."""
        values = self._values(X)  # first, because it checks that the model is fitted
        return self._output.predict(values)

    @property
    def dual_coef_(self) -> Array:
        return self.expansion_.coefficients

    def _check_y(self, y: Targets, n: int) -> np.ndarray:
        return check_labels(self, y, n)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs examples of two classes or more, of positive weight; got 1 class, "
                f"{self.classes_.tolist()[0]!r}."
            )
        self._output = OneVsRest(self.classes_)
        return self._output.signs(y).astype(np.float64)

    def _test_errors(self, X: Rows, y: np.ndarray) -> np.ndarray:
        y = check_labels(self, y, X.shape[0] if hasattr(X, "shape") else len(X))
        return np.array([np.mean(y != labels) for labels in self.staged_predict(X)])
