"""The contract of kernels: laws that every one obeys."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from preimage._engine.objects import are_objects, object_key
from preimage._engine.typing import Rows
from preimage.kernels import CallableKernel, Kernel

__all__ = ["check_kernel"]


def check_kernel(kernel: Kernel | Callable[..., object], X: Rows | None = None, *, sparse_inputs: bool = True) -> None:
    """Raise AssertionError unless `kernel` keeps the contract of `Kernel` on the rows of X.

    Symmetry, diagonal, blocks, prepared values, bounds of inner products, positive semidefiniteness where promised,
    contracted gradients against central differences, sparse inputs, float32, `clone` and `resolve`; inputs are not
    changed. Of a kernel on objects all that needs no numbers.

    Parameters
    ----------
    kernel : Kernel or callable
        With numbers or rules as parameters. A function is checked as `CallableKernel(function)`.
    X : array of shape (n, d), or list of n objects, optional
        Inputs, at least 7 rows; by default 12 rows of 4 normal variables. For a kernel on objects, and a function of
        two objects, a list of these.
    sparse_inputs : bool, default=True
        Whether the kernel takes sparse matrices. Say False of one that is written for arrays.

    See Also
    --------
    preimage.kernels.ProfileKernel : The shortest way to a new kernel.
    preimage.kernels.CallableKernel : A kernel from a function.
    preimage.geometry.mercer_report : Whether a function can be a kernel at all.

    Examples
    --------
    >>> from preimage.kernels import RationalQuadratic
    >>> from preimage.testing import check_kernel
    >>> check_kernel(RationalQuadratic(0.5))

    A function of two sets:

    >>> sets = [{*"kernel"}, {*"colonel"}, {*"wine"}, {*"vine"}, {*"kiwi"}, {*"lemon"}, {*"melon"}, {*"plum"}]
    >>> check_kernel(lambda a, b: len(a & b) / len(a | b), sets)
    """
    if not isinstance(kernel, Kernel):
        kernel = CallableKernel(kernel)
    rng = np.random.default_rng(0)
    are_rows = kernel.takes_numbers and (X is None or not are_objects(X))
    if not are_rows and X is None:
        raise ValueError(f"check_kernel needs objects for {kernel!r}: pass a list of seven or more as X.")
    given = rng.normal(size=(12, 4)) if X is None else np.array(X, dtype=float) if are_rows else kernel.rows(X)
    X = np.array(given)  # a copy
    X.flags.writeable = False  # a kernel that writes into its inputs raises here
    kernel = kernel.resolve(X)
    assert kernel.is_resolved, "`resolve(X)` fixes all parameters that data decide"
    copies = (
        [] if are_rows else [(each, other) for each, other in zip(X[:, 0], deepcopy(X)[:, 0]) if _same(each, other)]
    )
    K = _checked_values(kernel, X)
    scale = np.abs(K).max()
    if are_rows:
        if kernel.has_gradient:
            _check_gradients(kernel, X, rng)
        if sparse_inputs:
            _check_sparse_inputs(kernel, X, scale)
        single = kernel(X.astype(np.float32))
        assert single.dtype == np.float32, "float32 stays float32"
        assert_allclose(single, K, atol=1e-4 * scale, err_msg="float32 ≈ float64")
    else:
        assert all(_same(each, other) for each, other in copies), "objects are not changed"
        assert K.dtype == np.float64, "values on objects are float64"
    assert_allclose(clone(kernel)(X), K, atol=1e-13 * scale, err_msg="clone")
    assert_allclose(kernel.resolve(X)(X), K, rtol=0, atol=0, err_msg="resolving twice changes nothing")


def _same(one: Any, other: Any) -> bool:
    """Whether objects are known to be equal: texts, numbers, arrays, and collections of such."""
    return object_key(one) == object_key(other)


def _checked_values(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """k(X, X), after what does not depend on the kind of rows."""
    K = kernel(X)
    scale = np.abs(K).max()
    assert K.shape == (len(X), len(X)) and np.isfinite(K).all()
    assert_allclose(K, K.T, atol=1e-13 * scale, err_msg="k(x, y) = k(y, x)")
    assert_allclose(kernel.diagonal(X), np.diagonal(K), atol=1e-12 * scale, err_msg="diagonal(X) = diag k(X, X)")
    assert_allclose(kernel(X[:5], X[3:]), K[:5, 3:], atol=1e-12 * scale, err_msg="values depend on the pair alone")
    prepared, tile = kernel.prepare(X), (slice(2, 7), slice(5, 12))
    assert_allclose(prepared.tiles(X)(*tile), K[tile], atol=1e-12 * scale, err_msg="tiles(X) has parts of k(X, X)")
    written = np.empty_like(K[tile])
    assert prepared.tiles(X)(*tile, written) is written, "tiles(X) gives back the array that it writes to"
    assert_allclose(written, K[tile], atol=1e-12 * scale, err_msg="tiles(X) writes what it gives")
    kernel.prepare(X[5:12, :])(X[2:7, :], written)
    assert_allclose(written, K[tile], atol=1e-9 * scale, err_msg="prepare(X) writes what the kernel gives")
    assert_allclose(prepared(X[:5]), K[:5], atol=1e-12 * scale, err_msg="prepare(X)(Z) = k(Z, X)")
    is_smooth = kernel.has_gradient and X.dtype.kind == "f"
    values, _ = prepared.with_gradient(X[:5]) if is_smooth else (prepared(X[:5]), None)
    assert_allclose(values, K[:5], atol=1e-12 * scale, err_msg="with_gradient(Z) has k(Z, X)")
    if kernel.is_positive_semidefinite:
        _check_inner_products(K, scale)
    return K


def _check_inner_products(K: np.ndarray, scale: float) -> None:
    diagonal = np.diagonal(K)
    assert (diagonal >= -1e-12 * scale).all(), "k(x, x) ≥ 0"
    assert (np.outer(diagonal, diagonal) * (1 + 1e-10) + 1e-12 * scale**2 >= K**2).all(), "Cauchy–Schwarz"
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-10 * max(values[-1], scale), f"not positive semidefinite: eigenvalue {values[0]:.2g}"


def _check_sparse_inputs(kernel: Kernel, X: np.ndarray, scale: float) -> None:
    S = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0))
    try:
        values, diagonal, mixed = kernel(S), kernel.diagonal(S), kernel.prepare(X)(S)
    except Exception as error:
        raise AssertionError(
            f"The kernel cannot take sparse matrices: {type(error).__name__}: {error} If it is meant for arrays only, "
            "check it with sparse_inputs=False."
        ) from error
    dense = S.toarray()
    assert_allclose(values, kernel(dense), atol=1e-10 * scale, err_msg="sparse = dense")
    assert_allclose(diagonal, kernel.diagonal(dense), atol=1e-10 * scale)
    assert type(mixed) is np.ndarray, "values of sparse rows against dense points are an array"
    assert_allclose(mixed, kernel(dense, X), atol=1e-10 * scale, err_msg="sparse against dense")


def _check_gradients(kernel: Kernel, X: np.ndarray, rng: np.random.Generator, step: float = 1e-5) -> None:
    Z, weights = X[:5] + 0.1 * rng.normal(size=X[:5].shape), rng.normal(size=(5, len(X)))
    value = lambda Z: np.sum(weights * kernel(Z, X), axis=1)
    length = lambda Z: kernel.diagonal(Z)
    for function, gradient, name in (
        (value, kernel.gradient(Z, X, weights), "gradient"),
        (length, kernel.diagonal_gradient(Z), "diagonal_gradient"),
    ):
        differences = np.empty_like(Z)
        for f in range(Z.shape[1]):
            shift = step * np.eye(Z.shape[1])[f]
            differences[:, f] = (function(Z + shift) - function(Z - shift)) / (2 * step)
        scale = np.abs(differences).max() + np.abs(function(Z)).max()
        assert gradient.shape == Z.shape
        assert_allclose(gradient, differences, atol=1e-7 * scale, rtol=1e-6, err_msg=f"{name} against differences")
    direct, prepared = kernel.gradient(Z, X, weights), kernel.prepare(X).with_gradient(Z)[1](weights)
    error = 1e-12 * np.abs(direct).max()
    assert_allclose(prepared, direct, rtol=1e-9, atol=error, err_msg="with_gradient(Z) has gradient(Z, X, ·)")
