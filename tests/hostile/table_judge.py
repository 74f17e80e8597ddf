"""What becomes of one table file: read exactly, refused with the option that makes it exact, or a defect."""

import bz2
import gzip
import re
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow
from table_core import DEFAULTS, Refused, denoise, impute, options_named, understood, with_option
from table_dialects import (
    MARKS,
    PLAIN_ENCODINGS,
    bytes_of,
    lines_above,
    name_of,
    pieces_of,
    write_case,
)

QUOTED = re.compile("'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.")
# Marks of missing values that everybody knows.
COMMON_GAPS = {"", " ", "NA", "NULL", "nan", "NaN", "#N/A", "#NULL!", "."}
# Rounds of refusal and cure that an analyst may need.
ROUNDS = 4
# Encodings of one byte per letter cannot be told apart: letters may be wrong, bytes must not.
ONE_BYTE = {"cp1252", "latin-1", "iso8859-1", "cp1250", "cp1251", "iso8859-2"}


@dataclass(frozen=True)
class Outcome:
    """What became of a file: `kind` is "exact", "refused" (and exact with the option), or what is against the law."""

    kind: str
    cause: str = ""
    rounds: tuple = ()

    @property
    def is_lawful(self):
        return self.kind in ("exact", "refused")


class Wrong(Exception):
    """Something else than the truth; the message says what."""


def judged(case, folder, seed=0):
    """Write a case, read it, cure it, write it twice, and say what became of it."""
    path, rounds = write_case(case, folder), []
    kind = "misread"
    try:
        found, options, rounds = read_with_cures(case, path)
        check_exact(case, found, options.columns is not None)
        kind = "damaged"
        check_written(case, found, options, np.random.default_rng(seed), folder)
    except Refused as error:
        return Outcome("stuck", str(error).replace(str(path), "FILE"), tuple(rounds))
    except Wrong as error:
        return Outcome(kind, str(error), tuple(rounds))
    except Exception as error:  # whatever it is, it is no message for users
        return Outcome("crash", f"{type(error).__name__}: {error}".replace(str(path), "FILE"), tuple(rounds))
    finally:
        path.unlink()
    return Outcome("refused" if rounds else "exact", rounds[0] if rounds else "", tuple(rounds))


def read_with_cures(case, path, options=DEFAULTS):
    """The file as it is understood, with the options that its refusals name and that the truth agrees with."""
    rounds = []
    while True:
        try:
            return understood(path, options), options, rounds
        except Refused as error:
            message = str(error).replace(str(path), "FILE")
            before = options
            for field, value in options_named(message):
                known, value = true_option(case, field, value)
                if known:
                    options = with_option(options, field, value)
            rounds.append(message)
            if options == before or len(rounds) > ROUNDS:
                raise


def true_option(case, field, value):
    """Whether an option with this value is right for a case, and the value to give; NAME and N stand for any."""
    recipe, columns = case.recipe, case.columns
    is_any = value is not None and re.fullmatch(r"[A-Z]+", value) is not None
    if field in ("header", "no_header"):
        return (recipe.header != "none") == (field == "header"), None
    if field in ("skip", "skip_footer"):
        # Comments and lines of separators alone are no lines of a footer.
        count = len(lines_above(case)) + (recipe.header == "two")
        count = count if field == "skip" else int(recipe.footer == "total" and len(columns) > 1)
        return value in (str(count), "N"), count
    if field == "missing":
        return value is not None and same_letters(value, recipe.gap, "cp1252", recipe.encoding), value
    if field == "exclude":
        names = [case.named(column) for column in columns if column.kind != "measurement"]
        names += [str(place + 1) for place, column in enumerate(columns) if column.kind != "measurement"]
        named = [name for name in names if value is not None and name.split(" ")[0] == value]
        return bool(named), named[0] if named else None
    if field == "index":
        place = index_place(case)
        return (value == "none") if place is None else value in (str(place + 1), columns[place].name), value
    if field == "columns":
        names = [
            str(place) if recipe.header in ("none", "two") else case.named(column)
            for place, column in enumerate(columns, 1)
        ]
        return True, tuple(name for name, column in zip(names, columns) if column.kind == "measurement")
    true = {
        "decimal": recipe.locale.decimal,
        "thousands": next((c.notation.thousands for c in columns if c.notation.thousands), None),
        "delimiter": " " if recipe.delimiter == "aligned" else recipe.delimiter,
        "encoding": recipe.encoding,
        "comment": "#" if recipe.above == "comments" or recipe.footer == "comment" else "none",
    }
    if field not in true or true[field] is None:
        return False, None
    if field == "encoding" and {value, recipe.encoding} <= ONE_BYTE:
        return True, value  # which of them it is shows in letters alone
    if field == "delimiter" and len(columns) == 1:  # any that stands in no value
        texts = [column.text(row) or "" for column in columns for row in range(case.n_rows)]
        return value is not None and not any(value in text for text in texts), value
    words = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "blank": " "}
    return is_any or words.get(value, value) == true[field], true[field]


