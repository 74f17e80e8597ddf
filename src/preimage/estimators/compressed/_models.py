"""Kernel machines on few points, with the interface of the originals."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OutlierMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import in_precision, to_dense
from preimage._engine.finite import finite_log
from preimage._engine.objects import refuse_objects
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    RealNotInt,
    StrOptions,
    all_rows,
    check_coordinates,
    check_model_inputs,
    check_parameters,
    check_points,
    count_rows,
    generator,
    require_on_host,
)
from preimage._models.machines import Compression, KernelMachine, compress_machine, in_final_precision
from preimage.estimators._bounded_fit import bounded_iterations
from preimage.estimators._classifier import AnyDeviceClassifierMixin
from preimage.estimators._estimator import Estimator
from preimage.estimators._kernel_pca import KernelPCA
from preimage.estimators._preimages import points_of
from preimage.estimators.compressed._trials import trials_of
from preimage.feature_space import Expansion
from preimage.interop import Folded, fold, machine_of, to_onnx
from preimage.interop._pipeline import final_step
from preimage.kernels import Precomputed, gammas_of
from preimage.reduced_sets import REDUCERS, Reducer, as_reducer
from preimage.solvers import Preimage, PreimageResult, TargetSolver, as_preimage

# How much a score may drop where neither a size nor a tolerance is given: half a percentage point, about the standard
# error of an accuracy of 95 % on 2000 rows. Ten times more would cost accuracy that users notice.
DEFAULT_TOLERANCE = 0.005


def _figure(name: str) -> Any:
    """A property with a field of the `Compression` that a fitted model keeps."""

    def figure(model: "Compressed") -> Any:
        return getattr(model._fitted(), name)

    return property(figure)


class Compressed(ReportsProgress, Estimator):
    """What compressed machines of all kinds share.

    `fit` trains the original and compresses it; `compress` does the same to a model that is fitted already.
    """

    kind: str

    #: A file keeps the fitted machine and not the original, which may be a thousand times larger.
    _unsaved_once_fitted = ("estimator",)

    _parameter_constraints = {
        "estimator": [BaseEstimator, None],
        "n_points": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right"), None],
        "method": [StrOptions(set(REDUCERS.names)), Reducer],
        "tolerance": [Interval(Real, 0, None, closed="left"), None],
        "shared": ["boolean"],
        "dtype": [StrOptions({"float32", "float64"}), None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_points: int | float | None = None,
        *,
        method: str | Reducer = "auto",
        tolerance: float | None = None,
        shared: bool = True,
        dtype: str | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ):
        self.estimator = estimator
        self.n_points = n_points
        self.method = method
        self.tolerance = tolerance
        self.shared = shared
        self.dtype = dtype
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Rows, y: Targets | None = None, **fit_params: Any) -> Self:
        """Fit the original on X and y, and compress it on the same data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        **fit_params
            Passed to the `fit` of the original, such as `sample_weight`; with metadata routing enabled, what it
            requests.

        Returns
        -------
        self
        """
        check_parameters(self)
        X, y = (all_rows(type(self).__name__, each, None) for each in (X, y))
        _require_two_weighted_classes(self, y, fit_params.get("sample_weight"))
        template = self._template()
        last = final_step(template)
        if not type(last).__module__.startswith("preimage."):  # which would take tensors for arrays, or fail
            require_on_host(type(self).__name__, X)
        original = clone(template)
        with bounded_iterations(original, count_rows(X)), _libsvm_in_words(self, last):
            original.fit(X, y, **self._routed_to_fit(fit_params))
        folded = fold(original)
        folded.taken_in(folded.machine)  # which refuses what cannot become one machine
        scaled = X
        for _, scaler in folded.front:
            scaled = scaler.transform(scaled)
        # Points are found on scaled inputs; scalers become part of the kernel once the machine is small.
        self._compress(folded, scaled, y, unscaled=X, fit_params=self._routed_to_fit(fit_params))
        return self

    @property
    def machine_(self) -> KernelMachine:
        """The machine itself."""
        return self._fitted().machine

    @property
    def _output(self) -> Any:
        """The output of the machine, of a class for this `kind`."""
        return self.machine_.output

    @property
    def expansion_(self) -> Expansion:
        """The functions of the machine, an `Expansion` on `n_points_` points."""
        return self.machine_.expansion

    @property
    def points_(self) -> Array:
        """The points of the machine, shape (`n_points_`, `n_features_in_`)."""
        return self.expansion_.inputs

    @property
    def n_points_(self) -> int:
        return self.points_.shape[0]

    @property
    def gammas_(self) -> Array:
        """γ of the Gaussian of every point, shape (`n_points_`,)."""
        expansion = self.expansion_
        gammas = gammas_of(expansion.kernel, expansion.points)
        if gammas is None:
            raise AttributeError(f"Points of this machine have no width: its kernel is {expansion.kernel!r}.")
        return gammas

    @property
    def intercept_(self) -> Array:
        return self.machine_.intercept

    n_original_points_ = _figure("n_original_points")
    error_ = _figure("error")
    scores_ = _figure("scores")
    is_scored_by_original_ = _figure("is_scored_by_original")
    left_out_scores_ = _figure("left_out_scores")
    left_out_standard_error_ = _figure("left_out_standard_error")
    is_retrained_ = _figure("is_retrained")
    work_ratio_ = _figure("work_ratio")
    converged_ = _figure("converged")
    reason_ = _figure("reason")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "compression_"):
            return super().__repr__(N_CHAR_MAX)
        text = (
            f"{type(self).__name__}: {self.n_points_} points for {self.n_original_points_}, "
            f"{self.work_ratio_:.3g} × less work"
        )
        # The agreement of the original with itself says nothing.
        shown = lambda scores: "" if self.is_scored_by_original_ else f"{scores[0]:.4f} → "
        if np.isfinite(self.error_):
            text += f"; relative error in feature space {self.error_:.2g}"
        if (scores := self.scores_) is not None:
            text += f"; {self._score_name()} {shown(scores)}{scores[1]:.4f}"
        if (scores := self.left_out_scores_) is not None:
            # Scores of the rows that it was fitted to come first, and are too good.
            text += f" on the rows it was fitted to, {shown(scores)}{scores[1]:.4f}"
            text += f" ± {self.left_out_standard_error_:.4f} on rows left out"
        return text

    def to_onnx(self, path: str | os.PathLike | None = None, **options: Any) -> Any:
        """The fitted model as an ONNX graph, written to `path` where one is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            Those of `preimage.to_onnx`.

        Returns
        -------
        onnx.ModelProto
        """
        return to_onnx(self, path, **options)

    def _template(self) -> BaseEstimator:
        """The original, unfitted; not a copy, because every prediction asks for its tags."""
        return type(self)._default() if self.estimator is None else self.estimator

    def _compress(
        self,
        folded: Folded,
        X: Rows | None,
        y: Targets | None,
        unscaled: Rows | None = None,
        fit_params: dict[str, Any] | None = None,
    ) -> None:
        """Make the machine of a fitted original small on the data X, y (which may be None), and adopt it.

        With `unscaled`, X before the scalers of the original, these become part of the machine. `fit_params` are those
        that the original was fitted with, where they are known.
        """
        check_parameters(self)
        machine = folded.machine
        if machine.output.kind != self.kind:
            raise TypeError(
                f"{type(self).__name__} is for a {self.kind}; got a {machine.output.kind}. `compress(model, ...)` "
                "chooses the class by itself."
            )
        refuse_objects(
            type(self).__name__, machine.expansion.points, "Fit it with fewer landmarks instead: landmarks=50, say."
        )
        self._expect(machine)
        X = None if X is None else check_points(self, X, reset=False)
        machine = _with_known_gram(machine, X)
        # Data and points in one precision: a product of two types would be computed in the wider one, at twice the
        # cost.
        X = None if X is None else in_precision(X, machine.expansion.coefficients.dtype)
        labels = _labels(y, machine.output)
        if X is not None and labels is not None and len(labels) != X.shape[0]:
            raise ValueError(f"y has {len(labels)} labels for {X.shape[0]} rows of X; each row needs one.")
        if X is None and self.n_points is None and self.tolerance is None:
            raise ValueError(
                f"{type(self).__name__} needs a size: give n_points=, or data X (and y) on which to find the smallest "
                "size whose score drops by at most `tolerance`."
            )
        rng = generator(self.random_state)
        is_searched = X is not None and self.n_points is None
        result = compress_machine(
            machine,
            as_reducer(self.method, machine.expansion.kernel, has_data=X is not None),
            self.n_points,
            X=X,
            y=labels,
            tolerance=DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance,
            shared=self.shared,
            rng=rng,
            trials=trials_of(folded, machine, X, y, labels, fit_params or {}, rng) if is_searched else (),
        )
        small = result.machine if unscaled is None else folded.taken_in(result.machine)
        rows = X  # like those that the model will get: the data, or else the points of the original
        if unscaled is not None:
            rows = None if self.dtype is None else check_points(self, unscaled, reset=True)
        elif X is None and not small.expansion.kernel.points_are_row_numbers:
            rows = machine.expansion.inputs
        small = in_final_precision(small, self.dtype, rows)
        # Steps that stay before the machine count on both sides.
        work_ratio = folded.work / (small.multiplications + folded.front_work)
        self._adopt(replace(result, machine=small, work_ratio=work_ratio))

    def _adopt(self, compression: Compression) -> None:
        self.compression_ = compression
        self._expect(compression.machine)

    def _expect(self, machine: KernelMachine) -> None:
        """Note the columns that a machine takes, where scikit-learn's checks look for them."""
        self.n_features_in_ = machine.n_features_in
        if machine.feature_names_in is not None:
            self.feature_names_in_ = machine.feature_names_in
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _kernel_machine(self) -> KernelMachine:
        return self.machine_

    def _fitted(self) -> Compression:
        # scikit-learn's check asks for all tags first, which takes as long as a prediction of one row.
        if not hasattr(self, "compression_"):
            check_is_fitted(self, "compression_")
        return self.compression_

    def _values(self, X: Rows) -> Array:
        """Function values at X, intercepts included."""
        machine = self.machine_
        return machine(check_model_inputs(self, X, fitted=machine.expansion.coefficients))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "compression_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._template())
        tags.input_tags.sparse, tags.input_tags.pairwise = inner.input_tags.sparse, inner.input_tags.pairwise
        tags.target_tags.multi_output = inner.target_tags.multi_output
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """What `fit` passes on: metadata that the original requests, such as ``sample_weight``.

        Returns
        -------
        MetadataRouter
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._template(), method_mapping=to_fit)

    def _routed_to_fit(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Parameters for the fit of the original; without routing they are all for it."""
        if not get_config()["enable_metadata_routing"] or not fit_params:
            return fit_params
        return process_routing(self, "fit", **fit_params).estimator.fit

    def _score_name(self) -> str:
        return score_name(self.kind, not self.is_scored_by_original_)


