"""How much larger are training scores than those of new samples, and what to do about it."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import progress_bar
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import count_rows, generator, require_on_host
from preimage.inflation._balanced import balanced_signal
from preimage.inflation._comparison import check_scoring, compare_decisions, decision_score, margins_of, predicted_codes
from preimage.inflation._corrections import Calibration
from preimage.inflation._dependence import DependenceTest, dependence_test
from preimage.inflation._findings import MEASURES, Findings, Gain
from preimage.inflation._inflation import inflation_interval, is_inflated, is_resolved
from preimage.inflation._inputs import fitted_on
from preimage.inflation._learn import learn_score_calibration
from preimage.inflation._renormalized import (
    DEVICE_ADVICE,
    Renormalized,
    automatic_guard,
    check_correctable,
    classifier_calibration,
)
from preimage.inflation._signal import Signal, signal_of
from preimage.inflation._transfer import histogram_overlap

# Pairs among the leading components are tested; the number of pairs grows with the square.
MOST_TESTED = 8
# Rows of the table that a printed report shows.
MOST_PRINTED = 12
QUESTIONS = {
    "signal": "Is there signal?",
    "inflation": "Is there inflation?",
    "correction": "Does correction help?",
}


@dataclass(frozen=True)
class Judged:
    """Decisions for samples left out, by which signal and gain are measured.

    Attributes
    ----------
    codes : integer array of shape (m,)
    weights : array of shape (m,) or None
    plain, corrected : arrays of shape (m, k)
    signal : Signal
    training : array of shape (m, k) or None
        Decisions of a classifier for the same samples when it was fitted on them.
    """

    codes: Array
    weights: Array | None
    plain: Array
    corrected: Array
    signal: Signal
    training: Array | None = None


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
        Fraction of the histograms of training and left-out values that is common: 1 for the same law, 0 for nothing in
        common.
    inflated : bool array of shape (q,)
        Where the ratio is beyond 1.1 and beyond its noise.
    dependence : DependenceTest or None
        Of pairs among the leading eight components.
    ratios_low, ratios_high : arrays of shape (q,)
        Two standard errors below and above `ratios`.
    signal : Signal or None
        With classes: whether decisions for samples of balanced folds order the classes better than chance (`auc`, its
        `standard_error` without signal, `p_value`, `verdict`).
    gain, gain_error : float or None
        With classes: the gain in the measure `scoring` by correction on samples left out, smoothed, and its standard
        error.
    scoring : str
    scores : dict of str to float, or None
        The measure itself, by counts, on samples left out: "as they are", "corrected", and by "largest class"; for
        classifiers also of "training" samples.
    errors : dict of str to float, or None
        Fraction of left-out samples that are classified wrong, "as they are", "corrected", and by "largest class".
    method : str
        What ``Renormalized(..., method="auto")`` does on these data.
    recommends_correction : bool
        Whether signal and gain are clear; without classes, whether there is inflation that can be corrected.
    answers : dict of str to str
        On "signal", "inflation" and "correction": a verdict, and a sentence with its number. The verdicts on signal are
        "Yes", "No sign of signal" and "Cannot tell".
    recommendation : str
    y : array of shape (n,) or None
    """

    def __init__(
        self,
        kind: str,
        model: Any,
        calibration: Calibration,
        judged: "Judged | None",
        *,
        shape: tuple[int, int],
        y: Array | None,
        dependence: DependenceTest | None,
        scoring: str,
    ) -> None:
        self.kind = kind
        self.model = model
        self.calibration = calibration
        self.n_samples, self.n_features = shape
        self.y = y
        self.scoring = scoring
        self.train, self.left_out, self.corrected = calibration.train, calibration.left_out, calibration.corrected
        self.method = calibration.method
        self.ratios = calibration.inflation
        self.ratios_low, self.ratios_high = inflation_interval(self.train, self.left_out, calibration.weights)
        self.inflated = is_inflated(self.train, self.left_out, calibration.weights)
        self.dependence = dependence
        self.signal: Any = None
        self.gain: Any = None
        self.gain_error: Any = None
        self.scores: Any = None
        self.errors: Any = None
        if judged is not None:
            self._judge(judged)
        self.names = _names(kind, model, self.train.shape[1])
        findings = self._findings()
        self.recommends_correction = findings.recommends_correction
        self.answers = {
            "signal": findings.on_signal(),
            "inflation": findings.on_inflation(),
            "correction": findings.on_correction(),
        }
        self.recommendation = findings.recommendation()

    def _judge(self, judged: "Judged") -> None:
        """Measure decisions for samples left out, as they are and corrected."""
        codes, weights = judged.codes, judged.weights
        self.signal = judged.signal
        margins = margins_of(judged.corrected, codes)
        gains = compare_decisions({"": margins}, margins_of(judged.plain, codes), codes, weights, self.scoring)
        self.gain, self.gain_error = gains[""]
        largest = np.full(len(codes), np.bincount(codes, weights).argmax())
        named = {"as they are": predicted_codes(judged.plain), "corrected": predicted_codes(judged.corrected)}
        named["largest class"] = largest
        self.errors = {name: 1 - decision_score(codes, each, weights, "accuracy") for name, each in named.items()}
        if judged.training is not None:
            named["training"] = predicted_codes(judged.training)
        self.scores = {name: decision_score(codes, each, weights, self.scoring) for name, each in named.items()}

    def _findings(self) -> Findings:
        ratio, extent = None, ""
        if self.inflated.any():
            ratios = self.ratios[self.inflated]
            middle = np.flatnonzero(self.inflated)[int(np.argsort(ratios)[len(ratios) // 2])]
            ratio = float(self.ratios[middle]), float(self.ratios_low[middle]), float(self.ratios_high[middle])
            if self.kind == "transformer":
                extent = f" of {len(ratios)} of {len(self.inflated)} components"
        gain = None
        if self.scores is not None:
            before, after = self.scores["as they are"], self.scores["corrected"]
            accuracies = 1 - self.errors["as they are"], 1 - self.errors["corrected"]
            gain = Gain(self.gain, self.gain_error, before, after, *accuracies)
        return Findings(
            _name(self.model),
            "scores" if self.kind == "transformer" else "decision values",
            self.signal,
            ratio,
            bool(is_resolved(self.train, self.left_out)[self.inflated].any()),
            self.method,
            gain,
            self.scoring,
            extent,
        )

    @property
    def train_std(self) -> Array:
        return self.train.std(axis=0)

    @property
    def left_out_std(self) -> Array:
        return self.left_out.std(axis=0)

    @property
    def overlap(self) -> Array:
        return np.array([histogram_overlap(a, b) for a, b in zip(self.train.T, self.left_out.T, strict=True)])

    def values_of(self, X: Rows) -> tuple[Array, Array]:
        """Scores or decisions of other samples, as they are and corrected: two arrays of shape (m, q)."""
        values = self.model.transform(X) if self.kind == "transformer" else self.model.decision_function(X)
        values = np.asarray(values, dtype=np.float64).reshape(-1, self.train.shape[1])
        return values, self.calibration.apply(values, X)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, a row for each component or decision."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "InflationReport.to_frame makes a pandas DataFrame; pandas is not installed. Type: pip install pandas"
            ) from error
        return pd.DataFrame(self._columns(), index=self.names)

    def __str__(self) -> str:
        columns = self._columns()
        header = ["component" if self.kind == "transformer" else "decision", *columns]
        rows = [header] + [
            [name, *(_format(values[k]) for values in columns.values())] for k, name in enumerate(self.names)
        ]
        widths = [max(len(row[j]) for row in rows[: MOST_PRINTED + 1]) for j in range(len(header))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows[: MOST_PRINTED + 1]]
        if len(rows) > MOST_PRINTED + 1:
            lines.append(f"... and {len(rows) - 1 - MOST_PRINTED} more")
        answers = [f"{question} {self.answers[key]}" for key, question in QUESTIONS.items()]
        return "\n".join([self._title(), "", *lines, "", *answers, *self._notes(), "", self.recommendation])

    def __repr__(self) -> str:
        worst = f"largest ratio {_format(self.ratios.max())}" if self.ratios.size else "no components"
        return f"<InflationReport of {_name(self.model)}: {worst}, method={self.method!r}>"

    def _repr_html_(self) -> str:
        columns = self._columns()
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns))
        body = "".join(
            f"<tr><th>{escape(name)}</th>"
            + "".join(f"<td>{escape(_format(values[k]))}</td>" for values in columns.values())
            + "</tr>"
            for k, name in enumerate(self.names[:MOST_PRINTED])
        )
        more = len(self.names) - MOST_PRINTED
        answers = [f"{question} {self.answers[key]}" for key, question in QUESTIONS.items()]
        notes = [*([f"... and {more} more"] if more > 0 else []), *answers, *self._notes()]
        return (
            f"<div><p><b>{escape(self._title())}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"</table>{''.join(f'<p>{escape(note)}</p>' for note in notes)}<p>{escape(self.recommendation)}</p></div>"
        )

    def _columns(self) -> dict[str, Array]:
        return {
            "train std": self.train_std,
            "left-out std": self.left_out_std,
            "ratio": self.ratios,
            "from": self.ratios_low,
            "to": self.ratios_high,
            "overlap": self.overlap,
            "inflated": self.inflated,
        }

    def _title(self) -> str:
        return f"Variance inflation of {_name(self.model)} on {self.n_samples} samples with {self.n_features} variables"

    def _notes(self) -> list[str]:
        notes = []
        if self.scores is not None:
            each = ", ".join(f"{value:.3f} {name}" for name, value in self.scores.items())
            notes.append(f"{MEASURES[self.scoring].capitalize()} on samples left out: {each}.")
            each = ", ".join(f"{error:.1%} {name}" for name, error in self.errors.items())
            notes.append(f"Left-out samples classified wrong: {each}.")
        if self.dependence is not None and self.dependence.n_pairs:
            test = self.dependence
            notes.append(
                f"{test.n_rejected} of {test.n_pairs} pairs of leading components depend on each other (permutation "
                f"test at {test.level:g})."
            )
        return notes


