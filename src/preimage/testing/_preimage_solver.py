"""The contract of pre-image solvers."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import clone

from preimage.feature_space import Expansion, Gram, Subspace
from preimage.kernels import Gaussian, Kernel
from preimage.solvers import Preimage, PreimageResult, TargetSolver, objective_at


def check_preimage_solver(
    solver: Preimage, kernel: Kernel | None = None, *, never_above_start: bool = False, tol: float = 1e-5
) -> None:
    """Raise AssertionError unless `solver` keeps the contract of `Preimage`.

    A solver is a value that no call changes; it answers one question per row, independently of the other rows, in the
    precision of its data, the same way each time; it never writes into what it is given; what it calls converged is
    finite; and the objective it reports is at least the distance ρ of (P1).

    Parameters
    ----------
    solver : Preimage
        The solver to check.
    kernel : Kernel or None, default=None
        The kernel of the questions; None is a Gaussian.
    never_above_start : bool, default=False
        Whether the objective of a given start bounds that of its answer, as for all solvers that descend.
    tol : float, default=1e-5
        How much answers to the same question may differ, relative to the data: the tolerance of an iteration.

    See Also
    --------
    preimage.solvers.TargetSolver : The interface, with one method to write.
    preimage.solvers.minimize_rows : A minimiser for solvers that descend.

    Examples
    --------
    >>> from preimage.solvers import FixedPoint
    >>> from preimage.testing import check_preimage_solver
    >>> check_preimage_solver(FixedPoint(), never_above_start=True)
    """
    rng = np.random.default_rng(0)
    X, start = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))
    kernel = (Gaussian(0.2) if kernel is None else kernel).resolve(X)
    subspace = _subspace(kernel, X)
    Y = subspace.coordinates(start)
    parameters = repr(clone(solver).get_params())
    fitted = solver.fit(subspace, X)
    assert isinstance(fitted, Preimage), "`fit` returns a solver"
    assert solver.learns or fitted is solver, "a solver that learns nothing is returned by `fit` as it is"
    before = [array.copy() for array in (X, Y, start)]

    alone = fitted.inverse(subspace, Y)
    _check_result(alone, Y, X)
    result = fitted.inverse(subspace, Y, start)
    _check_result(result, Y, X)
    assert (result.objective >= objective_at(subspace.embed(Y), result.points) - 1e-9).all(), "objective ≥ ρ(z)"
    if never_above_start:
        highest = objective_at(subspace.embed(Y), start)
        assert (result.objective <= highest + 1e-9).all(), "no objective ends above that of its start"

    near = {"atol": tol * np.abs(X).max(), "rtol": 0}
    again = fitted.inverse(subspace, Y, start)
    assert_allclose(again.points, result.points, **near, err_msg="the same question has the same answer")
    some = np.array([4, 1])
    part = fitted.inverse(subspace, Y[some], start[some])
    assert_allclose(part.points, result.points[some], **near, err_msg="rows are independent of each other")
    for with_start, answer in ((True, result), (False, alone)):
        light = fitted.ready(subspace, with_start=with_start)
        found = light.inverse(subspace, Y, start if with_start else None)
        assert_allclose(found.points, answer.points, **near, err_msg="`ready` answers alike")
    if isinstance(fitted, TargetSolver):
        solved = fitted.solve(subspace.embed(Y), start)
        assert_allclose(solved.points, result.points, **near, err_msg="`inverse` solves for embedded coordinates")

    single = subspace.converted(lambda array: array.astype(np.float32), X.astype(np.float32))
    narrow = solver.fit(single, X.astype(np.float32)).inverse(single, Y.astype("f"), start.astype("f"))
    assert narrow.points.dtype == np.float32, "float32 stays float32"
    for array, copy, name in zip((X, Y, start), before, ("points", "coordinates", "starts"), strict=True):
        assert_allclose(array, copy, rtol=0, atol=0, err_msg=f"the solver wrote into its {name}")
    assert repr(clone(solver).get_params()) == parameters, "a solver is never changed"


def _subspace(kernel: Kernel, X: np.ndarray, size: int = 3) -> Subspace:
    """The first principal axes of φ(X), through the mean."""
    n = len(X)
    values, vectors = np.linalg.eigh(Gram(kernel, X).centered().dense())
    axes = vectors[:, ::-1][:, :size] / np.sqrt(values[::-1][:size])
    centered = axes - axes.mean(axis=0)
    return Subspace(Expansion(kernel, X, centered), Expansion(kernel, X, np.full((n, 1), 1 / n)))


def _check_result(result: PreimageResult, Y: np.ndarray, X: np.ndarray) -> None:
    q = len(Y)
    assert isinstance(result, PreimageResult)
    assert result.points.shape == (q, X.shape[1]), "one point per row of coordinates"
    for name in ("objective", "n_iter", "converged", "reason"):
        assert getattr(result, name).shape == (q,), f"one value of `{name}` per row of coordinates"
    assert result.converged.dtype == bool and all(isinstance(reason, str) for reason in result.reason)
    finite = np.isfinite(result.points).all(axis=1) & np.isfinite(result.objective)
    assert finite[result.converged].all(), "what converged is finite"
