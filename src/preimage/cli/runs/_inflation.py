"""A report on variance inflation from a file: which rows, which model, and the answers as text and as plain values."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.svm import SVC

import preimage
from preimage._engine.typing import Array
from preimage.cli._errors import DataError
from preimage.cli._options import AUTO
from preimage.cli.runs._preparation import prepared_for
from preimage.cli.tables._files import read
from preimage.cli.tables._formats import TABLES, format_of
from preimage.cli.tables._table_options import DEFAULTS, TableOptions
from preimage.estimators import KernelPCA
from preimage.inflation import inflation_report
from preimage.inflation._report import InflationReport
from preimage.kernels import resolve_gamma

# Formats of a written report.
REPORT_FORMATS = (".json", ".csv")
# Fewest rows that have neighbours when one is left out.
FEWEST_ROWS = 3
# Rows of a class, on average, below which labels are taken for measurements: classes of two rows cannot be learned.
ROWS_OF_A_CLASS = 3
# Rows of the table that is printed; all are in a written report.
MOST_PRINTED = 12
NO_CLASSES = "Not known without classes: give --label COLUMN."


@dataclass(frozen=True)
class Samples:
    """Rows of a table, their classes and what belongs together."""

    path: Path
    X: Array
    y: Array | None = None
    groups: Array | None = None


@dataclass(frozen=True)
class Question:
    """What the user said about the model.

    Attributes
    ----------
    estimator : {"kernel_pca", "pca", "svc"}
    components : int or float in (0, 1)
    gamma : "auto", a rule, or float
    landmarks : int or None
    seed : int
    """

    estimator: str = "kernel_pca"
    components: Any = 5
    gamma: Any = AUTO
    landmarks: int | None = None
    seed: int = 0

    def model(self, X: Array) -> Any:
        """An unfitted estimator."""
        if self.estimator == "svc":
            return SVC(gamma="scale" if self.gamma == AUTO else resolve_gamma(self.gamma, X))
        if self.estimator == "pca":
            return PCA(self.components, random_state=self.seed)
        gamma = "median" if self.gamma == AUTO else self.gamma
        return KernelPCA(self.components, gamma=gamma, landmarks=self.landmarks, random_state=self.seed)


def read_samples(
    path: Path,
    array: str | None,
    label: str | None,
    group: str | None,
    options: TableOptions = DEFAULTS,
    tell: Callable[[str], None] = lambda text: None,
) -> Samples:
    """The rows of a file with their classes and groups, the columns of which are no values.

    Missing values are filled in, and columns standardised, as in other commands; `tell` takes what was understood.
    """
    if group is not None and format_of(path) in TABLES:
        options = replace(options, exclude=(*(options.exclude or ()), group))
    data = read(path, array, label, options=options)
    groups = None
    if group is not None:
        if data.source is not None:
            groups = data.source.labels_of(group)
        elif group in data.others:
            groups = np.asarray(data.others[group])
        else:
            raise DataError(f"{path} has no column {group!r} for groups.")
    if data.source is not None:
        tell(data.source.described())
    _check(Samples(path, data.values, data.labels, groups), label, group)
    return Samples(path, prepared_for(data, options, tell)(data.values), data.labels, groups)


def report_on(samples: Samples, question: Question) -> InflationReport:
    """The report of the library on these rows."""
    model = question.model(samples.X)
    return inflation_report(model, samples.X, samples.y, groups=samples.groups, random_state=question.seed)


def as_text(report: InflationReport, samples: Samples) -> str:
    """The report for people: what was measured, the answers, what to do, and what it means."""
    each = "each group" if samples.groups is not None else "each row"
    n_classes = 0 if samples.y is None else len(np.unique(samples.y))
    parts = [
        f"{samples.path}: {report.n_samples:,} rows of {report.n_features:,} columns"
        + (f", {n_classes} classes" if n_classes else "")
        + f". {_name(report)} was fitted to all rows, and again without {each}, to see where rows fall that it "
        "does not know.",
        "\n".join(_table(report)),
        "\n".join(f"{question} {answer}" for question, answer in _answers(report, samples).items()),
        f"What to do: {_advice(report, samples)}",
        f"What this means: {_meaning(report)}",
    ]
    return "\n\n".join(parts)


def as_record(report: InflationReport, samples: Samples, question: Question) -> dict[str, Any]:
    """The report as plain values."""
    plain = lambda values: [value.item() for value in np.asarray(values)]
    columns = _columns(report)
    return {
        "input": str(samples.path),
        "rows": report.n_samples,
        "columns": report.n_features,
        "estimator": question.estimator,
        "values": [
            {"name": name, **{key: plain(values)[k] for key, values in columns.items()}}
            for k, name in enumerate(report.names)
        ],
        "signal": None
        if report.signal is None
        else {
            "verdict": report.signal.verdict,
            "area_under_the_curve": float(report.signal.auc),
            "error": float(report.signal.standard_error),
            "p_value": float(report.signal.p_value),
        },
        "gain": None if report.gain is None else {"value": float(report.gain), "error": float(report.gain_error)},
        "scores": report.scores,
        "errors": report.errors,
        "method": report.method,
        "recommends_correction": bool(report.recommends_correction),
        "answers": {**_answers(report, samples), "What to do": _advice(report, samples)},
        "seed": question.seed,
        "version": preimage.__version__,
    }


def write_report(path: Path, kind: str, record: dict[str, Any]) -> None:
    """Write a record as JSON, or its table of components or decisions as CSV."""
    if kind == ".json":
        path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(record["values"][0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(record["values"])


def _check(samples: Samples, label: str | None, group: str | None) -> None:
    n = len(samples.X)
    if n < FEWEST_ROWS:
        raise DataError(f"{samples.path} has {n} rows. Leaving rows out needs at least {FEWEST_ROWS}.")
    if samples.y is not None:
        classes = np.unique(samples.y)
        if len(classes) < 2:
            raise DataError(f"All rows have the label {classes[0]!s}; --label {label} must have at least two classes.")
        if ROWS_OF_A_CLASS * len(classes) > n:
            raise DataError(
                f"--label {label} has {len(classes)} different values in {n} rows. It is for classes, each with "
                f"{ROWS_OF_A_CLASS} rows or more; leave it out, or name another column."
            )
    if samples.groups is not None and len(np.unique(samples.groups)) < 2:
        raise DataError(f"All rows are of one group; --group {group} must have at least two.")


def _name(report: InflationReport) -> str:
    known = {"KernelPCA": "Kernel PCA", "PCA": "PCA", "SVC": "A support vector machine"}
    return known[type(report.model).__name__]


def _columns(report: InflationReport) -> dict[str, Array]:
    return {
        "training_spread": report.train_std,
        "left_out_spread": report.left_out_std,
        "ratio": report.ratios,
        "ratio_low": report.ratios_low,
        "ratio_high": report.ratios_high,
        "inflated": report.inflated,
    }


def _table(report: InflationReport) -> list[str]:
    """Lines of a table; spreads are standard deviations."""
    columns = _columns(report)
    header = (
        ["", "spread of rows", "spread of rows", "ratio, with", ""],
        ["", "known to it", "left out", "its error", ""],
    )
    rows = [
        [
            name,
            f"{columns['training_spread'][k]:.3g}",
            f"{columns['left_out_spread'][k]:.3g}",
            f"{columns['ratio'][k]:.3g} ({columns['ratio_low'][k]:.3g} to {columns['ratio_high'][k]:.3g})",
            "inflated" if columns["inflated"][k] else "fine",
        ]
        for k, name in enumerate(report.names[:MOST_PRINTED])
    ]
    cells = [*header, *rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    align: list[Callable[[str, int], str]] = [str.ljust, str.rjust, str.rjust, str.rjust, str.ljust]
    lines = ["  ".join(put(cell, width) for put, cell, width in zip(align, row, widths)).rstrip() for row in cells]
    more = len(report.names) - MOST_PRINTED
    return lines + ([f"... and {more} more; --output FILE writes all"] if more > 0 else [])


def _answers(report: InflationReport, samples: Samples) -> dict[str, str]:
    if report.signal is None:
        answers = {"signal": NO_CLASSES, "inflation": report.answers["inflation"], "correction": NO_CLASSES}
    else:
        answers = report.answers
    return {
        "Is there signal?": answers["signal"],
        "Is there inflation?": answers["inflation"],
        "Does correction help?": answers["correction"],
    }


def _advice(report: InflationReport, samples: Samples) -> str:
    if samples.y is not None:
        code = f" In Python: preimage.Renormalized({type(report.model).__name__}(...)).fit(X, y)."
        return report.recommendation + (code if report.recommends_correction else "")
    if not report.inflated.any():
        return "nothing needs correction."
    return (
        "wrap the model: preimage.Renormalized(model).fit(X) brings the values of new rows to the scale of those that "
        "the model knows. Whether that improves decisions is only known with classes."
    )


def _meaning(report: InflationReport) -> str:
    what = "new rows get values as large as those of rows that the model was fitted to"
    if not report.inflated.any():
        return f"at a ratio of 1 {what}. That is so here, within its error."
    worst = float(np.max(report.ratios))
    return (
        f"at a ratio of 1 {what}. Here those are up to {worst:.3g} times smaller, because a model of few rows with "
        "many columns also fits their noise."
    )
