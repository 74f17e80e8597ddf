"""How well a denoiser does: estimated errors, a scorer for searches, and noise, added to data or measured on them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtr

from preimage._engine.arrays import array_namespace, as_points, concat_rows, from_numpy, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import generator

# Fraction of a column at its smallest or largest value from which on it may be clipped, and of the whole table from
# which on it matters. A column of continuous values has one row there.
LEAST_PILE = 0.01
# Of noise that is clipped, at least 0.38 times as many values as lie at the limit lie within half a deviation of it:
# Φ(½) − ½ compared with Φ(0), if the clean value is the limit itself, and more if it lies inside. The deviation that is
# estimated from clipped values is about 0.6 of the true one, which makes it 0.23. An honest background, the zeros of
# clean digits, has 0.00 to 0.04.
LEAST_NEIGHBOURS = 0.1
# A limit that is not there lies so many deviations outside, where Gaussian noise never comes.
FAR = 40.0
# Clean values at which the moments of clipped noise are tabulated, from limit to limit. They change over distances of a
# deviation, a twentieth or more of the range in pictures with visible noise.
TABLE = 257


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


@dataclass(frozen=True)
class Clipping:
    """The limits at which columns are clipped.

    Attributes
    ----------
    lower, upper : arrays of shape (d,)
        Smallest and largest value of each column.
    at_lower, at_upper : boolean arrays of shape (d,)
        Whether it is clipped there.
    fraction : float
        Of all values, those that lie at such a limit.
    """

    lower: Array
    upper: Array
    at_lower: Array
    at_upper: Array
    fraction: float

    @classmethod
    def of(cls, X: Array, deviation: float) -> "Clipping":
        """Recognise values that are piled up at the ends of columns, with the noise of `deviation` next to them."""
        lower, upper = X.min(axis=0), X.max(axis=0)
        with np.errstate(over="ignore"):  # a distance beyond all numbers is far, and nothing else
            at_lower, lost_below = _piled_up(X - lower, deviation)
            at_upper, lost_above = _piled_up(upper - X, deviation)
        return cls(lower, upper, at_lower, at_upper, lost_below + lost_above)

    def variance(self, X: Array, rows: Array, deviation: float) -> Array:
        """Variance of Gaussian noise of `deviation` after clipping, for each value of some rows of X.

        It depends on the clean value. A table from means of clipped values to their variances is read at a
        reconstruction of X by the principal components above the noise, which is near these means.
        """
        means = _reconstructed(X, deviation)[rows]
        found = np.empty_like(means)
        for column in range(X.shape[1]):
            grid = np.linspace(self.lower[column], self.upper[column], TABLE)
            below = grid[0] if self.at_lower[column] else grid[0] - FAR * deviation
            above = grid[-1] if self.at_upper[column] else grid[-1] + FAR * deviation
            found[:, column] = np.interp(means[:, column], *_clipped_moments(grid, deviation, below, above))
        return found


def _piled_up(distance: Array, deviation: float) -> tuple[Array, float]:
    """Which columns are clipped where the distance is zero, and the fraction of all values that lie there."""
    at_limit = distance == 0
    piles = (at_limit.sum(axis=0) - 1) / len(distance)
    piles[piles > 1 - 1.5 / len(distance)] = 0  # constant columns
    suspect = piles > LEAST_PILE
    neighbours = np.mean((distance > 0) & (distance <= deviation / 2), axis=0)
    total = float(piles[suspect].sum())
    if total < LEAST_PILE * len(piles) or neighbours[suspect].sum() < LEAST_NEIGHBOURS * total:
        return np.zeros_like(suspect), 0.0
    return suspect, float(at_limit[:, suspect].sum() / distance.size)


def _reconstructed(X: Array, deviation: float) -> Array:
    """X by its principal components above the edge of the spectrum of noise alone (Marchenko and Pastur)."""
    mean = X.mean(axis=0)
    left, values, right = np.linalg.svd(X - mean, full_matrices=False)
    count = max(1, int(np.sum(values > deviation * (np.sqrt(X.shape[0]) + np.sqrt(X.shape[1])))))
    return mean + (left[:, :count] * values[:count]) @ right[:count]


def _clipped_moments(clean: Array, deviation: float, lower: float, upper: float) -> tuple[Array, Array]:
    """Mean and variance of clip(clean + deviation · ε, lower, upper), ε standard normal."""
    a, b = (lower - clean) / deviation, (upper - clean) / deviation
    below, above = ndtr(a), ndtr(-b)
    density_a, density_b = (np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) for t in (a, b))
    # Moments of the clipped noise in deviations: its mass at both limits, and the part between them.
    mean = a * below + b * above + density_a - density_b
    square = a**2 * below + b**2 * above + (1 - below - above) + a * density_a - b * density_b
    return clean + deviation * mean, deviation**2 * np.maximum(square - mean**2, 0.0)