def index_place(case):
    return next((place for place, column in enumerate(case.columns) if column.is_index), None)


def check_exact(case, found, are_given=False):
    """Compare what was understood with the truth."""
    recipe, columns = case.recipe, case.columns
    if len(found.kinds) != len(columns):
        raise Wrong(f"{len(found.kinds)} columns for {len(columns)}")
    if len(found.texts[0]) != case.n_rows:
        raise Wrong(f"{len(found.texts[0])} rows for {case.n_rows}")
    names = None if recipe.header == "none" else tuple(case.named(column) for column in columns)
    is_same = lambda a, b: same_letters(a.strip(), b.strip(), found.encoding, recipe.encoding)
    if recipe.header == "two":
        names, others = two_lines(case, found)
    if (names is None) != (found.names is None) or (names and not all(map(is_same, found.names, names))):
        raise Wrong(f"names {found.names} for {names}")
    if recipe.header == "two":
        if found.units is not None and not any(all(map(is_same, found.units, other)) for other in others):
            raise Wrong(f"units {found.units} where there are none")
    elif recipe.header == "units":
        units = tuple(unit or None for unit in case.units())
        given = tuple(unit.strip("-") or None for unit in found.units or ())
        if len(given) != len(units) or not all(is_same(a or "", b or "") for a, b in zip(given, units)):
            raise Wrong(f"units {found.units} for {case.units()}")
    elif found.units is not None and recipe.header != "brackets" and any(found.units):
        raise Wrong(f"units {found.units} where there are none")
    check_kinds(case, found)
    check_values(columns, found, are_given)
    for column, texts in zip(columns, found.texts):
        for row, text in enumerate(texts):
            expected = column.text(row)
            expected = recipe.gap if expected is None else expected
            if not is_same((text or "").replace("\r\n", "\n"), expected):
                raise Wrong(f"{column.kind} {text!r} for {expected!r}")


def two_lines(case, found):
    """The names of a table with two lines of them, and what may stand in the line below the one that is taken.

    Names of groups that are all different may be those of columns: then the others are taken for units.
    """
    names, groups = tuple(column.name for column in case.columns), tuple(case.groups())
    below = ()
    if case.columns[0].is_index:
        below = ((names[0], *("" for _ in names[1:])),)
        names = ("", *names[1:])
    real = groups[1:] if case.columns[0].is_index else groups
    if all(real) and len(set(real)) == len(real) and found.names == groups:
        return groups, (names,)
    return names, below


def same_letters(found, true, found_encoding, true_encoding):
    if found == true:
        return True
    if {found_encoding, true_encoding} <= ONE_BYTE:
        try:
            return found.encode(found_encoding) == true.encode(true_encoding)
        except UnicodeEncodeError:
            return False
    return False


