"""From fitted scikit-learn estimators to kernel machines."""

from functools import singledispatch
from itertools import combinations

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import as_points, is_sparse, to_dense
from preimage.feature_space import Expansion
from preimage.interop._gaussian_process_kernels import kernel_of_gaussian_process
from preimage.interop._private import (
    ConstantPredictor,
    platt_parameters,
    resolved_gamma,
    target_scaling,
    training_inputs,
)
from preimage.interop._sklearn_kernels import kernel_of_pairwise, kernel_of_svm
from preimage.kernels import CallableKernel, Precomputed
from preimage.machines._machine import KernelMachine
from preimage.machines.outputs import Binary, Detection, OneVsOne, OneVsRest, Regression
from preimage.machines.outputs._one_vs_rest import NOT_CONSTANT

SUPPORTED = (
    "SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, GaussianProcessRegressor, KernelPCA, Nystroem, "
    "OneVsRestClassifier of SVC or NuSVC, CalibratedClassifierCV with ensemble=False, pipelines in which kernel PCA "
    "feeds a linear machine, and the kernel estimators of preimage"
)


def expansion_of(estimator):
    """The functions of a fitted kernel machine as vectors of feature space, without intercepts.

    Parameters
    ----------
    estimator : fitted estimator, KernelMachine or Expansion
        SVC, NuSVC (one function for two classes, one per pair of classes for more), SVR, NuSVR, OneClassSVM,
        KernelRidge and GaussianProcessRegressor (one function per output), OneVsRestClassifier of SVC or NuSVC (one per
        class), scikit-learn's KernelPCA and Nystroem (one per coordinate), a pipeline in which kernel PCA feeds a
        linear machine, CalibratedClassifierCV with ensemble=False of one of them, or an estimator of this library.

    Returns
    -------
    Expansion of k vectors

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage.interop import expansion_of
    >>> svm = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    >>> expansion_of(svm)
    Expansion(Linear(), 1 vectors on 2 points of dimension 1)
    >>> expansion_of(svm)(np.array([[2.0]])) + svm.intercept_
    array([[2.]])
    """
    return estimator if isinstance(estimator, Expansion) else machine_of(estimator).expansion


