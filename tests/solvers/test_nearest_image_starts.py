"""Where to start looking for a pre-image."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Polynomial
from preimage.solvers._nearest_image import nearest_in_subspace, nearest_points


def test_nearest_points_have_the_smallest_objective(rng):
    target = Expansion(Gaussian(0.5), rng.normal(size=(15, 3)), rng.normal(size=(15, 5)))
    distances = target.squared_distances(target.points)  # (n, q)
    assert_allclose(nearest_points(target), target.points[np.argmin(distances, axis=0)])


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Polynomial(2)], ids=repr)
def test_nearest_in_subspace_needs_coordinates_only(kernel, rng):
    X = rng.normal(size=(30, 3))
    model = KernelPCA(4, kernel=kernel).fit(X)
    Y = model.transform(rng.normal(size=(6, 3)))
    assert_allclose(nearest_in_subspace(model.subspace_, Y), nearest_points(model.subspace_.embed(Y)))
