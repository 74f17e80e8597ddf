"""How much larger are training scores than those of new samples, and what to do about it."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import type_of_target

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.frames import is_missing
from preimage._engine.progress import progress_bar
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import count_rows, generator, require_on_host
from preimage.inflation._balanced import balanced_signal
from preimage.inflation._comparison import (
    NO,
    SCORINGS,
    USEFUL_AREA,
    YES,
    Gain,
    Judged,
    Signal,
    check_scoring,
    signal_of,
)
from preimage.inflation._corrections import Calibration
from preimage.inflation._dependence import DependenceTest, dependence_test
from preimage.inflation._inflation import SMALLEST_INFLATION, inflation_interval, is_inflated, is_resolved
from preimage.inflation._inputs import fitted_on
from preimage.inflation._learn import learn_score_calibration
from preimage.inflation._renormalized import (
    DEVICE_ADVICE,
    Renormalized,
    automatic_guard,
    check_correctable,
    classifier_calibration,
)
from preimage.inflation._transfer import histogram_overlap

MEASURES = dict(zip(SCORINGS, ("balanced accuracy", "the geometric mean of recalls", "accuracy"), strict=True))
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
class Findings:
    """What was found about a model of few samples, and the sentences for it.

    Attributes
    ----------
    model : str
        Its name in sentences.
    values : str
        "scores" or "decision values".
    signal : Signal or None
        None without classes.
    ratio : tuple of three floats, or None
        Training over left-out deviation where it is inflated, with two standard errors to either side; the median of
        several components. None where nothing is inflated.
    is_resolved : bool
        Whether left-out values differ by more than rounding errors.
    method : str
        What `Renormalized` does.
    gain : Gain or None
        None without classes.
    scoring : str
    extent : str
        Which components are inflated, such as " of 3 of 5 components"; empty for decisions.
    """

    model: str
    values: str
    signal: Signal | None
    ratio: tuple[float, float, float] | None
    is_resolved: bool
    method: str
    gain: Gain | None
    scoring: str = "balanced_accuracy"
    extent: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether new samples are like none of these, so that nothing can be learned."""
        return self.ratio is not None and not self.is_resolved

    @property
    def recommends_correction(self) -> bool:
        if self.method == "none" or self.is_lost:
            return False
        if self.signal is None or self.gain is None:
            return self.ratio is not None
        return self.signal.verdict == YES and self.gain.is_clear

    def on_signal(self) -> str:
        if self.signal is None:
            return "Unknown without classes; give y."
        signal = self.signal
        area = (
            f"The AUC on samples left out is {signal.auc:.2f} ± {signal.standard_error:.2f} (p = {signal.p_value:.2g})"
        )
        if signal.verdict == YES:
            return f"Yes. {area}; 0.50 is chance."
        if signal.verdict == NO:
            return f"No sign of signal. {area}, so that {USEFUL_AREA:.2f} or more is unlikely; 0.50 is chance."
        return f"Cannot tell from so few samples. {area}; 0.50 is chance."

    def on_inflation(self) -> str:
        if self.ratio is None:
            return (
                f"No. The {self.values} of samples left out vary as much as those of training samples, within "
                f"{SMALLEST_INFLATION - 1:.0%} or their uncertainty."
            )
        if not self.is_resolved:
            return f"Yes, beyond measure. The {self.values} of samples left out differ by rounding errors only."
        size, low, high = self.ratio
        return (
            f"Yes. Training {self.values}{self.extent} vary {size:.3g} times ({low:.3g} to {high:.3g}) as much as "
            "those of samples left out."
        )

    def on_correction(self) -> str:
        if self.signal is None or self.gain is None:
            return "Unknown without classes; give y."
        if self.is_lost:
            return "No. Nothing can be learned from rounding errors."
        if self.signal.verdict == NO:
            return "No. Without signal there is nothing to correct."
        measured = (
            f"On samples left out {MEASURES[self.scoring]} changes by {self.gain.value:+.3f} ± {self.gain.error:.3f}"
            f"{self._cost()}."
        )
        if self.method == "none":
            return "No. Nothing that was tried is better than the model as it is."
        if self.recommends_correction:
            return f"Yes. {measured}"
        return f"Perhaps. {measured}"

    def recommendation(self) -> str:
        if self.is_lost:
            return "No correction can be learned. Use a wider kernel (smaller gamma) or fewer variables."
        area = "" if self.signal is None else f" (AUC {self.signal.auc:.2f})"
        if self.signal is not None and self.signal.verdict == NO:
            return (
                f"There is no sign that {self.model} tells the classes of new samples apart{area}. Take more samples, "
                "or fewer variables chosen beforehand; a correction does not help."
            )
        if self.recommends_correction:
            return f"Use Renormalized around {self.model} ({self.method!r}). {self._promise()}"
        if self.signal is not None and self.signal.verdict != YES:
            return (
                f"Whether {self.model} tells the classes of new samples apart is open{area}. More samples would tell."
            )
        if self.method == "none":
            return f"Use {self.model} as it is."
        return (
            f"Use {self.model} as it is, or Renormalized around it ({self.method!r}). The difference is uncertain"
            f"{self._difference()}."
        )

    def _promise(self) -> str:
        if self.gain is None:
            return "Give y as well to see whether there is signal, and whether correction helps."
        change = (
            f"On samples left out {MEASURES[self.scoring]} goes from {self.gain.before:.2f} to {self.gain.after:.2f}"
        )
        if self.scoring == "accuracy":
            return f"{change}."
        return f"{change}, accuracy from {self.gain.accuracy_before:.2f} to {self.gain.accuracy_after:.2f}."

    def _cost(self) -> str:
        if self.gain is None or self.scoring == "accuracy":
            return ""
        return f", and accuracy by {self.gain.accuracy_after - self.gain.accuracy_before:+.3f}"

    def _difference(self) -> str:
        return "" if self.gain is None else f": {self.gain.value:+.3f} ± {self.gain.error:.3f}"


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
        judged: Judged | None,
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
            self.signal, self.scores, self.errors = judged.signal, judged.scores, judged.errors
            self.gain, self.gain_error = judged.gain.value, judged.gain.error
        self.names = _names(kind, model, self.train.shape[1])
        findings = self._findings(None if judged is None else judged.gain)
        self.recommends_correction = findings.recommends_correction
        self.answers = {
            "signal": findings.on_signal(),
            "inflation": findings.on_inflation(),
            "correction": findings.on_correction(),
        }
        self.recommendation = findings.recommendation()

    def _findings(self, gain: Gain | None) -> Findings:
        ratio, extent = None, ""
        if self.inflated.any():
            ratios = self.ratios[self.inflated]
            middle = np.flatnonzero(self.inflated)[int(np.argsort(ratios)[len(ratios) // 2])]
            ratio = float(self.ratios[middle]), float(self.ratios_low[middle]), float(self.ratios_high[middle])
            if self.kind == "transformer":
                extent = f" of {len(ratios)} of {len(self.inflated)} components"
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

    def to_dict(self) -> dict[str, Any]:
        """What was measured and answered, as plain numbers, words and lists, which JSON takes.

        "values" has a row for each component or decision; "signal", "gain", "scores" and "errors" are None without
        classes.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.decomposition import PCA
        >>> from preimage import inflation_report
        >>> X = np.random.default_rng(0).normal(size=(20, 100))
        >>> found = inflation_report(PCA(2), X, n_permutations=0).to_dict()
        >>> [(row["name"], row["inflated"]) for row in found["values"]], found["signal"]
        ([('component 1', True), ('component 2', True)], None)
        """
        signal = None
        if self.signal is not None:
            signal = {
                "verdict": self.signal.verdict,
                "area_under_the_curve": float(self.signal.auc),
                "error": float(self.signal.standard_error),
                "p_value": float(self.signal.p_value),
            }
        columns = {
            "training_spread": self.train_std,
            "left_out_spread": self.left_out_std,
            "ratio": self.ratios,
            "ratio_low": self.ratios_low,
            "ratio_high": self.ratios_high,
            "inflated": self.inflated,
        }
        return {
            "values": [
                {"name": name, **{key: each[k].item() for key, each in columns.items()}}
                for k, name in enumerate(self.names)
            ],
            "signal": signal,
            "gain": None if self.gain is None else {"value": float(self.gain), "error": float(self.gain_error)},
            "scores": self.scores,
            "errors": self.errors,
            "method": self.method,
            "recommends_correction": bool(self.recommends_correction),
            "answers": self.answers,
        }

    def __str__(self) -> str:
        return "\n".join([self._title(), "", *self.table_lines(), "", *self._notes(), "", self.recommendation])

    def table_lines(self, where_all_are: str = "") -> list[str]:
        """The first rows of the table as lines of text, and how many more there are."""
        table = self._table()
        widths = [max(len(row[j]) for row in table) for j in range(len(table[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in table]
        return lines + [more + where_all_are for more in self._more()]

    def __repr__(self) -> str:
        worst = f"largest ratio {_format(self.ratios.max())}" if self.ratios.size else "no components"
        return f"<InflationReport of {_name(self.model)}: {worst}, method={self.method!r}>"

    def _repr_html_(self) -> str:
        head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._table())
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        notes = "".join(f"<p>{escape(note)}</p>" for note in (*self._more(), *self._notes(), self.recommendation))
        return (
            f"<div><p><b>{escape(self._title())}</b></p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
            f"</table>{notes}</div>"
        )

    def _table(self) -> list[list[str]]:
        """The header and the first rows, as text."""
        columns = self._columns()
        header = ["component" if self.kind == "transformer" else "decision", *columns]
        names = self.names[:MOST_PRINTED]
        return [header] + [[name, *(_format(each[k]) for each in columns.values())] for k, name in enumerate(names)]

    def _more(self) -> list[str]:
        more = len(self.names) - MOST_PRINTED
        return [f"... and {more} more"] if more > 0 else []

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
        notes = [f"{question} {self.answers[key]}" for key, question in QUESTIONS.items()]
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
      sample decide against its class. "Yes" means that without signal one table in 50 has such an area, "No sign of
      signal" that areas of 0.75 or more are unlikely (level 0.05), and "Cannot tell" that samples are too few for
      either.
    - Inflation: the ratio of the standard deviations of training values and of values of samples left out, with two
      standard errors to either side.
    - Correction: the gain in `scoring` by what `Renormalized` does, with its standard error. Recalls are
      smoothed: how far from the threshold decisions fall matters as well as on which side.

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
        Prints as a text; its attributes, such as ``signal.p_value``, `ratios` and `gain`, are listed below.

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
    _check_classes(X, y, is_classifier(estimator))
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


def _check_classes(X: Rows, y: Targets, are_needed: bool) -> None:
    """Refuse labels that are not one class per row of X."""
    if y is None:
        return
    labels, n = np.asarray(y, dtype=object if isinstance(y, list) else None), count_rows(X)
    if labels.ndim != 1:
        return  # which is refused by name where classes are needed
    if labels.size != n:
        is_turned = len(X.shape) == 2 and X.shape[1] == labels.size
        remedy = "Rows are samples, columns variables: pass X.T." if is_turned else "Leave out rows without a class."
        raise ValueError(
            f"inflation_report needs one class per row of X; got {n} rows and {labels.size} classes. {remedy}"
        )
    missing = np.flatnonzero([is_missing(each) for each in labels.tolist()])
    if missing.size:
        raise ValueError(
            f"inflation_report needs the class of every row; y has none in {missing.size} of {n} rows, the first is "
            f"row {missing[0]}. Leave these rows out of X and y."
        )
    if are_needed and type_of_target(np.asarray(y)).startswith("continuous"):
        raise ValueError(
            f"inflation_report needs classes as y; got numbers such as {labels[0]:.3g}, {len(np.unique(labels))} "
            "different ones. Make classes of them, np.digitize(y, edges) for instance, or report on components alone: "
            "inflation_report(KernelPCA(5), X)."
        )


def _report_on_classifier(model: Any, X: Rows, y: Targets, options: dict[str, Any]) -> InflationReport:
    about = {"shape": _shape(model, X), "y": np.asarray(y), "scoring": options["scoring"]}
    model, calibration = classifier_calibration(model, X, y, **options)
    codes = np.searchsorted(model.classes_, about["y"])
    folds = {name: options[name] for name in ("cv", "n_jobs", "rng", "sample_weight", "groups")}
    weights, left_out = options["sample_weight"], calibration.left_out
    signal = balanced_signal(model, X, y, **folds) or signal_of(left_out, codes, weights)
    judged = Judged(codes, left_out, calibration.corrected, signal, options["scoring"], weights, calibration.train)
    return InflationReport("classifier", model, calibration, judged, dependence=None, **about)


def _report_on_transformer(
    model: Any, X: Rows, y: Targets, options: dict[str, Any], classifier: Any, n_permutations: int
) -> InflationReport:
    guard = automatic_guard(y)
    guard = classifier if guard is not None and classifier is not None else guard
    calibration = learn_score_calibration(model, X, y, guard=guard, always_judge=True, **options)
    dependence = None
    if n_permutations and calibration.train.shape[1] > 1:
        dependence = dependence_test(calibration.train[:, :MOST_TESTED], n_permutations, rng=options["rng"])
    about = {"shape": _shape(model, X), "y": None if y is None else np.array(y), "scoring": options["scoring"]}
    return InflationReport("transformer", model, calibration, calibration.judged, dependence=dependence, **about)


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
