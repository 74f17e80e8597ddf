"""Kernel k-means."""

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import (
    array_namespace,
    from_device,
    in_memory,
    in_precision,
    is_chunked,
    is_foreign,
    is_lazy,
    itemsize,
    known_rows,
    take_rows,
    to_numpy,
)
from preimage._engine.finite import finite_result
from preimage._engine.linalg import no_variance, orthonormal_factor
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.threads import within_n_jobs
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_parameters,
    check_weights,
    generator,
    is_stream,
    refuse_stream,
)
from preimage._engine.warnings import warn_user
from preimage._models.clustering import (
    Clusters,
    Found,
    Search,
    distances_to_centers,
    exact_clusters,
    landmark_clusters,
    nearest_centers,
    pairwise_boundaries,
    rows_in_double,
)
from preimage._models.machines import Binary, KernelMachine, OneVsOne
from preimage.estimators._estimator import (
    Estimator,
    fit_blocks,
    refuse_weights_of_blocks,
    through_device,
)
from preimage.estimators._has_landmarks import HasLandmarks, numbered
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    about_data,
    as_selector,
    batch_rng,
    is_precomputed,
    kernel_and_inputs,
    landmark_inputs,
    selection_rng,
    uses_landmarks,
    with_kernel_tags,
)
from preimage.exceptions import ConvergenceWarning, UnsupportedKernelError
from preimage.feature_space import Subspace
from preimage.kernels import Kernel
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.solvers import Preimage, TargetSolver, as_preimage


def _knows_new_points(estimator: Any) -> bool:
    """Distances need k(x, x) of new points, which precomputed kernels lack."""
    return not is_precomputed(estimator.kernel)


