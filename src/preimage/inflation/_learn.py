"""Learn from training data how scores of new points, and decisions about them, are to be corrected."""

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
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
from preimage.inflation._comparison import (
    LEAST_EVIDENCE,
    decision_score,
    gain_of,
    guard_correction,
    predicted_codes,
    signal_of,
)
from preimage.inflation._corrections import (
    METHODS,
    Calibration,
    Choice,
    Columns,
    Histogram,
    Orthogonal,
    Threshold,
    gaussian_gamma,
)
from preimage.inflation._inflation import inflation, is_inflated, is_resolved, steady_left_out
from preimage.inflation._inputs import as_inputs, last_step
from preimage.inflation._left_out import LeftOutDecisions, LeftOutScores, left_out_decisions, left_out_scores
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
    values = left_out_scores(estimator, X, y, rng=rng, **folds)
    train, left_out, weights = values.train, values.left_out, values.weights
    choice, applied, reference, wanted = Choice(method, values.route, scoring), method, left_out, None
    if method == "auto":
        applied, reference = AUTOMATIC, steady_left_out(train, left_out, weights)
        wanted = is_resolved(train, left_out) & is_inflated(train, left_out, weights)
        choice = replace(choice, inflated=np.flatnonzero(wanted).tolist())
    correction, corrected = _correction(applied, values, reference, wanted, lambda: _gaussian_model(estimator, X))
    judged = None
    # The guard fits its classifier again in every fold; without a correction there is nothing to decide.
    if guard is not None and (correction is not None or always_judge):
        signal = balanced_signal(estimator, X, y, judge=guard, rng=rng, **folds)
        rows = values.folds(_judged(np.asarray(y), rng))
        judged = guard_correction(guard, rows, left_out, corrected, y, weights, scoring, signal)
        measured = (judged.gain.before, judged.gain.after, judged.scores["largest class"], *astuple(judged.gain)[:2])
        known = zip(("plain", "corrected", "chance", "gain", "standard_error"), measured, strict=True)
        choice = replace(choice, signal=judged.signal.p_value, accepted=judged.accepted, **dict(known))
        if not judged.accepted:
            correction, corrected = None, left_out
    applied = "none" if correction is None else applied
    judged = judged if always_judge else None
    return Calibration(applied, correction, train, left_out, corrected, choice, weights, judged)


