"""The linear program of machines with coefficients of small l1 norm, by a dense interior-point method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# Relative difference of the objective and its lower bound at which the iteration ends. Values of functions are then
# right to about eight digits; a hundred times smaller is lost in rounding errors of the normal equations.
GAP = 1e-9
# The iteration takes 15 to 40 steps; where rounding errors stop it, more do not help.
MAX_ITER = 100
# Relative difference that still counts as converged where rounding errors stop the iteration: wide kernels and large
# costs, for which coefficients of both signs cancel.
GOOD_GAP = 1e-5
# Fraction of the way to the boundary of the positive numbers that a step may go.
TO_THE_BOUNDARY = 0.995
# An objective of less than this fraction of what all targets cost is nearly zero, and cannot be computed to a relative
# accuracy: the functions fit everything, and cost little.
SMALL = 1e-4
# Steps shorter than this make no progress: rounding errors decide their direction.
SHORTEST = 1e-10
# Rise of the objective, relative to it, that is the price of coefficients of exactly zero.
ALIKE = 1e-8
# Largest cost of an error in units of the cost of coefficients. Beyond it, coefficients cost less than what rounding
# adds to the errors; such programs minimise the errors, and coefficients among all that do so up to rounding.
LARGEST_COST = 1e10

# The numbers p, q, b, xi, s and the multipliers zp, zq, zx, beta of an iterate, or a step of all of them.
Point: TypeAlias = dict[str, np.ndarray]
PRIMAL = ("p", "q", "b", "xi", "s")


@dataclass(frozen=True)
class L1Solution:
    r"""The minimum of :math:`\sum_j |\alpha_j| + \sum_i c_i (\ell_i - f_i)_+ + \sum_i c_i (f_i - u_i)_+`.

    Attributes
    ----------
    coefficients : array of shape (m,)
        α; exact zeros where a function is not used.
    intercept : float
    multipliers : array of shape (n,)
        γ, positive for values that are too small and negative for those that are too large. At the minimum
        :math:`|\sum_i \gamma_i k_{ij}| \le 1` for every function j, with equality where α_j is not zero.
    objective, bound : float
        The value at α, and a lower bound of the minimum from γ.
    converged : bool
        Whether the iteration closed its gap to `GOOD_GAP` of the objective, or of `SMALL` of the cost without
        functions where that is more: two small numbers may then still differ by rounding errors of f.
    """

    coefficients: np.ndarray
    intercept: float
    multipliers: np.ndarray
    objective: float
    bound: float
    converged: bool


def solve_l1_program(
    K: np.ndarray, lower: np.ndarray, upper: np.ndarray, costs: np.ndarray, *, intercept: bool = True
) -> L1Solution:
    r"""Minimise :math:`\|\alpha\|_1` plus the cost of :math:`f = K\alpha + b` outside of :math:`[\ell, u]`  (G20).

    Parameters
    ----------
    K : array of shape (n, m)
        Values of m functions at n rows.
    lower, upper : arrays of shape (n,)
        Bounds of f; infinite where there is none. A row may have both.
    costs : array of shape (n,)
        c > 0, the cost of one unit outside.
    intercept : bool
        Whether b is free, or zero.
    """
    size = float(np.abs(K).max(initial=0.0)) or 1.0
    sides = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    unit = float(np.abs(sides).max(initial=0.0)) or 1.0
    # In units in which all functions are at most one and bounds too: coefficients are multiplied by size/unit.
    scaled = np.minimum(costs * size, LARGEST_COST)
    problem = _Program(K / size, lower / unit, upper / unit, scaled, intercept)
    # Σγk is at most the sum of all costs: where that is below one, no function is worth its coefficient.
    alpha, beta, converged = problem.minimum() if scaled.sum() > 1 else (np.zeros(K.shape[1]), None, True)
    alpha = alpha * (unit / size)
    f = K @ alpha
    b = best_intercept(f, lower, upper, costs) if intercept else 0.0
    objective = np.abs(alpha).sum() + _loss(f + b, lower, upper, costs)
    if beta is None:
        multipliers = _constant_multipliers(f + b, lower, upper, costs, intercept)
        return L1Solution(alpha, b, multipliers, objective, objective, True)
    multipliers = problem.per_row(problem.signs * beta) / size
    # Multipliers are feasible up to rounding; scaled to be so exactly, their objective is a bound.
    most = max(1.0, float(np.abs(K.T @ multipliers).max(initial=0.0)))
    bound = float(problem.targets @ beta) * (unit / size) / most
    return L1Solution(alpha, b, multipliers / most, float(objective), bound, converged)


def best_intercept(
    f: np.ndarray, lower: np.ndarray, upper: np.ndarray, costs: np.ndarray, costs_above: np.ndarray | None = None
) -> float:
    """The b that minimises the cost of f + b, exactly: the middle of all such b, where there are several.

    `costs` are those of one unit below, and also above where `costs_above` are not given.
    """
    costs_above = costs if costs_above is None else costs_above
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    breaks = np.concatenate([(lower - f)[has_lower], (upper - f)[has_upper]])
    steps = np.concatenate([costs[has_lower], costs_above[has_upper]])
    order = np.argsort(breaks, kind="stable")
    # The derivative is minus the costs of all lower bounds at −∞, and grows by the cost of every break that is passed.
    derivative = np.cumsum(steps[order]) - costs[has_lower].sum()
    rounding = 1e-12 * steps.sum()
    first = int(np.argmax(derivative >= -rounding))
    flat = np.flatnonzero(np.abs(derivative) <= rounding)
    last = min(int(flat[-1]) + 1, breaks.size - 1) if flat.size else first
    return float((breaks[order[first]] + breaks[order[max(first, last)]]) / 2)


def _loss(f: np.ndarray, lower: np.ndarray, upper: np.ndarray, costs: np.ndarray) -> float:
    return float(costs @ (np.maximum(lower - f, 0.0) + np.maximum(f - upper, 0.0)))


def _constant_multipliers(
    f: np.ndarray, lower: np.ndarray, upper: np.ndarray, costs: np.ndarray, intercept: bool
) -> np.ndarray:
    """Multipliers at the best constant; their sum is zero where the constant is free, as that of all minima over b."""
    multipliers = costs * ((f < lower).astype(float) - (f > upper).astype(float))
    total = float(multipliers.sum())
    if intercept and total != 0:  # rows that the constant meets at a bound share what is missing
        shares = costs * (f == (upper if total > 0 else lower))
        multipliers = multipliers - total * shares / max(float(shares.sum()), np.finfo(float).tiny)
    return multipliers


class _Program:
    r"""Primal–dual iterations from a point inside: costs of coefficients are one, and :math:`|K| \le 1`.

    Every finite bound is a row :math:`\sigma (K\alpha + b) + \xi - s = d` with errors ξ and slack s; α = p − q. All of
    p, q, ξ, s are positive, as are their multipliers. Newton's equations are eliminated down to the size of α and b.
    """

    def __init__(self, K: np.ndarray, lower: np.ndarray, upper: np.ndarray, costs: np.ndarray, intercept: bool) -> None:
        below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        self.K, self.intercept = K, intercept
        self.rows = np.concatenate([below, above])
        self.signs = np.concatenate([np.ones(below.size), -np.ones(above.size)])
        self.targets = self.signs * np.concatenate([lower[below], upper[above]])
        self.costs = costs[self.rows]

    def minimum(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Coefficients, multipliers of the rows, and whether the gap closed."""
        point = self._start()
        best, gap = point, np.inf
        for _ in range(MAX_ITER):
            now = self._gap(point)
            if now < gap:
                best, gap = point, now
            if gap <= GAP or not np.isfinite(now):
                break
            try:
                with np.errstate(all="ignore"):  # where numbers end, the best point so far is the answer
                    point, length = self._step(point)
            except (LinAlgError, ValueError):  # of a matrix that is not positive definite, or not finite
                break
            if not length >= SHORTEST:
                break
        p, q, zp, zq = best["p"], best["q"], best["zp"], best["zq"]
        # Of every pair of a number and its multiplier, one is zero at the minimum: the smaller one, unless both are
        # small, which shows where the objective rises without it.
        whole = np.where(np.abs(p - q) > SHORTEST * np.abs(p - q).max(initial=0.0), p - q, 0.0)
        alpha = np.where((p > zp) | (q > zq), whole, 0.0)
        if self._objective(alpha, best["b"]) > (1 + ALIKE) * self._objective(whole, best["b"]):
            alpha = whole
        beta = np.where(best["beta"] > best["s"], np.clip(best["beta"], 0.0, self.costs), 0.0)
        return alpha, beta, gap <= GOOD_GAP

    def _objective(self, alpha: np.ndarray, b: np.ndarray) -> float:
        f = self.K @ alpha + b
        return float(np.abs(alpha).sum() + self.costs @ np.maximum(self.targets - self.signs * f[self.rows], 0.0))

    def per_row(self, values: np.ndarray) -> np.ndarray:
        """Sums over the bounds of every row of K."""
        return np.bincount(self.rows, values, minlength=self.K.shape[0])

    def _start(self) -> Point:
        """A point that satisfies all equations, in the middle of what is allowed."""
        d, c, m = self.targets, self.costs, self.K.shape[1]
        if self.intercept:  # multipliers of both sides have equal sums, and each is below its cost
            sums = np.array([c[self.signs < 0].sum(), c[self.signs > 0].sum()])
            beta = c * np.where(self.signs > 0, sums.min() / max(sums[1], 1e-300), sums.min() / max(sums[0], 1e-300))
        else:
            beta = c.copy()
        # Σ|γk| at most one half, so that multipliers of coefficients are at least one half.
        beta = beta * min(0.5, 0.5 / max(float(beta.sum()), 1e-300))
        sums = self.K.T @ self.per_row(self.signs * beta)
        return {
            "p": np.ones(m),
            "q": np.ones(m),
            "b": np.zeros(1),
            "xi": np.maximum(d, 0) + 1,
            "s": np.maximum(-d, 0) + 1,
            "beta": beta,
            "zp": 1 - sums,
            "zq": 1 + sums,
            "zx": c - beta,
        }

    def _gap(self, x: Point) -> float:
        """Difference of objective and bound, relative to the objective, or to a fraction of that without functions."""
        objective = max(x["p"].sum() + x["q"].sum() + self.costs @ x["xi"], SMALL * (self.costs @ np.abs(self.targets)))
        pairs = x["p"] @ x["zp"] + x["q"] @ x["zq"] + x["xi"] @ x["zx"] + x["s"] @ x["beta"]
        return float(pairs / max(objective, np.finfo(float).tiny))

    def _step(self, x: Point) -> tuple[Point, float]:
        """A step of Mehrotra's method: as far as possible first, then back to where all products are alike."""
        newton = _Newton(self, x)
        pairs = (("p", "zp"), ("q", "zq"), ("xi", "zx"), ("s", "beta"))
        count = sum(x[a].size for a, _ in pairs)
        mean = sum(float(x[a] @ x[z]) for a, z in pairs) / count
        ahead = newton.step({a: -x[a] * x[z] for a, z in pairs})
        primal, dual = _lengths(x, ahead, 1.0)
        reached = sum(float((x[a] + primal * ahead[a]) @ (x[z] + dual * ahead[z])) for a, z in pairs) / count
        center = (reached / mean) ** 3 * mean
        step = newton.step({a: center - x[a] * x[z] - ahead[a] * ahead[z] for a, z in pairs})
        primal, dual = _lengths(x, step, TO_THE_BOUNDARY)
        moved = {name: x[name] + (primal if name in PRIMAL else dual) * step[name] for name in x}
        return moved, max(primal, dual)


