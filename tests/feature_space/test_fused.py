"""Fused products: which kernels take them, the numbers they are made of, and the plain path where they fail.

No GPU is needed. The arithmetic of the device code runs where Triton is installed, on Triton's interpreter.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.feature_space import Gram, _fused
from preimage.kernels import (
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polynomial,
    RationalQuadratic,
)

torch = pytest.importorskip("torch", reason="torch is not installed")

KNOWN = [
    Gaussian(0.3),
    RationalQuadratic(0.3),
    InverseMultiquadric(0.3),
    Matern(0.3, 0.5),
    Matern(0.3, 1.5),
    Matern(0.3, 2.5),
]


class Renamed(Gaussian):
    """The same profile under another name."""


@pytest.mark.parametrize("kernel", KNOWN, ids=repr)
def test_known_kernels_have_values_up_to_one(kernel, rng):
    assert _fused.profile_of(kernel) is not None
    values = kernel(rng.normal(size=(30, 3)))
    assert values.min() >= 0 and values.max() <= 1


@pytest.mark.parametrize(
    "kernel",
    [Renamed(0.3), Laplacian(), Linear(), Polynomial(2), Exponential(), Multiquadric(), 2 * Gaussian()],
    ids=repr,
)
def test_other_kernels_and_subclasses_take_the_plain_path(kernel):
    assert _fused.profile_of(kernel) is None


def test_every_known_kernel_has_a_number_of_its_own():
    numbers = [_fused.profile_of(kernel).number for kernel in KNOWN]
    assert len(set(numbers)) == len(KNOWN)


@pytest.mark.parametrize(("size", "padded"), [(1, 16), (16, 16), (17, 32), (64, 64), (65, 128)])
def test_sizes_are_padded_to_powers_of_two(size, padded):
    assert _fused.padded_size(size) == padded


@pytest.mark.parametrize("magnitude", [1e-30, 1e-3, 1.0, 7.3, 1e30])
def test_scaled_pairs_have_22_bits(magnitude, rng):
    values = torch.asarray((magnitude * rng.normal(size=(50, 4))).astype(np.float32))
    exponents = _fused.scaling_exponent(values.abs().amax(dim=0))
    scaled = torch.ldexp(values, exponents)
    largest = scaled.abs().amax(dim=0)
    assert bool(torch.all((largest >= 2**13) & (largest < 2**14)))
    high, low = _fused.split(scaled)
    assert high.dtype == low.dtype == torch.float16
    error = (high.double() + low.double() - scaled.double()).abs()
    # 22 bits of the number itself, or the smallest float16 number where it is tiny against the largest.
    assert bool(torch.all(error <= 2.0**-22 * scaled.abs().double() + 2.0**-25))


def test_scaling_of_zeros_is_finite():
    exponents = _fused.scaling_exponent(torch.zeros(2))
    assert bool(torch.all(torch.isfinite(torch.ldexp(torch.ones(2), exponents))))


def test_products_of_pairs_are_as_accurate_as_single_precision(rng):
    A, B = (torch.asarray(rng.normal(size=(80, 64)).astype(np.float32)) for _ in range(2))
    (ah, al), (bh, bl) = (
        [part.float() for part in _fused.split(torch.ldexp(X, _fused.scaling_exponent(X.abs().max())))] for X in (A, B)
    )
    scale = (ah + al)[0, 0] / A[0, 0] * (bh + bl)[0, 0] / B[0, 0]
    exact = A.double() @ B.double().T
    paired = (al @ bh.T + ah @ bl.T + ah @ bh.T) / scale
    largest = float(exact.abs().max())
    assert float((paired - exact).abs().max()) <= 2 * float((A @ B.T - exact).abs().max()) + 1e-7 * largest


@pytest.mark.parametrize("array", [np.asarray, torch.asarray], ids=["numpy", "torch on the host"])
def test_arrays_on_the_host_take_the_plain_path(array, rng, monkeypatch):
    monkeypatch.setattr(_fused, "FEWEST_VALUES", 1)
    X = array(rng.normal(size=(20, 3)).astype(np.float32))
    kernel = Gaussian(0.3)
    assert _fused.fused_product(kernel, X, X, X) is None
    assert _fused.fused_gram(kernel, X) is None
    assert _fused.fused_held_product(kernel, Gram(kernel, X).dense(), X) is None
    assert _fused.fused_column_step(kernel, X) == 1


@pytest.fixture
def broken_compiler(monkeypatch):
    """Tensors that look as if they were on a GPU, and a compiler that fails."""

    def fail(*arguments, **options):
        raise RuntimeError("Failed to find C compiler.")

    monkeypatch.setattr(_fused, "FEWEST_VALUES", 1)
    monkeypatch.setattr(_fused, "_on_device", lambda *arrays: True)
    for name in ("product", "gram", "held_product"):
        monkeypatch.setattr(_fused, name, fail)
    for name in ("_product_works", "_gram_works", "_held_product_works"):
        getattr(_fused, name).cache_clear()
    yield
    for name in ("_product_works", "_gram_works", "_held_product_works"):
        getattr(_fused, name).cache_clear()


@pytest.mark.parametrize("kernel", KNOWN, ids=repr)
def test_a_compiler_that_fails_leaves_the_plain_path(kernel, broken_compiler, rng):
    X, Y, V = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)), rng.normal(size=(40, 5))
    x, y, v = (torch.asarray(array.astype(np.float32)) for array in (X, Y, V))
    gram = Gram(kernel, x)
    assert_allclose((gram @ v).numpy(), kernel(X) @ V, atol=1e-4)
    assert_allclose(gram.dense().numpy(), kernel(X), atol=1e-5)
    assert_allclose((gram.held() @ v).numpy(), kernel(X) @ V, atol=1e-4)
    assert_allclose((Gram(kernel, y, x) @ v).numpy(), kernel(Y, X) @ V, atol=1e-4)


def test_wrong_results_leave_the_plain_path(broken_compiler, rng, monkeypatch):
    monkeypatch.setattr(_fused, "product", lambda profile, X, Y, V: 1.01 * (Gaussian()(X, Y) @ V))
    x = torch.asarray(rng.normal(size=(40, 3)).astype(np.float32))
    assert _fused.fused_product(Gaussian(), x, x, x) is None


def test_right_results_are_taken(broken_compiler, rng, monkeypatch):
    monkeypatch.setattr(_fused, "product", lambda profile, X, Y, V: Gaussian(profile.scale)(X, Y) @ V)
    x = torch.asarray(rng.normal(size=(40, 3)).astype(np.float32))
    assert_allclose(_fused.fused_product(Gaussian(0.3), x, x, x).numpy(), (Gaussian(0.3)(x) @ x).numpy(), atol=1e-5)
    assert _fused.fused_column_step(Gaussian(0.3), x) == _fused.COLUMN_STEP


def test_points_that_need_double_precision_take_the_plain_path(rng):
    pytest.importorskip("triton", reason="Triton is not installed")
    far = np.concatenate([rng.normal(size=(50, 3)), 1e6 + rng.normal(size=(50, 3))]).astype(np.float32)
    X = torch.asarray(far)
    assert _fused._prepared(X, X, 16, 64) is None


INTERPRETED = """
import torch
from preimage.feature_space import _fused
from preimage.kernels import Gaussian, InverseMultiquadric, Matern, RationalQuadratic
_fused.POINTS_AT_ONCE = 128
random = torch.Generator().manual_seed(0)
X, Y = (5 + 3 * torch.randn(n, 20, generator=random) for n in (200, 170))
V = torch.randn(170, 5, generator=random) * torch.tensor([1.0, 1e-6, 1e6, 0.0, 1.0])
smooth = [Matern(0.02, nu) for nu in (0.5, 1.5, 2.5)]
for kernel in (Gaussian(0.02), RationalQuadratic(0.05), InverseMultiquadric(0.05), *smooth):
    profile = _fused.profile_of(kernel)
    expected = kernel(X.double(), Y.double()) @ V.double()
    sizes = torch.clamp(expected.norm(dim=0), min=1e-30)
    assert bool(torch.all((_fused.product(profile, X, Y, V) - expected).norm(dim=0) <= 2e-6 * sizes)), kernel
    K = _fused.gram(profile, X)
    assert bool(torch.all((K - kernel(X.double())).abs() <= 1e-6)), kernel
    assert bool(torch.all(K == K.T)) and bool(torch.all(K.diagonal() == 1)), kernel
    expected = K.double() @ X.double()
    assert bool(torch.all((_fused.held_product(K, X) - expected).abs() <= 1e-6 * expected.abs().max())), kernel
"""


def test_device_code_on_the_interpreter():
    pytest.importorskip("triton", reason="Triton is not installed")
    result = subprocess.run(
        [sys.executable, "-c", INTERPRETED], env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    if "only 0-dimensional arrays can be converted" in result.stderr:
        pytest.skip("this version of Triton's interpreter does not know this version of NumPy")
    assert result.returncode == 0, result.stderr