@singledispatch
def machine_of(estimator):
    """A fitted estimator as a `KernelMachine`: functions, intercepts, and what is made of their values.

    Raises
    ------
    NotFittedError
        If the estimator has not been fitted.
    TypeError
        If it is no kernel machine that we know; the message lists those.

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
def _(machine: KernelMachine):
    return machine


@machine_of.register(SVC)
@machine_of.register(NuSVC)
def _(svm):
    check_is_fitted(svm)
    dual, intercept = to_dense(svm.dual_coef_), svm.intercept_
    probA, probB = platt_parameters(svm)
    if svm.classes_.size == 2:
        return _support_vector_machine(svm, dual.T, intercept, Binary(svm.classes_, probA, probB))
    output = OneVsOne(svm.classes_, svm.decision_function_shape, svm.break_ties, probA, probB)
    return _support_vector_machine(svm, _unpack_pairs(dual, svm.n_support_), intercept, output)


@machine_of.register(SVR)
@machine_of.register(NuSVR)
def _(svm):
    check_is_fitted(svm)
    return _support_vector_machine(svm, to_dense(svm.dual_coef_).T, svm.intercept_, Regression())


@machine_of.register
def _(svm: OneClassSVM):
    check_is_fitted(svm)
    output = Detection(float(svm.offset_[0]))
    return _support_vector_machine(svm, to_dense(svm.dual_coef_).T, svm.intercept_, output)


@machine_of.register
def _(ridge: KernelRidge):
    check_is_fitted(ridge)
    flat = ridge.dual_coef_.ndim == 1
    coefficients = ridge.dual_coef_[:, None] if flat else ridge.dual_coef_
    if ridge.kernel == "precomputed":
        kernel = Precomputed(np.asarray(to_dense(ridge.X_fit_), dtype=np.float64))
        points = kernel.inputs(kernel.gram)
    else:
        points = double_points(ridge.X_fit_)
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
def _(process: GaussianProcessRegressor):
    check_is_fitted(process, "alpha_")  # by name: unfitted processes predict their prior, and count as fitted
    alpha = process.alpha_ if process.alpha_.ndim == 2 else process.alpha_[:, None]
    mean, scale = target_scaling(process)
    kernel = kernel_of_gaussian_process(process.kernel_)
    intercept = np.broadcast_to(np.asarray(mean, dtype=np.float64), alpha.shape[1:]).copy()
    return _machine(
        process, kernel, double_points(process.X_train_), alpha * scale, intercept, Regression(alpha.shape[1])
    )


@machine_of.register
def _(classifier: OneVsRestClassifier):
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


def _support_vector_machine(svm, coefficients, intercept, output):
    kernel = kernel_of_svm(svm.kernel, gamma=resolved_gamma(svm), degree=svm.degree, coef0=svm.coef0)
    points, coefficients = _support(svm), np.ascontiguousarray(coefficients)
    if svm.support_.size == 0:  # a constant; the zero vector still needs a point
        coefficients = np.zeros((1, output.n_functions))
    return _machine(svm, kernel, points, coefficients, np.array(intercept, dtype=np.float64), output)


def _support(svm):
    """The support vectors; one point of the training set when there are none."""
    numbers = svm.support_ if svm.support_.size else np.zeros(1, int)
    if isinstance(svm.kernel, str) and svm.kernel == "precomputed":
        return np.asarray(numbers, dtype=np.int64)[:, None]
    if callable(svm.kernel):
        return double_points(training_inputs(svm))[numbers]
    if svm.support_.size:
        return double_points(svm.support_vectors_)
    return np.zeros((1, svm.n_features_in_))


def _unpack_pairs(dual, n_support):
    """One column of coefficients a pair of classes, from libsvm's layout.

    Support vectors are grouped by class. For the pair (i, j), i < j, those of class i have their coefficients in row
    j − 1, those of class j in row i, and all others take no part.
    """
    owner = np.repeat(np.arange(len(n_support)), n_support)
    columns = [
        np.where(owner == i, dual[j - 1], np.where(owner == j, dual[i], 0.0))
        for i, j in combinations(range(len(n_support)), 2)
    ]
    return np.stack(columns, axis=1)


def _binary_machine(estimator):
    if not isinstance(estimator, (SVC, NuSVC)):
        raise TypeError(
            "OneVsRestClassifier has an expansion when it is made of SVC or NuSVC, or, after kernel PCA in a pipeline, "
            f"of linear classifiers such as LinearSVC and LogisticRegression; got {_describe(estimator)}."
        )
    return machine_of(estimator)


def _require_one_kernel(kernels):
    # Functions are copied by `clone` and then differ, though they compute the same.
    first = kernels[0]
    comparable = not isinstance(first, CallableKernel)
    different = [kernel for kernel in kernels[1:] if comparable and not first.is_same(kernel)]
    if different:
        raise ValueError(
            f"The parts of a OneVsRestClassifier must have one kernel; got {first!r} and {different[0]!r}."
        )


def _joint_platt_parameters(machines):
    varying = [machine.output for machine in machines if machine is not None]
    if not all(output.has_probabilities for output in varying):
        return {"probA": None, "probB": None}
    return {
        name: np.array([getattr(machine.output, name)[0] if machine else 0.0 for machine in machines])
        for name in ("probA", "probB")
    }


def _machine(estimator, kernel, points, coefficients, intercept, output):
    coefficients = np.asarray(coefficients, dtype=np.float64)
    return KernelMachine(
        Expansion(kernel, points, coefficients),
        intercept,
        output,
        # A function as kernel keeps SVC from counting columns.
        getattr(estimator, "n_features_in_", points.shape[1]),
        getattr(estimator, "feature_names_in_", None),
    )


def double_points(X):
    """Points in double precision, CSR if sparse, whatever precision the model was fitted in."""
    X = as_points(X).astype(np.float64, copy=False)
    return X.tocsr() if is_sparse(X) else X


def _describe(estimator):
    """The class of what came, and what to pass instead where that is easy to say."""
    if isinstance(estimator, type):
        return f"the class {estimator.__name__}; pass a fitted object"
    name = type(estimator).__name__
    if hasattr(estimator, "best_estimator_"):
        return f"{name}; pass its best_estimator_"
    if hasattr(estimator, "refit"):
        return f"{name} without a best_estimator_; fit it with refit=True"
    return name
