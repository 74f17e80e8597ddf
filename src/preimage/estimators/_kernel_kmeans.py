"""Kernel k-means."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import (
    array_namespace,
    as_points,
    epsilon,
    from_numpy,
    in_double,
    in_memory,
    is_chunked,
    is_foreign,
    is_lazy,
    is_sparse,
    itemsize,
    known_rows,
    on_device,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._linalg import orthonormal_factor
from preimage._memory import memory_budget
from preimage._validation import (
    Interval,
    StrOptions,
    blocks_of,
    check_parameters,
    check_weights,
    generator,
    is_stream,
    refuse_stream,
)
from preimage._warnings import warn_user
from preimage.clustering import CoordinatePass, coordinate_kmeans, coordinate_online, kernel_kmeans
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    about_data,
    is_precomputed,
    kernel_and_inputs,
    with_kernel_tags,
)
from preimage.estimators._landmark_fit import as_selector, landmark_inputs, selection_rng, uses_landmarks
from preimage.estimators._queries import check_queries, map_queries, through_device
from preimage.exceptions import ConvergenceWarning, UnsupportedKernelError
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.landmarks import LandmarkSelector
from preimage.machines import Binary, KernelMachine, OneVsOne
from preimage.persistence import Saved
from preimage.solvers import Preimage, TargetSolver, as_preimage

# Units of rounding up to which squared distances count as zero.
ROUNDING = 16


def _knows_new_points(estimator):
    """Distances need k(x, x) of new points, which precomputed kernels lack."""
    return not is_precomputed(estimator.kernel)


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Saved, BaseEstimator):
    r"""k-means in feature space: clusters that no straight line in input space tells apart.

    Minimises :math:`\sum_i w_i \|\varphi(x_i) - m_{\nu(i)}\|^2` over partitions of the data, with centres
    :math:`m_\nu = \sum_j \gamma_{j\nu} \varphi(x_j)`, the means of their points, and distances

    .. math:: \|\varphi(x) - m_\nu\|^2 = k(x, x) - 2 \sum_j \gamma_{j\nu} k(x, x_j) + \|m_\nu\|^2.

    The exact route holds the kernel matrix if it fits `max_memory`, and updates sums over clusters by the points that
    move; all restarts run together. With `landmarks`, the images are projected on the span of the images of a few rows,
    where k-means is ordinary k-means on coordinates: a pass over the data an iteration, and a model of the size of the
    landmarks. X may then be a memory map or a Dask array, and `partial_fit` learns from a stream.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    init : {"k-means++", "random"} or integer array of shape (n,), default="k-means++"
        How centres start: spread out by their distances in feature space, at random rows, or as means of the rows with
        the labels given; −1 is a row without a label. With labels there is one run.
    n_init : int, default=10
        Runs from different seeds; the one with the smallest `inertia_` is kept. With `landmarks` and more than 10,000
        rows they compete on a sample.
    algorithm : {"lloyd", "online"}, default="lloyd"
        "online" is the update of [1]_: one pass in the order of rows, each row to the centre that is nearest when
        it comes, and that centre on to the mean of its rows. Cheaper, and worse: it depends on the order.
    landmarks : None, int, str or LandmarkSelector, default=None
        As in `KernelPCA`: None is exact, "auto" decides by the number of rows and `max_memory`.
    preimage : str or Preimage, default="auto"
        How `cluster_preimages` goes back to input space; names as in `KernelPCA`.
    max_iter : int, default=300
        Iterations of a run.
    tol : float, default=1e-6
        Stop after an iteration that lowers the objective by at most this share of what the run has lowered it by. Zero
        waits until no row moves.
    max_memory : int, str or None, default=None
        Memory for the Gram matrix or the coordinates, in bytes or as "1GB"; None is half of what is free.
    device : str or None, default=None
        "cuda" computes kernel values of NumPy data on a GPU; results come back as NumPy.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the starts and of the choice of landmarks. Seeds are drawn along the distance from the mean, so that
        the order of rows does not matter, and a weight counts like copies of a row.

    Attributes
    ----------
    labels_ : integer array of shape (n,)
        The nearest centre of each row, what `predict` says; a lazy Dask array for a Dask array.
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
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.compress : the same clusters with a few points, as a classifier of cluster numbers.

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

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        **KERNEL_CONSTRAINTS,
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"lloyd", "online"})],
        "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, None],
        "preimage": [str, Preimage],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
        "device": [str, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1.0,
        kernel_params=None,
        init="k-means++",
        n_init=10,
        algorithm="lloyd",
        landmarks=None,
        preimage="auto",
        max_iter=300,
        tol=1e-6,
        max_memory=None,
        device=None,
        random_state=0,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.algorithm = algorithm
        self.landmarks = landmarks
        self.preimage = preimage
        self.max_iter = max_iter
        self.tol = tol
        self.max_memory = max_memory
        self.device = device
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Find clusters of the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel. With `landmarks`, also a memory map or a
            Dask array; or an iterator of arrays, which is read once, by `partial_fit`.
        y : ignored
        sample_weight : array of shape (n,), optional
            How often each row counts. Rows of weight zero have no part in the centres; they get labels.

        Returns
        -------
        self
        """
        self.__dict__.pop("_clusters", None)
        if is_stream(X):
            return self._fit_stream(X, sample_weight)
        if self._wants_landmarks(X):
            return self._fit_landmarks(X, sample_weight)
        self.kernel_, X = kernel_and_inputs(self, X, sample_weight=sample_weight)
        self.kernel_ = self.kernel_ if is_precomputed(self.kernel_) else about_data(self.kernel_, X)
        self._is_single = itemsize(X.dtype) == 4
        X = self._rows(X)
        weights, init = self._check_rows(X.shape[0], sample_weight)
        home = on_device(to_dense(X), self.device) if self.device is not None and not is_foreign(X) else X
        gram = Gram(self.kernel_, self.kernel_.inputs(home))
        if gram.fits(memory_budget(self.max_memory, home)):
            gram = gram.held()
        found = kernel_kmeans(gram, self.n_clusters, weights, init=init, **self._search())
        inputs, like = self.kernel_.inputs(X), Gram(self.kernel_, X)
        rows = np.flatnonzero((weights > 0) & (found.members >= 0))
        self.centers_ = Expansion(
            self.kernel_,
            take_rows(inputs, rows),
            from_numpy(found.coefficients(weights)[rows], like.device_array, dtype=like.dtype),
            squared_norms=from_numpy(found.squared_norms, like.device_array, dtype=like.dtype),
        )
        self.route_, self.landmarks_ = "exact", None
        self.labels_ = self._map(self._nearest, inputs)
        self._report(found, np.unique(self.labels_[weights > 0]).size)
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from a further batch of rows, on landmarks, by the online update.

        The first batch fixes the width of the kernel, the landmarks and the first centres, by `fit`; later rows go to
        their nearest centre one by one and move it to the mean of all that it was given.

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
        weights = check_weights(self, sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        space, centers, sizes = self._clusters
        Y = self._coordinates(space)(X)
        centers, sizes = coordinate_online(centers, sizes, Y, weights)
        self._adopt(space, centers, sizes)
        self.labels_ = self.predict(X)
        self.inertia_ = -self.score(X, sample_weight=weights)
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and return `labels_`."""
        refuse_stream(self, X, "fit_predict", "Call fit(blocks), then predict on blocks one by one.")
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The nearest centre of each row, shape (q,); lazy for a Dask array."""
        X = self._check_inputs(X)
        return self._map(self._nearest, X)

    def transform(self, X):
        """Distances to the centres in feature space, shape (q, n_clusters); lazy for a Dask array.

        They need k(x, x) of new points, which precomputed kernels lack: `predict` does without.
        """
        return self._map(lambda rows: self._narrowed(self._distances(rows)), self._check_inputs(X))

    @available_if(_knows_new_points)
    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances in feature space to the nearest centres, weighted."""
        distances = self._map(lambda rows: _smallest(self._distances(rows)), self._check_inputs(X))
        distances = to_numpy(in_memory(distances)).astype(np.float64)
        weights = check_weights(self, sample_weight, distances.shape[0])
        return -float(np.sum(distances**2) if weights is None else weights @ distances**2)

    def cluster_preimages(self):
        r"""Inputs whose images are nearest to the centres, shape (n_clusters, d).

        Minimises :math:`\|\varphi(z) - m_\nu\|^2` with the solver `preimage`, from the training point that is nearest
        in feature space. Solvers that learn from data do so in the span of the centres.
        """
        check_is_fitted(self)
        if is_precomputed(self.kernel_):
            raise UnsupportedKernelError(
                "A precomputed kernel has no inputs to go back to. Give KernelKMeans the kernel itself and the inputs."
            )
        solver, centers = as_preimage(self.preimage).for_vectors(self.kernel_), self.centers_
        if isinstance(solver, TargetSolver):
            result = solver.solve(centers)
        else:
            frame = centers @ orthonormal_factor(centers.inner(centers))
            space = Subspace(frame)
            result = solver.fit(space, centers.points).inverse(space, centers.inner(frame))
        failed = int(np.sum(~result.converged))
        if failed:
            warn_user(
                f"{failed} of {len(centers)} pre-images did not converge ({', '.join(sorted(set(result.reason)))}); "
                "a solver with a larger max_iter may help.",
                ConvergenceWarning,
            )
        return self._narrowed(result.points)

    def _fit_stream(self, blocks, sample_weight):
        """Learn from an iterator of blocks, from the start."""
        if sample_weight is not None:
            raise ValueError(
                "KernelKMeans cannot tell which weights belong to which block of an iterator. Call "
                "partial_fit(block, sample_weight=...) for each."
            )
        for block in blocks_of(self, blocks):
            self.partial_fit(block)
        return self

    def _fit_landmarks(self, X, sample_weight):
        inputs = landmark_inputs(self, X, sample_weight=sample_weight, min_samples=1, keep_all=True)
        kernel, X = inputs.kernel, inputs.X
        weights, init = self._check_rows(X.shape[0], sample_weight)
        self.kernel_, self._is_single = kernel, itemsize(X.dtype) == 4
        X = X if is_lazy(X) else self._rows(X)
        search = self._search()
        used = np.flatnonzero(weights > 0)
        rows = X if used.size == weights.size else take_rows(X, used)
        # A generator of its own: how many numbers a selection draws must not change the starts.
        rng = selection_rng(self.landmarks, self.random_state)
        self.landmarks_ = as_selector(self.landmarks).select(kernel, rows, rng=rng).required()
        space = Subspace.span(kernel, self._rows(self.landmarks_.points))
        held = not is_lazy(X) and 8 * X.shape[0] * len(space) <= memory_budget(self.max_memory, np.empty(0))
        data = CoordinatePass(X, self._coordinates(space), self._lengths, weights, held=held)
        found = coordinate_kmeans(data, self.n_clusters, init=init, **search)
        self.route_ = "landmarks"
        self._adopt(space, found.centers, found.sizes)
        self.labels_ = self._map(self._nearest, X)
        # Labels of a Dask array are not known yet; sizes count copies of a centre by chance.
        n_found = np.count_nonzero(found.sizes) if is_chunked(X) else np.unique(self.labels_[weights > 0]).size
        self._report(found, int(n_found))
        return self

    def _adopt(self, space, centers, sizes):
        """Centres in coordinates as vectors of feature space."""
        self._clusters = space, centers, sizes
        like = space.frame.coefficients
        norms = from_numpy(np.sum(centers * centers, axis=1), like)
        coefficients = like @ from_numpy(np.ascontiguousarray(centers.T), like)
        self.centers_ = Expansion(self.kernel_, space.frame.points, coefficients, squared_norms=norms)

    def _search(self):
        """What both routes of the algorithm take."""
        return {
            "n_init": int(self.n_init),
            "algorithm": self.algorithm,
            "max_iter": int(self.max_iter),
            "tol": float(self.tol),
            "rng": generator(self.random_state),
        }

    def _check_rows(self, n, sample_weight):
        """Weights and labels to start from, one a row."""
        weights = check_weights(self, sample_weight, n)
        weights = np.ones(n) if weights is None else weights
        used = int(np.count_nonzero(weights))
        if used < self.n_clusters:
            of_weight = "" if used == n else " with a positive weight"
            raise ValueError(f"n_samples={used}{of_weight} should be >= n_clusters={self.n_clusters}.")
        if isinstance(self.init, str):
            return weights, self.init
        init = np.asarray(to_numpy(self.init) if is_foreign(self.init) else self.init)
        if init.shape != (n,) or init.dtype.kind not in "iu" or init.min() < -1 or init.max() >= self.n_clusters:
            raise ValueError(
                f"`init` needs a label from 0 to {self.n_clusters - 1}, or −1, for each of {n} rows; got shape "
                f"{init.shape}, dtype {init.dtype}."
            )
        return weights, init.astype(np.intp)

    def _wants_landmarks(self, X):
        check_parameters(self)
        return uses_landmarks("Exact kernel k-means", self.landmarks, X, self.max_memory)

    def _report(self, found, n_found):
        self.inertia_ = found.inertia
        self.n_iter_ = found.n_iter
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

    def _coordinates(self, space):
        """A function from rows to coordinates in NumPy and double precision."""
        if self.device is not None and not is_foreign(space.frame.points):
            there = through_device(space, self.device)
            return lambda rows: there(self._rows(rows)).astype(np.float64)
        return lambda rows: to_numpy(space.frame(self._rows(rows))).astype(np.float64, copy=False)

    def _lengths(self, rows):
        return to_numpy(self.kernel_.diagonal(self._rows(rows))).astype(np.float64, copy=False)

    def _rows(self, rows):
        """A block of rows as the kernel takes it, in double precision; numbers of a precomputed kernel stay.

        Distances in feature space are differences of kernel values, of which single precision leaves nothing where
        these are large, as inner products far from the origin are, or nearly equal, as values of wide kernels are.
        """
        return rows if is_precomputed(self.kernel_) else in_double(as_points(rows))

    def _narrowed(self, array):
        """Results in the precision of the training data."""
        xp = array_namespace(array)
        dtype = xp.float32 if self._is_single else xp.float64
        return array.astype(dtype) if is_sparse(array) else xp.astype(array, dtype, copy=False)

    def _nearest(self, rows):
        rows = self._rows(rows)
        norms, values = self.centers_.squared_norms(), self.centers_(rows)
        xp = array_namespace(values)
        scores = norms - 2 * values
        # Centres that are equally near up to rounding, such as those of clusters of copies, give way to the first.
        rounding = ROUNDING * epsilon(scores.dtype) * xp.max(xp.abs(norms) + 2 * xp.abs(values), axis=1)
        nearest = scores <= (xp.min(scores, axis=1) + rounding)[:, None]
        return to_numpy(xp.argmax(xp.astype(nearest, xp.int8), axis=1)).astype(np.intp, copy=False)

    def _distances(self, rows):
        rows = self._rows(rows)
        lengths, norms = self.kernel_.diagonal(rows)[:, None], self.centers_.squared_norms()
        squared = lengths - 2 * self.centers_(rows) + norms
        xp = array_namespace(squared)
        # The root of a rounding error is no distance: a centre that is a point has distance zero to it.
        rounding = ROUNDING * epsilon(squared.dtype) * (xp.abs(lengths) + norms)
        return xp.sqrt(xp.where(squared > rounding, squared, xp.zeros_like(squared)))

    def _map(self, function, X):
        return map_queries(self, function, X, self.centers_.coefficients)

    def _check_inputs(self, X):
        check_is_fitted(self)
        return check_queries(self, X, self.centers_.coefficients)

    def _kernel_machine(self):
        r"""A classifier of cluster numbers: one function a pair, positive where the first centre is the nearer one.

        :math:`\langle m_i - m_j, \varphi(x) \rangle - (\|m_i\|^2 - \|m_j\|^2)/2`, without k(x, x), which is common to
        all; the signs of pairs survive small errors and new thresholds.
        """
        check_is_fitted(self)
        k = len(self.centers_)
        if k == 1:
            raise ValueError("A single cluster has no boundary to compress: every input belongs to it.")
        # (0, 1), (0, 2), ...; `Binary` has the second class where its function is positive.
        first, second = (np.array([1]), np.array([0])) if k == 2 else np.triu_indices(k, 1)
        centers = self.centers_
        take = lambda array: take_rows(array, first) - take_rows(array, second)
        return KernelMachine(
            Expansion(self.kernel_, centers.points, take(centers.coefficients.T).T),
            -take(centers.squared_norms()) / 2,
            Binary(np.arange(2)) if k == 2 else OneVsOne(np.arange(k)),
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
        )

    @property
    def _n_features_out(self):
        return len(self.centers_)

    def __sklearn_tags__(self):
        tags = with_kernel_tags(super().__sklearn_tags__(), self.kernel)
        if is_precomputed(self.kernel):
            tags.transformer_tags = None
        return tags


def _smallest(distances):
    return array_namespace(distances).min(distances, axis=1)
