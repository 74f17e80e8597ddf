"""Learn from training data how the decisions of a classifier for new points are to be corrected."""

import contextlib
import warnings

import numpy as np

from preimage._arrays import to_dense
from preimage.calibration import (
    compare_decisions,
    gaussian_gamma,
    inflation,
    is_inflated,
    is_resolved,
    margins_of,
    predicted_codes,
    renormalize,
)
from preimage.estimators._corrections import METHODS, Calibration, Columns, Histogram, Orthogonal
from preimage.estimators._left_out_decisions import left_out_decisions
from preimage.estimators._left_out_scores import as_inputs, last_step
from preimage.exceptions import UnsupportedKernelError
from preimage.interop import Binary, OneVsRest, machine_of

# "auto" compares these; "isotonic" is a rougher "transfer", and "histogram" needs the test set.
CANDIDATES = ("transfer", "affine", "orthogonal")
# Where deviations agree within this factor there is nothing to correct. From this one on inflation is beyond doubt, and
# the better estimate decides. Between, doing nothing is preferred unless a correction gains this much, after so many
# standard errors.
LEAST_INFLATION = 1.02
STRONG_INFLATION = 2.0
LEAST_GAIN = 0.01
STANDARD_ERRORS = 2.0
# "transfer" is preferred to others that are not better than it by so many standard errors.
BETTER_THAN_TRANSFER = 1.0
# Functions are learned on all but one of so many parts of the left-out decisions, and judged on that one.
N_PARTS = 10


def learn_decision_calibration(
    estimator, X, y, *, method="auto", cv=None, n_jobs=None, rng=None, sample_weight=None, values=None
):
    r"""Learn the correction of decisions of a fitted classifier, from its training data alone.

    Two classes have one column of decisions, with the threshold 0; more classes one each, the largest of which wins
    (those of `SVC` are votes of pairs with their confidence). Columns are corrected one by one. "auto" compares
    "transfer", "affine" and, for Gaussian kernels, "orthogonal" with doing nothing, by the geometric mean of the
    classes' recalls on left-out decisions (see `compare_decisions`), each judged on rows that its functions were not
    learned from:

    - Where training decisions have at least twice the deviation of left-out ones, a correction must gain anything.
    - Where they have less than 1.02 times that deviation, nothing is corrected.
    - Else a correction must gain 0.01, and that after two standard errors.

    Of several that do, "transfer" is applied unless another is better than it by a standard error; of none, "none".
    Corrections that name the right class clearly less often than chance are out of the question, and so are all where
    left-out decisions differ by rounding errors. A warning says where nothing is left.

    Parameters
    ----------
    estimator : fitted classifier with decision_function
    X, y : its training data
    method : str
        As in `Renormalized`.
    cv, n_jobs, rng, sample_weight
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
    >>> from preimage.estimators._decision_calibration import learn_decision_calibration
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
    rng = np.random.default_rng(0) if rng is None else rng
    if values is None:
        values = left_out_decisions(estimator, X, y, cv=cv, n_jobs=n_jobs, rng=rng, sample_weight=sample_weight)
    choice = {"method": method, "left-out decisions": values.route}
    model = getattr(estimator, "best_estimator_", estimator)
    if method == "auto":
        method = _choose(model, X, values, choice, rng)
    correction, corrected = _correct(model, X, method, values)
    return Calibration(method, correction, values.train, values.levelled, corrected, choice)


def _correct(model, X, method, values):
    """The correction, or None, and the left-out decisions after it."""
    train, left_out = values.train, values.levelled
    if method == "none":
        return None, left_out
    if method == "histogram":
        return Histogram(train), renormalize(train, left_out)
    if method == "orthogonal":
        return _orthogonal(model, X, left_out)
    correction = _transfer(train, left_out, method)
    return correction, correction(left_out)


def _transfer(train, left_out, method):
    return Columns.learned(train, left_out, method, is_resolved(train, left_out))


def _choose(model, X, values, choice, rng):
    """The name of what "auto" does."""
    train, left_out, codes = values.train, values.levelled, values.codes
    choice["inflation"] = ratio = float(np.exp(np.mean(np.log(inflation(train, left_out)))))
    choice["chosen"] = "none"
    if ratio < LEAST_INFLATION:
        return "none"
    if (is_inflated(train, left_out) & ~is_resolved(train, left_out)).any():
        _warn_of_collapse(model, "differ by rounding errors only, so that no correction can be learned")
        return "none"
    corrected = {name: _judged_apart(values, name, rng) for name in CANDIDATES if name != "orthogonal"}
    with contextlib.suppress(UnsupportedKernelError):  # no candidate for other models
        corrected["orthogonal"] = _orthogonal(model, X, left_out)[1]
    useless = [name for name, each in corrected.items() if _is_worse_than_chance(predicted_codes(each), codes)]
    is_strong = ratio >= STRONG_INFLATION
    if is_strong and len(useless) == len(corrected):
        _warn_of_collapse(model, "name wrong classes, whatever the correction")
    margins = {name: margins_of(each, codes) for name, each in corrected.items()}
    gains = compare_decisions(margins, margins_of(left_out, codes), codes, values.weights)
    worth = {
        name: gain if is_strong else gain - STANDARD_ERRORS * error - LEAST_GAIN
        for name, (gain, error) in gains.items()
    } | dict.fromkeys(useless, -np.inf)
    best = max(worth, key=worth.get)
    chosen = best if worth[best] > 0 else "none"
    if chosen not in ("none", "transfer") and worth["transfer"] > 0:
        gain, error = compare_decisions({best: margins[best]}, margins["transfer"], codes, values.weights)[best]
        chosen = best if gain > BETTER_THAN_TRANSFER * error else "transfer"
    choice.update(
        {
            "gains": {name: gain for name, (gain, _) in gains.items()},
            "standard errors": {name: error for name, (_, error) in gains.items()},
            "chosen": chosen,
        }
    )
    return chosen


def _is_worse_than_chance(predicted, codes):
    """Whether the mean recall of the classes is clearly below that of predictions that know nothing."""
    present, sizes = np.unique(codes, return_counts=True)
    chance = 1 / len(present)
    recalls = [np.mean(predicted[codes == code] == code) for code in present]
    error = chance * np.sqrt(chance * (1 - chance) * np.sum(1 / sizes))
    return np.mean(recalls) < chance - STANDARD_ERRORS * error


def _warn_of_collapse(model, what):
    warnings.warn(
        f"Decisions of {model!r} for samples left out {what}: new samples are like none that it was fitted on. Nothing "
        "is corrected. A wider kernel (smaller gamma) or fewer variables may help.",
        UserWarning,
        stacklevel=2,
    )


def _judged_apart(values, method, rng):
    """Left-out decisions, corrected by functions that were learned from other rows."""
    train, left_out, part = values.train, values.levelled, _parts(values.codes, rng)
    out = np.empty_like(left_out)
    for p in np.unique(part):
        rest, here = part != p, part == p
        out[here] = _transfer(train[rest], left_out[rest], method)(left_out[here])
    return out


def _parts(codes, rng):
    """Random parts with as many rows of each class as possible in each."""
    sizes = np.bincount(codes)
    n_parts = max(2, min(N_PARTS, sizes[sizes > 0].min()))
    part = np.empty(len(codes), dtype=int)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        part[rows] = np.arange(rows.size) % n_parts
    return part


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
