"""Random table files written from truths, as tools in many countries write them, and the law that reading them obeys.

A file is read exactly (names, units, kinds of columns, index, gaps, numbers to their last digit), or refused with an
option that makes it exact. Written back with gaps filled in or with other numbers, it differs in these cells alone,
byte for byte, and the new numbers are read back.

``python tests/hostile/table_files.py 20000`` tries as many, prints tables, and shrinks what is against the law;
``1 300123`` repeats the one with that seed.
"""

import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from table_books import run_book, run_parquet
from table_dialects import bytes_of, drawn_case, name_of, possible
from table_judge import judged
from table_long import run_long

# Of all files, at most these may be refused, and none be read otherwise than it was meant.
MOST_REFUSED = 0.08
# Files of other formats, and long ones, one of each for so many files of text.
OTHERS, ONE_IN = {"Parquet": run_parquet, "Excel workbook": run_book, "long text": run_long}, 20
# Findings that are shrunk and printed for each cause.
SHOWN = 2


def run_file(seed, folder):
    """The case of a seed, and what became of it."""
    case = drawn_case(seed)
    return case, judged(case, folder, seed)


def shrunk(case, folder, seed):
    """A smaller case with the same kind of outcome: fewer columns and rows, a plainer way of writing."""
    target = judged(case, folder, seed)
    key = cause_of(target)
    is_same = lambda other: cause_of(judged(other, folder, seed)) == key
    progress = True
    while progress:
        progress = False
        for smaller in smaller_cases(case):
            try:
                has_values = any(
                    column.kind == "measurement" and set(column.cells) > {None} for column in smaller.columns
                )
                if smaller != case and has_values and is_same(smaller):
                    case, progress = smaller, True
                    break
            except Exception:  # what cannot be written is no smaller case
                continue
    return case


def smaller_cases(case):
    """Cases with less in them, the boldest first."""
    n, columns = case.n_rows, case.columns
    of_rows = lambda rows: replace(case, columns=tuple(column.taken(rows) for column in columns))
    for size in (n // 2, n - 1):
        if size >= 3:
            yield of_rows(range(size))
            yield of_rows(range(n - size, n))
    if n <= 12:
        yield from (of_rows([row for row in range(n) if row != left_out]) for left_out in range(n if n > 3 else 0))
    for place in range(len(columns)):
        if len(columns) > 1:
            yield possible(replace(case, columns=(*columns[:place], *columns[place + 1 :])))
    plain = {"above": "", "footer": "", "compression": "", "encoding": "utf-8", "end": "\n", "has_final_end": True}
    for field, value in {**plain, "quoting": "minimal", "header": "one"}.items():
        if getattr(case.recipe, field) != value:
            yield replace(case, recipe=replace(case.recipe, **{field: value}))


def cause_of(outcome):
    """The kind of an outcome and the first words of its cause, by which findings are counted."""
    words = outcome.cause.replace("FILE ", "").partition(":")[0] if outcome.kind != "damaged" else outcome.cause
    return outcome.kind, " ".join("".join(letter for letter in words if not letter.isdigit()).split()[:4])


def table_of(counts, title):
    """Lines of a table: files, exact, refused and against the law, for each word."""
    kinds = sorted(
        {kind for counter in counts.values() for kind in counter},
        key=lambda kind: (kind != "exact", kind != "refused", kind),
    )
    lines = [f"| {title:24} | files | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 2) + "|"]
    for word, counter in sorted(counts.items()):
        cells = " | ".join(f"{counter[kind]:{len(kind)}}" for kind in kinds)
        lines.append(f"| {word:24} | {sum(counter.values()):5} | {cells} |")
    return "\n".join(lines)


def main(count, first=0):
    started = time.perf_counter()
    axes = {"tool": defaultdict(Counter), "locale": defaultdict(Counter), "delimiter": defaultdict(Counter)}
    cells, kinds, examples = Counter(), Counter(), defaultdict(list)

    def noted(outcome, seed, **words):
        kinds[outcome.kind] += 1
        for axis, word in words.items():
            axes[axis][word][outcome.kind] += 1
        if outcome.kind != "exact":
            cells[(*words.values(), outcome.kind)] += 1
            examples[cause_of(outcome)].append((seed, words["tool"]))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(first, first + count):
            case, outcome = run_file(seed, folder)
            recipe = case.recipe
            noted(outcome, seed, tool=recipe.tool_name, locale=recipe.locale_name, delimiter=repr(recipe.delimiter))
            for tool, run in OTHERS.items() if seed % ONE_IN == 0 else ():
                _, outcome = run(seed, folder)
                noted(outcome, seed, tool=tool, locale="none", delimiter="none")
        for cause, found in sorted(examples.items(), key=lambda item: -len(item[1])):
            seeds = "" if cause[0] == "refused" else f": seeds {', '.join(str(seed) for seed, _ in found)}"
            print(f"\n{len(found)} × {' · '.join(cause)}{seeds}")
            for seed, tool in found[:SHOWN]:
                report(seed, tool, folder, is_small=count == 1 or cause[0] == "refused")
    for axis, counts in axes.items():
        print("\n" + table_of(counts, axis))
    print("\nMost findings by tool, locale and delimiter:")
    for (*words, kind), number in cells.most_common(25):
        print(f"{number:5} {kind:10} {' · '.join(words)}")
    total, wrong = sum(kinds.values()), sum(kinds.values()) - kinds["exact"] - kinds["refused"]
    counts = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    print(f"\n{total} files in {time.perf_counter() - started:.0f} s: {counts}.")
    print(f"{wrong} against the law; {kinds['refused'] / total:.1%} refused, of at most {MOST_REFUSED:.0%}.")
    return wrong == 0 and kinds["refused"] <= max(MOST_REFUSED * total, 1)


def report(seed, tool, folder, is_small):
    """Print a finding: its seed, its cause, and the file, as small as it gets."""
    if tool in OTHERS:
        print(f"  seed {seed}, {tool}: {OTHERS[tool](seed, folder)[1].cause[:300]}")
        return
    case, outcome = run_file(seed, folder)
    if not is_small:
        case = shrunk(case, folder, seed)
        outcome = judged(case, folder, seed)
    print(f"  seed {seed}, {name_of(case)}, {case.recipe.tool_name}, {case.recipe.locale_name}: {outcome.cause[:300]}")
    for message in outcome.rounds:
        print(f"    refusal: {message[:250]}")
    print(f"    {bytes_of(case)[:400]!r}")


if __name__ == "__main__":
    sys.exit(not main(*map(int, sys.argv[1:])))
