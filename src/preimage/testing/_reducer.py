"""The contract of reducers."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import clone

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Kernel
from preimage.reduced_sets import NestedReducer, Reducer, Reduction, relative_error


def check_reducer(reducer: Reducer, kernel: Kernel | None = None, *, tol: float = 1e-3) -> None:
    """Raise AssertionError unless `reducer` keeps the contract of `Reducer`.

    A reducer is a value that no call changes; it returns at most as many points as were asked for and as the target
    has, the same ones each time; as many points as the target has reproduce its values; it is exact for the zero
    vector; it never writes into its target, and keeps its precision. Reducers that put points in an order give nested
    sets whose errors never rise.

    Parameters
    ----------
    reducer : Reducer
        The reducer to check.
    kernel : Kernel or None, default=None
        The kernel of the targets; None is a Gaussian.
    tol : float, default=1e-3
        Largest relative error of the values with as many points as the target has.

    See Also
    --------
    preimage.reduced_sets.Reducer : The interface.
    preimage.reduced_sets.NestedReducer : The interface of reducers that put points in an order.

    Examples
    --------
    >>> from preimage.reduced_sets import Select
    >>> from preimage.testing import check_reducer
    >>> check_reducer(Select())
    """
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    kernel = (Gaussian(0.3) if kernel is None else kernel).resolve(X)
    target = Expansion(kernel, X, W)
    parameters, before = repr(clone(reducer).get_params()), (X.copy(), W.copy())

    for n_points in (1, 4):
        reduction = reducer.reduce(target, n_points, rng=np.random.default_rng(1))
        _check_reduction(reduction, target, n_points)
        _check_deviation(reduction, target, X, 1.0)
        again = reducer.reduce(target, n_points, rng=np.random.default_rng(1))
        assert_allclose(again.expansion(X), reduction.expansion(X), rtol=1e-9, atol=1e-9, err_msg="not reproducible")
    for n_points in (12, 40):
        reduction = reducer.reduce(target, n_points, rng=np.random.default_rng(1))
        _check_reduction(reduction, target, 12)
        _check_deviation(reduction, target, X, tol)

    nothing = reducer.reduce(Expansion(kernel, X, 0 * W), 3, rng=np.random.default_rng(1))
    assert_allclose(_values(nothing, X), 0, atol=1e-9, err_msg="the zero vector")
    for wrong in (0, -1, 2.0, True):
        _check_refusal(reducer, target, wrong)
    single = Expansion(kernel, X.astype("f"), W.astype("f"))
    narrow = reducer.reduce(single, 4, rng=np.random.default_rng(1)).expansion
    assert narrow.coefficients.dtype == np.float32, "float32 stays float32"
    if isinstance(reducer, NestedReducer):
        _check_path(reducer, target)
    assert_allclose(X, before[0], rtol=0, atol=0, err_msg="the reducer wrote into the points of its target")
    assert_allclose(W, before[1], rtol=0, atol=0, err_msg="the reducer wrote into the coefficients of its target")
    assert repr(clone(reducer).get_params()) == parameters, "a reducer is never changed"


def _check_reduction(reduction: Reduction, target: Expansion, n_points: int) -> None:
    assert isinstance(reduction, Reduction)
    expansion = reduction.expansion
    # A kernel of several widths keeps the feature space of the target.
    assert expansion.kernel is target.kernel or expansion.kernel.own_columns, "the same kernel"
    assert len(expansion) == len(target), "the same vectors"
    assert 1 <= expansion.points.shape[0] <= n_points, f"{expansion.points.shape[0]} points; asked for {n_points}"
    assert np.isfinite(expansion.points).all() and np.isfinite(expansion.coefficients).all()
    assert isinstance(reduction.reason, str) and reduction.n_iter >= 0
    assert reduction.shift is None or reduction.shift.shape == (len(target),)


def _values(reduction: Reduction, X: np.ndarray) -> np.ndarray:
    return reduction.expansion(X) + (0 if reduction.shift is None else reduction.shift)


def _check_deviation(reduction: Reduction, target: Expansion, X: np.ndarray, most: float) -> None:
    """At most this squared deviation of the functions on X, relative to their squares."""
    values = target(X)
    deviation = np.sum((_values(reduction, X) - values) ** 2) / np.sum(values**2)
    assert deviation <= most, f"values deviate by {deviation:.2g} of their squares; {most:g} is allowed"


def _check_refusal(reducer: Reducer, target: Expansion, n_points: Any) -> None:
    try:
        reducer.reduce(target, n_points)
    except ValueError:
        return
    raise AssertionError(f"n_points={n_points!r} must be refused with a ValueError; see `check_n_points`")


def _check_path(reducer: NestedReducer, target: Expansion) -> None:
    path = reducer.path(target, 5)
    assert (np.diff(path.errors) <= 1e-9).all(), "errors never rise along a path"
    for n_points in (2, 5):
        part = path[n_points]
        assert_allclose(part.points, path.points[:n_points], err_msg="sets of points are nested")
        expected = reducer.reduce(target, n_points).expansion
        assert_allclose(expected(target.points), part(target.points), atol=1e-7, err_msg="path = reduce")
        assert_allclose(relative_error(target, part), path.errors[n_points - 1], atol=1e-7, err_msg="errors")