class KernelKMeans(
    HasLandmarks,
    ReportsProgress,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    Estimator,
):
    r"""k-means in feature space: clusters that no straight line in input space separates.

    Minimises :math:`\sum_i w_i \|\varphi(x_i) - m_{\nu(i)}\|^2` over partitions of the data, with centres
    :math:`m_\nu = \sum_j \gamma_{j\nu} \varphi(x_j)`, the means of their points, and distances

    .. math:: \|\varphi(x) - m_\nu\|^2 = k(x, x) - 2 \sum_j \gamma_{j\nu} k(x, x_j) + \|m_\nu\|^2.

    The exact route holds the kernel matrix if it fits `max_memory`, and updates sums over clusters by the points that
    move; all restarts run together. With `landmarks`, the images are projected on the span of the images of a few rows,
    where k-means is ordinary k-means on coordinates, with a model of the size of the landmarks. X may then be a memory
    map or a Dask array, and `partial_fit` learns from a stream. Coordinates are kept if they fit `max_memory`, those of
    a memory map or Dask array up to 256 MB; otherwise each iteration reads X.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    landmarks : None, int, str or LandmarkSelector, default=None
        As in `KernelPCA`: None is exact, "auto" decides by the number of rows and `max_memory`.
    init : "k-means++" or integer array of shape (n,), default="k-means++"
        How centres start: spread out by their distances in feature space, or as means of the rows with the labels
        given; −1 is a row without a label. With labels there is one run.
    n_init : int, default=10
        Runs from different seeds; the one with the smallest `inertia_` is kept. With `landmarks` and more than 10,000
        rows they compete on a sample.
    algorithm : {"lloyd", "online"}, default="lloyd"
        "online" is the update of [1]_: one pass in the order of rows, each row to the centre that is nearest when
        it comes, and that centre moves to the mean of its rows. It is cheaper, and worse: it depends on the order.
    preimage : str or Preimage, default="auto"
        How `cluster_preimages` finds inputs for the centres; names as in `KernelPCA`.
    tol : float, default=1e-6
        Stop after an iteration that lowers the objective by at most this fraction of what the run has lowered it by.
        Zero waits until no row moves.
    max_iter : int, default=300
        Iterations of a run.
    max_memory : int, str or None, default=None
        Memory for the Gram matrix or the coordinates, in bytes or as "1GB"; None is half of what is free.
    device : str or None, default=None
        "cuda" computes kernel values of NumPy data on a GPU; results come back as NumPy.
    n_jobs : int or None, default=None
        Threads to use at most; None or −1 is all cores.
    verbose : bool, default=False
        Whether fits show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the starts and of the choice of landmarks. Starts are drawn along the distance from the mean, so that
        the order of rows does not matter, and a weight counts like copies of a row.

    Attributes
    ----------
    labels_ : integer array of shape (n,)
        The nearest centre of each row, as given by `predict`; a lazy Dask array for a Dask array.
    centers_ : Expansion of n_clusters vectors
        The centres in feature space.
    inertia_ : float
        The objective, weighted by `sample_weight`.
    n_iter_ : int
        Iterations of the run that was kept.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    route_ : {"exact", "landmarks"}
    landmarks_ : Landmarks or None
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    compress : The same clusters with a few points, as a classifier of cluster numbers.
    KernelPCA : Coordinates in which to look at clusters.
    sklearn.cluster.KMeans : Clusters that straight lines separate.
    sklearn.cluster.SpectralClustering : Clusters from a graph, without predictions for new points.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
       Neural Computation 10, 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from preimage import KernelKMeans
    >>> X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelKMeans(2, gamma=5).fit(X)
    >>> adjusted_rand_score(y, model.labels_)
    1.0
    >>> model.transform(X).shape, bool((model.predict(X) == model.labels_).all())
    ((300, 2), True)
    """

    _takes_objects = True
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        **KERNEL_CONSTRAINTS,
        "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, None],
        "init": [StrOptions({"k-means++"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"lloyd", "online"})],
        "preimage": [str, Preimage],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
        "device": [str, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    _clusters: Clusters
    landmarks_: Landmarks | None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str | Kernel | Callable = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        landmarks: int | str | LandmarkSelector | None = None,
        init: str | Array = "k-means++",
        n_init: int = 10,
        algorithm: str = "lloyd",
        preimage: str | Preimage = "auto",
        tol: float = 1e-6,
        max_iter: int = 300,
        max_memory: int | str | None = None,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.init = init
        self.n_init = n_init
        self.algorithm = algorithm
        self.preimage = preimage
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows | Iterator[Array], y: Any = None, sample_weight: Targets | None = None) -> "KernelKMeans":
        """Find clusters of the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel. With `landmarks`, also a memory map or a
            Dask array; or an iterator of arrays, which is read once, by `partial_fit`.
        y : ignored
        sample_weight : array of shape (n,), optional
            How often each row counts. Rows of weight zero have no influence on the centres; they get labels.

        Returns
        -------
        self
        """
        if is_stream(X):
            refuse_weights_of_blocks(self, sample_weight)
            return fit_blocks(self, X)
        self.__dict__.pop("_clusters", None)
        check_parameters(self)
        if uses_landmarks("Exact kernel k-means", self.landmarks, X, self.max_memory):
            return self._fit_landmarks(X, sample_weight)
        return self._fit_exact(X, sample_weight)

    @reports_progress
    @within_n_jobs
    def partial_fit(self, X: Rows, y: Any = None, sample_weight: Targets | None = None) -> "KernelKMeans":
        """Learn from a further batch of rows, on landmarks, by the online update.

        The first batch fixes the width of the kernel, the first landmarks and the first centres, by `fit`; later rows
        go to their nearest centre one by one and move it to the mean of all that it was given. Later batches add
        landmarks as in `KernelPCA.partial_fit`, which leaves the centres where they are; once all are in use, a batch
        of which they leave a large fraction causes a warning.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        if is_precomputed(self.kernel):
            raise UnsupportedKernelError(
                "KernelKMeans.partial_fit needs the kernel itself, not values among the points of one batch."
            )
        if not hasattr(self, "_clusters"):
            check_parameters(self)
            return self._fit_landmarks(X, sample_weight)
        X = known_rows(self._check_inputs(X))
        weights = self._weights(sample_weight, X.shape[0])
        rng = batch_rng(self.random_state, self._clusters.sizes.sum())
        self._clusters, self.landmarks_ = self._clusters.after(
            X, weights, cast(Landmarks, self.landmarks_), as_selector(self.landmarks), rng, self._coordinates_in
        )
        self.centers_ = self._clusters.vectors
        self.labels_ = self.predict(X)
        self.inertia_ = -self.score(X, sample_weight=weights)
        return self

    def fit_predict(self, X: Rows, y: Any = None, sample_weight: Targets | None = None) -> Array:
        """Fit, and return `labels_`."""
        refuse_stream(self, X, "fit_predict", "Call fit(blocks), then predict on blocks one by one.")
        return self.fit(X, sample_weight=sample_weight).labels_

    @within_n_jobs
    def predict(self, X: Rows) -> Array:
        """The nearest centre of each row, shape (q,); lazy for a Dask array."""
        X = self._check_inputs(X)
        return self._map(partial(nearest_centers, self.centers_), X)

    @within_n_jobs
    def transform(self, X: Rows) -> Array:
        """Distances to the centres in feature space, shape (q, n_clusters); lazy for a Dask array.

        They need k(x, x) of new points, which precomputed kernels lack; `predict` does not.
        """
        X, centers, precision = self._check_inputs(X), self.centers_, self._precision
        return self._map(lambda rows: in_precision(distances_to_centers(centers, rows), precision), X)

    @available_if(_knows_new_points)
    @within_n_jobs
    def score(self, X: Rows, y: Any = None, sample_weight: Targets | None = None) -> float:
        """Minus the sum of squared distances in feature space to the nearest centres, weighted."""
        X, centers = self._check_inputs(X), self.centers_

        def smallest(rows: Array) -> Array:
            distances = distances_to_centers(centers, rows)
            return array_namespace(distances).min(distances, axis=1)

        distances = to_numpy(in_memory(self._map(smallest, X))).astype(np.float64)
        weights = self._weights(sample_weight, distances.shape[0])
        return -float(weights @ finite_result(distances**2, X))

    def cluster_preimages(self) -> Array:
        r"""Inputs whose images are nearest to the centres, shape (n_clusters, d).

        Minimises :math:`\|\varphi(z) - m_\nu\|^2` with the solver `preimage`, from the training point that is nearest
        in feature space. Solvers that learn from data do so in the span of the centres.

        Returns
        -------
        array of shape (n_clusters, d)
            One input per cluster.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelKMeans
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0, 0.2, (50, 2)), rng.normal(3, 0.2, (50, 2))])
        >>> np.sort(KernelKMeans(2, gamma=0.5).fit(X).cluster_preimages(), axis=0).round(0) + 0
        array([[0., 0.],
               [3., 3.]])
        """
        check_is_fitted(self)
        if is_precomputed(self.kernel_):
            raise UnsupportedKernelError(
                "A precomputed kernel has no inputs to go back to. Give KernelKMeans the kernel itself and the inputs."
            )
        centers, solver = self.centers_, as_preimage(self.preimage)
        solver.require_inputs_like(centers.points)
        solver = solver.for_vectors(self.kernel_, centers.points)
        if isinstance(solver, TargetSolver):
            result = solver.solve(centers)
        else:
            frame = centers @ orthonormal_factor(centers.inner(centers))
            if not len(frame):
                raise no_variance(self.kernel_)  # all centres are zero: kernel values are below the smallest number
            space = Subspace(frame)
            result = solver.fit(space, centers.points).inverse(space, centers.inner(frame))
        failed = int(np.sum(~result.converged))
        if failed:
            warn_user(
                f"{failed} of {len(centers)} pre-images did not converge ({', '.join(sorted(set(result.reason)))}); "
                "a solver with a larger max_iter may help.",
                ConvergenceWarning,
            )
        return in_precision(result.points, self._precision)

    def _fit_exact(self, X: Rows, sample_weight: Targets | None) -> "KernelKMeans":
        kernel, X = kernel_and_inputs(self, X, sample_weight=sample_weight)
        kernel = kernel if is_precomputed(kernel) else about_data(kernel, X)
        self._adopt_kernel(kernel, X)
        X = rows_in_double(kernel, X)
        weights = self._weights(sample_weight, X.shape[0])
        self.centers_, found = exact_clusters(kernel, X, weights, self._search(weights), self.max_memory, self.device)
        self.route_, self.landmarks_ = "exact", None
        return self._report(found, kernel.inputs(X), weights)

    def _fit_landmarks(self, X: Rows, sample_weight: Targets | None) -> "KernelKMeans":
        inputs = landmark_inputs(self, X, sample_weight=sample_weight, min_samples=1, keep_all=True)
        kernel, X = inputs.kernel, inputs.X
        weights = np.ones(X.shape[0]) if inputs.weights is None else inputs.weights
        search = self._search(weights)
        self._adopt_kernel(kernel, X)
        X = X if is_lazy(X) else rows_in_double(kernel, X)
        used = np.flatnonzero(weights > 0)
        rows = X if used.size == weights.size else take_rows(X, used)
        # Another generator than that of the search: the numbers that a selection draws must not change the starts.
        rng = selection_rng(self.landmarks, self.random_state)
        landmarks = as_selector(self.landmarks).select(kernel, rows, rng=rng).required()
        self._clusters, found = landmark_clusters(
            kernel, landmarks.points, X, weights, search, self.max_memory, self._coordinates_in
        )
        self.centers_, self.landmarks_ = self._clusters.vectors, numbered(landmarks, used)
        self.route_ = "landmarks"
        return self._report(found, X, weights)

    def _adopt_kernel(self, kernel: Kernel, X: Rows) -> None:
        """Keep the resolved kernel, and the precision of the data, which results have."""
        self.kernel_, self._precision = kernel, "float32" if itemsize(X.dtype) == 4 else "float64"

    def _search(self, weights: np.ndarray) -> Search:
        """The parameters of the search, with labels to start from checked against the rows."""
        n, used = weights.size, int(np.count_nonzero(weights))
        if used < self.n_clusters:
            of_weight = "" if used == n else " with a positive weight"
            raise ValueError(f"n_samples={used}{of_weight} should be >= n_clusters={self.n_clusters}.")
        init = self.init
        if not isinstance(init, str):
            init = np.asarray(from_device(init))
            if init.shape != (n,) or init.dtype.kind not in "iu" or init.min() < -1 or init.max() >= self.n_clusters:
                raise ValueError(
                    f"`init` needs a label from 0 to {self.n_clusters - 1}, or −1, for each of {n} rows; got shape "
                    f"{init.shape}, dtype {init.dtype}."
                )
            init = init.astype(np.intp)
        return Search(
            n_clusters=int(self.n_clusters),
            init=init,
            n_init=int(self.n_init),
            algorithm=self.algorithm,
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            rng=generator(self.random_state),
        )

    def _weights(self, sample_weight: Targets | None, n: int) -> np.ndarray:
        weights = check_weights(self, sample_weight, n)
        return np.ones(n) if weights is None else weights

    def _report(self, found: Found, X: Rows, weights: np.ndarray) -> "KernelKMeans":
        """Keep labels and what is said of the search, and warn of what it did not find."""
        self.inertia_, self.n_iter_ = found.inertia, found.n_iter
        # By the stored centres, as `predict` does, also for rows of weight zero, which belong to no cluster of the
        # search.
        self.labels_ = self._map(partial(nearest_centers, self.centers_), X)
        # Labels of a Dask array are not computed yet. Sizes stand for them; they also count clusters whose centre
        # coincides with an earlier one.
        n_found = np.count_nonzero(found.sizes) if is_chunked(X) else np.unique(self.labels_[weights > 0]).size
        if n_found < self.n_clusters:
            warn_user(
                f"Only {n_found} of {self.n_clusters} clusters have rows: the data have no more distinct points in "
                "feature space. Ask for fewer clusters.",
                ConvergenceWarning,
            )
        if not found.converged:
            warn_user(
                f"KernelKMeans stopped at max_iter={self.max_iter} while rows still moved. The result is no worse than "
                "what came before; a larger max_iter or tol ends the search.",
                ConvergenceWarning,
            )
        return self

    def _coordinates_in(self, space: Subspace) -> Callable[[Array], np.ndarray]:
        """A function from rows to coordinates in NumPy and double precision, computed on `device`."""
        kernel = self.kernel_
        coordinates: Callable[[Array], Array] = space.coordinates
        if self.device is not None and not is_foreign(space.frame.points):
            coordinates = through_device(space, self.device)
        return lambda rows: to_numpy(coordinates(rows_in_double(kernel, rows))).astype(np.float64, copy=False)

    def _kernel_machine(self) -> KernelMachine:
        """A classifier of cluster numbers, from one function per pair of clusters, positive where the first is nearer.

        The signs of pairs survive small errors and new thresholds.
        """
        check_is_fitted(self)
        k = len(self.centers_)
        if k == 1:
            raise ValueError("A single cluster has no boundary to compress: every input belongs to it.")
        # Pairs (0, 1), (0, 2), ...; `Binary` predicts the second class where its function is positive.
        first, second = (np.array([1]), np.array([0])) if k == 2 else np.triu_indices(k, 1)
        return KernelMachine(
            *pairwise_boundaries(self.centers_, first, second),
            Binary(np.arange(2)) if k == 2 else OneVsOne(np.arange(k)),
            self._n_columns,
            getattr(self, "feature_names_in_", None),
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)

    def __sklearn_tags__(self) -> Any:
        tags = with_kernel_tags(super().__sklearn_tags__(), self.kernel)
        if is_precomputed(self.kernel):
            tags.transformer_tags = None
        return tags
