"""Kernel principal component analysis."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import (
    array_namespace,
    clamp_at_zero,
    in_memory,
    is_chunked,
    is_foreign,
    is_lazy,
    known_rows,
    on_device,
    to_dense,
    to_numpy,
)
from preimage._memory import memory_budget
from preimage._threads import at_most, within_n_jobs
from preimage._validation import (
    Interval,
    StrOptions,
    check_gram,
    check_lazy_points,
    check_parameters,
    check_points,
    check_weights,
    count_rows,
    generator,
    require_in_memory,
    with_weight,
)
from preimage._warnings import warn_user
from preimage.components import principal_subspace
from preimage.eigensolvers import Eigensolver
from preimage.estimators._cross_fit import (
    FOLDS,
    FoldMoments,
    denoised_by_folds,
    needs_folds,
    out_of_fold,
    require_training_set,
    without_fold,
)
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    about_data,
    is_precomputed,
    kernel_and_inputs,
    labelled_kernel,
    named_kernel,
    width_sample,
    with_kernel_tags,
    without_origin,
)
from preimage.estimators._landmark_fit import (
    fit_landmarks,
    on_host,
    through_device,
    too_large_for_exact,
    update_landmarks,
)
from preimage.estimators._preimages import PreimageMixin, axes_machine, points_of
from preimage.estimators._queries import check_queries
from preimage.feature_space import Gram
from preimage.landmarks import LandmarkSelector
from preimage.persistence import Saved
from preimage.solvers import LearnedMap, Preimage, TargetSolver, as_preimage, free_length_preimages
from preimage.solvers._learned import training_sample
from preimage.solvers._walks import as_linear_functions, basis_images

# scikit-learn's names of eigensolvers, and ours.
SKLEARN_SOLVERS = {"auto": "auto", "dense": "dense", "arpack": "arpack", "randomized": "block_krylov"}


def _knows_new_points(estimator):
    """Scores need k(x, x) of new points, which precomputed kernels lack."""
    return not is_precomputed(estimator.kernel)


class KernelPCA(PreimageMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Saved, BaseEstimator):
    r"""Kernel principal component analysis: exact, or on landmarks for any number of rows.

    Takes the place of `sklearn.decomposition.KernelPCA`: its parameters and attributes are understood. One default
    differs: `kernel` is "rbf" here and "linear" there.

    Diagonalises the covariance of :math:`\varphi(x_1) \dots \varphi(x_n)` in feature space through the centred Gram
    matrix, :math:`H K H u = \lambda u` [1]_. The axes :math:`V = \sum_i \alpha_i \varphi(x_i)`,
    :math:`\alpha = u / \sqrt\lambda`, have length one, and the coordinates of a point are
    :math:`\beta(x) = \langle V, \varphi(x) - \bar\varphi \rangle`.

    Only the wanted components are computed, by block Krylov iteration on all cores. When the Gram matrix does not fit
    `max_memory` it is computed again, block by block, in each of a few passes: slower, but with the same result.

    With `landmarks`, all axes lie in the span of the images of a few points that a selector chooses: one pass over the
    data, memory and model of the size of the landmarks, and a measured residual that says what was left out
    (`landmarks_.residual_share`). X may then be a memory map, a Dask array (transforms stay lazy), or an iterator of
    blocks, and `partial_fit` learns from a stream.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        Number of components; or the fraction of the variance they must explain; or None for all. In each case only
        components whose coordinates the data determine: rounding errors move those of new points by at most about
        1e-6 of their standard deviation (1e-2 in float32).
    kernel : str, callable or Kernel, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed", ...), a function
        ``k(x, y)``, or a `Kernel` of `preimage.kernels`, which carries its own parameters.
    gamma : float, None, "auto", "scale", "median", a percentile such as "p5" or a rule for labels, default=None
        Width of named kernels; None is 1 / n_features. See `preimage.kernels.resolve_gamma`. With labels,
        ``fit(X, y)``, also "enclosing_ball", "mean_distance", "alignment" and others of
        `preimage.widths.class_width`, which place class means far apart.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Keyword arguments of a kernel given as a function.
    landmarks : None, int, str or LandmarkSelector, default=None
        None is exact. A number m means ``AutoLandmarks(m)``: centres of m clusters, or rows where inputs cannot be
        averaged. "rpcholesky", "sparse_greedy", "kmeans", "uniform", "pivoted_cholesky" and selectors of
        `preimage.landmarks` choose otherwise, and may stop at a tolerance on what is left. "auto" is exact up to
        20,000 rows if the Gram matrix fits `max_memory`, and 1,000 landmarks otherwise; `route_` says which.
    fit_inverse_transform : bool or None, default=None
        None goes back by `preimage`, which needs no fitting in advance. True learns a map from coordinates to inputs:
        ``preimage="learned"``, or, when `alpha` is given, exactly scikit-learn's estimate. With False
        `inverse_transform` raises `NotFittedError`, as there.
    alpha : float or None, default=None
        Ridge of the learned map of ``fit_inverse_transform=True``, with the kernel of the model on coordinates, which
        must be one for any number of columns; None chooses both.
    eigensolver : {"auto", "dense", "block_krylov", "arpack"} or Eigensolver, default="auto"
        "auto" takes the dense solver for small matrices and for a large part of all components.
    eigen_solver : {"auto", "dense", "arpack", "randomized"} or None, default=None
        scikit-learn's spelling; "randomized" is block Krylov iteration, which goes on to its tolerance.
    iterated_power : int or "auto", default="auto"
        Understood for scikit-learn's sake: power iterations of its randomized solver, which has no need of them here.
    remove_zero_eig : bool or None, default=None
        Components that the data do not determine are left out, with a warning when a larger number was asked for.
        False keeps `n_components` columns all the same, filled with zeros.
    n_jobs : int or None, default=None
        Most threads to use; None and -1 use all that BLAS may use.
    copy_X : bool, default=True
        Whether the model keeps a copy of X. With False it may keep X itself, which must not be changed then.
    preimage : str or Preimage, default="auto"
        How `inverse_transform` and `denoise` go back to input space. "auto" works for every kernel that has inputs:
        reconstruction by a learned map, denoising by the fixed point where the kernel has one, by descent where it has
        a gradient, by the learned map otherwise. Or one solver for both: "fixed_point", "gradient",
        "distance_constraint", "weighted_mean", "conformal", "learned", "sparse", "exact", or a solver of
        `preimage.solvers` with its parameters, such as ``FixedPoint(penalty=0.01)``.
    tol : float or None, default=None
        Relative residual of the eigenpairs that iterative solvers must reach; None is 1e-6 in float64 and 5e-5 in
        float32 (errors of eigenvalues are about the square of it).
    max_iter : int or None, default=None
        Iteration limit of iterative solvers.
    max_memory : int, str or None, default=None
        Memory for the Gram matrix, in bytes or as "1GB"; None is half of what is free on the device of the data.
    device : str or None, default=None
        "cuda" sends NumPy data through a GPU (PyTorch or CuPy) and brings results back as NumPy. None computes where
        the data are.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the start vectors of iterative solvers, on which results depend to the tolerance only, and of the
        choice of landmarks. Selectors given as objects have a seed of their own.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components_,)
        Eigenvalues λ of the centred Gram matrix, descending (by modulus for indefinite kernels).
    explained_variance_ : array of shape (n_components_,)
        Variance λ/n of each component on the training set.
    explained_variance_ratio_ : array of shape (n_components_,)
        Share of the total variance in feature space, from the exact trace.
    n_components_ : int
        Components kept: those asked for, or fewer when the data have a lower rank.
    eigenvectors_ : array of shape (n, n_components_)
        Unit eigenvectors of the centred Gram matrix; exact route only.
    X_fit_ : array of shape (n, d)
        The points that the axes are made of: the training set, or the landmarks.
    dual_coef_ : array of shape (n, d)
        Weights of the learned map, where it answers `inverse_transform`.
    gamma_ : float
        Width of the kernel, where it has one; 1 / n_features otherwise.
    subspace_ : Subspace
        The axes and the mean in feature space.
    kernel_ : Kernel
        The kernel with its parameters fixed. A linear kernel on data far from the origin is evaluated about their mean.
    preimage_ : Preimage
        The pre-image solver, with what it learns from the training set; for "auto", its `reconstruction` and
        `projection` say which solver answers which question.
    route_ : {"exact", "landmarks"}
    landmarks_ : Landmarks or None
        The landmarks and what they leave of the kernel; None for the exact route.
    n_samples_seen_ : int
        Rows that went into the model.
    eigen_result_ : EigenResult
        Residuals, number of products and reason of stopping of the eigensolver.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.EmpiricalKernelMap : kernel values themselves as features.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
       Neural Computation 10, 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from preimage import KernelPCA
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelPCA(2, gamma=5).fit(X)
    >>> model.transform(X).shape
    (200, 2)
    >>> bool(KernelPCA(0.9, gamma=5).fit(X).explained_variance_ratio_.sum() >= 0.9)
    True
    """

    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        **KERNEL_CONSTRAINTS,
        "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, None],
        "fit_inverse_transform": ["boolean", None],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "eigensolver": [str, Eigensolver],
        "eigen_solver": [StrOptions(set(SKLEARN_SOLVERS)), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean", None],
        "n_jobs": [Integral, None],
        "copy_X": ["boolean"],
        "preimage": [str, Preimage],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
        "device": [str, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1.0,
        kernel_params=None,
        landmarks=None,
        fit_inverse_transform=None,
        alpha=None,
        eigensolver="auto",
        eigen_solver=None,
        iterated_power="auto",
        remove_zero_eig=None,
        n_jobs=None,
        copy_X=True,
        preimage="auto",
        tol=None,
        max_iter=None,
        max_memory=None,
        device=None,
        random_state=0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.eigensolver = eigensolver
        self.eigen_solver = eigen_solver
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.n_jobs = n_jobs
        self.copy_X = copy_X
        self.preimage = preimage
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.device = device
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Find the principal axes of X in feature space.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel. With `landmarks`, also a memory map, a Dask
            array, or an iterator of arrays, which is read once (see `partial_fit`).
        y : array of shape (n,), optional
            Class labels for a rule that finds the width from class means, such as ``gamma="enclosing_ball"``; ignored
            otherwise.
        sample_weight : array of shape (n,), optional
            How often each row counts: a row of weight two is as good as two of it, one of weight zero as none. Without
            weights are: the map that `inverse_transform` learns, and on landmarks rules for `gamma` and selectors.

        Returns
        -------
        self
        """
        if hasattr(X, "__next__"):
            if sample_weight is not None:
                raise ValueError(
                    "An iterator of blocks has no sample_weight; call partial_fit(block, sample_weight=w)."
                )
            return self._fit_stream(X)
        self._fit(X, y, sample_weight)
        return self

    @within_n_jobs
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from a further batch of rows, on landmarks.

        The first batch fixes the width of the kernel and gives the first landmarks; later ones add landmarks while they
        are fewer than the selector's `n_landmarks` and leave more of the kernel on the batch than its `tolerance`
        (0.001 if it has none). What earlier batches had along later landmarks alone is not known any more and counts
        as zero: shuffle a sorted stream, or begin with a large batch. Where landmarks do not change, any split of the
        data gives the same model. Once all landmarks are in use, a batch that they leave out to a large part brings a
        warning. After an exact `fit` it begins anew, with a warning. Pre-image solvers that learn do so on the
        landmarks.

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
        """
        self._check_settings()
        rng = generator(self.random_state)
        if getattr(self, "route_", None) == "exact":
            warn_user(
                "This KernelPCA was fitted exactly, which cannot be continued: partial_fit begins anew. Fit it with "
                "landmarks=... to continue from there.",
                UserWarning,
            )
        if not hasattr(self, "_landmark_model"):
            kernel, X, weights = self._landmark_inputs(X, y, sample_weight)
            model = fit_landmarks(
                kernel, X, self.landmarks, self._wanted(), rng, self.device, weights, self._keeps_zeros()
            )
            self._adopt(model, model.landmarks.points, X.shape[0])
            return self
        X = known_rows(self._check_inputs(X))
        weights = check_weights(self, in_memory(sample_weight), X.shape[0])
        if weights is not None and not is_lazy(X):
            X, weights = with_weight(self, X, weights, least=1)
        rng = np.random.default_rng([int(rng.integers(2**32)), self.n_samples_seen_])
        model = update_landmarks(
            self._landmark_model, X, self.landmarks, self._wanted(), rng, self.device, weights, self._keeps_zeros()
        )
        self._adopt(model, model.landmarks.points, self.n_samples_seen_ + X.shape[0])
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit, and return the coordinates of X; equal to ``fit(X).transform(X)`` for the price of `fit` alone."""
        if hasattr(X, "__next__"):
            raise ValueError(
                "An iterator of blocks can be read once only: call fit(blocks), then transform blocks one by one."
            )
        scores = self._fit(X, y, sample_weight)
        return self.transform(X) if scores is None else scores

    def transform(self, X):
        """Coordinates of X along the principal axes, shape (q, n_components_); lazy for a Dask array."""
        X = self._check_inputs(X)
        if self.device is not None and not is_foreign(X):
            return through_device(self.subspace_, self.device)(X)
        with at_most(self.n_jobs):
            return self._map(self.subspace_.coordinates, X)

    inverse_transform = within_n_jobs(PreimageMixin.inverse_transform)
    find_preimages = within_n_jobs(PreimageMixin.find_preimages)

    @within_n_jobs
    def denoise(self, X, *, n_components=None, cross_fit=None):
        r"""Project X on the subspace, through the mean, and go back to input space, starting at X.

        Rows of the training set have their own noise in the subspace, and the more components there are, the less of it
        goes: with all of them, rows come back as they are. ``cross_fit=5`` denoises those rows by five models with the
        same kernel and parameters, each fitted to the other four fifths; other rows are new to the model, and their
        results do not change. With components that are many for the number of rows this is much better, with few it is
        worse, because models of fewer rows are: `preimage.model_selection.DenoisingSearch` estimates which.

        Parameters
        ----------
        X : array of shape (q, d)
        n_components : int or None, default=None
            How many of the leading components to project on; None is all.
        cross_fit : int, "auto", array of shape (n,) or None, default=None
            Number of folds, drawn with `random_state`; "auto" is five where there are more components than a twelfth of
            the rows, and None otherwise; or a label for each row of the training set, such as the run of a scan, and
            each label is a fold. Copies of a row are in one fold. Models of folds are fitted anew at each
            call, those that X needs. None projects all rows on the same subspace.

            On landmarks the model has no rows to recognise: X must then be the whole training set, in memory or lazy,
            is read once more, and `cross_fit` is a number.

        Returns
        -------
        array of shape (q, d)
            Lazy for a Dask array, without a warning where solvers do not converge.
        """
        X = self._check_inputs(X)
        if isinstance(cross_fit, str) and cross_fit == "auto":
            count = self.n_components_ if n_components is None else self._leading(n_components, self.n_components_)
            cross_fit = FOLDS if needs_folds(count, self.n_samples_seen_) else None
        if cross_fit is None:  # not super().denoise: warnings should name the line of the user
            return self._lazily_denoised(X, n_components) if is_lazy(X) else points_of(self._denoised(X, n_components))
        count = None if n_components is None else self._leading(n_components, self.n_components_)
        self._require_inputs()
        if self.route_ == "landmarks":
            solve = self._fold_solver(X, cross_fit, count)
        else:
            models = out_of_fold(self, cross_fit)
            models = models.prepared() if is_lazy(X) else models
            solve = lambda rows: models.solve(rows, count)
        return self._map(lambda rows: solve(rows).points, X) if is_lazy(X) else points_of(solve(X))

    def component_preimages(self, n_components=None):
        """Inputs whose images point along the axes, of either sign, shape (n_components, d): pictures of components.

        For a kernel without a gradient, the training points whose images do so best.
        """
        check_is_fitted(self)
        self._require_inputs()
        axes = self._leading_axes(n_components)
        directed = int(np.sum(to_numpy(self.eigenvalues_) != 0))
        if len(axes) > directed:
            raise ValueError(
                f"Only the first {directed} of {len(axes)} components have a direction; the others are zeros, kept by "
                f"remove_zero_eig=False. Ask for component_preimages({directed})."
            )
        solver = self.preimage_ if isinstance(self.preimage_, TargetSolver) else None
        return free_length_preimages(as_linear_functions(axes), solver)[0]

    def component_images(self, n_components=None):
        r"""Projections of the mapped basis vectors on the axes, shape (n_components, d).

        Entry (j, i) is :math:`\langle V_j, \varphi(e_i) \rangle`: for a linear kernel the principal axis itself.
        """
        check_is_fitted(self)
        self._require_inputs()
        return basis_images(self._leading_axes(n_components), self.n_features_in_)

    def reconstruction_error(self, X, diagonal=None, *, n_components=None):
        r"""Squared distance of :math:`\varphi(x)` to the principal subspace, shape (q,): a novelty score.

        :math:`\|\varphi(x) - P\varphi(x)\|^2 = \tilde k(x, x) - \sum_j \beta_j(x)^2`; zero for training points when all
        components are kept, large for points unlike the training set.

        Parameters
        ----------
        X : array of shape (q, d)
        diagonal : array of shape (q,), optional
            k(x, x), needed for precomputed kernels only.
        n_components : int or None, default=None
            How many of the leading components span the subspace; None is all.
        """
        X = self._check_inputs(X)
        if diagonal is not None and is_lazy(X):
            raise TypeError("`diagonal` is for precomputed kernels, whose values must be in memory; X is lazy.")
        subspace = self._leading_subspace(n_components)
        settle = clamp_at_zero if subspace.signature is None else lambda residuals: residuals
        return self._map(lambda rows: settle(subspace.residuals(rows, diagonal)), X)

    @available_if(_knows_new_points)
    def score_samples(self, X, *, n_components=None):
        """Minus `reconstruction_error`: the higher, the more like the training set, as in scikit-learn's detectors."""
        return -self.reconstruction_error(X, n_components=n_components)

    def _fit(self, X, y=None, sample_weight=None):
        self._check_settings()
        with at_most(self.n_jobs):
            if self._wants_landmarks(X):
                kernel, X, weights = self._landmark_inputs(X, y, sample_weight)
                rng = generator(self.random_state)
                model = fit_landmarks(
                    kernel, X, self.landmarks, self._wanted(), rng, self.device, weights, self._keeps_zeros()
                )
                self._adopt(model, X, X.shape[0])
                return None
            return self._fit_exactly(X, y, sample_weight)

    def _fit_exactly(self, X, y, sample_weight):
        kernel, X = kernel_and_inputs(
            self, X, y, min_samples=2, sample_weight=sample_weight, centered=True, copy=self.copy_X
        )
        points, weights = kernel.inputs(X), check_weights(self, sample_weight, X.shape[0])
        if weights is not None:
            points, weights = with_weight(self, points, weights)
        self.kernel_ = about_data(kernel, points)
        there = points
        if self.device is not None and not is_foreign(points):
            there = on_device(to_dense(points), self.device)
        gram = Gram(self.kernel_, there)
        budget = memory_budget(self.max_memory, there)
        if gram.fits(budget):
            gram = gram.held()
        result = principal_subspace(
            gram,
            self._wanted(),
            generator(self.random_state),
            weights=weights,
            eigensolver=self._solver_name(),
            tol=self.tol,
            max_iter=self.max_iter,
            max_bytes=budget,
            with_zeros=self._keeps_zeros(),
        )
        self.__dict__.pop("_landmark_model", None)
        self.route_, self.landmarks_ = "exact", None
        result = result if there is points else on_host(result)
        self._store(result, points, points.shape[0])
        return result.scores

    def _fold_solver(self, X, n_folds, n_components):
        """A function from rows of X, the training set, to their results, on landmarks."""
        if not isinstance(n_folds, Integral) or n_folds < 2:
            raise ValueError(f"cross_fit must be a number of folds, at least 2, on landmarks; got {n_folds!r}.")
        model, n_folds = self._landmark_model, int(n_folds)
        found = FoldMoments.of(model.kernel, model.landmarks.points, X, n_folds)
        require_training_set(found, model, type(self).__name__)
        subspaces = found.subspaces(self._wanted() if n_components is None else n_components)
        # Solvers that learn do so on landmarks of other folds: more rows than these the model does not keep.
        solvers = {
            fold: self._way_back_solver().fit(subspace, rows).ready(subspace, with_start=True)
            for fold, subspace, rows in without_fold(subspaces, model.landmarks.points, n_folds)
        }
        return lambda rows: denoised_by_folds(solvers, subspaces, n_folds, rows)

    def _fit_stream(self, blocks):
        """Learn from an iterator of blocks, from the start."""
        model = clone(self)  # a block that fails leaves this one as it was
        for block in blocks:
            model.partial_fit(block)
        if not hasattr(model, "_landmark_model"):
            raise ValueError("KernelPCA was given an iterator without a single block of rows.")
        parameters = self.get_params(deep=False)
        self.__dict__.update({name: value for name, value in vars(model).items() if name not in parameters})
        return self

    def _wants_landmarks(self, X):
        check_parameters(self)
        if self.landmarks is None:
            advice = "Give landmarks=500, say, to fit a Dask array, or pass X.compute()."
            require_in_memory(X, "Exact kernel PCA needs all rows", advice)
        if self.landmarks is None or self.landmarks != "auto" or is_chunked(X):
            return self.landmarks is not None
        return too_large_for_exact(count_rows(X), memory_budget(self.max_memory, X))

    def _landmark_inputs(self, X, y=None, sample_weight=None):
        """The kernel resolved on some rows of X, X as the kernel takes it, and weights, all validated."""
        self._check_settings()
        check = check_lazy_points if is_lazy(X) else check_points
        X = check(self, X, reset=True, min_samples=2)
        kernel = named_kernel(self)
        if kernel.points_are_row_numbers:
            advice = "Give KernelPCA the kernel itself and the inputs, or pass X.compute()."
            require_in_memory(X, "A precomputed kernel needs its matrix", advice)
            kernel = kernel.resolve(check_gram(self, X))
            return kernel, *self._weighted_rows(kernel.inputs(X), sample_weight)
        X, weights = self._weighted_rows(X, sample_weight)
        kernel = labelled_kernel(self, kernel, X, y)
        sample = width_sample(kernel, X, generator(self.random_state))
        return about_data(kernel.resolve(sample), X), X, weights

    def _weighted_rows(self, X, sample_weight):
        weights = check_weights(self, in_memory(sample_weight), X.shape[0])
        return (X, weights) if weights is None or is_lazy(X) else with_weight(self, X, weights)

    def _adopt(self, model, X, n_rows):
        self.kernel_ = model.kernel
        if is_lazy(X):
            X = training_sample(X) if self._way_back_solver().learns else model.landmarks.points
        self._store(model.principal, X, n_rows)
        self._landmark_model = model
        self.route_, self.landmarks_ = "landmarks", model.landmarks

    def _store(self, result, X, n_rows):
        solver = self._way_back_solver()
        # A precomputed kernel has no inputs to go back to; `inverse_transform` says so.
        self.preimage_ = solver if is_precomputed(self.kernel_) else solver.fit(result.subspace, X)
        self.subspace_ = result.subspace
        self.eigenvalues_ = result.eigenvalues
        self.explained_variance_ = result.variances
        self.explained_variance_ratio_ = result.shares
        self.n_components_ = len(result.subspace)
        self.n_samples_seen_ = int(n_rows)
        self.eigen_result_ = result.eigen

    def _way_back_solver(self):
        """The solver that `preimage`, or `fit_inverse_transform` and `alpha`, ask for."""
        if not self.fit_inverse_transform:
            return as_preimage(self.preimage)
        if self.alpha is None:
            return as_preimage("learned")
        return LearnedMap(kernel=without_origin(self.kernel_), ridge=float(self.alpha), center=False, max_rows=None)

    def _check_settings(self):
        """Parameters, each and together."""
        check_parameters(self)
        if self.fit_inverse_transform and self.preimage not in ("auto", "learned"):
            raise ValueError(
                f"KernelPCA was given fit_inverse_transform=True, which learns a map to inputs, and preimage="
                f"{self.preimage!r}, another way back. Leave one of them out."
            )
        if self.fit_inverse_transform and is_precomputed(self.kernel):
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel: it has no inputs to go back to. Give "
                "KernelPCA the kernel itself and the inputs."
            )
        kernel = named_kernel(self)
        if self.fit_inverse_transform and self.alpha is not None and kernel.is_bound_to_columns:
            raise ValueError(
                "The map of `alpha`, scikit-learn's, evaluates the kernel on coordinates, which have columns and "
                f"values of their own; {kernel!r} takes inputs like the training set alone. Leave `alpha` out, or use "
                "preimage='learned', which chooses a kernel on coordinates."
            )

    def _solver_name(self):
        if self.eigen_solver is None:
            return self.eigensolver
        if self.eigensolver != "auto":
            raise ValueError(
                f"KernelPCA was given eigensolver={self.eigensolver!r} and eigen_solver={self.eigen_solver!r}, two "
                "spellings of one parameter. Leave one of them out."
            )
        return SKLEARN_SOLVERS[self.eigen_solver]

    def _require_inputs(self):
        super()._require_inputs()
        if self.fit_inverse_transform is False:
            raise NotFittedError(
                "This KernelPCA was fitted with fit_inverse_transform=False, so it has no way back to inputs. Leave "
                "the parameter out, or set it to True, and fit again."
            )

    @property
    def eigenvectors_(self):
        self._require_fitted("eigenvectors_")
        if self.route_ != "exact":
            raise AttributeError("eigenvectors_ belong to the Gram matrix of all rows; this KernelPCA has landmarks.")
        xp = array_namespace(self.eigenvalues_)
        vectors = self.subspace_.frame.coefficients * xp.sqrt(xp.abs(self.eigenvalues_))
        # The mean has the weights of rows as coefficients: √w of (S3) is part of the axes, not of unit eigenvectors.
        weights = self.subspace_.origin.coefficients * self.eigenvalues_[0] / self.explained_variance_[0]
        return vectors / xp.sqrt(weights)

    @property
    def X_fit_(self):
        self._require_fitted("X_fit_")
        return self.subspace_.frame.points

    @property
    def dual_coef_(self):
        self._require_fitted("dual_coef_")
        if not self.fit_inverse_transform:
            raise AttributeError("dual_coef_ are weights of a learned map; fit with fit_inverse_transform=True.")
        if not hasattr(self.preimage_, "weights"):
            raise AttributeError("This KernelPCA was fitted without fit_inverse_transform=True; fit it again.")
        return self.preimage_.weights

    @property
    def gamma_(self):
        self._require_fitted("gamma_")
        return getattr(self.kernel_.unshifted()[0], "gamma", 1 / self.n_features_in_)

    def _require_fitted(self, attribute):
        if not hasattr(self, "subspace_"):
            raise AttributeError(f"This KernelPCA is not fitted yet and has no {attribute}; call fit first.")

    def _wanted(self):
        return _plain_number(self.n_components)

    def _keeps_zeros(self):
        return self.remove_zero_eig is False

    def _kernel_machine(self):
        return axes_machine(self)

    def _check_inputs(self, X):
        check_is_fitted(self)
        return check_queries(self, X, self.subspace_.frame.coefficients)

    def _leading_axes(self, n_components):
        return self._leading_subspace(n_components).frame

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)


def _plain_number(n_components):
    """An int, a float or None, whatever scalar type of NumPy came."""
    if n_components is None:
        return None
    return int(n_components) if isinstance(n_components, Integral) else float(n_components)
