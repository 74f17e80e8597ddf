"""Semi-supervised kernel principal component analysis."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from preimage._engine.arrays import from_device, in_precision, is_chunked, take_rows
from preimage._engine.memory import require_square_matrices
from preimage._engine.progress import reports_progress
from preimage._engine.removed import ignores_removed
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import Interval, StrOptions, check_parameters, check_weights, with_weight
from preimage._models.components import (
    FeatureSample,
    SemiSupervisedSubspace,
    semi_supervised_subspace,
)
from preimage.estimators._has_landmarks import HasLandmarks, numbered
from preimage.estimators._kernel_input import LANDMARKS, is_auto, kernel_and_inputs, selected, uses_landmarks
from preimage.estimators._preimages import TRANSFORMER_CONSTRAINTS, PreimageTransformer
from preimage.exceptions import UnsupportedKernelError
from preimage.landmarks import Landmarks
from preimage.solvers import Auto, Gradient, Preimage, as_preimage

# Points up to which landmarks="auto" decomposes the Gram matrix of all rows: 0.2 s for each component at this size, and
# a thousand times as long at ten times as many points. Beyond, so many landmarks: coordinates tell classes apart as
# well, on eight sets of 1,800 to 3,000 rows, and ten times as many would take longer than all rows do.
MOST_DENSE, FEW = 1000, 300
# Matrices of all pairs of points that decompositions hold at once.
DENSE_MATRICES = 6
# Names of targets of the classes on each component; see `SemiSupervisedKernelPCA`.
ENCODINGS = ("auto", "two_class", "first", "one_vs_rest")


class SemiSupervisedKernelPCA(HasLandmarks, PreimageTransformer):
    r"""Kernel PCA whose axes are biased towards the labels of a part of the points.

    Component n minimises [1]_

    .. math:: \|f\|^2 + c \sum_{i \text{ labelled}} (f(x_i) - t_i)^2 \quad\text{subject to}\quad
              \frac1n \sum_i (f(x_i) - \bar f)^2 = \sigma^2, \quad f \perp f_1, \dots, f_{n-1},

    a function of small norm, hence smooth, that varies over all points and follows the targets t where there are any
    [2]_. Functions are then scaled to unit length; they are orthonormal axes as in kernel PCA, and the coordinates of
    a point are :math:`\langle f_n, \varphi(x) - \bar\varphi\rangle`. Without labels it is `KernelPCA`. Each minimum is
    the global one, by a secular equation.

    With the kernel ``Warped(Gaussian("median"))`` of `preimage.kernels`, unlabelled points change the
    inner product of feature space, so that functions are smooth along the data, as in [1]_: for denoising this usually
    helps more than labels. Norms of images shrink in that space, so labels may need a larger weight there, or a graph
    of neighbours alone.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    kernel, degree, coef0, kernel_params
        As in `KernelPCA`; the kernel must be positive semidefinite.
    gamma : float, None or str, default=None
        Width of named kernels, as in `KernelPCA`, except that None is "scale" for "rbf", 1 / (n_features · variance of
        X), which does not depend on the units of X; "auto" is 1 / n_features. Rules for labels, such as "alignment",
        look at the labelled rows.
    landmarks : "auto", None, int, str or LandmarkSelector, default="auto"
        None is exact, with decompositions of the Gram matrix of all rows, whose time grows with their third power.
        Otherwise functions lie in the span of a few rows, chosen as in `KernelPCA`, in one pass over the data. "auto"
        takes all rows up to 1,000, and 300 landmarks of more.
    label_weight : float, default=2.0
        c ≥ 0, the weight of a labelled point relative to the norm of the function.
    scale : float, default=0.577
        σ > 0, the standard deviation of functions over the data, in units of targets of ±1. It governs the compromise
        between norm, labels and variance alone: functions are scaled to unit length afterwards. The default is s = 10
        of [1]_ for 300 points, s/√n.
    encoding : {"auto", "two_class", "first", "one_vs_rest"}, callable or array of shape (n_classes, k), default="auto"
        Targets of the classes on each component. "two_class": +1 and −1, the same on every component; "one_vs_rest":
        component j takes +1 for the j-th class and −1 for others, and components beyond the classes are unsupervised;
        "first": as that, but for the first component alone. "auto" is "two_class" for two classes and "one_vs_rest"
        for more. A function (classes, n_components) → array, or an array, gives one row of targets per class, in the
        order of `classes_`; a column of NaN leaves a component unsupervised.
    first_class : label or None, default=None
        The class that "one_vs_rest" and "first" begin with, such as that of the points to be denoised where it is
        known, and the positive one of "two_class". None is the order of `classes_`, of which the second is positive.
    preimage : str or Preimage, default="auto"
        How `inverse_transform` and `denoise` find pre-images; names as in `KernelPCA`, but "auto" denoises by
        descent. "fixed_point" works as well, but takes many steps where coefficients have both signs, and with
        `Warped` kernels.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the choice of landmarks. Selectors given as objects have their own seed.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels found in y; empty without labels.
    explained_variance_ : array of shape (`n_components_`,)
        Variance of each component on the training set. Supervised components need not be in descending order.
    explained_variance_ratio_ : array of shape (`n_components_`,)
        Fraction of the variance in feature space, of which a span of landmarks has a part.
    multipliers_ : array of shape (`n_components_`,)
        λ of the variance constraint; for unsupervised components 1/(n · variance).
    n_labelled_ : int
    n_components_ : int
        Components kept: those asked for, or fewer when the data have a lower rank.
    subspace_ : Subspace
        The axes and the mean in feature space.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    preimage_ : Preimage
    landmarks_ : Landmarks or None
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.kernels.Warped : The graph kernel.
    KernelPCA : Without labels.
    KernelFisherDiscriminant : With labels for all points.
    sklearn.semi_supervised.LabelSpreading : Predicts labels instead of coordinates.

    References
    ----------
    .. [1] T. J. Hansen, T. J. Abrahamsen, L. K. Hansen, "Information-based kernel PCA denoising by semi-supervised
       manifold learning", 2013. Projections are those of functions that are not centred, where the printed ones are
       not idempotent, and the sign of the multiplier is corrected.
    .. [2] C. Walder, R. Henao, M. Mørup, L. K. Hansen, "Semi-supervised kernel PCA",
       2010.

    Examples
    --------
    Two moons, of which six points are labelled:

    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from preimage import SemiSupervisedKernelPCA
    >>> from preimage.kernels import Gaussian, Warped
    >>> X, moon = make_moons(100, noise=0.05, random_state=0)
    >>> y = np.full(100, -1)
    >>> for label in (0, 1):
    ...     y[np.flatnonzero(moon == label)[:3]] = label
    >>> kernel = Warped(Gaussian(10.0), laplacian="knn")
    >>> model = SemiSupervisedKernelPCA(2, kernel=kernel).fit(X, y)
    >>> bool(np.mean((model.transform(X)[:, 0] > 0) == moon) > 0.95)
    True
    """

    # With few labels nobody can try widths: on fifteen sets errors of 1/d are half as large again, and it fails on
    # pixels from 0 to 255.
    _default_rbf_gamma = "scale"

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        **TRANSFORMER_CONSTRAINTS,
        "landmarks": LANDMARKS,
        "label_weight": [Interval(Real, 0, None, closed="left")],
        "scale": [Interval(Real, 1e-50, 1e50, closed="both")],
        "encoding": [StrOptions(set(ENCODINGS)), callable, "array-like"],
        "first_class": "no_validation",
    }

    @ignores_removed
    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        landmarks: Any = "auto",
        label_weight: float = 2.0,
        scale: float = 0.577,
        encoding: Any = "auto",
        first_class: Any = None,
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
        self.label_weight = label_weight
        self.scale = scale
        self.encoding = encoding
        self.first_class = first_class
        self.preimage = preimage
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "SemiSupervisedKernelPCA":
        """Find axes that follow the labels where there are any.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Labelled and unlabelled points; or a symmetric matrix of shape (n, n) for a precomputed kernel.
        y : array of shape (n,), optional
            Class labels; −1, NaN, None or "" for points without one, as in scikit-learn's semi-supervised models.
        sample_weight : array of shape (n,), optional
            How often each row counts, its label included: a row of weight two counts as two copies of it. Selectors of
            landmarks look at rows without weights.

        Returns
        -------
        self
        """
        check_parameters(self)
        self.kernel_, X = kernel_and_inputs(
            self, X, min_samples=2, labelled_rows=lambda n: self._labelled(y, n), sample_weight=sample_weight
        )
        labels, weights = partial_labels(self, y, X.shape[0]), check_weights(self, sample_weight, X.shape[0])
        X, kept = self.kernel_.inputs(X), None
        if weights is not None:
            kept = np.flatnonzero(weights)
            labels = labels.among(kept)
            X, weights = with_weight(self, X, weights)
        landmarks = self._select(X)
        self.landmarks_ = None if landmarks is None else numbered(landmarks, kept)
        result = self._components(X, labels, weights)
        self.classes_, self.n_labelled_ = labels.classes, labels.rows.size
        self._store(result, X)
        return self

    def _labelled(self, y: Targets, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows with a label, and the labels; None where there are none."""
        labels = partial_labels(self, y, n)
        return labels.rows, labels.classes[labels.numbers] if labels.rows.size else None

    def _select(self, X: Array) -> Landmarks | None:
        if self.kernel_.points_are_row_numbers:
            if self.landmarks is None or is_auto(self.landmarks):
                return None
            raise UnsupportedKernelError(
                "Landmarks save the Gram matrix, which a precomputed kernel has already. Use landmarks=None."
            )
        landmarks = self.landmarks
        if is_auto(landmarks):
            landmarks = FEW if is_chunked(X) or X.shape[0] > MOST_DENSE else None
        if not uses_landmarks("Semi-supervised kernel PCA", landmarks, X):
            return None
        return selected(self, landmarks, self.kernel_, X)

    def _components(self, X: Array, labels: "PartialLabels", weights: np.ndarray | None) -> SemiSupervisedSubspace:
        count, of_labels = int(self.n_components), None if weights is None else weights[labels.rows]
        options = {"label_weight": float(self.label_weight), "scale": float(self.scale)}
        targets = component_targets(labels, self.encoding, count, self.first_class)
        if self.landmarks_ is None:
            advice = "Give landmarks=500, say."
            require_square_matrices("Semi-supervised kernel PCA", X.shape[0], DENSE_MATRICES, X, advice)
        points = X if self.landmarks_ is None else self.landmarks_.points
        sample = FeatureSample.of(self.kernel_, X, points, take_rows(X, labels.rows), weights)
        if self.landmarks_ is not None and (weights is not None or not self.landmarks_.is_exact):
            # The pass over all rows has measured what the selector could only estimate, and without weights.
            self.landmarks_ = self.landmarks_.measured(sample.trace, sample.inside)
        if of_labels is not None:
            sample, targets = sample.weighted_labels(targets, of_labels)
        return semi_supervised_subspace(sample, targets, count, **options)

    def _store(self, result: SemiSupervisedSubspace, X: Array) -> None:
        points = X if self.landmarks_ is None else self.landmarks_.points
        narrow = lambda array: in_precision(array, self.kernel_.value_type(points))
        self.subspace_ = result.subspace.converted(narrow, points)
        self.explained_variance_ = narrow(result.variances)
        self.explained_variance_ratio_ = self.explained_variance_ / result.total
        self.multipliers_ = result.multipliers
        self.n_components_ = len(self.subspace_)
        self.preimage_ = self._fitted_preimage(as_preimage(self.preimage, Auto(Gradient())), X)


