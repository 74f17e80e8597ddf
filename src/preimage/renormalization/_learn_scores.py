"""Learn from training data how the scores of new points are to be corrected."""

from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from preimage._arrays import to_dense
from preimage._typing import Array, Rows, Targets
from preimage.calibration import renormalize
from preimage.calibration._guard import guard_correction
from preimage.calibration._inflation import is_inflated, is_resolved, steady_left_out
from preimage.calibration._orthogonal import gaussian_gamma
from preimage.estimators._kernel_pca import KernelPCA
from preimage.exceptions import UnsupportedKernelError
from preimage.renormalization._corrections import Calibration, Columns, Histogram, Orthogonal
from preimage.renormalization._inputs import as_inputs, last_step
from preimage.renormalization._left_out import LeftOutScores, left_out_scores

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
    correction, corrected = _correct(estimator, X, method, scores, choice)
    # The guard fits its classifier again in every fold; without a correction there is nothing to decide.
    if guard is not None and (correction is not None or always_judge):
        judged = scores.folds(_judged(np.asarray(y), rng))
        verdict = guard_correction(guard, judged, scores.left_out, corrected, y, scores.weights, scoring)
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


def _correct(estimator: Any, X: Rows, method: str, scores: LeftOutScores, choice: dict[str, Any]) -> tuple[Any, Array]:
    """The correction, or None, and the left-out scores after it."""
    train, left_out, weights = scores.train, scores.left_out, scores.weights
    if method == "none":
        return None, left_out
    if method == "histogram":
        return Histogram(train, weights), renormalize(train, left_out)
    if method == "orthogonal":
        return _orthogonal(estimator, X, left_out)
    wanted, reference = is_resolved(train, left_out), left_out
    if method == "auto":
        wanted &= is_inflated(train, left_out, weights)
        choice["inflated components"] = np.flatnonzero(wanted).tolist()
        method, reference = AUTOMATIC, steady_left_out(train, left_out, weights)
    if not wanted.any():
        return None, left_out
    correction = Columns.learned(train, reference, method, wanted, weights)
    return correction, correction(left_out)


def _orthogonal(estimator: Any, X: Rows, left_out: Array) -> tuple[Orthogonal, Array]:
    last, inputs, steps = last_step(estimator, X)
    gamma, constant, inputs = _gaussian_model(last, inputs)
    return Orthogonal.learned(inputs, steps, gamma, constant, left_out)


def _gaussian_model(model: Any, X: Rows) -> tuple[float, Array, Array]:
    """γ, the score of a point infinitely far away, and dense inputs, of Gaussian kernel PCA."""
    inputs = to_dense(as_inputs(X))
    if isinstance(model, KernelPCA):
        gamma = gaussian_gamma("method='orthogonal'", model.kernel_)
        return gamma, -np.asarray(model.subspace_.offset), inputs
    if isinstance(model, SklearnKernelPCA) and model.kernel == "rbf":
        gamma = float(model.gamma_)
        means = rbf_kernel(inputs, gamma=gamma).mean(axis=0)
        return gamma, -means @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_)), inputs
    raise UnsupportedKernelError(
        "method='orthogonal' corrects kernel PCA with a Gaussian kernel, whose values a point outside the training "
        f"span loses by a known factor; got {model!r}. method='transfer' works with any transformer."
    )
