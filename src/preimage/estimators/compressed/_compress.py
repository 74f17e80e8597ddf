"""One function that makes any kernel machine small."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from preimage._engine.arguments import names_its_arguments
from preimage._engine.progress import progress_bar
from preimage._engine.typing import Rows, Seed, Targets
from preimage.estimators.compressed._models import (
    Compressed,
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
)
from preimage.estimators.compressed._pipeline import CompressedPipeline
from preimage.interop import fold
from preimage.reduced_sets import Reducer
from preimage.solvers import Preimage, TargetSolver, as_preimage

# The class of a compressed model, by what its machine is.
_CLASSES: dict[str, type[Compressed]] = {
    each.kind: each for each in (CompressedClassifier, CompressedRegressor, CompressedDetector, CompressedTransformer)
}


@names_its_arguments
def compress(
    estimator: BaseEstimator,
    n_points: int | float | None = None,
    *,
    X: Rows | None = None,
    y: Targets | None = None,
    method: str | Reducer = "auto",
    tolerance: float | None = None,
    shared: bool = True,
    dtype: str | None = None,
    verbose: bool = False,
    random_state: Seed = 0,
) -> Any:
    r"""Approximate a kernel machine by one with a few dozen points: smaller, faster, with the original's methods.

    A machine :math:`f(x) = \sum_i \alpha_i k(x_i, x) + b` costs one kernel value per point.
    :math:`\tilde f(x) = \sum_{j \le n} \beta_j k(z_j, x) + \tilde b` with fewer points, which need not be among
    the original ones, approximates it.

    Parameters
    ----------
    estimator : fitted estimator
        SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, GaussianProcessRegressor (its mean), OneVsRestClassifier of
        SVC; `preimage.KernelPCA` and the other kernel estimators of this library (a learned pre-image map becomes
        "auto"), scikit-learn's KernelPCA and Nystroem; a compressed model; CalibratedClassifierCV with
        ``ensemble=False`` of one of them, TransformedTargetRegressor of one with a scaler of the targets, which becomes
        part of the machine, a Pipeline that ends in one, or a search that found one. In a Pipeline,
        kernel PCA or another kernel map that feeds a linear machine (LinearSVC, LogisticRegression, Ridge, ...) becomes
        one machine together with it and the scalers between them. Before a machine that is not linear it stays as it
        is, with all of its points, and `work_ratio_` counts them.
    n_points : int, float or None, default=None
        Points to keep: a number, or a fraction in (0, 1] of those that the original has. None finds a small number
        whose score drops by at most `tolerance` on rows of X that it was not fitted to, see Notes.
    X : array of shape (n, d), optional
        Data of the kind that will be predicted; training data are suitable, and labels are not needed. With them,
        `method` "auto" fits function values on these data, and thresholds are set again.
    y : array of shape (n,), optional
        Labels of X. Without them, scores are agreement with the original.
    method : str or Reducer, default="auto"
        "distill" (function values on X), "refine" and "construct" (new points, feature-space norm), "select" and
        "select_l1" (a subset of the points; works with every kernel), or a reducer with its parameters:
        ``Distill(widths="free")`` gives each point a Gaussian of its own width.
    tolerance : float or None, default=None
        With X: how much the score may drop on rows left out, 0.005 by default; 95 % of the decisions must stay in every
        class, on average. Without X: the largest relative error in feature space.
    shared : bool, default=True
        Whether all functions (classes, pairs, outputs) share all points; otherwise each has `n_points` of its own: the
        same number, or the same fraction of those that it has.
    dtype : {"float32", "float64"} or None, default=None
        Precision of the result.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of samples of X and of starts.

    Returns
    -------
    CompressedClassifier, CompressedRegressor, CompressedDetector or CompressedTransformer
        With `error_`, `n_points_`, `scores_`, `left_out_scores_`, `work_ratio_`, `save` and `to_onnx`. A Pipeline comes
        back as a Pipeline of the steps before the machine, and the machine as its last step, ``small[-1]``, with `save`
        and `to_onnx` of the whole; alone, where no step stays. Printed, each says how much smaller it is and what that
        changed.

    See Also
    --------
    CompressedClassifier : The model that comes back for a classifier; the same with `fit`, for pipelines and searches.
    to_onnx : The small machine for programs without Python.
    preimage.plotting.CompressionDisplay : Error and score against the number of points.
    preimage.reduced_sets.Distill : The method that "auto" takes where X is given.
    LinearProgrammingClassifier : Machines that are small from the start.

    Notes
    -----
    A search for the size tries 1, 2, 4, 8, ... points, and in the end the size in the middle of the last two. Each
    fifth of the rows is left out once, and judges machines that were compressed on the others; one fifth is enough
    where it has a thousand rows. Where X holds all points of the machine, it is the training set. Then machines like
    the original are trained without the rows that are left out (`is_retrained_`). This takes up to five trainings, and
    labels; `sample_weight` of a fit that is not known here is not used.

    The drop of the score is computed from function values: by how much these change, how often that changes a decision,
    and how sure the original was of it, by the labels of similar rows. A size is large enough where this drop and its
    standard error together are within the tolerance. Fewer than twenty rows cannot be left out; they judge what was
    fitted to them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from preimage import compress
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> svc = SVC(gamma=2).fit(X, y)
    >>> small = compress(svc, 8, X=X)
    >>> small.n_original_points_, small.n_points_
    (77, 8)
    >>> bool((small.predict(X) == svc.predict(X)).mean() > 0.98)
    True

    Without a size, rows that are left out of training and compression judge how small it can be:

    >>> small = compress(svc, X=X, y=y, tolerance=0.01)
    >>> before, after = small.left_out_scores_
    >>> small.n_points_ < 20, before - after <= 0.01 + small.left_out_standard_error_
    (True, True)

    Kernel PCA and a linear machine become one; the scaler before them stays:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from preimage import KernelPCA
    >>> model = make_pipeline(StandardScaler(), KernelPCA(20, gamma=1), LogisticRegression(C=10)).fit(X, y)
    >>> small = compress(model, 10, X=X)
    >>> [name for name, _ in small.steps], small[-1].n_original_points_, small[-1].n_points_
    (['standardscaler', 'logisticregression'], 500, 10)
    >>> bool(abs(small.predict_proba(X) - model.predict_proba(X)).max() < 0.1)
    True
    """
    if y is not None and X is None:
        raise ValueError("compress takes y as labels of X; got y without X. Give both, or neither.")
    if n_points is not None and np.ndim(n_points):
        raise TypeError(
            "compress takes rows by name, compress(model, 40, X=X_train, y=y_train); got "
            f"{type(n_points).__name__} of shape {np.shape(n_points)} in the place of `n_points`, the size."
        )
    folded = fold(estimator)
    for _, step in folded.front:
        X = None if X is None else step.transform(X)
    kind = folded.machine.output.kind
    model = _CLASSES[kind](
        folded.template,
        n_points,
        method=method,
        tolerance=tolerance,
        shared=shared,
        dtype=dtype,
        verbose=verbose,
        random_state=random_state,
        **({"preimage": _solver(folded.template)} if kind == "transformer" else {}),
    )
    with progress_bar(verbose):
        model._compress(folded, X, y)
    if not folded.front:
        return model
    outer = estimator if isinstance(estimator, Pipeline) else Pipeline([])
    return CompressedPipeline([*folded.front, (folded.name, model)], memory=outer.memory, verbose=outer.verbose)


def _solver(estimator: Any) -> str | Preimage:
    """The pre-image solver of the original; "auto" where that learns from training rows, which are not kept."""
    preimage = getattr(estimator, "preimage", "auto")
    return preimage if isinstance(as_preimage(preimage), TargetSolver) else "auto"
