"""Tables of which only the first lines are seen before they are understood, and whose numbers grow from row to row.

Separators of thousands, gaps and negative numbers, which are the largest here, come when all is decided.
"""

import re
from collections import Counter
from dataclasses import replace

from table_core import short_beginnings
from table_dialects import Case, drawn_case
from table_judge import judged
from table_truths import without_empty_rows

# Lines that are seen at least, and rows that make a table longer.
SEEN, FEWEST_ROWS = 25, 60
# Seeds of one long table lie so far apart from those of the next one.
STRIDE = 10**7


def drawn_long(seed):
    """The first long case of a series of seeds in which no numbers begin as codes do."""
    while True:
        seed += STRIDE
        case = drawn_case(seed)
        # Nobody expects single quotes where there was none: such a table is refused, and no option says what they are.
        if case.n_rows < FEWEST_ROWS or case.recipe.quoting == "single":
            continue
        case = Case(case.recipe, tuple(without_empty_rows(list(map(growing, case.columns)))))
        beginnings = [column.taken(range(rows)) for column in case.columns for rows in range(SEEN - 5, case.n_rows)]
        are_codes = any(column.kind == "measurement" and column.looks_like_code() for column in beginnings)
        # Nor may they in another order, in which they are written again; codes without names may be measurements first.
        kinds = ("measurement", "code") if case.recipe.header == "none" else ("measurement",)
        if not are_codes and not any(has_long_numbers(column) for column in case.columns if column.kind in kinds):
            return case


def has_long_numbers(column):
    """Whether two in five cells are whole numbers of as many digits, as codes have."""
    sizes = Counter(len(cell) for cell in column.cells if cell is not None and re.fullmatch(r"\d{5,}(?:\.0)?", cell))
    return max(sizes.values(), default=0) > 0.4 * len(column.cells)


def growing(column):
    """A column of measurements in the order of their sizes; others as they are."""
    if column.kind != "measurement" or column.is_index:
        return column
    size = lambda cell: (cell is None or cell.startswith("-"), abs(float(cell or 0)))
    return replace(column, cells=tuple(sorted(column.cells, key=size)))


def run_long(seed, folder):
    """A long case and what became of it."""
    case = drawn_long(seed)
    with short_beginnings(SEEN):
        return case, judged(case, folder, seed)
