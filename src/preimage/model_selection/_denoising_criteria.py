"""How well a denoiser does: estimated errors, a scorer for searches, and noise, added to data or measured on them."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, concat_rows, from_numpy, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import generator


def mean_square(difference: Array) -> float:
    return float(array_namespace(difference).mean(difference * difference))


class ErrorEstimate(ABC):
    """How large the error of a denoiser is, from what it makes of some rows.

    Attributes
    ----------
    queries : array of shape (q, d)
        The rows to denoise.
    """

    queries: Array

    @abstractmethod
    def of(self, outputs: Array) -> float:
        """The estimated mean squared error per column of a denoiser with these outputs for the queries."""


class AddedNoise(ErrorEstimate):
    """The error on held-out clean rows with noise added."""

    def __init__(self, clean: Array, noisy: Array) -> None:
        self.clean, self.queries = clean, noisy

    def of(self, outputs: Array) -> float:
        return mean_square(outputs - self.clean)


class SteinEstimate(ErrorEstimate):
    """Stein's unbiased estimate of the error on held-out rows with Gaussian noise of known deviation.

    Queries are the noisy rows, then the same rows moved along a probe, for the divergence. Where the noise of values
    differs, as clipping leaves it, each derivative counts as much as the variance of its value: for a linear denoiser
    that makes the covariance of noise and output right, whatever the noise.

    Parameters
    ----------
    noisy : array of shape (q, d)
    deviation : float
    rng : Generator
    variances : NumPy array of shape (q, d) or None
        Of each value, where they differ.
    """

    def __init__(
        self, noisy: Array, deviation: float, rng: np.random.Generator, variances: Array | None = None
    ) -> None:
        self.noisy = noisy
        self.variance = float(np.square(deviation) if variances is None else np.mean(variances))
        self.weights = None if variances is None else from_numpy(variances / self.variance, noisy)
        self.probe = from_numpy(rng.choice([-1.0, 1.0], size=noisy.shape), noisy)
        # A finite difference of the size of the noise averages over kinks of the solver.
        self.step = 0.1 * max(deviation, 1e-8)
        self.moved = noisy + self.step * self.probe
        self.queries = concat_rows(noisy, self.moved)

    def of(self, outputs: Array) -> float:
        n = self.noisy.shape[0]
        return self.of_outputs(outputs[:n, :], outputs[n:, :])

    def of_outputs(self, here: Array, there: Array) -> float:
        """The estimate from the outputs for the noisy rows and for the moved ones."""
        xp = array_namespace(self.noisy)
        change = self.probe * (there - here)
        divergence = float(xp.mean(change if self.weights is None else self.weights * change)) / self.step  # per column
        return mean_square(here - self.noisy) - self.variance + 2 * self.variance * divergence


class JointStein:
    """Stein's estimate of the error on rows of the training set, whose noise is in the model.

    The divergence then has a second part: how the model changes with its rows. Both come from one more fit, to rows
    that were moved along the probe.

    Parameters
    ----------
    X : array of shape (n, d)
    rows : integer array
        Rows of X that judge.
    estimate : SteinEstimate
        For the same rows as if they were new, with the same probe: differences are then less random.
    """

    def __init__(self, X: Array, rows: Array, estimate: SteinEstimate) -> None:
        self.estimate = estimate
        moves = np.zeros(X.shape)
        moves[rows] = estimate.step * to_numpy(estimate.probe)
        self.moved_training_set = X + from_numpy(moves, X)


class MaskedColumns(ErrorEstimate):
    """The error of predicting noisy columns that the denoiser does not see.

    Queries are the rows once for each group of columns, with these columns replaced by their means.
    """

    def __init__(self, noisy: Array, rest: Array, rng: np.random.Generator, groups: int = 8) -> None:
        xp = array_namespace(noisy)
        d = noisy.shape[1]
        self.noisy = noisy
        means = xp.mean(rest, axis=0)
        label = rng.permutation(d) % min(groups, max(d, 1))
        self.masks = [from_numpy((label == group).astype(float), noisy) for group in range(int(label.max()) + 1)]
        self.queries = concat_rows(*[noisy * (1 - mask) + means * mask for mask in self.masks])

    def of(self, outputs: Array) -> float:
        xp, (n, d) = array_namespace(self.noisy), self.noisy.shape
        total = 0.0
        for number, mask in enumerate(self.masks):
            # Only masked entries are compared: their noise is not in the input.
            part = outputs[number * n : (number + 1) * n, :]
            total += float(xp.sum((mask * (part - self.noisy)) ** 2))
        return total / (n * d)


class DenoisingScorer:
    """A scorer for scikit-learn's searches: minus the error of denoising held-out clean rows with added noise.

    Parameters
    ----------
    noise : float or callable
        Deviation of Gaussian noise, or a function ``noise(X, rng)``.
    random_state : int, default=0
        Seed of the noise, which is the same for all candidates.
    denoise_params : dict or None, default=None
        Further arguments of the estimator's `denoise`, such as ``{"loss": "cauchy"}`` for noise that is gross errors.

    See Also
    --------
    DenoisingSearch : A search made for denoising, also with noisy data alone.
    preimage.KernelPCA.denoise : What is judged.
    sklearn.model_selection.GridSearchCV : Takes this scorer as `scoring`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from preimage import KernelPCA
    >>> from preimage.model_selection import DenoisingScorer
    >>> X = load_digits().data[:300] / 16
    >>> search = GridSearchCV(KernelPCA(), {"n_components": [2, 32]}, scoring=DenoisingScorer(0.25), cv=3).fit(X)
    >>> search.best_params_
    {'n_components': 32}
    """

    def __init__(self, noise: Any, random_state: Seed = 0, *, denoise_params: dict[str, Any] | None = None) -> None:
        self.noise = noise
        self.random_state = random_state
        self.denoise_params = denoise_params

    @gives_finite_numbers()
    def __call__(self, estimator: Any, X: Rows, y: Targets = None) -> float:
        rng = generator(self.random_state)
        X = to_dense(as_points(X))
        spoiled = add_noise(X, self.noise, rng)
        return -mean_square(estimator.denoise(spoiled, **(self.denoise_params or {})) - X)


@gives_finite_numbers()
def add_noise(X: Rows, noise: Any, rng: np.random.Generator) -> Array:
    """X with Gaussian noise of a given deviation, or with the noise of a function `noise(X, rng)`.

    Parameters
    ----------
    X : array of shape (n, d)
        Clean rows.
    noise : float or callable
        Standard deviation of Gaussian noise, or a function ``noise(X, rng)`` that returns noisy rows.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    array of shape (n, d)
        Noisy rows.

    See Also
    --------
    DenoisingSearch : Chooses a model by what it makes of such rows.
    DenoisingScorer : The same criterion for scikit-learn's searches.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import add_noise
    >>> rng = np.random.default_rng(0)
    >>> add_noise(np.zeros((2, 3)), 0.1, rng).round(2)
    array([[ 0.01, -0.01,  0.06],
           [ 0.01, -0.05,  0.04]])

    Noise of any other kind is a function; here some values become one:

    >>> salt = lambda X, rng: np.where(rng.uniform(size=X.shape) < 0.3, 1.0, X)
    >>> add_noise(np.zeros((2, 3)), salt, np.random.default_rng(0))
    array([[0., 1., 1.],
           [1., 0., 0.]])
    """
    X = to_dense(as_points(X))
    if isinstance(noise, Real):
        return X + from_numpy(float(noise) * rng.standard_normal(X.shape), X)
    return as_points(noise(array_namespace(X).asarray(X, copy=True), rng))  # a copy: the function may work in place


@gives_finite_numbers()
def estimate_noise(X: Rows) -> float:
    """Standard deviation of independent noise of equal size in all columns, from the floor of the PCA spectrum.

    Directions without signal have the variance of the noise. The median of the lowest quarter of the eigenvalues of the
    covariance is taken for that floor, divided by what sampling makes of it when only the directions below the edge of
    the noise (Marchenko and Pastur) are noise. Signal in every direction makes the estimate too large. Needs more rows
    than columns.

    Parameters
    ----------
    X : array of shape (n, d)
        Noisy rows, more than columns.

    Returns
    -------
    float
        The standard deviation of the noise.

    See Also
    --------
    DenoisingSearch : Uses this estimate where no deviation is given.

    Examples
    --------
    Three directions of signal in twenty columns, and noise of deviation 0.5:

    >>> import numpy as np
    >>> from preimage.model_selection import estimate_noise
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 20))
    >>> round(estimate_noise(signal + rng.normal(scale=0.5, size=signal.shape)), 1)
    0.5
    """
    X = np.asarray(to_numpy(as_points(X)), dtype=float)
    X = X[
        :, X.std(axis=0) > 1e-12 * max(float(np.abs(X).max(initial=0)), np.finfo(float).tiny)
    ]  # constants tell nothing
    n, d = X.shape
    if n <= d or d == 0:
        raise ValueError(
            f"The noise can be estimated from more rows than columns that vary; got {n} rows and {d} such columns."
        )
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=1).reshape(d, d))
    lowest = max(1, d // 4)
    floor = max(float(np.median(values[:lowest])), 0.0)
    directions = d
    for _ in range(5):
        variance = floor / _floor_of_unit_noise(n, directions, lowest)
        edge = variance * (1 + np.sqrt(directions / n)) ** 2
        directions = max(int(np.sum(values <= edge)), lowest)
    return float(np.sqrt(variance))


def _floor_of_unit_noise(n: int, directions: int, lowest: int) -> float:
    """The median of the lowest eigenvalues of the covariance of n rows of unit noise."""
    sample = np.random.default_rng(0).standard_normal((n, directions))
    return float(np.median(np.linalg.eigvalsh(np.cov(sample.T).reshape(directions, directions))[:lowest]))
