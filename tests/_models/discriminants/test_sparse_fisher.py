"""Paths of sparse discriminants."""

import numpy as np
from fisher_data import data, same_up_to_scale, scatter_problem
from numpy.testing import assert_allclose

from preimage._models.discriminants._sparse_fisher import polished, sparse_paths
from preimage.kernels import Gaussian


def test_sparse_path_is_optimal_and_ends_at_the_discriminant(rng):
    X, codes = data(rng)
    problem = scatter_problem(Gaussian(0.3)(X), codes, regularizer="identity")
    ((path, noise, contrast, _),) = sparse_paths(problem, 0.1)
    for penalty in path.penalties[[1, 8, 20]] * 0.97:
        alpha = path.at(penalty)
        eta = 2 * alpha @ noise @ alpha + penalty * np.abs(alpha).sum()
        slope = eta * contrast - 2 * noise @ alpha  # λ times a subgradient of the L1 norm
        assert_allclose(slope[alpha != 0], penalty * np.sign(alpha[alpha != 0]), rtol=1e-8)
        assert np.max(np.abs(slope)) <= penalty * (1 + 1e-8)
        assert_allclose(contrast @ alpha, 1)
    same_up_to_scale(path.coefficients[:, -1:], problem.directions([0.1])[0][1])
    first = int(np.argmax(np.abs(contrast)))
    assert_allclose(path.at(np.inf), np.eye(50)[first] / contrast[first])


def test_polished_support_is_the_discriminant_on_it(rng):
    X, codes = data(rng)
    kernel = Gaussian(0.3)
    problem = scatter_problem(kernel(X), codes, regularizer="identity", is_relative=False)
    ((path, noise, contrast, _),) = sparse_paths(problem, 0.1, 10)
    support = path.support(10)
    assert 8 <= support.size <= 10
    few = scatter_problem(
        kernel(X, X[support]), codes, regularizer="identity", gram=kernel(X[support]), is_relative=False
    )
    _, alpha = few.directions([0.1])[0]
    same_up_to_scale(polished(noise, contrast, support)[support, None], alpha)
