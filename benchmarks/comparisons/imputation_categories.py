"""Which imputer restores missing categories best: ours, the most frequent one, nearest neighbours, or trees?

Question: the fraction of categories that are filled in wrongly, of `KernelImputer` with `categorical_features`, against
the most frequent category, `KNNImputer` on indicators (one column per category), and `IterativeImputer` with
`ExtraTreesRegressor`, both on codes, of which the nearest one is taken, and on indicators.

Set-up: three data sets on which the method was chosen (development), and five others, with 10 and 30 % of the entries
missing at random, and a third of the columns, side by side. Training rows are complete, or miss entries by the same
pattern (30 %). The others choose their parameters on validation rows with the same pattern, and are then judged on
test rows; ours see training rows only. Columns of numbers are standardised for everybody, and are missing too, but only
categories are judged. Indicators are divided by √2, so that two categories differ as much as two numbers of a column do
on average.

    OMP_NUM_THREADS=1 python benchmarks/comparisons/imputation_categories.py --jobs 2 --cells FILE --record

Cells that are in the file already are not computed again. A report has the cells that all methods were run on. Of the
splice sites the twenty bases around the junction are used.

Observe: in how many cells ours are right more often than all others, and by how much they are not.
"""

import sys
from collections.abc import Callable, Iterator
from copy import copy
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

sys.path.insert(0, str(Path(__file__).parents[1]))
from _cells import Cells, add_options, processor_time
from _measure import record
from _reports import option_parser, origin, publish, table
from data import load_abalone, load_ida

from preimage import KernelImputer

NEIGHBORS = (1, 3, 5, 10, 20, 30)
LEAVES = (1, 5)  # rows in a leaf
ROUNDS = (1, 4)  # of what complete rows have taught
N_TREES = 30
OURS = "KernelImputer"
CELLS = (("complete", "10 %"), ("complete", "30 %"), ("complete", "blocks"), ("incomplete", "30 %"))
Filled = Callable[[np.ndarray], np.ndarray]


class Categories(NamedTuple):
    """A table: where rows come from, which columns are categories, and how many rows train, tune and test."""

    rows: Callable[[np.random.Generator], np.ndarray]
    most_codes: int  # columns of at most so many distinct numbers are categories
    sizes: tuple[int, int, int]
    n_draws: int = 2
    is_development: bool = False


def sheet(rng: np.random.Generator) -> np.ndarray:
    """Four numbers and four categories that follow from a point of a bent sheet, with noise."""
    angle, height = rng.uniform(0, 5, 700), rng.uniform(-1, 1, 700)
    numbers = np.column_stack([np.cos(angle), np.sin(angle), angle * height, height]) + 0.1 * rng.normal(size=(700, 4))
    codes = np.column_stack([np.cos(angle), np.sin(2 * angle), height, angle + height]) + 0.1 * rng.normal(
        size=(700, 4)
    )
    edges = ((-0.5, 0.5), (0.0,), (-0.6, -0.1, 0.5), (1.0, 2.0, 3.0, 4.0))
    coded = [np.array([4, 0, 2, 1, 3])[np.digitize(column, edge)] for column, edge in zip(codes.T, edges, strict=True)]
    return np.column_stack([numbers, *coded])


def abalone() -> np.ndarray:
    """Seven measurements, and the sex."""
    X = load_abalone().X.astype(float)
    return np.column_stack([X[:, 3:], X[:, :3].argmax(axis=1)])


def ida(name: str) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: load_ida(name).X.astype(float)


SETS = {
    "bent sheet": Categories(sheet, 5, (250, 80, 250), is_development=True),
    "solar flares": Categories(ida("flare_solar"), 8, (300, 100, 400), is_development=True),
    "heart": Categories(ida("heart"), 4, (150, 40, 80), 3, is_development=True),
    "titanic": Categories(ida("titanic"), 4, (300, 100, 600)),
    "german": Categories(ida("german"), 10, (400, 100, 300)),
    "splice": Categories(lambda rng: load_ida("splice").X[:, 20:40].astype(float), 4, (400, 100, 300), 1),
    "breast cancer": Categories(ida("breast_cancer"), 11, (150, 40, 87), 3),
    "abalone": Categories(lambda rng: abalone(), 3, (400, 300, 2000), 3),
}


