"""Virtual examples: data enlarged by transformations that do not change labels."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from preimage._engine.arrays import array_namespace, as_points, concat_rows, from_numpy, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import check_parameters
from preimage.invariances._transformation import Transformation, as_transformations


class VirtualExamples(BaseEstimator):
    r"""Adds :math:`L_t x`, for several transformations and amounts t, to data.

    A transformer of scikit-learn must return as many rows as it was given, and a pipeline hands on the labels as they
    are. So there is no `transform`: call `augment` before fitting. `fit_resample` is the same under the name that
    pipelines of imbalanced-learn call, which let steps change the number of rows while fitting only.

    Parameters
    ----------
    transformations : Transformation, callable, or list of them
        A function (X, t) stands for ``FunctionTransformation(function)``.
    amounts : sequence of float, default=(-1.0, 1.0)
        The t of each transformation: pixels for those of images.
    keep_original : bool, default=True
        Whether the rows that were given come first.

    See Also
    --------
    TangentCovariance : The other way: a penalty on changes along transformations.
    preimage.OrientedKernelPCA : Takes the centres of virtual examples as `landmarks`.
    TranslateX : One of the transformations of images.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TranslateX, TranslateY, VirtualExamples
    >>> X, y = np.random.default_rng(0).normal(size=(10, 64)), np.arange(10)
    >>> virtual = VirtualExamples([TranslateX((8, 8)), TranslateY((8, 8))])
    >>> X_more, y_more = virtual.augment(X, y)
    >>> X_more.shape, y_more.shape
    ((50, 64), (50,))
    """

    _parameter_constraints = {
        "transformations": [Transformation, callable, list, tuple],
        "amounts": ["array-like"],
        "keep_original": ["boolean"],
    }

    def __init__(
        self, transformations: Any, amounts: Sequence[float] = (-1.0, 1.0), keep_original: bool = True
    ) -> None:
        self.transformations = transformations
        self.amounts = amounts
        self.keep_original = keep_original

    @gives_finite_numbers()
    def augment(self, X: Rows, y: Targets | None = None) -> Any:
        """The rows of X and their virtual examples, with labels.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,) or (n, k), optional
            Labels, which transformations do not change.

        Returns
        -------
        X : array of shape (N, d)
            The original rows first, then all rows for the first transformation and amount, and so on.
        y : array of N labels
            Only if y was given.
        """
        check_parameters(self)
        X, moves = as_points(X), self._moves()
        parts = [X] if self.keep_original else []
        X_more = concat_rows(*parts, *[part.apply(X, t) for part, t in moves])
        if y is None:
            return X_more
        y = y if hasattr(y, "shape") and not hasattr(y, "iloc") else np.asarray(y)
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"There are {y.shape[0]} labels for {X.shape[0]} rows; one each is needed.")
        return X_more, array_namespace(y).concat([y] * (len(parts) + len(moves)), axis=0)

    def fit_resample(self, X: Rows, y: Targets) -> tuple[Array, Array]:
        """`augment`, as samplers of imbalanced-learn are called."""
        return self.augment(X, y)

    def points(self, X: Rows, n_points: int, *, max_iter: int = 10, random_state: Seed = 0) -> Array:
        """Centres of clusters of X and its virtual examples, shape (n_points, d): expansion points.

        Expansions on them can represent what transformations change, without a point for each virtual example.

        Parameters
        ----------
        X : array of shape (n, d)
        n_points : int
        max_iter : int, default=10
            Steps of k-means, from random rows.
        random_state : int, RandomState or None, default=0
        """
        X_more = self.augment(X)
        if not isinstance(n_points, Integral) or not 1 <= n_points <= X_more.shape[0]:
            raise ValueError(
                f"`n_points` must be a number between 1 and {X_more.shape[0]}, the rows with virtual ones; "
                f"got {n_points!r}."
            )
        clusters = KMeans(n_points, init="random", n_init=1, max_iter=max_iter, random_state=random_state)
        return from_numpy(clusters.fit(to_numpy(X_more)).cluster_centers_, X_more)

    def _moves(self) -> list[tuple[Transformation, float]]:
        moves = [(part, float(t)) for part in as_transformations(self) for t in self.amounts]
        if not moves:
            raise ValueError("VirtualExamples needs at least one amount; got none.")
        return moves
