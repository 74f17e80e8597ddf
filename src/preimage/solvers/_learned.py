"""Pre-images by a map learned from coordinates to inputs (Bakır, Weston and Schölkopf)."""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from operator import attrgetter
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, from_numpy, in_double, take_rows, to_dense, to_numpy
from preimage._engine.finite import is_finite
from preimage._engine.memory import largest_square
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters, generator
from preimage.descent import Box, PreimageResult
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel, Linear, as_kernel
from preimage.kernels._bandwidth import GAMMA
from preimage.solvers._map_choice import MapChoice, choose_map, range_with_margin, usual_range
from preimage.solvers._map_errors import LinearFit, leave_one_out_ridge, ridge_weights
from preimage.solvers._preimage import Preimage, direct_result

# Rows that a map learns from unless told otherwise: their kernel matrix has 72 MB, and its eigenvectors take seconds.
MAX_ROWS = 3000
# Entries of the weights, rows by columns: 256 MB in float64, for inputs of very many columns.
MOST_WEIGHTS = 2**25
# Rows to learn from however scarce memory is: from fewer, no map is worth having.
FEWEST_ROWS = 100
# How far answers may go beyond what a linear map leaves of training rows, as a fraction of its range, on either side.
# New rows at the edge of a curved sheet need some of it; with half the range, of 60 tables with heavy tails or curved,
# the worst had 1.35 times the error of PCA, with nothing 1.02 times.
MORE_CORRECTION = 0.1
# Rows whose coordinates tell one subspace from another, and the largest difference, relative to the largest coordinate,
# that counts as rounding in single precision. Other subspaces differ by far more.
PROBES, SAME = 3, 1e-4