class Task(NamedTuple):
    """Rows of one draw with entries taken out; `codes` has the categories of each column, None for numbers."""

    train: np.ndarray
    tune: np.ndarray
    test: np.ndarray
    masks: tuple[np.ndarray, np.ndarray]
    codes: list[np.ndarray | None]

    def errors(self, fill: Filled, on_test: bool) -> float:
        """The fraction of missing categories that are filled in wrongly."""
        rows, mask = (self.test, self.masks[1]) if on_test else (self.tune, self.masks[0])
        wrong = fill(np.where(mask, np.nan, rows)) != rows
        judged = mask & np.array([codes is not None for codes in self.codes])
        return float(np.mean(wrong[judged]))


def task(name: str, training: str, pattern: str, seed: int) -> Task:
    data, rng = SETS[name], np.random.default_rng(seed)
    X = data.rows(rng)
    X = X[rng.permutation(len(X))]
    codes = [found if (found := np.unique(column)).size <= data.most_codes else None for column in X.T]
    numeric = [codes_of is None for codes_of in codes]
    train, tune, test, _ = np.split(X, np.cumsum(data.sizes))
    mean, deviation = train[:, numeric].mean(axis=0), train[:, numeric].std(axis=0)
    for part in (train, tune, test):
        part[:, numeric] = (part[:, numeric] - mean) / np.where(deviation > 0, deviation, 1)
    for column, codes_of in enumerate(codes):  # what validation and test rows have must have been seen
        for part in (tune, test) if codes_of is not None else ():
            unseen = ~np.isin(part[:, column], train[:, column])
            part[unseen, column] = train[0, column]
    masks = tuple(missing(part.shape, pattern, rng) for part in (tune, test))
    if training == "incomplete":
        mask = missing(train.shape, pattern, rng)
        for column, codes_of in enumerate(codes):  # and in rows where it is known
            for code in codes_of if codes_of is not None else ():
                mask[np.flatnonzero(train[:, column] == code)[:1], column] = False
        train = np.where(mask, np.nan, train)
    return Task(train, tune, test, masks, codes)


