"""Learn from training data how scores of new points, and decisions about them, are to be corrected."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from preimage._engine.arrays import to_dense
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.warnings import warn_user
from preimage._models.machines import Binary, Logistic, OneVsRest
from preimage.estimators._kernel_pca import KernelPCA
from preimage.exceptions import UnsupportedKernelError
from preimage.inflation._balanced import balanced_signal
from preimage.inflation._comparison import compare_decisions, decision_score, margins_of, predicted_codes
from preimage.inflation._corrections import METHODS, Calibration, Columns, Histogram, Orthogonal
from preimage.inflation._guard import guard_correction
from preimage.inflation._inflation import inflation, is_inflated, is_resolved, steady_left_out
from preimage.inflation._inputs import as_inputs, last_step
from preimage.inflation._left_out import LeftOutDecisions, LeftOutScores, left_out_decisions, left_out_scores
from preimage.inflation._orthogonal import gaussian_gamma
from preimage.inflation._signal import LEAST_EVIDENCE, signal_of
from preimage.inflation._threshold import Threshold
from preimage.inflation._transfer import renormalize
from preimage.interop import machine_of

# What "auto" applies: lines through steadied deviations do better than curves of single components from a few dozen
# points, on digits and half circles alike.
AUTOMATIC = "affine"
# A classifier is fitted for each row that the guard judges. The standard error of an accuracy on 300 rows is 3 % at
# most; ten times more rows would make it 1 % and take ten times as long.
MOST_JUDGED = 300


def learn_score_calibration(
    estimator: Any,
    X: Rows,
    y: Targets = None,
    *,
    method: str = "auto",
    guard: Any = None,
    scoring: str = "balanced_accuracy",
    rng: np.random.Generator | None = None,
    always_judge: bool = False,
    **folds: Any,
) -> Calibration:
    """Learn the correction of scores of a fitted transformer, from its training data alone.

    Parameters
    ----------
    estimator : fitted transformer
    X, y : its training data
    method : str
        As in `Renormalized`.
    guard : classifier or None
        Judges by left-out scores whether correction is worth it; needs y.
    scoring : {"balanced_accuracy", "geometric_mean", "accuracy"}
        What the guard judges by.
    always_judge : bool
        Whether the guard also judges where nothing is to be corrected, and its verdict is kept with its decisions.
    rng, **folds
        As in `left_out_scores`.
    """
    if method == "threshold":
        raise ValueError(
            f"method='threshold' moves the threshold of the decisions of a classifier; {estimator!r} is a transformer. "
            "Use method='auto', or 'transfer'."
        )
    scores = left_out_scores(estimator, X, y, rng=rng, **folds)
    choice: dict[str, Any] = {"method": method, "left-out scores": scores.route}
    correction, corrected = _correct_scores(estimator, X, method, scores, choice)
    # The guard fits its classifier again in every fold; without a correction there is nothing to decide.
    if guard is not None and (correction is not None or always_judge):
        signal = balanced_signal(estimator, X, y, judge=guard, rng=rng, **folds)
        judged = scores.folds(_judged(np.asarray(y), rng))
        verdict = guard_correction(guard, judged, scores.left_out, corrected, y, scores.weights, scoring, signal)
        choice["guard"] = verdict.as_dict()
        if always_judge:
            choice["verdict"] = verdict
        if not verdict.accepted:
            correction, corrected = None, scores.left_out
    applied = "none" if correction is None else AUTOMATIC if method == "auto" else method
    return Calibration(applied, correction, scores.train, scores.left_out, corrected, choice, scores.weights)


def _judged(y: Array, rng: np.random.Generator | None) -> Array | None:
    """The rows that the guard leaves out: None for all, or a random choice with as many rows of each class."""
    if len(y) <= MOST_JUDGED:
        return None
    rng = np.random.default_rng(0) if rng is None else rng
    classes, codes = np.unique(y, return_inverse=True)
    each = max(2, MOST_JUDGED // len(classes))
    rows = [rng.permutation(np.flatnonzero(codes == code))[:each] for code in range(len(classes))]
    return np.sort(np.concatenate(rows))


def _correct_scores(
    estimator: Any, X: Rows, method: str, scores: LeftOutScores, choice: dict[str, Any]
) -> tuple[Any, Array]:
    """The correction, or None, and the left-out scores after it."""
    train, left_out, weights = scores.train, scores.left_out, scores.weights
    if method == "none":
        return None, left_out
    if method == "histogram":
        return Histogram(train, weights), renormalize(train, left_out)
    if method == "orthogonal":
        return _orthogonal_for_scores(estimator, X, left_out)
    wanted, reference = is_resolved(train, left_out), left_out
    if method == "auto":
        wanted &= is_inflated(train, left_out, weights)
        choice["inflated components"] = np.flatnonzero(wanted).tolist()
        method, reference = AUTOMATIC, steady_left_out(train, left_out, weights)
    if not wanted.any():
        return None, left_out
    correction = Columns.learned(train, reference, method, wanted, weights)
    return correction, correction(left_out)


def _orthogonal_for_scores(estimator: Any, X: Rows, left_out: Array) -> tuple[Orthogonal, Array]:
    last, inputs, steps = last_step(estimator, X)
    gamma, constant, inputs = _gaussian_model(last, inputs)
    return Orthogonal.learned(inputs, steps, gamma, constant, left_out)


def _gaussian_model(model: Any, X: Rows) -> tuple[float, Array, Array]:
    """γ, the score of a point infinitely far away, and dense inputs, of Gaussian kernel PCA."""
    inputs = to_dense(as_inputs(X))
    if isinstance(model, KernelPCA):
        gamma = gaussian_gamma("method='orthogonal'", model.kernel_)
        offset = model.subspace_.offset
        return gamma, np.zeros(model.n_components_) if offset is None else -np.asarray(offset), inputs
    if isinstance(model, SklearnKernelPCA) and model.kernel == "rbf":
        gamma = float(model.gamma_)
        means = rbf_kernel(inputs, gamma=gamma).mean(axis=0)
        return gamma, -means @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_)), inputs
    raise UnsupportedKernelError(
        "method='orthogonal' corrects kernel PCA with a Gaussian kernel, whose values a point outside the training "
        f"span loses by a known factor; got {model!r}. method='transfer' works with any transformer."
    )


# "auto" changes decisions where a gain of this much in the smoothed measure of left-out ones, a fifth of a per cent, is
# within one standard error of what was measured. Thresholds that count both classes alike are right more often than 30
# to 100 rows can show: on the development sets of `benchmarks/comparisons/small_sample_verdicts.py`, asking for a gain
# that was measured loses 0.002 on average and 0.018 in the worst cell, asking for signal as well 0.005 and 0.053.
LEAST_GAIN = 0.002
# Votes of pairs of classes and machines of one class against the rest are different models: the latter must be better
# by this many standard errors. With 2, one in forty equal models would be exchanged; with 0, every second one.
STANDARD_ERRORS = 1.0
# Recalls this many standard errors below chance mean that left-out decisions name wrong classes.
BELOW_CHANCE = 2.0


def learn_decision_calibration(
    estimator: Any,
    X: Rows,
    y: Targets,
    *,
    method: str = "auto",
    scoring: str = "balanced_accuracy",
    values: LeftOutDecisions | None = None,
    **folds: Any,
) -> Calibration:
    r"""Learn the correction of decisions of a fitted classifier, from its training data alone.

    Two classes have one column of decisions, with the threshold 0; more classes one each, the largest of which wins
    (those of `SVC` are votes of pairs with their confidence). Columns are corrected one by one. For two classes every
    increasing correction is a threshold, and "auto" is that of (V6), which is applied where the smoothed measure
    (`scoring`, see `compare_decisions`) of the left-out decisions may gain 0.002 or more by it: where that is within
    one standard error, or left-out decisions name one class only, so that nothing can be lost by a measure that counts
    both classes alike. For several classes, and for accuracy, the gain must have been measured, and left-out decisions
    must order the classes better than chance (p < 0.2, see `signal_of`).

    Where left-out decisions differ by rounding errors, or name wrong classes whatever the threshold, nothing is
    corrected, and a warning says so.

    Parameters
    ----------
    estimator : fitted classifier with decision_function
    X, y : its training data
    method : str
        As in `Renormalized`.
    scoring : {"balanced_accuracy", "geometric_mean", "accuracy"}
        What thresholds are for, and what "auto" judges by.
    values : LeftOutDecisions, optional
        What `left_out_decisions` returned, to compare methods without leaving points out again.
    **folds
        As in `left_out_decisions`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage.inflation._learn import learn_decision_calibration
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 500)), np.arange(60) < 15
    >>> X[y, :10] += 1
    >>> svm = SVC(gamma=2e-3).fit(X, y)
    >>> calibration = learn_decision_calibration(svm, X, y, method="transfer")
    >>> bool(calibration.inflation > 2)
    True
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    values = left_out_decisions(estimator, X, y, **folds) if values is None else values
    choice: dict[str, Any] = {"method": method, "left-out decisions": values.route, "scoring": scoring}
    model = getattr(estimator, "best_estimator_", estimator)
    if method == "auto":
        verdict = _judge_threshold(values, scoring)
        if verdict.collapse is not None:
            _warn_of_collapse(model, verdict.collapse)
        method = "threshold" if verdict.is_accepted else "none"
        choice |= {**verdict.as_dict(), "chosen": method}
    correction, corrected = _correct_decisions(model, X, method, values, scoring)
    return Calibration(method, correction, values.train, values.leveled, corrected, choice, values.weights)


