"""Splits of resampling units into halves."""

from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb

import numpy as np

from preimage._engine.typing import Array

# Up to this number of distinct halves all are listed and drawn from, which takes a moment; beyond, random draws rarely
# coincide, so that rejecting repeated ones is cheap.
FEW_HALVES = 20_000
# Most halves for n_splits="all": models of a million splits take days.
MOST_HALVES = 1_000_000
# Draws per wanted split before giving up: enough where one draw in a hundred has all classes on both sides.
TRIES_PER_SPLIT = 200


def half_splits(
    groups: Array, y: Array | None, n_splits: int | str, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Distinct splits of the groups into halves, in each of which all classes occur.

    Parameters
    ----------
    groups : array of shape (n,)
        Run, subject or other unit of each row; units stay whole.
    y : array of shape (n,) or None
        Labels; None accepts any half.
    n_splits : int or "all"
        Where there are no more distinct splits than this, all of them.
    rng : NumPy generator

    Returns
    -------
    names : array of shape (m,)
        The distinct groups.
    codes : integer array of shape (n,)
        Number of the group of each row.
    halves : boolean array of shape (n_splits, m)
        Which groups are in the first half; of an odd number, the smaller one.
    """
    names, codes = np.unique(groups, return_inverse=True)
    if names.size < 2:
        raise ValueError(
            f"Split halves need two groups or more, such as runs or subjects; got {names.size}. For samples that are "
            "independent of each other pass groups=np.arange(len(X))."
        )
    is_valid = _all_classes_on_both_sides(codes, y, names.size)
    total = _count(names.size)
    if n_splits == "all" and total > MOST_HALVES:
        raise ValueError(f"{names.size} groups have {total:.3g} splits into halves, too many for all; give a number.")
    # Few splits are listed and drawn from; among many, drawing until enough distinct ones are found is faster.
    if total <= FEW_HALVES or not isinstance(n_splits, int):
        halves = [half for half in _all_halves(names.size) if is_valid(half)]
        if isinstance(n_splits, int) and len(halves) > n_splits:
            halves = [halves[i] for i in np.sort(rng.choice(len(halves), n_splits, replace=False))]
    else:
        halves = _drawn(names.size, n_splits, is_valid, rng)
    if not halves:
        raise ValueError(
            f"No split of the {names.size} groups has all classes in both halves: each class must occur in two groups "
            "at least."
        )
    return names, codes, np.array(halves)


def _count(m: int) -> int:
    return comb(m, m // 2) // (2 if m % 2 == 0 else 1)


def _all_halves(m: int) -> Iterator[Array]:
    for chosen in combinations(range(m), m // 2):
        if m % 2 == 0 and chosen[0] != 0:  # complements of halves that came before
            return
        yield _membership(chosen, m)


def _drawn(m: int, n_splits: int, is_valid: Callable[[Array], bool], rng: np.random.Generator) -> list[Array]:
    found: dict[bytes, Array] = {}
    for _ in range(TRIES_PER_SPLIT * n_splits):
        half = _membership(rng.permutation(m)[: m // 2], m)
        if m % 2 == 0 and not half[0]:
            half = ~half
        if is_valid(half):
            found.setdefault(half.tobytes(), half)
        if len(found) == n_splits:
            break
    return list(found.values())


def _membership(chosen: Array, m: int) -> Array:
    half = np.zeros(m, dtype=bool)
    half[np.asarray(chosen)] = True
    return half


def _all_classes_on_both_sides(codes: Array, y: Array | None, m: int) -> Callable[[Array], bool]:
    if y is None:
        return lambda half: True
    classes, labels = np.unique(y, return_inverse=True)
    counts = np.zeros((m, classes.size), dtype=int)
    np.add.at(counts, (codes, labels), 1)
    return lambda half: bool(counts[half].any(axis=0).all() and counts[~half].any(axis=0).all())
