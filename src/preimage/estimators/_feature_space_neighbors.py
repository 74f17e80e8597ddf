"""Nearest neighbours by distances in feature space: search, classifier, regressor."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import take_rows, to_dense, to_numpy
from preimage._engine.memory import limited_memory
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.threads import within_n_jobs
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_labels,
    check_parameters,
    check_targets,
    generator,
    require_in_memory,
    require_on_host,
)
from preimage._engine.warnings import ignored, raised
from preimage._models.neighbors import (
    BlockSearch,
    Copies,
    FeatureMeasure,
    Found,
    InputMeasure,
    InputSearch,
    LandmarkSearch,
    Measure,
    Search,
    doubled,
    exact_neighbors,
    fraction_found,
    input_metric,
    settings_for,
    without_own,
)
from preimage.estimators._classifier import AnyDeviceClassifierMixin
from preimage.estimators._estimator import Estimator, check_queries
from preimage.estimators._has_landmarks import HasLandmarks, numbered
from preimage.estimators._kernel_input import KERNEL_CONSTRAINTS, is_precomputed, kernel_and_inputs, selected
from preimage.exceptions import IndefiniteKernelWarning, RankWarning, UnsupportedKernelError
from preimage.feature_space import Subspace, require_finite
from preimage.kernels import Kernel
from preimage.landmarks import Landmarks, LandmarkSelector

# Rows up to which exact="auto" compares every query with all of them: that takes a millisecond for each, and choosing
# landmarks takes as long as a thousand queries.
MOST_COMPARED = 10_000
# Rows on which settings are found, and as many others on which the recall is measured: 1,280 neighbours of ten each,
# of which a recall of 0.99 has a standard error of 0.003. Ten times more would take as long as a thousand queries.
ROWS_MEASURED = 128
# Fraction of the rows in the cells that a query looks at beyond which comparing it with all rows is as fast.
MOST_LOOKED_AT = 0.5

NEIGHBOR_CONSTRAINTS = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    **KERNEL_CONSTRAINTS,
    "exact": ["boolean", StrOptions({"auto"})],
    "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector],
    "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
    "min_recall": [Interval(Real, 0, 1, closed="neither")],
    "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "random_state": ["random_state", np.random.Generator],
}
ROUTES = {"inputs": InputSearch, "blocks": BlockSearch, "landmarks": LandmarkSearch}
WEIGHTS = [StrOptions({"uniform", "distance"}), callable]


@dataclass(frozen=True)
class Measured:
    """What is known of the answers of a search: recall and certain rows, on rows that were set aside."""

    recall: float
    certified: float


class Neighbors(HasLandmarks, ReportsProgress, Estimator):
    """What the search for neighbours in feature space and what predicts by them share."""

    _takes_objects = True

    n_neighbors: int
    exact: bool | str
    max_memory: int | str | None
    random_state: Seed
    kernel_: Kernel
    landmarks_: Landmarks | None
    _search: Search
    _copies: Copies

    def check_fields(self) -> None:
        """Raise ValueError if what was learned, which may come from a file, does not belong together."""
        learned = vars(self)
        if "_search" not in learned and "_copies" not in learned:
            return
        n = learned["n_samples_fit_"]
        is_right = isinstance(self._search, ROUTES[learned["route_"]]) and isinstance(self._copies, Copies)
        if not is_right or (self._copies.rows.size, self._copies.first.size) != (n, self._measure.points.shape[0]):
            raise ValueError(f"{type(self).__name__} needs a search among the distinct ones of its {n!r:.20} rows.")
        self._check_targets_of(n)

    def _check_targets_of(self, n: int) -> None:
        """Raise ValueError unless there is a target for each of n rows, where there are targets."""

    def _fit_rows(self, X: Rows, y: Targets) -> Array:
        """Keep the rows of X in a form in which neighbours are found, and return them, validated."""
        check_parameters(self)
        name = type(self).__name__
        require_in_memory(X, f"{name} needs all rows", "Pass X.compute().")
        require_on_host(name, X)
        self.kernel_, X = kernel_and_inputs(self, X, y)
        points = self.kernel_.inputs(X)
        self._copies = Copies.among(points, row_numbers=self.kernel_.points_are_row_numbers)
        points = take_rows(points, self._copies.first)
        self.landmarks_, measured = None, Measured(1.0, 1.0)
        with self._bounded(points):
            if self.exact is not False and input_metric(self.kernel_) is not None:
                self.route_, self._search = "inputs", InputSearch(InputMeasure(self.kernel_, points))
            else:
                measure = FeatureMeasure(self.kernel_, points, self._diagonal(points))
                self.route_, self._search = "blocks", BlockSearch(measure)
                if self._wants_landmarks(points.shape[0]):
                    measured = self._with_bounds(measure)
        self.recall_, self.certified_ = measured.recall, measured.certified
        self.n_samples_fit_ = X.shape[0]
        return X

    def _wants_landmarks(self, n: int) -> bool:
        """Whether neighbours are looked for by landmarks among n distinct rows, for kernels that are no distances."""
        if self.exact != "auto":
            return not self.exact and n > 1
        kernel = self.kernel_
        return n > MOST_COMPARED and kernel.is_positive_semidefinite and not kernel.points_are_row_numbers

    def _with_bounds(self, measure: FeatureMeasure) -> Measured:
        """Search by landmarks, where the kernel is an inner product on these rows, without which no bound holds."""
        try:
            with raised(IndefiniteKernelWarning):
                return self._choose_landmarks(measure)
        except IndefiniteKernelWarning as warning:
            raise UnsupportedKernelError(
                f"{type(self).__name__} needs a positive semidefinite kernel to find neighbours by landmarks, "
                f"{self.kernel_!r} is none on these rows. Use exact=True, which compares with all rows."
            ) from warning

    def _choose_landmarks(self, measure: FeatureMeasure) -> Measured:
        """Search by landmarks, with settings found on some rows and the recall measured on others."""
        model: Any = self
        rng, n = generator(self.random_state), measure.points.shape[0]
        with ignored(RankWarning):  # a kernel of few dimensions needs few landmarks
            landmarks = selected(self, model.landmarks, self.kernel_, measure.points)
        span = Subspace.span(self.kernel_, landmarks.points, who=type(self).__name__)
        search = LandmarkSearch.of(measure, span, rng)
        k = min(self.n_neighbors, n - 1)
        some, others = np.array_split(rng.permutation(n)[: 2 * ROWS_MEASURED], 2) if n > 2 else (np.arange(n),) * 2
        true = self._true_neighbors(measure, some, k)
        search = search.looking_at(
            settings_for(search, take_rows(measure.points, some), true.numbers, model.min_recall, model.n_candidates)
        )
        if self.exact == "auto" and search.fraction_looked_at > MOST_LOOKED_AT:
            return Measured(1.0, 1.0)
        true = self._true_neighbors(measure, others, k)
        rows, diagonal = take_rows(measure.points, others), measure.diagonal[others]
        found = without_own(search.nearest(rows, diagonal, k + 1), others)
        measured = Measured(fraction_found(found, true), float(np.mean(found.certain)))
        deviation = ((1 - model.min_recall) / max(true.keys.size, 1)) ** 0.5
        if self.exact == "auto" and model.n_candidates is None and measured.recall < model.min_recall - 3 * deviation:
            return Measured(1.0, 1.0)  # coordinates do not tell these rows apart
        self.route_, self._search = "landmarks", search
        self.landmarks_ = numbered(landmarks, self._copies.first)
        return measured

    def _true_neighbors(self, measure: FeatureMeasure, rows: np.ndarray, k: int) -> Found:
        return exact_neighbors(measure, take_rows(measure.points, rows), measure.diagonal[rows], rows, k)

    @property
    def _measure(self) -> Measure:
        return self._search.measure

    def _diagonal(self, rows: Array) -> np.ndarray:
        """k(x, x) of rows, finite."""
        values = self.kernel_.diagonal(doubled(self.kernel_, rows))
        require_finite(values, self.kernel_)
        return to_numpy(values).astype(np.float64)

    def _bounded(self, array: Array) -> Any:
        """Keep temporary arrays within `max_memory`, inside a `with` statement."""
        return limited_memory(self.max_memory, array if isinstance(array, np.ndarray) else np.empty(0))

    def _queries(self, X: Rows) -> Array:
        """Validated rows whose neighbours are wanted."""
        check_is_fitted(self)
        require_in_memory(X, f"{type(self).__name__} needs queries", "Pass X.compute(), or its blocks one by one.")
        points = self._measure.points
        X = np.asarray(X) if isinstance(X, np.memmap) else X
        like = self.kernel_.gram if self.kernel_.points_are_row_numbers else points
        return check_queries(self, X, like, self._measure)

    def _diagonal_of_queries(self, Z: Array, given: Any, needs_distances: bool) -> np.ndarray:
        """k(z, z), or numbers with which squared distances are in order and not negative, where it is not known."""
        if given is not None:
            found = np.asarray(given, dtype=np.float64)
            if found.shape != (Z.shape[0],) or not np.all(np.isfinite(found)):
                raise ValueError(f"`diagonal` needs k(z, z) of {Z.shape[0]} rows, finite; got shape {found.shape}.")
            return found
        if self.route_ == "inputs":
            return np.zeros(Z.shape[0])
        if not is_precomputed(self.kernel_) or Z is self._measure.points:
            return self._diagonal(Z)
        if needs_distances:
            raise UnsupportedKernelError(
                f"{type(self).__name__} with a precomputed kernel does not know k(z, z) of new rows, which distances "
                "need. Give them to kneighbors and radius_neighbors as `diagonal=`; the order of neighbours, "
                "return_distance=False, and predictions with weights='uniform' do not need them."
            )
        known: Any = self._measure
        return np.max(2 * to_dense(Z).astype(np.float64) - known.diagonal, axis=1)

    def _nearest(self, X: Rows | None, k: int, diagonal: Any, needs_distances: bool) -> Found:
        """The k nearest rows of queries, or of the training rows, which are not their own neighbours."""
        check_is_fitted(self)
        most = self.n_samples_fit_ - (X is None)
        if not isinstance(k, Integral) or not 1 <= k <= most:
            raise ValueError(
                f"Expected 1 <= n_neighbors <= {most}, the number of "
                f"{'other ' if X is None else ''}rows that {type(self).__name__} was fitted to, n_samples_fit = "
                f"{self.n_samples_fit_}; got n_neighbors = {k!r}."
            )
        Z = self._measure.points if X is None else self._queries(X)
        with self._bounded(Z):
            known = self._diagonal_of_queries(Z, diagonal, needs_distances)
            wanted = k + (X is None)
            found = self._search.nearest(Z, known, min(wanted, self._measure.points.shape[0]))
        keys, numbers, certain = found.keys, found.numbers, found.certain
        if X is None:
            keys, numbers, certain = (each[self._copies.of_rows] for each in (keys, numbers, certain))
        keys, numbers = self._copies.nearest(keys, numbers, wanted)
        found = Found(self._measure.distances(keys), numbers, certain)
        return without_own(found, np.arange(self.n_samples_fit_)) if X is None else found


class FeatureSpaceNeighbors(Neighbors):
    r"""Nearest rows by distances in feature space, as scikit-learn's `NearestNeighbors` finds them among inputs.

    The distance of two images is

    .. math:: \|\varphi(x) - \varphi(z)\|^2 = k(x, x) - 2 k(x, z) + k(z, z)

    for any kernel. Where it grows with the Euclidean or the Manhattan distance of inputs (Gaussian, Laplacian and other
    radial kernels, and the linear one), neighbours are those of the inputs, and found by scikit-learn's trees. With few
    rows each query is compared with all of them, in blocks. With many rows candidates come from coordinates in the span
    of landmarks: with the coordinates y of :math:`\varphi(x)` and the length r of what they leave of it,

    .. math:: \|y - y'\|^2 + (r - r')^2 \le \|\varphi(x) - \varphi(x')\|^2 \le \|y - y'\|^2 + (r + r')^2 .

    Rows are sorted into cells by (y, r); a query looks at the nearest cells, and computes exact distances to the rows
    with the smallest lower bounds. How many cells and rows that takes is found on some rows so that `min_recall` is
    met, and measured on others: `recall_`. Answers that the bounds prove to be right are known one by one.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a query where a call names no number; the recall is measured for this one.
    radius : float, default=1.0
        Largest distance in feature space of `radius_neighbors`.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`. A kernel that is not positive semidefinite can have negative squared distances, which count
        as zero with a warning.
    exact : bool or "auto", default="auto"
        True compares with all rows where the order is not that of inputs; False uses landmarks, also for few rows.
        "auto" uses landmarks for more than 10,000 rows and kernels that are positive semidefinite, unless they would
        save nothing.
    landmarks : int, str or LandmarkSelector, default=200
        Points that span the coordinates, as in `KernelPCA`.
    n_candidates : int or None, default=None
        Rows of which exact distances are computed; None finds a number that meets `min_recall`.
    min_recall : float, default=0.99
        Fraction of the true neighbours that should be found.
    max_memory : int, str or None, default=None
        Limit of temporary arrays, in bytes or as "1GB".
    n_jobs : int or None, default=None
        Threads; None uses all cores.
    verbose : bool, default=False
        Whether to report progress.
    random_state : int, RandomState, Generator or None, default=0
        Seed of landmarks, cells and of the rows on which the recall is measured.

    Attributes
    ----------
    route_ : {"inputs", "blocks", "landmarks"}
        Which of the three searches is used; the first two are exact.
    recall_ : float
        Fraction of the true neighbours of 128 training rows that were found; their own copies aside. One where the
        search is exact.
    certified_ : float
        Fraction of these rows whose neighbours are certain by the bounds.
    landmarks_ : Landmarks or None
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    n_samples_fit_ : int
        Number of rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    FeatureSpaceNeighborsClassifier : Votes of neighbours.
    FeatureSpaceNeighborsRegressor : Means of neighbours.
    KernelKMeans : Clusters by the same distances.
    sklearn.neighbors.NearestNeighbors : Neighbours by distances of inputs.

    Examples
    --------
    Histograms by the kernel of their angles, with which the length of a row does not matter:

    >>> import numpy as np
    >>> from preimage import FeatureSpaceNeighbors
    >>> X = np.array([[1.0, 0.0], [5.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
    >>> neighbors = FeatureSpaceNeighbors(2, kernel="cosine").fit(X)
    >>> distances, rows = neighbors.kneighbors([[3.0, 0.0]])
    >>> rows, distances.round(3)
    (array([[0, 1]]), array([[0.   , 0.197]]))
    >>> neighbors.route_, neighbors.recall_
    ('blocks', 1.0)
    """

    _parameter_constraints = {"radius": [Interval(Real, 0, None, closed="left")], **NEIGHBOR_CONSTRAINTS}

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        radius: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        exact: bool | str = "auto",
        landmarks: Any = 200,
        n_candidates: int | None = None,
        min_recall: float = 0.99,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.exact = exact
        self.landmarks = landmarks
        self.n_candidates = n_candidates
        self.min_recall = min_recall
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows, y: Targets = None) -> Self:
        """Keep the rows among which neighbours are looked for.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel.
        y : array of shape (n,), optional
            Class labels for a rule that finds the width from class means; ignored otherwise.

        Returns
        -------
        self
        """
        self._fit_rows(X, y)
        return self

    @within_n_jobs
    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        diagonal: Array | None = None,
        return_certain: bool = False,
    ) -> Any:
        """The nearest rows of each query, the nearest first; of equal distances, the first row first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (q, d), optional
            Queries; by default the training rows, of which none is its own neighbour.
        n_neighbors : int, optional
            By default that of the constructor.
        return_distance : bool, default=True
            Whether distances come first.
        diagonal : array of shape (q,), optional
            k(z, z) of the queries, which distances need with a precomputed kernel.
        return_certain : bool, default=False
            Whether to say last which answers are certain: those of exact searches, and those that bounds prove.

        Returns
        -------
        distances : array of shape (q, n_neighbors)
            In feature space.
        indices : integer array of shape (q, n_neighbors)
        certain : bool array of shape (q,)
        """
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        found = self._nearest(X, k, diagonal, return_distance)
        parts = (found.keys,) * return_distance + (found.numbers,) + (found.certain,) * return_certain
        return parts if len(parts) > 1 else parts[0]

    @within_n_jobs
    def radius_neighbors(
        self,
        X: Rows | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        *,
        diagonal: Array | None = None,
    ) -> Any:
        """All rows within a distance of each query, the nearest first. The answer is exact on every route.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (q, d), optional
            As in `kneighbors`.
        radius : float, optional
            Distance in feature space, by default that of the constructor.
        return_distance : bool, default=True
            Whether distances come first.
        diagonal : array of shape (q,), optional
            As in `kneighbors`.

        Returns
        -------
        distances : array of shape (q,) of arrays
        indices : array of shape (q,) of integer arrays
        """
        check_is_fitted(self)
        radius = self.radius if radius is None else radius
        if not isinstance(radius, Real) or not 0 <= radius < np.inf:
            raise ValueError(f"radius_neighbors needs a radius that is finite and not negative; got {radius!r}.")
        Z = self._measure.points if X is None else self._queries(X)
        with self._bounded(Z):
            found = self._search.within(Z, self._diagonal_of_queries(Z, diagonal, True), float(radius))
        expanded = [self._copies.expanded(*each) for each in found]
        if X is None:
            distinct = ((row, expanded[number]) for row, number in enumerate(self._copies.of_rows))
            expanded = [(keys[rows != row], rows[rows != row]) for row, (keys, rows) in distinct]
        distances, indices = np.empty(len(expanded), dtype=object), np.empty(len(expanded), dtype=object)
        for query, (keys, rows) in enumerate(expanded):
            distances[query], indices[query] = self._measure.distances(keys), rows
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(
        self, X: Rows | None = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sparse.csr_matrix:
        """The graph of nearest rows, a sparse matrix of shape (q, n).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (q, d), optional
            As in `kneighbors`.
        n_neighbors : int, optional
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are ones or distances.
        """
        of_distances = _is_of_distances(mode)
        found = self.kneighbors(X, n_neighbors, return_distance=of_distances)
        distances, indices = found if of_distances else (np.ones(found.shape), found)
        q, k = indices.shape
        parts = distances.ravel(), indices.ravel(), np.arange(0, q * k + 1, k)
        return sparse.csr_matrix(parts, shape=(q, self.n_samples_fit_))

    def radius_neighbors_graph(
        self, X: Rows | None = None, radius: float | None = None, mode: str = "connectivity"
    ) -> sparse.csr_matrix:
        """The graph of rows within a distance, a sparse matrix of shape (q, n).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (q, d), optional
            As in `radius_neighbors`.
        radius : float, optional
            As in `radius_neighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are ones or distances.
        """
        of_distances = _is_of_distances(mode)
        distances, indices = self.radius_neighbors(X, radius)
        starts = np.concatenate([[0], np.cumsum([each.size for each in indices])])
        flat = np.concatenate([np.empty(0), *distances])
        columns = np.concatenate([np.empty(0, dtype=int), *indices])
        entries = flat if of_distances else np.ones(flat.size)
        return sparse.csr_matrix((entries, columns, starts), shape=(len(indices), self.n_samples_fit_))

    def __sklearn_tags__(self) -> Tags:
        return _with_input_tags(super().__sklearn_tags__(), self.kernel)


class Voting(Neighbors):
    """What the classifier and the regressor share: weights of neighbours."""

    weights: Any

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[[Array], Array] = "uniform",
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        exact: bool | str = "auto",
        landmarks: Any = 200,
        n_candidates: int | None = None,
        min_recall: float = 0.99,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.exact = exact
        self.landmarks = landmarks
        self.n_candidates = n_candidates
        self.min_recall = min_recall
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _parameter_constraints = {"weights": WEIGHTS, **NEIGHBOR_CONSTRAINTS}

    def _voters(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Rows that are asked about each query, and their weights, which add up to one."""
        found = self._nearest(X, self.n_neighbors, None, self.weights != "uniform")
        return found.numbers, vote_weights(self.weights, found.keys)

    def __sklearn_tags__(self) -> Tags:
        return _with_input_tags(super().__sklearn_tags__(), self.kernel)


class FeatureSpaceNeighborsClassifier(AnyDeviceClassifierMixin, Voting):
    r"""Classes by votes of the nearest rows in feature space, as scikit-learn's `KNeighborsClassifier`.

    The probability of a class is the weight of its rows among the neighbours :math:`x_i` of x,

    .. math:: p_c(x) = \sum_{i : y_i = c} w_i \Big/ \sum_i w_i, \qquad
              w_i = 1 \text{ or } 1 / \|\varphi(x) - \varphi(x_i)\| .

    Parameters
    ----------
    n_neighbors : int, default=5
        Rows that vote.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Votes that count the same, or by the inverse of the distance, where rows at no distance count alone; or a
        function of distances of shape (q, n_neighbors), which gives weights.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    exact, landmarks, n_candidates, min_recall, max_memory, n_jobs, verbose, random_state
        As in `FeatureSpaceNeighbors`.

    Attributes
    ----------
    classes_ : array of shape (c,)
        Class labels.
    route_, recall_, certified_, landmarks_, component_indices_, kernel_, n_samples_fit_
        As in `FeatureSpaceNeighbors`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    FeatureSpaceNeighbors : The neighbours themselves.
    KernelFisherDiscriminant : One direction for all rows.
    sklearn.neighbors.KNeighborsClassifier : Neighbours by distances of inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import FeatureSpaceNeighborsClassifier
    >>> X = np.array([[1.0, 0.0], [5.0, 1.0], [1.0, 4.0], [0.0, 2.0]])
    >>> model = FeatureSpaceNeighborsClassifier(2, kernel="cosine").fit(X, ["flat", "flat", "steep", "steep"])
    >>> model.predict([[0.2, 0.1], [1.0, 9.0]])
    array(['flat', 'steep'], dtype='<U5')
    """

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows, y: Targets) -> Self:
        """Keep the rows and their classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel.
        y : array of shape (n,)
            Class labels.

        Returns
        -------
        self
        """
        X = self._fit_rows(X, y)
        self.classes_, self._codes = np.unique(check_labels(self, y, X.shape[0]), return_inverse=True)
        return self

    @within_n_jobs
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Weights of the classes among the neighbours, shape (q, c).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (q, d)
        """
        check_is_fitted(self)
        numbers, weights = self._voters(X)
        codes = self._codes[numbers]
        votes = [np.sum(weights * (codes == code), axis=1) for code in range(self.classes_.size)]
        return np.stack(votes, axis=1)

    def predict(self, X: Rows) -> np.ndarray:
        """The class with the most votes, of several the first in `classes_`, shape (q,).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (q, d)
        """
        votes = self.predict_proba(X)
        return self.classes_[np.argmax(votes, axis=1)]

    def _check_targets_of(self, n: int) -> None:
        codes = self._codes
        if codes.shape != (n,) or codes.dtype.kind != "i" or codes.min() < 0 or codes.max() >= self.classes_.size:
            raise ValueError(f"FeatureSpaceNeighborsClassifier needs the number of a class for each of {n} rows.")


class FeatureSpaceNeighborsRegressor(RegressorMixin, Voting):
    r"""Means of targets over the nearest rows in feature space, as scikit-learn's `KNeighborsRegressor`.

    .. math:: \hat y(x) = \sum_i w_i y_i \Big/ \sum_i w_i, \qquad
              w_i = 1 \text{ or } 1 / \|\varphi(x) - \varphi(x_i)\|

    over the neighbours :math:`x_i` of x.

    Parameters
    ----------
    n_neighbors : int, default=5
        Rows in a mean.
    weights : {"uniform", "distance"} or callable, default="uniform"
        As in `FeatureSpaceNeighborsClassifier`.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    exact, landmarks, n_candidates, min_recall, max_memory, n_jobs, verbose, random_state
        As in `FeatureSpaceNeighbors`.

    Attributes
    ----------
    route_, recall_, certified_, landmarks_, component_indices_, kernel_, n_samples_fit_
        As in `FeatureSpaceNeighbors`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    FeatureSpaceNeighbors : The neighbours themselves.
    SparseGreedyRegressor : A smooth function on few points.
    sklearn.neighbors.KNeighborsRegressor : Neighbours by distances of inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import FeatureSpaceNeighborsRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> FeatureSpaceNeighborsRegressor(2).fit(X, [0.0, 1.0, 4.0, 9.0]).predict([[0.4], [2.6]])
    array([0.5, 6.5])
    """

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows, y: Targets) -> Self:
        """Keep the rows and their targets.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel.
        y : array of shape (n,) or (n, k)
            Targets.

        Returns
        -------
        self
        """
        X = self._fit_rows(X, y)
        self._targets = np.array(check_targets(self, y, X.shape[0]))
        return self

    @within_n_jobs
    def predict(self, X: Rows) -> np.ndarray:
        """Means of the targets of the neighbours, shape (q,) or (q, k).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (q, d)
        """
        check_is_fitted(self)
        numbers, weights = self._voters(X)
        return np.einsum("ij,ij...->i...", weights, self._targets[numbers])

    def _check_targets_of(self, n: int) -> None:
        if self._targets.shape[0] != n or self._targets.ndim > 2:
            raise ValueError(f"FeatureSpaceNeighborsRegressor needs a target for each of {n} rows.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def vote_weights(weights: str | Callable[[Array], Array], distances: np.ndarray) -> np.ndarray:
    """Weights of neighbours at some distances, which add up to one for each query.

    Rows at no distance count alone where weights are inverse distances.
    """
    if weights == "uniform":
        return np.full(distances.shape, 1 / distances.shape[1])
    if callable(weights):
        found = np.asarray(weights(distances), dtype=np.float64)
        if found.shape != distances.shape or not np.all((found >= 0) & np.isfinite(found)):
            raise ValueError(
                f"{weights!r} must answer distances of shape {distances.shape} with as many weights, finite and not "
                f"negative; got shape {found.shape}."
            )
    else:
        is_zero = distances == 0
        nearest = np.min(np.where(is_zero, np.inf, distances), axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(is_zero.any(axis=1, keepdims=True), is_zero, nearest / distances)
    sums = found.sum(axis=1, keepdims=True)
    if not np.all(sums > 0):
        raise ValueError(f"The weights of {weights!r} are zero for all neighbours of some query.")
    return found / sums


def _is_of_distances(mode: str) -> bool:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f'`mode` must be "connectivity" or "distance"; got {mode!r}.')
    return mode == "distance"


def _with_input_tags(tags: Tags, kernel: Any) -> Tags:
    tags.input_tags.sparse = True
    tags.input_tags.pairwise = is_precomputed(kernel)
    return tags