@dataclass(frozen=True)
class Verdict:
    """What left-out decisions say about the correction that "auto" would make.

    Attributes
    ----------
    inflation : float
        Geometric mean over the columns.
    collapse : str or None
        Why left-out decisions are of no use for any correction.
    gain, error : float or None
        In the smoothed measure, and its standard error; None where nothing was compared.
    allowance : float
        By how much the gain may miss 0.002: its standard error for two classes that count alike. Others have to be
        better as measured: thresholds of several classes change their common unit too.
    has_evidence : bool
        Whether left-out decisions order the classes better than chance does once in five times. Two classes that count
        alike need none: without signal their balanced accuracy is that of chance, whatever the threshold.
    has_nothing_to_lose : bool
        Whether the measure is that of decisions which know nothing. Others that are worse on rows left out are so by
        chance, or because models decide against the class of the row that they lack.
    """

    inflation: float
    collapse: str | None = None
    gain: float | None = None
    error: float | None = None
    allowance: float = 0.0
    has_evidence: bool = True
    has_nothing_to_lose: bool = False

    @property
    def is_accepted(self) -> bool:
        if self.gain is None or not self.has_evidence:
            return False
        return self.has_nothing_to_lose or self.gain + self.allowance >= LEAST_GAIN

    def as_dict(self) -> dict[str, float]:
        """What is known, for the record of a `Calibration`."""
        known = {"inflation": self.inflation, "gain": self.gain, "standard error": self.error}
        return {name: value for name, value in known.items() if value is not None}


