"""The command ``preimage inflation``: a report on the rows of a file, as text and as plain values."""

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from sklearn.decomposition import PCA
from sklearn.svm import SVC

import preimage
from preimage._engine.output_files import replacing
from preimage._engine.typing import Array
from preimage.cli import _options
from preimage.cli._errors import DataError, FileError, UsageError
from preimage.cli._options import AUTO, argument, option
from preimage.cli._outputs import check_outputs, chosen_format, save_figure, wrote
from preimage.cli.runs._preparation import Preparation, survey
from preimage.cli.tables._files import read
from preimage.cli.tables._paths import FORMATS, TABLES, format_of
from preimage.estimators import KernelPCA
from preimage.inflation import inflation_report
from preimage.inflation._report import QUESTIONS, InflationReport
from preimage.kernels import resolve_gamma
from preimage.plotting._command_figures import draw_inflation

# Formats of a written report.
REPORT_FORMATS = (".json", ".csv")
# Fewest rows that have neighbours when one is left out.
FEWEST_ROWS = 3
# Rows of a class, on average, below which labels are taken for measurements: classes of two rows cannot be learned.
ROWS_OF_A_CLASS = 3
NO_CLASSES = "Not known without classes: give --label COLUMN."
MODELS = {"KernelPCA": "Kernel PCA", "PCA": "PCA", "SVC": "A support vector machine"}


