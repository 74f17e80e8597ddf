"""Kernels are judged by rows without a part in their widths, and the simpler family wins where they do as well."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from preimage._models.regression import Judge, choose_widths
from preimage.kernels import Gaussian, ScaledInputs


def judge(rng, n=90, alpha=0.1, parts=None, intercept=True):
    X = rng.normal(size=(n, 3))
    Y = (np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n))[:, None]
    parts = [np.arange(n)] if parts is None else parts
    return Judge(lambda kernel: X, X, Y, rng.uniform(0.5, 2, size=n), parts, alpha, intercept)


def test_errors_are_those_of_ridge_regressions_without_each_row(rng):
    """With all rows as landmarks, kernel ridge regression of the others, weighted."""
    found = judge(rng, n=25, parts=[np.array([3, 4]), np.array([7])], intercept=False)
    kernels = [Gaussian(0.5), Gaussian(2.0)]
    expected = []
    for kernel, rows in zip(kernels, found.judging, strict=True):
        for row in rows:
            others = np.delete(np.arange(25), row)
            K = kernel(found.X[others])
            solved = np.linalg.solve(K + 0.1 * np.diag(1 / found.weights[others]), found.Y[others])
            expected.append(float(np.sum((found.Y[row] - kernel(found.X[[row]], found.X[others]) @ solved) ** 2)))
    # A landmark stays where its row is left out, but nothing pulls its coefficient.
    assert_allclose(found.errors(kernels), expected, rtol=1e-6)


def test_equal_families_keep_one_width(rng):
    family = lambda factor: [Gaussian(0.5 * factor)]
    assert choose_widths(judge(rng), [family], family)[0] == 0


def test_widths_that_are_surely_better_are_taken(rng):
    found = judge(rng)
    columns = lambda factor: [ScaledInputs(Gaussian(factor), [2.0, 0.0, 0.0])]
    one = lambda factor: [Gaussian(factor)]
    assert choose_widths(found, [one], columns)[0] == 1
    assert choose_widths(found, [columns], one)[0] == 0
    assert choose_widths(found, [one, columns], one)[0] == 1  # the better of two simple ones
    assert choose_widths(found, [one, columns], columns)[0] == 1


def test_the_factor_goes_where_errors_are_smaller(rng):
    found = judge(rng, n=200, alpha="loo")
    right = [ScaledInputs(Gaussian(1.0), [2.0, 0.0, 0.0])]
    for start in (1 / 16, 16):
        family = lambda factor, start=start: [ScaledInputs(Gaussian(start * factor), [2.0, 0.0, 0.0])]
        _, factor = choose_widths(found, [family], family)
        assert (factor > 1) == (start < 1)
        assert found.mean(found.errors(family(factor))) < 1.2 * found.mean(found.errors(right))


def test_a_kernel_without_landmarks_is_the_worst(rng):
    found = judge(rng)
    empty = replace(found, select=lambda kernel: found.X[:0] if kernel.gamma > 1 else found.X)
    family, narrow = (lambda factor, start=start: [Gaussian(start * factor)] for start in (0.5, 64.0))
    assert choose_widths(empty, [family], narrow) == choose_widths(empty, [family], family)
    assert choose_widths(empty, [narrow], family)[0] == 1
