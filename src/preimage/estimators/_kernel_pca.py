"""Kernel principal component analysis."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import (
    array_namespace,
    clamp_at_zero,
    in_memory,
    is_chunked,
    is_foreign,
    is_host,
    is_lazy,
    known_rows,
    on_device,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.memory import limited_memory, memory_budget
from preimage._engine.progress import reports_progress
from preimage._engine.removed import ignores_removed
from preimage._engine.rows import Workers, workers_of
from preimage._engine.threads import at_most, within_n_jobs
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    all_rows,
    check_lazy_points,
    check_parameters,
    check_weights,
    is_stream,
    refuse_stream,
    require_in_memory,
    with_weight,
)
from preimage._engine.warnings import ignored
from preimage._models.components import MOST_POINTS, LandmarkModel, PrincipalSubspace, Wanted, principal_subspace
from preimage.eigensolvers import Arpack, Dense, EigenOptions, Eigensolver
from preimage.estimators._cross_fit import automatic_folds, cross_fitted, one_model
from preimage.estimators._estimator import fit_blocks, refuse_weights_of_blocks, through_device, warn_of_exact_fit
from preimage.estimators._has_landmarks import HasLandmarks, numbered
from preimage.estimators._kernel_input import (
    LANDMARKS,
    Inputs,
    as_selector,
    batch_rng,
    exact_inputs,
    is_precomputed,
    landmark_inputs,
    named_kernel,
    selection_rng,
    uses_landmarks,
    without_origin,
)
from preimage.estimators._missing_entries import check_incomplete, imputed
from preimage.estimators._preimages import TRANSFORMER_CONSTRAINTS, ComponentPictures
from preimage.estimators._robust_denoise import DenoisedRows, RobustOptions, all_denoised
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.feature_space import Gram
from preimage.feature_space._gram import worker_product
from preimage.kernels import Kernel
from preimage.kernels._bandwidth import RECONSTRUCTION
from preimage.landmarks import Landmarks
from preimage.solvers import LearnedMap, Preimage, as_preimage
from preimage.solvers._reconstruction_width import with_reconstruction_width

# Rows of a Dask array up to which this process computes alone unless it is told otherwise: the fit takes about a
# second, and sending blocks to workers and back would take as long.
ROWS_OF_ONE_PROCESS = 5000
# Rows beyond which a fit on all of them must be asked for by name. A hundred thousand take some minutes on ten cores,
# and ten times as many rows a hundred times as long.
MOST_ROWS_UNASKED = 100_000


def _has_inputs(estimator: Any) -> bool:
    """A precomputed kernel has no inputs to reconstruct, and no k(x, x) of new points to score."""
    return not is_precomputed(estimator.kernel)


class KernelPCA(HasLandmarks, ComponentPictures):
    r"""Kernel principal component analysis: exact, or on landmarks for any number of rows.

    >>> from sklearn.datasets import make_circles
    >>> from preimage import KernelPCA
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelPCA(2, gamma=5).fit(X)
    >>> model.transform(X).shape  # the first component tells the inner ring from the outer
    (200, 2)

    Diagonalises the covariance in feature space through the centred Gram matrix, :math:`H K H u = \lambda u` [1]_, and
    takes the place of `sklearn.decomposition.KernelPCA`: its parameters and attributes are understood, and one default
    differs, `kernel`. :doc:`All parameters </guides/kernel_pca>` says how they work and when to change them.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        Number of components, or the fraction of the variance they must explain, or None for all.
    kernel : str, callable or Kernel, default="rbf"
        A name ("linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed", ...), a function ``k(x, y)``, or a
        `Kernel` of `preimage.kernels`, which carries its own parameters. With `Strings` rows are a list of texts; with
        a function they may be a list of any objects.
    gamma : float, str or None, default=None
        Width; None is 1 / n_features. "median", "p5", "reconstruction" and others follow the data; "relevance" learns
        a width for each column from labels or numbers, `fit(X, y)`.
    degree, coef0, kernel_params : int, default=3; float, default=1.0; dict or None
        Further parameters of named kernels, such as ``kernel_params={"nu": 0.5}`` of "matern".
    landmarks : None, int, str or LandmarkSelector, default=None
        Points on which axes are built: all rows, this number of cluster centres, or those of a selector of
        `preimage.landmarks`. "auto" decides by the number of rows.
    preimage : str or Preimage, default="auto"
        How `inverse_transform` and `denoise` find pre-images: by what suits the kernel, or a solver of
        `preimage.solvers`.
    center : bool, default=True
        Whether axes go through the mean of the images, not through zero.
    eigen_solver, tol, max_iter : str or Eigensolver, default="auto"; float or None; int or None
        "auto", "dense", "arpack", "block_krylov" or "randomized"; the residual to reach; the most iterations.
    fit_inverse_transform, alpha, remove_zero_eig, copy_X, iterated_power
        As in scikit-learn. Pre-images need no ``fit_inverse_transform=True``.
    max_memory, device, n_jobs : int or str, default=None; str, default=None; int, default=None
        Memory for the Gram matrix ("1GB"), a GPU for NumPy data ("cuda"), and the most threads.
    verbose, random_state : bool, default=False; int, RandomState, Generator or None, default=0
        Whether to show progress; the seed of landmarks and of the start of iterative solvers.

    Attributes
    ----------
    eigenvalues_, eigenvectors_ : arrays of shape (`n_components_`,) and (n, `n_components_`)
        Of the centred Gram matrix, descending; vectors only where all rows are used.
    explained_variance_, explained_variance_ratio_ : arrays of shape (`n_components_`,)
        Variance λ/n of each component, and its fraction of the total variance in feature space.
    n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        Components kept, rows of the fit, and columns.
    kernel_, gamma_ : Kernel, float
        The kernel with its parameters fixed, and its width.
    subspace_, X_fit_, route_, landmarks_ : Subspace, array, {"exact", "landmarks"}, Landmarks or None
        Axes and mean in feature space, the points that they are made of, and where these come from.
    X_transformed_fit_ : array of shape (n, `n_components_`)
        Coordinates of the rows of the fit, computed when it is read; without landmarks.
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    relevance_, has_column_widths_
        With ``gamma="relevance"``, as in `SparseGreedyRegressor`.
    preimage_, dual_coef_ : Preimage, array of shape (n, d)
        The solver with what it has learnt, and the weights of a learned map.
    eigen_result_ : EigenResult
        Residuals, number of products and reason of stopping of the eigensolver.

    See Also
    --------
    preimage.model_selection.DenoisingSearch : Chooses width and components for denoising, with nothing clean.
    KernelImputer : Fills missing entries by the same subspace.
    Renormalized : Corrects scores where variables outnumber samples.
    OrientedKernelPCA : Leaves out what is known to be noise.
    SemiSupervisedKernelPCA : Follows the labels that some rows have.
    compress : The model with fewer points.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
       Neural Computation 10, 1998.

    Examples
    --------
    Noisy points of a circle are moved back to it; nothing clean is needed:

    >>> import numpy as np
    >>> angles = np.linspace(0, 2 * np.pi, 200)
    >>> circle = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> noisy = circle + np.random.default_rng(0).normal(scale=0.15, size=circle.shape)
    >>> denoised = KernelPCA(4, gamma=0.5).fit(noisy).denoise(noisy)
    >>> np.round([np.abs(np.linalg.norm(Z, axis=1) - 1).mean() for Z in (noisy, denoised)], 2)
    array([0.13, 0.03])
    """

    landmarks_: Landmarks | None

    _takes_objects = True
    _named_elsewhere = {
        "lambdas_": "read eigenvalues_, as in scikit-learn.",
        "alphas_": "read eigenvectors_, as in scikit-learn.",
        "components_": "axes lie in feature space. eigenvectors_ are their coefficients on the rows of the fit, and "
        "component_preimages() are inputs that lie along them.",
    }
    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        **TRANSFORMER_CONSTRAINTS,
        "landmarks": LANDMARKS,
        "eigen_solver": [str, Eigensolver, None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean", None],
        "center": ["boolean"],
        "copy_X": ["boolean"],
        "fit_inverse_transform": ["boolean", None],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
        "device": [str, None],
        "n_jobs": [Integral, None],
    }

    @ignores_removed
    def __init__(
        self,
        n_components: float | None = None,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        landmarks: Any = None,
        eigen_solver: str | Eigensolver | None = "auto",
        iterated_power: int | str = "auto",
        remove_zero_eig: bool | None = None,
        center: bool = True,
        copy_X: bool = True,
        fit_inverse_transform: bool | None = None,
        alpha: float | None = None,
        preimage: str | Preimage = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        max_memory: int | str | None = None,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.eigen_solver = eigen_solver
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.center = center
        self.copy_X = copy_X
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.preimage = preimage
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "KernelPCA":
        """Find the principal axes of X in feature space.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel; or a list of n objects for a kernel on
            objects; or a Dask array. With `landmarks`, also a memory map or an iterator of arrays, which is read once
            (see `partial_fit`).
        y : array of shape (n,), optional
            Class labels for a rule that finds the width from class means, such as ``gamma="enclosing_ball"``, labels or
            targets for ``gamma="relevance"``; ignored otherwise.
        sample_weight : array of shape (n,), optional
            How often each row counts: a row of weight two counts as two copies of it, one of weight zero is left out.
            The map that `inverse_transform` learns ignores weights, as do selectors of landmarks and, on landmarks,
            rules for `gamma`.

        Returns
        -------
        self
        """
        if not is_stream(X):
            self._fit(X, y, sample_weight)
            return self
        refuse_weights_of_blocks(self, sample_weight)
        return fit_blocks(self, X)

    @reports_progress
    @within_n_jobs
    def partial_fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "KernelPCA":
        """Learn from a further batch of rows, on landmarks.

        The first batch fixes the width of the kernel and gives the first landmarks; later ones add landmarks while they
        are fewer than the selector's `n_landmarks` and leave more of the kernel on the batch than its `tol`
        (0.001 if it has none). Meanwhile rows are kept, up to ten for each landmark, so that the model is that of all
        rows. If landmarks join after more rows than that, the part of earlier ones along later landmarks is unknown
        and counts as zero, with a warning: shuffle a sorted stream, or begin with a large batch. Where landmarks do not
        change, any split of the data gives the same model. Once all landmarks are in use, rows are no longer kept, and
        a batch of which landmarks leave a large fraction causes a warning.
        After a `fit` on all rows it begins anew, with a warning. Pre-image solvers that learn do so on the landmarks.

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
        >>> from preimage import KernelPCA
        >>> X = np.random.default_rng(0).normal(size=(1000, 3))
        >>> model = KernelPCA(4, gamma=0.1, landmarks=100)
        >>> for batch in np.array_split(X, 5):
        ...     model = model.partial_fit(batch)
        >>> model.n_samples_seen_, model.transform(X).shape
        (1000, (1000, 4))
        """
        self._check_settings()
        warn_of_exact_fit(self)
        if not hasattr(self, "_landmark_model"):
            inputs = landmark_inputs(self, X, y, sample_weight, about_mean=self.center)
            n_rows, model = inputs.X.shape[0], self._fit_landmarks(inputs, begins_stream=True)
        else:
            X = known_rows(self._check_inputs(X))
            n_rows, model = self.n_samples_seen_ + X.shape[0], self._update_landmarks(X, sample_weight)
        # The rows of a stream are gone: solvers that learn do so on the landmarks.
        self._store_landmarks(model, model.landmarks.points, n_rows)
        return self

    @reports_progress
    def fit_transform(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> Array:
        """Fit, and return the coordinates of X; equal to ``fit(X).transform(X)`` at the cost of `fit` alone."""
        refuse_stream(self, X, "fit_transform", "Call fit(blocks), then transform blocks one by one.")
        scores = self._fit(X, y, sample_weight)
        return self.transform(X) if scores is None else scores

    def transform(self, X: Rows, *, impute: bool = False) -> Array:
        """Coordinates of X along the principal axes, shape (q, `n_components_`); lazy for a Dask array.

        Parameters
        ----------
        X : array of shape (q, d)
        impute : bool, default=False
            Whether NaN are missing entries, which `impute` fills first: the coordinates are then the most likely ones
            given the known entries. Otherwise NaN is an error: it is more often a mistake than a missing entry, and
            coordinates of rows that were filled look like any others. In a pipeline, put `KernelImputer` before.
        """
        X = self._check_inputs(self.impute(X) if impute else X)
        if self.device is not None and not is_foreign(X):
            return through_device(self.subspace_, self.device)(X)
        return self._map(self.subspace_.coordinates, X)

    def denoise(
        self,
        X: Rows,
        *,
        n_components: int | None = None,
        cross_fit: Any = None,
        loss: str | None = None,
        scale: float | None = None,
        connectivity: Any = None,
        return_outliers: bool = False,
    ) -> Any:
        r"""Project X on the subspace, through the mean, and find pre-images of the projections, starting at X.

        The subspace contains some of the noise of the rows that it was fitted to. The more components there are, the
        less of that noise is removed: with all of them, training rows come back unchanged. ``cross_fit=5`` denoises
        training rows by five models with the same kernel and parameters, each fitted to the other four fifths of the
        rows; results of new rows do not change. With many components relative to the number of rows this is much
        better, with few it is worse, because the models are fitted to fewer rows:
        `preimage.model_selection.DenoisingSearch` estimates which.

        Projections assume that all entries of a row have noise of the same size. A few that are plainly wrong (an
        occluded part of an image, salt and pepper, a sensor that failed) move the projection of the whole row. With a
        `loss` such entries are replaced before, and missing ones (NaN) filled, by those of the row near the subspace
        that agrees with most entries,

        .. math:: \min_z \|\varphi(z) - P\varphi(z)\|^2 + \lambda \sum_j s_j^2 \rho\big((z_j - x_j)/s_j\big),

        in which entries far beyond the scale s count little or nothing. :math:`\lambda` is the variance of the points
        of the model in feature space over that in input space. The row is then denoised like any other.

        Which rows have gross errors is measured: points of the model are left out in turn and repaired by models of
        the others, as they are and with simulated errors. A row that its repair does not bring much nearer to the
        subspace than theirs is denoised exactly as without a loss.

        Parameters
        ----------
        X : array of shape (q, d)
            With a `loss`, entries may be NaN.
        n_components : int or None, default=None
            How many of the leading components to project on; None is all.
        cross_fit : int, "auto", array of shape (n,) or None, default=None
            Number of folds, drawn with `random_state`; or a label for each row of the training set, such as the run of
            a scan, and each label is a fold. Copies of a row are in one fold. Each call fits the models of the folds
            that X needs. None projects all rows on the same subspace.

            "auto" is five where there are more components than a twelfth of the rows, and where the error that Stein's
            formula estimates for up to 500 rows of the training set is smaller in folds by more than its standard
            error; None otherwise, for sparse rows, and on landmarks. The variance of the noise is 0.8 times what a
            quarter of the rows as components leave: caution that prefers None.

            A model on landmarks does not keep the training rows and cannot recognise them: X must then be the whole
            training set, in memory or lazy, which is read once more, and `cross_fit` must be a number.
        loss : {"huber", "l1", "cauchy", "tukey"} or None, default=None
            None projects. Otherwise ρ, from convex to entirely ignorant of gross errors: "huber" and "l1" grow like
            :math:`|u|`, "cauchy" is :math:`\log(1 + u^2)`, "tukey" is constant from three scales on. "cauchy" is best
            where wrong entries are scattered, "tukey" where they are many. Needs a positive semidefinite kernel with
            a gradient. With `cross_fit`, rows of the training set are repaired by the model of the other folds.
        scale : float or None, default=None
            s, in units of the inputs, for all entries: entries that the loss trusts less than one that is three scales
            from the result are replaced. None measures scales per column, and which rows have gross errors, on points
            left out of the model, twenty at least: with fewer, no entry is distrusted. That takes as long as to denoise
            some thousand rows; the model remembers it for later calls without `connectivity`.
        connectivity : array or sparse matrix of shape (d, d) or None, default=None
            Columns that tend to be wrong together, such as neighbouring pixels of an occluded image: the loss is then
            that of the mean square over each column and its neighbours. As in
            `sklearn.cluster.FeatureAgglomeration`; for images from `sklearn.feature_extraction.image.grid_to_graph`.
        return_outliers : bool, default=False
            Whether to return, with a `loss`, also which entries were distrusted.

        Returns
        -------
        array of shape (q, d)
            Lazy for a Dask array, without a warning where solvers do not converge.
        outliers : boolean array of shape (q, d)
            Only with `return_outliers`. True for entries that were replaced: gross errors and missing ones.

        Examples
        --------
        A point of a circle with a third coordinate that is wrong:

        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles), np.cos(angles), np.sin(angles)])
        >>> model = KernelPCA(5, gamma=0.1).fit(X)
        >>> Z, wrong = model.denoise([[1.0, 0.0, 9.0, 0.0]], loss="tukey", scale=0.1, return_outliers=True)
        >>> np.abs(Z - [1, 0, 1, 0]).max() < 0.05, wrong
        (np.True_, array([[False, False,  True, False]]))
        """
        options = RobustOptions(loss, scale, connectivity, return_outliers)
        is_robust = options.check()
        check_is_fitted(self)
        self._require_inputs()
        like = self.subspace_.frame.coefficients
        if is_robust:
            self._require_numbers("denoise with a `loss`", "Without a loss it gives the nearest training rows.")
        X = check_incomplete(self, X, reset=False, like=like) if is_robust else self._check_inputs(X)
        with self._working():
            return all_denoised(self, X, self._denoiser(X, n_components, cross_fit, options), options)

    def _denoiser(
        self, X: Rows, n_components: int | None, cross_fit: Any, options: RobustOptions
    ) -> Callable[[Array], DenoisedRows]:
        """The function from blocks of validated rows X to what `denoise` makes of them."""
        count, subspace = self._leading(n_components, self.n_components_), self._leading_subspace(n_components)
        if isinstance(cross_fit, str) and cross_fit == "auto":
            cross_fit = automatic_folds(self, None if n_components is None else count)
        repair = options.repair(self.subspace_, count)
        if cross_fit is None:
            solver = self.preimage_.ready(subspace, with_start=True) if is_lazy(X) else self.preimage_
            models = one_model(subspace, solver)
        else:
            chosen = None if n_components is None else count
            models = cross_fitted(self, X, cross_fit, chosen, is_parallel=is_lazy(X))
        return lambda rows: models.solve(rows, repair)

    def reconstruction_error(
        self, X: Rows, diagonal: Array | None = None, *, n_components: int | None = None, cross_fit: Any = None
    ) -> Array:
        r"""Squared distance of :math:`\varphi(x)` to the principal subspace, shape (q,): a novelty score.

        :math:`\|\varphi(x) - P\varphi(x)\|^2 = \tilde k(x, x) - \sum_j \beta_j(x)^2`; zero for training points when all
        components are kept, large for points unlike the training set.

        The subspace follows each row that it was fitted to, an outlier most of all: a row far from all
        others has a component of its own, and the error zero. ``cross_fit=10`` measures training rows by ten models
        with the same kernel and parameters, each fitted to the other nine tenths of the rows, so that errors of
        training rows can be compared with each other and with those of new rows, which do not change.
        `KernelNoveltyDetector` does this for all training rows, and sets a threshold.

        Parameters
        ----------
        X : array of shape (q, d)
        diagonal : array of shape (q,), optional
            k(x, x), needed for precomputed kernels only.
        n_components : int or None, default=None
            How many of the leading components span the subspace; None is all.
        cross_fit : int, array of shape (n,) or None, default=None
            Number of folds, or a label for each row of the training set, as in `denoise`: on landmarks X must be the
            whole training set. Not for precomputed kernels.

        Returns
        -------
        array of shape (q,)
            Lazy for a Dask array.

        Examples
        --------
        A point of a circle, its centre, and a point outside:

        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
        >>> model = KernelPCA(6, gamma=2.0).fit(X)
        >>> model.reconstruction_error([[0.6, 0.8], [0.0, 0.0], [2.0, 0.0]]).round(2)
        array([0.08, 0.94, 1.16])

        An outlier among the training rows is conspicuous only to a model that has not seen it:

        >>> X[0] = [2.0, 0.0]
        >>> model = KernelPCA(0.99, gamma=2.0).fit(X)
        >>> model.reconstruction_error(X[:2]).round(2), model.reconstruction_error(X[:2], cross_fit=10).round(2)
        (array([0.  , 0.01]), array([1.15, 0.01]))
        """
        X = self._check_inputs(X)
        if diagonal is not None and is_lazy(X):
            raise TypeError("`diagonal` is for precomputed kernels, whose values must be in memory; X is lazy.")
        if cross_fit is not None:
            return self._cross_fitted_errors(X, diagonal, n_components, cross_fit)
        subspace = self._leading_subspace(n_components)
        settle = clamp_at_zero if subspace.signature is None else lambda residuals: residuals
        return self._map(lambda rows: settle(subspace.residuals(rows, diagonal)), X)

    @available_if(_has_inputs)
    def score_samples(self, X: Rows, *, n_components: int | None = None) -> Array:
        """Minus `reconstruction_error`: the higher, the more like the training set, as in scikit-learn's detectors."""
        return -self.reconstruction_error(X, n_components=n_components)

    @available_if(_has_inputs)
    def score(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> float:
        r"""Minus the mean squared error of reconstructing X from its coordinates: the higher, the better.

        :math:`-\frac{1}{qd} \sum_i \|x_i - r(\beta(x_i))\|^2`, where r is `inverse_transform`; in the squared units of
        the inputs, and zero if all rows come back exactly. Rows of the training set are reconstructed too well to judge
        by: give others, as ``GridSearchCV(KernelPCA(), ...)`` does. It is not the mean of `score_samples`, which are
        distances in feature space, and cannot be compared between kernels.

        Parameters
        ----------
        X : array of shape (q, d)
            Rows that the model has not seen; also a memory map or a Dask array.
        y : None
            Ignored.
        sample_weight : array of shape (q,), optional
            How often each row counts.

        Returns
        -------
        float

        Examples
        --------
        A search for the width that reconstructs best:

        >>> import numpy as np
        >>> from sklearn.model_selection import GridSearchCV
        >>> from preimage import KernelPCA
        >>> rng = np.random.default_rng(0)
        >>> angles = rng.uniform(0, 2 * np.pi, size=100)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles), np.cos(2 * angles)])
        >>> search = GridSearchCV(KernelPCA(2), {"gamma": [0.01, 0.1, 10.0]}).fit(X)
        >>> search.best_params_["gamma"] < 10
        True
        >>> bool(search.best_estimator_.score(X) < 0)
        True
        """
        X = self._check_inputs(X)
        self._require_inputs()
        self._require_numbers(
            "score, the error of reconstruction in input space,",
            "score_samples and reconstruction_error measure distances in feature space; as `scoring` of a search give "
            "lambda model, X, y=None: model.score_samples(X).mean().",
        )
        weights = check_weights(self, in_memory(sample_weight), X.shape[0])
        subspace = self.subspace_
        solver = self.preimage_.ready(subspace, with_start=False)

        def squared_errors(rows: Rows) -> Array:
            found = solver.inverse(subspace, subspace.coordinates(rows), None).points
            return array_namespace(found).mean((found - to_dense(rows)) ** 2, axis=1)

        errors = to_numpy(in_memory(self._map(squared_errors, X)))
        return -float(np.average(np.asarray(errors, dtype=np.float64), weights=weights))

    def impute(self, X: Rows, *, n_components: int | None = None, noise: float | str = "auto") -> Array:
        r"""Fill missing entries, which are NaN, so that rows lie near the principal subspace.

        Minimises :math:`\|\tilde\varphi(z)\|^2 - \sum_i (1 - \sigma^2/\lambda_i) \langle v_i, \tilde\varphi(z)
        \rangle^2` over the missing entries of each row z; known entries do not change. Rows without a known entry get
        the pre-image of the mean. `preimage.KernelImputer` is an imputer for pipelines: it scales columns, chooses the
        kernel width for this purpose, and can be fitted to incomplete rows.

        Parameters
        ----------
        X : array of shape (q, d)
            With NaN where an entry is missing.
        n_components : int or None, default=None
            How many of the leading components span the subspace; None is all.
        noise : "auto" or float in [0, 1), default="auto"
            Variance σ² around the subspace, as a fraction of the variance in feature space. "auto" is the mean of the
            eigenvalues that are left out; with 0 the squared distance :math:`\|\varphi(z) - P\varphi(z)\|^2` to the
            subspace is minimised.

        Returns
        -------
        array of shape (q, d)
            Lazy for a Dask array.

        Examples
        --------
        Points of a half circle, of which one coordinate is missing:

        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> angles = np.linspace(0, np.pi, 200)
        >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
        >>> KernelPCA(10, gamma=1.0).fit(X).impute([[0.6, np.nan]]).round(1)
        array([[0.6, 0.8]])
        """
        check_is_fitted(self)
        super()._require_inputs()
        self._require_numbers("impute", "Objects have no entries that could be missing.")
        return imputed(self, X, self._leading(n_components, self.n_components_), noise)

    def with_components(self, components: Array) -> Self:
        """This fitted model with the given components alone: in them it transforms, denoises and goes back.

        The leading components have the largest variance, which need not be what one looks for: drifts and heart beats
        are large in brain scans. Choose by a reference instead (`preimage.neuro.reference_components`), or
        leave out a component that shows an artefact.

        Parameters
        ----------
        components : sequence of int, or of bool with one entry per component
            Numbers of components, from 0 on, each once, in the order in which `transform` shall return them.

        Returns
        -------
        KernelPCA
            Another model, which shares the points of this one. A further `fit` or `partial_fit` finds all components
            again.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelPCA
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> model = KernelPCA(5, gamma=0.1).fit(X)
        >>> some = model.with_components([0, 3])
        >>> bool(np.allclose(some.transform(X), model.transform(X)[:, [0, 3]]))
        True
        """
        check_is_fitted(self)
        numbers = _numbers(components, self.n_components_)
        some: Any = copy(self)
        some.subspace_ = self.subspace_.take(numbers)
        for name in ("eigenvalues_", "explained_variance_", "explained_variance_ratio_"):
            setattr(some, name, take_rows(getattr(self, name), numbers))
        found = self.eigen_result_
        values, residuals = (take_rows(array, numbers) for array in (found.values, found.residuals))
        some.eigen_result_ = replace(found, values=values, residuals=residuals)
        some.n_components_ = len(numbers)
        solver = self._preimage_solver()
        if solver.learns:
            with limited_memory(self.max_memory, some.subspace_.frame.coefficients):
                some.preimage_ = some._fitted_preimage(solver, some.X_fit_)
        return some

    def _cross_fitted_errors(self, X: Rows, diagonal: Any, n_components: int | None, cross_fit: Any) -> Array:
        if self.kernel_.points_are_row_numbers:
            raise UnsupportedKernelError(
                "reconstruction_error with cross_fit compares rows with those of the training set, which a precomputed "
                "kernel does not have. Give KernelPCA the kernel itself and the inputs."
            )
        if diagonal is not None:
            raise ValueError("`diagonal` is for precomputed kernels, which have no cross_fit; leave one of them out.")
        count = None if n_components is None else self._leading(n_components, self.n_components_)
        errors = cross_fitted(self, X, cross_fit, count, is_parallel=is_lazy(X), solves=False).errors
        return self._map(errors, X) if is_lazy(X) else errors(X)

    @property
    def eigenvectors_(self) -> Array:
        self._require_fitted("eigenvectors_")
        if self.route_ != "exact":
            raise AttributeError("eigenvectors_ belong to the Gram matrix of all rows; this KernelPCA has landmarks.")
        xp = array_namespace(self.eigenvalues_)
        vectors = self.subspace_.frame.coefficients * xp.sqrt(xp.abs(self.eigenvalues_))
        # √w of (S3) is part of the axes, not of unit eigenvectors.
        weights = self._relative_weights()
        if weights is None:
            return vectors
        return vectors / xp.sqrt(weights * self.eigenvalues_[0] / self.explained_variance_[0])

    @property
    def X_fit_(self) -> Array:
        self._require_fitted("X_fit_")
        return self.subspace_.frame.points

    @property
    def X_transformed_fit_(self) -> Array:
        self._require_fitted("X_transformed_fit_")
        if self.route_ != "exact":
            raise AttributeError("X_transformed_fit_ are coordinates of all rows, and this KernelPCA has landmarks.")
        return self.subspace_.coordinates(self.subspace_.frame.points)

    @property
    def dual_coef_(self) -> Array:
        self._require_fitted("dual_coef_")
        if not self.fit_inverse_transform:
            raise AttributeError("dual_coef_ are weights of a learned map; fit with fit_inverse_transform=True.")
        if not hasattr(self.preimage_, "weights"):
            raise AttributeError("This KernelPCA was fitted without fit_inverse_transform=True; fit it again.")
        return self.preimage_.weights

    @property
    def gamma_(self) -> float:
        self._require_fitted("gamma_")
        return getattr(self.kernel_.unshifted()[0], "gamma", 1 / self.n_features_in_)

    def _relative_weights(self) -> Array | None:
        """Weights of the rows of an exact model, with the sum one, shape (n, 1); None if all are equal."""
        # The mean has them for coefficients; where axes go through zero there is no mean.
        origin = self.subspace_.origin
        return self._kept_weights if origin is None else origin.coefficients

    def _require_fitted(self, attribute: str) -> None:
        if not hasattr(self, "subspace_"):
            raise AttributeError(f"This KernelPCA is not fitted yet and has no {attribute}; call fit first.")

    def _check_settings(self) -> None:
        """Check parameters, each by itself and together."""
        check_parameters(self)
        if not self.fit_inverse_transform:
            return
        if self.preimage not in ("auto", "learned"):
            raise ValueError(
                "KernelPCA was given fit_inverse_transform=True, which learns a map to inputs, and preimage="
                f"{self.preimage!r}, another way to find pre-images. Leave one of them out."
            )
        if is_precomputed(self.kernel):
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel: it has no inputs to go back to. Give "
                "KernelPCA the kernel itself and the inputs."
            )
        kernel = named_kernel(self)
        if self.alpha is not None and kernel.is_bound_to_columns:
            raise ValueError(
                "The map of `alpha`, scikit-learn's, evaluates the kernel on coordinates, which have columns and "
                f"values of their own; {kernel!r} takes inputs like the training set alone. Leave `alpha` out, or use "
                "preimage='learned', which chooses a kernel on coordinates."
            )

    def _wanted(self) -> Wanted:
        return Wanted.of(self.n_components, with_zeros=self.remove_zero_eig is False, about_mean=self.center)

    def _preimage_solver(self) -> Preimage:
        """The solver that `preimage`, or `fit_inverse_transform` and `alpha`, ask for."""
        if not self.fit_inverse_transform:
            return as_preimage(self.preimage)
        if self.alpha is None:
            return as_preimage("learned")
        return LearnedMap(kernel=without_origin(self.kernel_), ridge=float(self.alpha), center=False, max_rows=None)

    def _with_reconstruction_width(self, kernel: Kernel, X: Rows) -> Kernel:
        """The kernel with the width that reconstructs left-out rows of X best from the components that are wanted."""
        wanted = self._wanted()
        linear = min(X.shape) - 1 if self.center else min(X.shape)
        if wanted.number is not None:
            count: Any = wanted.number
        elif wanted.fraction is not None:
            count = lambda values: wanted.count(values, float(np.sum(values)))
        else:  # all: those of PCA at least
            count = max(1, linear)
        return with_reconstruction_width(kernel, X, count, about_mean=self.center)

    def _expected_rank(self, X: Rows) -> AbstractContextManager[Any]:
        """No warning where fewer components than were asked for, but as many as columns, are what was chosen."""
        gamma, number = getattr(self.kernel, "gamma", self.gamma), self._wanted().number
        is_chosen = isinstance(gamma, str) and gamma == RECONSTRUCTION
        return ignored(RankWarning) if is_chosen and (number or 0) > X.shape[1] else nullcontext()

    def _fit(self, X: Rows, y: Targets, sample_weight: Targets) -> Array | None:
        """Fit; the coordinates of X where they are a by-product."""
        self._check_settings()
        with at_most(self.n_jobs), limited_memory(self.max_memory, X):
            if uses_landmarks("Exact kernel PCA", self.landmarks, X, self.max_memory, takes_chunks=True):
                inputs = landmark_inputs(self, X, y, sample_weight, about_mean=self.center)
                self._store_landmarks(self._fit_landmarks(inputs), inputs.X, inputs.X.shape[0])
                return None
            chunked, workers = is_chunked(X), None
            if chunked:
                X, workers = self._gathered(X)
            weights = in_memory(sample_weight)
            inputs = exact_inputs(self, X, in_memory(y), weights, copy=self.copy_X, about_mean=self.center)
            result, weights = self._fit_exactly(inputs, workers), inputs.weights
            self._store(inputs.kernel, result, inputs.X, inputs.X.shape[0])
            if weights is not None and not self.center:
                self._kept_weights = (weights / weights.sum())[:, None]
            return None if chunked else result.scores

    def _gathered(self, X: Rows) -> tuple[Rows, Workers | None]:
        """All rows of a Dask collection in this process, and the workers that computed them, if it was not this one.

        An exact model consists of its rows, so they must fit into this process. Whether they do is seen before they
        come.
        """
        if is_precomputed(self.kernel):
            advice = "Give KernelPCA the kernel itself and the inputs, or pass X.compute()."
            require_in_memory(X, "A precomputed kernel needs its matrix", advice)
        rows = check_lazy_points(self, X, reset=True, min_samples=2)  # which counts the rows of unknown chunks
        n = rows.shape[0]
        if n > MOST_ROWS_UNASKED and self.eigen_solver in ("auto", None):
            raise ValueError(
                f"KernelPCA without landmarks would compute {n * n / 2:.0e} kernel values of these {n} rows in each of "
                "about ten passes. Give landmarks=500, say, to fit them in one pass; or eigen_solver='block_krylov' if "
                "the exact result is worth the time."
            )
        instead = "Give landmarks=500, say, which leaves the rows where they are, or raise max_memory."
        return all_rows("KernelPCA without landmarks", X, self.max_memory, instead), workers_of(rows)

    def _fit_exactly(self, inputs: Inputs, workers: Workers | None) -> PrincipalSubspace:
        points = inputs.X
        if self.device is not None and not is_foreign(points):
            points = on_device(to_dense(points), self.device)
        gram, budget, wanted = Gram(inputs.kernel, points), memory_budget(self.max_memory, points), self._wanted()
        solver = "block_krylov" if self.eigen_solver == "randomized" else self.eigen_solver or "auto"
        options = EigenOptions(solver, self.tol, self.max_iter, budget)
        if workers is not None and _is_for_workers(gram, options, wanted.first_count(gram.shape[0] - 1), budget):
            gram = Gram(inputs.kernel, points, multiply=worker_product(inputs.kernel, points, workers))
        elif gram.shape[0] > MOST_POINTS and gram.fits(budget):
            gram = gram.held()
        with self._expected_rank(inputs.X):
            seed = self.random_state
            result = principal_subspace(gram, wanted, seed, weights=inputs.weights, options=options)
        return result if points is inputs.X else result.converted(to_numpy)

    def _fit_landmarks(self, inputs: Inputs, *, begins_stream: bool = False) -> LandmarkModel:
        with self._expected_rank(inputs.X):
            model = LandmarkModel.fit(
                inputs.kernel,
                inputs.X,
                as_selector(self.landmarks),
                self._wanted(),
                rng=selection_rng(self.landmarks, self.random_state),
                weights=inputs.weights,
                device=self.device,
                begins_stream=begins_stream,
            )
        return replace(model, landmarks=numbered(model.landmarks, inputs.kept))

    def _update_landmarks(self, X: Rows, sample_weight: Targets) -> LandmarkModel:
        weights = check_weights(self, in_memory(sample_weight), X.shape[0])
        if weights is not None and not is_lazy(X):
            X, weights = with_weight(self, X, weights, least=1)
        return self._landmark_model.updated(
            X,
            as_selector(self.landmarks),
            self._wanted(),
            rng=batch_rng(self.random_state, self.n_samples_seen_),
            weights=weights,
            device=self.device,
        )

    def _store_landmarks(self, model: LandmarkModel, X: Rows, n_rows: int) -> None:
        """Store the model; `X` are the rows that a pre-image solver may learn from."""
        self._store(model.kernel, model.principal, X, n_rows)
        self._landmark_model, self.route_, self.landmarks_ = model, "landmarks", model.landmarks

    def _store(self, kernel: Kernel, result: PrincipalSubspace, X: Rows, n_rows: int) -> None:
        self.__dict__.pop("_landmark_model", None)
        self.route_, self._kept_weights = "exact", None
        self.landmarks_ = None
        self.kernel_, self.subspace_ = kernel, result.subspace
        self.eigenvalues_, self.eigen_result_ = result.eigenvalues, result.eigen
        self.explained_variance_, self.explained_variance_ratio_ = result.variances, result.fractions
        self.n_components_, self.n_samples_seen_ = len(result.subspace), int(n_rows)
        with limited_memory(self.max_memory, self.subspace_.frame.coefficients):
            self.preimage_ = self._fitted_preimage(self._preimage_solver(), X)

    def _require_inputs(self) -> None:
        super()._require_inputs()
        if self.fit_inverse_transform is False:
            raise NotFittedError(
                "This KernelPCA was fitted with fit_inverse_transform=False, so it finds no pre-images. Leave the "
                "parameter out, or set it to True, and fit again."
            )

    @contextmanager
    def _working(self) -> Iterator[None]:
        with at_most(self.n_jobs), super()._working():
            yield