class LearnedMap(Preimage):
    r"""Pre-images by kernel ridge regression from coordinates to inputs.

    Fits :math:`r(\beta) = \bar x + l(\beta, B) (L + \lambda I)^{-1} (X - \bar x)` on the coordinates B of the training
    points [1]_. One product per query, no iteration; not a minimiser of the distance in feature space. The kernel l
    lives on coordinates and is chosen with the ridge unless given, by the error at rows that are left out one at a time
    (in closed form, at the coordinates that they would have if kernel PCA had not seen them): a linear map; Gaussians
    of five widths; or a linear map with Gaussians on what it leaves,
    :math:`r(\beta) = \bar x + A\beta + l(\beta, B) (L + \lambda I)^{-1} (X - \bar x - AB)`,
    which goes on linearly, like PCA, where there are no training rows. A map is chosen only if some are better than a
    simpler one by 2.5 standard errors, and then the one whose gain less two standard errors is largest. The ridge of a
    given kernel is chosen by exact leave-one-out. Both judge reconstruction; for denoising a larger ridge is better,
    and `FixedPoint` better still.

    Answers of a chosen map stay within the range of the training rows and a margin for new rows, which is estimated
    from the tails of each column: see `lower` and `upper` of the fitted map. Maps of a given kernel have no bounds.

    ``LearnedMap(kernel=model_kernel, ridge=alpha, center=False, max_rows=None)`` is exactly the estimate of
    scikit-learn's ``KernelPCA(fit_inverse_transform=True, alpha=alpha)``: the kernel of the model, with the same
    parameters, on coordinates; the ridge added to the diagonal; no mean.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        Kernel on coordinates; "auto" chooses it, and the ridge unless that is given.
    gamma : float or rule, default="median"
        The width of a kernel given by name.
    ridge : float or None, default=None
        λ ≥ 0; None chooses.
    center : bool, default=True
        Whether the mean of the inputs is kept and only deviations from it are regressed.
    max_rows : int or None, default=3000
        Most training rows to learn from, a random sample of all of them (always the same one); None takes all. Fewer
        where their kernel matrix would not fit into the `max_memory` of the model.

    See Also
    --------
    Auto : Uses this map for reconstruction only.
    FixedPoint : Better for denoising.
    preimage.KernelPCA.inverse_transform : Uses this map unless told otherwise.
    sklearn.decomposition.KernelPCA : Its `fit_inverse_transform` is a special case.

    References
    ----------
    .. [1] G. H. Bakır, J. Weston, B. Schölkopf, "Learning to find pre-images",
       NIPS 16, 2004.

    Examples
    --------
    Rows of a circle from two components:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.solvers import LearnedMap
    >>> angles = np.linspace(0, 6, 60)
    >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> kpca = KernelPCA(2, gamma=0.1, preimage=LearnedMap()).fit(X)
    >>> bool(np.abs(kpca.inverse_transform(kpca.transform(X)) - X).max() < 0.01)
    True
    """

    learns = True
    _parameter_constraints = {
        "kernel": [str, Kernel],
        "gamma": GAMMA,
        "ridge": [Interval(Real, 0, None, closed="left"), None],
        "center": ["boolean"],
        "max_rows": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        kernel: str | Kernel = "auto",
        gamma: float | str | None = "median",
        ridge: float | None = None,
        center: bool = True,
        max_rows: int | None = MAX_ROWS,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.ridge = ridge
        self.center = center
        self.max_rows = max_rows

    def fit(self, subspace: Subspace, X: Array) -> "FittedMap":
        fitted = self.postponed(subspace, X)
        fitted.of(subspace)
        return fitted

    def postponed(self, subspace: Subspace, X: Array) -> "FittedMap":
        """The map with its training rows, learned when it is first asked."""
        check_parameters(self)
        # Points that the model keeps may be shared; other arrays may be changed by their owner.
        same = X is subspace.frame.points and training_rows(X.shape, self.max_rows).size == X.shape[0]
        return FittedMap(self, X if same else training_sample(X, self.max_rows))

    def regress(self, subspace: Subspace, rows: Array) -> "CoordinateMap":
        """The map from coordinates in `subspace` to inputs, learned from the inputs `rows`.

        On the host and in double precision, whatever the model has: weights of a small ridge cancel each other.
        """
        like = subspace.frame.coefficients
        Y, X = _plain(subspace.coordinates(rows)), _plain(to_dense(rows))
        choice = self._choose(subspace, rows, Y, X)
        constant, linear, weights = _regressed(choice, Y, X, self.center, self._chooses)
        if not (is_finite(weights) and is_finite(constant)):
            raise ValueError(
                f"LearnedMap finds no finite map from coordinates to inputs: these reach {np.abs(X).max():.3g}, and "
                "sums of them or values of its kernel overflow. Scale the data, for instance with StandardScaler."
            )
        arrays = {"coordinates": Y, "weights": weights, "mean": constant}
        if self._chooses:
            arrays["lower"], arrays["upper"] = range_with_margin(X)
        if linear is not None:
            left = X - constant - Y @ linear
            room = MORE_CORRECTION * np.ptp(left, axis=0)
            arrays |= {"linear": linear, "least": left.min(axis=0) - room, "most": left.max(axis=0) + room}
            if choice.is_limited:
                arrays["first"], arrays["last"] = usual_range(Y)
        move = lambda array: from_numpy(array, like, dtype=array_namespace(like).float64)
        moved = {name: move(array) for name, array in arrays.items()}
        return CoordinateMap(choice.kernel, ridge=choice.ridge, **moved)

    @property
    def _chooses(self) -> bool:
        """Whether the kernel of the map is chosen, and its answers are kept near the training rows."""
        return isinstance(self.kernel, str) and self.kernel == "auto"

    def _choose(self, subspace: Subspace, rows: Array, Y: np.ndarray, X: np.ndarray) -> MapChoice:
        if self._chooses:
            found = choose_map(subspace, rows, Y, X, self.center)
            return found if self.ridge is None else replace(found, ridge=float(self.ridge))
        kernel = as_kernel(self.kernel, gamma=self.gamma if isinstance(self.kernel, str) else None).resolve(Y)
        if self.ridge is not None:
            return MapChoice(kernel, float(self.ridge))
        return MapChoice(kernel, leave_one_out_ridge(kernel(Y), X - X.mean(axis=0) if self.center else X))

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        raise ValueError("LearnedMap learns from data: call `fit(subspace, X)` and use the map it returns.")


def _regressed(
    choice: MapChoice, Y: np.ndarray, X: np.ndarray, center: bool, is_chosen: bool
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Constant, linear part, if any, and weights of the kernel, of the map from Y to X."""
    mean = X.mean(axis=0) if center else np.zeros(X.shape[1])
    is_linear = is_chosen and isinstance(choice.kernel, Linear)
    if not (is_linear or choice.after_linear):
        return mean, None, ridge_weights(choice.kernel, Y, X - mean, choice.ridge)
    shift = Y.mean(axis=0) if center else np.zeros(Y.shape[1])
    fit = LinearFit(Y - shift, X - mean)
    linear = fit.map(choice.ridge if is_linear else 0.0)
    constant = mean - shift @ linear
    if is_linear:
        return constant, None, fit.weights(choice.ridge)
    return constant, linear, ridge_weights(choice.kernel, Y, X - constant - Y @ linear, choice.ridge)


@dataclass(frozen=True, eq=False)
class CoordinateMap:
    """A function from coordinates to inputs: mean + Y @ linear + kernel(Y, coordinates) @ weights, within bounds.

    Without `linear` the product with it is left out; with it, the rest is kept between `least` and `most`, nearly the
    range of what it has to add for training rows, and is that of the nearest coordinates between `first` and `last`, if
    these are given. Without `lower` and `upper` there are no bounds.
    """

    kernel: Kernel
    coordinates: Array
    weights: Array
    mean: Array
    ridge: float
    linear: Array | None = None
    first: Array | None = None
    last: Array | None = None
    least: Array | None = None
    most: Array | None = None
    lower: Array | None = None
    upper: Array | None = None

    def __call__(self, Y: Array) -> Array:
        """Inputs for the rows of Y, in its precision."""
        wide = in_double(Y)
        places = wide if self.first is None else Box(self.first, self.last).clip(wide)
        values = self._expansion(places)
        if self.linear is not None:
            values = Box(self.least, self.most).clip(values) + wide @ self.linear
        values = self.mean + values
        xp = array_namespace(values)
        if self.lower is not None and self.upper is not None:
            values = Box(self.lower, self.upper).clip(values)
        return xp.astype(values, Y.dtype, copy=False)

    @cached_property
    def _expansion(self) -> Expansion:
        """The function of the kernel, which prepares its points for few queries once."""
        return Expansion(self.kernel, self.coordinates, self.weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_expansion"}


# The subspace that a map was last found to be for, while both exist.
_known_subspaces: "WeakKeyDictionary[CoordinateMap, ReferenceType[Subspace]]" = WeakKeyDictionary()


class FittedMap(Preimage):
    """Maps from coordinates to inputs, learned from training rows: one for each number of leading components asked for.

    Each is learned when it is first needed and kept; the result depends on the settings and the rows only.

    Attributes
    ----------
    settings : LearnedMap
    rows : array of shape (n, d)
        The training inputs.
    maps : dict of int to CoordinateMap
        By the number of components.
    kernel, coordinates, weights, mean, ridge, linear, lower, upper
        Those of the map with most components: see `CoordinateMap`. Answers lie between `lower` and `upper`, arrays of
        shape (d,), or None where a kernel was given.
    """

    def __init__(self, settings: LearnedMap, rows: Array, maps: dict[int, CoordinateMap] | None = None) -> None:
        self.settings = settings
        self.rows = rows
        self.maps = {} if maps is None else maps

    def __repr__(self) -> str:
        return f"FittedMap from {self.rows.shape[0]} rows: {self.settings!r}"

    def of(self, subspace: Subspace) -> CoordinateMap:
        """The map for coordinates in `subspace`; those along the first axes of the model are kept."""
        size = len(subspace)
        if size in self.maps and self._is_for(self.maps[size], subspace):
            return self.maps[size]
        with stage("Learning a map to inputs", 1) as advance:
            found = self.settings.regress(subspace, self.rows)
            advance()
        self.maps.setdefault(size, found)
        _known_subspaces[self.maps[size]] = ref(subspace)
        return found

    def _is_for(self, known: CoordinateMap, subspace: Subspace) -> bool:
        """Whether a map was learned in these coordinates, not in those of another model of some of the rows."""
        if (last := _known_subspaces.get(known)) is not None and last() is subspace:
            return True
        if self.rows.shape[0] == 0:  # a copy that travels with the one subspace it serves
            return True
        few = self.rows[: min(PROBES, self.rows.shape[0]), :]
        Y = _plain(known.coordinates[: few.shape[0], :])
        is_same = bool(np.allclose(_plain(subspace.coordinates(few)), Y, rtol=0, atol=SAME * np.abs(Y).max()))
        if is_same:
            _known_subspaces[known] = ref(subspace)
        return is_same

    def ready(self, subspace: Subspace, *, with_start: bool) -> "FittedMap":
        return FittedMap(self.settings, self.rows[:0, :], {len(subspace): self.of(subspace)})

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        Z = self._reconstruct(subspace, Y)
        return direct_result(Z, subspace.squared_distances(Z, Y))

    def _reconstruct(self, subspace: Subspace, Y: Array) -> Array:
        # A regression may leave the inputs that a kernel is defined on, such as counts.
        Z = self.of(subspace)(Y)
        return Box.of_inputs(None, None, subspace.frame.kernel, Z).clip(Z)

    _largest = property(lambda self: self.maps[max(self.maps)])
    kernel, coordinates, weights, mean, ridge, linear, lower, upper = (
        property(attrgetter(f"_largest.{name}"))
        for name in ("kernel", "coordinates", "weights", "mean", "ridge", "linear", "lower", "upper")
    )


def training_sample(X: Array, max_rows: int | None = MAX_ROWS) -> Array:
    """A copy of the rows of X that a map learns from."""
    return as_points(take_rows(X, training_rows(X.shape, max_rows)))


def training_rows(shape: tuple[int, int], max_rows: int | None) -> np.ndarray:
    """Numbers of the rows that a map learns from: all, or a random choice in the order of the data."""
    n, d = shape
    most = n if max_rows is None else min(n, max_rows, max(MOST_WEIGHTS // d, FEWEST_ROWS))
    if max_rows is not None:
        most = min(most, max(largest_square(2), FEWEST_ROWS))  # the kernel matrix, with as much again for work on it
    # One seed, and the number of rows alone: data in memory and in chunks give the same map.
    return np.arange(n) if most == n else np.sort(generator(0).choice(n, size=most, replace=False))


def _plain(array: Array) -> np.ndarray:
    """A NumPy array in double precision."""
    return np.asarray(to_numpy(array), dtype=np.float64)