class CompressedClassifier(AnyDeviceClassifierMixin, Compressed):
    """A classifier on few points: SVC, NuSVC, one-vs-rest of them, or kernel PCA and a linear classifier, made small.

    Usually made by `compress`; `fit` trains the original first, for pipelines and grid searches over `n_points`.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The original, unfitted; None is ``SVC()``.
    n_points : int, float or None, default=None
        Points to keep: a number, or a fraction in (0, 1] of those that the original has; None finds a small number
        whose score on rows that are left out drops by at most `tolerance`, as in `compress`.
    method : str or Reducer, default="auto"
        "distill", "refine", "construct", "select", "select_l1", or a reducer of `preimage.reduced_sets`.
    tolerance : float or None, default=None
        Drop of the score that is accepted when `n_points` is None; None is 0.005.
    shared : bool, default=True
        Whether all functions of the machine share all points; otherwise each has `n_points` of its own, or that
        fraction of its own.
    dtype : {"float32", "float64"} or None, default=None
        Precision of the result; None keeps that of the original.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of samples of the data and of starts.

    Attributes
    ----------
    n_points_, n_original_points_ : int
        Distinct points now and before: what predictions cost.
    error_ : float
        Relative squared error Σ‖Ψ − Ψ′‖²/Σ‖Ψ‖² of the functions in feature space; NaN for indefinite kernels. Functions
        count by what they contribute to values: axes of kernel PCA times their standard deviations, the mean as it is,
        and outputs of a regressor with several in units of theirs.
    scores_ : tuple of two floats, or None
        Of the original and of this model, on the data it was compressed with: accuracy where there were labels, and
        otherwise agreement with the original (`is_scored_by_original_`), which itself has 1.
    is_scored_by_original_ : bool
        Whether predictions of the original took the place of labels in `scores_`.
    left_out_scores_ : tuple of two floats, or None
        The same on rows that machines of this size were not compressed with: the mean over all rows that were left out
        to find the size. None where a size was given, where nothing smaller will do, and for fewer than twenty rows.
    left_out_standard_error_ : float or None
        Of the difference of `left_out_scores_`.
    is_retrained_ : bool
        Whether `left_out_scores_` are of machines that were trained without these rows. Otherwise they were left out of
        the compression alone: the original has not seen them either where X is no training set.
    work_ratio_ : float
        Multiplications of a prediction before, over those now, all steps of a pipeline counted.
    converged_, reason_
        Of the reduction.
    classes_, n_features_in_, feature_names_in_, points_, expansion_, intercept_
        As in scikit-learn, and the machine itself.
    machine_ : KernelMachine
        The small machine, in the terms of this library.
    compression_ : Compression
        Machine and figures together, as they were found.
    gammas_ : array of shape (`n_points_`,)
        γ of the Gaussian of each point: several with ``method=Distill(widths="free")``.

    See Also
    --------
    compress : Compresses a machine that is fitted already.
    CompressedRegressor : The same for regressors.
    CompressedDetector : The same for one-class machines.
    CompressedTransformer : The same for kernel PCA.
    to_onnx : The model as an ONNX graph.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from preimage import CompressedClassifier
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> model = CompressedClassifier(SVC(gamma=2), n_points=8).fit(X, y)
    >>> model.n_points_
    8
    >>> model.score(X, y) > 0.95
    True
    """

    kind = "classifier"
    _default = SVC

    @property
    def classes_(self) -> np.ndarray:
        return self._output.classes

    @available_if(lambda self: self._output.has_decision)
    def decision_function(self, X: Rows) -> Array:
        """Decision values, in the shape that the original returns."""
        return self._output.decision(self._values(X))

    def predict(self, X: Rows) -> Array:
        """Class labels."""
        return self._output.predict(self._values(X))

    @available_if(lambda self: self._output.has_probabilities)
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probabilities of the classes, by the calibration of the original.

        The class of `predict` is the most probable one, as in the original, except where that is not so there:
        scikit-learn's ``SVC(probability=True)`` fits probabilities apart from its threshold. Its numbers are kept;
        ``CalibratedClassifierCV(SVC(), ensemble=False)`` predicts what is most probable.
        """
        return self._output.probabilities(self._values(X))

    @available_if(lambda self: self._output.has_probabilities)
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Logarithms of `predict_proba`; that of zero is −708, the logarithm of the smallest number."""
        return finite_log(self.predict_proba(X))


