"""How much larger are training scores than those of new samples, and what to do about it."""

from html import escape

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from preimage._random import generator
from preimage._validation import count_rows
from preimage.calibration import (
    dependence_test,
    histogram_overlap,
    is_inflated,
    is_resolved,
    predicted_codes,
    recall_mean,
)
from preimage.calibration._inflation import SMALLEST_INFLATION
from preimage.estimators._decision_calibration import learn_decision_calibration
from preimage.estimators._renormalized import Renormalized, check_correctable
from preimage.estimators._score_calibration import learn_score_calibration

# Pairs among the leading components are tested; the number of pairs grows with the square.
MOST_TESTED = 8
# Rows of the table that a printed report shows.
MOST_PRINTED = 12


class InflationReport:
    """What `inflation_report` measured; print it, or let a notebook show it.

    Attributes
    ----------
    kind : {"transformer", "classifier"}
    names : list of str
        Of components, or of decisions.
    train, left_out, corrected : arrays of shape (n, q)
        Values of training samples; in models that were fitted without them; the latter after the correction that is
        recommended.
    train_std, left_out_std, ratios : arrays of shape (q,)
        Standard deviations, and training over left-out.
    overlap : array of shape (q,)
        Share of the histograms of training and left-out values that is common: 1 for the same law, 0 for nothing in
        common.
    inflated : bool array of shape (q,)
        Where the ratio is beyond 1.1 and beyond its noise.
    dependence : DependenceTest or None
        Of pairs among the leading eight components.
    errors : dict of str to float, or None
        Share of left-out samples that are classified wrong, "as they are", "corrected", and by "largest class".
    g_means : dict of str to float, or None
        For classifiers: geometric mean of the recalls of classes, on "training", "left out" and "corrected" decisions.
    method : str
        What ``Renormalized(..., method="auto")`` does on these data.
    recommendation : str
    y : array of shape (n,) or None
    """

    def __init__(self, kind, model, calibration, *, shape, y, dependence, errors, g_means):
        self.kind = kind
        self.model = model
        self.calibration = calibration
        self.n_samples, self.n_features = shape
        self.y = y
        self.train, self.left_out, self.corrected = calibration.train, calibration.left_out, calibration.corrected
        self.method = calibration.method
        self.ratios = calibration.inflation
        self.inflated = is_inflated(self.train, self.left_out)
        self.dependence = dependence
        self.errors = errors
        self.g_means = g_means
        self.names = _names(kind, model, self.train.shape[1])
        self.recommendation = _recommendation(self)

    @property
    def train_std(self):
        return self.train.std(axis=0)

    @property
    def left_out_std(self):
        return self.left_out.std(axis=0)

    @property
    def overlap(self):
        return np.array([histogram_overlap(a, b) for a, b in zip(self.train.T, self.left_out.T, strict=True)])

    def values_of(self, X):
        """Scores or decisions of other samples, as they are and corrected: two arrays of shape (m, q)."""
        values = self.model.transform(X) if self.kind == "transformer" else self.model.decision_function(X)
        values = np.asarray(values, dtype=np.float64).reshape(-1, self.train.shape[1])
        return values, self.calibration.apply(values, X)

    def to_frame(self):
        """The table as a pandas DataFrame, a row for each component or decision."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "InflationReport.to_frame makes a pandas DataFrame; pandas is not installed. Type: pip install pandas"
            ) from error
        return pd.DataFrame(self._columns(), index=self.names)

    def __str__(self):
        columns = self._columns()
        header = ["component" if self.kind == "transformer" else "decision", *columns]
        rows = [header] + [
            [name, *(_format(values[k]) for values in columns.values())] for k, name in enumerate(self.names)
        ]
        widths = [max(len(row[j]) for row in rows[: MOST_PRINTED + 1]) for j in range(len(header))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows[: MOST_PRINTED + 1]]
        if len(rows) > MOST_PRINTED + 1:
            lines.append(f"... and {len(rows) - 1 - MOST_PRINTED} more")
        return "\n".join([self._title(), "", *lines, "", *self._notes(), self.recommendation])

    def __repr__(self):
        worst = f"largest ratio {_format(self.ratios.max())}" if self.ratios.size else "no components"
        return f"<InflationReport of {_name(self.model)}: {worst}, method={self.method!r}>"

    def _repr_html_(self):
        columns = self._columns()
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns))
        body = "".join(
            f"<tr><th>{escape(name)}</th>"
            + "".join(f"<td>{escape(_format(values[k]))}</td>" for values in columns.values())
            + "</tr>"
            for k, name in enumerate(self.names[:MOST_PRINTED])
        )
        more = len(self.names) - MOST_PRINTED
        notes = [*([f"... and {more} more"] if more > 0 else []), *self._notes()]
        return (
            f"<div><p><b>{escape(self._title())}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"</table>{''.join(f'<p>{escape(note)}</p>' for note in notes)}<p>{escape(self.recommendation)}</p></div>"
        )

    def _columns(self):
        return {
            "train std": self.train_std,
            "left-out std": self.left_out_std,
            "ratio": self.ratios,
            "overlap": self.overlap,
            "inflated": self.inflated,
        }

    def _title(self):
        return f"Variance inflation of {_name(self.model)} on {self.n_samples} samples with {self.n_features} variables"

    def _notes(self):
        notes = []
        if self.errors is not None:
            each = ", ".join(f"{error:.1%} {name}" for name, error in self.errors.items())
            notes.append(f"Left-out samples classified wrong: {each}.")
        if self.g_means is not None:
            each = ", ".join(f"{value:.3f} {name}" for name, value in self.g_means.items())
            notes.append(f"Geometric mean of the recalls of classes: {each}.")
        if self.dependence is not None and self.dependence.n_pairs:
            test = self.dependence
            notes.append(
                f"{test.n_rejected} of {test.n_pairs} pairs of leading components depend on each other (permutation "
                f"test at {test.level:g})."
            )
        return notes


def inflation_report(
    estimator, X, y=None, *, classifier=None, n_permutations=200, cv=None, n_jobs=None, random_state=0
):
    r"""Measure on your data how training scores and those of new samples differ, and say what to do.

    A copy of `estimator` is fitted on X, and training samples are left out, as in `Renormalized`. Nothing but X and y
    is needed: no test set.

    Parameters
    ----------
    estimator : transformer or classifier
        What `Renormalized` takes, fitted or not; a `Renormalized` stands for what it wraps.
    X : array, sparse matrix or data frame of shape (n, d)
    y : array of shape (n,), optional
        Classes. With them, a report on a transformer also says whether correction helps a classifier.
    classifier : classifier or None, default=None
        The one that judges scores of a transformer when y has classes; None is ``LinearDiscriminantAnalysis()``.
    n_permutations : int, default=200
        For the test whether components depend on each other; 0 leaves it out.
    cv, n_jobs, random_state
        As in `Renormalized`.

    Returns
    -------
    InflationReport

    See Also
    --------
    preimage.plotting.InflationDisplay : draws a report.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from preimage import inflation_report
    >>> X = np.random.default_rng(0).normal(size=(30, 1000))
    >>> report = inflation_report(PCA(2), X)
    >>> bool((report.ratios > 3).all()), report.method
    (True, 'affine')
    """
    estimator = estimator.estimator if isinstance(estimator, Renormalized) else estimator
    check_correctable("inflation_report", estimator, y)
    rng = generator(random_state)
    model = clone(estimator)
    model = model.fit(X) if y is None else model.fit(X, y)
    options = {"cv": cv, "n_jobs": n_jobs, "rng": rng}
    shape = (count_rows(X), int(getattr(model, "n_features_in_", np.shape(X)[-1])))
    if is_classifier(model):
        return _of_classifier(model, X, y, shape, options)
    guard = None
    if y is not None and type_of_target(y) in ("binary", "multiclass"):
        guard = LinearDiscriminantAnalysis() if classifier is None else classifier
    calibration = learn_score_calibration(model, X, y, method="auto", guard=guard, **options)
    errors = None
    if "guard" in calibration.choice:
        names = {"as they are": "plain error", "corrected": "corrected error", "largest class": "majority error"}
        errors = {name: calibration.choice["guard"][key] for name, key in names.items()}
    dependence = None
    if n_permutations and calibration.train.shape[1] > 1:
        dependence = dependence_test(calibration.train[:, :MOST_TESTED], n_permutations, rng=rng)
    labels = None if y is None else np.asarray(y)
    return InflationReport(
        "transformer", model, calibration, shape=shape, y=labels, dependence=dependence, errors=errors, g_means=None
    )


def _of_classifier(model, X, y, shape, options):
    calibration = learn_decision_calibration(model, X, y, method="auto", **options)
    labels = np.asarray(y)
    codes = np.searchsorted(model.classes_, labels)
    predicted = {
        name: predicted_codes(values)
        for name, values in (
            ("training", calibration.train),
            ("left out", calibration.left_out),
            ("corrected", calibration.corrected),
        )
    }
    errors = {
        "as they are": float(np.mean(predicted["left out"] != codes)),
        "corrected": float(np.mean(predicted["corrected"] != codes)),
        "largest class": float(1 - np.bincount(codes).max() / len(codes)),
    }
    g_means = {name: recall_mean(codes, each) for name, each in predicted.items()}
    return InflationReport(
        "classifier", model, calibration, shape=shape, y=labels, dependence=None, errors=errors, g_means=g_means
    )


def _names(kind, model, count):
    if kind == "classifier":
        return ["decision"] if count == 1 else [f"class {name}" for name in model.classes_[:count]]
    return [f"component {k + 1}" for k in range(count)]


def _format(value):
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return f"{value:.3g}"


def _name(model):
    if not isinstance(model, Pipeline):
        return type(model).__name__
    return f"a pipeline with {type(model.steps[-1][1]).__name__}"


def _recommendation(report):
    name = _name(report.model)
    what = "scores" if report.kind == "transformer" else "decision values"
    if not report.inflated.any() and report.method == "none":
        return (
            f"No inflation: {what} of samples left out vary as much as those of training samples, within "
            f"{SMALLEST_INFLATION - 1:.0%} or within their noise. Use {name} as it is."
        )
    ratios = report.ratios[report.inflated] if report.inflated.any() else report.ratios
    size = f"{np.median(ratios):.3g} times"
    if len(ratios) > 1:
        size += f" (at most {ratios.max():.3g} times)"
    which = ""
    if report.kind == "transformer" and report.inflated.any() and not report.inflated.all():
        which = f" of {int(report.inflated.sum())} of {len(report.inflated)} components"
    finding = (
        f"Training {what}{which} vary {size} as much as those of samples left out: new samples will lie nearer to the "
        "middle than anything that was learned from."
    )
    if report.method == "none":
        return f"{finding} {_why_not(report)}"
    advice = (
        f"Use Renormalized around {name}: it learns the correction ({report.method!r}) when it is fitted, and works "
        "for single new samples."
    )
    if report.kind == "transformer" and report.errors is None:
        advice += (
            " With class labels, give y here, or guard=LinearDiscriminantAnalysis() there, to see whether it helps."
        )
    return f"{finding} {_gain(report)}{advice}"


def _gain(report):
    if report.errors is None:
        return ""
    if report.kind == "classifier":
        before, after = report.g_means["left out"], report.g_means["corrected"]
        return (
            f"Correction changes the geometric mean of recalls on samples left out from {before:.3f} to {after:.3f}. "
        )
    before, after = report.errors["as they are"], report.errors["corrected"]
    return f"Correction lowers the error of a classifier on samples left out from {before:.1%} to {after:.1%}. "


def _why_not(report):
    if not is_resolved(report.train, report.left_out)[report.inflated].any():
        return (
            "The latter differ by rounding errors only, so that no correction can be learned: new samples are like "
            "none of these. A wider kernel (smaller gamma) or fewer variables may help."
        )
    if report.kind == "classifier":
        return "Yet no correction tells the classes of samples left out clearly better apart: use it as it is."
    advice = (
        f"Yet correction does not make a classifier better on samples left out. Use {_name(report.model)} as it is; "
        "Renormalized with guard=... decides so by itself."
    )
    if report.errors["as they are"] >= report.errors["largest class"]:
        advice += (
            " Always naming the largest class is no worse: these components tell little of the classes. More samples, "
            "or fewer variables chosen beforehand, would help."
        )
    return advice
