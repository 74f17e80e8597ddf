"""Labelled data of a kernel, what is asked of discriminants on them, and the problem that these solve."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Protocol, cast

import numpy as np

from preimage._engine.arrays import array_namespace, as_rows, from_numpy, in_double, in_memory, is_lazy, to_numpy
from preimage._engine.linalg import fix_signs
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage._models.discriminants._rule import NEED_VALUES, LinearRule, rules_of
from preimage._models.discriminants._scatter_fisher import ScatterFisher
from preimage._models.discriminants._sparse_fisher import sparse_discriminants
from preimage.feature_space import ClassMoments, Expansion, Gram, require_finite
from preimage.invariances import TangentCovariance
from preimage.kernels import Kernel

# Rows of lazy data whose values are computed together: 4,096 × 1,000 kernel values take 32 MB.
BLOCK = 4096


@dataclass(frozen=True)
class LabelledData:
    """A resolved kernel, inputs as it keeps them, classes by number, and weights.

    Attributes
    ----------
    kernel : Kernel
    X : array of shape (n, d), possibly lazy; or row numbers
    codes : integer array of shape (n,)
    classes : array of shape (n_classes,)
    weights : array of shape (n,) or None
        None is one each.
    kept : integer array of shape (n,) or None
        Numbers of these rows among those that were given, where some were left out.
    """

    kernel: Kernel
    X: Array
    codes: Array
    classes: Array
    weights: Array | None
    kept: Array | None = None

    @property
    def n_classes(self) -> int:
        return self.classes.size

    @property
    def count(self) -> float:
        """The sum of weights."""
        return float(self.codes.size if self.weights is None else self.weights.sum())

    def labels_of(self, rows: Array | None) -> tuple[Array, Array | None]:
        """Codes and weights of all rows, or of some of them."""
        if rows is None:
            return self.codes, self.weights
        return self.codes[rows], None if self.weights is None else self.weights[rows]

    def without_rows(self) -> "LabelledData":
        """Kernel and classes alone, to keep for later batches."""
        return replace(self, X=None, codes=None, weights=None, kept=None)


@dataclass(frozen=True)
class FisherOptions:
    """Which discriminants are wanted, and the decisions made of them: everything but kernel, points and ridge.

    Attributes
    ----------
    regularizer : {"norm", "identity"}
    is_relative : bool
        Whether ridges are fractions of a variance, (F4).
    n_components : int or None
        Directions to keep; None is one less than there are classes.
    one_vs_rest : bool
        Whether each of more than two classes has a discriminant against all others.
    threshold : str
        One of `THRESHOLDS`.
    sparsity : int, float or None
        Largest number of nonzero coefficients per discriminant, or the penalty λ of (F7).
    invariances : TangentCovariance or None
    invariance_weight : float
    max_memory : int, str or None
    """

    regularizer: str = "norm"
    is_relative: bool = True
    n_components: int | None = None
    one_vs_rest: bool = False
    threshold: str = "gaussian"
    sparsity: float | None = None
    invariances: TangentCovariance | None = None
    invariance_weight: float = 1.0
    max_memory: int | str | None = None

    @property
    def solves_by_gram(self) -> bool:
        """Whether discriminants on all points have the short form of `GramFisher`."""
        return self.regularizer == "norm" and self.sparsity is None and self.invariances is None

    def check(self, who: str, n_classes: int) -> None:
        """Refuse a sparsity of zero, and thresholds and sparsity where more than two classes share directions."""
        if isinstance(self.sparsity, Integral) and self.sparsity == 0:
            raise ValueError(
                f"{who} with sparsity=0 has no coefficients. Give a number of them from 1 on, or a float, which is a "
                "penalty."
            )
        if n_classes == 2 or self.one_vs_rest:
            return
        refused = {"threshold": self.threshold in NEED_VALUES, "sparsity": self.sparsity is not None}
        for name in (name for name, is_refused in refused.items() if is_refused):
            raise ValueError(
                f"{who} with {name}={getattr(self, name)!r} tells two classes apart; there are {n_classes}. Use "
                f"multiclass='one_vs_rest', or another {name}."
            )


class FisherProblem(Protocol):
    """Fisher's criterion (F1) of labelled data on some points; solved by `GramFisher` and `ScatterFisher`.

    Attributes
    ----------
    n_classes : int
    codes, weights : arrays of shape (n,), or None
        Of the rows that `values_of` is about.
    """

    n_classes: int
    codes: Array | None
    weights: Array | None

    def directions(self, ridges: Sequence[float], n_components: int | None = None) -> list[tuple[Array, Array]]:
        """Ratios (k,) and coefficients (m, k) for each ridge, largest ratio first.

        Values have the regularised scatter ℓ, the sum of weights. Where classes do not differ, one direction of zeros.
        """

    def contrasts(self, ridge: float) -> Array:
        """Coefficients (m, n_classes) of the discriminants of each class against all others, of any length."""

    def moments_of(self, coefficients: Array) -> ClassMoments:
        """Moments of the values of discriminants, by class; for coefficients of shape (…, m, k)."""

    def values_of(self, coefficients: Array) -> Array:
        """Values of discriminants at the rows, shape (n, k), for thresholds that need them."""


@dataclass(frozen=True)
class FittedDiscriminants:
    """Discriminants, the moments of their values on the training data, and the decisions made of them.

    Attributes
    ----------
    coefficients : array of shape (m, k)
    ratios : array of shape (k,) or None
        Fisher's criterion of each; None for sparse discriminants and those of single classes against the rest.
    moments : ClassMoments of the values
    rule : LinearRule
    """

    coefficients: Array
    ratios: Array | None
    moments: ClassMoments
    rule: LinearRule


def fit_discriminants(
    problem: FisherProblem, ridges: Sequence[float], options: FisherOptions
) -> list[FittedDiscriminants]:
    """Solve a Fisher problem for each of several ridges, which share products and decompositions, and fit decisions."""
    against_rest = problem.n_classes > 2 and options.one_vs_rest
    with stage("Finding discriminants", 1) as advance:
        if options.sparsity is not None:
            scatters = cast(ScatterFisher, problem)
            found = [(None, sparse_discriminants(scatters, ridge, options.sparsity)) for ridge in ridges]
        elif against_rest:
            found = [(None, problem.contrasts(ridge)) for ridge in ridges]
        else:
            found = problem.directions(ridges, options.n_components)
        advance()
    # Small arrays of all ridges are worked on in one stack, unless some ridges have fewer directions than others.
    alike = len({coefficients.shape for _, coefficients in found}) == 1
    stacks = [found] if alike else [[each] for each in found]
    fitted = []
    for stack in stacks:
        coefficients = np.stack([each for _, each in stack])
        moments = problem.moments_of(coefficients)
        if not against_rest:
            # Signs: the second of two classes has the larger values; of many, the class farthest from the mean.
            means = moments.means - moments.mean[:, None, :]
            signs = fix_signs(means) if problem.n_classes > 2 else np.where(means[:, 1] < 0, -1.0, 1.0)
            coefficients, moments = coefficients * signs[:, None, :], moments.scaled(signs)
        needed = options.threshold in NEED_VALUES
        values = [problem.values_of(each) if needed else None for each in coefficients]
        rules = rules_of(moments, options.threshold, against_rest, values, problem.codes, problem.weights)
        ratios = [each for each, _ in stack]
        fitted += [FittedDiscriminants(coefficients[j], ratios[j], moments[j], rules[j]) for j in range(len(stack))]
    return fitted


def gram_matrix(kernel: Kernel, points: Array, others: Array | None = None) -> Array:
    """Kernel values in NumPy, in double precision from the start: small ridges are below rounding errors of single."""
    if not kernel.points_are_row_numbers:
        points = in_double(points)
        others = None if others is None else in_double(others)
    values = double(Gram(kernel, points, others).dense())
    require_finite(values, kernel)
    return values


def coefficients_on(kernel: Kernel, points: Array, coefficients: Array) -> Expansion:
    """The vectors with the given coefficients, on the device of the points and in double precision.

    Coefficients of a small ridge are large and cancel; in single precision nothing would be left of the values.
    """
    points = points if kernel.points_are_row_numbers else in_double(points)
    return Expansion(kernel, points, from_numpy(coefficients, points, dtype=array_namespace(points).float64))


def values_at(expansion: Expansion, X: Array) -> Array:
    """Function values at rows that may be lazy, in NumPy."""
    in_points = lambda rows: rows if expansion.kernel.points_are_row_numbers else in_double(as_rows(rows))
    values = map_rows(lambda rows: expansion(in_points(rows)), X, rows=BLOCK) if is_lazy(X) else expansion(in_points(X))
    return to_numpy(in_memory(values)).astype(np.float64)


def double(array: Array) -> Array:
    return to_numpy(array).astype(np.float64, copy=False)
