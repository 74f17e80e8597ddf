"""The default solver: which solver answers which question; from names to solvers."""

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.kernels import CallableKernel, Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial, Warped
from preimage.solvers import (
    Auto,
    FixedPoint,
    Gradient,
    LearnedMap,
    as_preimage,
)
from preimage.solvers._learned import FittedMap


@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        (Gaussian(0.2), FixedPoint),
        (Matern(0.2), FixedPoint),
        (Polynomial(3), FixedPoint),
        (Laplacian(0.2), Gradient),
        (Cosine(), Gradient),
        (Warped(Gaussian(0.2)), Gradient),
        (CallableKernel(lambda X, Y: np.exp(-((X[:, None] - Y[None]) ** 2).sum(axis=2))), LearnedMap),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_kernel_decides_who_projects(kernel, solver, rng):
    X = rng.normal(size=(20, 3))
    assert type(Auto().for_vectors(kernel)) is solver
    fitted = KernelPCA(2, kernel=kernel, preimage=Auto()).fit(X).preimage_
    assert type(fitted.projection) is (FittedMap if solver is LearnedMap else solver)
    assert type(fitted.reconstruction) is FittedMap


def test_the_linear_kernel_has_one_answer_to_both_questions(rng):
    fitted = KernelPCA(2, kernel=Linear(), preimage=Auto()).fit(rng.normal(size=(20, 3))).preimage_
    assert fitted.reconstruction is fitted.projection


def test_a_given_projection_is_used_where_the_kernel_has_a_gradient():
    mine = Gradient(lower=0.0)
    assert Auto(mine).for_vectors(Gaussian()) is mine
    assert type(Auto(mine).for_vectors(CallableKernel(lambda X, Y: X @ Y.T))) is LearnedMap


def test_unfitted_solvers_say_so():
    with pytest.raises(ValueError, match="fit"):
        Auto().inverse(None, np.ones((1, 2)))


def test_unknown_solvers_are_refused():
    with pytest.raises(ValueError, match="'fixed_point', 'gradient'"):
        as_preimage("newton")


def test_names_are_solvers_with_default_parameters():
    assert isinstance(as_preimage("gradient"), Gradient)
    mine = FixedPoint(penalty=0.1)
    assert as_preimage(mine) is mine
    assert as_preimage("auto", auto=mine) is mine and as_preimage("gradient", auto=mine) is not mine
