"""Eigenpairs after a downdate of rank one are those of the matrix."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from preimage.inflation._leave_one_out import Downdate


@settings(max_examples=40)
@given(
    st.integers(1, 12),
    st.integers(0, 2**31),
    st.sampled_from([1.0, 1e-9, 1e9]),
    st.sampled_from(["spread", "equal", "tiny weights", "near"]),
)
def test_downdates_are_eigenpairs(r, seed, scale, kind):
    rng = np.random.default_rng(seed)
    poles = np.sort(rng.exponential(size=r))[::-1].copy()
    if kind == "equal":
        poles[:] = poles[r // 2]
    elif kind == "near":
        poles = poles[0] * (1 + 1e-13 * np.arange(r)[::-1])
    poles *= scale
    Z = rng.normal(size=(4, r))
    Z *= np.sqrt(poles) * rng.uniform(0, 1, size=(4, 1)) / np.linalg.norm(Z, axis=1, keepdims=True)
    Z[0] = 0
    if kind == "tiny weights":
        Z[1:, : r // 2] *= 1e-200
    downdate = Downdate(poles, Z, r)
    products, overlaps = downdate.products_and_overlaps(r)
    for n in range(4):
        A = np.diag(poles) - np.outer(Z[n], Z[n])
        expected = np.linalg.eigvalsh(A)[::-1]
        np.testing.assert_allclose(downdate.values[n], expected, atol=1e-13 * poles[0])
        V = downdate.eigenvectors_of(n)
        np.testing.assert_allclose(A @ V, V * downdate.values[n], atol=1e-13 * poles[0])
        np.testing.assert_allclose(products[n], Z[n] @ V, atol=1e-12 * np.sqrt(poles[0]))
        np.testing.assert_allclose(overlaps[n].T, V)
