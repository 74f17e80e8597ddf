"""Random tables, written by pandas in random dialects: read back exactly, or refused with an option; never misread."""

import gzip
import io

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("pandas", reason="tables are written by pandas")

import pandas as pd

from preimage.cli._errors import CommandError
from preimage.cli.tables._sources import open_source

WORDS = ["Köln", "plant 7", "a, b", "x; y", 'say "no"', "Zürich  2", "north", "A-12", "it's", "t|u", "end.", "naïve"]
NAMES = [
    "a",
    "sepal length (cm)",
    "Größe",
    "x,y",
    "p;q",
    'the "b"',
    "2 nd",
    "T [K]",
    "c#",
    "name",
    "µ",
    "Δt",
    "q.1",
    "b_2",
]


def number_column(rng, n):
    kind = rng.integers(6)
    values = rng.normal(size=n) * 10.0 ** rng.integers(-3, 5)
    if kind == 0:
        return np.round(values, int(rng.integers(1, 6)))
    if kind == 1:
        return values
    if kind == 2:
        return rng.integers(-5, 2000, size=n)
    if kind == 3:
        return rng.integers(0, 2, size=n).astype(bool)
    if kind == 4:
        return values * 1e-12
    return np.where(rng.random(n) < 0.2, np.nan, np.round(values, 3))


def text_column(rng, n):
    if rng.random() < 0.3:
        return pd.date_range("2020-01-01", periods=n, freq="7h").strftime(
            str(rng.choice(["%d.%m.%Y", "%Y-%m-%d %H:%M"]))
        )
    return rng.choice(WORDS, size=n)


def random_table(seed):
    """A file's content and suffix, and the values, names and index that it has."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 30)), int(rng.integers(1, 6))
    columns = [number_column(rng, n) for _ in range(d)]
    columns = [np.ones(n) if np.all(pd.isna(column)) else column for column in columns]
    is_text = [False] * d + [True] * int(rng.integers(0, 3))
    columns += [text_column(rng, n) for _ in range(len(is_text) - d)]
    order = rng.permutation(len(columns))
    columns, is_text = [columns[place] for place in order], [is_text[place] for place in order]
    has_numbers_for_names = rng.random() < 0.25
    chosen = [str(name) for name in rng.permutation(NAMES)[: len(columns)]]
    # Only one column: a comma in its name is the delimiter, for all that anybody can see.
    chosen = [name.replace(",", "") for name in chosen] if len(columns) == 1 else chosen
    names = [str(place) for place in range(len(columns))] if has_numbers_for_names else chosen
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = names
    has_index, has_header = bool(rng.random() < 0.4), bool(rng.random() < 0.85)
    delimiter, decimal = [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ".")][rng.integers(6)]
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    if encoding == "cp1252":
        frame.columns = names = [name.replace("Δ", "D") for name in names]
    text = io.StringIO()
    frame.to_csv(
        text,
        sep=delimiter,
        decimal=decimal,
        index=has_index,
        header=has_header,
        na_rep=str(rng.choice(["", "NA", "nan"])),
        lineterminator=str(rng.choice(["\n", "\r\n"])),
        quoting=int(rng.choice([0, 0, 2])),
    )
    content = text.getvalue().encode(encoding)
    suffix = ".tsv" if delimiter == "\t" and rng.random() < 0.5 else str(rng.choice([".csv", ".txt"]))
    if rng.random() < 0.2:
        content, suffix = gzip.compress(content), suffix + ".gz"
    values = np.column_stack([np.asarray(c, dtype=float) for c, text in zip(columns, is_text) if not text])
    expected = [name for name, text in zip(names, is_text) if not text] if has_header else None
    return content, suffix, values, expected, has_index


def outcome(seed, folder):
    """ "read", "refused", or what went wrong."""
    content, suffix, values, names, has_index = random_table(seed)
    path = folder / f"table{seed}{suffix}"
    path.write_bytes(content)
    try:
        source = open_source(path)
        found = np.concatenate(list(source.chunks(7, with_missing=True)))
    except CommandError as error:
        return "refused" if "--" in str(error) else f"refused without an option: {error}"
    finally:
        path.unlink()
    if found.shape != values.shape or not np.array_equal(found, values, equal_nan=True):
        return f"misread: {found.shape} for {values.shape}; {source.described()}"
    if source.names != names or (source.layout.index is not None) != has_index:
        return f"names {source.names} for {names}, index {source.layout.index} for {has_index}"
    return "read"


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_random_tables_are_never_misread(first, tmp_path):
    found = {seed: outcome(seed, tmp_path) for seed in range(first, first + 100)}
    wrong = {seed: what for seed, what in found.items() if what not in ("read", "refused")}
    assert not wrong
    assert list(found.values()).count("refused") <= 10
