"""Denoising as the command line does it: choose what was left open, fit, go back block by block."""

from dataclasses import dataclass, replace

import numpy as np

from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import FOLDS, needs_folds, out_of_fold, with_own_model
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


@dataclass(frozen=True)
class Choice:
    """Width, components and penalty for new rows, and what is done with rows of the training data.

    Attributes
    ----------
    width : float
    components : int or float in (0, 1)
    penalty : float
    of_training_rows : Choice or None
        Other parameters for rows of the training data, if they were found to be better than folds.
    prefers_folds : bool
        Whether folds were found to be better.
    """

    width: float
    components: object
    penalty: float
    of_training_rows: object = None
    prefers_folds: bool = False

    def model(self, X, seed):
        solver = FixedPoint(penalty=self.penalty)
        return KernelPCA(self.components, gamma=1 / self.width, preimage=solver, random_state=seed).fit(X)


@dataclass(frozen=True)
class FittedModels:
    """The model for new rows, another one for rows of the training data or None, and the number of folds or None."""

    model: KernelPCA
    of_training_rows: object
    n_folds: object

    def solver(self):
        """What `denoise` needs: a function from rows to their `PreimageResult`."""
        if self.of_training_rows is None and self.n_folds is None:
            return lambda rows: self.model.find_preimages(self.model.transform(rows), start=rows)
        own, dtype = self.of_training_rows, self.model.subspace_.frame.points.dtype
        models = out_of_fold(self.model, self.n_folds) if own is None else with_own_model(self.model, own)
        return lambda rows: models.solve(rows.astype(dtype, copy=False))


def fit(X, request, advance=lambda: None):
    """Models of X, with what the request leaves open chosen on X.

    Parameters
    ----------
    X : array of shape (n, d)
    request : Request
    advance : callable
        Called once for each of ``len(request.widths(X))`` steps.

    Returns
    -------
    FittedModels
    """
    choice = choose(X, request, advance)
    model, own = choice.model(X, request.seed), choice.of_training_rows
    if own is not None:
        return FittedModels(model, own.model(X, request.seed), None)
    folds = FOLDS if choice.prefers_folds else request.folds(model.n_components_, len(X))
    return FittedModels(model, None, folds)


def choose(X, request, advance=lambda: None):
    """The best `Choice`; one search per width, so that a bar can move, all on the same split."""
    if not request.is_open:
        (width,) = request.widths(X)
        advance()
        return Choice(width, request.components, request.penalty)
    (best_error, best), (training_error, own) = (np.inf, None), (np.inf, None)
    for width in request.widths(X):
        search = _search(X, width, request)
        if search.best_error_ < best_error:
            best_error, best = search.best_error_, _choice(search, search.best_index_, width, request)
        inside = np.nan_to_num(search.cv_results_["training_error"], nan=np.inf)
        if inside.min() < training_error:
            training_error, own = inside.min(), _choice(search, int(inside.argmin()), width, request)
        advance()
    # A fraction of the variance is as many components as it takes; the estimate was for another number.
    if own is None or isinstance(request.components, float):
        return best
    return replace(best, of_training_rows=own) if training_error <= best_error else replace(best, prefers_folds=True)


def _choice(search, index, width, request):
    found = {name: search.cv_results_[name][index].item() for name in ("gamma", "n_components", "penalty")}
    # The search knows widths as multiples of the median distance of its part of X, and penalties likewise.
    penalty = found["penalty"] / found["gamma"] / width if request.penalty == AUTO else request.penalty
    return Choice(width, found["n_components"] if request.components == AUTO else request.components, penalty)


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


def summarize(fitted, result):
    """What to tell about models and their pre-images, as plain numbers."""
    model, own = fitted.model, fitted.of_training_rows
    return {
        "parameters": _parameters(model),
        "training_row_parameters": None if own is None else _parameters(own),
        "cross_fit": fitted.n_folds,
        "explained_variance": float(np.sum(model.explained_variance_ratio_)),
        "objective": float(np.mean(result.objective)),
        "converged": int(np.sum(result.converged)),
        "not_converged": sorted(set(result.reason[~result.converged].tolist())),
    }


def _parameters(model):
    gamma = float(model.kernel_.gamma)
    return {
        "components": int(model.n_components_),
        "width": 1 / gamma,
        "gamma": gamma,
        "penalty": float(model.preimage_.penalty),
    }


def _search(X, width, request):
    options = {}
    if isinstance(request.components, int):
        options["n_components"] = [request.components]
    if request.penalty != AUTO:
        options["penalties"] = [request.penalty * width]
    share = width / squared_distance_percentile(X, 50)
    return DenoisingSearch(
        noise=request.noise,
        criterion=request.criterion,
        widths=[share],
        cross_fit=request.cross_fit,
        random_state=request.seed,
        **options,
    ).fit(X)
