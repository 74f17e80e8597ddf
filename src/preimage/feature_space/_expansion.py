"""Vectors of feature space written as sums of mapped points, and which points are equal or have the same image."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    concat_rows,
    describe_values,
    epsilon,
    from_numpy,
    is_masked,
    is_objects,
    is_sparse,
    own_copy,
    take_rows,
    to_numpy,
)
from preimage._engine.objects import object_numbers
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.feature_space._gram import Gram
from preimage.kernels import FreeWidthGaussian, Kernel, Prepared, is_profile

# Points are prepared once (squared norms, a shifted copy) and kept for the next call where a call has at most so many
# kernel values, and the copy takes at most so many bytes. Preparing takes as long as the values of a few hundred
# queries: with more of them it does not matter. Ten times larger copies would be noticed next to the model.
FEW_QUERIES = 512
FEW_VALUES = 2**20
SMALL_COPY = 32 * 2**20
# Letters of texts up to which their counts of substrings are kept: some 60 bytes for each, as much as a small copy.
FEW_LETTERS = 2**19


class Expansion:
    """k vectors ψⱼ = Σᵢ αᵢⱼ φ(xᵢ) on shared points.

    Parameters
    ----------
    kernel : Kernel
        With all parameters resolved.
    points : array of shape (n, d)
        The points x; without any, n = 0, all vectors are zero. Of a kernel on objects a column of them, shape (n, 1).
    coefficients : array of shape (n, k)
        The coefficients α, one column per vector.
    squared_norms : array of shape (k,), optional
        ‖ψⱼ‖², where it is known already; otherwise computed on demand.

    See Also
    --------
    Subspace : A space spanned by orthonormal vectors.
    preimage.solvers.FixedPoint : Inputs whose images are near a vector.
    preimage.reduced_sets.Construct : The same vectors on fewer points.
    preimage.interop.machine_of : A fitted machine as an expansion.

    Examples
    --------
    The difference of two mapped points, evaluated at a third:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Linear
    >>> difference = Expansion(Linear(), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [-1.0]]))
    >>> difference(np.array([[3.0, 1.0]]))
    array([[2.]])
    >>> difference.squared_norms()
    array([2.])
    """

    def __init__(
        self, kernel: Kernel, points: Array, coefficients: Array, *, squared_norms: Array | None = None
    ) -> None:
        for name, array in (("points", points), ("coefficients", coefficients)):
            is_plain = type(array) is not np.ndarray or array.dtype.kind in "fiu"
            is_plain = is_plain or (name == "points" and is_objects(array))
            if getattr(array, "ndim", None) != 2 or not is_plain or is_masked(array):
                raise TypeError(
                    f"An Expansion needs `{name}` as an array of two dimensions with real numbers; got "
                    f"{describe_values(array)}. Lists become arrays by np.asarray(..., dtype=float)."
                )
        if points.shape[1] == 0:
            raise ValueError(f"An Expansion needs points with a column at least; `points` has shape {points.shape}.")
        if points.shape[0] != coefficients.shape[0]:
            raise ValueError(
                f"An Expansion needs one row of coefficients per point; got {points.shape[0]} points and "
                f"{coefficients.shape[0]} rows."
            )
        self.kernel = kernel
        self.points = points
        self.coefficients = coefficients
        self._squared_norms = squared_norms

    @classmethod
    def join(cls, expansions: Sequence[Expansion]) -> Expansion:
        """All vectors of `expansions` of one kernel as one expansion, each distinct point once."""
        first = expansions[0]
        points = concat_rows(*[expansion.points for expansion in expansions])
        kept, numbers = distinct_rows(points)
        coefficients = np.zeros((kept.size, sum(map(len, expansions))))
        row = column = 0
        for expansion in expansions:
            n, k = expansion.coefficients.shape
            # Points within one expansion may be equal as well: their coefficients add up.
            np.add.at(coefficients[:, column : column + k], numbers[row : row + n], to_numpy(expansion.coefficients))
            row, column = row + n, column + k
        return cls(first.kernel, take_rows(points, kept), from_numpy(coefficients, first.coefficients))

    @property
    def inputs(self) -> Array:
        """The points without columns of their own, such as widths: as rows of data; shape (n, d)."""
        return self.kernel.inputs_of_points(self.points)

    def __len__(self) -> int:
        return self.coefficients.shape[1]

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"Expansion({self.kernel!r}, {len(self)} vectors on {n} points of dimension {d})"

    @unwarned()
    def __call__(self, Z: Array) -> Array:
        """⟨ψⱼ, φ(z)⟩ for every row of Z, shape (q, k)."""
        if self._is_small(Z):
            return self._values(Z) @ self.coefficients
        return Gram(self.kernel, Z, self.points) @ self.coefficients

    def __getitem__(self, index: int | slice) -> Expansion:
        """The vectors with the given number or slice."""
        if not isinstance(index, slice):
            number = range(len(self))[operator.index(index)]
            index = slice(number, number + 1)
        return Expansion(self.kernel, self.points, self.coefficients[:, index])

    def take(self, numbers: np.ndarray) -> Expansion:
        """The vectors with the given NumPy indices."""
        norms = None if self._squared_norms is None else take_rows(self._squared_norms, numbers)
        return Expansion(self.kernel, self.points, take_rows(self.coefficients.T, numbers).T, squared_norms=norms)

    def __matmul__(self, C: Array) -> Expansion:
        """Linear combinations Σⱼ ψⱼ cⱼₗ, one per column of C."""
        return Expansion(self.kernel, self.points, self.coefficients @ C)

    def __add__(self, other: Expansion) -> Expansion:
        """ψⱼ + ψ′ⱼ; a single vector is added to all of the other expansion."""
        return self._combine(other, 1.0)

    def __sub__(self, other: Expansion) -> Expansion:
        return self._combine(other, -1.0)

    def __neg__(self) -> Expansion:
        return Expansion(self.kernel, self.points, -self.coefficients)

    @unwarned()
    def inner(self, other: Expansion) -> Array:
        """⟨ψᵢ, ψ′ⱼ⟩, shape (k, k′)."""
        self._require_same_kernel(other)
        if self.points is other.points:
            return self.coefficients.T @ (Gram(self.kernel, self.points) @ other.coefficients)
        return self.coefficients.T @ other(self.points)

    @unwarned()
    def squared_norms(self) -> Array:
        """‖ψⱼ‖², shape (k,)."""
        if self._squared_norms is not None:
            return own_copy(self._squared_norms, self._squared_norms)
        xp = array_namespace(self.coefficients)
        return xp.sum(self.coefficients * (Gram(self.kernel, self.points) @ self.coefficients), axis=0)

    @unwarned()
    def squared_distances(self, Z: Array) -> Array:
        """ρⱼ(z) = ‖φ(z) − ψⱼ‖² = k(z, z) − 2ψⱼ(z) + ‖ψⱼ‖² for all pairs, shape (q, k)."""
        return self.kernel.diagonal(Z)[:, None] - 2 * self(Z) + self.squared_norms()[None, :]

    @unwarned()
    def distance_gradient(self, Z: Array) -> Array:
        """∇ρⱼ(zⱼ), the j-th row of Z against the j-th vector, shape (k, d)."""
        if Z.shape[0] != len(self):
            raise ValueError(f"distance_gradient pairs rows with vectors; got {Z.shape[0]} rows, {len(self)} vectors.")
        self.kernel.require_gradient("distance_gradient")
        return self.kernel.diagonal_gradient(Z) - 2 * self.kernel.gradient(Z, self.points, self.coefficients.T)

    def merged(self, *, by_image: bool = False) -> Expansion:
        """The same vectors with equal points counted once, in an order that depends on the points alone.

        With `by_image`, points with the same image count once too: a kernel may ignore what distinguishes them.
        """
        merged = Expansion.join([self])
        if not by_image:
            return merged
        first, numbers = distinct_images(to_numpy(Gram(self.kernel, merged.points).dense()))
        if first.size == numbers.size:
            return merged
        coefficients = np.zeros((first.size, len(self)))
        np.add.at(coefficients, numbers, to_numpy(merged.coefficients))
        return Expansion(self.kernel, take_rows(merged.points, first), from_numpy(coefficients, self.coefficients))

    def converted(self, change: Callable[[Array], Array], points: Array | None = None) -> Expansion:
        """The same vectors in another precision or on another device.

        Parameters
        ----------
        change : callable
            Converts one array.
        points : array of shape (n, d), optional
            The points, where they have been converted already.
        """
        norms = None if self._squared_norms is None else change(self._squared_norms)
        points = change(self.points) if points is None else points
        return Expansion(self.kernel, points, change(self.coefficients), squared_norms=norms)

    def prune(self, tol: float = 0.0) -> Expansion:
        """The same vectors without the points whose coefficients are at most `tol` times the largest."""
        if self.points.shape[0] == 0:
            return self
        xp = array_namespace(self.coefficients)
        sizes = xp.max(xp.abs(self.coefficients), axis=1)
        keep = to_numpy(sizes > tol * xp.max(sizes)).nonzero()[0]
        keep = keep if keep.size else np.zeros(1, int)  # the zero vector still needs a point
        return Expansion(self.kernel, take_rows(self.points, keep), take_rows(self.coefficients, keep))

    def _is_small(self, Z: Array) -> bool:
        """Whether queries are so few that preparing the points would take longer than the values."""
        if not (isinstance(Z, np.ndarray) and isinstance(self.points, np.ndarray)):
            return False
        few = Z.shape[0] <= FEW_QUERIES and Z.shape[0] * self.points.shape[0] <= FEW_VALUES
        if is_objects(self.points):
            return few and sum(len(each) for each in self.points[:, 0] if isinstance(each, str)) <= FEW_LETTERS
        is_prepared = is_profile(self.kernel) or isinstance(self.kernel, FreeWidthGaussian)
        return few and self.points.nbytes <= SMALL_COPY and is_prepared

    @cached_property
    def _values(self) -> Prepared:
        """Kernel values with the points, prepared once."""
        return self.kernel.prepare(self.points)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_values"}

    def _require_same_kernel(self, other: Expansion) -> None:
        if not self.kernel.is_same(other.kernel):
            raise ValueError(
                f"Vectors of different feature spaces cannot be combined: {self.kernel!r} and {other.kernel!r}."
            )

    def _combine(self, other: Expansion, sign: float) -> Expansion:
        self._require_same_kernel(other)
        left, right = _same_count(self.coefficients, sign * other.coefficients)
        if self.points is other.points:
            return Expansion(self.kernel, self.points, left + right)
        return Expansion(self.kernel, concat_rows(self.points, other.points), concat_rows(left, right))


def _same_count(left: Array, right: Array) -> tuple[Array, Array]:
    """Coefficients of as many vectors on both sides; a single vector is repeated."""
    xp = array_namespace(left, right)
    if left.shape[1] == 1:
        left = xp.broadcast_to(left, (left.shape[0], right.shape[1]))
    elif right.shape[1] == 1:
        right = xp.broadcast_to(right, (right.shape[0], left.shape[1]))
    elif left.shape[1] != right.shape[1]:
        raise ValueError(f"Cannot add expansions of {left.shape[1]} and {right.shape[1]} vectors.")
    return left, right


# Units of rounding, relative to ‖φ(x)‖² + ‖φ(z)‖², up to which two images count as the same: kernel values of copies of
# a row, which come from products in different blocks, differ by up to about ten.
ROUNDING = 64


def distinct_rows(points: Array) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct row comes first, and for every row which of the distinct ones it is.

    The order of the distinct rows depends on their values alone, not on the order in which they come; objects other
    than texts are in the order of their first appearance.
    """
    _, first, numbers = np.unique(_comparable(points), axis=0, return_index=True, return_inverse=True)
    return first, numbers.reshape(-1)


