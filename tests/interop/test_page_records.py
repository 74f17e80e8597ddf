"""Records of kernels for pages: what they hold, what they share, and which kernels have none."""

import copy

import numpy as np
import pytest

from preimage.exceptions import UnsupportedKernelError
from preimage.explorer._page import encode
from preimage.interop._page import kernel_record
from preimage.kernels import (
    CallableKernel,
    Constant,
    FreeWidthGaussian,
    Gaussian,
    Iterated,
    Linear,
    MappedInputs,
    Matern,
    Normalized,
    Patches,
    Polynomial,
    Precomputed,
    ProfileKernel,
    ScaledInputs,
    ShiftedInputs,
    SquaredDistance,
    Warped,
)

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(size=(30, 16))


def arrays_in(value):
    """All arrays of a record, each once."""
    if isinstance(value, np.ndarray):
        return {id(value): value}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {number: array for part in parts for number, array in arrays_in(part).items()}


def numbers_in(record):
    return sum(array.size for array in arrays_in(record).values())


def operators_in(record):
    return [node["op"] for node in record["nodes"]]


@pytest.mark.parametrize(
    ("kernel", "most"),
    [
        (Gaussian(0.5), 0),
        (Gaussian(0.5) + 0.3 * Linear() + Constant(1.0) * Matern(0.1), 0),
        (Normalized(Polynomial(2)), 30),  # lengths of the points
        (ScaledInputs(Gaussian(0.5) * Linear(), RNG.uniform(size=16)), 16),
        (ShiftedInputs(Polynomial(2), RNG.uniform(size=16)), 16),
        (MappedInputs(Gaussian(0.5), RNG.normal(size=(5, 16))), 80),
        (Patches((4, 4), patch=2), 16 * 16),
        (Warped(Gaussian(0.5)).resolve(POINTS), 30 * 30),  # the graph
        (Iterated(Gaussian(0.5), POINTS), 0),
    ],
    ids=lambda case: type(case).__name__,
)
def test_points_are_stored_once(kernel, most):
    """Records hold what the kernel adds; images of the points are computed in the page."""
    assert numbers_in(kernel_record(kernel, POINTS)) <= most


def test_leading_columns_of_points_are_not_stored_again():
    points = np.concatenate([POINTS, RNG.uniform(size=(30, 1))], axis=1)
    record = kernel_record(FreeWidthGaussian(0.5, 16), points)
    assert record["sets"] == [{"of": 0, "columns": 16}]
    assert numbers_in(record) == 30  # a width per point


def test_equal_parts_are_one_part():
    twice = kernel_record(Gaussian(0.5) * Linear() + Gaussian(0.5) * Polynomial(2), POINTS)
    assert operators_in(twice).count("SquaredDistance") == operators_in(twice).count("InnerProduct") == 1
    assert len(twice["profiles"]) == 3
    (profile,) = kernel_record(Gaussian(0.5), POINTS)["profiles"]
    assert [node["op"] for node in profile["nodes"]].count("Exp") == 1  # the derivative uses the value


def test_a_record_is_written_to_a_page_as_it_is():
    class Infinite(ProfileKernel):
        pairwise = SquaredDistance()

        def profile(self, s):
            return np.exp(-np.minimum(s, np.inf))

        def profile_derivative(self, s):
            return np.where(s > np.nan, np.full_like(s, -np.inf), -self.profile(s))

    record = kernel_record(Normalized(Infinite() + ScaledInputs(Linear(), np.ones(16))), POINTS)
    text, _ = encode(record)
    assert '"Infinity"' in text and '"-Infinity"' in text and '"NaN"' in text


def test_records_are_the_same_every_time_and_leave_kernel_and_points_alone():
    kernel = Normalized(MappedInputs(Gaussian(0.5) + Linear(), RNG.normal(size=(5, 16))))
    points, parameters = POINTS.copy(), copy.deepcopy(kernel.get_params())
    points.flags.writeable = False
    assert encode(kernel_record(kernel, points)) == encode(kernel_record(kernel, points))
    assert repr(kernel.get_params()) == repr(parameters)


class Own(ProfileKernel):
    """A user's kernel whose formula a test gives."""

    pairwise = SquaredDistance()

    def __init__(self, formula=None, derivative=None):
        self.formula = formula
        self.derivative = derivative

    def profile(self, s):
        return self.formula(s)

    def profile_derivative(self, s):
        return (self.derivative or self.formula)(s)


def different_for_arrays(s):
    return s * s if isinstance(s, np.ndarray) else s


def branching(s):
    return s if s > 1 else 2 * s


def not_written(s):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("kernel", "name", "why"),
    [
        (CallableKernel(np.dot), "CallableKernel", "closed form"),
        (Linear() + CallableKernel(np.dot), "CallableKernel", "closed form"),
        (Precomputed(np.eye(3)), "precomputed", "Fit the model with the kernel itself"),
        (Own(lambda s: np.interp(s, [0, 1], [1, 0])), "Own", "profile of Own.*interp"),
        (Own(branching), "Own", "branches on the numbers"),
        (Own(lambda s: np.asarray(s) + 1), "Own", "asks for the numbers"),
        (Own(lambda s: s + np.ones(3)), "Own", "profile of Own"),
        (Own(lambda s: None), "Own", "returns NoneType"),
        (Own(different_for_arrays), "Own", "gives 0.001 at s = 0.001, where the kernel has 1e-06"),
        (Own(lambda s: -s, different_for_arrays), "Own", "profile derivative of Own.* by calling it with symbols"),
        (Own(lambda s: -s, not_written), "Own", "profile derivative of Own"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_kernels_without_a_formula_are_refused_by_name(kernel, name, why):
    with pytest.raises(UnsupportedKernelError, match=f"(?s){name}") as error:
        kernel_record(kernel, POINTS)
    assert error.match(why)


def test_the_kernels_that_a_message_offers_have_records():
    with pytest.raises(UnsupportedKernelError) as error:
        kernel_record(CallableKernel(np.dot), POINTS)
    assert "Warped" in str(error.value) and "Precomputed" not in str(error.value)