def check_kinds(case, found):
    columns, is_named = case.columns, case.recipe.header != "none"
    if case.recipe.header == "two":  # what a column is for may be said by the line that is not taken
        is_named = found.names == two_lines(case, found)[0] and found.names != tuple(case.groups())
    place = next((place for place, column in enumerate(columns) if column.is_index), None)
    if found.index != place:
        # What names rows may be taken for a code, and codes may name rows: neither is a value.
        is_code = (
            place is not None and found.index is None and found.kinds[place] in ("code", "date", "text", "category")
        )
        names_rows = place is None and bool(columns[found.index].may_be(is_named) & {"code", "date"})
        if not is_code and not names_rows:
            raise Wrong(f"index {found.index} for {place}")
    for number, column in enumerate(columns):
        if (
            not column.is_index
            and found.index != number
            and found.kinds[number] not in possible_kinds(column, case.recipe, is_named)
        ):
            raise Wrong(f"{column.kind} taken for {found.kinds[number]}: {shown(column)}")


def possible_kinds(column, recipe, is_named):
    """What a column may be taken for; where nobody knows the mark of gaps, it is a word as well."""
    kinds = column.may_be(is_named)
    has_odd_gaps = None in column.cells and recipe.gap not in COMMON_GAPS and column.kind != "measurement"
    return kinds | {"category", "text"} if has_odd_gaps else kinds


def shown(column):
    texts = [column.text(row) for row in range(len(column.cells)) if column.cells[row] is not None]
    return f"{column.name!r} {', '.join(map(repr, texts[:3]))}"


def check_values(columns, found, are_given):
    expected = [place for place, kind in enumerate(found.kinds) if kind == "measurement" and place != found.index]
    if are_given:
        expected = [place for place, column in enumerate(columns) if column.kind == "measurement"]
    if list(found.taken) != expected:
        raise Wrong(f"values from columns {list(found.taken)} for {expected}")
    for place, values in zip(expected, found.values.T):
        true = columns[place].values()
        if not np.array_equal(values, true, equal_nan=True):
            row = int(np.flatnonzero(~((values == true) | (np.isnan(values) & np.isnan(true))))[0])
            raise Wrong(f"value {values[row]!r} for {columns[place].text(row)!r}")


def check_written(case, found, options, rng, folder):
    """Write the table as `impute` and as `denoise` would: only meant cells differ, and they are read back."""
    taken = [case.columns[place] for place in found.taken]
    if not taken:
        return
    meant = {}
    for place, column in zip(found.taken, taken):
        known = [cell for cell in column.cells if cell is not None]
        for row in range(case.n_rows):
            meant[row, place] = str(rng.choice(known))
        if column.notation.minus == "()":  # a column of brackets alone holds the errors of another one
            meant[0, place] = next(cell for cell in known if not cell.startswith("-"))
    gaps = {(row, place): plain for (row, place), plain in meant.items() if case.columns[place].cells[row] is None}
    output = folder / ("out_" + name_of(case))
    for changed, is_impute in ((gaps, True), (meant, False)):
        if is_impute and not gaps:
            continue
        matrix = with_changed(case, list(found.taken), changed)
        try:
            if is_impute:
                impute(found, matrix, sorted({list(found.taken).index(place) for _, place in gaps}), output)
            else:
                denoise(found, with_noise(matrix, taken, rng), output)
            what = "impute" if is_impute else "denoise"
            check_cells(case, decompressed(output), changed, what)
            check_read_back(case, output, options, matrix, what)
        finally:
            output.unlink(missing_ok=True)


def with_changed(case, taken, changed):
    """The numbers of the columns at `taken`, with those that are meant to change."""
    plain = lambda row, place: changed.get((row, place), case.columns[place].cells[row])
    return np.array([[float(plain(row, place)) for place in taken] for row in range(case.n_rows)])


def with_noise(matrix, columns, rng):
    """Numbers of more digits than the columns have: they are rounded as the columns are."""
    noisy = matrix.copy()
    for place, column in enumerate(columns):
        if column.decimals is not None:
            noise = rng.uniform(-0.3, 0.3, size=len(matrix)) * 10.0**-column.decimals
            noisy[:, place] += np.where(matrix[:, place] == 0, 0, noise)
    return noisy