def missing(shape: tuple[int, int], pattern: str, rng: np.random.Generator) -> np.ndarray:
    """Which entries are taken out; every row and every column keeps one."""
    q, d = shape
    if pattern == "blocks":
        mask = (np.arange(d) - rng.integers(0, d, size=q)[:, None]) % d < max(1, d // 3)
    else:
        mask = rng.random((q, d)) < float(pattern.removesuffix(" %")) / 100
    mask[mask.all(axis=1), 0] = False
    mask[0, mask.all(axis=0)] = False
    return mask


# Each function below yields the candidates of a method, fitted on the training rows.


def most_frequent(given: Task) -> Iterator[tuple[Any, Filled]]:
    yield None, SimpleImputer(strategy="most_frequent").fit(given.train).transform


def neighbors(given: Task) -> Iterator[tuple[Any, Filled]]:
    train = indicators(given.train, given.codes)
    for count in NEIGHBORS:
        for weights in ("uniform", "distance"):
            model = KNNImputer(n_neighbors=count, weights=weights, keep_empty_features=True).fit(train)
            yield (count, weights), on_indicators(model.transform, given.codes)


def trees_on_codes(given: Task) -> Iterator[tuple[Any, Filled]]:
    for choice, model in forests(given.train):
        yield choice, lambda rows, model=model: nearest_codes(model.transform(rows), given.codes)


def trees_on_indicators(given: Task) -> Iterator[tuple[Any, Filled]]:
    for choice, model in forests(indicators(given.train, given.codes)):
        yield choice, on_indicators(model.transform, given.codes)


def forests(train: np.ndarray) -> Iterator[tuple[Any, Any]]:
    nearest = 40 if train.shape[1] > 100 else None
    is_complete = not np.isnan(train).any()
    for leaf in LEAVES:
        forest = ExtraTreesRegressor(N_TREES, min_samples_leaf=leaf, max_features=0.5, random_state=0)
        model = IterativeImputer(
            forest,
            max_iter=1 if is_complete else 3,
            n_nearest_features=nearest,
            random_state=0,
            keep_empty_features=True,
        )
        model.fit(train)
        # On complete rows every round would fit the same regressions: the first one is repeated, as often as is best.
        for repeats in ROUNDS if is_complete else (1,):
            repeated = copy(model)
            repeated.imputation_sequence_ = model.imputation_sequence_ * repeats
            repeated.n_iter_ = model.n_iter_ * repeats
            yield (leaf, repeats), repeated


def ours(given: Task) -> Iterator[tuple[Any, Filled]]:
    columns = [column for column, codes in enumerate(given.codes) if codes is not None]
    yield "default", KernelImputer(categorical_features=columns).fit(given.train).transform


METHODS: dict[str, Callable[[Task], Iterator[tuple[Any, Filled]]]] = {
    "most frequent": most_frequent,
    "KNNImputer": neighbors,
    "trees on codes": trees_on_codes,
    "trees on indicators": trees_on_indicators,
    OURS: ours,
}


def indicators(rows: np.ndarray, codes: list[np.ndarray | None]) -> np.ndarray:
    """Rows with a column per category, divided by √2, all of them missing where the category is."""
    parts = []
    for column, codes_of in zip(rows.T, codes, strict=True):
        if codes_of is None:
            parts.append(column[:, None])
        else:
            found = (column[:, None] == codes_of) / np.sqrt(2)
            parts.append(np.where(np.isnan(column)[:, None], np.nan, found))
    return np.hstack(parts)


def on_indicators(fill: Filled, codes: list[np.ndarray | None]) -> Filled:
    """Rows in and out, filled by a function of indicators; the largest one says which category it is."""

    def filled(rows: np.ndarray) -> np.ndarray:
        found, columns, start = fill(indicators(rows, codes)), [], 0
        for codes_of in codes:
            size = 1 if codes_of is None else codes_of.size
            part = found[:, start : start + size]
            columns.append(part[:, 0] if codes_of is None else codes_of[part.argmax(axis=1)])
            start += size
        return np.column_stack(columns)

    return filled


def nearest_codes(rows: np.ndarray, codes: list[np.ndarray | None]) -> np.ndarray:
    columns = [
        column if codes_of is None else codes_of[np.abs(column[:, None] - codes_of).argmin(axis=1)]
        for column, codes_of in zip(rows.T, codes, strict=True)
    ]
    return np.column_stack(columns)


def test_error(method: str, given: Task) -> float:
    """Of the candidate with the smallest error on validation rows."""
    best, error = None, np.inf
    for _, fill in METHODS[method](given):
        found = given.errors(fill, on_test=False)
        if best is None or found < error:
            best, error = fill, found
    return given.errors(best, on_test=True)


def test_error_of_draw(name: str, training: str, pattern: str, method: str, seed: int) -> float:
    return test_error(method, task(name, training, pattern, seed))


def main() -> None:
    parser = option_parser(__doc__, "record", "output")
    add_options(parser)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--report", action="store_true", help="compute nothing, report the cells that are known")
    options = parser.parse_args()
    cells = Cells(options.cells)
    tasks = [
        (name, training, pattern, method, seed)
        for name, (training, pattern), method in product(options.sets, CELLS, options.methods)
        for seed in range(SETS[name].n_draws)
    ]
    if not options.report:
        cells.compute({" | ".join(map(str, each)): each for each in tasks}, test_error_of_draw, options.jobs)
    errors = mean_errors(cells)
    machine, taken = cells.machine(), processor_time(cells.seconds())
    publish(report_lines(errors, origin(machine, taken)), options.output)
    if options.record:
        values = {" | ".join(key): error for key, error in errors.items()} | summary(errors)
        settings = {"sets": {name: data.sizes for name, data in SETS.items()}}
        record("imputation_categories", values, settings, machine=machine, taken=taken)


def mean_errors(cells: Cells) -> dict[tuple[str, str, str, str], float]:
    """{(set, training, pattern, method): mean error over draws}, of those that have all of their draws."""
    found = {}
    for name, cell, method in product(SETS, CELLS, METHODS):
        keys = [" | ".join((name, *cell, method, str(seed))) for seed in range(SETS[name].n_draws)]
        if all(key in cells for key in keys):
            found[name, *cell, method] = float(np.mean([cells[key] for key in keys]))
    return found


def known_cells(errors: dict) -> list[tuple[str, str, str]]:
    """Set, training rows and pattern of the cells that have the errors of all methods."""
    cells = [(name, *cell) for name in SETS for cell in CELLS]
    return [cell for cell in cells if all((*cell, method) in errors for method in METHODS)]


def summary(errors: dict, is_development: bool = False) -> dict[str, float]:
    """In how many cells ours are best, and how their errors compare with the best of the others."""
    cells = {cell for cell in known_cells(errors) if SETS[cell[0]].is_development == is_development}
    best = np.array([min(errors[*cell, method] for method in METHODS if method != OURS) for cell in sorted(cells)])
    mine = np.array([errors[*cell, OURS] for cell in sorted(cells)])
    if not mine.size:
        return {}
    ratios = mine / best
    return {
        "cells": float(ratios.size),
        "cells won": float(np.sum(ratios < 1)),
        "mean ratio": float(np.exp(np.mean(np.log(ratios)))),
        "largest ratio": float(ratios.max()),
    }


def report_lines(errors: dict, made_by: str) -> Iterator[str]:
    names = list(dict.fromkeys(cell[0] for cell in known_cells(errors)))
    yield "# Missing categories, against other imputers\n"
    yield made_by
    yield (
        "Fractions of missing categories that are filled in wrongly. Entries are missing at random, or a third of the "
        "columns side by side; training rows are complete, or miss entries by the same pattern. The most frequent "
        "category; `KNNImputer` on one indicator per category; `IterativeImputer` with extra trees on codes and on "
        f"indicators. They choose their parameters on validation rows; `{OURS}(categorical_features=...)` sees "
        "training rows only. The smallest error of a row is bold. Rows for training, validation and test: "
        + ", ".join(f"{name} {' / '.join(map(str, SETS[name].sizes))}" for name in names)
        + "; means of one to three draws.\n"
    )
    for title, is_development in (("Report", False), ("Development", True)):
        cells = [cell for cell in known_cells(errors) if SETS[cell[0]].is_development == is_development]
        if not cells:
            continue
        yield f"## {title}\n"
        rows = []
        for cell in cells:
            found = {method: errors[*cell, method] for method in METHODS}
            best = min(found.values())
            rows.append([*cell, *(f"**{each:.3f}**" if each == best else f"{each:.3f}" for each in found.values())])
        yield from table(["data", "training", "missing", *METHODS], rows)
        found = summary(errors, is_development)
        yield (
            f"\n`{OURS}` is wrong less often than all others in {found['cells won']:.0f} of {found['cells']:.0f} "
            f"cells; it is wrong {found['mean ratio']:.3f} times as often as the best of them on average, and at most "
            f"{found['largest ratio']:.3f} times.\n"
        )
    yield (
        "Categories of the breast cancer set have an order, as groups of ages have, which trees on codes can use. What "
        f"was not done: forests of more than {N_TREES} trees, or with more than {LEAVES[-1]} rows in a leaf."
    )


if __name__ == "__main__":
    main()