@dataclass(frozen=True)
class PartialLabels:
    """Which rows are labelled, and as what.

    Attributes
    ----------
    classes : array of shape (k,)
        Sorted.
    rows : integer array of shape (l,)
        Numbers of the labelled rows.
    numbers : integer array of shape (l,)
        Number of the class of each of them.
    """

    classes: np.ndarray
    rows: np.ndarray
    numbers: np.ndarray

    def among(self, kept: np.ndarray) -> "PartialLabels":
        """The labels of the rows with the given sorted numbers, which are renumbered from zero."""
        here = np.isin(self.rows, kept)
        present, numbers = np.unique(self.numbers[here], return_inverse=True)
        return PartialLabels(self.classes[present], np.searchsorted(kept, self.rows[here]), numbers.ravel())


def partial_labels(estimator: Any, y: Targets, n: int) -> PartialLabels:
    """Read labels of n rows: −1, NaN, None and "" stand for unlabelled, as does no y at all."""
    name = type(estimator).__name__
    if y is None:
        return PartialLabels(np.empty(0), np.empty(0, int), np.empty(0, int))
    if isinstance(y, (list, tuple)):  # as they are: NumPy would make strings of −1 and None among strings
        y = np.array(y, dtype=object)
    y = column_or_1d(from_device(y), warn=True)
    if y.shape[0] != n:
        raise ValueError(f"{name} got {n} rows of X but {y.shape[0]} of y; each row needs a label or a mark for none.")
    missing = _is_missing(y)
    rows = np.flatnonzero(~missing)
    given = np.array(y[rows].tolist()) if y.dtype.kind == "O" else y[rows]
    if rows.size == 0:
        return PartialLabels(given[:0], rows, rows)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError("Input y contains infinity. Give class labels, and −1, NaN or None where there is none.")
    check_classification_targets(given)
    classes, numbers = np.unique(given, return_inverse=True)
    if classes.size == 1 and classes.dtype.kind in "if" and classes[0] == 1 and _has_minus_one(y):
        raise ValueError(
            f"{name} takes −1 as the mark of unlabelled rows, as scikit-learn does, and y has the labels −1 and 1 "
            "only. If −1 is a class, recode it: y = np.where(y == -1, 0, y). If it is not, and 1 is the only class, "
            "call that class 0, or mark unlabelled rows by NaN."
        )
    return PartialLabels(classes, rows, numbers.ravel())


