"""Regressors that say how far their predictions may be from the truth."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    follow_rows,
    from_device,
    from_numpy,
    in_memory,
    is_lazy,
    is_objects,
    take_rows,
)
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_finite_block, count_rows, generator
from preimage._models.regression import MOST_ROWS, LandmarkRidge, PredictiveVariance
from preimage.estimators._estimator import check_queries, map_queries
from preimage.estimators._landmark_machine import LabelledRows
from preimage.landmarks import Landmarks


class PredictiveIntervals:
    """Mixed into regressors by least squares on landmarks; `fit` sets `_predictive` by `left_out_variance`."""

    loss: str
    _predictive: PredictiveVariance | None
    _regression: LandmarkRidge | None
    _kernel_machine: Callable[[], Any]
    _map_outputs: Callable[..., Array]

    def predict(self, X: Rows, return_std: bool = False, diagonal: Array | None = None) -> Any:
        r"""Predicted values, shape (q,) or (q, k) like y; lazy for a Dask array.

        Parameters
        ----------
        X : array of shape (q, d)
        return_std : bool, default=False
            Whether to return standard deviations as well, those of the function (G27), as `GaussianProcessRegressor`
            does: a new target also has noise, of the variance `noise_variance_`. With loss="squared" alone.
        diagonal : array of shape (q,), optional
            k(x, x) of the rows, which deviations need where the kernel is precomputed.

        Returns
        -------
        values : array of shape (q,) or (q, k)
        deviations : array of the same shape
            With `return_std`.
        """
        values = self._map_outputs(lambda output, found: output.predict(found), X)
        if not return_std:
            return values
        predictive = self._require_variance("predict(return_std=True)")
        known = self._checked_diagonal(diagonal, X)
        deviations = self._map_rows(lambda rows, output: output.predict(predictive.deviations(rows, known)), X)
        return follow_rows(values, X), follow_rows(deviations, X)

    def predict_interval(self, X: Rows, coverage: float = 0.9, diagonal: Array | None = None) -> Array:
        r"""Intervals that contain new targets with the given probability, from left-out residuals.

        .. math:: \Bigl[f(x) + z_{(1 - c)/2}\, s(x), \; f(x) + z_{(1 + c)/2}\, s(x)\Bigr], \qquad
            s(x)^2 = \sigma^2 + \operatorname{var} f(x)

        with quantiles z of the residuals of training rows that are left out, in units of their own s (G28). They need
        not be those of a normal distribution, nor as far below as above; as many targets lie beyond either end. On
        average over rows like those of the fit a fraction c of the targets is inside; where noise varies with x, more
        where it is small and fewer where it is large: then two quantiles, `loss="quantile"`, follow it.

        Parameters
        ----------
        X : array of shape (q, d)
        coverage : float, default=0.9
            The fraction c, between 0 and 1.
        diagonal : array of shape (q,), optional
            As in `predict`.

        Returns
        -------
        array of shape (q, 2), or (q, k, 2) for k targets
            Lower and upper ends; lazy for a Dask array.
        """
        if not isinstance(coverage, Real) or isinstance(coverage, bool) or not 0 < coverage < 1:
            raise ValueError(
                f"`coverage` of {type(self).__name__}.predict_interval is a fraction of targets between 0 and 1, such "
                f"as 0.9; got {coverage!r}."
            )
        predictive = self._require_variance("predict_interval")
        known = self._checked_diagonal(diagonal, X)
        low, high = predictive.interval(float(coverage))

        def ends(rows: Array, output: Any) -> Array:
            values = predictive.values(rows)
            deviations = predictive.deviations(rows, known, with_noise=True)
            found = [output.predict(values + deviations * from_numpy(z, values)) for z in (low, high)]
            return array_namespace(values).stack(found, axis=-1)

        return self._map_rows(ends, X)

    @property
    def noise_variance_(self) -> np.ndarray:
        """σ² of each target, shape (n_targets,): the variance of noise around the functions, by left-out residuals."""
        predictive = self.__dict__.get("_predictive")
        if predictive is None or predictive.fitted is not self._regression:
            raise AttributeError(f"This {type(self).__name__} has no `noise_variance_`: it comes with loss='squared'.")
        return np.array(predictive.noise)

    def _map_rows(self, function: Callable[[Array, Any], Array], X: Rows) -> Array:
        """`function` of rows of X and the output of the machine."""
        machine = self._kernel_machine()
        fitted, output = machine.expansion.coefficients, machine.output
        return map_queries(
            self, lambda rows: function(rows, output), check_queries(self, X, fitted, machine.expansion), fitted
        )

    def _checked_diagonal(self, diagonal: Any, X: Rows) -> np.ndarray | None:
        """k(x, x) as the user gives them; None where the kernel knows them."""
        if diagonal is None:
            return None
        if is_lazy(X):
            raise TypeError("`diagonal` is for precomputed kernels, whose values must be in memory; X is lazy.")
        found = np.asarray(from_device(diagonal), dtype=np.float64)
        if found.shape != (count_rows(X),) or not np.all(np.isfinite(found)):
            raise ValueError(f"`diagonal` needs k(x, x) of {count_rows(X)} rows, finite; got shape {found.shape}.")
        return found

    def _require_variance(self, method: str) -> PredictiveVariance:
        self._kernel_machine()  # which checks that the model is fitted
        who = f"{type(self).__name__}.{method}"
        if self._regression is None:
            raise ValueError(
                f"{who} needs loss='squared', whose minimum is the mean of a Gaussian process; this model has loss="
                f"{self.loss!r}. Fit one with loss='squared', or two with loss='quantile', quantile=0.05 and 0.95, "
                "between which 90 % of the targets lie."
            )
        if self.__dict__.get("_stream") is not None:
            raise ValueError(
                f"{who} needs residuals of rows that are left out, and a stream keeps no rows. Fit the rows that you "
                "have at once, by fit(X, y)."
            )
        predictive = self.__dict__.get("_predictive")
        if predictive is None or predictive.fitted is not self._regression:
            raise ValueError(
                f"{who} needs residuals of rows that are left out, and this model has none: it passes through its rows "
                "whatever their targets are, or was not fitted by `fit` of this version. Raise `alpha`, or give more "
                "rows, and fit it again."
            )
        return predictive


def left_out_variance(
    estimator: Any, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray, fitted: LandmarkRidge
) -> PredictiveVariance | None:
    """Noise, amplitude and quantiles from rows of a fit, a sample of them where they are many."""
    n = targets.shape[0]
    numbers = np.arange(n) if rows.weights is None else np.flatnonzero(rows.weights)
    if numbers.size > MOST_ROWS:
        numbers = np.sort(generator(estimator.random_state).choice(numbers, MOST_ROWS, replace=False))
    X = rows.inputs if numbers.size == n else take_rows(rows.inputs, numbers)
    if not (rows.kernel.points_are_row_numbers or is_objects(X)):
        X = check_finite_block(type(estimator).__name__, as_points(in_memory(X)))
    return PredictiveVariance.of_left_out(
        fitted,
        X,
        targets[numbers],
        None if rows.weights is None else rows.weights[numbers],
        total=float(n if rows.weights is None else rows.weights.sum()),
        intercept=bool(estimator.fit_intercept),
        is_landmark=np.isin(numbers, [] if landmarks.indices is None else landmarks.indices),
    )