def _numbers(components: Array, count: int) -> np.ndarray:
    """Numbers of components, checked."""
    given = np.asarray(components)
    if given.dtype == bool and given.shape == (count,):
        given = np.flatnonzero(given)
    is_list = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu"
    if not is_list or given.min() < 0 or given.max() >= count or np.unique(given).size < given.size:
        raise ValueError(
            f"KernelPCA.with_components needs numbers of components, each once, from 0 to {count - 1}, or {count} "
            f"truth values of which one or more are true; got {components!r}."
        )
    return given.astype(np.intp)


def _is_for_workers(gram: Gram, options: EigenOptions, k: int, budget: int) -> bool:
    """Whether the workers of a cluster compute products with a Gram matrix of points in this process.

    "auto" leaves small problems, and those of the dense solver, to this process. So do solvers of other libraries,
    which want the matrix or multiply single vectors, each at the cost of a block.
    """
    if not is_host(gram.X):
        return False
    n, chosen = gram.shape[0], options.eigensolver
    if isinstance(chosen, str) and chosen == "auto":
        is_direct = isinstance(options.solver(size=n, k=k, held=True), Dense)
        return not (gram.fits(budget) and (n <= ROWS_OF_ONE_PROCESS or is_direct))
    return not isinstance(options.solver(size=n, k=k, held=False), (Dense, Arpack))