def check_read_back(case, output, options, matrix, what):
    try:
        again = read_with_cures(case, output, options)[0]
    except Refused as error:
        raise Wrong(f"{what}: what was written is refused: {error}".replace(str(output), "FILE")) from error
    if again.values.shape != matrix.shape or not np.array_equal(again.values, matrix):
        raise Wrong(f"{what}: other numbers are read back")


def decompressed(path):
    data, suffix = path.read_bytes(), path.suffix
    if suffix == ".gz":
        return gzip.decompress(data)
    if suffix == ".bz2":
        return bz2.decompress(data)
    if suffix == ".zst":
        with pyarrow.input_stream(str(path), compression="zstd") as file:
            return file.read()
    return data


def check_cells(case, data, changed, what):
    """The bytes of the input but for changed cells, and numbers in these, in the notation of their columns."""
    recipe = case.recipe
    if not changed and data != bytes_of(case):
        raise Wrong(f"{what}: nothing was meant to change")
    mark = MARKS.get(recipe.encoding, b"")
    if not data.startswith(mark):
        raise Wrong(f"{what}: no byte order mark")
    try:
        text = data[len(mark) :].decode(PLAIN_ENCODINGS.get(recipe.encoding, recipe.encoding))
    except UnicodeError as error:
        raise Wrong(f"{what}: another encoding") from error
    for place, token in tokens_of(case, text, changed, what).items():
        column, plain = case.columns[place[1]], changed[place]
        if token[:1] == recipe.quote and token[-1:] == recipe.quote and len(token) > 1:
            token = token[1:-1].replace(2 * recipe.quote, recipe.quote)
        notation, token = without_outer_blanks(column.notation, token)
        try:
            number = notation.plain(token)
        except ValueError as error:
            raise Wrong(f"{what}: notation: {error}; the column has {shown(column)}") from error
        if Decimal(number) != Decimal(plain):
            raise Wrong(f"{what}: digits: {token!r} for {column.notation.text(plain)!r}")
        if column.decimals is not None and token != notation.text(plain):
            raise Wrong(f"{what}: notation: {token!r} for {column.notation.text(plain)!r}")


def without_outer_blanks(notation, token):
    """In formats for accounts blanks around numbers align them: they say nothing."""
    before, after = notation.before.lstrip(" "), notation.after.rstrip(" ")
    if (before, after) == (notation.before, notation.after):
        return notation, token
    return replace(notation, before=before, after=after), token.strip(" ")


def tokens_of(case, text, changed, what):
    """The texts in changed cells; everything between them is as it was, but for blanks that align columns."""
    recipe, pieces, tokens, place = case.recipe, pieces_of(case), {}, 0
    aligned = recipe.delimiter == "aligned"
    blanks = re.compile(r"[ \t]*")
    for number, (piece, cell) in enumerate(pieces):
        if cell in changed:
            end = end_of(text, place, pieces[number + 1 :], recipe)
            tokens[cell], place = text[place:end], end
        elif aligned and cell is None and piece.isspace() and recipe.end not in piece:
            place = blanks.match(text, place).end()
        elif text.startswith(piece, place):
            place += len(piece)
        else:
            raise Wrong(
                f"{what}: {kind_of_piece(case, pieces, number)}: {text[place : place + 40]!r} for {piece[:40]!r}"
            )
    if place != len(text):
        raise Wrong(f"{what}: more at the end: {text[place : place + 40]!r}")
    return tokens


def kind_of_piece(case, pieces, number):
    piece, cell = pieces[number]
    if cell is not None:
        return f"a {case.columns[cell[1]].kind} cell changed"
    return "a line end changed" if piece == case.recipe.end else "something between cells changed"


def end_of(text, place, following, recipe):
    """Where a new cell ends: at its closing quote, or where the piece after it begins."""
    if text[place : place + 1] == recipe.quote:
        return QUOTED.match(text, place).end()
    literal = next((piece for piece, _ in following if piece), "")
    if not literal:
        return len(text)
    if recipe.delimiter in (" ", "aligned"):
        return re.compile(r"[^ \t\r\n]*").match(text, place).end()
    end = text.find(literal, place)
    return len(text) if end < 0 else end
