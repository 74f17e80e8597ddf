"""What the Lanczos iteration does to notice eigenvectors that its Krylov space does not contain."""

from types import SimpleNamespace

import numpy as np

from preimage.eigensolvers._eigensolver import measured_result
from preimage.eigensolvers._lanczos import _is_complete


def test_a_missed_copy_is_noticed_among_many_weaker_vectors():
    """Of an eigenvalue that comes six times one vector is not in the basis, nor are hundreds a little weaker."""
    n, k = 400, 12
    values = np.concatenate([np.linspace(9, 8, 6), np.full(6, 5.0), np.linspace(4, 0, n - 12)])
    kept = np.delete(np.arange(16), 11)
    vectors = np.eye(n)[kept]
    basis = SimpleNamespace(vectors=vectors, images=vectors * values)
    multiply = lambda vector, out: np.multiply(vector, values, out=out)
    found = vectors[:k].T
    result = measured_result(values[kept[:k]], found, found * values[:, None], 1e-9, len(kept), "converged", 1e-14)
    complete = [_is_complete(result, multiply, basis, 1e-14, np.random.default_rng(seed), False) for seed in range(200)]
    assert sum(complete) <= 1  # where both random vectors hardly have the missed one
