"""A scorer for scikit-learn's searches."""

from typing import Any

from preimage._arrays import as_points, to_dense
from preimage._typing import Rows, Seed, Targets
from preimage._validation import generator
from preimage.model_selection._denoising_criteria import mean_square
from preimage.model_selection._noise import add_noise


class DenoisingScorer:
    """A scorer for scikit-learn's searches: minus the error of denoising held-out clean rows with added noise.

    Parameters
    ----------
    noise : float or callable
        Deviation of Gaussian noise, or a function ``noise(X, rng)``.
    random_state : int, default=0

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

    def __init__(self, noise: Any, random_state: Seed = 0) -> None:
        self.noise = noise
        self.random_state = random_state

    def __call__(self, estimator: Any, X: Rows, y: Targets = None) -> float:
        rng = generator(self.random_state)
        X = to_dense(as_points(X))
        return -mean_square(estimator.denoise(add_noise(X, self.noise, rng)) - X)
