"""Outliers of a table in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage.cli._console import one_line
from preimage.cli._errors import DataError
from preimage.cli._options import AUTO
from preimage.cli.runs._preparation import ColumnMoments, Preparation, wishes_for
from preimage.cli.tables._files import Dataset, write
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._sources import CHUNK_ROWS, Source
from preimage.estimators import KernelNoveltyDetector

# Names of the columns that are written.
NOVELTY, OUTLIER = "novelty", "outlier"


@dataclass(frozen=True)
class Outliers:
    """How unusual rows are, and from where on they are outliers.

    Attributes
    ----------
    novelty : array of shape (n,)
        Squared distances in feature space, each row measured by the others.
    threshold : float
    """

    novelty: Array
    threshold: float

    @property
    def are_outliers(self) -> Array:
        return self.novelty > self.threshold


def find_outliers(
    source: Source,
    contamination: float | str,
    gamma: Any,
    landmarks: Any,
    seed: int,
    tell: Callable[[str], None] = lambda text: None,
) -> Outliers:
    """The outliers among the rows of a table, which is prepared as in other commands.

    Parameters
    ----------
    source : Source
    contamination : float or "auto"
        The fraction of rows that are outliers.
    gamma : "auto", a rule, or float
    landmarks : int, "auto" or None
    seed : int
    tell : callable
        Takes a message for the user.
    """
    wishes = wishes_for(source, "--gamma is a number" if isinstance(gamma, float) else "")
    chunks = [*source.chunks(CHUNK_ROWS, with_missing=wishes.impute is not None)]
    X = np.concatenate(chunks) if chunks else np.empty((0, source.n_columns))
    if len(X) < 2:
        raise DataError(f"{source.path} has {len(X)} rows. Outliers are found among many.")
    X = Preparation.of(wishes, ColumnMoments.of(X), X, source.labels, tell)(X)
    rule = None if gamma == AUTO else gamma
    detector = KernelNoveltyDetector(contamination, gamma=rule, landmarks=landmarks, random_state=seed)
    try:
        with stage("Looking for outliers"):
            detector.fit(X)
    except (ValueError, TypeError) as error:
        raise DataError(one_line(error)) from error
    return Outliers(-detector.left_out_scores_, -detector.offset_)


def write_outliers(path: Path, found: Outliers, source: Source, kind: str, output: Path) -> None:
    """Write both columns next to the index and the kept ones; `output` is the name that `path` will have."""
    matrix = np.column_stack([found.novelty, found.are_outliers])
    if kind == ".npy":
        write(path, Dataset(matrix), kind)
    else:
        write_frame(path, iter([matrix]), Frame.next_to_kept(source, [NOVELTY, OUTLIER]), kind, output)
