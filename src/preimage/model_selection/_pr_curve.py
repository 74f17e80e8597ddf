"""Prediction against reproducibility, traced over a parameter."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.model_selection._split_half import SplitHalf, distance_to_perfect
from preimage.model_selection._split_half_passes import Candidates, Design, resampled

# Ridges as multiples of the mean variance of a direction of the data, two per decade: at either end the models hardly
# change any more, being nearly unpenalised or nearly proportional to the difference of class means.
RIDGES = tuple(10.0 ** (np.arange(-8, 9) / 2))


@dataclass(frozen=True)
class SplitHalfCurve:
    """Prediction and reproducibility for each value of a parameter.

    Attributes
    ----------
    param_name : str
    param_values : array of shape (m,)
    prediction, reproducibility : arrays of shape (n_splits, m)
        p and r, see `SplitHalf`.
    map_reproducibility : array of shape (n_splits, m, n_maps)
        NaN for maps that other values of the parameter have and this one has not.
    maps : array of shape (m, n_maps, d)
        rSPI(Z), mean over splits; NaN likewise.
    groups, halves, shared_basis
        As in `SplitHalf`.
    """

    param_name: str
    param_values: Array
    prediction: Array = field(repr=False)
    reproducibility: Array = field(repr=False)
    map_reproducibility: Array = field(repr=False)
    maps: Array = field(repr=False)
    groups: Array = field(repr=False)
    halves: Array = field(repr=False)
    shared_basis: bool = False

    @property
    def distance(self) -> Array:
        """Distance of (p, r) to (1, 1), shape (n_splits, m)."""
        return distance_to_perfect(self.prediction, self.reproducibility)

    @property
    def nearest_distance(self) -> Array:
        """Distance of the nearest point of each split's curve to (1, 1), shape (n_splits,).

        Its mean is the figure of merit of the papers. The value of the parameter is chosen by what it is judged by: the
        distance is somewhat too small, for all pipelines alike.
        """
        return self.distance.min(axis=1)

    @property
    def nearest_points(self) -> Array:
        """(p, r) of the nearest point of each split's curve to (1, 1), shape (n_splits, 2)."""
        rows, columns = np.arange(len(self.distance)), self.distance.argmin(axis=1)
        return np.column_stack([self.prediction[rows, columns], self.reproducibility[rows, columns]])

    @property
    def best_index(self) -> int:
        """The value of the parameter with the smallest mean distance, by its number."""
        return int(self.distance.mean(axis=0).argmin())

    @property
    def best(self) -> SplitHalf:
        """The `SplitHalf` of that value."""
        return self.at(self.best_index)

    def at(self, index: int) -> SplitHalf:
        """The `SplitHalf` of the value with this number."""
        return SplitHalf(
            self.prediction[:, index],
            self.reproducibility[:, index],
            self.map_reproducibility[:, index],
            self.maps[index],
            self.groups,
            self.halves,
            self.shared_basis,
        )

    def __str__(self) -> str:
        value = self.param_values[self.best_index]
        value = f"{value:.4g}" if isinstance(value, Real) else value
        return f"{self.param_name} = {value}: {self.best}; nearest points {self.nearest_distance.mean():.3f}"


@gives_finite_numbers("maps", "map_reproducibility")
def pr_curve(
    estimator: Any,
    X: Rows,
    y: Targets,
    groups: Targets,
    param_name: str = "alpha",
    param_range: Sequence[Any] | None = None,
    *,
    denoiser: Any = None,
    shared_basis: bool = False,
    n_splits: int | str = 20,
    maps: Any = "auto",
    reference: Array | None = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    random_state: Seed = 0,
) -> SplitHalfCurve:
    """Prediction and reproducibility by split halves, for each value of a parameter such as a penalty.

    `PenalizedDiscriminant` needs one singular value decomposition per half for all of its ridges; other estimators are
    fitted anew for each value.

    Parameters
    ----------
    estimator, X, y, groups
        As in `split_half`.
    param_name : str, default="alpha"
        Also of a part: "svc__C".
    param_range : sequence, optional
        Its values; for the ridge of `PenalizedDiscriminant` by default 17 from 1e-4 to 1e4 times the mean variance of
        the data along their principal axes.
    denoiser, shared_basis, n_splits, maps, reference, scoring, n_jobs, verbose, random_state
        As in `split_half`. A denoiser is fitted once per half, for all values.

    Returns
    -------
    SplitHalfCurve
        Prediction and reproducibility of every split and value; its attributes are listed below.

    See Also
    --------
    split_half : One point of the curve.
    preimage.plotting.SplitHalfDisplay : Draws curves.
    preimage.PenalizedDiscriminant.fit_path : All ridges at the price of one.

    Examples
    --------
    >>> from preimage import PenalizedDiscriminant
    >>> from preimage.neuro import make_scans
    >>> from preimage.model_selection import pr_curve
    >>> scans = make_scans(n_runs=6, n_times=30, size=12, snr=0.7, random_state=0)
    >>> curve = pr_curve(PenalizedDiscriminant(), scans.X, scans.y, scans.run)
    >>> curve.prediction.shape, bool(curve.nearest_distance.mean() <= curve.best.distance.mean())
    ((10, 17), True)
    """
    design = Design.of(
        estimator,
        X,
        y,
        groups,
        denoiser=denoiser,
        shared_basis=shared_basis,
        n_splits=n_splits,
        maps=maps,
        reference=reference,
        scoring=scoring,
        random_state=random_state,
    )
    values = _values(estimator, param_name, param_range, design.X)
    candidates = Candidates(estimator, param_name, values)
    scores = resampled(design, candidates, [design.y], n_jobs=n_jobs, verbose=verbose, with_maps=True)
    p, r, by_map, z = scores.stacked()
    assert z is not None  # maps were asked for
    return SplitHalfCurve(
        param_name, _as_array(values), p[0], r[0], by_map[0], z[0], design.groups, design.halves, design.is_shared
    )


def _as_array(values: list[Any]) -> Array:
    """An array of numbers or of words; anything else as an array of objects."""
    if all(isinstance(value, Real) for value in values) or all(isinstance(value, str) for value in values):
        return np.asarray(values)
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found


def _values(estimator: Any, param_name: str, param_range: Sequence[Any] | None, X: Array) -> list[Any]:
    if param_range is not None:
        values = list(param_range)
        if not values:
            raise ValueError("pr_curve needs at least one value in `param_range`.")
        return values
    if not isinstance(estimator, PenalizedDiscriminant) or param_name != "alpha":
        raise ValueError(
            f"pr_curve needs `param_range`, the values of {param_name!r} of {type(estimator).__name__}; it has "
            "defaults for the alpha of PenalizedDiscriminant only."
        )
    variance = float(X.var(axis=0).sum()) / max(1, min(X.shape[0] - 1, X.shape[1]))
    return [ridge * (variance or 1.0) for ridge in RIDGES]
