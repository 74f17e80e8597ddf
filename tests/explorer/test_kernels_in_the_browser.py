"""Kernels of a page have the values and gradients that they have in Python."""

import numpy as np
import pytest

from preimage.interop._page import kernel_record
from preimage.kernels import KERNELS as NAMED
from preimage.kernels import (
    Chi2,
    Constant,
    Cosine,
    Exponential,
    FreeWidthGaussian,
    Gaussian,
    InnerProduct,
    InverseMultiquadric,
    Iterated,
    Laplacian,
    Linear,
    ManhattanDistance,
    MappedInputs,
    Matern,
    Multiquadric,
    Normalized,
    Patches,
    Polynomial,
    ProfileKernel,
    RationalQuadratic,
    ScaledInputs,
    ShiftedInputs,
    Sigmoid,
    SquaredDistance,
    Warped,
)
from preimage.solvers._fixed_point import has_fixed_point

RNG = np.random.default_rng(0)
D = 16
POINTS = RNG.uniform(0.05, 1, size=(11, D))
OTHERS = RNG.uniform(0.05, 1, size=(9, D))
# Between the points, at one of them, at zero, and far away from all.
QUERIES = np.concatenate([RNG.uniform(0.05, 1, size=(3, D)), POINTS[4:5], np.zeros((1, D)), np.full((1, D), 40.0)])
ACCURACY = 1e-10


class Cauchy(ProfileKernel):
    """A user's kernel, written with NumPy's functions, cut off far away."""

    pairwise = SquaredDistance()

    def __init__(self, scale=1.0):
        self.scale = scale

    def profile(self, s):
        return np.where(s < 50.0, np.reciprocal(1 + np.square(s / self.scale)), np.float64(1e-3) * np.ones_like(s))

    def profile_derivative(self, s):
        inside = -2 * s / self.scale**2 * (1 + (s / self.scale) ** 2) ** -2
        return np.where(np.less(s, 50.0), inside, 0.0)


class Cosines(ProfileKernel):
    """A user's kernel, of the array namespace of its argument."""

    pairwise = InnerProduct()

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def profile(self, s):
        xp = s.__array_namespace__()
        return xp.cos(self.gamma * s) + xp.clip(xp.asinh(abs(s)), 0.5, 2.0)

    def profile_derivative(self, s):
        xp = s.__array_namespace__()
        arc = xp.asinh(abs(s))
        inside = (arc > 0.5) & (arc < 2.0)
        return -self.gamma * xp.sin(self.gamma * s) + xp.where(inside, xp.sign(s) / xp.sqrt(1 + s * s), 0.0)


class Ramp(ProfileKernel):
    """A user's kernel whose derivative is the same everywhere."""

    pairwise = ManhattanDistance()

    def __init__(self, height=1.0):
        self.height = height

    def profile(self, s):
        return self.height - 0.1 * s

    def profile_derivative(self, s):
        return np.full_like(s, -0.1)


KERNELS = {
    **{part.name: part.exemplar() for part in NAMED if part.name != "precomputed"},
    "narrow Gaussian": Gaussian(30.0),
    "Matern 0.5": Matern(0.3, 0.5),
    "Matern 1.5": Matern(0.3, 1.5),
    "Matern 2.5": Matern(0.3, 2.5),
    "first degree": Polynomial(1, 0.2, 1.0),
    "Constant": Constant(0.7),
    "Normalized": Normalized(Polynomial(2, 0.3, 1.0)),
    "Normalized sum": Normalized(Gaussian(0.3) + Laplacian(0.1)),
    "profile sum": Gaussian(0.3) + RationalQuadratic(0.4) * 0.5,
    "profile product": Gaussian(0.1) * Matern(0.1, 0.5) + Constant(0.3),
    "sum": Gaussian(0.3) + Linear() * 0.1,
    "product": Gaussian(0.3) * Polynomial(2, 0.2),
    "scaled": 0.3 * Cosine(),
    "power": Cosine() ** 3,
    "profile power": Gaussian(0.1) ** 5,
    "ScaledInputs": ScaledInputs(Gaussian(0.3), RNG.uniform(size=D)),
    "MappedInputs": MappedInputs(Matern(0.3), RNG.normal(size=(5, D))),
    "ShiftedInputs": ShiftedInputs(Polynomial(2), POINTS.mean(axis=0)),
    "Patches": Patches((4, 4), patch=2, step=1, degree=2, outer_degree=2, window_width=2.0, smoothing=0.5),
    "Normalized Patches": Normalized(Patches((4, 4), patch=3)),
    "Iterated": Iterated(Sigmoid(0.1), OTHERS),
    "Normalized Iterated": Normalized(Iterated(Gaussian(0.3), OTHERS)),
    "Warped": Warped(Gaussian(0.3), strength=2.0).resolve(POINTS),
    "Warped elsewhere": Warped(Matern(0.3), OTHERS, laplacian="knn", n_neighbors=3),
    "not warped": Warped(Gaussian(0.3), OTHERS, strength=0.0),
    "user, of NumPy": Cauchy(2.0),
    "user, of any arrays": Cosines(0.3),
    "user, a line": Ramp(3.0),
    "user, in a sum": Cauchy(0.5) * Gaussian(0.1) + 0.3 * Cosines(0.2),
}

