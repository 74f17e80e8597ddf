"""Embedding of files, chunk by chunk."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import preimage
from preimage._typing import Array
from preimage.cli._console import DataError
from preimage.cli.runs._file_model import Reading, count_rows, fit_file
from preimage.cli.runs._partial import partial_output, write_rows
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
    ready: tuple[Path, KernelPCA] | None = None,
    save_model: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[KernelPCA, int]:
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
    ready : (Path, KernelPCA) or None
        A fitted model and its file, in place of `wish`.
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
        **(asdict(wish) if ready is None else {"model": identity_of(ready[0])}),
    }
    with partial_output(output, inputs, resume) as partial:
        if partial.is_begun:
            model = partial.model()
        else:
            if ready is None:
                reading = Reading(chunk_rows, wish.landmarks, wish.method, wish.seed)
                n_rows, found = fit_file(source, reading, wish.model, partial)
                model = found.model
            else:
                model = ready[1]
                _check_columns(model, source)
                n_rows = count_rows(source, chunk_rows)
            partial.begin(model, n_rows, (model.n_components_,), model.subspace_.frame.points.dtype)

        def step(chunk: Array, totals: dict[str, Any], advance: Callable[[int], None]) -> tuple[Array, dict[str, Any]]:
            values = model.subspace_.coordinates(chunk)
            advance(len(chunk))
            return values, totals

        write_rows(source, partial, chunk_rows, step, "Embedding rows", tell)
        partial.finish(kind, list(model.get_feature_names_out()))
        if save_model is not None:
            with partial.making(save_model) as aside:
                aside.write_bytes(to_bytes(model))
        partial.close()
        return model, partial.n_rows


def _check_columns(model: KernelPCA, source: Source) -> None:
    """Refuse a file with other columns than those of the training data."""
    if source.n_columns != model.n_features_in_:
        raise DataError(
            f"The model takes {model.n_features_in_} columns; {source.path} has {source.n_columns}. "
            "Choose with --columns or --exclude."
        )
