"""What the net of table files asks of the command line's tables, and all that it knows of their code."""

import re
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from preimage.cli._errors import CommandError
from preimage.cli._options import DEFAULTS
from preimage.cli.tables import _dialect
from preimage.cli.tables._columns import Kind
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._paths import format_of
from preimage.cli.tables._sources import open_source

Refused = CommandError
# Words of the net for the kinds of the command line; a kind that it lacks has no word here.
KINDS = {
    getattr(Kind, member): kind
    for member, kind in {
        **{"MEASUREMENT": "measurement", "CODE": "code", "CATEGORY": "category", "DATE": "date", "TEXT": "text"},
        **{"EMPTY": "empty", "NUMBER": "measurement", "TRUTH": "category"},
    }.items()
    if hasattr(Kind, member)
}


@dataclass(frozen=True)
class Understood:
    """What the command line takes a file for."""

    source: object
    names: tuple | None
    units: tuple | None
    kinds: tuple
    index: int | None
    taken: tuple
    values: np.ndarray
    texts: tuple
    encoding: str


@contextmanager
def short_beginnings(lines):
    """Files are understood from so many lines, or a few more, and not from the usual 128 KiB."""
    before = _dialect.FEWEST_BYTES, _dialect.FEWEST_LINES
    _dialect.FEWEST_BYTES, _dialect.FEWEST_LINES = 64, lines
    try:
        yield
    finally:
        _dialect.FEWEST_BYTES, _dialect.FEWEST_LINES = before


def understood(path, options=DEFAULTS):
    """A file as the command line reads it, or `Refused`."""
    source = open_source(path, options).held(with_missing=True)
    layout = source.layout
    places = list(range(len(layout.labels)))
    batches = list(source.columns(places))
    texts = tuple([text for batch in batches for text in batch[place].to_pylist()] for place in places)
    kinds = tuple(KINDS.get(kind, kind.name) for kind in layout.kinds)
    encoding = "utf-8" if source.dialect is None else source.dialect.encoding
    return Understood(
        source, layout.names, layout.units, kinds, layout.index, tuple(layout.taken), source.values, texts, encoding
    )


def impute(found, matrix, gaps, path):
    """Write the table with `matrix` in the gaps of the columns of values with the places `gaps`."""
    write_frame(path, iter([matrix]), Frame.of_filled(found.source, list(gaps)), format_of(path))


def denoise(found, matrix, path):
    """Write the table with its values replaced by `matrix`."""
    write_frame(path, iter([matrix]), Frame.of_whole(found.source), format_of(path))


def options_named(message):
    """The options that a message names: pairs of a field of the options and its value, None for flags."""
    found = re.findall(r"--([a-z]+(?:-[a-z]+)*)(?:[ =]+(?:'((?:[^'])*)'|\"([^\"]*)\"|([^\s\"'][^\s]*)))?", message)
    options = []
    for name, single, double, bare in found:
        value = single or double or (bare.rstrip(".") if len(bare) > 1 else bare)
        value = value.rstrip(",;") if len(value) > 1 else value
        options.append((name.replace("-", "_"), value or None))
    return options


def with_option(options, field, value):
    """The same options and one more."""
    if field in ("header", "no_header"):
        return replace(options, header=field == "header")
    if field in ("missing", "exclude", "columns"):
        value = value if isinstance(value, tuple) else (value,)
        return replace(options, **{field: tuple(dict.fromkeys((*(getattr(options, field) or ()), *value)))})
    if field == "skip_ragged":
        return replace(options, skip_ragged=True)
    return replace(options, **{field: value})
