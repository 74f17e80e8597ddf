"""Pre-images among given rows: the one whose image is nearest, and steps from it for rows that have neighbours."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from preimage._engine.arrays import is_objects, take_rows, to_dense, to_numpy
from preimage._engine.objects import as_objects, column_of
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import PreimageResult, Reason
from preimage.feature_space import Subspace
from preimage.solvers._learned import training_rows
from preimage.solvers._nearest_image import nearest_among
from preimage.solvers._preimage import Preimage

# Rows that are compared with each target unless told otherwise, as many as a learned map learns from.
MAX_ROWS = 3000
# Steps among variants must lower the squared distance by more than this fraction of it and of k(z, z): what is less is
# rounding, and the search could go in circles.
PROGRESS = 1e-12


class NearestRow(Preimage):
    r"""Pre-images among rows that are known: for any kernel, and the solver of kernels on objects.

    Finds, for each target Ψ, the candidate z with the smallest :math:`\rho(z) = \|\varphi(z) - \Psi\|^2` (P1). The
    candidates are training rows, or rows of your own. Results are always inputs that exist, such as
    words, and never averages.

    With `variants`, a function that makes a list of similar objects of one (all texts with one letter changed, say),
    the search goes on from the best candidate to the best of its variants as long as these are nearer.

    Parameters
    ----------
    candidates : sequence of rows or None, default=None
        Rows to choose from; None takes the training rows. On streams these are landmarks.
    variants : callable or None, default=None
        ``variants(z)`` → list of inputs like z, for kernels on objects. May be empty.
    max_rows : int or None, default=3000
        Most training rows that are compared, a random sample of all of them (always the same one); None takes all.
    max_iter : int, default=100
        Most steps among variants.

    See Also
    --------
    Auto : Uses this solver for kernels on objects.
    Parametrized : Inputs of a family with real parameters.
    LearnedMap : A regression, for inputs of numbers.

    Examples
    --------
    A word near others in feature space becomes one of them; with variants one that is not in the list:

    >>> from preimage import KernelPCA
    >>> from preimage.kernels import Strings
    >>> from preimage.solvers import NearestRow
    >>> words = ["banana", "bandana", "cabana", "kiwi", "kiwis", "lemon", "melon"]
    >>> model = KernelPCA(3, kernel=Strings.blended(2), preimage=NearestRow()).fit(words)
    >>> model.denoise(["bananas", "melons"]).tolist()
    ['banana', 'melon']
    >>> shorter = NearestRow(["bananas"], variants=lambda word: [word[1:], word[:-1]])
    >>> KernelPCA(3, kernel=Strings.blended(2), preimage=shorter).fit(words).denoise(["anana"]).tolist()
    ['banana']
    """

    learns = True
    takes_objects = True
    _parameter_constraints = {
        "candidates": ["array-like", "sparse matrix", object, None],
        "variants": [callable, None],
        "max_rows": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        candidates: Sequence[Any] | None = None,
        variants: Callable[[Any], Sequence[Any]] | None = None,
        max_rows: int | None = MAX_ROWS,
        max_iter: int = 100,
    ) -> None:
        self.candidates = candidates
        self.variants = variants
        self.max_rows = max_rows
        self.max_iter = max_iter

    def fit(self, subspace: Subspace, X: Array) -> "FittedNearestRow":
        check_parameters(self)
        kernel, points = subspace.frame.kernel, subspace.frame.points
        if self.variants is not None and not is_objects(points):
            raise ValueError(
                f"NearestRow has variants, which are for kernels on objects; rows of numbers have gradients or a "
                f"family: see Gradient and Parametrized. The kernel is {kernel!r}."
            )
        if self.candidates is None:
            numbers = training_rows(X.shape, self.max_rows)
            is_shared = X is points and numbers.size == X.shape[0]
            return FittedNearestRow(self, X if is_shared else take_rows(X, numbers))
        rows = kernel.rows(self.candidates)
        if rows.shape[0] == 0 or rows.shape[1:] != points.shape[1:] or is_objects(rows) != is_objects(points):
            raise ValueError(
                f"NearestRow needs candidates like the training rows, one at least; got shape {tuple(rows.shape)} for "
                f"training rows of shape {tuple(points.shape)}."
            )
        return FittedNearestRow(self, rows)

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        raise ValueError("NearestRow chooses among rows: call `fit(subspace, X)` and use the solver it returns.")


class FittedNearestRow(Preimage):
    """The candidates of one model.

    Attributes
    ----------
    settings : NearestRow
    rows : array of shape (m, d)
        The candidates.
    """

    takes_objects = True

    def __init__(self, settings: NearestRow, rows: Array) -> None:
        self.settings = settings
        self.rows = rows

    def __repr__(self) -> str:
        return f"FittedNearestRow among {self.rows.shape[0]} rows: {self.settings!r}"

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        if not isinstance(self.settings, NearestRow) or getattr(self.rows, "ndim", 0) != 2 or not self.rows.shape[0]:
            raise ValueError("FittedNearestRow needs settings, and candidates as rows of an array.")

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        if self.rows is subspace.frame.points:
            known, residuals = subspace.of_points
        else:
            known, residuals = subspace.coordinates(self.rows), subspace.residuals(self.rows)
        points = to_dense(take_rows(self.rows, nearest_among(subspace, known, residuals, Y)))
        q, objective = Y.shape[0], subspace.squared_distances(points, Y)
        reasons = Reason.array(q, Reason.NEAREST)
        found = PreimageResult(points, objective, np.zeros(q, int), np.ones(q, bool), reasons)
        return found if self.settings.variants is None else self._stepped(subspace, Y, found)

    def _stepped(self, subspace: Subspace, Y: Array, found: PreimageResult) -> PreimageResult:
        """The results that steps among variants lead to, one target after another."""
        with stage("Finding pre-images", Y.shape[0]) as advance:
            results = []
            for number in range(Y.shape[0]):
                results.append(self._walk(subspace, Y[number : number + 1, :], found.take(np.array([number]))))
                advance()
        return PreimageResult.join(results)

    def _walk(self, subspace: Subspace, y: Array, here: PreimageResult) -> PreimageResult:
        kernel, variants = subspace.frame.kernel, self.settings.variants
        assert variants is not None
        for step in range(self.settings.max_iter):
            made = kernel.checked_objects(as_objects("NearestRow.variants", list(variants(column_of(here.points)[0]))))
            if not made.shape[0]:
                break
            # ‖φ(z) − Ψ‖² of a target in the subspace, from coordinates: one pass for all variants.
            distances = to_numpy(subspace.squared_distances(made, np.repeat(to_numpy(y), made.shape[0], axis=0)))
            best, now = int(np.argmin(distances)), float(here.objective[0])
            noise = PROGRESS * (abs(now) + float(to_numpy(kernel.diagonal(here.points))[0]))
            if not distances[best] < now - noise:
                break
            here = replace(
                here,
                points=made[best : best + 1, :],
                objective=distances[best : best + 1],
                n_iter=np.array([step + 1]),
            )
        else:
            return replace(here, converged=np.zeros(1, bool), reason=Reason.array(1, Reason.ITERATION_LIMIT))
        return here
