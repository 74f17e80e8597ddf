"""The contract of landmark selectors: laws that every one obeys."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from preimage._engine.typing import Rows
from preimage.kernels import Gaussian, Kernel, Linear, Polynomial
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.landmarks._selector import ENOUGH, EXHAUSTED, TOLERANCE

__all__ = ["check_selector"]


def check_selector(selector: LandmarkSelector, kernel: Kernel | None = None, X: Rows | None = None) -> None:
    """Raise AssertionError unless `selector` keeps the contract of `LandmarkSelector` on the rows of X.

    The factor is the Nyström approximation (G2) of the landmarks, residual traces are those of K − K̃ and fall with
    every landmark; the selection stops at the number, at the tolerance and at the rank, and says which; a row is chosen
    once, copies of rows too; a seed means the same landmarks again; float32 stays float32; inputs and parameters are
    not changed.

    Parameters
    ----------
    selector : LandmarkSelector
        Its `n_landmarks` and `tol` are set by the checks.
    kernel : Kernel, optional
        Positive semidefinite, of rank at least 20 on X; a Gaussian by default.
    X : array of shape (n, d), optional
        Inputs, at least 40 rows that differ; by default 60 rows of three normal variables.

    See Also
    --------
    preimage.landmarks.LandmarkSelector : The interface.
    preimage.feature_space.Proposal : What `propose` returns.

    Examples
    --------
    >>> from preimage.landmarks import RandomlyPivotedCholesky
    >>> from preimage.testing import check_selector
    >>> check_selector(RandomlyPivotedCholesky())
    """
    kernel = Gaussian(0.3) if kernel is None else kernel
    X = np.random.default_rng(0).normal(size=(60, 3)) if X is None else np.array(X, dtype=float)
    X.flags.writeable = False  # a selector that writes into its inputs raises here
    parameters = selector.get_params(deep=False)
    _check_approximation(selector, kernel, X)
    _check_where_it_stops(selector, kernel, X)
    _check_rank_and_copies(selector, X)
    _check_repetitions(selector, kernel, X)
    single = _asked(selector, n_landmarks=9).select(kernel, X.astype(np.float32), with_factor=True)
    assert single.points.dtype == single.factor.dtype == np.float32, "float32 stays float32"
    assert selector.get_params(deep=False) == parameters, "a selection does not change the selector"


def _check_approximation(selector: LandmarkSelector, kernel: Kernel, X: np.ndarray) -> None:
    landmarks = _asked(selector, n_landmarks=12).select(kernel, X, with_factor=True)
    assert isinstance(landmarks, Landmarks)
    K, scale = kernel(X), float(np.abs(kernel.diagonal(X)).max())
    assert len(landmarks) == 12 and landmarks.points.shape == (12, X.shape[1]), "n_landmarks points"
    if landmarks.indices is not None:
        assert len(set(landmarks.indices.tolist())) == 12, "a row is chosen once"
        assert_array_equal(landmarks.points, X[landmarks.indices], err_msg="points are the rows `indices`")
    approximation = landmarks.factor @ landmarks.factor.T
    assert_allclose(
        approximation, _nystroem(kernel, X, landmarks.points), atol=1e-8 * scale, err_msg="GGᵀ = C W⁻¹ Cᵀ  (G2)"
    )
    assert np.linalg.eigvalsh(K - approximation).min() > -1e-9 * landmarks.trace, "K − K̃ is positive semidefinite"
    assert_allclose(landmarks.trace, np.trace(K), err_msg="trace = tr K")
    assert_allclose(landmarks.residual_trace, np.trace(K - approximation), rtol=1e-8, err_msg="residual_trace")
    assert landmarks.is_exact and landmarks.standard_error == 0, "a residual over all rows is exact"
    path = landmarks.residuals_path
    assert path.shape == (12,) and (np.diff(np.append(landmarks.trace, path)) < 0).all(), "every landmark lowers it"
    for m in (1, 7, 12):
        left = np.trace(K - _nystroem(kernel, X, landmarks.points[:m]))
        assert_allclose(path[m - 1], left, rtol=1e-7, err_msg=f"residuals_path after {m} landmarks")


def _check_where_it_stops(selector: LandmarkSelector, kernel: Kernel, X: np.ndarray) -> None:
    for tol in (0.5, 1e-3):
        landmarks = _asked(selector, n_landmarks=None, tol=tol).select(kernel, X)
        assert landmarks.residual_trace <= tol * landmarks.trace, f"tol={tol} is kept"
        assert len(landmarks) == 1 or landmarks.residuals_path[-2] > tol * landmarks.trace, "no landmark too many"
        assert landmarks.reason == TOLERANCE, f"reason is {landmarks.reason!r} where the tolerance is met"
    landmarks = _asked(selector, n_landmarks=3, tol=1e-9).select(kernel, X)
    assert len(landmarks) == 3 and landmarks.reason == ENOUGH, "n_landmarks bounds what a tolerance asks for"


def _check_rank_and_copies(selector: LandmarkSelector, X: np.ndarray) -> None:
    plane = X[:, :2]
    for kernel, rank in ((Polynomial(2), 6), (Linear(), 2)):
        landmarks = _asked(selector, n_landmarks=30).select(kernel, plane)
        assert len(landmarks) == rank, f"{len(landmarks)} landmarks of a kernel of rank {rank}"
        # Pivots in any order may be nearly dependent: half of the digits are left of what is nothing.
        assert landmarks.residual_trace <= 1e-8 * landmarks.trace, "landmarks that span everything leave nothing"
        assert landmarks.reason == EXHAUSTED, f"reason is {landmarks.reason!r} at the rank"
    # Narrow kernels too, where rounding of distances is far larger than that of kernel values.
    for gamma in (1.0, 1e4):
        copies = _asked(selector, n_landmarks=60).select(Gaussian(gamma), np.repeat(X[:20], 5, axis=0))
        assert len(copies) == 20, f"{len(copies)} landmarks of 20 rows with copies"
    one = _asked(selector, n_landmarks=5).select(Gaussian(1.0), np.ones((4, 3)))
    assert len(one) == 1 and abs(one.residual_trace) <= 1e-12, "rows that are all equal have one landmark"


def _check_repetitions(selector: LandmarkSelector, kernel: Kernel, X: np.ndarray) -> None:
    selector = _asked(selector, n_landmarks=9, random_state=3)
    first, again = selector.select(kernel, X), selector.select(kernel, X)
    assert_array_equal(first.points, again.points, err_msg="a seed means the same again")
    given = selector.select(kernel, X, rng=np.random.default_rng(3))
    assert_array_equal(first.points, given.points, err_msg="a generator replaces `random_state`")
    cloned = clone(selector).select(kernel, X)
    assert_array_equal(first.points, cloned.points, err_msg="a clone chooses the same")


def _asked(selector: LandmarkSelector, **parameters: object) -> LandmarkSelector:
    return clone(selector).set_params(**parameters)


def _nystroem(kernel: Kernel, X: np.ndarray, points: np.ndarray) -> np.ndarray:
    C = kernel(X, points)
    return C @ np.linalg.solve(kernel(points), C.T)