COMPUTE = """({Kernel}, cases) => cases.map(({record, points, n, d, queries, weights}) => {
  const kernel = new Kernel(record, points, n, d);
  const rows = Array.from({length: queries.shape[0]}, (_, i) => queries.values.subarray(i * d, (i + 1) * d));
  const w = (i) => weights.values.subarray(i * n, (i + 1) * n);
  const found = {
    values: rows.map((z) => [...kernel.values(z)]),
    diagonal: rows.map((z) => kernel.diagonal(z)),
    gradient: rows.map((z, i) => [...kernel.gradient(w(i), z)]),
    diagonal_gradient: rows.map((z) => [...kernel.diagonalGradient(z)]),
    // The same by the pair of methods that solvers use.
    evaluated: rows.map((z) => [...kernel.evaluate(z).values, kernel.evaluate(z).diagonal]),
    pulled_back: rows.map((z, i) => { kernel.evaluate(z); return [...kernel.pullBack(w(i), 0.7)]; }),
    has_fixed_point: kernel.hasFixedPoint,
    is_radial: kernel.isRadial,
  };
  if (kernel.hasFixedPoint) {
    found.quantities = rows.map((z) => [...kernel.quantities(z)]);
    found.profile = rows.map((z) => [...kernel.profile(kernel.quantities(z))]);
    found.derivative = rows.map((z) => [...kernel.profileDerivative(kernel.quantities(z))]);
    found.both = rows.map((z) => {
      const {values, derivatives} = kernel.profileWithDerivative(kernel.quantities(z));
      return [...values, ...derivatives];
    });
  }
  return found;
})"""


def case(kernel, points=POINTS, queries=QUERIES, seed=0):
    weights = np.random.default_rng(seed).normal(size=(len(queries), len(points)))
    record = kernel_record(kernel, points)
    return {
        "record": record,
        "points": points,
        "n": len(points),
        "d": queries.shape[1],
        "queries": queries,
        "weights": weights,
    }


def expected(kernel, points, queries, weights):
    values, diagonal = kernel(queries, points), kernel.diagonal(queries)
    gradient, diagonal_gradient = kernel.gradient(queries, points, weights), kernel.diagonal_gradient(queries)
    return {
        "values": values,
        "diagonal": diagonal,
        "gradient": gradient,
        "diagonal_gradient": diagonal_gradient,
        "evaluated": np.concatenate([values, diagonal[:, None]], axis=1),
        "pulled_back": gradient + 0.7 * diagonal_gradient,
    }


def assert_same(found, kernel, points, queries, weights):
    """Equal to a fraction of the largest number of each row."""
    wanted = expected(kernel, points, queries, weights)
    # Gradients may be zero, a difference of terms: their rounding errors are in proportion to kernel values.
    size = np.max(np.abs(wanted["evaluated"]), axis=1, keepdims=True)
    for name, numbers in wanted.items():
        rows, numbers = (np.reshape(each, (len(queries), -1)) for each in (found[name], numbers))
        assert np.all(np.isfinite(numbers)), f"{name} of {kernel!r} in Python"
        allowed = ACCURACY * (np.max(np.abs(numbers), axis=1, keepdims=True) + 1e-3 * size)
        error = np.abs(rows - numbers)
        assert np.all(error <= allowed), f"{name} of {kernel!r} differ by {np.max(error):.1e}"


def assert_all_same(javascript, kernels, points=POINTS, queries=QUERIES):
    cases = [case(kernel, points, queries, seed) for seed, kernel in enumerate(kernels)]
    answers = javascript("kernel.js", COMPUTE, cases)
    for kernel, given, found in zip(kernels, cases, answers, strict=True):
        assert_same(found, kernel, points, queries, given["weights"])
    return answers


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_values_and_gradients_are_those_of_python(javascript, kernel):
    queries = QUERIES[:-1] if isinstance(kernel, (Exponential, Patches)) else QUERIES  # large numbers to the fourth
    (found,) = assert_all_same(javascript, [kernel], queries=queries)
    is_profile = has_fixed_point(kernel) and not isinstance(kernel, Warped)
    assert found["has_fixed_point"] == is_profile
    assert found["is_radial"] == (is_profile and kernel.is_radial)
    if is_profile:
        s = kernel.pairwise.prepare(POINTS)(queries)
        f, derivative = kernel.profile(s), np.broadcast_to(kernel.profile_derivative(s), s.shape)
        for name, wanted in (("quantities", s), ("profile", f), ("derivative", derivative)):
            np.testing.assert_allclose(found[name], wanted, rtol=ACCURACY, atol=ACCURACY * np.max(np.abs(wanted)))
        np.testing.assert_array_equal(found["both"], np.concatenate([found["profile"], found["derivative"]], axis=1))


