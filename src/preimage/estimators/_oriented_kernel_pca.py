"""Oriented kernel PCA."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, is_lazy, own_copy, take_rows
from preimage._engine.memory import require_square_matrices
from preimage._engine.progress import reports_progress
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    check_lazy_points,
    check_parameters,
    check_points,
    check_same_device,
    check_weights,
    generator,
    with_weight,
)
from preimage._models.components import Noise, coordinate_moments, oriented_features
from preimage.estimators._kernel_input import (
    about_data,
    gives_points,
    is_precomputed,
    kernel_and_inputs,
    landmark_inputs,
    selected,
    uses_landmarks,
)
from preimage.estimators._preimages import TRANSFORMER_CONSTRAINTS, ExpansionFeatures
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Subspace
from preimage.invariances import TangentCovariance, Transformation, as_tangent_covariance
from preimage.landmarks import LandmarkSelector
from preimage.solvers import Auto, Gradient, Preimage, as_preimage

# Matrices of all pairs of expansion points that a fit holds at its peak, measured: kernel values, the frame, moments of
# signal and noise, and the work arrays of their decompositions.
MATRICES = 11
# Rows of a memory map or Dask array among which landmarks are chosen, with what their noise is made of. Selectors look
# at about half as many themselves; ten times more would have to come here from a cluster.
CANDIDATE_ROWS = 10_000


class OrientedKernelPCA(ExpansionFeatures):
    r"""Features that vary over the data, but not with what is known to be noise.

    Maximises [1]_

    .. math:: J(w) = \frac{\langle w, C w\rangle}{\langle w, S_N w\rangle + \alpha \|w\|^2}

    over :math:`w = \sum_i a_i \varphi(z_i)`, and again among those with
    :math:`\langle w, (S_N + \alpha) w'\rangle = 0`. C is the covariance of the images of the data.
    The noise :math:`S_N` is the sum of what is given of

    - the tangent covariance T of transformations that should not matter (`invariances`),
    - the covariance of the images of samples of noise (``fit(X, noise_samples=...)``),
    - the mean of :math:`(\varphi(x) - \varphi(x'))(\varphi(x) - \varphi(x'))^\top` over pairs that should look alike
      (``fit(X, pairs=X_noisy)``).

    Without any of them it is kernel PCA. Features are scaled to noise and ridge one: their variances are the ratios
    J, so Euclidean distances between features count differences in units of the noise.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of features; None gives all that the data determine, as `KernelPCA` does.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`; precomputed kernels are not possible.
    landmarks : None, int, str, LandmarkSelector, or array of shape (m, d), default=None
        The expansion points z, or how to choose them. None takes X and what the noise is made of: transformed rows,
        noise samples, partners. On these the maximum is that of all of feature space (for transformations up to the
        step of differences), and its cost grows with the third power of their number; where their matrices take more
        than half of the free memory, `fit` refuses them. A number or a selector chooses among the same rows, and "auto"
        does so as in `KernelPCA`: from 20,000 of them on, or where their Gram matrix does not fit into memory. An array
        contains the points, for instance ``VirtualExamples(...).points(X, 500)``.
    invariances : TangentCovariance, Transformation, callable, list of them, or None, default=None
        Transformations under which features should not change: ``Rotate((16, 16))``, a list, a function (X, t), or a
        ``preimage.invariances.TangentCovariance``, which says how derivatives are taken.
    alpha : float, default=1e-3
        Weight α > 0 of the squared length of w. C is a mean, so that for Gaussian kernels its trace is at most one.
    preimage : str or Preimage, default="auto"
        How `inverse_transform` and `denoise` find pre-images; names as in `KernelPCA`, but "auto" denoises by
        descent. "fixed_point" is slow here: invariant features have large coefficients of both signs, which make its
        steps short.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the choice of landmarks. Selectors given as objects have their own seed.

    Attributes
    ----------
    ratios_ : array of shape (`n_components_`,)
        J of each feature, descending: its variance on the training set.
    noise_variances_ : array of shape (`n_components_`,)
        ⟨w, S_N w⟩ of each feature, at most one; the rest up to one is ridge. For transformations it is the mean
        squared derivative of the feature along them.
    expansion_ : Expansion
        The features w as vectors of feature space. They are not orthogonal.
    offset_ : array of shape (`n_components_`,)
        ⟨w, mean⟩: ``transform(X)`` is ``expansion_(X) - offset_``.
    subspace_ : Subspace
        The mean, and an orthonormal frame V of the span of the features, for pre-images.
    mixing_ : array of shape (`n_components_`, `n_components_`)
        Upper triangular R with w = V R: features are coordinates in `subspace_` times R.
    n_components_ : int
    kernel_ : Kernel
        The kernel with its parameters fixed. Without landmarks a linear kernel on data far from the origin is evaluated
        about their mean, on which features do not depend. A span of landmarks that do not span the inputs does depend
        on it, so that with landmarks rounding errors grow with the offset of the data: center them.
    preimage_ : Preimage
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelPCA : All directions count as equally noisy.
    preimage.invariances.TangentCovariance : How derivatives along transformations are taken.
    preimage.invariances.TranslateX : One of the transformations of images.
    KernelFisherDiscriminant : Invariances for classifiers.

    References
    ----------
    .. [1] S. Mika et al., "Invariant feature extraction and classification in kernel spaces",
       NIPS 12, 1999.

    Examples
    --------
    On two rings, the feature that does not change with rotations is the radius:

    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from preimage import OrientedKernelPCA
    >>> def rotate(X, angle):
    ...     c, s = np.cos(angle), np.sin(angle)
    ...     return X @ np.array([[c, s], [-s, c]])
    >>> X, y = make_circles(100, factor=0.5, noise=0.05, random_state=0)
    >>> model = OrientedKernelPCA(1, gamma=4, invariances=rotate).fit(X)
    >>> feature = model.transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(feature, np.linalg.norm(X, axis=1))[0, 1]) > 0.98)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        **TRANSFORMER_CONSTRAINTS,
        "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, "array-like", object, None],
        "invariances": [TangentCovariance, Transformation, callable, list, tuple, None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        landmarks: Any = None,
        invariances: Any = None,
        alpha: float = 1e-3,
        preimage: str | Preimage = "auto",
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
        self.invariances = invariances
        self.alpha = alpha
        self.preimage = preimage
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(
        self,
        X: Rows,
        y: Targets = None,
        sample_weight: Targets = None,
        *,
        noise_samples: Rows = None,
        pairs: Any = None,
    ) -> "OrientedKernelPCA":
        """Find the features of X that stand out from the noise.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The signal. With `landmarks`, a memory map or a Dask array is read block by block, once for the signal and
            once for each kind of noise; so are `noise_samples` and `pairs`. Landmarks are then chosen among 10,000 of
            the rows, and what their noise is made of.
        y : array of shape (n,), optional
            Class labels for a rule that finds the width from class means, such as ``gamma="enclosing_ball"``; ignored
            otherwise.
        sample_weight : array of shape (n,), optional
            How often each row of X counts, with its partner where pairs are partners of X: a row of weight two counts
            as two copies of it, one of weight zero is left out. Selectors of landmarks look at rows without weights.
        noise_samples : array of shape (p, d), optional
            Points that vary like the noise alone: measurements of one object, or of nothing.
        pairs : array of shape (n, d), or two arrays of shape (p, d), optional
            Partners of the rows of X, in their order, from which features should not tell them apart: the same things
            measured or disturbed again. Two arrays are pairs of their own.

        Returns
        -------
        self
        """
        check_parameters(self)
        if is_precomputed(self.kernel):
            raise UnsupportedKernelError(
                "OrientedKernelPCA compares the data with noise and with transformed data, for which a precomputed "
                "kernel has no values. Give it the kernel itself and the inputs."
            )
        in_blocks = is_lazy(X) and self._chooses_points(X)
        rows_of = self._rows_elsewhere if in_blocks else self._rows_in_memory
        X, weights, noise = rows_of(X, y, sample_weight, noise_samples, pairs)
        points = self._few_points(X, weights, noise) if in_blocks else self._expansion_points(X, noise)
        advice = "Give landmarks=1000, say."
        require_square_matrices("Oriented kernel PCA", points.shape[0], MATRICES, points, advice)
        space = Subspace.span(self.kernel_, points, who="Oriented kernel PCA")
        signal = coordinate_moments(space, X, weights)
        scatter = noise.moment(space, X, weights)
        found = oriented_features(space, signal, scatter, float(self.alpha), self.n_components, points=points)
        narrow = self._store_features(found, as_preimage(self.preimage, Auto(Gradient())), X, X.dtype)
        self.ratios_, self.noise_variances_ = narrow(found.ratios), narrow(found.noise)
        self.mixing_ = narrow(found.mixing)
        return self

    def _rows_in_memory(
        self, X: Rows, y: Targets, sample_weight: Targets, noise_samples: Rows, pairs: Any
    ) -> tuple[Array, np.ndarray | None, Noise]:
        """Rows of positive weight, their weights, and the noise; partners of X have the weights of its rows."""
        self.kernel_, X = kernel_and_inputs(self, X, y, min_samples=2, sample_weight=sample_weight)
        weights = check_weights(self, sample_weight, X.shape[0])
        are_partners = pairs is not None and not _are_two(pairs)
        if weights is not None:
            if are_partners:
                pairs = take_rows(self._pairs(pairs, X)[1], np.flatnonzero(weights))
            X, weights = with_weight(self, X, weights)
        return X, weights, self._noise(X, noise_samples, pairs, weights if are_partners else None)

    def _rows_elsewhere(
        self, X: Rows, y: Targets, sample_weight: Targets, noise_samples: Rows, pairs: Any
    ) -> tuple[Rows, np.ndarray | None, Noise]:
        """The same for rows that stay where they are, also those of weight zero."""
        inputs = landmark_inputs(self, X, y, sample_weight, about_mean=False)
        self.kernel_, X, weights = inputs.kernel, inputs.X, inputs.weights
        are_partners = pairs is not None and not _are_two(pairs)
        return X, weights, self._noise(X, noise_samples, pairs, weights if are_partners else None)

    def _noise(self, X: Rows, noise_samples: Rows, pairs: Any, pair_weights: np.ndarray | None) -> Noise:
        return Noise(
            None if self.invariances is None else as_tangent_covariance(self.invariances),
            None if noise_samples is None else self._checked(noise_samples, X),
            None if pairs is None else self._pairs(pairs, X),
            pair_weights,
        )

    def _chooses_points(self, X: Rows) -> bool:
        """Whether a fit on lazy rows needs some of them only as expansion points."""
        if self.landmarks is None:
            return False
        return gives_points(self.landmarks) or uses_landmarks("Oriented kernel PCA of all rows", self.landmarks, X)

    def _few_points(self, X: Rows, weights: np.ndarray | None, noise: Noise) -> Array:
        """The points z, chosen among some of the rows and what their noise is made of."""
        if gives_points(self.landmarks):
            return own_copy(check_points(self, self.landmarks, reset=False), self.landmarks)
        rng = np.random.default_rng(int(generator(self.random_state).integers(2**32)))
        numbers = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        if numbers.size > CANDIDATE_ROWS:
            numbers = np.sort(rng.choice(numbers, CANDIDATE_ROWS, replace=False))
        rows, of_rows = noise.sampled(X, numbers, rng)
        return selected(self, self.landmarks, self.kernel_, of_rows.points_with(rows)).points

    def _expansion_points(self, X: Array, noise: Noise) -> Array:
        """The points z; on all rows `kernel_` may then be evaluated about their mean."""
        if gives_points(self.landmarks):
            return own_copy(self._checked(self.landmarks, X), self.landmarks)
        candidates = noise.points_with(X)
        if not uses_landmarks("Oriented kernel PCA of all rows", self.landmarks, candidates):
            # Features with signal are combinations of differences of images, which lie in the span of the images of
            # all points whatever the origin. A span of landmarks changes with the origin, and keeps that of the inputs.
            self.kernel_ = about_data(self.kernel_, X)
            return candidates
        return selected(self, self.landmarks, self.kernel_, candidates).points

    def _pairs(self, pairs: Any, X: Array) -> tuple[Array, Array]:
        two = _are_two(pairs)
        if two and len(pairs) != 2:
            raise ValueError(f"`pairs` is an array of partners of X, or two arrays; got {len(pairs)} of them.")
        left, right = pairs if two else (X, pairs)
        left, right = left if left is X else self._checked(left, X), self._checked(right, X)
        if left.shape[0] != right.shape[0]:
            raise ValueError(f"`pairs` needs a partner for each row; got {left.shape[0]} and {right.shape[0]} rows.")
        return left, right

    def _checked(self, rows: Rows, X: Rows) -> Rows:
        """Rows given with X: validated, and of its array library; with lazy X they may be lazy, too."""
        if is_lazy(X) and is_lazy(rows):
            return check_lazy_points(self, rows, reset=False, min_samples=1)
        rows = check_points(self, rows, reset=False)
        if is_lazy(X):
            return rows
        check_same_device(self, rows, X)
        return rows

    def _in_frame(self, count: int) -> Callable[[Array], Array]:
        """Features are not orthogonal: the point of their span with values Y has coordinates β with βR = Y.

        R is triangular, so that its leading part serves the first features.
        """
        mixing = self.mixing_[:count, :count]
        return lambda Y: array_namespace(Y).linalg.solve(mixing.T, Y.T).T


def _are_two(pairs: Any) -> bool:
    """Whether `pairs` are two arrays, and not the partners of X."""
    return isinstance(pairs, tuple) or (isinstance(pairs, list) and all(np.ndim(rows) == 2 for rows in pairs))
