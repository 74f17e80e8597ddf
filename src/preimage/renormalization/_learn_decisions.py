"""Learn from training data how the decisions of a classifier for new points are to be corrected."""

import numpy as np

from preimage._arrays import to_dense
from preimage._warnings import warn_user
from preimage.calibration import (
    Threshold,
    compare_decisions,
    decision_score,
    gaussian_gamma,
    inflation,
    is_inflated,
    is_resolved,
    margins_of,
    predicted_codes,
    renormalize,
    signal_of,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.interop import machine_of
from preimage.machines import Binary, OneVsRest
from preimage.renormalization._corrections import METHODS, Calibration, Columns, Histogram, Orthogonal
from preimage.renormalization._left_out_decisions import left_out_decisions
from preimage.renormalization._left_out_scores import as_inputs, last_step

# "auto" changes decisions where the smoothed measure of left-out ones gains this much, a fifth of a per cent: less is
# within what smoothing decides. Votes of pairs of classes and machines of one class against the rest are different
# models, so that the latter must be better by this many standard errors.
LEAST_GAIN = 0.002
STANDARD_ERRORS = 1.0
# And where left-out decisions order the classes better than chance does once in five times.
LEAST_EVIDENCE = 0.2
# Recalls this many standard errors below chance mean that left-out decisions name wrong classes.
BELOW_CHANCE = 2.0


def learn_decision_calibration(
    estimator,
    X,
    y,
    *,
    method="auto",
    scoring="balanced_accuracy",
    cv=None,
    n_jobs=None,
    rng=None,
    sample_weight=None,
    groups=None,
    values=None,
):
    r"""Learn the correction of decisions of a fitted classifier, from its training data alone.

    Two classes have one column of decisions, with the threshold 0; more classes one each, the largest of which wins
    (those of `SVC` are votes of pairs with their confidence). Columns are corrected one by one. For two classes every
    increasing correction is a threshold, and "auto" is the one of `preimage.calibration.Threshold`, which is applied
    where

    - left-out decisions order the classes better than chance (p < 0.2, see `signal_of`), and
    - the smoothed measure (`scoring`, see `compare_decisions`) of the left-out decisions gains 0.002 or more by it.

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
    cv, n_jobs, rng, sample_weight, groups
        As in `left_out_decisions`.
    values : LeftOutValues, optional
        What `left_out_decisions` returned, to compare methods without leaving points out again.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage.renormalization._learn_decisions import learn_decision_calibration
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
    if values is None:
        values = left_out_decisions(
            estimator, X, y, cv=cv, n_jobs=n_jobs, rng=rng, sample_weight=sample_weight, groups=groups
        )
    choice = {"method": method, "left-out decisions": values.route, "scoring": scoring}
    model = getattr(estimator, "best_estimator_", estimator)
    if method == "auto":
        method = _choose(model, values, scoring, choice)
    correction, corrected = _correct(model, X, method, values, scoring)
    return Calibration(method, correction, values.train, values.levelled, corrected, choice, values.weights)


def _correct(model, X, method, values, scoring):
    """The correction, or None, and the left-out decisions after it."""
    train, left_out, weights = values.train, values.levelled, values.weights
    if method == "none":
        return None, left_out
    if method == "histogram":
        return Histogram(train, weights), renormalize(train, left_out)
    if method == "orthogonal":
        return _orthogonal(model, X, left_out)
    if method == "threshold":
        correction = Threshold.learned(train, left_out, values.codes, weights, scoring)
    else:
        correction = Columns.learned(train, left_out, method, is_resolved(train, left_out), weights)
    return correction, correction(left_out)


def _choose(model, values, scoring, choice):
    """The name of what "auto" does."""
    train, left_out, codes, weights = values.train, values.levelled, values.codes, values.weights
    choice["inflation"] = float(np.exp(np.mean(np.log(inflation(train, left_out, weights)))))
    choice["chosen"] = "none"
    if (is_inflated(train, left_out, weights) & ~is_resolved(train, left_out)).any():
        _warn_of_collapse(model, "differ by rounding errors only, so that no correction can be learned")
        return "none"
    if len(np.unique(codes)) < 2:
        return "none"
    corrected = Threshold.learned(train, left_out, codes, weights, scoring)(left_out)
    if is_worse_than_chance(predicted_codes(corrected), codes):
        _warn_of_collapse(model, "name wrong classes, whatever the threshold")
        return "none"
    signal = signal_of(left_out, codes, weights)
    plain = margins_of(left_out, codes)
    gain, error = compare_decisions({"threshold": margins_of(corrected, codes)}, plain, codes, weights, scoring)[
        "threshold"
    ]
    chosen = "threshold" if gain >= LEAST_GAIN and signal.p_value < LEAST_EVIDENCE else "none"
    choice.update({"signal": signal.p_value, "gain": gain, "standard error": error, "chosen": chosen})
    return chosen


def better_of(votes, machines):
    """Which calibration of a multi-class SVC to take: of its votes of pairs, or of machines of one class each.

    Parameters
    ----------
    votes, machines : (LeftOutValues, Calibration) pairs
        Of the same rows.

    Returns
    -------
    bool
        Whether corrected decisions of one class against the rest are better beyond their standard error.
    """
    (values, calibration), (_, other) = votes, machines
    codes, scoring = values.codes, calibration.choice["scoring"]
    margins = margins_of(other.corrected, codes)
    plain = margins_of(calibration.corrected, codes)
    gain, error = compare_decisions({"ours": margins}, plain, codes, values.weights, scoring)["ours"]
    counted = [
        decision_score(codes, predicted_codes(each.corrected), values.weights, scoring) for each in (other, calibration)
    ]
    other.choice["gain over votes of pairs"], other.choice["its standard error"] = gain, error
    clear = gain > max(LEAST_GAIN, STANDARD_ERRORS * error) and counted[0] > counted[1]
    return clear and other.method != "none"


def is_worse_than_chance(predicted, codes):
    """Whether the mean recall of the classes is clearly below that of predictions that know nothing."""
    present, sizes = np.unique(codes, return_counts=True)
    chance = 1 / len(present)
    recalls = [np.mean(predicted[codes == code] == code) for code in present]
    error = chance * np.sqrt(chance * (1 - chance) * np.sum(1 / sizes))
    return np.mean(recalls) < chance - BELOW_CHANCE * error


def _warn_of_collapse(model, what):
    warn_user(
        f"Decisions of {model!r} for samples left out {what}: new samples are like none that it was fitted on. Nothing "
        "is corrected. A wider kernel (smaller gamma) or fewer variables may help.",
        UserWarning,
    )


def _orthogonal(model, X, left_out):
    last, inputs, steps = last_step(model, X)
    gamma, intercept = _gaussian_machine(last)
    return Orthogonal.learned(to_dense(as_inputs(inputs)), steps, gamma, intercept, left_out)


def _gaussian_machine(last):
    """γ and the intercepts of a kernel machine whose decisions are values of Gaussian expansions."""
    try:
        machine = machine_of(last)
    except (TypeError, ValueError) as error:
        raise UnsupportedKernelError(
            "method='orthogonal' corrects kernel machines with a Gaussian kernel, whose decisions a point outside the "
            f"training span loses by a known factor; got {last!r}. method='transfer' works with any classifier."
        ) from error
    if not isinstance(machine.output, (Binary, OneVsRest)):
        raise UnsupportedKernelError(
            "method='orthogonal' corrects decisions of two classes, or of one class against the rest; those of "
            f"{last!r} are votes of pairs. Use OneVsRestClassifier, or method='transfer'."
        )
    gamma = gaussian_gamma("method='orthogonal'", machine.expansion.kernel)
    return gamma, np.asarray(machine.intercept, dtype=np.float64)
