"""From fitted scikit-learn estimators to kernel machines."""

from functools import singledispatch
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import as_points, is_sparse, own_copy, to_dense
from preimage._engine.typing import Array
from preimage._models.machines import (
    Binary,
    Coordinates,
    Detection,
    KernelMachine,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
)
from preimage._models.machines._outputs import NOT_CONSTANT
from preimage.feature_space import Expansion
from preimage.interop._kernels import kernel_of_gaussian_process, kernel_of_pairwise, kernel_of_svm
from preimage.interop._private import (
    ConstantPredictor,
    centring_of,
    platt_parameters,
    resolved_gamma,
    target_scaling,
    training_inputs,
)
from preimage.kernels import CallableKernel, Kernel, Precomputed

SUPPORTED = (
    "SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, GaussianProcessRegressor, KernelPCA, Nystroem, "
    "OneVsRestClassifier of SVC or NuSVC, CalibratedClassifierCV with ensemble=False, TransformedTargetRegressor with "
    "a scaler, pipelines in which kernel PCA feeds a linear machine, and the kernel estimators of preimage"
)


@singledispatch
def machine_of(estimator: Any) -> KernelMachine:
    """A fitted estimator as a `KernelMachine`: functions, intercepts, and the output computed from their values.

    Parameters
    ----------
    estimator : fitted estimator
        What `preimage.compress` takes: support vector machines, kernel ridge, Gaussian processes, kernel PCA.

    Returns
    -------
    KernelMachine
        With `expansion`, the functions; `intercept`; and `output`, which makes predictions of their values.

    Raises
    ------
    NotFittedError
        If the estimator has not been fitted.
    TypeError
        If it is no kernel machine that we know; the message lists those.

    See Also
    --------
    preimage.compress : Makes the machine smaller.
    preimage.to_onnx : Exports it.
    preimage.feature_space.Expansion : The functions.

    Examples
    --------
    >>> from sklearn.svm import SVR
    >>> from preimage.interop import machine_of
    >>> machine = machine_of(SVR(kernel="linear", epsilon=0.0).fit([[0.0], [1.0]], [0.0, 1.0]))
    >>> machine.output
    Regression(n_outputs=1, flat=True)
    """
    if hasattr(estimator, "_kernel_machine") and not isinstance(estimator, type):
        return estimator._kernel_machine()
    raise TypeError(f"Only kernel machines have an expansion: {SUPPORTED}. Got {_describe(estimator)}.")


@machine_of.register
def _(machine: KernelMachine) -> KernelMachine:
    return machine


@machine_of.register(SVC)
@machine_of.register(NuSVC)
def _(svm: Any) -> KernelMachine:
    check_is_fitted(svm)
    dual, intercept = to_dense(svm.dual_coef_), svm.intercept_
    probA, probB = platt_parameters(svm)
    if svm.classes_.size == 2:
        return _support_vector_machine(svm, dual.T, intercept, Binary(svm.classes_, probA, probB))
    output = OneVsOne(svm.classes_, svm.decision_function_shape, svm.break_ties, probA, probB)
    return _support_vector_machine(svm, _unpack_pairs(dual, svm.n_support_), intercept, output)


@machine_of.register(SVR)
@machine_of.register(NuSVR)
def _(svm: Any) -> KernelMachine:
    check_is_fitted(svm)
    return _support_vector_machine(svm, to_dense(svm.dual_coef_).T, svm.intercept_, Regression())


@machine_of.register
def _(svm: OneClassSVM) -> KernelMachine:
    check_is_fitted(svm)
    output = Detection(float(svm.offset_[0]))
    return _support_vector_machine(svm, to_dense(svm.dual_coef_).T, svm.intercept_, output)


@machine_of.register
def _(ridge: KernelRidge) -> KernelMachine:
    check_is_fitted(ridge)
    flat = ridge.dual_coef_.ndim == 1
    coefficients = ridge.dual_coef_[:, None] if flat else ridge.dual_coef_
    if ridge.kernel == "precomputed":
        kernel = Precomputed(np.array(to_dense(ridge.X_fit_), dtype=np.float64))
        points = kernel.inputs(kernel.gram)
    else:
        points = own_copy(_double_points(ridge.X_fit_), ridge.X_fit_)  # scikit-learn keeps the array of its caller
        kernel = kernel_of_pairwise(
            ridge.kernel,
            points.shape[1],
            gamma=ridge.gamma,
            degree=ridge.degree,
            coef0=ridge.coef0,
            parameters=ridge.kernel_params,
        )
    output = Regression(coefficients.shape[1], flat)
    return _machine(ridge, kernel, points, coefficients, np.zeros(coefficients.shape[1]), output)