class _Newton:
    """Newton's equations at a point, eliminated to the size of α and b, with one factorisation for all right sides."""

    def __init__(self, program: _Program, x: Point) -> None:
        K, sigma = program.K, program.signs
        self.program, self.x = program, x
        sums = K.T @ program.per_row(sigma * x["beta"])
        f = K @ (x["p"] - x["q"]) + x["b"]
        # What is left of the equations: zero up to rounding, since iterations begin inside.
        self.left = program.targets - (sigma * f[program.rows] + x["xi"] - x["s"])
        self.left_p, self.left_q = 1 - sums - x["zp"], 1 + sums - x["zq"]
        self.left_x = program.costs - x["beta"] - x["zx"]
        self.D = 1 / (x["xi"] / x["zx"] + x["s"] / x["beta"])
        row_weights = program.per_row(self.D)
        self.root = np.sqrt(x["p"] / x["zp"] + x["q"] / x["zq"])
        self.B = K * self.root
        weighted = self.B * row_weights[:, None]
        # (I + RKᵀDKR) in terms of α = Rv: its smallest eigenvalue is one, however small some coefficients are.
        M = self.B.T @ weighted
        M[np.diag_indices_from(M)] += 1.0
        self.border = weighted.sum(axis=0)
        self.factor = cho_factor(M)
        self.along = cho_solve(self.factor, self.border)
        # ΣD − border·along, as a sum of squares that cannot cancel: along minimises it.
        self.corner = row_weights @ (1 - self.B @ self.along) ** 2 + self.along @ self.along

    def step(self, products: Point) -> Point:
        """The step after which the products of numbers and multipliers have changed by `products`, to first order."""
        x, program, root = self.x, self.program, self.root
        to_p, to_q = products["p"] - x["p"] * self.left_p, products["q"] - x["q"] * self.left_q
        to_x = (products["xi"] - x["xi"] * self.left_x) / x["zx"]
        right = self.left - to_x + products["s"] / x["beta"]
        g = program.per_row(program.signs * self.D * right)
        shift = to_p / x["zp"] - to_q / x["zq"]
        v, db = self._coefficients(shift / root + self.B.T @ g, float(g.sum() + program.signs @ x["beta"]))
        change = (program.K @ (root * v) + db)[program.rows]
        dbeta = self.D * (right - program.signs * change)
        # Where coefficients are free, the step of the sums follows from that of the coefficients: from dβ, its rounding
        # errors would be multiplied by the large ratio root², and values would not be those of α.
        from_rows = program.K.T @ program.per_row(program.signs * dbeta)
        dsums = np.where(root > 1, (v - shift / root) / root, from_rows)
        dzp, dzq, dzx = self.left_p - dsums, self.left_q + dsums, self.left_x - dbeta
        return {
            "p": (products["p"] - x["p"] * dzp) / x["zp"],
            "q": (products["q"] - x["q"] * dzq) / x["zq"],
            "b": np.array([db]),
            "xi": (products["xi"] - x["xi"] * dzx) / x["zx"],
            "s": (products["s"] - x["s"] * dbeta) / x["beta"],
            "beta": dbeta,
            "zp": dzp,
            "zq": dzq,
            "zx": dzx,
        }

    def _coefficients(self, right: np.ndarray, total: float) -> tuple[np.ndarray, float]:
        """The steps of α, in units of `root`, and of b."""
        v = cho_solve(self.factor, right)
        if not self.program.intercept:
            return v, 0.0
        db = float((total - self.border @ v) / self.corner)
        return v - self.along * db, db


def _lengths(x: Point, step: Point, fraction: float) -> tuple[float, float]:
    """Largest steps, at most one, at which all numbers, and all multipliers, stay positive."""

    def most(names: tuple[str, ...]) -> float:
        ratios = [np.min(np.where(step[a] < 0, -x[a] / np.where(step[a] < 0, step[a], 1), np.inf)) for a in names]
        return min(1.0, fraction * float(min(ratios)))

    return most(("p", "q", "xi", "s")), most(("zp", "zq", "zx", "beta"))
