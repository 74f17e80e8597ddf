"""Semi-supervised kernel PCA of many points by products with their Gram matrix, which need not be held."""

from collections.abc import Sequence

import numpy as np

from preimage._arrays import array_namespace, device_kwargs, from_numpy, in_double, take_rows, to_numpy
from preimage._decompositions import cholesky
from preimage._lapack import cholesky_factor, cholesky_solve
from preimage._linalg import eigh_descending, fix_signs, numerical_rank, orthogonalize, rank_tolerance, require_variance
from preimage._memory import memory_budget, require_square_matrices
from preimage._threads import large_decomposition, on_own_threads
from preimage._typing import Array
from preimage.components._secular import secular_divisors
from preimage.components._semi_supervised import (
    FeatureSample,
    SemiSupervisedSubspace,
    require_determined,
    require_weight_within_precision,
    semi_supervised_subspace,
)
from preimage.eigensolvers import BlockKrylov
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.feature_space._gram import require_finite
from preimage.kernels import Kernel

# Points up to which dense decompositions are used: 0.2 s for each component at this size. They take a thousand times
# as long at ten times as many points.
MOST_DENSE = 1000
# Columns of a block of the Krylov space: the target itself, and random ones that find the direction of largest
# variance where the target has no part in it. A product with four columns costs little more than one with one.
WIDTH = 4
# Blocks at most: a few dozen are usual.
MOST_BLOCKS = 250
# Relative residual of the conditions of the minimum, and of eigenvectors: far below what coordinates show, above
# rounding errors of products.
TOLERANCE = 1e-10
# What is left is the difference of kernel and functions found, and known up to their departure from orthonormal ones,
# times this: a few functions have such errors. With singular kernel matrices, whose coefficients are not unique, the
# departure is far above rounding errors; a factor of one would take these for variance.
DEPARTURES = 10
# Largest departure at which functions count as found. Where kernel matrices are nearly singular, it grows from one
# component to the next until nothing of them is right; elsewhere it stays below 1e-10.
LARGEST_DEPARTURE = 1e-8
# Matrices of all pairs of points that dense decompositions hold at once.
DENSE_MATRICES = 6


@on_own_threads
def exact_semi_supervised(
    kernel: Kernel,
    X: Array,
    labelled: np.ndarray,
    targets: Sequence[np.ndarray | None],
    n_components: int,
    *,
    label_weight: float,
    scale: float,
    weights: np.ndarray | None = None,
) -> SemiSupervisedSubspace:
    r"""Semi-supervised kernel PCA in the span of all rows, by the cheaper of two ways to the same functions  (L1).

    Up to 1,000 rows by dense decompositions (`semi_supervised_subspace`), beyond by products with the Gram matrix
    alone, which is held where twice its size fits into half of the free memory, and computed again in each product
    otherwise. Where functions so found are not orthonormal, because the Gram matrix is nearly singular, by dense
    decompositions again.

    With the weight c of the labels, :math:`\|f\|^2 + c \sum_L f(x_i)^2` is the norm of the kernel

    .. math:: k''(x, y) = k(x, y) - k_L(x)^\top (K_{LL} + I/c)^{-1} k_L(y),

    and the minimum without a constraint is ridge regression on the labels, m. The centred values z of f on the data
    then satisfy :math:`(I - \lambda A) z = z_0`, with the centred values of m and the centred Gram matrix A of k'', and
    :math:`\|z\|^2 = n s^2` determines λ: a secular equation, solved in the Krylov space of A and :math:`z_0`.
    Earlier components are subtracted from k.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (n, d)
    labelled : integer array of shape (l,)
    targets, n_components, label_weight, scale
        As in `semi_supervised_subspace`.
    weights : array of shape (n,), optional
        Positive, of rows and of their labels.
    """
    if X.shape[0] > MOST_DENSE and kernel.is_positive_semidefinite:
        search = _Search(kernel, X, labelled, label_weight, scale, weights)
        try:
            search.add_all(list(targets)[:n_components], n_components)
            return search.result(n_components)
        except np.linalg.LinAlgError:
            advice = "Ask for fewer components, or give landmarks=500, say."
            require_square_matrices("Semi-supervised kernel PCA", X.shape[0], DENSE_MATRICES, X, advice)
    sample = FeatureSample.exact(kernel, X, labelled, weights)
    if weights is not None:
        sample, targets = sample.weighted_labels(targets, weights[labelled])
    return semi_supervised_subspace(sample, targets, n_components, label_weight=label_weight, scale=scale)


