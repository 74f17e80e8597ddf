"""How far draws of missing entries spread: as far as hidden entries are from what restores them."""

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, take_rows, to_numpy
from preimage._engine.rows import cut
from preimage._engine.typing import Array
from preimage._models.completion._conditional import (
    ConditionalMeans,
    Neighbors,
    Precision,
    block_rows,
    departures,
    members,
)
from preimage._models.completion._conditional_fit import ConditionalFit, JudgedEntries
from preimage._models.completion._start import PartialRows

# Intervals of this probability contain that fraction of hidden entries: the level at which intervals are mostly read.
LEVEL = 0.9


def fitted_spread(fit: ConditionalFit, X: Array, observed: Array) -> float:
    """The factor by which neighbours' departures are multiplied in draws, so that 90 % intervals contain 90 %.

    Parameters
    ----------
    fit : ConditionalFit
    X : array of shape (n, d)
        The training rows, scaled; missing entries are not read.
    observed : boolean array of shape (n, d)

    Returns
    -------
    float
        One where nothing was hidden.
    """
    judged, model = fit.judged, fit.model
    if not judged.numbers.size:
        return 1.0
    seen = to_numpy(observed)[judged.numbers] & ~judged.hidden
    moved, chances = _departures(model, take_rows(X, judged.numbers), seen, judged)
    reach = _reaches(np.abs(moved), chances)
    # Draws of categories do not spread: they have probabilities.
    is_number = judged.places[1] < (X.shape[1] if model.indicators is None else model.indicators.n_numbers)
    varying = (reach > 0) & is_number
    if not varying.any():
        return 1.0
    known = from_numpy(seen, X, dtype=array_namespace(X).bool)
    restored = to_numpy(model.fill(take_rows(X, judged.numbers), known, own=judged.numbers))[judged.hidden]
    # Of incomplete rows, hidden entries were first restored from rows that were filled in a rough way; the rows as they
    # are filled in the end have seen them. Errors of the first kind are too large, and of the second too small.
    errors = (np.abs(judged.truth - fit.restored()) + np.abs(judged.truth - restored)) / 2
    return float(np.quantile(errors[varying] / reach[varying], LEVEL))


def _reaches(sizes: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """The size of departures that a draw of each entry exceeds with the rest of the probability."""
    order = np.argsort(sizes, axis=1)
    sums = np.cumsum(np.take_along_axis(chances, order, axis=1), axis=1)
    last = np.minimum((sums < LEVEL).sum(axis=1), sizes.shape[1] - 1)
    return np.take_along_axis(sizes, np.take_along_axis(order, last[:, None], axis=1), axis=1)[:, 0]


def _departures(
    model: ConditionalMeans, X: Array, seen: np.ndarray, judged: JudgedEntries
) -> tuple[np.ndarray, np.ndarray]:
    """What each neighbour would add to each hidden entry in a draw, and its chance; both of shape (m, k)."""
    xp = array_namespace(X)
    choices, precisions = members(X.shape[1]), Precision.of(model.trend)
    step = block_rows(model.points, from_numpy(seen, X, dtype=xp.bool))
    found, weights = [], []
    for part in cut(judged.numbers.size, step):
        known = from_numpy(seen[part], X, dtype=xp.bool)
        rows = PartialRows.of(X[part, :], known)
        neighbors = Neighbors.of(model.points, rows, judged.numbers[part], model.relevance)
        chances = to_numpy(neighbors.chances())
        turns = np.eye(chances.shape[1])[:, None, :] - chances[None]
        moved = to_numpy(departures(choices, model.weights, neighbors, known, precisions, turns))
        found.append(moved[:, judged.hidden[part]].T)
        weights.append(chances[np.nonzero(judged.hidden[part])[0]])
    return np.concatenate(found), np.concatenate(weights)
