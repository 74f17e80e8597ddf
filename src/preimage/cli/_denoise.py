"""Denoising as the command line does it: choose what was left open, fit, go back block by block."""

from dataclasses import dataclass

import numpy as np

from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import FOLDS, OutOfFold, needs_folds
from preimage.kernels import resolve_gamma, squared_distance_percentile
from preimage.model_selection import DenoisingSearch
from preimage.solvers import FixedPoint, PreimageResult

AUTO = "auto"
BLOCK = 256
FEWEST_ROWS_TO_CHOOSE = 8


class DataError(Exception):
    """Data with which nothing sensible can be done; the message says what would help."""


@dataclass(frozen=True)
class Request:
    """What the user said about the model; "auto" is chosen by `DenoisingSearch`.

    Attributes
    ----------
    components : "auto", int or float in (0, 1)
    width : "auto", a rule such as "median" or "p5", or float
        c in exp(−‖x − y‖²/c).
    penalty : "auto" or float
    noise : float or None
        Deviation of the noise to expect, when training data are clean.
    criterion : str
        How to judge candidates when they are not, as in `DenoisingSearch`.
    seed : int
    cross_fit : "auto", int or None
        Folds in which rows of the training data are denoised; "auto" is `DenoisingSearch`'s.
    """

    components: object = AUTO
    width: object = AUTO
    penalty: object = AUTO
    noise: object = None
    criterion: str = AUTO
    seed: int = 0
    cross_fit: object = AUTO

    @property
    def is_open(self):
        return AUTO in (self.components, self.width, self.penalty)

    def folds(self, n_components, n_rows):
        """In how many folds rows of the training data are denoised by models of others; None is no folds."""
        if self.noise is not None:  # the training data are clean, and so is their basis
            return None
        if self.cross_fit == AUTO:
            return FOLDS if needs_folds(n_components, n_rows) else None
        return self.cross_fit

    def widths(self, X):
        """Candidates for c."""
        if self.width == AUTO:
            return [share * squared_distance_percentile(X, 50) for share in DenoisingSearch().widths]
        return [self.width if isinstance(self.width, float) else 1 / resolve_gamma(self.width, X)]


def check_rows(X, request, what):
    """Refuse data too small to learn from; `what` names them."""
    if len(X) < 2:
        raise DataError(f"{what} has one row. Kernel PCA learns from many: add rows, or give others with --fit FILE.")
    if request.is_open and len(X) < FEWEST_ROWS_TO_CHOOSE:
        raise DataError(
            f"{what} has {len(X)} rows; choosing parameters needs {FEWEST_ROWS_TO_CHOOSE}. "
            "Give --components, --width and --penalty."
        )


def fit(X, request, advance=lambda: None):
    """A model of X, with what the request leaves open chosen on X.

    Parameters
    ----------
    X : array of shape (n, d)
    request : Request
    advance : callable
        Called once for each of ``len(request.widths(X))`` steps.

    Returns
    -------
    KernelPCA
    """
    width, components, penalty = choose(X, request, advance)
    return KernelPCA(components, gamma=1 / width, preimage=FixedPoint(penalty=penalty), random_state=request.seed).fit(
        X
    )


def choose(X, request, advance=lambda: None):
    """Width, components and penalty; one search a width, so that a bar can move, all on the same split."""
    best_error, best = np.inf, None
    for width in request.widths(X):
        if request.is_open:
            search = _search(X, width, request)
            error, found = search.best_error_, search.best_params_
            # The search knows widths as multiples of the median distance of its part of X, and penalties likewise.
            found = (width, found["n_components"], found["penalty"] / found["gamma"] / width)
        else:
            error, found = 0.0, (width, request.components, request.penalty)
        if error < best_error:
            best_error, best = error, found
        advance()
    width, components, penalty = best
    return (
        width,
        components if request.components == AUTO else request.components,
        penalty if request.penalty == AUTO else request.penalty,
    )


def denoise(solve, X, advance=lambda rows: None):
    """Denoised rows of X, with what the solver says about each; `advance(rows)` is called after each block.

    `solve` takes rows and returns their `PreimageResult`.
    """
    results = []
    for first in range(0, len(X), BLOCK):
        rows = X[first : first + BLOCK]
        results.append(solve(rows))
        advance(len(rows))
    return PreimageResult.join(results)


def solver_of(model, n_folds):
    """What `denoise` needs of a fitted model: rows that it was fitted to are left out of their model, in folds."""
    if n_folds is None:
        return lambda rows: model.find_preimages(model.transform(rows), start=rows)
    others, dtype = OutOfFold(model, n_folds), model.subspace_.frame.points.dtype
    return lambda rows: others.solve(rows.astype(dtype, copy=False))


def summarize(model, result, n_folds=None):
    """What to tell about a model and its pre-images, as plain numbers."""
    gamma = float(model.kernel_.gamma)
    return {
        "parameters": {
            "components": int(model.n_components_),
            "width": 1 / gamma,
            "gamma": gamma,
            "penalty": float(model.preimage_.penalty),
        },
        "cross_fit": n_folds,
        "explained_variance": float(np.sum(model.explained_variance_ratio_)),
        "objective": float(np.mean(result.objective)),
        "converged": int(np.sum(result.converged)),
        "not_converged": sorted(set(result.reason[~result.converged].tolist())),
    }


def _search(X, width, request):
    options = {}
    if isinstance(request.components, int):
        options["n_components"] = [request.components]
    if request.penalty != AUTO:
        options["penalties"] = [request.penalty * width]
    share = width / squared_distance_percentile(X, 50)
    return DenoisingSearch(
        noise=request.noise, criterion=request.criterion, widths=[share], random_state=request.seed, **options
    ).fit(X)