class CompressedRegressor(RegressorMixin, Compressed):
    """A regressor on few points: SVR, NuSVR, KernelRidge or the mean of a Gaussian process.

    Scores are R².

    Parameters
    ----------
    estimator : estimator or None, default=None
        The original, unfitted; None is ``SVR()``.
    n_points, method, tolerance, shared, dtype, verbose, random_state
        As in `CompressedClassifier`.

    Attributes
    ----------
    n_points_, n_original_points_, error_, scores_, is_scored_by_original_, work_ratio_, converged_, reason_
        As in `CompressedClassifier`.
    left_out_scores_, left_out_standard_error_, is_retrained_
        As in `CompressedClassifier`.
    n_features_in_, feature_names_in_, points_, expansion_, intercept_, machine_, compression_, gammas_
        As in `CompressedClassifier`.

    See Also
    --------
    compress : Compresses a machine that is fitted already.
    SparseGreedyRegressor : Kernel ridge regression that has few points from the start.
    sklearn.kernel_ridge.KernelRidge : One of the originals.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from preimage import CompressedRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = CompressedRegressor(KernelRidge(kernel="rbf", gamma=1, alpha=0.1), n_points=8).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).mean() < 0.02)
    True
    """

    kind = "regressor"
    _default = SVR

    def predict(self, X: Rows) -> Array:
        """Predicted values."""
        return self._output.predict(self._values(X))


