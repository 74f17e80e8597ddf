"""Detection of outliers and novelties by distances in feature space."""

from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import (
    array_namespace,
    from_numpy,
    in_double,
    in_memory,
    is_chunked,
    is_lazy,
    is_sparse,
    known_rows,
    to_numpy,
)
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.threads import within_n_jobs
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_lazy_points,
    check_parameters,
    check_weights,
    is_stream,
    refuse_stream,
)
from preimage._engine.warnings import ignored
from preimage._models.machines import DistanceDetection, KernelMachine
from preimage.estimators._estimator import (
    Estimator,
    fit_blocks,
    refuse_weights_of_blocks,
    warn_of_exact_fit,
)
from preimage.estimators._has_landmarks import HasLandmarks
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    are_rows_of_objects,
    check_rows_of,
    is_precomputed,
    named_kernel,
    uses_landmarks,
    with_array_tag,
    with_object_tags,
)
from preimage.estimators._kernel_pca import KernelPCA
from preimage.estimators._left_out_distances import (
    distances_by,
    left_out_distances,
    ridge_of,
    span_distance,
    threshold,
    without_suspects,
)
from preimage.estimators._relevant_kernel import WITHOUT_TARGETS, refuse_relevance
from preimage.estimators._training_rows import TrainingRows, same_rows
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import as_kernel
from preimage.landmarks import Landmarks, LandmarkSelector

# Width of kernels of distances: of data sets that had no part in reports, a percentile at which the mean area under the
# ROC curve is within 0.003 of the best, with 25, 60 and 300 rows, outliers among them or not.
NARROW = "p5"
# Where nobody says how many rows are outliers, one row in twenty raises an alarm.
FALSE_ALARMS = 0.05
# Rows of the training set that are recognised at most. Each takes 32 bytes, and ten microseconds when it is asked for.
MOST_RECOGNISED = 1_000_000
# Scores of a stream that the threshold is taken from, the latest ones: a quantile of 5 % of them is known to a
# twentieth of itself, and they take 80 kB.
HISTORY = 10_000


