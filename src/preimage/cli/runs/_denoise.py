"""Denoise a table: rows in memory, or a file that does not fit into it, chunk by chunk."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import preimage
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage.cli._console import DataError
from preimage.cli._options import AUTO
from preimage.cli.runs._file_model import FileModel, Reading, count_rows, fit_file
from preimage.cli.runs._partial import Making, PartialOutput, partial_output, said_about, write_rows
from preimage.cli.runs._preparation import Preparation, wishes_for
from preimage.cli.tables._files import Dataset
from preimage.cli.tables._frames import Frame
from preimage.cli.tables._pictures import PICTURES
from preimage.cli.tables._sources import Source
from preimage.estimators import KernelPCA
from preimage.estimators._automatic_folds import automatic_folds
from preimage.estimators._cross_fit import denoised_by_folds, out_of_fold, with_own_model
from preimage.estimators._robust_denoise import RobustOptions, denoised
from preimage.kernels import Gaussian, resolve_gamma
from preimage.model_selection import DenoisingSearch
from preimage.solvers import FixedPoint, PreimageResult

# Rows that are denoised together: enough for products of matrices to be fast, few enough for bars to move.
BLOCK = 256
# Rows on which width, components and penalty are chosen, in memory as in chunks: the search fits exact models of all
# widths to them, and takes about a minute. Its time grows with their square.
CHOICE_ROWS = 2000
# Fewer rows cannot be divided into some to fit to and some to judge by (`DenoisingSearch` asks for as many).
FEWEST_ROWS_TO_CHOOSE = 8

# From rows to their pre-images.
Solve: TypeAlias = Callable[[Array], PreimageResult]


@dataclass(frozen=True)
class Request:
    """What the user said about the model; "auto" is chosen by `DenoisingSearch`.

    Attributes
    ----------
    components : "auto", int or float in (0, 1)
        A number of components, or the fraction of the variance that they should explain.
    gamma : "auto", a rule such as "median" or "p5", or float
        γ in exp(−γ‖x − y‖²).
    penalty : "auto" or float
    noise : float or None
        Deviation of the noise to expect, when training data are clean.
    criterion : str
        How to judge candidates when they are not, as in `DenoisingSearch`.
    seed : int
    cross_fit : "auto", int or None
        Folds in which rows of the training data are denoised; "auto" is `DenoisingSearch`'s.
    loss : str or None
        Robust loss for rows with gross errors, as in `KernelPCA.denoise`.
    """

    components: Any = AUTO
    gamma: Any = AUTO
    penalty: Any = AUTO
    noise: float | None = None
    criterion: str = AUTO
    seed: int = 0
    cross_fit: Any = AUTO
    loss: str | None = None

    @property
    def is_open(self) -> bool:
        return AUTO in (self.components, self.gamma, self.penalty)

    def folds(self, model: KernelPCA | None = None) -> int | None:
        """In how many folds rows of the training data are denoised by models of others; None is no folds.

        Those that are chosen are judged by an exact model; on landmarks, without one, there are none.
        """
        if self.noise is not None:  # the training data are clean, and so is the model
            return None
        if self.cross_fit == AUTO:
            return None if model is None else automatic_folds(model)
        return self.cross_fit


@dataclass(frozen=True)
class Choice:
    """Parameters of a model for new rows, and the search that found some of them, or None."""

    gamma: float
    components: Any
    penalty: float
    search: DenoisingSearch | None = None

    def model(self, X: Array, seed: int) -> KernelPCA:
        solver = FixedPoint(penalty=self.penalty)
        return KernelPCA(self.components, gamma=self.gamma, preimage=solver, random_state=seed).fit(X)


@dataclass(frozen=True)
class FittedModels:
    """The model for new rows, another one for rows of the training data or None, and the folds of these or None.

    And how the search judged, or None where nothing was left open: its criterion, and the fraction of clipped values.
    """

    model: KernelPCA
    of_training_rows: KernelPCA | None = None
    folds: Any = None
    criterion: str | None = None
    clipped: float | None = None

    def solver(self, loss: str | None = None) -> Solve:
        """The function from rows to their pre-images: what `denoise` of the model or of the search does."""
        model, own, dtype = self.model, self.of_training_rows, self.model.subspace_.frame.points.dtype
        repair = RobustOptions(loss).repair(model.subspace_)
        if own is None and self.folds is None:
            solve = lambda rows: denoised(model.preimage_, model.subspace_, rows, repair)
        else:
            models = out_of_fold(model, self.folds) if own is None else with_own_model(model, own)
            solve = lambda rows: models.solve(rows, None, repair)
        return lambda rows: solve(rows.astype(dtype, copy=False)).preimages


def check_rows(X: Array, request: Request, what: Path) -> None:
    """Refuse data too small to learn from; `what` names them."""
    if len(X) < 2 and what.suffix.lower() in PICTURES:
        raise DataError(
            f"{what} is one picture, which is one sample, and kernel PCA learns from many. Give the folder of all "
            "pictures, a TIFF file of several pages, or a folder to learn from with --fit FOLDER."
        )
    if len(X) < 2:
        raise DataError(f"{what} has one row. Kernel PCA learns from many: add rows, or give others with --fit FILE.")
    if request.is_open and len(X) < FEWEST_ROWS_TO_CHOOSE:
        raise DataError(
            f"{what} has {len(X)} rows; choosing parameters needs {FEWEST_ROWS_TO_CHOOSE}. "
            "Give --components, --gamma and --penalty."
        )


def choose(X: Array, request: Request) -> Choice:
    """What the request leaves open, chosen on X or, of many rows, on some at equal distances; what it says stays."""
    if not request.is_open:
        return Choice(resolve_gamma(request.gamma, X), request.components, request.penalty)
    X = X[np.linspace(0, len(X) - 1, min(len(X), CHOICE_ROWS)).astype(int)]
    search = DenoisingSearch(
        added_noise=request.noise,
        criterion=request.criterion,
        gammas=None if request.gamma == AUTO else [resolve_gamma(request.gamma, X)],
        n_components=[request.components] if isinstance(request.components, int) else None,
        penalties=None if request.penalty == AUTO else [request.penalty],
        loss=request.loss,
        cross_fit=request.cross_fit,
        random_state=request.seed,
    ).fit(X)
    best = search.best_params_
    components = best["n_components"] if request.components == AUTO else request.components
    penalty = best["penalty"] if request.penalty == AUTO else request.penalty
    return Choice(best["gamma"], components, penalty, search)


def fit(X: Array, request: Request) -> FittedModels:
    """Models of X, with what the request leaves open chosen on X."""
    choice = choose(X, request)
    search = choice.search
    found = {"gamma": choice.gamma, "n_components": choice.components, "penalty": choice.penalty}
    if search is not None and search.best_params_ == found and len(X) <= CHOICE_ROWS:
        own = search.training_estimator_ if search.training_params_ != search.best_params_ else None
        return FittedModels(search.best_estimator_, own, search.cross_fit_, search.criterion_, search.clipped_)
    # A fraction of the variance, a penalty that the criterion cannot judge, or rows that the search did not see: it
    # fitted another model.
    model = choice.model(X, request.seed)
    folds = request.folds(model)
    if search is None:
        return FittedModels(model, folds=folds)
    return FittedModels(model, None, folds, search.criterion_, search.clipped_)


def denoise(solve: Solve, X: Array, advance: Callable[[int], None]) -> PreimageResult:
    """Pre-images of the rows of X; `advance(rows)` is called after each block."""
    results = []
    for first in range(0, len(X), BLOCK):
        rows = X[first : first + BLOCK]
        results.append(solve(rows))
        advance(len(rows))
    return PreimageResult.join(results)


def why_not_to_standardize(request: Request) -> str:
    """Why columns are left as they are unless the user says otherwise; empty if there is no reason."""
    if request.noise is not None:
        return "--noise is in the units of the data"
    return "--gamma is a number" if isinstance(request.gamma, float) else ""


def denoise_rows(
    X_train: Array,
    X: Array,
    request: Request,
    preparation: Preparation = Preparation(),  # noqa: B008
) -> tuple[dict[str, Any], Array]:
    """A summary as plain numbers, and the denoised rows of X, by models of the rows of X_train."""
    is_same = X is X_train
    X_train = preparation(X_train)
    X = X_train if is_same else preparation(X)
    fitted = fit(X_train, request)
    with stage("Denoising rows", len(X)) as advance:
        result = denoise(fitted.solver(request.loss), X, advance)
    model, own = fitted.model, fitted.of_training_rows
    summary = {
        "rows": len(X),
        "training_rows": len(X_train),
        "parameters": parameters(model),
        "training_row_parameters": None if own is None else parameters(own),
        "standardized": preparation.is_standardizing,
        "cross_fit": fitted.folds,
        "loss": request.loss,
        "criterion": fitted.criterion,
        "clipped": fitted.clipped,
        "explained_variance": float(np.sum(model.explained_variance_ratio_)),
        "objective": float(np.mean(result.objective)),
        "converged": int(np.sum(result.converged)),
        "not_converged": sorted(set(result.reason[~result.converged].tolist())),
    }
    return summary, preparation.undone(result.points)


def parameters(model: KernelPCA) -> dict[str, float]:
    """What a model was fitted with, as plain numbers."""
    gamma = float(model.kernel_.gamma)
    return {
        "components": int(model.n_components_),
        "width": 1 / gamma,
        "gamma": gamma,
        "penalty": float(model.preimage_.penalty),
    }


# Most rows of a chunk: denoised rows take long, and what an interruption costs should be little.
CHUNK_ROWS = 4096
# Most rows, from the start of the file, that a figure shows.
FIGURE_ROWS = 2000


Conclude: TypeAlias = Callable[[dict[str, Any], Dataset, Dataset, Making], None]


def denoise_file(
    source: Source,
    train: Source,
    output: Path,
    kind: str,
    request: Request,
    landmarks: Any,
    chunk_rows: int | None,
    resume: bool,
    conclude: Conclude,
    tell: Callable[[str], None] = lambda text: None,
) -> None:
    """Write the denoised rows of a file.

    Parameters
    ----------
    source, train : Source
        What to denoise, and what to learn from; possibly the same.
    output : Path
    kind : str
        Format of the output.
    request : Request
    landmarks : int or "auto"
    chunk_rows : int or None
    resume : bool
        Whether to continue an interrupted run.
    conclude : callable
        Writes what else is made: takes a summary, some rows before and after, and `PartialOutput.making`.
    tell : callable
        Takes a message for the user.
    """
    if train.n_columns != source.n_columns:
        raise DataError(
            f"{train.path} has {train.n_columns} columns and {source.path} has {source.n_columns}; they must agree."
        )
    rows = chunk_rows or min(CHUNK_ROWS, source.chunk_rows)
    reading = Reading(rows, landmarks, seed=request.seed, wishes=wishes_for(train, why_not_to_standardize(request)))
    inputs = {
        "command": "denoise",
        "version": preimage.__version__,
        "input": source.identity(),
        "training data": train.identity(),
        "chunk rows": reading.chunk_rows,
        **said_about(source),
        "landmarks": landmarks,
        **asdict(request),
    }
    with partial_output(output, inputs, resume) as partial:
        if partial.is_begun:
            found = _from_state(partial.model())
        else:
            found = _begin(source, train, request, reading, partial, tell)
        prepared = found.preparation.applied(source)
        solve = _solver(found, request.loss)

        def step(chunk: Array, totals: dict[str, Any], advance: Callable[[int], None]) -> tuple[Array, dict[str, Any]]:
            result = denoise(solve, chunk, advance)
            return found.preparation.undone(result.points), _updated(totals, result)

        write_rows(prepared, partial, reading.chunk_rows, step, "Denoising rows", tell)
        before = found.preparation.undone(next(prepared.chunks(min(reading.chunk_rows, FIGURE_ROWS))))
        after = partial.first(len(before)).reshape(len(before), -1)
        partial.finish(kind, Frame.of_whole(source))
        conclude(
            _summary(found, partial, request.loss), _dataset(source, before), _dataset(source, after), partial.making
        )
        partial.close()


def _begin(
    source: Source,
    train: Source,
    request: Request,
    reading: Reading,
    partial: PartialOutput,
    tell: Callable[[str], None],
) -> FileModel:
    """Fit the model, and make ready for the rows."""
    same = train.identity() == source.identity()
    n_folds = request.folds() if same else None
    chosen = lambda sample: _chosen(sample, request, train.path)
    n_rows, found = fit_file(train, reading, chosen, partial, n_folds, tell, lambda X: _exactly(X, request, train.path))
    n_rows = n_rows if train is source else count_rows(found.preparation.applied(source), reading.chunk_rows)
    shape = source.row_shape or (source.n_columns,)
    state = {
        "model": found.model,
        "of_training_rows": found.of_training_rows,
        "n_folds": found.n_folds,
        "folds": found.folds,
        "preparation": found.preparation.state,
    }
    dtype = found.model.subspace_.frame.points.dtype
    partial.begin(state, n_rows, shape, dtype, {"converged": 0, "objective": 0.0, "reasons": []})
    return found


def _from_state(state: dict[str, Any]) -> FileModel:
    return FileModel(**{**state, "preparation": Preparation.from_state(state["preparation"])})


def _chosen(sample: Array, request: Request, path: Path) -> KernelPCA:
    check_rows(sample, request, path)
    choice = choose(sample, request)
    solver = FixedPoint(penalty=float(choice.penalty))
    return KernelPCA(choice.components, kernel=Gaussian(choice.gamma), preimage=solver, random_state=request.seed)


def _exactly(X: Array, request: Request, path: Path) -> FileModel:
    """The models that rows in memory would have."""
    check_rows(X, request, path)
    fitted = fit(X, request)
    return FileModel(fitted.model, fitted.folds, of_training_rows=fitted.of_training_rows)


def _solver(found: FileModel, loss: str | None) -> Solve:
    """A function from rows to their pre-images, with subspaces that have not seen them if there are folds."""
    if found.model.route_ == "exact":
        return FittedModels(found.model, found.of_training_rows, found.n_folds).solver(loss)
    solver, space, folds, n_folds = found.model.preimage_, found.model.subspace_, found.folds, found.n_folds
    repair = RobustOptions(loss).repair(space)
    if n_folds is None:
        return lambda rows: denoised(solver, space, rows, repair).preimages
    return lambda rows: denoised_by_folds(dict.fromkeys(folds, solver), folds, n_folds, rows, repair).preimages


def _updated(totals: dict[str, Any], result: PreimageResult) -> dict[str, Any]:
    reasons = set(totals["reasons"]) | set(result.reason[~result.converged].tolist())
    return {
        "converged": totals["converged"] + int(np.sum(result.converged)),
        "objective": totals["objective"] + float(np.sum(result.objective)),
        "reasons": sorted(reasons),
    }


def _summary(found: FileModel, partial: PartialOutput, loss: str | None) -> dict[str, Any]:
    model, totals = found.model, partial.totals
    return {
        "rows": partial.n_rows,
        "training_rows": model.n_samples_seen_,
        "parameters": parameters(model),
        "training_row_parameters": None if found.of_training_rows is None else parameters(found.of_training_rows),
        "cross_fit": found.n_folds,
        "loss": loss,
        "standardized": found.preparation.is_standardizing,
        "landmarks": len(model.subspace_.frame.points),
        "residual_fraction": None if model.landmarks_ is None else float(model.landmarks_.residual_fraction),
        "explained_variance": float(np.sum(model.explained_variance_ratio_)),
        "objective": totals["objective"] / partial.n_rows,
        "converged": totals["converged"],
        "not_converged": totals["reasons"],
    }


def _dataset(source: Source, values: Array) -> Dataset:
    image_shape = source.row_shape if source.row_shape is not None and len(source.row_shape) == 2 else None
    return Dataset(values, columns=source.names, image_shape=image_shape)