class _Search:
    """Functions found so far, and the Gram matrix of what is perpendicular to them."""

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        labelled: np.ndarray,
        label_weight: float,
        scale: float,
        weights: np.ndarray | None,
    ) -> None:
        gram = Gram(kernel, X if kernel.points_are_row_numbers else in_double(X))
        require_finite(gram.diagonal(), kernel)
        self.points = X  # in the precision of the data
        n, budget = X.shape[0], memory_budget(None, gram.X)
        self.gram = gram.held() if 2 * n * n * 8 <= budget else gram
        self.like = in_double(gram.diagonal())
        self.weights = from_numpy(np.ones(n) if weights is None else weights, self.like, dtype=self.like.dtype)
        xp = array_namespace(self.like)
        self.count = float(xp.sum(self.weights))
        self.mean = self.weights / self.count
        self.labelled, self.label_weight = labelled, label_weight
        self.squared_size = self.count * scale**2
        self.row_means = in_double(self.gram @ self.mean[:, None])
        self.mean_norm = float(self.row_means[:, 0] @ self.mean)
        self.total = float(self.like @ self.weights) - self.count * self.mean_norm
        require_variance(kernel, self.total, self.count * self.mean_norm, self.like.dtype)
        labels = take_rows(self.like * self.weights, labelled)
        require_weight_within_precision(float(xp.sum(labels)), label_weight)
        empty = xp.zeros((n, 0), dtype=self.like.dtype, **device_kwargs(self.like))
        self.coefficients, self.values = empty, empty
        self.multipliers: list[float] = []
        self.has_sign: list[bool] = []

    def add_all(self, targets: list[np.ndarray | None], n_components: int) -> None:
        """All components, or fewer where there are no more."""
        while targets and targets[-1] is None:  # all of the rest are eigenvectors of one matrix
            targets.pop()
        for target in targets:
            if not self.has_variance():
                break
            if target is None or self.label_weight == 0:
                self.add_principal(1)
            else:
                self.add_supervised(target)
        if len(self.has_sign) == len(targets):
            self.add_principal(n_components - len(self.has_sign))

    def has_variance(self) -> bool:
        """Whether what is perpendicular to the functions found has a variance above rounding errors."""
        left = self.total - sum(float(each) for each in self._variances()) * self.count
        return len(self.has_sign) < self.like.shape[0] and left > self._uncertainty() * self.total

    def add_principal(self, count: int) -> None:
        """The eigenvectors of the largest variances of what is left."""
        n = self.like.shape[0]
        if count < 1 or not self.has_variance():
            return
        found = BlockKrylov(tol=TOLERANCE).solve(_Centered(self), min(count, n), np.random.default_rng(0))
        keep = numerical_rank(found.values, n, self.total, self._uncertainty())
        xp = array_namespace(found.values)
        coefficients = self.centered_transposed(found.vectors[:, :keep]) / xp.sqrt(found.values[:keep])
        self._note(coefficients, [float(each) for each in 1 / to_numpy(found.values[:keep])], False)

    def add_supervised(self, target: np.ndarray) -> None:
        """One component that follows the labels."""
        labels = _Labels(self)
        regression = labels.scattered(labels.solved(from_numpy(target, self.like)[:, None]))
        start = self.centered_values(self.product(regression))[:, 0]
        z, multiplier = _secular_in_krylov_space(labels, start, self.squared_size)
        change = labels.conditioned(self.centered_transposed(z[:, None]))[0]
        self._note(regression + multiplier * change, [multiplier], bool(np.any(target)))

    def result(self, n_components: int) -> SemiSupervisedSubspace:
        expansion = lambda coefficients: Expansion(self.gram.kernel, self.gram.X, coefficients)
        variances, xp = self._variances(), array_namespace(self.like)
        kept = require_determined(expansion(self.coefficients), self.points, variances, 0 * variances, n_components)
        chosen = lambda columns: take_rows(columns.T, kept).T
        coefficients, values = chosen(self.coefficients), chosen(self.values)
        levels = self.mean @ values
        signs = fix_signs(values - levels)
        has_sign = from_numpy(np.array(self.has_sign)[kept], self.like, dtype=xp.bool)
        signs = xp.where(has_sign, xp.ones_like(signs), signs)
        subspace = Subspace(
            expansion(coefficients * signs),
            expansion(self.mean[:, None]),
            offset=levels * signs,
            origin_squared_norm=self.mean_norm,
        )
        multipliers, total = np.array(self.multipliers)[kept], self.total / self.count
        return SemiSupervisedSubspace(subspace, take_rows(variances, kept), multipliers, total)

    def product(self, V: Array) -> Array:
        """The Gram matrix of what is perpendicular to the functions found, times V."""
        return in_double(self.gram @ V) - self.values @ (self.values.T @ V)

    def centered_values(self, values: Array) -> Array:
        """Values of functions at all points, less their means, times √w; shape (n, q)."""
        roots = array_namespace(values).sqrt(self.weights)
        return roots[:, None] * (values - (self.mean @ values)[None, :])

    def centered_transposed(self, V: Array) -> Array:
        """The transpose of `centered_values`."""
        scaled = array_namespace(V).sqrt(self.weights)[:, None] * V
        return scaled - self.mean[:, None] * array_namespace(V).sum(scaled, axis=0)[None, :]

    def _note(self, coefficients: Array, multipliers: list[float], has_sign: bool) -> None:
        """Functions by coefficients on what is perpendicular to those found; they are made unit vectors."""
        xp = array_namespace(coefficients)
        coefficients = coefficients - self.coefficients @ (self.values.T @ coefficients)
        values = in_double(self.gram @ coefficients)
        # Once more, because the first time leaves rounding errors of long functions.
        overlap = self.values.T @ coefficients
        coefficients, values = coefficients - self.coefficients @ overlap, values - self.values @ overlap
        squares = xp.sum(coefficients * values, axis=0)
        if not bool(xp.all(squares > 0)):
            raise np.linalg.LinAlgError("Functions are no longer than the rounding errors of their products.")
        lengths = xp.sqrt(squares)
        self.coefficients = xp.concat([self.coefficients, coefficients / lengths], axis=1)
        self.values = xp.concat([self.values, values / lengths], axis=1)
        self.multipliers += multipliers
        self.has_sign += [has_sign] * coefficients.shape[1]
        if not self._departure() <= LARGEST_DEPARTURE:
            raise np.linalg.LinAlgError("Functions that should be orthonormal are not.")

    def _uncertainty(self) -> float:
        """The fraction of the variance up to which what is left may be errors."""
        return max(rank_tolerance(self.like.shape[0], self.like.dtype), DEPARTURES * self._departure())

    def _departure(self) -> float:
        """The largest difference of inner products of the functions found from those of orthonormal ones."""
        if not self.has_sign:
            return 0.0
        products = to_numpy(self.values.T @ self.coefficients)
        return float(np.abs(products - np.eye(len(products))).max())

    def _variances(self) -> Array:
        centered = self.centered_values(self.values)
        return array_namespace(centered).sum(centered * centered, axis=0) / self.count