def component_targets(
    labels: PartialLabels, encoding: Any, n_components: int, first_class: Any = None
) -> list[np.ndarray | None]:
    """Targets of the labelled rows, an array of shape (l,) or None for each component; those left out mean None."""
    if labels.rows.size == 0:
        return []
    codes = code_matrix(labels.classes, encoding, n_components, first_class)
    return [None if np.isnan(column).any() else column[labels.numbers] for column in codes.T[:n_components]]


def code_matrix(classes: np.ndarray, encoding: Any, n_components: int, first_class: Any = None) -> np.ndarray:
    """Targets of each class, one column per component, shape (k, ≤ n_components); columns of NaN are unsupervised."""
    k, order = len(classes), _order(classes, first_class)
    if isinstance(encoding, str):
        if encoding == "auto":
            encoding = "two_class" if k <= 2 else "one_vs_rest"
        one_vs_rest = np.where(np.arange(k)[:, None] == order[None, :], 1.0, -1.0)
        if encoding == "one_vs_rest":
            return one_vs_rest
        if encoding == "first":
            return one_vs_rest[:, :1]
        if encoding == "two_class" and k <= 2:
            # Without a first class the second counts as positive, as in scikit-learn's decision functions.
            positive = order[0] if first_class is not None or k == 1 else 1
            return np.repeat(one_vs_rest[:, order == positive], n_components, axis=1)
        if encoding == "two_class":
            raise ValueError(
                f"encoding='two_class' is for two classes; y has {k}. Use 'one_vs_rest', or 'first' with first_class=."
            )
        raise ValueError(f"Unknown encoding {encoding!r}; known: {', '.join(ENCODINGS)}, a function, or an array.")
    codes = np.asarray(encoding(classes, n_components) if callable(encoding) else encoding, dtype=float)
    if codes.ndim != 2 or codes.shape[0] != k:
        raise ValueError(
            f"An encoding has one row per class and one column per component; y has {k} classes, the encoding has "
            f"shape {codes.shape}."
        )
    if np.isinf(codes).any():
        raise ValueError("An encoding has finite targets, or columns of NaN for unsupervised components.")
    return codes


def _order(classes: np.ndarray, first_class: Any) -> np.ndarray:
    """Class numbers, with that of `first_class` in front."""
    order = np.arange(len(classes))
    if first_class is None:
        return order
    place = np.flatnonzero(classes == first_class)
    if place.size == 0:
        raise ValueError(f"first_class is {first_class!r}; the labelled classes are {classes.tolist()}.")
    return np.concatenate([place, np.delete(order, place)])


def _is_missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return np.isnan(y) | (y == -1)
    if y.dtype.kind == "i":
        return y == -1
    if y.dtype.kind in "US":
        return y == y.dtype.type("")
    if y.dtype.kind == "O":
        return np.array([_is_missing_value(value) for value in y], dtype=bool)
    return np.zeros(y.shape, dtype=bool)


def _is_missing_value(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value == ""
    return bool(value != value) or bool(value == -1)


def _has_minus_one(y: np.ndarray) -> bool:
    return any(value is not None and not isinstance(value, str) and value == -1 for value in y.tolist())