@gives_finite_numbers("information", "p_values", "dependence")
def inflation_report(
    estimator: Any,
    X: Rows,
    y: Targets = None,
    *,
    classifier: Any = None,
    scoring: str = "balanced_accuracy",
    n_permutations: int = 200,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    random_state: Seed = 0,
    sample_weight: Targets = None,
    groups: Targets = None,
) -> InflationReport:
    r"""Is there signal, is there inflation, and does correction help? Each answer with its uncertainty.

    A copy of `estimator` is fitted on X, and training samples are left out, as in `Renormalized`. Nothing but X and y
    is needed: no test set.

    - Signal: the area under the curve of decisions for samples of balanced folds, against 0.5. It does not depend on
      thresholds, which inflation makes useless. Samples are compared within their fold, because models without a single
      sample decide against its class. "Yes" means that chance shows as much in one of 50 tables, "No sign of signal"
      that areas of 0.75 or more are unlikely (level 0.05), and "Cannot tell" that samples are too few for either.
    - Inflation: the ratio of the standard deviations of training values and of values of samples left out, with two
      standard errors to either side.
    - Correction: the gain in `scoring` by what `Renormalized` does, with its standard error; see
      `preimage.inflation.compare_decisions`.

    A correction is recommended where signal (p < 0.02) and gain (two standard errors) are clear. What is optimised is
    balanced accuracy, unless `scoring` says otherwise; where classes are unequal it may cost accuracy, which is
    reported as well. A report costs what ``Renormalized(estimator).fit(X, y)`` costs, 10 to 40 fits of `estimator` for
    the signal, and a test of dependence for transformers.

    Parameters
    ----------
    estimator : transformer or classifier
        What `Renormalized` takes, fitted or not; a `Renormalized` stands for what it wraps.
    X : array, sparse matrix or data frame of shape (n, d)
        The training set.
    y : array of shape (n,), optional
        Classes. Without them a report on a transformer speaks of inflation alone.
    classifier : classifier or None, default=None
        The one that judges scores of a transformer when y has classes; None is ``LinearDiscriminantAnalysis()``.
    scoring : {"balanced_accuracy", "geometric_mean", "accuracy"}, default="balanced_accuracy"
        What gain is measured by.
    n_permutations : int, default=200
        For the test whether components depend on each other; 0 leaves it out.
    cv, n_jobs, verbose, random_state, sample_weight, groups
        As in `Renormalized` and its `fit`.

    Returns
    -------
    InflationReport
        Prints as a text; its attributes are listed below.

    See Also
    --------
    Renormalized : Corrects what the report finds.
    preimage.plotting.InflationDisplay : Draws a report.
    preimage.inflation.inflation : The ratio of deviations alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage import inflation_report
    >>> X, y = np.random.default_rng(0).normal(size=(60, 1000)), np.arange(60) < 15
    >>> inflation_report(SVC(), X, y).recommends_correction  # pure noise
    False
    >>> X[y, :20] += 1.5
    >>> report = inflation_report(SVC(), X, y)
    >>> report.recommends_correction, report.method
    (True, 'threshold')
    """
    check_scoring(scoring)
    require_on_host("inflation_report", X, DEVICE_ADVICE)
    # The report is about the model inside; its own correction would hide the inflation.
    estimator = estimator.estimator if isinstance(estimator, Renormalized) else estimator
    check_correctable("inflation_report", estimator, y)
    rng = generator(random_state)
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_consistent_length(X, y, sample_weight, groups)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights is not None and (weights.shape != (count_rows(X),) or not (weights > 0).all()):
        raise ValueError(f"inflation_report needs {count_rows(X)} positive weights; leave out rows of weight zero.")
    options = {"method": "auto", "scoring": scoring, "cv": cv, "n_jobs": n_jobs, "rng": rng}
    options |= {"sample_weight": weights, "groups": groups}
    with progress_bar(verbose):
        model = fitted_on(clone(estimator), X, y, weights)
        if is_classifier(model):
            return _report_on_classifier(model, X, y, options)
        return _report_on_transformer(model, X, y, options, classifier, n_permutations)