@machine_of.register
def _(process: GaussianProcessRegressor) -> KernelMachine:
    check_is_fitted(process, "alpha_")  # by name: unfitted processes predict their prior, and count as fitted
    alpha = process.alpha_ if process.alpha_.ndim == 2 else process.alpha_[:, None]
    mean, scale = target_scaling(process)
    kernel = kernel_of_gaussian_process(process.kernel_)
    intercept = np.broadcast_to(np.asarray(mean, dtype=np.float64), alpha.shape[1:]).copy()
    return _machine(
        process, kernel, _double_points(process.X_train_), alpha * scale, intercept, Regression(alpha.shape[1])
    )


@machine_of.register
def _(classifier: OneVsRestClassifier) -> KernelMachine:
    check_is_fitted(classifier)
    parts = classifier.estimators_
    machines = [None if isinstance(part, ConstantPredictor) else _binary_machine(part) for part in parts]
    varying = [machine for machine in machines if machine is not None]
    if not varying:
        raise ValueError(
            "OneVsRestClassifier has no function to expand: every label is present in all training examples or in none."
        )
    _require_one_kernel([machine.expansion.kernel for machine in varying])
    joined = Expansion.join([machine.expansion for machine in varying])
    is_varying = np.array([machine is not None for machine in machines])
    coefficients = np.zeros((joined.coefficients.shape[0], len(parts)))
    coefficients[:, is_varying] = joined.coefficients
    constants = np.array([NOT_CONSTANT if machine else part.y_[0] for part, machine in zip(parts, machines)])
    intercept = np.where(is_varying, 0.0, constants)
    intercept[is_varying] = [machine.intercept[0] for machine in varying]
    output = OneVsRest(
        classifier.classes_,
        multilabel=bool(classifier.multilabel_),
        threshold=0.0 if is_varying[0] else 0.5,  # scikit-learn asks the first part only, even if that is a constant
        constants=constants,
        **_joint_platt_parameters(machines),
    )
    return _machine(classifier, joined.kernel, joined.points, coefficients, intercept, output)


@machine_of.register
def _(pca: KernelPCA) -> KernelMachine:
    r"""Axes and mean, as those of `preimage.KernelPCA`; an error of an axis counts by its variance.

    Coordinates are :math:`(k(x) - \bar k(x) 1 - r + \bar r)^T A` with the means :math:`\bar k(x)` of the row k(x) and r
    of the columns of the training matrix: an expansion with coefficients HA, whose columns have the sum zero.
    """
    check_is_fitted(pca)
    column_means, mean = centring_of(pca)
    inverse = np.divide(1, np.sqrt(pca.eigenvalues_), out=np.zeros_like(pca.eigenvalues_), where=pca.eigenvalues_ > 0)
    A = np.asarray(pca.eigenvectors_ * inverse, dtype=np.float64)
    offset = -(column_means - mean) @ A
    A = A - np.mean(A, axis=0)
    n, k = A.shape
    weights = np.sqrt(pca.eigenvalues_ / n)
    if pca.kernel == "precomputed":
        # The training matrix is not kept: compression asks for it.
        return _machine(pca, Precomputed(), np.arange(n)[:, None], A, offset, Coordinates(k), weights)
    points = _double_points(pca.X_fit_)
    kernel = _kernel(pca, points, gamma=pca.gamma_)
    if kernel.is_positive_semidefinite:
        # The vector after the axes is the mean, for pre-images, which need a norm.
        A, offset, weights = np.c_[A, np.full(n, 1 / n)], np.r_[offset, 0.0], np.r_[weights, 1.0]
    return _machine(pca, kernel, points, A, offset, Coordinates(k), weights)


@machine_of.register
def _(nystroem: Nystroem) -> KernelMachine:
    check_is_fitted(nystroem)
    A = np.asarray(nystroem.normalization_.T, dtype=np.float64)
    offset = np.zeros(A.shape[1])
    if nystroem.kernel == "precomputed":
        points = np.asarray(nystroem.component_indices_, dtype=np.int64)[:, None]
        return _machine(nystroem, Precomputed(), points, A, offset, Coordinates(A.shape[1]))
    points = _double_points(nystroem.components_)
    kernel = _kernel(nystroem, points, gamma=nystroem.gamma)
    return _machine(nystroem, kernel, points, A, offset, Coordinates(A.shape[1]))


