"""Kernel PCA of files: two passes for landmarks, one for exact kernel PCA; and the model in a file of its own."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preimage._memory import free_memory
from preimage._progress import stage
from preimage.cli._console import DataError, FileError
from preimage.cli.runs._denoise import AUTO
from preimage.cli.runs._survey import sample_size, survey
from preimage.components import Wanted, landmark_subspace
from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import FoldMoments, out_of_fold, row_folds
from preimage.estimators._landmark_fit import DEFAULT_LANDMARKS, too_large_for_exact
from preimage.feature_space import Expansion, Subspace
from preimage.landmarks import as_landmarks
from preimage.persistence._file import read, write

# Share of the free memory that rows may take together.
SHARE = 4
# Rows whose squared number of kernel values can be waited for.
MOST_EXACT = 50_000


@dataclass(frozen=True)
class LargeModel:
    """A principal subspace, and what is told about it.

    Attributes
    ----------
    subspace : Subspace
    facts : dict
        "cross_fit" (in how many folds rows of the training data are denoised, or None), "explained_variance",
        "training_rows", "residual_share" (what landmarks leave of the kernel, None if exact), and
        "columns" (names, or None).
    folds : dict of int to Subspace
        With `facts["cross_fit"]` folds, for each the subspace of the rows of all others, on the same points.
    """

    subspace: Subspace
    facts: Any
    folds: Any = field(default_factory=dict)

    @property
    def kernel(self):
        return self.subspace.frame.kernel

    @property
    def points(self):
        return self.subspace.frame.points

    def check_source(self, source):
        """Refuse a file with other columns than those of the training data."""
        if source.n_columns != self.points.shape[1]:
            raise DataError(
                f"The model takes {self.points.shape[1]} columns; {source.path} has {source.n_columns}. "
                "Choose with --columns or --exclude."
            )


def fit_file(
    source,
    chunk_rows,
    kernel_of,
    n_components,
    landmarks,
    method,
    seed,
    notes,
    folds_for=lambda n_components, n_rows: None,
):
    """Kernel PCA of a file.

    Parameters
    ----------
    source : Source
    chunk_rows : int
    kernel_of : callable
        From a sample of rows to a kernel with numbers as parameters.
    n_components : int, float or callable
        A function takes no arguments and is asked after `kernel_of`.
    landmarks : int, "auto" or None
    method : str
        How landmarks are chosen.
    seed : int
    notes : LearningNotes
    folds_for : callable
        From the number of components, or the most there can be, and of rows to the number of folds for which to learn
        subspaces without the rows of a fold; None for none.

    Returns
    -------
    n_rows : int
    model : LargeModel
    """
    most = DEFAULT_LANDMARKS if landmarks == AUTO else landmarks or 0
    with stage("Reading rows", source.n_rows) as advance:
        seen = survey(source, chunk_rows, sample_size(source, most), seed, advance)
    if seen.n_rows < 2:
        raise DataError(f"{source.path} has {seen.n_rows} rows. Kernel PCA learns from many.")
    if landmarks == AUTO:
        landmarks = DEFAULT_LANDMARKS if too_large_for_exact(seen.n_rows, free_memory(seen.sample) // 2) else None
    try:
        kernel = kernel_of(seen.sample)
        wanted = n_components() if callable(n_components) else n_components
        fit = _fit_exact if landmarks is None else _fit_landmarks
        model = fit(source, chunk_rows, seen, kernel, wanted, landmarks, method, seed, notes, folds_for)
    except (ValueError, TypeError) as error:
        raise DataError(" ".join(str(error).split())) from error
    return seen.n_rows, model


def _fit_landmarks(source, chunk_rows, seen, kernel, n_components, landmarks, method, seed, notes, folds_for):
    selector = as_landmarks(landmarks) if method == AUTO else type(as_landmarks(method))(landmarks)
    points = selector.select(kernel, seen.sample, rng=np.random.default_rng(seed)).points
    most = n_components if isinstance(n_components, int) else len(points)
    n_folds = folds_for(most, seen.n_rows) or 1
    moments = notes.load(kernel, points, n_folds)
    known = 0 if moments is None else int(moments.total.values.count)
    with stage("Learning rows", seen.n_rows, known) as advance:
        for chunk in source.chunks(chunk_rows, known):
            new = FoldMoments.of(kernel, points, chunk, n_folds)
            moments = new if moments is None else moments + new
            notes.save(moments)
            advance(len(chunk))
    if moments is None or moments.total.values.count != seen.n_rows:
        raise DataError(f"{source.path} has changed while it was read. Run the command again.")
    total = moments.total
    found = landmark_subspace(total, Wanted.of(n_components))
    left = found.residual / total.trace if total.trace > 0 else 0.0
    n_folds = folds_for(len(found.subspace), seen.n_rows)
    folds = {} if n_folds is None else moments.subspaces(Wanted.of(n_components))
    return LargeModel(found.subspace, _facts(source, seen, float(np.sum(found.fractions)), left, n_folds), folds)


def _fit_exact(source, chunk_rows, seen, kernel, n_components, landmarks, method, seed, notes, folds_for):
    size, free = seen.n_rows * source.n_columns * source.dtype.itemsize, free_memory(seen.sample)
    if size > free // SHARE:
        raise DataError(
            f"Exact kernel PCA needs all rows of {source.path} in memory: {size / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free. Give --landmarks 500, say."
        )
    if seen.n_rows > MOST_EXACT:
        raise DataError(
            f"Exact kernel PCA of {seen.n_rows:,} rows takes hours; {MOST_EXACT:,} are the most that are done. "
            "Give --landmarks 500, say."
        )
    X = np.empty((seen.n_rows, source.n_columns), source.dtype)
    for number, chunk in enumerate(source.chunks(chunk_rows)):
        X[number * chunk_rows : number * chunk_rows + len(chunk)] = chunk
    with stage("Learning"):
        model = KernelPCA(n_components, kernel=kernel, random_state=seed).fit(X)
        n_folds = folds_for(model.n_components_, seen.n_rows)
        folds = {} if n_folds is None else _exact_folds(model, X, n_folds)
    explained = float(np.sum(model.explained_variance_ratio_))
    return LargeModel(model.subspace_, _facts(source, seen, explained, None, n_folds), folds)


def _exact_folds(model, X, n_folds):
    """For each fold the subspace of the rows of others, on all points: those of the fold have no weight."""
    labels = row_folds(X, n_folds)
    if len(np.unique(labels)) < 2:
        raise DataError("All rows fall in one fold: they are equal, or very few. Give --cross-fit none.")
    others = out_of_fold(model, labels).prepared().models
    return {int(fold): _on_all_points(others[fold].subspace_, X, labels != fold) for fold in np.unique(labels)}


def _on_all_points(space, X, used):
    def widened(vectors):
        coefficients = np.zeros((len(X), vectors.coefficients.shape[1]), vectors.coefficients.dtype)
        coefficients[used] = vectors.coefficients
        return Expansion(vectors.kernel, X, coefficients)

    return Subspace(
        widened(space.frame),
        widened(space.origin),
        offset=space.offset,
        origin_squared_norm=space.origin_squared_norm,
        signature=space.signature,
    )


def _facts(source, seen, explained, left, n_folds):
    return {
        "cross_fit": n_folds,
        "explained_variance": explained,
        "training_rows": seen.n_rows,
        "residual_share": left,
        "columns": source.names,
    }


def write_model(path, model):
    """Write a model to a safetensors file, which holds no code."""
    write({"subspace": model.subspace, "facts": model.facts, "folds": model.folds}, path)


def read_model(path):
    """A model from a file of `write_model`; nothing in it is executed."""
    try:
        return LargeModel(**read(path))
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist.") from error
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"{path} is no model that preimage wrote, or damaged: {error}") from error
