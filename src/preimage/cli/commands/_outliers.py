"""The command ``preimage outliers``: how unusual the rows of a table in memory are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from preimage._engine.output_files import replacing
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage.cli import _options
from preimage.cli._console import how_many
from preimage.cli._errors import DataError
from preimage.cli._options import AUTO, argument, option
from preimage.cli._outputs import check_outputs, save_figure, table_format, wrote
from preimage.cli.commands._embed import tell_of_dropped
from preimage.cli.runs._learning import data_errors
from preimage.cli.runs._preparation import Preparation, survey
from preimage.cli.tables._files import write
from preimage.cli.tables._frames import Frame
from preimage.cli.tables._sources import SOURCE_FORMATS, open_source
from preimage.estimators import KernelNoveltyDetector
from preimage.plotting._command_figures import draw_outliers

# Outliers of which the numbers are printed; all of them are in the output.
SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Outliers(_options.Options):
    """Say how unusual each row of a table is, compared with the others, and which rows are outliers.

    With --contamination auto about one row in twenty, the most unusual ones, is an outlier. --gamma auto is p5.
    """

    input: Annotated[Path, argument("INPUT", f"A table that fits in memory: {SOURCE_FORMATS}.")]
    output: Annotated[
        Path, argument("OUTPUT", "Novelty of each row, and 1 for outliers: .csv, .tsv, .parquet, .xlsx or .npy.")
    ]
    contamination: Annotated[
        Any,
        option(
            "auto|FRACTION",
            "Fraction of the rows that are outliers, such as 0.05; finds groups of outliers as well. auto: unknown.",
            _options.contamination,
        ),
    ] = AUTO
    gamma: _options.Gamma = AUTO
    landmarks: _options.Landmarks = AUTO
    plot: _options.Plot = None
    output_format: _options.OutputFormat = None

    EXAMPLES = (
        "preimage outliers table.csv unusual.csv",
        "preimage outliers table.csv unusual.csv --contamination 0.05 --plot unusual.png",
    )

    def run(self) -> None:
        """Find outliers among the rows of INPUT."""
        kind = table_format(self.output_format, self.output)
        written = check_outputs({"OUTPUT": self.output, "--plot": self.plot}, (self.input,), self.force)
        source = open_source(self.input, self.table)
        self.say(source.described())
        tell_of_dropped(source, self.output, self.say)
        source = source.held(self.table.impute is not None)
        if source.n_rows < 2:
            raise DataError(f"{source.path} has {how_many(source.n_rows, 'row')}. Outliers are found among many.")
        why_not = _options.why_not_standardized(self.gamma)
        X = Preparation.of(source, survey(source, 0, 0, 0), why_not, self.say)(source.values)
        gamma = None if self.gamma == AUTO else self.gamma
        detector = KernelNoveltyDetector(
            self.contamination, gamma=gamma, landmarks=self.landmarks, random_state=self.seed
        )
        with data_errors(), stage("Looking for outliers"):
            detector.fit(X)
        novelty, threshold = -detector.left_out_scores_, -detector.offset_
        matrix = np.column_stack([novelty, novelty > threshold])
        with replacing(self.output) as aside:
            write(aside, iter([matrix]), Frame.next_to_kept(source, ["novelty", "outlier"]), kind, self.output)
        save_figure(self.plot, lambda: draw_outliers(novelty, threshold), f"{self.output} is complete.")
        self.say(_report(novelty, novelty > threshold, source.layout.names is not None))
        if self.contamination == AUTO:
            self.say(
                "How many there are is not known: the most unusual row in twenty is called an outlier, whether or not "
                "anything is wrong with it. --plot draws all novelties; --contamination takes a fraction read from it."
            )
        self.say(wrote(written))


def _report(novelty: Array, are_outliers: Array, has_header: bool) -> str:
    """How many outliers there are, and the most unusual ones, by the number of their row."""
    count, n_rows = int(np.sum(are_outliers)), len(novelty)
    some = [f"{row + 1:,}" for row in np.argsort(-novelty, kind="stable")[: min(count, SHOWN)]]
    more = ", …" if count > SHOWN else ""
    first = "It is row" if count == 1 else "The most unusual first: rows"
    counted = "; row 1 is the first below the header" if has_header else ""
    listed = f" {first} {', '.join(some)}{more}{counted}." if count else ""
    return f"{count:,} of {how_many(n_rows, 'row')} {'is an outlier' if count == 1 else 'are outliers'}.{listed}"