def _judge_threshold(values: LeftOutDecisions, scoring: str) -> Verdict:
    """Compare left-out decisions as they are with those relative to the threshold they suggest."""
    train, left_out, codes, weights = values.train, values.leveled, values.codes, values.weights
    size = float(np.exp(np.mean(np.log(inflation(train, left_out, weights)))))
    if (is_inflated(train, left_out, weights) & ~is_resolved(train, left_out)).any():
        return Verdict(size, "differ by rounding errors only, so that no correction can be learned")
    if len(np.unique(codes)) < 2:
        return Verdict(size)
    corrected = Threshold.learned(train, left_out, codes, weights, scoring)(left_out)
    if is_worse_than_chance(predicted_codes(corrected), codes):
        return Verdict(size, "name wrong classes, whatever the threshold")
    gain, error = _gain(corrected, left_out, codes, weights, scoring)
    if scoring == "accuracy" or left_out.shape[1] > 1:
        has_evidence = signal_of(left_out, codes, weights).p_value < LEAST_EVIDENCE
        return Verdict(size, None, gain, error, has_evidence=has_evidence)
    names_one_class = bool(np.ptp(predicted_codes(left_out)) == 0)
    return Verdict(size, None, gain, error, allowance=error, has_nothing_to_lose=names_one_class)