class KernelNoveltyDetector(HasLandmarks, ReportsProgress, OutlierMixin, Estimator):
    r"""Finds outliers in a training set, and new rows that are unlike it, without labels.

    A row is novel if its image is far from combinations of the images of training rows with small coefficients:

    .. math:: d(x) = \min_a \Bigl\| \varphi(x) - \sum_i a_i \varphi(x_i) \Bigr\|^2 + \lambda \sum_i a_i^2
                   = k(x, x) - \sum_j \frac{l_j}{l_j + \lambda} \beta_j(x)^2 .

    This is the reconstruction error of kernel PCA with all components, where those along which the data hardly vary
    count little (:math:`l_j` are eigenvalues of K): no number of components need be chosen. Like the variance of a
    Gaussian process, it is zero where there are many training rows and k(x, x) far from all of them.

    A training row is measured by all *other* rows, so that no outlier hides in a component of its own: leaving out row
    i replaces d by :math:`1 / (1/d - 1/\lambda)`, exactly, at no cost. `predict` and the scores recognise rows of the
    training set, unless it was a stream or has more than a million rows; `left_out_scores_` has the scores of all.

    With a number as `contamination`, the model is made without that fraction of the rows. So that groups of outliers do
    not support each other, those leave that are farthest from the mean in feature space, which have few rows around
    them, in a few rounds; and λ is larger than what as many rows at one place could explain.

    Columns of different units should be scaled before.

    Parameters
    ----------
    contamination : "auto" or float in (0, 0.5], default="auto"
        Fraction of the training rows that are outliers. "auto" means that this is not known: all rows stay in the
        model, and the threshold is such that one training row in twenty raises an alarm.
    kernel, degree, coef0, kernel_params
        As in `KernelPCA`; positive semidefinite, not precomputed.
    gamma : float, None or str, default=None
        As in `KernelPCA`, except that None means "p5" where a kernel of distances is given by its name: one over the
        fifth percentile of the squared distances is a narrow kernel, which follows the shape of the data. Scores
        hardly change between "p2" and "p20".
    ridge : float or None, default=None
        λ, as a multiple of the mean of k(x, x) over the training rows. None is 0.01, with which the score follows the
        shape of the data; with a number as `contamination` it is three times the number of outliers, with which
        it is nearly a density. Scores hardly change by a factor of ten.
    landmarks : None, int, str or LandmarkSelector, default=None
        As in `KernelPCA`: with them X may be a memory map, a Dask array or an iterator of blocks, and `partial_fit`
        learns from a stream.
    max_memory, device, n_jobs, verbose
        As in `KernelPCA`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the choice of landmarks, and of the rows from which `gamma` is found.

    Attributes
    ----------
    offset_ : float
        Threshold of decisions: ``decision_function(X)`` is ``score_samples(X) - offset_``.
    left_out_scores_ : array of shape (n,)
        Scores of the training rows, each measured by the others; of a stream, those of the latest 10,000 rows.
    kernel_pca_ : KernelPCA
        All components through zero of the rows that the model is made of; its `denoise` moves a row towards them.
    ridge_ : float
        λ.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    route_ : {"exact", "landmarks"}
    landmarks_ : Landmarks or None
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    n_samples_seen_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelPCA.reconstruction_error : The distance to a few components, with `cross_fit` for training rows.
    CompressedDetector : A one-class SVM on few points.
    sklearn.neighbors.LocalOutlierFactor : Compares densities of neighbourhoods.
    sklearn.svm.OneClassSVM : Encloses most of the rows.

    References
    ----------
    .. [1] H. Hoffmann, "Kernel PCA for novelty detection", Pattern Recognition 40, 2007: the reconstruction error as a
       score. We leave the row itself out, and weight components in place of counting them.

    Examples
    --------
    A circle with three points inside:

    >>> import numpy as np
    >>> from preimage import KernelNoveltyDetector
    >>> angles = np.linspace(0, 2 * np.pi, 97, endpoint=False)
    >>> X = np.vstack([np.column_stack([np.cos(angles), np.sin(angles)]), [[0, 0], [0.3, 0], [0, 0.3]]])
    >>> detector = KernelNoveltyDetector(contamination=0.03)
    >>> np.flatnonzero(detector.fit_predict(X) == -1)
    array([97, 98, 99])
    >>> detector.predict([[0.6, 0.8], [0.1, 0.1], [2.0, 0.0]])
    array([ 1, -1, -1])
    """

    _takes_objects = True
    _named_elsewhere = {
        "labels_": "call fit_predict(X), or predict(X) of the fitted detector; outliers are -1.",
        "decision_scores_": "read -left_out_scores_, which is high for outliers.",
        "negative_outlier_factor_": "read left_out_scores_, which is low for outliers.",
        "threshold_": "read -offset_, the threshold of -score_samples(X).",
        "predict_proba": "scores have no probabilities; np.mean(detector.left_out_scores_ < score) is the fraction of "
        "training rows that are more unusual.",
    }
    _parameter_constraints = {
        "contamination": [Interval(Real, 0, 0.5, closed="right"), StrOptions({"auto"})],
        **KERNEL_CONSTRAINTS,
        # Below, rounding errors of leverages show in scores; above, all rows are equally far from everything.
        "ridge": [Interval(Real, 1e-8, 1e3, closed="both"), None],
        "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, None],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
        "device": [str, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        contamination: float | str = "auto",
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        ridge: float | None = None,
        landmarks: Any = None,
        max_memory: int | str | None = None,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.contamination = contamination
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.ridge = ridge
        self.landmarks = landmarks
        self.max_memory = max_memory
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "KernelNoveltyDetector":
        """Learn what is normal, and score the rows of X by each other.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Two different rows at least. With `landmarks`, also a memory map, a Dask array, or an iterator of arrays,
            which is read once (see `partial_fit`).
        y : array of shape (n,), optional
            Class labels for a rule that finds the width from class means; ignored otherwise.
        sample_weight : array of shape (n,), optional
            How often each row counts: a row of weight two counts as two copies of it, one of weight zero is left out.

        Returns
        -------
        self
        """
        self._check_settings()
        if is_stream(X):
            refuse_weights_of_blocks(self, sample_weight)
            return fit_blocks(self, X)
        X = self._training_set(X)
        weights = check_weights(self, in_memory(sample_weight), X.shape[0])
        with ignored(RankWarning):
            model = self._kernel_pca().fit(X, in_memory(y), sample_weight=weights)
        self._require_semidefinite(model)
        contamination = self._known_contamination()
        ridge = ridge_of(model, self.ridge, contamination)
        if contamination is not None:
            model, distances = without_suspects(model, X, weights, ridge, contamination)
        else:
            distances = left_out_distances(model, X, weights, ridge)
        self._training_rows, distances = _recognised(X, distances)
        self._store(model, ridge, -distances, X.shape[0])
        self._set_threshold(weights)
        return self

    @reports_progress
    @within_n_jobs
    def partial_fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "KernelNoveltyDetector":
        """Learn from a further batch of rows, on landmarks; see `KernelPCA.partial_fit`.

        Rows of a batch are scored as if they were not in the model. With a number as `contamination`, rows that the
        batches before show to be outliers are not learned; those of the first batch are, so that it should be mostly
        normal. The threshold is that of the latest 10,000 rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Two different rows at least in the first batch.
        y : array of shape (n,), optional
            As in `fit`, for the first batch.
        sample_weight : array of shape (n,), optional
            As in `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelNoveltyDetector
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> detector = KernelNoveltyDetector(gamma=1.0, landmarks=50)
        >>> for batch in np.array_split(X, 5):
        ...     detector = detector.partial_fit(batch)
        >>> detector.predict([[0.0, 0.5], [5.0, 5.0]])
        array([ 1, -1])
        """
        self._check_settings()
        warn_of_exact_fit(self)
        continues = getattr(self, "route_", None) == "landmarks"
        X = self._check_inputs(X) if continues else self._checked(X, reset=True)
        X = known_rows(X)
        weights = check_weights(self, in_memory(sample_weight), X.shape[0])
        learned = np.ones(X.shape[0]) if weights is None else weights
        if continues and self._known_contamination() is not None:
            learned = np.where(self._in_memory_scores(X) >= self.offset_, learned, 0.0)
        # A copy, so that a batch that fails leaves this detector as it was.
        model = copy(self.kernel_pca_) if continues else self._kernel_pca()
        if learned.any():
            every_one = bool((learned == 1).all())
            with ignored(RankWarning):
                model.partial_fit(X, in_memory(y), sample_weight=None if every_one else learned)
        self._require_semidefinite(model)
        ridge = ridge_of(model, self.ridge, self._known_contamination())
        scores = -left_out_distances(model, X, learned, ridge)
        seen, before = 0, np.empty(0)
        if continues:
            seen, before = self.n_samples_seen_, to_numpy(self.left_out_scores_)
        self._training_rows = None
        self._store(model, ridge, np.concatenate([before, scores])[-HISTORY:], seen + X.shape[0])
        self._set_threshold(None)
        return self

    def fit_predict(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> np.ndarray:
        """Fit, and say which rows of X are outliers, each measured by the others.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; X is no iterator.

        Returns
        -------
        array of shape (n,)
            +1 for inliers, −1 for outliers, in memory.
        """
        refuse_stream(self, X, "fit_predict", "Call fit(blocks), then predict blocks one by one.")
        self.fit(X, y, sample_weight)
        return np.where(to_numpy(self.left_out_scores_) < self.offset_, -1, 1)

    def predict(self, X: Rows) -> Array:
        """+1 for rows like the training set, −1 for outliers, shape (q,); lazy for a Dask array."""
        X, offset, score = self._check_inputs(X), self.offset_, self._score()

        def labels(rows: Array) -> Array:
            scores = score(rows)
            xp = array_namespace(scores)
            return 2 * xp.astype(scores >= offset, xp.int64) - 1

        return self._map(labels, X)

    def decision_function(self, X: Rows) -> Array:
        """``score_samples(X) - offset_``, shape (q,): negative for outliers; lazy for a Dask array."""
        X, offset, score = self._check_inputs(X), self.offset_, self._score()
        return self._map(lambda rows: score(rows) - offset, X)

    def score_samples(self, X: Rows) -> Array:
        """Minus the distance d(x), shape (q,): low for outliers; lazy for a Dask array.

        Rows of the training set are recognised, and measured by the others; not those of a stream.
        """
        X = self._check_inputs(X)
        return self._map(self._score(), X)

    def _check_settings(self) -> None:
        check_parameters(self)
        if is_precomputed(self.kernel):
            raise UnsupportedKernelError(
                "KernelNoveltyDetector needs k(x, x) of new rows, which a precomputed kernel does not have. Give it "
                "the kernel itself and the inputs, or use KernelPCA.reconstruction_error(K, diagonal)."
            )

        refuse_relevance(self, named_kernel(self), WITHOUT_TARGETS)

    def _kernel_pca(self) -> KernelPCA:
        """Of all components through zero, with the parameters of this detector."""
        names = ("kernel", "gamma", "degree", "coef0", "kernel_params", "landmarks", "max_memory", "device", "n_jobs")
        shared = {name: getattr(self, name) for name in (*names, "random_state")}
        if self.gamma is None and isinstance(self.kernel, str) and as_kernel(self.kernel).is_radial:
            shared["gamma"] = NARROW
        return KernelPCA(None, center=False, **shared)

    def _training_set(self, X: Rows) -> Rows:
        """Validated rows in double precision; lazy ones come to memory unless there are landmarks."""
        method = "Detection on all rows"
        if is_lazy(X) and not uses_landmarks(method, self.landmarks, X, self.max_memory, takes_chunks=True):
            X = X if is_chunked(X) else np.asarray(X)
            return in_double(check_rows_of(self, named_kernel(self), X, min_samples=2))
        return self._checked(X, reset=True)

    def _checked(self, X: Rows, *, reset: bool) -> Rows:
        kernel = named_kernel(self)
        if not is_lazy(X) or are_rows_of_objects(kernel, X):
            return in_double(check_rows_of(self, kernel, X, reset=reset, min_samples=2))
        X = check_lazy_points(self, X, reset=reset, min_samples=2)
        return X.astype(np.float64) if is_chunked(X) else X

    def _require_semidefinite(self, model: KernelPCA) -> None:
        if model.subspace_.signature is not None:
            raise UnsupportedKernelError(
                f"KernelNoveltyDetector needs a positive semidefinite kernel; {model.kernel_!r} has negative "
                "eigenvalues on these data. Iterated(kernel) is positive semidefinite."
            )

    def _known_contamination(self) -> float | None:
        return None if isinstance(self.contamination, str) else float(self.contamination)

    def _store(self, model: KernelPCA, ridge: float, scores: np.ndarray, n_rows: int) -> None:
        self.kernel_pca_, self.ridge_, self.left_out_scores_ = model, ridge, scores
        self.kernel_, self.route_ = model.kernel_, model.route_
        self.landmarks_: Landmarks | None = model.landmarks_
        self.n_samples_seen_ = int(n_rows)

    def _set_threshold(self, weights: np.ndarray | None) -> None:
        fraction = self._known_contamination()
        self.offset_ = threshold(self.left_out_scores_, FALSE_ALARMS if fraction is None else fraction, weights)

    def _score(self) -> Any:
        """A function from validated rows to scores, without this estimator, which would travel to workers."""
        parts, known = distances_by(self.kernel_pca_, self.ridge_), self._training_rows
        left_out = to_numpy(self.left_out_scores_)

        def score(rows: Array) -> Array:
            found = parts(rows)
            scores = -array_namespace(found).sum(found, axis=1)
            if known is None:
                return scores
            numbers = known.find(rows if is_sparse(rows) else to_numpy(rows))
            if not (numbers >= 0).any():
                return scores
            values = np.where(numbers >= 0, left_out[numbers], to_numpy(scores))
            return from_numpy(values, scores, dtype=scores.dtype)

        return score

    def _for_new_rows(self) -> "KernelNoveltyDetector":
        """A detector that takes all rows for new ones."""
        other = copy(self)
        other._training_rows = None
        return other

    def _kernel_machine(self) -> KernelMachine:
        """For new rows; see `SpanDistance.functions`."""
        check_is_fitted(self)
        frame = self.kernel_pca_.subspace_.frame
        if not frame.kernel.is_radial:
            raise UnsupportedKernelError(
                "KernelNoveltyDetector is a kernel machine where k(x, x) is the same everywhere, as it is of Gaussian, "
                f"Laplacian and other kernels of distances; {frame.kernel!r} is none."
            )
        functions = span_distance(self.kernel_pca_, self.ridge_).functions()
        length = float(frame.kernel.diagonal(frame.points[:1, :])[0])
        return KernelMachine(
            functions,
            array_namespace(frame.coefficients).zeros_like(self.kernel_pca_.eigenvalues_),
            DistanceDetection(len(functions), length, self.offset_),
            self._n_columns,
            getattr(self, "feature_names_in_", None),
        )

    def _in_memory_scores(self, X: Rows) -> np.ndarray:
        return to_numpy(in_memory(self._map(self._score(), X)))

    @property
    def _vectors(self) -> Expansion:
        return self.kernel_pca_.subspace_.frame

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return with_array_tag(with_object_tags(tags, self.kernel))


def _recognised(X: Rows, distances: np.ndarray) -> tuple[TrainingRows | None, np.ndarray]:
    """What training rows are recognised by, and their distances, the same for copies of a row."""
    if X.shape[0] > MOST_RECOGNISED:
        return None, distances
    if is_lazy(X):
        return TrainingRows(X), distances
    plain = X if is_sparse(X) else to_numpy(X)
    # Copies have distances that differ by rounding errors; a row that is recognised has those of the first.
    numbers = same_rows(plain)
    return TrainingRows(plain), distances[np.unique(numbers, return_index=True)[1]][numbers]