class _Centered:
    """The centred Gram matrix of what is left, as an operator."""

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.device_array = search.like
        self.dtype = search.like.dtype
        self.is_held = search.gram.is_held

    @property
    def shape(self) -> tuple[int, int]:
        return self.search.gram.shape

    def __matmul__(self, V: Array) -> Array:
        return self.search.centered_values(self.search.product(self.search.centered_transposed(V)))


class _Labels:
    """The kernel k'', in which labels count, of what is perpendicular to the functions found."""

    def __init__(self, search: _Search) -> None:
        self.search, like = search, search.like
        xp = array_namespace(like)
        self.rows = search.labelled
        points = search.gram.X
        if search.gram.is_held:
            self.columns = search.gram.columns(self.rows)
            inner = take_rows(self.columns, self.rows)
        else:
            self.columns = None
            inner = Gram(search.gram.kernel, take_rows(points, self.rows)).dense()
        of_labels = take_rows(search.values, self.rows)
        inner = in_double(inner) - of_labels @ of_labels.T
        if self.columns is not None:
            self.columns = in_double(self.columns) - search.values @ of_labels.T
        weights = search.label_weight * take_rows(search.weights, self.rows)
        inner = inner + xp.eye(inner.shape[0], dtype=inner.dtype, **device_kwargs(inner)) / weights
        with large_decomposition(inner.shape[0]):
            is_host = isinstance(inner, np.ndarray)
            factor = cholesky_factor(inner, overwrite=True) if is_host else cholesky(inner)
        if factor is None:
            raise np.linalg.LinAlgError("The kernel among labelled rows is not positive definite to rounding.")
        self.factor = factor

    def solved(self, V: Array) -> Array:
        """(K_LL + 1/(cw))⁻¹ V."""
        if isinstance(V, np.ndarray):
            return cholesky_solve(self.factor, V)
        xp = array_namespace(V)
        return xp.linalg.solve(self.factor.T, xp.linalg.solve(self.factor, V))

    def scattered(self, V: Array) -> Array:
        """Coefficients of all points from those of the labelled ones."""
        xp = array_namespace(V)
        out = xp.zeros((self.search.like.shape[0], V.shape[1]), dtype=V.dtype, **device_kwargs(V))
        out[from_numpy(self.rows, V, dtype=xp.int64), :] = V
        return out

    def conditioned(self, V: Array) -> tuple[Array, Array]:
        """Coefficients on k of functions with coefficients V on k'', and the values of these functions."""
        values = self.search.product(V)
        answer = self.solved(take_rows(values, self.rows))
        scattered = self.scattered(answer)
        taken = self.search.product(scattered) if self.columns is None else self.columns @ answer
        return V - scattered, values - taken

    def __matmul__(self, V: Array) -> Array:
        """The centred Gram matrix of k'' times V."""
        search = self.search
        return search.centered_values(self.conditioned(search.centered_transposed(V))[1])


