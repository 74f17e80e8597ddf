"""Kernel PCA of files: two passes for landmarks, one for exact kernel PCA; and the model in a file of its own."""

import json
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._memory import free_memory
from preimage.cli._denoise import AUTO, DataError
from preimage.cli._files import FileError
from preimage.cli._survey import sample_size, survey
from preimage.estimators import KernelPCA
from preimage.estimators._landmark_route import DEFAULT_LANDMARKS, too_large_for_exact
from preimage.feature_space import Expansion, Subspace
from preimage.interop._tensors import Tensors
from preimage.interop._value_state import kernel_from_state, value_state
from preimage.landmarks import as_landmarks
from preimage.spectral import KernelMoments, landmark_subspace

FORMAT = "preimage.subspace", 1
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
        "explained_variance", "training_rows", "residual_share" (what landmarks leave of the kernel, None if exact), and
        "columns" (names, or None).
    """

    subspace: Subspace
    facts: Any

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


def fit_file(source, chunk_rows, kernel_of, n_components, landmarks, method, seed, bars, notes):
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
    bars : Bars
    notes : LearningNotes

    Returns
    -------
    n_rows : int
    model : LargeModel
    """
    most = DEFAULT_LANDMARKS if landmarks == AUTO else landmarks or 0
    with bars.stage("Reading", source.n_rows) as advance:
        seen = survey(source, chunk_rows, sample_size(source, most), seed, advance)
    if seen.n_rows < 2:
        raise DataError(f"{source.path} has {seen.n_rows} rows. Kernel PCA learns from many.")
    if landmarks == AUTO:
        landmarks = DEFAULT_LANDMARKS if too_large_for_exact(seen.n_rows, free_memory(seen.sample) // 2) else None
    try:
        kernel = kernel_of(seen.sample)
        wanted = n_components() if callable(n_components) else n_components
        fit = _fit_exact if landmarks is None else _fit_landmarks
        model = fit(source, chunk_rows, seen, kernel, wanted, landmarks, method, seed, bars, notes)
    except (ValueError, TypeError) as error:
        raise DataError(" ".join(str(error).split())) from error
    return seen.n_rows, model


def _fit_landmarks(source, chunk_rows, seen, kernel, n_components, landmarks, method, seed, bars, notes):
    selector = type(as_landmarks(method))(landmarks)
    points = selector.select(kernel, seen.sample, rng=np.random.default_rng(seed)).points
    moments = notes.load(kernel, points)
    known = 0 if moments is None else int(moments.values.count)
    with bars.stage("Learning", seen.n_rows, known) as advance:
        for chunk in source.chunks(chunk_rows, known):
            new = KernelMoments.of(kernel, points, chunk)
            moments = new if moments is None else moments + new
            notes.save(moments)
            advance(len(chunk))
    if moments is None or moments.values.count != seen.n_rows:
        raise DataError(f"{source.path} has changed while it was read. Run the command again.")
    found = landmark_subspace(moments, n_components)
    left = found.residual / moments.trace if moments.trace > 0 else 0.0
    return LargeModel(found.subspace, _facts(source, seen, float(np.sum(found.shares)), left))


def _fit_exact(source, chunk_rows, seen, kernel, n_components, landmarks, method, seed, bars, notes):
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
    with bars.stage("Learning", None):
        model = KernelPCA(n_components, kernel=kernel, random_state=seed).fit(X)
    return LargeModel(model.subspace_, _facts(source, seen, float(np.sum(model.explained_variance_ratio_)), None))


def _facts(source, seen, explained, left):
    return {
        "explained_variance": explained,
        "training_rows": seen.n_rows,
        "residual_share": left,
        "columns": source.names,
    }


def write_model(path, model):
    """Write a model as arrays and a JSON description: no code, no pickle."""
    space, arrays = model.subspace, Tensors()
    document = {
        "format": list(FORMAT),
        "kernel": value_state(space.frame.kernel, arrays, "kernel"),
        "origin_squared_norm": float(space.origin_squared_norm),
        "facts": model.facts,
    }
    arrays.put("points", space.frame.points)
    arrays.put("axes", space.frame.coefficients)
    arrays.put("mean", space.origin.coefficients)
    arrays.put("offset", space.offset)
    if space.signature is not None:
        arrays.put("signature", space.signature)
    with open(path, "wb") as file:
        np.savez(file, document=np.array(json.dumps(document)), **arrays.arrays)


def read_model(path):
    """A model from a file of `write_model`; nothing in it is executed."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = Tensors({name: archive[name] for name in archive.files})
        document = json.loads(str(arrays.arrays.pop("document")))
        if document["format"] != list(FORMAT):
            raise ValueError(f"its format is {document['format']}, not {list(FORMAT)}.")
        kernel = kernel_from_state(document["kernel"], arrays)
        points, get = arrays.get({"array": "points"}), lambda name: arrays.get({"array": name})
        subspace = Subspace(
            Expansion(kernel, points, get("axes")),
            Expansion(kernel, points, get("mean")),
            offset=get("offset"),
            origin_squared_norm=float(document["origin_squared_norm"]),
            signature=get("signature") if "signature" in arrays.arrays else None,
        )
        return LargeModel(subspace, document["facts"])
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist.") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"{path} is no model that preimage wrote, or damaged: {error}") from error