@dataclass(frozen=True, kw_only=True)
class Inflation(_options.Options):
    """Check whether a model of few samples with many variables holds for new ones, and whether a correction helps.

    A model fits the rows that it knows better than new ones: their values vary too much (variance inflation). Every row
    is left out in turn to see by how much. --gamma auto is the median rule, for svc scikit-learn's "scale".
    """

    input: Annotated[Path, argument("DATA", f"One sample per row: {FORMATS}.")]
    label: _options.Label = None
    group: Annotated[
        str | None, option("COLUMN", "Column with groups, such as patients or runs, whose rows are left out together.")
    ] = None
    estimator: Annotated[
        Literal["auto", "svc", "kernel_pca", "pca"],
        option(
            None,
            "Which values are checked: decisions of a support vector machine, or components. auto: the former with "
            "--label, the latter without it, or with --components or --landmarks.",
        ),
    ] = "auto"
    components: _options.ComponentsOfTransformer = None
    gamma: _options.Gamma = AUTO
    landmarks: _options.Landmarks = None
    array: _options.ArrayName = None
    output: Annotated[Path | None, option("FILE", "The report as .json, or its table as .csv.", None, "--output")] = (
        None
    )
    plot: _options.Plot = None
    output_format: _options.OutputFormat = None

    WITHOUT = ("keep",)
    EXAMPLES = (
        "preimage inflation patients.csv --label diagnosis",
        "preimage inflation patients.csv --label diagnosis --output report.json --plot report.png",
        "preimage inflation scans.npz --array X --label y --group run --estimator kernel_pca --components 10",
    )

    def run(self) -> None:
        """Report on DATA."""
        if self.estimator == "svc" and self.label is None:
            raise UsageError("--estimator svc needs classes: give --label COLUMN.")
        kind = self._format()
        outputs = check_outputs({"--output": self.output, "--plot": self.plot}, (self.input,), self.force)
        X, y, groups = self._samples()
        name = self.estimator
        if name == AUTO:
            speaks_of_components = self.components is not None or self.landmarks is not None
            name = "kernel_pca" if self.label is None or speaks_of_components else "svc"
        report = inflation_report(self._model(name, X), X, y, groups=groups, random_state=self.seed)
        if self.output is not None:
            with replacing(self.output) as aside:
                _write(aside, kind, self._record(report, name))
        if not self.quiet:
            typer.echo(self._text(report, y, "each row" if groups is None else "each group"))
        save_figure(self.plot, lambda: draw_inflation(report), "The report is complete.")
        if outputs:
            self.say(wrote(outputs))

    def _format(self) -> str:
        if self.output is None:
            if self.output_format is not None:
                raise UsageError("--output-format needs --output FILE.")
            return ""
        if self.output_format is not None:
            return chosen_format(self.output_format, REPORT_FORMATS)
        suffix = self.output.suffix
        if suffix.lower() not in REPORT_FORMATS:
            formats = " or ".join(REPORT_FORMATS)
            raise FileError(f"{self.output} has the unknown format {suffix!r}; reports are {formats}.")
        return suffix.lower()

    def _model(self, name: str, X: Array) -> Any:
        """An unfitted estimator."""
        if name == "svc":
            return SVC(gamma="scale" if self.gamma == AUTO else resolve_gamma(self.gamma, X))
        components = 5 if self.components is None else self.components
        if name == "pca":
            return PCA(components, random_state=self.seed)
        gamma = "median" if self.gamma == AUTO else self.gamma
        return KernelPCA(components, gamma=gamma, landmarks=self.landmarks, random_state=self.seed)

    def _samples(self) -> tuple[Array, Array | None, Array | None]:
        """The rows of a file, their classes and their groups, whose columns are no values."""
        options, group, groups = self.table, self.group, None
        if group is not None and format_of(self.input) in TABLES:
            options = replace(options, exclude=(*(options.exclude or ()), group))
        source = read(self.input, self.array, self.label, options=options)
        if group is not None:
            if source.is_table:
                groups = source.classes_of(group)
            elif group in source.others:
                groups = np.asarray(source.others[group])
            else:
                raise DataError(f"{self.input} has no column {group!r} for groups.")
        if source.is_table:
            self.say(source.described())
        self._check(source.n_rows, source.classes, groups)
        return Preparation.of(source, survey(source, 0, 0, 0), tell=self.say)(source.values), source.classes, groups

    def _check(self, n: int, y: Array | None, groups: Array | None) -> None:
        if n < FEWEST_ROWS:
            raise DataError(f"{self.input} has {n} rows. Leaving rows out needs at least {FEWEST_ROWS}.")
        if y is not None:
            classes = np.unique(y)
            if len(classes) < 2:
                raise DataError(
                    f"All rows have the label {classes[0]!s}; --label {self.label} must have at least two classes."
                )
            if ROWS_OF_A_CLASS * len(classes) > n:
                raise DataError(
                    f"--label {self.label} has {len(classes)} different values in {n} rows. It is for classes, each "
                    f"with {ROWS_OF_A_CLASS} rows or more; leave it out, or name another column."
                )
        if groups is not None and len(np.unique(groups)) < 2:
            raise DataError(f"All rows are of one group; --group {self.group} must have at least two.")

    def _text(self, report: InflationReport, y: Array | None, each: str) -> str:
        """The report for people: what was measured, the answers, what to do, and what it means."""
        classes = "" if y is None else f", {len(np.unique(y))} classes"
        parts = [
            f"{self.input}: {report.n_samples:,} rows of {report.n_features:,} columns{classes}. "
            f"{MODELS[type(report.model).__name__]} was fitted to all rows, and again without {each}, to see where "
            "rows fall that it does not know.",
            "\n".join(report.table_lines("; --output FILE writes all")),
            "\n".join(f"{question} {answer}" for question, answer in _answers(report).items()),
            f"What to do: {self._advice(report)}",
            f"What this means: {_meaning(report)}",
        ]
        return "\n\n".join(parts)

    def _advice(self, report: InflationReport) -> str:
        if self.label is not None:
            code = f" In Python: preimage.Renormalized({type(report.model).__name__}(...)).fit(X, y)."
            return report.recommendation + (code if report.recommends_correction else "")
        if not report.inflated.any():
            return "nothing needs correction."
        return (
            "wrap the model: preimage.Renormalized(model).fit(X) brings the values of new rows to the scale of those "
            "that the model knows. Whether that improves decisions is only known with classes."
        )

    def _record(self, report: InflationReport, estimator: str) -> dict[str, Any]:
        """The report as plain values."""
        shape = {"input": str(self.input), "rows": report.n_samples, "columns": report.n_features}
        answers = {**_answers(report), "What to do": self._advice(report)}
        about = {"answers": answers, "seed": self.seed, "version": preimage.__version__}
        return {**shape, "estimator": estimator, **report.to_dict(), **about}


def _write(path: Path, kind: str, record: dict[str, Any]) -> None:
    """Write a record as JSON, or its table of components or decisions as CSV."""
    if kind == ".json":
        path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(record["values"][0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(record["values"])


def _answers(report: InflationReport) -> dict[str, str]:
    unknown = () if report.signal is not None else ("signal", "correction")
    return {question: NO_CLASSES if key in unknown else report.answers[key] for key, question in QUESTIONS.items()}


def _meaning(report: InflationReport) -> str:
    what = "new rows get values as large as those of rows that the model was fitted to"
    if not report.inflated.any():
        return f"at a ratio of 1 {what}. That is so here, within its error."
    worst = float(np.max(report.ratios))
    return (
        f"at a ratio of 1 {what}. Here those are up to {worst:.3g} times smaller, because a model of few rows with "
        "many columns also fits their noise."
    )