def _secular_in_krylov_space(operator: _Labels, start: Array, squared_size: float) -> tuple[Array, float]:
    """z and λ with (I − λA)z = z₀ and ‖z‖² = s², of the global minimum.

    The smallest residual that products allow is taken where the tolerance is not reached.
    """
    xp, n = array_namespace(start), start.shape[0]
    random = np.random.default_rng(0).standard_normal((n, WIDTH - 1))
    block = operator @ from_numpy(random, start)
    if bool(xp.any(start != 0)):
        block = xp.concat([start[:, None], block], axis=1)
    basis = images = start[:, None][:, :0]
    block, scale, look = orthogonalize(block / _lengths(block), basis), 0.0, 4
    # Invariant: `block` is orthonormal and perpendicular to the basis, whose images are known.
    for step in range(1, MOST_BLOCKS + 1):
        image = operator @ block
        basis, images = xp.concat([basis, block], axis=1), xp.concat([images, image], axis=1)
        scale = max(scale, float(xp.max(_lengths(image))))
        following = orthogonalize(image, basis, rank_tolerance(n, start.dtype) * scale)
        is_last = step == MOST_BLOCKS or following.shape[1] == 0 or basis.shape[1] + following.shape[1] > n
        if is_last or step >= look:
            projected = basis.T @ images
            theta, vectors = eigh_descending((projected + projected.T) / 2)
            theta, vectors = xp.flip(theta, axis=0), xp.flip(vectors, axis=1)  # ascending
            along = to_numpy(vectors.T @ (basis.T @ start))
            divisors, multiplier, room = secular_divisors(to_numpy(theta), along**2, squared_size)
            y = along / divisors
            if room is not None:
                y[-1] = np.sqrt(room)
            weights = vectors @ from_numpy(y, start)
            z = basis @ weights
            residual = float(xp.linalg.vector_norm(z - start - multiplier * (images @ weights)))
            if is_last or residual <= TOLERANCE * max(squared_size**0.5, float(xp.linalg.vector_norm(start))):
                break
            look = step + max(2, step // 4)
        block = following
    return z, multiplier


def _lengths(V: Array) -> Array:
    xp = array_namespace(V)
    lengths = xp.sqrt(xp.sum(V * V, axis=0))
    return xp.where(lengths > 0, lengths, xp.ones_like(lengths))
