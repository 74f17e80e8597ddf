"""Projection pursuit and independent components in feature space."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from preimage._engine.arrays import in_memory, to_numpy
from preimage._engine.memory import memory_budget
from preimage._engine.progress import reports_progress
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import Interval, StrOptions, check_parameters, generator
from preimage._engine.warnings import ignored, warn_user
from preimage._models.components import (
    LandmarkModel,
    MomentIndex,
    PrincipalSubspace,
    Pursuit,
    Wanted,
    principal_subspace,
    projection_pursuit,
    pursuit_features,
)
from preimage.estimators._estimator import map_queries
from preimage.estimators._has_landmarks import HasLandmarks, numbered
from preimage.estimators._kernel_input import (
    LANDMARKS,
    Inputs,
    as_selector,
    exact_inputs,
    landmark_inputs,
    selection_rng,
    uses_landmarks,
)
from preimage.estimators._preimages import TRANSFORMER_CONSTRAINTS, ComponentPictures, ExpansionFeatures
from preimage.exceptions import ConvergenceWarning, RankWarning, UnsupportedKernelError
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.landmarks import Landmarks
from preimage.solvers import Preimage, as_preimage


class KernelProjectionPursuit(HasLandmarks, ExpansionFeatures, ComponentPictures):
    r"""Directions in feature space along which a higher moment is extreme: nonlinear projection pursuit and ICA.

    Kernel PCA finds directions of large variance. Here coordinates along its leading axes are made white, z, and among
    their directions those are searched whose projections are least Gaussian [1]_:

    .. math:: \max_{\|w\| = 1} \bigl| E[(w \cdot z)^p] - E[g^p] \bigr|, \qquad g \sim N(0, 1).

    Order four (kurtosis) is large for projections with few large values: sparse causes, outliers, small groups; and
    negative for projections in two groups of about the same size. Order three is skewness. Mixtures of independent
    variables are closer to a Gaussian than these variables themselves, so that extreme directions are estimates of
    independent components.

    Features have mean zero, variance one and no correlations on the training set. With a linear kernel and as many
    components as columns this is independent component analysis by cumulants.

    In many white coordinates *some* direction always has extreme moments, that of a single row in the limit: keep
    `n_principal` small compared with the number of rows, and compare choices by `score` on other rows, as
    ``GridSearchCV`` does. For contrasts that outliers influence less, ``make_pipeline(KernelPCA(10), FastICA())`` has
    others, without pre-images of single features.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions; None is as many as there are principal axes.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`; the kernel must be positive semidefinite on the data.
    n_principal : int, float in (0, 1) or None, default=10
        Principal axes among whose combinations directions are searched: a number, or the fraction of the variance they
        must explain, or all.
    order : int from 3 to 8, default=4
        Order p of the moment.
    extreme : {"both", "largest", "smallest"}, default="both"
        Which moments are searched: the farthest from a Gaussian's to either side, the largest, or the smallest. "both"
        is for independent components. For two or three features that separate classes or large groups take "smallest":
        the largest kurtosis is that of a few rows far out.
    algorithm : {"parallel", "deflation"}, default="parallel"
        "deflation" finds one direction after the other, each the most extreme one that is uncorrelated with those
        before. "parallel" starts there and turns pairs of directions as long as the sum over all directions grows.
    landmarks : None, int, str or LandmarkSelector, default=None
        As in `KernelPCA`. Coordinates of all rows along the principal axes are kept in memory during the search.
    n_starts : int, default=10
        Ascents per direction: there are many local extremes, of which the best is taken.
    preimage : str or Preimage, default="auto"
        How `inverse_transform` and `denoise` find pre-images, as in `KernelPCA`.
    tol : float, default=1e-8
        Relative gain in the moments that ends the search. Directions are accurate to about the root of it.
    max_iter : int, default=200
        Most steps of an ascent, and most sweeps over pairs.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of starts, of iterative eigensolvers and of the choice of landmarks.

    Attributes
    ----------
    contrasts_ : array of shape (`n_components_`,)
        Moment of each feature less that of a Gaussian, the most extreme first: excess kurtosis for order four.
    expansion_ : Expansion
        The directions as vectors of feature space.
    offset_ : array of shape (`n_components_`,)
        ``transform(X)`` is ``expansion_(X) - offset_``.
    subspace_ : Subspace
        The mean, and an orthonormal frame V of the span of the patterns, which say how φ(x) varies with the features.
    mixing_ : array of shape (`n_components_`, `n_components_`)
        Upper triangular R: features Y have the coordinates Y Rᵀ in `subspace_`, where all that they do not say is at
        its mean.
    n_components_, n_principal_ : int
    n_iter_ : int
        Sweeps of the joint search, or steps of the longest ascent.
    kernel_ : Kernel
    landmarks_ : Landmarks or None
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    preimage_ : Preimage
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelPCA : Directions of large variance.
    SparseKernelFeatureAnalysis : Looks for extreme functions among single kernel functions.
    sklearn.decomposition.FastICA : Independent components with other contrasts.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
       Technical Report 44, Max Planck Institute for Biological Cybernetics, 1996, section 7.1.

    Examples
    --------
    Three groups of points. The first feature tells the small one from the others, the second these from each other:

    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from preimage import KernelProjectionPursuit
    >>> X, y = make_blobs([150, 100, 20], centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    >>> model = KernelProjectionPursuit(2, gamma=0.05, n_principal=3).fit(X)
    >>> features = model.transform(X)
    >>> np.abs(np.corrcoef(features.T, [y == 2, y == 0]))[:2, 2:].round(1)
    array([[0.9, 0.3],
           [0. , 0.9]])
    >>> model.contrasts_.round(1)
    array([ 5. , -1.7])
    """

    _takes_objects = True
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        **TRANSFORMER_CONSTRAINTS,
        "n_principal": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "order": [Interval(Integral, 3, 8, closed="both")],
        "extreme": [StrOptions({"both", "largest", "smallest"})],
        "algorithm": [StrOptions({"parallel", "deflation"})],
        "landmarks": LANDMARKS,
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
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
        n_principal: float | None = 10,
        order: int = 4,
        extreme: str = "both",
        algorithm: str = "parallel",
        landmarks: Any = None,
        n_starts: int = 10,
        preimage: str | Preimage = "auto",
        tol: float = 1e-8,
        max_iter: int = 200,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_principal = n_principal
        self.order = order
        self.extreme = extreme
        self.algorithm = algorithm
        self.landmarks = landmarks
        self.n_starts = n_starts
        self.preimage = preimage
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "KernelProjectionPursuit":
        """Find directions of extreme moments of X in feature space.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel. With `landmarks`, also a memory map or a
            Dask array.
        y : array of shape (n,), optional
            Class labels for a rule that finds the width from class means, such as ``gamma="enclosing_ball"``; ignored
            otherwise.
        sample_weight : array of shape (n,), optional
            How often each row counts: a row of weight two counts as two copies of it, one of weight zero is left out.
            Selectors of landmarks look at rows without weights.

        Returns
        -------
        self
        """
        check_parameters(self)
        with ignored(RankWarning):  # axes are a means here: what is missing of them is said of components
            principal, inputs = self._principal(X, y, sample_weight)
        space = principal.subspace
        if space.signature is not None:
            raise UnsupportedKernelError(
                f"KernelProjectionPursuit needs a positive semidefinite kernel; {inputs.kernel!r} has negative "
                "eigenvalues on these data. Iterated(kernel) is positive semidefinite."
            )
        coordinates = map_queries(self, space.coordinates, inputs.X, space.frame.coefficients)
        coordinates = to_numpy(in_memory(coordinates)).astype(np.float64)
        search = lambda white: self._search(white, inputs.weights)
        found = pursuit_features(space, coordinates, search, inputs.weights)
        self.kernel_ = inputs.kernel
        self._store_features(found, as_preimage(self.preimage), inputs.X, space.frame.coefficients.dtype)
        self.mixing_, self.contrasts_ = found.mixing, found.pursuit.moments
        self.n_principal_, self.n_iter_ = len(space), max(found.pursuit.n_iter, 1)
        return self

    def score(self, X: Rows, y: Targets = None) -> float:
        """How extreme the moments of other rows are along the same directions: the mean over features.

        Each feature is scaled to variance one on X first. Differences from a Gaussian's moment count as positive where
        they have the sign that they had on the training set.

        Parameters
        ----------
        X : array of shape (q, d)
            Two different rows at least; estimates of fourth moments need some hundreds.
        y : ignored
        """
        Y = to_numpy(in_memory(self.transform(X))).astype(np.float64)
        index = self._index()
        return index.score(Y, index.signs(to_numpy(self.contrasts_).astype(np.float64) + index.gaussian))

    def _principal(self, X: Rows, y: Targets, sample_weight: Targets) -> tuple[PrincipalSubspace, Inputs]:
        """Kernel PCA, whose landmarks, if any, are stored."""
        wanted = Wanted.of(self.n_principal)
        if uses_landmarks("Projection pursuit on all rows", self.landmarks, X):
            inputs = landmark_inputs(self, X, y, sample_weight)
            rng = selection_rng(self.landmarks, self.random_state)
            selector = as_selector(self.landmarks)
            model = LandmarkModel.fit(inputs.kernel, inputs.X, selector, wanted, rng=rng, weights=inputs.weights)
            self.landmarks_: Landmarks | None = numbered(model.landmarks, inputs.kept)
            return model.principal, inputs
        self.landmarks_ = None
        inputs = exact_inputs(self, X, y, sample_weight, copy=True)
        gram = Gram(inputs.kernel, inputs.X)
        gram = gram.held() if gram.fits(memory_budget(None, inputs.X)) else gram
        return principal_subspace(gram, wanted, generator(self.random_state), weights=inputs.weights), inputs

    def _search(self, white: np.ndarray, weights: np.ndarray | None) -> Pursuit:
        found, asked = white.shape[1], self.n_components
        if asked is not None and asked > found:
            warn_user(
                f"KernelProjectionPursuit was asked for {asked} components; there are {found} principal axes to "
                f"combine (n_principal={self.n_principal!r}), and so many directions.",
                RankWarning,
            )
        pursuit = projection_pursuit(
            white,
            found if asked is None else min(int(asked), found),
            self._index(),
            rng=generator(self.random_state),
            joint=self.algorithm == "parallel",
            weights=weights,
            n_starts=int(self.n_starts),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        if not pursuit.converged:
            warn_user(
                f"The search for directions was ended by max_iter={self.max_iter} while moments still grew by more "
                f"than tol={self.tol:g}. A larger max_iter, or tol, lets it converge.",
                ConvergenceWarning,
            )
        return pursuit

    def _index(self) -> MomentIndex:
        return MomentIndex(int(self.order), self.extreme)

    def _in_frame(self, count: int) -> Callable[[Array], Array]:
        """Features Y have the coordinates Y Rᵀ; R is triangular, so that its leading part serves the first of them."""
        mixing = self.mixing_[:count, :count]
        return lambda Y: Y @ mixing.T

    def _projection(self, subspace: Subspace) -> Callable[[Array], Array]:
        """What the first features say of inputs, the others being at their mean: no orthogonal projection."""
        count = len(subspace)
        features, offset, in_frame = self.expansion_[:count], self.offset_[:count], self._in_frame(count)
        return lambda rows: in_frame(features(rows) - offset)

    def _axes(self, n_components: int | None) -> Expansion:
        """The directions, not the frame of their patterns."""
        return self.expansion_[: self._leading(n_components, self.n_components_)]