def distinct_images(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct image comes first, and for every point which of the distinct ones it has.

    Parameters
    ----------
    gram : array of shape (m, m)
        Kernel values among the points.

    Returns
    -------
    first : integer array of shape (u,), ascending
    numbers : integer array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import distinct_images
    >>> distinct_images(np.array([[1.0, 0.2, 1.0], [0.2, 1.0, 0.2], [1.0, 0.2, 1.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    diagonal = np.diagonal(gram)
    lengths = np.abs(diagonal)
    numbers = np.full(lengths.size, -1)
    first: list[int] = []
    for point in range(lengths.size):
        if numbers[point] >= 0:
            continue
        # ‖φ(x) − φ(y)‖²; its rounding error is in proportion to the terms, not to the result.
        squared_distances = diagonal[point] + diagonal - 2 * gram[point]
        rounding = ROUNDING * epsilon(gram.dtype) * (lengths[point] + lengths)
        same = (np.abs(squared_distances) <= rounding) & (numbers < 0)
        same[point] = True
        numbers[same] = len(first)
        first.append(point)
    return np.array(first), numbers


def _comparable(points: Array) -> np.ndarray:
    """Rows of numbers that are equal exactly for equal points; −0 is 0."""
    if is_objects(points):
        return object_numbers(points)[:, None]
    if not is_sparse(points):
        return to_numpy(points) + 0
    points = points.tocsr(copy=True)
    points.data = points.data + 0
    points.sum_duplicates()  # sorts the entries of a row as well
    points.eliminate_zeros()
    spans = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    keys = [(points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in spans]
    order = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([order[key] for key in keys])[:, None]