def random_kernel(rng, d, depth=3):
    """A kernel made of others at random."""
    gamma = float(rng.uniform(0.05, 0.6))
    leaves = [
        *(Gaussian(gamma), Laplacian(gamma / 4), RationalQuadratic(gamma), InverseMultiquadric(gamma), Linear()),
        *(Matern(gamma, rng.choice([0.5, 1.5, 2.5])), Polynomial(int(rng.integers(1, 4)), 0.1), Sigmoid(0.1)),
        *(Constant(gamma), Cauchy(gamma + 1), Chi2(gamma), Multiquadric(gamma), Cosine(), Cosines(gamma)),
    ]
    if depth == 0 or rng.uniform() < 0.2:
        return leaves[rng.integers(len(leaves))]
    part = random_kernel(rng, d, depth - 1)
    narrow = random_kernel(rng, 3, depth - 1)
    wholes = [
        lambda: part + random_kernel(rng, d, depth - 1),
        lambda: part * random_kernel(rng, d, depth - 1),
        lambda: gamma * part,
        lambda: part ** int(rng.integers(1, 4)),
        lambda: Normalized(part),
        lambda: ScaledInputs(part, rng.uniform(size=d) * rng.integers(0, 2, size=d)),
        lambda: MappedInputs(narrow, rng.uniform(0, 0.5, size=(3, d))),  # non-negative: chi-squared kernels may follow
        lambda: Iterated(part, rng.uniform(0.1, 1, size=(6, d))),
        lambda: Warped(Gaussian(gamma) + Laplacian(gamma), rng.uniform(0.1, 1, size=(6, d)), strength=gamma),
    ]
    return wholes[rng.integers(len(wholes))]()


def test_kernels_made_at_random_are_those_of_python(javascript):
    rng = np.random.default_rng(1)
    for d in (1, 4):
        kernels = [random_kernel(rng, d) for _ in range(80)]
        points, queries = rng.uniform(0.1, 1, size=(7, d)), rng.uniform(0.1, 1, size=(3, d))
        assert_all_same(javascript, kernels, points, queries)


def test_points_may_have_widths_of_their_own(javascript):
    points = np.concatenate([POINTS, RNG.uniform(-0.5, 1, size=(len(POINTS), 1))], axis=1)
    free, narrow = FreeWidthGaussian(0.3, D), FreeWidthGaussian(0.3, 5)
    mapped = MappedInputs(narrow, RNG.normal(size=(5, D))), ScaledInputs(free, RNG.uniform(size=D))
    assert_all_same(javascript, [free, 0.5 * free, *mapped], points)


def test_one_point_and_one_column_are_enough(javascript):
    kernels = [Gaussian(0.5), Matern(1.0, 0.5), Polynomial(2), Cosine(), Gaussian(1.0) + Linear()]
    kernels += [Iterated(Gaussian(1.0), np.ones((1, 1))), MappedInputs(Gaussian(1.0), [[2.0]])]
    assert_all_same(javascript, kernels, np.array([[0.5]]), np.array([[0.2], [0.5], [0.0]]))


def test_arrays_of_single_precision_are_read_in_double(javascript):
    points = POINTS.astype(np.float32)
    given = {**case(Gaussian(0.3), points.astype(float)), "points": points}
    (found,) = javascript("kernel.js", COMPUTE, [given])
    assert_same(found, Gaussian(0.3), points.astype(float), QUERIES, given["weights"])


def test_a_row_at_a_point_has_the_derivative_of_the_library(javascript):
    """The profile of Matern(0.5) has an infinite slope at zero; its gradient there is the mean over directions."""
    kernel, row = Matern(1.0, 0.5), POINTS[:1]
    (found,) = javascript("kernel.js", COMPUTE, [case(kernel, row, row)])
    assert found["values"] == [[1.0]] and found["gradient"] == [[0.0] * D]
    # A row that differs by rounding errors is the point, as in Python.
    near = row * (1 + 1e-16) + 1e-17
    (found,) = javascript("kernel.js", COMPUTE, [case(kernel, POINTS, near)])
    np.testing.assert_array_equal(np.array(found["quantities"])[:, 0], 0.0)


def test_inputs_are_not_changed(javascript):
    same = javascript(
        "kernel.js",
        """({Kernel}, {record, points, n, d, queries, weights}) => {
          const before = [points, queries, weights].map(({values}) => values.slice());
          const kernel = new Kernel(record, points, n, d), z = queries.values.subarray(0, d);
          const w = weights.values.subarray(0, n);
          kernel.evaluate(z); kernel.pullBack(w, 1); kernel.gradient(w, z); kernel.diagonalGradient(z);
          return [points, queries, weights].every(({values}, i) => values.every((x, j) => x === before[i][j]));
        }""",
        case(Normalized(Gaussian(0.3) + Linear())),
    )
    assert same
