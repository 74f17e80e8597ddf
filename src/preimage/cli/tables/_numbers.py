"""Numbers as people write them: one convention for a file, one notation for a column; read, and written back alike."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli.tables._paths import need

# What pandas, R, Excel, SAS and instruments write where there is no value.
MISSING = (
    *("", "NA", "N/A", "n/a", "na", "<NA>", "NaN", "nan", "NAN", "-nan", "-NaN", "NaT", "NULL", "null", "None"),
    *("?", "-", "--", ".", "#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"),
    # The same in German, Spanish, Italian, Portuguese, Polish, Swedish and Russian spreadsheets, the last one also as
    # cp1252 reads its letters.
    *(
        "#NV",
        "#N/D",
        "#N/D!",
        "#SAKNAS!",
        "#Н/Д",
        "#Í/Ä",
        "#WERT!",
        "#BEZUG!",
        "#ZAHL!",
        "#VALOR!",
        "#VALEUR!",
        "#ARG!",
    ),
)
# Of these, what stands for a missing class too; "-" and "None" may well be classes.
MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NAN", "NaT", "NULL", "null", "#N/A", "#NA"})
TRUTHS = {"true": 1.0, "false": 0.0}
# Ordinary, no-break, thin, narrow and figure blanks: all of them stand between thousands, and before signs of money.
BLANKS = " \u00a0\u2009\u202f\u2007"
# Between groups of three digits.
THOUSANDS = (",", ".", "'", "’", *BLANKS)
MINUS = "-\u2212\u2013"
# "z³" and "ðóá." are złoty and roubles of code pages that cannot be told from cp1252.
MONEY = (
    r"(?:US|CA|AU|NZ|HK|[ACRS])?\$|[€£¥₹₽₺₩₪₫₴]|zł|z³|Kč|Ft|kr\.?|S?Fr\.|lei|руб\.|ðóá\.|р\."
    "|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RUB|SEK|SGD|TRY|USD|ZAR"
)
UNITS = r"%|‰|°[CF]?|℃|℉"
# In the place of decimals of money: 5.–, 1'000.-- and 12,- are whole.
DASHES = "[-–—]{1,2}"
_BODY = rf"[.,]?[0-9](?:[0-9.,'’{BLANKS}]*[0-9])?(?:\.(?!{DASHES}))?(?:[eEdD][-+]?[0-9]+)?"
# A number with all that people write around it.
WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[{MINUS}+])?(?P<prefix>(?:{MONEY})[{BLANKS}]?)?(?P<sign2>[{MINUS}+(])?(?P<body>{_BODY})"
    rf"(?P<dashes>[.,]{DASHES})?(?P<sign3>-)?(?P<suffix>[{BLANKS}]?(?:{MONEY}|{UNITS})|[{BLANKS}][^\W\d_][^\s\d;,]{{0,5}})?(?P<close>\))?"
)
_KNOWN_UNIT = re.compile(f"{MONEY}|{UNITS}")
# Numbers with more digits than this have all that double precision gives, and are written so.
ALL_DIGITS = 15
# What a decimal number with three decimals and a whole one with a group of three digits have in common.
GROUP = "[1-9][0-9]{0,2}[.,][0-9]{3}"
TOO_LARGE = "has more digits than double precision, as codes do"
# Whole numbers above may not be exact in double precision: 9007199254740993 would become ...992.
MOST_WHOLE = 2**53 - 1


def make_numbers(count: int, others: Sequence[str]) -> bool:
    """Whether so many numbers and these other texts are a column of numbers.

    No fewer are numbers, or the others are all one word, which may well stand for missing values.
    """
    return count >= len(others) or (count > 1 and len(set(others)) == 1)


def starts_with_zero(text: str) -> bool:
    """Whether a text has a zero before another digit, as codes have."""
    return re.match(rf"\s*[{MINUS}+]?0[0-9]", text) is not None


def ask_group(text: str) -> str:
    """The question about a number that is a decimal one in one convention, and a large one in another."""
    mark = re.findall(GROUP, text)[-1][-4]  # "Fr. 1,234" has a point that says nothing
    return (
        f"{text!r} may be a number above a thousand, or have three decimals. Say --decimal {mark} for decimals, or "
        f"--thousands {mark} --decimal {'.' if mark == ',' else ','} for thousands."
    )


class NotANumber(Exception):
    """A text that should be a number, its place in its batch, and why it is none if it looks like one."""

    def __init__(self, row: int, text: str, why: str = "") -> None:
        super().__init__(text)
        self.row = row
        self.text = text
        self.why = why


@dataclass(frozen=True)
class Digits:
    """How many digits the numbers of a column have.

    Attributes
    ----------
    decimals, fewest : int
        At most and at least, after the decimal separator.
    places : int
        The same as `decimals`, but 0 where all decimals are zeros: 12.0 and 13.0 are whole numbers.
    significant : int
        At most, without zeros at the beginning.
    exponent : str
        The letter of exponents, if all numbers have one.
    leading : str
        The zero before decimals of numbers below 1, or nothing.
    has_all : bool
        Whether numbers have all digits of double precision.
    """

    decimals: int = 0
    fewest: int = 0
    places: int = 0
    significant: int = 0
    exponent: str = ""
    leading: str = "0"
    has_all: bool = True

    @classmethod
    def of(cls, bodies: Sequence[str], decimal: str) -> "Digits":
        """The digits of numbers without signs and separators of thousands."""
        found = [
            part for body in bodies if (part := re.fullmatch(rf"([0-9]*){re.escape(decimal)}?([0-9]*)(\D?).*", body))
        ]
        if not found:
            return cls()
        decimals = [len(part[2]) for part in found]
        if len(set(decimals)) > 1 and not any(part[2][1:].endswith("0") for part in found):
            decimals.append(min(1, *decimals))  # zeros at the end are left out
        exponents = {part[3] for part in found}
        significant = max(len((part[1] + part[2]).lstrip("0")) for part in found)
        leading = "" if any(not part[1] for part in found) else "0"
        if significant >= ALL_DIGITS or len(exponents) > 1:
            return cls(fewest=min(decimals), leading=leading)
        places = max(decimals) if any(part[2].strip("0") for part in found) else 0
        return cls(max(decimals), min(decimals), places, significant, exponents.pop(), leading, has_all=False)

    def with_more(self, other: "Digits") -> "Digits":
        """As many digits as either has."""
        fewest, leading = min(self.fewest, other.fewest), min(self.leading, other.leading)
        if self.has_all or other.has_all or self.exponent != other.exponent:
            return Digits(fewest=fewest, leading=leading)
        decimals, significant = max(self.decimals, other.decimals), max(self.significant, other.significant)
        places = decimals if self.places or other.places else 0
        return replace(self, decimals=decimals, fewest=fewest, places=places, significant=significant, leading=leading)

    def rounded(self, number: float) -> float:
        """A number with no more digits."""
        if self.has_all or number == 0 or not np.isfinite(number):
            return number
        if self.exponent:
            return float(f"{number:.{self.decimals}e}")
        if self.fewest == self.decimals:
            return round(number, self.places)
        # Numbers of as many digits, wherever the separator stands, have fewer decimals where they are large.
        above = int(np.floor(np.log10(abs(number)))) + 1
        return round(number, max(0, min(self.places, self.significant - above)))

    def text(self, size: float, is_grouped: bool) -> str:
        """A number that is not negative, with "." and ","; `size` is rounded."""
        if self.exponent:
            return f"{size:.{self.decimals}e}".replace("e", self.exponent)
        if self.has_all:
            text = repr(size) if self.fewest else repr(size).removesuffix(".0")
        else:
            text = f"{size:{',' if is_grouped else ''}.{self.decimals}f}"
            surplus = min(self.decimals - self.fewest, len(text) - len(text.rstrip("0")))
            text = text[: len(text) - surplus].removesuffix(".") if surplus else text
        return self.leading + text[1:] if text.startswith("0.") else text


def body_of(part: re.Match[str]) -> str:
    """A number that is `WRITTEN` without what is around it, and with zeros for dashes."""
    return str(part["body"]) + ("" if part["dashes"] is None else f"{part['dashes'][0]}00")


def _sign(part: re.Match[str]) -> str:
    """The sign of a number, wherever it stands."""
    return part["sign"] or part["sign2"] or part["sign3"] or "+"


@dataclass(frozen=True)
class NumberFormat:
    """Which texts are numbers, and how numbers are written: the convention of a file, or the notation of a column.

    Attributes
    ----------
    decimal : str
        "." or ",".
    thousands : str
        What groups three digits; empty for nothing.
    missing : tuple of str
    prefix, suffix : str
        What all numbers have before or behind them, with its blank: "€ ", " %".
    minus : str
        What negative numbers begin with; "(" for numbers between brackets.
    is_inner, is_behind : bool
        Whether the minus stands between the prefix and the number, or behind it, as SAP writes it.
    is_lakh : bool
        Whether digits above the first three are grouped by two, as in India.
    is_grouped : bool
        Whether numbers of this column have groups.
    digits : Digits
    is_code : bool
        Whether zeros before numbers, and numbers too large to be exact, are admitted.
    is_beginning : bool
        Whether it was found in the first rows alone, so that more may be told by others.
    is_open : bool
        Whether no number of these had decimals or groups: "1.234" may still have either.
    """

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = MISSING
    prefix: str = ""
    suffix: str = ""
    minus: str = "-"
    is_inner: bool = False
    is_behind: bool = False
    is_lakh: bool = False
    is_grouped: bool = False
    digits: Digits = Digits()
    is_code: bool = False
    is_beginning: bool = False
    is_open: bool = False

    @cached_property
    def pattern(self) -> str:
        """A regular expression of numbers; a comma without digits after it ends a clause, and no number."""
        decimal, group = re.escape(self.decimal), re.escape(self.thousands)
        some, exponent = "[0-9]*" if self.decimal == "." else "[0-9]+", "(?:[eEdD][-+]?[0-9]+)?"
        number = rf"(?:[0-9]+(?:{decimal}{some})?|{decimal}[0-9]+){exponent}"
        if self.thousands:
            groups = rf"(?:{group}[0-9]{{2}})*{group}[0-9]{{3}}" if self.is_lakh else rf"(?:{group}[0-9]{{3}})+"
            number = rf"(?:[1-9][0-9]{{0,2}}{groups}(?:{decimal}{some})?|{number})"
        if self.is_plain and not self.is_beginning:
            return rf"(?:[-+]?{number}|[-+]?[iI]nf(?:inity)?)"
        before = rf"{re.escape(self.prefix.strip())}[{BLANKS}]?" if self.prefix else ""
        behind = rf"[{BLANKS}]?{re.escape(self.suffix.strip())}" if self.suffix else ""
        sign = rf"[{MINUS}+]?"
        forms = [rf"{sign}{before}{sign}{number}{behind}"] if not self.is_behind else []
        if self.is_behind or self.is_beginning:
            # Behind a separator stands no minus: 5.- is five.
            forms.append(rf"{before}{number.replace(some, '[0-9]+')}-?{behind}")
        if self.minus == "(" or self.is_beginning:
            forms += [rf"\({before}{number}{behind}\)", *([rf"{before}\({number}{behind}\)"] if before else [])]
        return rf"(?:{'|'.join(forms)}{'|[-+]?[iI]nf(?:inity)?' if self.is_plain else ''})"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _dashed(self) -> re.Pattern[str]:
        return re.compile(rf"(?<=[0-9]){re.escape(self.decimal)}{DASHES}")

    @cached_property
    def _marks(self) -> frozenset[str]:
        return frozenset(self.missing)

    @property
    def is_plain(self) -> bool:
        """Whether programs read such numbers as they are."""
        return (self.decimal, self.thousands, self.unit, self.minus, self.is_behind) == (".", "", "", "-", False)

    @property
    def unit(self) -> str:
        """The sign of money or percent that numbers have."""
        return (self.prefix or self.suffix).strip()

    def is_missing(self, text: str) -> bool:
        return text.strip() in self._marks

    def is_number(self, text: str) -> bool:
        text = text.strip()
        return (
            self._compiled.fullmatch(text) is not None
            or self._compiled.fullmatch(self._dashed.sub("", text)) is not None
        )

    def value(self, text: str) -> float:
        """The number that a text means."""
        part = WRITTEN.fullmatch(text.strip())
        if part is None:  # infinity
            return float(text)
        is_negative = part["close"] is not None or _sign(part) in MINUS
        size = float(self._bare(body_of(part)).replace(self.decimal, ".").upper().replace("D", "E"))
        return -size if is_negative else size

    def plain(self) -> "NumberFormat":
        """The same digits, written as programs read them."""
        return replace(
            self,
            decimal=".",
            thousands="",
            prefix="",
            suffix="",
            minus="-",
            is_behind=False,
            is_lakh=False,
            is_grouped=False,
        )

    def of_column(self, texts: Iterable[str]) -> "NumberFormat":
        """The notation of a column: what its numbers have around them, and how many digits."""
        found = [text.strip() for text in texts if not self.is_missing(text)]
        parts = [part for text in found if (part := WRITTEN.fullmatch(text)) is not None]
        around = [((part["prefix"] or "").strip(), (part["suffix"] or "").strip()) for part in parts]
        brackets = [part["open"] is not None or part["sign2"] == "(" for part in parts]
        column, is_whole = self, all(is_open == (part["close"] is not None) for is_open, part in zip(brackets, parts))
        # Numbers all of which are between brackets may be errors of those next to them.
        if parts and len(set(around)) == 1 and is_whole and not all(brackets) and self._are_most(parts, found):
            signs = [sign for part in parts if (sign := _sign(part)) != "+"]
            minus = "(" if any(brackets) else next(iter(signs), "-")
            prefix, suffix = (parts[0][name] or "" for name in ("prefix", "suffix"))
            is_inner, is_behind = (any(part[name] for part in parts) for name in ("sign2", "sign3"))
            column = replace(self, prefix=prefix, suffix=suffix, minus=minus, is_inner=is_inner, is_behind=is_behind)
        bodies = list(map(body_of, parts))
        is_grouped = bool(self.thousands) and any(self.thousands in body for body in bodies)
        return replace(column, is_grouped=is_grouped, digits=Digits.of(list(map(self._bare, bodies)), self.decimal))

    def of_more(self, texts: Any) -> "NumberFormat":
        """The same for more numbers of the column, a pyarrow array of texts, which may have more digits.

        Groups, and negative numbers that are written in another way, may be in these alone, too.
        """
        compute, digits, point = need("pyarrow.compute"), self.digits, re.escape(self.decimal)
        telling = (
            []
            if digits.has_all
            else [
                f"{point}[0-9]{{{digits.decimals + 1}}}",
                f"(?:[0-9][^0-9]?){{{digits.significant + 1}}}",
                *([] if digits.exponent else ["[0-9][eEdD]"]),
                *([f"{point}0*[1-9]"] if digits.places < digits.decimals else []),
            ]
        )
        if digits.leading:
            telling.append(f"^[^0-9]*{point}")
        signs = lambda form: (form.minus, form.is_inner, form.is_behind)
        if self.is_beginning and signs(self) == ("-", False, False):
            telling.append(rf"\(|[0-9]-|[{MINUS[1:]}]" + ("|[^0-9]-" if self.prefix else ""))
        if self.is_beginning and self.thousands and not self.is_grouped:
            telling.append(re.escape(self.thousands))
        if not telling:
            return self
        texts = texts.filter(compute.match_substring_regex(texts, "|".join(telling)))
        found = [text.strip() for text in compute.unique(texts).to_pylist() if not self.is_missing(text)]
        if not found:
            return self
        column = self.of_column([*found, f"{self.prefix}1{self.suffix}"])  # one that is positive, as others are
        column = self if signs(column) == ("-", False, False) else column
        more = self.of_column(found)
        return replace(column, digits=digits.with_more(more.digits), is_grouped=self.is_grouped or more.is_grouped)

    def _are_most(self, parts: Sequence[re.Match[str]], found: Sequence[str]) -> bool:
        """Whether all texts are numbers, or most of them with known signs or brackets: others mark missing values."""
        unit = (parts[0]["prefix"] or parts[0]["suffix"] or "").strip()
        is_clear = _KNOWN_UNIT.fullmatch(unit) is not None or any(part["close"] for part in parts)
        others = lambda: [text for text in found if WRITTEN.fullmatch(text) is None]
        return len(parts) == len(found) or (is_clear and make_numbers(len(parts), others()))

    def _bare(self, body: str) -> str:
        return body.replace(self.thousands, "") if self.thousands else body

    def rounded(self, numbers: Array) -> Array:
        """Numbers with as many digits as the column has."""
        if self.digits.has_all:
            return numbers
        return np.array([self.digits.rounded(number) for number in numbers.tolist()], dtype=float)

    def texts(self, numbers: Array) -> list[str]:
        """Numbers as the column has them; nothing for NaN."""
        digits = self.digits
        if not self.is_plain or digits.exponent or not digits.leading or np.isnan(numbers).any():
            return [self._text(number) for number in numbers.tolist()]
        # The same for most columns, several times faster.
        if digits.has_all:
            texts = map(repr, numbers.tolist())
            return list(texts) if digits.fewest else [text.removesuffix(".0") for text in texts]
        if digits.fewest == digits.decimals:
            rounded: Array = numbers if digits.places else np.round(numbers)
            return [f"%.{digits.decimals}f" % (number + 0.0) for number in rounded.tolist()]
        return [self._text(number) for number in numbers.tolist()]

    def _text(self, number: float) -> str:
        if number != number:
            return ""
        number = self.digits.rounded(number)
        text = self.digits.text(abs(number), self.is_grouped)
        if self.is_lakh and self.is_grouped:
            whole, *rest = text.split(".")
            text = ".".join([re.sub(r"\B(?=(?:[0-9]{2})*[0-9]{3}$)", ",", whole.replace(",", "")), *rest])
        if not self.is_plain:
            text = text.translate({ord("."): self.decimal, ord(","): self.thousands})
        minus = self.minus if number < 0 and self.minus != "(" else ""
        if self.is_behind:
            return f"{self.prefix}{text}{minus}{self.suffix}"
        text = f"{self.prefix}{minus}{text}" if self.is_inner else f"{minus}{self.prefix}{text}"
        if number >= 0 or self.minus != "(":
            return text + self.suffix
        inner = text.removeprefix(self.prefix)
        return f"{self.prefix}({inner}{self.suffix})" if self.is_inner else f"({text}{self.suffix})"

    @property
    def is_whole(self) -> bool:
        """Whether numbers are whole, however many decimals they are written with."""
        return not (self.digits.has_all or self.digits.exponent or self.digits.places)

    def values(self, texts: Any) -> Array:
        """A pyarrow array of texts as numbers, with NaN for missing ones; or `NotANumber`."""
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        numbers = None
        if self.is_plain:
            with suppress(arrow.ArrowInvalid):  # blanks, missing values, or something that is no number
                numbers = _cast(texts)
        if numbers is None:
            texts = _without_marks(texts, self.missing)
            is_bad = lambda: compute.invert(compute.match_substring_regex(texts, f"^{self.pattern}$"))
            if compute.any(is_bad()).as_py():
                dashes = rf"([0-9]){re.escape(self.decimal)}{DASHES}"
                texts = compute.replace_substring_regex(texts, dashes, r"\1")
                _refuse(texts, is_bad())
            numbers = _cast(self._unsigned(texts))
        if self.is_open and compute.any(compute.match_substring(texts, self.decimal)).as_py():
            _refuse(texts, compute.match_substring_regex(self._unsigned(texts), rf"^\s*[{MINUS}+(]?{GROUP}-?\)?\s*$"))
        if not self.is_code:
            self._refuse_codes(texts, numbers)
        return numbers

    def _refuse_codes(self, texts: Any, numbers: Array) -> None:
        """Raise `NotANumber` for texts that lose something as numbers."""
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        # Most columns have no such text: looking for regular expressions takes longer than reading numbers.
        begins = lambda mark: reduce(compute.or_, (compute.starts_with(texts, sign + mark) for sign in ("", "-", "+")))
        zeros = begins("0")
        if compute.any(compute.and_not(zeros, begins(f"0{self.decimal}"))).as_py():
            _refuse(texts, compute.match_substring_regex(texts, "^[-+]?0[0-9]"), "begins with a zero, as codes do")
        with np.errstate(invalid="ignore"):
            large = np.abs(numbers) > MOST_WHOLE
        if large.any():
            whole = compute.match_substring_regex(texts, r"^[-+]?[0-9]+$")
            _refuse(texts, compute.and_(whole, arrow.array(large)), TOO_LARGE)

    def _unsigned(self, texts: Any) -> Any:
        """Texts of numbers as programs read them."""
        compute = need("pyarrow.compute")
        for mark in (self.prefix.strip(), self.suffix.strip(), self.thousands):
            texts = compute.replace_substring(texts, mark, "") if mark else texts
        if not self.is_plain or self.is_beginning:
            texts = compute.replace_substring_regex(texts, rf"[{BLANKS})]", "")
            texts = compute.replace_substring_regex(texts, r"^\((.*)|^(.*)-$", r"-\1\2")
            texts = compute.replace_substring_regex(texts, f"[{MINUS[1:]}]", "-")
            texts = compute.replace_substring(texts, ",", ".") if self.decimal == "," else texts
        return compute.replace_substring_regex(texts, "[dD]", "E")


@dataclass(frozen=True)
class Words:
    """Categories in the place of numbers: what a column of words or truth values means as numbers 0, 1, 2, ...

    Attributes
    ----------
    categories : tuple of str
    missing : tuple of str
        None of the categories.
    """

    categories: tuple[str, ...]
    missing: tuple[str, ...] = tuple(sorted(MISSING_WORDS))

    # As `NumberFormat` has them.
    unit = ""
    is_whole = True

    @classmethod
    def of_truths(cls, texts: Iterable[str]) -> "Words":
        """False and true, written as the first of these texts is."""
        first = next((text for text in map(str.strip, texts) if text.lower() in TRUTHS), "True")
        change = next((f for f in (str.lower, str.upper) if f(first) == first), str.capitalize)
        return cls((change("false"), change("true")))

    def is_missing(self, text: str) -> bool:
        return text.strip() in self.missing

    def is_number(self, text: str) -> bool:
        return text.strip() in self.categories

    def value(self, text: str) -> float:
        return float(self.categories.index(text.strip()))

    def rounded(self, numbers: Array) -> Array:
        """The nearest category; of truth values, what holds for half of similar rows is true."""
        return np.clip(np.floor(numbers + 0.5), 0, len(self.categories) - 1)

    def texts(self, numbers: Array) -> list[str]:
        return ["" if number != number else self.categories[int(number)] for number in self.rounded(numbers).tolist()]

    def of_more(self, texts: Any) -> "Words":
        """As of `NumberFormat`: the words are all known."""
        return self

    def values(self, texts: Any) -> Array:
        """As of `NumberFormat`."""
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        texts = _without_marks(texts, self.missing)
        places = compute.index_in(texts, value_set=arrow.array(self.categories, arrow.string()))
        _refuse(texts, compute.and_(compute.is_null(places), compute.is_valid(texts)))
        return _cast(places)


def numbers_of(values: Any, form: NumberFormat | Words) -> Array:
    """A pyarrow array of texts, or of numbers of some type, as numbers; or `NotANumber`."""
    arrow = need("pyarrow")
    if (isinstance(form, Words) and not arrow.types.is_boolean(values.type)) or arrow.types.is_string(values.type):
        return form.values(values)
    numbers = values.to_numpy(zero_copy_only=False).astype(float)
    is_exact = arrow.types.is_integer(values.type) or arrow.types.is_decimal(values.type)
    if is_exact and np.nanmax(np.abs(numbers), initial=0) > MOST_WHOLE:
        row = int(np.nanargmax(np.abs(numbers)))
        raise NotANumber(row, str(values[row]), TOO_LARGE)
    return np.asarray(numbers)


def gaps_of(values: Any, form: NumberFormat | Words) -> Any:
    """Where a pyarrow array of texts, or of values of some type, has no value."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    is_text = arrow.types.is_string(values.type) or arrow.types.is_large_string(values.type)
    return compute.is_null(_without_marks(values, form.missing) if is_text else values, nan_is_null=not is_text)


def _without_marks(texts: Any, missing: tuple[str, ...]) -> Any:
    """Texts without blanks around them; null where there is nothing."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    texts = compute.utf8_trim_whitespace(compute.cast(texts, arrow.string()))
    is_missing = compute.is_in(texts, value_set=arrow.array(missing, arrow.string()))
    return compute.if_else(is_missing, arrow.scalar(None, arrow.string()), texts)


def _cast(texts: Any) -> Array:
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    return np.asarray(compute.cast(texts, arrow.float64()).to_numpy(zero_copy_only=False), dtype=float)


def _refuse(texts: Any, bad: Any, why: str = "") -> None:
    """Raise `NotANumber` for the first text that is bad."""
    row = need("pyarrow.compute").index(bad, True).as_py()
    if row >= 0:
        raise NotANumber(row, texts[row].as_py(), why)
