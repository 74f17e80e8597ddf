"""Conditional means as the method of an imputer: what it stores, and how rows are filled by it."""

import zlib
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, in_double, in_precision, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage._models.completion import (
    ConditionalFit,
    ConditionalMeans,
    Indicators,
    Trend,
    fit_conditional,
)

CONDITIONAL, ENERGY = "conditional", "energy"
# Parameters that the energy alone has, with their defaults: another value asks for the energy.
OF_ENERGY = {"n_components": 0.99, "kernel": "rbf", "gamma": None, "noise": "auto", "landmarks": "auto"}
# What a fit by one method stores, and a fit by the other must not leave behind.
STORED = {
    CONDITIONAL: ("points_", "trend_mean_", "trend_covariance_", "relevance_", "mixture_"),
    ENERGY: ("kernel_", "subspace_", "explained_variance_", "noise_variance_", "n_components_", "objective_path_"),
}
# Columns by which training rows are put in order, evenly spaced: rows that agree in so many are usually equal.
ORDER_COLUMNS = 32


class ConditionalImputation:
    """Mixed into `KernelImputer`: the method "conditional"."""

    method: str
    #: Models of files that were written before there was a choice minimise the energy.
    method_: str = ENERGY

    def _chosen_method(self: Any) -> str:
        if self.method != "auto":
            return self.method
        # Values of other types than the default, such as arrays and kernels, are not compared.
        is_default = all(
            type(getattr(self, name)) is type(value) and getattr(self, name) == value
            for name, value in OF_ENERGY.items()
        )
        return CONDITIONAL if is_default else ENERGY

    def _forget_other_method(self: Any) -> None:
        for method, names in STORED.items():
            for name in names if method != self.method_ else ():
                if hasattr(self, name):
                    delattr(self, name)

    def _fit_conditional(self: Any, X: Array, observed: Array, rng: np.random.Generator) -> Array:
        """Fit to scaled rows; the filled rows, or draws of them if wanted."""
        order = _own_order(X, observed, self._indicators())
        rows, known = in_double(take_rows(X, order)), take_rows(observed, order)
        fit = fit_conditional(rows, known, self.start_scale_, rng=rng, indicators=self._indicators())
        self._store_bounds(fit, rows, known)
        points = self._box(rows).clip(in_precision(fit.model.points, X.dtype))
        points = array_namespace(X).where(known, take_rows(X, order), points)
        self.points_ = points
        self.trend_mean_ = in_precision(fit.model.trend.mean, X.dtype)
        self.trend_covariance_ = in_precision(fit.model.trend.covariance, X.dtype)
        relevance = fit.model.relevance
        self.relevance_ = None if relevance is None else in_precision(relevance, X.dtype)
        self.mixture_ = fit.model.weights
        self.n_iter_ = 1 if bool(array_namespace(X).all(observed)) else 2
        drawn = self._fit_spread(fit, rows, known, rng)
        return take_rows(points if drawn is None else drawn, np.argsort(order))

    def _store_bounds(self: Any, fit: ConditionalFit, rows: Array, known: Array) -> None:
        """Unless bounds are given, let entries lie beyond ranges of columns where that restores hidden ones better."""
        if self.min_value is not None and self.max_value is not None:
            return
        low, high = fit.bounds(rows, known, self.lower_, self.upper_)
        self.lower_ = low if self.min_value is None else self.lower_
        self.upper_ = high if self.max_value is None else self.upper_

    def _fit_spread(self: Any, fit: ConditionalFit, rows: Array, known: Array, rng: np.random.Generator) -> Any:
        """Store how far draws spread, and a seed; the training rows with missing entries drawn if that is wanted."""
        if not self.sample_posterior:
            for name in ("temperature_", "draw_seed_"):
                if hasattr(self, name):
                    delattr(self, name)
            return None
        self.temperature_ = fit.spread(rows, known) ** 2
        self.draw_seed_ = int(rng.integers(2**32))
        zeros = array_namespace(rows).zeros_like(rows)
        rows = array_namespace(rows).where(known, rows, zeros)
        return self._conditional_draws(rows, known, 1, own=np.arange(rows.shape[0]))[0, :, :]

    def _conditional(self: Any) -> ConditionalMeans:
        trend = Trend(in_double(self.trend_mean_), in_double(self.trend_covariance_))
        relevance = None if self.relevance_ is None else in_double(self.relevance_)
        weights = to_numpy(self.mixture_)
        return ConditionalMeans(in_double(self.points_), trend, weights, relevance, self._indicators())

    def _conditional_filled(self: Any, X: Array, observed: Array) -> Array:
        return in_precision(self._conditional().fill(in_double(X), observed), X.dtype)

    def _conditional_draws(self: Any, X: Array, observed: Array, n_draws: int, own: np.ndarray | None = None) -> Array:
        rng = rng_of_rows(self.draw_seed_, X)
        spread = float(np.sqrt(self.temperature_))
        found = self._conditional().draw(in_double(X), observed, spread, n_draws=n_draws, rng=rng, own=own)
        found = self._box(X).clip(in_precision(found, X.dtype))
        return array_namespace(X).where(observed, X, found)


def rng_of_rows(seed: int, rows: Array) -> np.random.Generator:
    """Numbers of their own for blocks of rows, because a pass over chunks draws once for each."""
    return np.random.default_rng([seed, zlib.crc32(np.ascontiguousarray(to_numpy(rows)).tobytes())])


def _own_order(X: Array, observed: Array, indicators: Indicators) -> np.ndarray:
    """An order of the rows that is the same however they are given: what is hidden follows from it.

    Categories are in the order of their frequencies, whatever they are called; those of the same one, in theirs.
    """
    values = np.where(to_numpy(observed), to_numpy(X), np.inf)
    if indicators.sizes:
        first = [part.start for part in indicators.parts]
        places = np.column_stack([part.start + values[:, part].argmax(axis=1) for part in indicators.parts])
        common = np.where(np.isinf(values[:, first]), 2.0, to_numpy(indicators.center)[places])
        values = np.hstack([places, values[:, : indicators.n_numbers], common])
    columns = np.unique(np.linspace(0, values.shape[1] - 1, ORDER_COLUMNS).astype(int))
    return np.lexsort(values[:, columns].T)
