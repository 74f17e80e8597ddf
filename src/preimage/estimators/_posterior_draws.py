"""Draws of missing entries by a fitted imputer."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, is_lazy, take_rows, to_numpy, with_rows
from preimage._engine.memory import limited_memory
from preimage._engine.threads import within_n_jobs
from preimage._engine.typing import Array, Rows
from preimage.estimators._conditional_imputation import CONDITIONAL
from preimage.estimators._missing_entries import check_incomplete, known_entries


class PosteriorDraws:
    """Mixed into `KernelImputer`: several fillings of each row, which differ as much as the rows leave open."""

    @within_n_jobs
    def sample(self: Any, X: Rows, n_draws: int = 5) -> Array:
        r"""Several fillings of each row, drawn at random.

        To the conditional mean of the missing entries is added by how much those of a neighbour differ from the local
        average, times a factor that was fitted so that 90 % intervals contain 90 % of known entries that were hidden;
        its square is `temperature_`. The neighbour is drawn, nearer ones more often. Where entries may be at several
        places far apart, draws are at all of them, and 90 % intervals contain fewer than they should.

        Categories are drawn with the probabilities of `category_probabilities`; those of one neighbour are drawn
        together. Numbers are cut off at the bounds. Rows should not be those that the model was
        fitted to, unless they were complete then; draws of incomplete training rows are what `fit_transform` returns.

        Parameters
        ----------
        X : array or data frame of shape (q, d), in memory
        n_draws : int, default=5

        Returns
        -------
        array of shape (n_draws, q, number of columns with a known entry)
            Without indicators, and with the same values where entries are known.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelImputer
        >>> X = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=200)
        >>> imputer = KernelImputer(sample_posterior=True).fit(X)
        >>> draws = imputer.sample([[1.0, np.nan]], n_draws=20)
        >>> draws.shape, bool(draws[:, 0, 1].std() > 0.2)
        ((20, 1, 2), True)
        """
        check_is_fitted(self)
        if not hasattr(self, "temperature_") or self.method_ != CONDITIONAL:
            raise ValueError(
                "`sample` needs an imputer by conditional means that was fitted with sample_posterior=True, which also "
                "fits how uncertain filled entries are."
            )
        if isinstance(n_draws, bool) or not isinstance(n_draws, Integral) or n_draws < 1:
            raise ValueError(f"KernelImputer.sample needs n_draws to be an integer of at least 1; got {n_draws!r}.")
        if is_lazy(X):
            raise TypeError("KernelImputer.sample takes rows in memory; pass parts of them.")
        rows = check_incomplete(self, self._in_numbers(X), reset=False, like=self.center_)
        valid, observed = self._valid(rows), self._valid(known_entries(rows, self.missing_values))
        with limited_memory(self.max_memory, self.center_):
            return self._in_words(self._drawn(valid, observed, int(n_draws)), X)

    def _drawn(self: Any, X: Array, observed: Array, n_draws: int) -> Array:
        """Draws of rows with valid columns, shape (n_draws, q, number of valid columns)."""
        xp = array_namespace(X)
        found = [X] * n_draws
        open_rows = np.flatnonzero(~to_numpy(xp.all(observed, axis=1)))
        if open_rows.size:
            X, observed = take_rows(X, open_rows), take_rows(observed, open_rows)
            drawn = self._drawn_scaled(X, observed, n_draws)
            found = [
                with_rows(rows, open_rows, self._decoded(self._unscaled(drawn[number, :, :]), X, observed))
                for number, rows in enumerate(found)
            ]
        return xp.stack(found)

    def _drawn_scaled(self: Any, X: Array, observed: Array, n_draws: int) -> Array:
        """Scaled draws of incomplete rows."""
        xp, (coded, known) = array_namespace(X), self._coded(X, observed)
        coded = xp.where(known, coded, xp.zeros_like(coded))
        return self._conditional_draws(self._scaling().apply(coded), known, n_draws)
