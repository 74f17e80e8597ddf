"""Known entries that are hidden, so that fillings can be compared with them."""

import numpy as np

# Fraction of the entries that is hidden where no row shows what is usually missing.
FRACTION = 0.3


def hidden_entries(
    observed: np.ndarray,
    rng: np.random.Generator,
    fraction: float | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Known entries to hide: those that another row misses, or a fraction of them at random.

    What is missing together in real rows is then hidden together. Every row keeps at least one known entry, and rows
    with fewer than two have nothing hidden.

    Parameters
    ----------
    observed : boolean array of shape (n, d)
    rng : numpy.random.Generator
    fraction : float, optional
        Of the known entries of each row, hidden at random. By default each row loses what some other, randomly chosen
        incomplete row misses; 0.3 where all rows are complete, or where the other row misses nothing more.
    groups : integer array of shape (d,), optional
        The number of the entry that each column belongs to, in ascending order: columns of one entry, such as the
        indicators of a category, are hidden together.

    Returns
    -------
    boolean array of shape (n, d)
    """
    if groups is not None:
        first = np.flatnonzero(np.diff(groups, prepend=-1))
        return hidden_entries(observed[:, first], rng, fraction)[:, groups]
    n, d = observed.shape
    order = rng.random((n, d))
    hidden = observed & (order < (FRACTION if fraction is None else fraction))
    incomplete = np.flatnonzero(~observed.all(axis=1) & observed.any(axis=1))
    if fraction is None and incomplete.size:
        borrowed = observed & ~observed[rng.choice(incomplete, size=n)]
        hidden = np.where(borrowed.any(axis=1)[:, None], borrowed, hidden)
    # One known entry of each row stays, and one is hidden where there are two: the last and first in a random order.
    place = np.where(observed, order, np.inf)
    rows = np.arange(n)
    hidden[rows, place.argmin(axis=1)] |= ~hidden.any(axis=1)
    hidden[rows, np.where(observed, order, -np.inf).argmax(axis=1)] &= (observed & ~hidden).any(axis=1)
    return hidden & observed & (observed.sum(axis=1) > 1)[:, None]