def _judged(y: Array, rng: np.random.Generator | None) -> Array | None:
    """The rows that the guard leaves out: None for all, or a random choice with as many rows of each class."""
    if len(y) <= MOST_JUDGED:
        return None
    rng = np.random.default_rng(0) if rng is None else rng
    classes, codes = np.unique(y, return_inverse=True)
    each = max(2, MOST_JUDGED // len(classes))
    rows = [rng.permutation(np.flatnonzero(codes == code))[:each] for code in range(len(classes))]
    return np.sort(np.concatenate(rows))


def _correction(
    method: str,
    values: LeftOutScores | LeftOutDecisions,
    reference: Array,
    wanted: Array | None,
    gaussian: Callable[[], tuple[float, Array, Array, list]],
    scoring: str = "balanced_accuracy",
) -> tuple[Any, Array]:
    """The correction, or None, and the left-out values after it.

    `reference` are the values that transfer functions are learned from, `wanted` the columns (all by default) that
    they are learned for, `gaussian` gives γ, the constant, inputs and steps of a Gaussian model.
    """
    train, left_out, weights = values.train, values.leveled, values.weights
    if method == "none":
        return None, left_out
    if method == "histogram":
        return Histogram(train, weights), renormalize(train, left_out)
    if method == "orthogonal":
        return Orthogonal.learned(*gaussian(), left_out)
    if method == "threshold":
        correction: Any = Threshold.learned(train, left_out, values.codes, weights, scoring)
    else:
        wanted = is_resolved(train, left_out) if wanted is None else wanted
        if not wanted.any():
            return None, left_out
        correction = Columns.learned(train, reference, method, wanted, weights)
    return correction, correction(left_out)


def _gaussian_model(estimator: Any, X: Rows) -> tuple[float, Array, Array, list]:
    """γ, the score of a point infinitely far away, dense inputs and the steps before, of Gaussian kernel PCA."""
    model, inputs, steps = last_step(estimator, X)
    inputs = to_dense(as_inputs(inputs))
    if isinstance(model, KernelPCA):
        gamma = gaussian_gamma("method='orthogonal'", model.kernel_)
        offset = model.subspace_.offset
        return gamma, np.zeros(model.n_components_) if offset is None else -np.asarray(offset), inputs, steps
    if isinstance(model, SklearnKernelPCA) and model.kernel == "rbf":
        gamma = float(model.gamma_)
        means = rbf_kernel(inputs, gamma=gamma).mean(axis=0)
        return gamma, -means @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_)), inputs, steps
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
    choice = Choice(method, values.route, scoring)
    model = getattr(estimator, "best_estimator_", estimator)
    if method == "auto":
        verdict = _judge_threshold(values, scoring)
        if verdict.collapse is not None:
            warn_user(
                f"Decisions of {model!r} for samples left out {verdict.collapse}: new samples are like none that it "
                "was fitted on. Nothing is corrected. A wider kernel (smaller gamma) or fewer variables may help.",
                UserWarning,
            )
        method = "threshold" if verdict.is_accepted else "none"
        found: dict[str, Any] = {"inflation": verdict.inflation, "gain": verdict.gain, "standard_error": verdict.error}
        choice = replace(choice, accepted=verdict.is_accepted, **found)
    leveled = values.leveled
    correction, corrected = _correction(method, values, leveled, None, lambda: _gaussian_machine(model, X), scoring)
    return Calibration(method, correction, values.train, leveled, corrected, choice, values.weights)


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
    gain, error = gain_of(corrected, left_out, codes, weights, scoring)
    if scoring == "accuracy" or left_out.shape[1] > 1:
        has_evidence = signal_of(left_out, codes, weights).p_value < LEAST_EVIDENCE
        return Verdict(size, None, gain, error, has_evidence=has_evidence)
    names_one_class = bool(np.ptp(predicted_codes(left_out)) == 0)
    return Verdict(size, None, gain, error, allowance=error, has_nothing_to_lose=names_one_class)


def better_of(values: LeftOutDecisions, votes: Calibration, machines: Calibration) -> Calibration:
    """The better calibration of a multi-class SVC: by votes of pairs, or as machines of one class against the rest.

    Machines must be better beyond their standard error. `values` are the left-out decisions of the votes.
    """
    codes, weights, scoring = values.codes, values.weights, votes.choice.scoring
    gain, error = gain_of(machines.corrected, votes.corrected, codes, weights, scoring)
    score = lambda decisions: decision_score(codes, predicted_codes(decisions), weights, scoring)
    is_clear = gain > max(LEAST_GAIN, STANDARD_ERRORS * error) and score(machines.corrected) > score(votes.corrected)
    best = machines if is_clear and machines.method != "none" else votes
    return replace(best, choice=replace(best.choice, gain_over_votes=gain, error_over_votes=error))


def is_worse_than_chance(predicted: Array, codes: Array) -> bool:
    """Whether the mean recall of the classes is clearly below that of predictions that know nothing."""
    present, sizes = np.unique(codes, return_counts=True)
    chance = 1 / len(present)
    recalls = [np.mean(predicted[codes == code] == code) for code in present]
    # The standard error of the mean of K recalls p = 1/K: √(Σ p(1 − p)/nₖ)/K.
    error = chance * np.sqrt(chance * (1 - chance) * np.sum(1 / sizes))
    return bool(np.mean(recalls) < chance - BELOW_CHANCE * error)


def _gaussian_machine(model: Any, X: Rows) -> tuple[float, Array, Array, list]:
    """γ, intercepts, dense inputs and the steps before, of a machine whose decisions are Gaussian expansions."""
    last, inputs, steps = last_step(model, X)
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
    return gamma, np.asarray(machine.intercept, dtype=np.float64), to_dense(as_inputs(inputs)), steps