def _support_vector_machine(svm: Any, coefficients: Array, intercept: Array, output: Output) -> KernelMachine:
    kernel = kernel_of_svm(svm.kernel, gamma=resolved_gamma(svm), degree=svm.degree, coef0=svm.coef0)
    points, coefficients = _support(svm), np.ascontiguousarray(coefficients)
    if svm.support_.size == 0:  # a constant; the zero vector still needs a point
        coefficients = np.zeros((1, output.n_functions))
    return _machine(svm, kernel, points, coefficients, np.array(intercept, dtype=np.float64), output)


def _support(svm: Any) -> Array:
    """The support vectors; one point of the training set when there are none."""
    numbers = svm.support_ if svm.support_.size else np.zeros(1, int)
    if isinstance(svm.kernel, str) and svm.kernel == "precomputed":
        return np.asarray(numbers, dtype=np.int64)[:, None]
    if callable(svm.kernel):
        return _double_points(training_inputs(svm))[numbers]
    if svm.support_.size:
        return _double_points(svm.support_vectors_)
    return np.zeros((1, svm.n_features_in_))


def _unpack_pairs(dual: np.ndarray, n_support: np.ndarray) -> np.ndarray:
    """One column of coefficients per pair of classes, from libsvm's layout.

    Support vectors are grouped by class. For the pair (i, j), i < j, those of class i have their coefficients in row
    j − 1, those of class j in row i, and all others take no part.
    """
    owner = np.repeat(np.arange(len(n_support)), n_support)
    columns = [
        np.where(owner == i, dual[j - 1], np.where(owner == j, dual[i], 0.0))
        for i, j in combinations(range(len(n_support)), 2)
    ]
    return np.stack(columns, axis=1)


def _binary_machine(estimator: Any) -> KernelMachine:
    if not isinstance(estimator, (SVC, NuSVC)):
        raise TypeError(
            "OneVsRestClassifier has an expansion when it is made of SVC or NuSVC, or, after kernel PCA in a pipeline, "
            f"of linear classifiers such as LinearSVC and LogisticRegression; got {_describe(estimator)}."
        )
    return machine_of(estimator)


def _require_one_kernel(kernels: list[Kernel]) -> None:
    # Functions are copied by `clone` and then differ, though they compute the same.
    first = kernels[0]
    comparable = not isinstance(first, CallableKernel)
    different = [kernel for kernel in kernels[1:] if comparable and not first.is_same(kernel)]
    if different:
        raise ValueError(
            f"The parts of a OneVsRestClassifier must have one kernel; got {first!r} and {different[0]!r}."
        )


def _joint_platt_parameters(machines: list[KernelMachine | None]) -> dict[str, np.ndarray | None]:
    varying = [machine.output for machine in machines if machine is not None]
    if not all(output.has_probabilities for output in varying):
        return {"probA": None, "probB": None}
    return {
        name: np.array([getattr(machine.output, name)[0] if machine else 0.0 for machine in machines])
        for name in ("probA", "probB")
    }


def _machine(
    estimator: Any,
    kernel: Kernel,
    points: Array,
    coefficients: Array,
    intercept: Array,
    output: Output,
    weights: Array | None = None,
) -> KernelMachine:
    coefficients = np.asarray(coefficients, dtype=np.float64)
    return KernelMachine(
        Expansion(kernel, points, coefficients),
        intercept,
        output,
        # A function as kernel keeps SVC from counting columns.
        getattr(estimator, "n_features_in_", points.shape[1]),
        getattr(estimator, "feature_names_in_", None),
        weights,
    )


def _double_points(X: Array) -> Array:
    """Points in double precision, CSR if sparse, whatever precision the model was fitted in."""
    X = as_points(X).astype(np.float64, copy=False)
    return X.tocsr() if is_sparse(X) else X


def _describe(estimator: Any) -> str:
    """The class of what came, and what to pass instead where that is easy to say."""
    if isinstance(estimator, type):
        return f"the class {estimator.__name__}; pass a fitted object"
    name = type(estimator).__name__
    if hasattr(estimator, "best_estimator_"):
        return f"{name}; pass its best_estimator_"
    if hasattr(estimator, "refit"):
        return f"{name} without a best_estimator_; fit it with refit=True"
    return name


def _kernel(model: KernelPCA | Nystroem, points: Array, gamma: float | None) -> Kernel:
    given = {"degree": model.degree, "coef0": model.coef0}
    return kernel_of_pairwise(
        model.kernel,
        points.shape[1],
        gamma=gamma,
        **{name: value for name, value in given.items() if value is not None},
        parameters=model.kernel_params,
    )