class CompressedDetector(OutlierMixin, Compressed):
    """A one-class machine on few points.

    Scores are fractions of equal predictions.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The original, unfitted; None is ``OneClassSVM()``.
    n_points, method, tolerance, shared, dtype, verbose, random_state
        As in `CompressedClassifier`.

    Attributes
    ----------
    offset_ : float
        The threshold of decisions: ``decision_function(X)`` is ``score_samples(X) - offset_``.
    n_points_, n_original_points_, error_, scores_, is_scored_by_original_, work_ratio_, converged_, reason_
        As in `CompressedClassifier`.
    left_out_scores_, left_out_standard_error_, is_retrained_
        As in `CompressedClassifier`.
    n_features_in_, feature_names_in_, points_, expansion_, intercept_, machine_, compression_, gammas_
        As in `CompressedClassifier`.

    See Also
    --------
    compress : Compresses a machine that is fitted already.
    KernelPCA.reconstruction_error : Another measure of novelty.
    sklearn.svm.OneClassSVM : The original.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import OneClassSVM
    >>> from preimage import CompressedDetector
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> CompressedDetector(OneClassSVM(gamma=0.2, nu=0.2), n_points=6).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    kind = "detector"
    _default = OneClassSVM

    @property
    def offset_(self) -> np.ndarray:
        return np.asarray([self._output.offset])

    def decision_function(self, X: Rows) -> Array:
        """Positive for inliers."""
        return self._output.decision(self._values(X))

    def score_samples(self, X: Rows) -> Array:
        """Decision values without the offset."""
        return self._output.scores(self._values(X))

    def predict(self, X: Rows) -> Array:
        """+1 for inliers, −1 for the rest."""
        return self._output.predict(self._values(X))


def _has_preimages(model: Any) -> bool:
    """Whether the mean, which pre-images need, is among the functions of a fitted model."""
    if hasattr(model, "compression_") and len(model.expansion_) == model._output.n_components:
        raise AttributeError(
            "This model has no pre-images: only KernelPCA with a definite kernel and inputs of its own has them. "
            "`transform` works."
        )
    return True


class CompressedTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Compressed):
    """Kernel PCA on few points: coordinates, and pre-images of them.

    Scores are the fraction of the variance of coordinates that is reproduced. Errors of the axes count by the variance
    along them.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The original, unfitted; None is ``KernelPCA(2)``.
    n_points, method, tolerance, shared, dtype, verbose, random_state
        As in `CompressedClassifier`.
    preimage : str or Preimage, default="auto"
        A solver that works on vectors of feature space: "fixed_point", "gradient", "exact", "sparse", or an object.
        "auto" is the fixed point where the kernel has one, and descent otherwise.

    Attributes
    ----------
    n_points_, n_original_points_, error_, scores_, is_scored_by_original_, work_ratio_, converged_, reason_
        As in `CompressedClassifier`.
    left_out_scores_, left_out_standard_error_, is_retrained_
        As in `CompressedClassifier`.
    n_features_in_, feature_names_in_, points_, expansion_, intercept_, machine_, compression_, gammas_
        As in `CompressedClassifier`.

    See Also
    --------
    compress : Compresses a model that is fitted already.
    KernelPCA : The original; with `landmarks` it is small from the start.
    SparseKernelFeatureAnalysis : Features of which the r-th has r points.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import CompressedTransformer, KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = CompressedTransformer(KernelPCA(2, gamma=0.1), n_points=15).fit(X)
    >>> model.transform(X).shape, model.denoise(X[:3]).shape
    ((300, 2), (3, 2))
    """

    kind = "transformer"
    _default = lambda: KernelPCA(2)
    _parameter_constraints = {**Compressed._parameter_constraints, "preimage": [str, Preimage]}

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_points: int | float | None = None,
        *,
        method: str | Reducer = "auto",
        tolerance: float | None = None,
        shared: bool = True,
        dtype: str | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
        preimage: str | Preimage = "auto",
    ):
        super().__init__(
            estimator,
            n_points,
            method=method,
            tolerance=tolerance,
            shared=shared,
            dtype=dtype,
            verbose=verbose,
            random_state=random_state,
        )
        self.preimage = preimage

    def transform(self, X: Rows) -> Array:
        """Coordinates, shape (q, n_components)."""
        return self._output.predict(self._values(X))

    @available_if(_has_preimages)
    def inverse_transform(self, Y: Array) -> Array:
        """Inputs whose images are nearest to the points of feature space with coordinates Y."""
        return points_of(self.find_preimages(Y))

    @available_if(_has_preimages)
    def denoise(self, X: Rows) -> Array:
        """Project X on the principal subspace and go back to input space, starting at X."""
        Y = self.transform(X)
        return points_of(self.find_preimages(Y, start=X))

    @available_if(_has_preimages)
    def find_preimages(self, Y: Array, start: Rows | None = None) -> PreimageResult:
        """The full result of the pre-image solver, as of `KernelPCA`."""
        expansion, k = self.expansion_, self._output.n_components
        solver = as_preimage(self.preimage).for_vectors(expansion.kernel)
        if not isinstance(solver, TargetSolver):
            raise TypeError(
                f"preimage={self.preimage!r} learns from training points, which a compressed model does not keep. "
                "Use 'fixed_point' or 'gradient'."
            )
        Y = check_coordinates(self, Y, k, fitted=expansion.coefficients)
        A = expansion.coefficients
        target = Expansion(expansion.kernel, expansion.points, A[:, :k] @ Y.T + A[:, k:])
        start = None if start is None else check_model_inputs(self, start, fitted=A)
        return solver.solve(target, None if start is None else to_dense(start))

    @property
    def _n_features_out(self) -> int:
        return self._output.n_components


def standalone(model: Any) -> Any:
    """A compressed model alone, which can be saved and exported, from a pipeline of scalers and a compressed model.

    Raises
    ------
    TypeError
        If the pipeline has other steps.
    """
    if not isinstance(model, Pipeline):
        return model
    machine, last = machine_of(model), copy(model[-1])
    last.estimator = Pipeline(
        [*((name, clone(step)) for name, step in model.steps[:-1]), ("last", clone(last._template()))]
    )
    last._adopt(replace(last.compression_, machine=machine))
    return last


def score_name(kind: str, has_labels: bool) -> str:
    """What scores are called; without labels, the predictions of the original stand for them."""
    if kind == "transformer":
        return "reproduced fraction of the variance"
    if kind == "regressor":
        return "R²" if has_labels else "R² against the original"
    return "accuracy" if has_labels and kind == "classifier" else "agreement with the original"


def _with_known_gram(machine: KernelMachine, X: Rows | None) -> KernelMachine:
    """The machine of a precomputed kernel with the values it needs, where X is the training matrix."""
    kernel, expansion = machine.expansion.kernel, machine.expansion
    if not kernel.points_are_row_numbers or kernel.gram is not None:
        return machine
    n = machine.n_features_in
    if X is None or tuple(X.shape) != (n, n):
        raise ValueError(
            "A machine with a precomputed kernel is compressed with the kernel matrix of its training points: give "
            f"X of shape ({n}, {n})."
        )
    known = Expansion(Precomputed(to_dense(X).astype(float)), expansion.points, expansion.coefficients)
    return machine.with_expansion(known)


def _require_two_weighted_classes(model: "Compressed", y: Targets | None, sample_weight: Array | None) -> None:
    """libsvm's message for this does not name what was wrong."""
    if model.kind != "classifier" or y is None or sample_weight is None:
        return
    present = np.unique(np.asarray(y)[np.asarray(sample_weight) > 0])
    if present.size < 2:
        raise ValueError(
            f"{type(model).__name__} needs examples of two classes with a positive sample_weight; got "
            f"{present.size} class ({present.tolist()})."
        )


@contextmanager
def _libsvm_in_words(model: "Compressed", original: Any) -> Iterator[None]:
    """Messages of libsvm are bytes, such as b'gamma < 0': say whose they are, and what helps."""
    try:
        yield
    except ValueError as error:
        said = error.args[0] if error.args else None
        if not isinstance(said, bytes):
            raise
        raise ValueError(
            f"{type(model).__name__} could not fit {type(original).__name__}: libsvm says {said.decode()!r}. Inputs "
            "that differ by rounding errors only may get a negative variance; scale them, or give gamma as a number."
        ) from error


def _labels(y: Targets | None, output: Any) -> np.ndarray | None:
    """Labels as the score takes them, known to the model; detectors and transformers have none."""
    if y is None or output.kind in ("detector", "transformer"):
        return None
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if output.kind == "classifier" and y.ndim == 1:
        unknown = sorted(set(y.tolist()) - set(output.classes.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"y has labels that the model does not know: {unknown[:5]}. Its classes are "
                f"{output.classes.tolist()[:20]}."
            )
    return y
