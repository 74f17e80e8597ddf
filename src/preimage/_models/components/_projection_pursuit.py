"""Directions of extreme higher moments: projection pursuit among whitened coordinates, and its features."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import comb, prod

import numpy as np

from preimage._engine.arrays import from_numpy, integer_power
from preimage._engine.linalg import orthonormal_factor
from preimage._engine.progress import stage
from preimage._engine.rows import sum_rows
from preimage._models.components._features import Features
from preimage.feature_space import Subspace

# Angles on a great circle at which a moment is looked at first. It has at most 2p extremes there, so that for moments
# of order eight they are four steps apart; with half as many angles, a lower one of two neighbours may be taken.
ANGLES = 64
# Newton steps from the best of these: each doubles the digits, of which the first two are there.
NEWTON_STEPS = 5
# Rows per block of a pass: a block of ten columns stays in a second-level cache. Far fewer spend their time in calls.
ROWS = 4096
# Random directions that starts are chosen from, per start that is wanted, and the most rows of large norm whose
# directions are tried: chosen starts are far better than random ones, and judging one costs a hundredth of an ascent.
CANDIDATES, MOST_ROWS = 20, 500
# Starts whose directions have at least this cosine lead to the same end.
SAME_DIRECTION = 0.99
# Relative gain that ends ascents from all starts; the best alone goes on. It tells ends apart that differ by more.
ROUGH = 1e-6


@dataclass(frozen=True)
class MomentIndex:
    """How far the moment of order p of a variable of variance one is from that of a Gaussian.

    Parameters
    ----------
    order : int ≥ 3
        Three is skewness, four is kurtosis.
    extreme : {"both", "largest", "smallest"}
        What is to be large: the modulus of the difference, the difference, or minus the difference.
    """

    order: int = 4
    extreme: str = "both"

    @property
    def gaussian(self) -> float:
        """The moment of a Gaussian variable of variance one: (p − 1)!! for an even order."""
        return 0.0 if self.order % 2 else float(prod(range(1, self.order, 2)))

    def objective(self, moments: np.ndarray) -> np.ndarray:
        """What is to be maximised, from moments E[yᵖ]."""
        difference = moments - self.gaussian
        return np.abs(difference) if self.extreme == "both" else self._sign * difference

    def signs(self, moments: np.ndarray) -> np.ndarray:
        """The sign with which the moment itself should grow."""
        if self.extreme != "both":
            return np.full_like(moments, self._sign)
        return np.where(moments >= self.gaussian, 1.0, -1.0)

    def score(self, Y: np.ndarray, signs: np.ndarray) -> float:
        """The mean over columns, scaled to variance one, of the moment less that of a Gaussian, with given signs."""
        Y = Y - Y.mean(axis=0)
        deviations = np.sqrt(np.mean(Y * Y, axis=0))
        if not np.all(deviations > 0):
            raise ValueError(
                f"Moments of {len(Y)} rows that have the same feature values are undefined; give two different rows at "
                "least, better some hundreds."
            )
        moments = np.mean(integer_power(Y / deviations, self.order), axis=0)
        return float(np.mean(signs * (moments - self.gaussian)))

    @property
    def _sign(self) -> float:
        return -1.0 if self.extreme == "smallest" else 1.0


class GreatCircles:
    """Objectives along great circles cos θ·w + sin θ·d, one per column of mixed moments.

    Where `both`, the objective is the sum of those of this direction and of the one a right angle further. The moment
    is a trigonometric polynomial of degree p in θ, which its values on a grid determine.

    Parameters
    ----------
    index : MomentIndex
    mixed : array of shape (p + 1, S)
        E[(w·z)^{p−a} (d·z)^a] for a = 0 … p.
    both : boolean array of shape (S,), optional
        None is False for all.
    """

    def __init__(self, index: MomentIndex, mixed: np.ndarray, both: np.ndarray | None = None) -> None:
        self.index = index
        self.both = None if both is None or not both.any() else both.astype(float)
        self.grid, terms, waves = _grid(index.order)
        values = terms @ mixed  # (ANGLES, S)
        # Coefficients of exp(ikθ) for k = 0 … p; the real part of their sum is the moment.
        self.coefficients = waves @ values
        self.frequencies = np.arange(index.order + 1)[:, None]
        objective = index.objective(values)
        self.on_grid = objective if self.both is None else objective + self.both * np.roll(objective, -ANGLES // 4, 0)

    def objective(self, angles: np.ndarray) -> np.ndarray:
        """The objective at one angle per circle."""
        value = self.index.objective(self._derivatives(angles)[0])
        if self.both is None:
            return value
        return value + self.both * self.index.objective(self._derivatives(angles + np.pi / 2)[0])

    def refined(self, angles: np.ndarray) -> np.ndarray:
        """Newton steps to the top near one angle per circle, at most a step of the grid away."""
        start, reach = angles, 2 * np.pi / ANGLES
        for _ in range(NEWTON_STEPS):
            first, second = self._of_objective(angles)
            if self.both is not None:
                of_other = self._of_objective(angles + np.pi / 2)
                first, second = first + self.both * of_other[0], second + self.both * of_other[1]
            is_top = second < 0
            step = np.where(is_top, -first / np.where(is_top, second, -1.0), 0.0)
            angles = np.clip(angles + step, start - reach, start + reach)
        return angles

    def _of_objective(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivative of the objective of one direction."""
        value, first, second = self._derivatives(angles)
        signs = self.index.signs(value)
        return signs * first, signs * second

    def _derivatives(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The moment, its first and its second derivative."""
        waves = np.exp(1j * self.frequencies * angles) * self.coefficients
        first = 1j * self.frequencies * waves
        return waves.sum(axis=0).real, first.sum(axis=0).real, -(self.frequencies**2 * waves).sum(axis=0).real


@cache
def _grid(order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles, powers of their cosines and sines with binomials, and the waves that find Fourier coefficients."""
    grid = -np.pi + 2 * np.pi / ANGLES * np.arange(1, ANGLES + 1)
    cosine, sine = np.cos(grid), np.sin(grid)
    terms = np.stack([comb(order, a) * cosine ** (order - a) * sine**a for a in range(order + 1)], axis=1)
    frequencies = np.arange(order + 1)[:, None]
    return grid, terms, np.where(frequencies == 0, 1.0, 2.0) / ANGLES * np.exp(-1j * frequencies * grid)


def mixed_moments(Y: np.ndarray, V: np.ndarray, omega: np.ndarray, order: int) -> np.ndarray:
    """Weighted sums of Y^{p−a} V^a for a = 0 … p, shape (p + 1, columns)."""
    powers_of_y, powers_of_v = _powers(Y, order), _powers(V, order)
    return np.stack([omega @ (powers_of_y[order - a] * powers_of_v[a]) for a in range(order + 1)])


def _powers(Y: np.ndarray, order: int) -> list[np.ndarray]:
    """Y⁰ … Yᵖ by products, which are many times faster than powers."""
    powers = [np.ones_like(Y), Y]
    while len(powers) <= order:
        powers.append(powers[-1] * Y)
    return powers


@dataclass(frozen=True)
class Pursuit:
    """Directions of extreme moments.

    Attributes
    ----------
    directions : array of shape (q, r)
        Orthonormal columns, the most extreme first.
    moments : array of shape (r,)
        E[yᵖ] less that of a Gaussian along each of them.
    objectives : list of float
        Sum of the objectives after each sweep of the joint search, never falling; one number for deflation.
    n_iter : int
        Steps of the longest ascent, or sweeps of the joint search.
    converged : bool
    """

    directions: np.ndarray
    moments: np.ndarray
    objectives: list[float]
    n_iter: int
    converged: bool


def projection_pursuit(
    Z: np.ndarray,
    n_directions: int,
    index: MomentIndex,
    *,
    rng: np.random.Generator,
    joint: bool = True,
    weights: np.ndarray | None = None,
    n_starts: int = 10,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Pursuit:
    r"""Orthonormal directions w along which moments of white coordinates z are extreme  (S23).

    One direction after the other: ascents from several starts, in the complement of the directions found before.
    The great circle through w and the gradient :math:`E[z (w \cdot z)^{p-1}]` has

    .. math:: E[(\cos\theta\, w \cdot z + \sin\theta\, d \cdot z)^p]
              = \sum_a \tbinom{p}{a} \cos^{p-a}\theta \sin^a\theta\; E[(w \cdot z)^{p-a} (d \cdot z)^a],

    so p + 1 numbers give the best angle of all, and no step is too long. The circle contains the point to which the
    fixed point iteration of independent component analysis goes; unlike that iteration, the objective never falls.

    With `joint`, rotations of pairs of directions then raise the *sum* of the objectives, again by the best angle,
    until no pair gains: what one direction took from the next is returned.

    Parameters
    ----------
    Z : array of shape (n, q)
        Coordinates with mean zero, variance one and no correlations (weighted by `weights`).
    n_directions : int
        r ≤ q.
    index : MomentIndex
    rng : numpy Generator
        Of the starts.
    joint : bool, default=True
    weights : array of shape (n,), optional
        How often each row counts.
    n_starts : int, default=10
        Ascents per direction.
    tol : float, default=1e-8
        Relative gain of a step that counts as none.
    max_iter : int, default=200
        Most steps of an ascent, and most sweeps.

    Returns
    -------
    Pursuit
    """
    n, q = Z.shape
    omega = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    search = _Search(Z, omega, index, tol, max_iter)
    basis = np.eye(q)  # its first columns are found, the others span what is left
    longest, converged = 0, True
    with stage("Searching directions", n_directions) as advance:
        for found in range(n_directions):
            best, n_steps, settled = search.best_direction(basis[:, found:], n_starts, rng)
            basis = _with_column(basis, found, best)
            longest, converged = max(longest, n_steps), converged and settled
            advance()
    objectives = [search.total(basis, n_directions)]
    if joint and q > 1:
        basis, objectives, converged = search.rotated(basis, n_directions)
        longest = len(objectives) - 1
    return search.result(basis[:, :n_directions], objectives, longest, converged)


class _Search:
    """Ascents and rotations on fixed data."""

    def __init__(self, Z: np.ndarray, omega: np.ndarray, index: MomentIndex, tol: float, max_iter: int) -> None:
        self.Z, self.omega, self.index, self.tol, self.max_iter = Z, omega, index, tol, max_iter

    def moments(self, W: np.ndarray) -> np.ndarray:
        """E[(w·z)ᵖ] for the columns of W."""
        order = self.index.order
        return sum_rows(lambda rows, omega: omega @ integer_power(rows @ W, order), self.Z, self.omega, rows=ROWS)

    def total(self, W: np.ndarray, count: int) -> float:
        return float(np.sum(self.index.objective(self.moments(W[:, :count]))))

    def best_direction(
        self, space: np.ndarray, n_starts: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, int, bool]:
        """The best end of ascents in the span of orthonormal columns, the most steps of one, whether it converged."""
        if space.shape[1] == 1:
            return space[:, 0], 0, True
        ends, value, n_steps, _ = self._climb(self._starts(space, n_starts, rng), space, max(self.tol, ROUGH))
        best = int(np.argmax(value))
        ends, _, n_more, settled = self._climb(ends[:, best : best + 1], space, self.tol)
        return ends[:, 0], max(n_steps, n_more), settled

    def _climb(self, W: np.ndarray, space: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray, int, bool]:
        """Ascents from the columns of W, their objectives, the number of steps, and whether all have settled.

        Invariant: `value` is the objective of W, and no entry of it ever falls.
        """
        value = self.index.objective(self.moments(W))
        settled, n_steps = np.zeros(W.shape[1], dtype=bool), 0
        while n_steps < self.max_iter and not settled.all():
            n_steps += 1
            D = self._tangents(W, space)
            angles, new = self._best_angles(self._mixed_moments(W, D), np.pi / 2)
            better = new > value
            angles = np.where(better, angles, 0.0)
            W = W * np.cos(angles) + D * np.sin(angles)
            W = W / np.linalg.norm(W, axis=0)
            settled = new - value <= tol * np.maximum(np.abs(value), 1.0)
            value = np.where(better, new, value)
        return W, value, n_steps, bool(settled.all())

    def rotated(self, basis: np.ndarray, count: int) -> tuple[np.ndarray, list[float], bool]:
        """Sweeps over pairs of directions; the basis after them, the sums of objectives, and whether they settled.

        Invariant: `Y` is Z @ basis.
        """
        Y, objectives = self.Z @ basis, [self.total(basis, count)]
        rounds = _rounds(basis.shape[1], count)
        for _ in range(self.max_iter):
            for first, second in rounds:
                angles = self._pair_angles(Y[:, first], Y[:, second], both=second < count)
                for columns in (Y, basis):
                    _turn(columns, first, second, angles)
            basis = _orthonormal(basis)  # rounding errors of many rotations
            Y = self.Z @ basis
            objectives.append(self.total(basis, count))
            if objectives[-1] - objectives[-2] <= self.tol * max(abs(objectives[-1]), 1.0):
                return basis, objectives, True
        return basis, objectives, False

    def result(self, W: np.ndarray, objectives: list[float], n_iter: int, converged: bool) -> Pursuit:
        """Directions by descending objective, with the longer tail on the positive side."""
        moments = self.moments(W)
        order = np.argsort(-self.index.objective(moments), kind="stable")
        W, moments = W[:, order], moments[order]
        skewness = sum_rows(lambda rows, omega: omega @ integer_power(rows @ W, 3), self.Z, self.omega, rows=ROWS)
        signs = np.where(skewness < 0, -1.0, 1.0)
        if self.index.order % 2:
            signs = np.where(moments < 0, -1.0, 1.0) * (-1.0 if self.index.extreme == "smallest" else 1.0)
            moments = moments * signs
        return Pursuit(W * signs, moments - self.index.gaussian, objectives, n_iter, converged)

    def _starts(self, space: np.ndarray, n_starts: int, rng: np.random.Generator) -> np.ndarray:
        """The most extreme of axes, random directions and directions of rows far out: unit vectors of the span."""
        k = space.shape[1]
        rows = self.Z @ space
        far = np.argsort(-np.sum(rows * rows, axis=1), kind="stable")[:MOST_ROWS]
        inside = np.hstack([np.eye(k), rng.normal(size=(k, CANDIDATES * n_starts)), rows[far].T])
        lengths = np.linalg.norm(inside, axis=0)
        inside = inside[:, lengths > 0] / lengths[lengths > 0]
        order = np.argsort(-self.index.objective(self.moments(space @ inside)), kind="stable")
        chosen: list[int] = []
        for number in order.tolist():
            if not chosen or np.abs(inside[:, chosen].T @ inside[:, number]).max() < SAME_DIRECTION:
                chosen.append(number)
            if len(chosen) == n_starts:
                break
        return space @ inside[:, chosen]

    def _tangents(self, W: np.ndarray, space: np.ndarray) -> np.ndarray:
        """Unit directions of steepest ascent on the sphere of the span; any tangent where there is no ascent."""
        order = self.index.order

        def gradient(rows: np.ndarray, omega: np.ndarray) -> np.ndarray:
            return rows.T @ (omega[:, None] * integer_power(rows @ W, order - 1))

        G = sum_rows(gradient, self.Z, self.omega, rows=ROWS)
        G = G * self.index.signs(np.sum(W * G, axis=0))  # w·E[z(w·z)ᵖ⁻¹] is the moment
        for _ in range(2):  # the second time takes away what rounding left of the first
            G = space @ (space.T @ G)
            G = G - W * np.sum(W * G, axis=0)
            lengths = np.linalg.norm(G, axis=0)
            G = G / np.where(lengths > 0, lengths, 1.0)
        return G

    def _mixed_moments(self, W: np.ndarray, D: np.ndarray) -> np.ndarray:
        """E[(w·z)^{p−a} (d·z)^a] for a = 0 … p and all columns, shape (p + 1, S)."""
        order = self.index.order

        def block(rows: np.ndarray, omega: np.ndarray) -> np.ndarray:
            return mixed_moments(rows @ W, rows @ D, omega, order)

        return sum_rows(block, self.Z, self.omega, rows=ROWS)

    def _pair_angles(self, A: np.ndarray, B: np.ndarray, *, both: np.ndarray) -> np.ndarray:
        """The rotation of each pair of directions that gains most; zero where none gains.

        A right angle exchanges the two, so that half of the angles are enough where both count.
        """
        mixed = mixed_moments(A, B, self.omega, self.index.order)
        angles, values = self._best_angles(mixed, np.where(both, np.pi / 4, np.pi / 2), both)
        now = self.index.objective(mixed[0]) + np.where(both, self.index.objective(mixed[-1]), 0.0)
        # Less than a hundredth of what ends the search counts as rounding.
        return np.where(values - now > 0.01 * self.tol * np.maximum(np.abs(now), 1.0), angles, 0.0)

    def _best_angles(
        self, mixed: np.ndarray, most: np.ndarray | float, both: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Angles up to ±`most` with the largest objective, and that objective, for every column of mixed moments."""
        circles = GreatCircles(self.index, mixed, both)
        allowed = np.abs(circles.grid)[:, None] <= most
        best = np.argmax(np.where(allowed, circles.on_grid, -np.inf), axis=0)
        angles, values = circles.grid[best], circles.on_grid[best, np.arange(mixed.shape[1])]
        refined = circles.refined(angles)
        found = circles.objective(refined)
        better = found > values
        return np.where(better, refined, angles), np.where(better, found, values)


def _rounds(q: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """All pairs i < j with i < `count`, in rounds of pairs that have no direction in common.

    One direction stays, the others move on by one seat per round and meet the one opposite, as in a tournament.
    """
    seats = list(range(q)) if q % 2 == 0 else [*range(q), -1]  # with an odd number, one of them rests
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        pairs = [sorted(pair) for pair in zip(seats[:half], reversed(seats[half:]), strict=True)]
        pairs = [pair for pair in pairs if 0 <= pair[0] < count]
        if pairs:
            rounds.append((np.array([i for i, _ in pairs]), np.array([j for _, j in pairs])))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds


def _turn(columns: np.ndarray, first: np.ndarray, second: np.ndarray, angles: np.ndarray) -> None:
    """Turn pairs of columns in place: cos θ·a + sin θ·b and cos θ·b − sin θ·a."""
    A, B = columns[:, first], columns[:, second]
    columns[:, first] = A * np.cos(angles) + B * np.sin(angles)
    columns[:, second] = B * np.cos(angles) - A * np.sin(angles)


def _with_column(basis: np.ndarray, column: int, direction: np.ndarray) -> np.ndarray:
    """The basis with a direction of the span of its last columns in place of the first of these, by one reflection."""
    inside = basis[:, column:].T @ direction
    inside = inside / np.linalg.norm(inside)
    reflected = inside.copy()
    reflected[0] += 1.0 if inside[0] >= 0 else -1.0  # away from cancellation
    reflected = reflected / np.linalg.norm(reflected)
    last = basis[:, column:]
    turned = last - 2 * np.outer(last @ reflected, reflected)
    # The reflection takes the first axis to ∓ the direction.
    turned[:, 0] = last @ inside
    return np.hstack([basis[:, :column], turned])


def _orthonormal(basis: np.ndarray) -> np.ndarray:
    """The orthonormal basis nearest to one that has rounding errors."""
    left, _, right = np.linalg.svd(basis)
    return left @ right


@dataclass(frozen=True)
class PursuitFeatures(Features):
    """Features of mean zero, variance one and no correlations, made of principal components.

    The frame V spans their patterns, the covariances of φ(x) with the features. These are V R with the `mixing` R, so
    that features Y have the coordinates Y Rᵀ.

    Attributes
    ----------
    pursuit : Pursuit
    """

    pursuit: Pursuit


def pursuit_features(
    subspace: Subspace,
    coordinates: np.ndarray,
    search: Callable[[np.ndarray], Pursuit],
    weights: np.ndarray | None = None,
) -> PursuitFeatures:
    r"""Whiten principal coordinates, search, and express what was found in feature space.

    With the covariance C of the coordinates β and F such that :math:`F^\top C F = I`, a direction w of white
    coordinates gives the feature :math:`(\beta - \bar\beta)^\top F w`. The pattern :math:`C F w` is the regression of β
    on it: given some features, the others being at their mean, β is their sum of patterns.

    Parameters
    ----------
    subspace : Subspace
        Principal axes, of which `coordinates` are coordinates.
    coordinates : array of shape (n, q)
    search : callable
        From white coordinates to directions, which it may be less of than columns.
    weights : array of shape (n,), optional
        How often each row counts.
    """
    mean = np.average(coordinates, axis=0, weights=weights)
    centered = coordinates - mean
    omega = np.full(len(centered), 1 / len(centered)) if weights is None else weights / weights.sum()
    covariance = centered.T @ (omega[:, None] * centered)
    factor = orthonormal_factor(covariance)
    pursuit = search(centered @ factor)
    unmixing = factor @ pursuit.directions
    Q, R = np.linalg.qr(covariance @ unmixing)
    frame = subspace.frame
    here = lambda values: from_numpy(np.ascontiguousarray(values), frame.coefficients, dtype=frame.coefficients.dtype)
    M, turn = here(unmixing), here(Q)
    return PursuitFeatures(
        frame @ M,
        (subspace.offset + here(mean)) @ M,
        Subspace(
            frame @ turn,
            subspace.origin,
            offset=subspace.offset @ turn,
            origin_squared_norm=subspace.origin_squared_norm,
        ),
        here(R),
        pursuit,
    )