def _gain(candidate: Array, baseline: Array, codes: Array, weights: Array | None, scoring: str) -> tuple[float, float]:
    """What decisions gain over others in the smoothed measure, and the standard error of that."""
    margins = {"": margins_of(candidate, codes)}
    return compare_decisions(margins, margins_of(baseline, codes), codes, weights, scoring)[""]


def _correct_decisions(model: Any, X: Rows, method: str, values: LeftOutDecisions, scoring: str) -> tuple[Any, Array]:
    """The correction, or None, and the left-out decisions after it."""
    train, left_out, weights = values.train, values.leveled, values.weights
    if method == "none":
        return None, left_out
    if method == "histogram":
        return Histogram(train, weights), renormalize(train, left_out)
    if method == "orthogonal":
        return _orthogonal_for_decisions(model, X, left_out)
    if method == "threshold":
        correction: Any = Threshold.learned(train, left_out, values.codes, weights, scoring)
    else:
        correction = Columns.learned(train, left_out, method, is_resolved(train, left_out), weights)
    return correction, correction(left_out)


def prefers_machines(values: LeftOutDecisions, votes: Calibration, machines: Calibration) -> bool:
    """Whether a multi-class SVC is better as machines of one class against the rest than by votes of pairs.

    Parameters
    ----------
    values : LeftOutDecisions of the votes
    votes, machines : Calibration
        Of the same rows. What was compared is added to the record of `machines`.

    Returns
    -------
    bool
        Whether corrected decisions of the machines are better beyond their standard error.
    """
    codes, weights, scoring = values.codes, values.weights, votes.choice["scoring"]
    gain, error = _gain(machines.corrected, votes.corrected, codes, weights, scoring)
    machines.choice["gain over votes of pairs"], machines.choice["its standard error"] = gain, error
    score = lambda decisions: decision_score(codes, predicted_codes(decisions), weights, scoring)
    is_clear = gain > max(LEAST_GAIN, STANDARD_ERRORS * error) and score(machines.corrected) > score(votes.corrected)
    return is_clear and machines.method != "none"


def is_worse_than_chance(predicted: Array, codes: Array) -> bool:
    """Whether the mean recall of the classes is clearly below that of predictions that know nothing."""
    present, sizes = np.unique(codes, return_counts=True)
    chance = 1 / len(present)
    recalls = [np.mean(predicted[codes == code] == code) for code in present]
    # The standard error of the mean of K recalls p = 1/K: √(Σ p(1 − p)/nₖ)/K.
    error = chance * np.sqrt(chance * (1 - chance) * np.sum(1 / sizes))
    return bool(np.mean(recalls) < chance - BELOW_CHANCE * error)


def _warn_of_collapse(model: Any, what: str) -> None:
    warn_user(
        f"Decisions of {model!r} for samples left out {what}: new samples are like none that it was fitted on. Nothing "
        "is corrected. A wider kernel (smaller gamma) or fewer variables may help.",
        UserWarning,
    )


def _orthogonal_for_decisions(model: Any, X: Rows, left_out: Array) -> tuple[Orthogonal, Array]:
    last, inputs, steps = last_step(model, X)
    gamma, intercept = _gaussian_machine(last)
    return Orthogonal.learned(to_dense(as_inputs(inputs)), steps, gamma, intercept, left_out)


def _gaussian_machine(last: Any) -> tuple[float, Array]:
    """γ and the intercepts of a kernel machine whose decisions are values of Gaussian expansions."""
    try:
        machine = machine_of(last)
    except (TypeError, ValueError) as error:
        raise UnsupportedKernelError(
            "method='orthogonal' corrects kernel machines with a Gaussian kernel, whose decisions a point outside the "
            f"training span loses by a known factor; got {last!r}. method='transfer' works with any classifier."
        ) from error
    if not isinstance(machine.output, (Binary, Logistic, OneVsRest)):
        raise UnsupportedKernelError(
            "method='orthogonal' corrects decisions of two classes, or of one class against the rest; those of "
            f"{last!r} are votes of pairs. Use OneVsRestClassifier, or method='transfer'."
        )
    gamma = gaussian_gamma("method='orthogonal'", machine.expansion.kernel)
    return gamma, np.asarray(machine.intercept, dtype=np.float64)
