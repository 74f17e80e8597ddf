"""Embedding of files, chunk by chunk."""

from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

import preimage
from preimage._engine.typing import Array
from preimage._engine.warnings import warn_user
from preimage.cli._console import DataError
from preimage.cli.runs._file_model import SAMPLE_ROWS, FileModel, Reading, count_rows, fit_file, survey
from preimage.cli.runs._partial import PartialOutput, partial_output, said_about, write_rows
from preimage.cli.runs._preparation import AS_THEY_ARE, Preparation, constant_imputer, wishes_for
from preimage.cli.tables._frames import Frame
from preimage.cli.tables._identity import identity_of
from preimage.cli.tables._sources import Source
from preimage.estimators import KernelPCA
from preimage.kernels import as_kernel
from preimage.persistence._file import to_bytes


@dataclass(frozen=True)
class Embedding:
    """What the user said about an embedding.

    Attributes
    ----------
    components : int or float in (0, 1)
        A number of components, or the fraction of the variance that they should explain.
    kernel : str
    gamma : str or float
    degree : int
    coef0 : float
    landmarks : int, "auto" or None
    method : str
        How landmarks are chosen.
    seed : int
    """

    components: Any = 10
    kernel: str = "rbf"
    gamma: Any = "median"
    degree: int = 3
    coef0: float = 1.0
    landmarks: Any = 500
    method: str = "auto"
    seed: int = 0

    def model(self, sample: Array) -> KernelPCA:
        """An unfitted model with the kernel that the sample gives."""
        kernel = as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        return KernelPCA(self.components, kernel=kernel.resolve(sample), random_state=self.seed)


def embed(
    source: Source,
    output: Path,
    kind: str,
    wish: Embedding,
    chunk_rows: int,
    resume: bool,
    ready: tuple[Path, KernelPCA, Preparation] | None = None,
    save_model: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[FileModel, int]:
    """Write the coordinates of the rows of a file, and return the model and the number of rows.

    Parameters
    ----------
    source : Source
    output : Path
    kind : str
        Format of the output.
    wish : Embedding
    chunk_rows : int
    resume : bool
        Whether to continue an interrupted run.
    ready : (Path, KernelPCA, Preparation) or None
        A fitted model, its file and what is done to rows before, in place of `wish`.
    save_model : Path or None
        Where the model goes as well.
    tell : callable
        Takes a message for the user.
    """
    inputs = {
        "command": "embed",
        "version": preimage.__version__,
        "input": source.identity(),
        "columns": source.labels,
        "chunk rows": chunk_rows,
        **said_about(source),
        **(asdict(wish) if ready is None else {"model": identity_of(ready[0])}),
    }
    with partial_output(output, inputs, resume) as partial:
        if partial.is_begun:
            state = partial.model()
            found = FileModel(state["model"], preparation=Preparation.from_state(state["preparation"]))
        else:
            n_rows, found = _fitted(source, wish, chunk_rows, ready, partial, tell)
            state = {"model": found.model, "preparation": found.preparation.state}
            shape, dtype = (found.model.n_components_,), found.model.subspace_.frame.points.dtype
            partial.begin(state, n_rows, shape, dtype)
        model = found.model

        def step(chunk: Array, totals: dict[str, Any], advance: Callable[[int], None]) -> tuple[Array, dict[str, Any]]:
            values = model.subspace_.coordinates(chunk)
            advance(len(chunk))
            return values, totals

        write_rows(found.preparation.applied(source), partial, chunk_rows, step, "Embedding rows", tell)
        partial.finish(kind, Frame.next_to_kept(source, list(model.get_feature_names_out())))
        if save_model is not None:
            with partial.making(save_model) as aside:
                aside.write_bytes(to_bytes(as_estimator(found, source, partial.n_rows)))
        partial.close()
        return found, partial.n_rows


def _fitted(
    source: Source,
    wish: Embedding,
    chunk_rows: int,
    ready: tuple[Path, KernelPCA, Preparation] | None,
    partial: PartialOutput,
    tell: Callable[[str], None],
) -> tuple[int, FileModel]:
    """The number of rows, and a model of them or the one that is there."""
    wishes = wishes_for(source, "--gamma is a number" if isinstance(wish.gamma, float) else "")
    if ready is None:
        reading = Reading(chunk_rows, wish.landmarks, wish.method, wish.seed, wishes)
        return fit_file(source, reading, wish.model, partial, tell=tell)
    model, preparation = ready[1:]
    _check_columns(model, source)
    if wishes.impute is not None and preparation.imputer is not None:
        warn_user("--impute had no effect: the model of --model fills in missing values itself.", UserWarning)
    elif wishes.impute is not None:
        # By the means of the training data, if the model has them, else by the rows at hand.
        surveyed = survey(source, chunk_rows, SAMPLE_ROWS, wish.seed, with_missing=True)
        filling = Preparation.of(
            replace(AS_THEY_ARE, impute=wishes.impute), surveyed.moments, surveyed.sample, source.labels, tell
        ).imputer
        if wishes.impute == "mean" and preparation.mean is not None:
            filling = constant_imputer("mean", preparation.mean)
        preparation = replace(preparation, imputer=filling)
    return count_rows(preparation.applied(source), chunk_rows), FileModel(model, preparation=preparation)


def as_estimator(found: FileModel, source: Source, n_rows: int) -> Any:
    """What a model file holds: kernel PCA, after an imputer and a scaler where rows were prepared by such."""
    steps = found.preparation.steps(source.names, n_rows)
    if not steps:
        return found.model
    model = copy(found.model)
    model.__dict__.pop("feature_names_in_", None)  # the first step has the names, and gives arrays
    return Pipeline([*steps, ("kernel_pca", model)])


def _check_columns(model: KernelPCA, source: Source) -> None:
    """Refuse a file with other columns than those of the training data."""
    if source.n_columns != model.n_features_in_:
        raise DataError(
            f"The model takes {model.n_features_in_} columns; {source.path} has {source.n_columns}. "
            "Choose with --columns or --exclude."
        )
