"""What a prediction costs, in multiplications."""

from functools import singledispatch

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from preimage._arrays import is_sparse, to_numpy
from preimage.interop._affine import affine_map_of
from preimage.interop._linear import linear_machine_of
from preimage.interop._sklearn import machine_of
from preimage.machines._machine import KernelMachine


@singledispatch
def multiplications(estimator):
    """Multiplications for one row, with all steps of a pipeline.

    A kernel value costs as many as there are columns, and a function as many as it has coefficients; kernel values that
    several functions share count once. Linear machines and affine maps cost the entries of their matrix. Steps that we
    do not know count nothing: the ratio of two pipelines that share such a step is then an upper bound.

    Parameters
    ----------
    estimator : fitted estimator or KernelMachine

    Returns
    -------
    int

    Examples
    --------
    >>> from sklearn.svm import SVR
    >>> from preimage.interop import multiplications
    >>> svr = SVR().fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0])
    >>> multiplications(svr)  # two points of two columns, two coefficients
    6
    """
    if hasattr(estimator, "best_estimator_"):
        return multiplications(estimator.best_estimator_)
    linear = linear_machine_of(estimator)
    if linear is not None:
        return int(linear.weights.size)
    affine = affine_map_of(estimator)
    if affine is not None:
        return int(affine.matrix.nnz if is_sparse(affine.matrix) else affine.matrix.size)
    try:
        return multiplications(machine_of(estimator))
    except TypeError:
        return 0


@multiplications.register
def _(machine: KernelMachine):
    expansion = machine.expansion.merged()
    n, d = expansion.points.shape
    return n * d + int(np.count_nonzero(to_numpy(expansion.coefficients)[:, : machine.output.n_functions]))


@multiplications.register
def _(pipeline: Pipeline):
    return sum(multiplications(step) for _, step in pipeline.steps if not (step is None or isinstance(step, str)))


@multiplications.register
def _(calibrated: CalibratedClassifierCV):
    return sum(multiplications(each.estimator) for each in calibrated.calibrated_classifiers_)


@multiplications.register
def _(frozen: FrozenEstimator):
    return multiplications(frozen.estimator)