def _report_on_classifier(model: Any, X: Rows, y: Targets, options: dict[str, Any]) -> InflationReport:
    about = {"shape": _shape(model, X), "y": np.asarray(y), "scoring": options["scoring"]}
    model, calibration = classifier_calibration(model, X, y, **options)
    codes = np.searchsorted(model.classes_, about["y"])
    folds = {name: options[name] for name in ("cv", "n_jobs", "rng", "sample_weight", "groups")}
    weights, left_out = options["sample_weight"], calibration.left_out
    signal = balanced_signal(model, X, y, **folds) or signal_of(left_out, codes, weights)
    judged = Judged(codes, weights, left_out, calibration.corrected, signal, calibration.train)
    return InflationReport("classifier", model, calibration, judged, dependence=None, **about)


def _report_on_transformer(
    model: Any, X: Rows, y: Targets, options: dict[str, Any], classifier: Any, n_permutations: int
) -> InflationReport:
    guard = automatic_guard(y)
    guard = classifier if guard is not None and classifier is not None else guard
    calibration = learn_score_calibration(model, X, y, guard=guard, always_judge=True, **options)
    verdict = calibration.choice.get("verdict")
    judged = None if verdict is None else Judged(verdict.codes, None, verdict.plain, verdict.corrected, verdict.signal)
    dependence = None
    if n_permutations and calibration.train.shape[1] > 1:
        dependence = dependence_test(calibration.train[:, :MOST_TESTED], n_permutations, rng=options["rng"])
    about = {"shape": _shape(model, X), "y": None if y is None else np.array(y), "scoring": options["scoring"]}
    return InflationReport("transformer", model, calibration, judged, dependence=dependence, **about)


def _shape(model: Any, X: Rows) -> tuple[int, int]:
    return count_rows(X), int(model.n_features_in_ if hasattr(model, "n_features_in_") else np.shape(X)[-1])


def _names(kind: str, model: Any, count: int) -> list[str]:
    if kind == "classifier":
        return ["decision"] if count == 1 else [f"class {name}" for name in model.classes_[:count]]
    return [f"component {k + 1}" for k in range(count)]


def _format(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return f"{value:.3g}"


def _name(model: Any) -> str:
    if not isinstance(model, Pipeline):
        return type(model).__name__
    return f"a pipeline with {type(model.steps[-1][1]).__name__}"
