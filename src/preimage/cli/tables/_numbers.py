"""Numbers as people write them, and what stands for a missing one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

# What pandas, R, Excel, SAS and instruments write where there is no value.
MISSING = (
    *("", "NA", "N/A", "n/a", "na", "<NA>", "NaN", "nan", "NAN", "-nan", "-NaN", "NaT", "NULL", "null", "None"),
    *("?", "-", "--", ".", "#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"),
)
TRUTHS = {"true": 1.0, "false": 0.0}
# Between groups of three digits.
THOUSANDS = (",", ".", " ", "'", "’", "\u00a0", "\u202f")
# Of these, what stands for a missing class too; "-" and "None" may well be classes.
MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NAN", "NaT", "NULL", "null", "#N/A", "#NA"})
# Numbers that a person would read, and no program without being told how: with a sign of money, percent or degrees,
# with Fortran's exponents, the minus of printers, or between brackets, as accountants write negative ones.
WITH_SIGN = re.compile(
    r"[$€£¥]\s?[-+]?\d[\d.,' ]*|[-+]?\d[\d.,' ]*\s?[%‰°$€£¥]"
    r"|[-+]?\d*\.\d*[dD][-+]?\d+|[−–]\s?\d[\d.,' ]*|\([$€£¥]?\d[\d.,' ]*\)"
)


class Kind(Enum):
    """What a column holds."""

    NUMBER = "numbers"
    TRUTH = "true or false"
    TEXT = "text"
    MIXED = "numbers and other words"
    SIGNED = "numbers with signs of money or percent, or in another notation"
    EMPTY = "nothing"


@dataclass(frozen=True)
class NumberFormat:
    """Which texts are numbers: decimal separator, grouping of digits, and marks of missing values.

    Attributes
    ----------
    decimal : str
        "." or ",".
    thousands : str
        What groups three digits; empty for nothing.
    missing : tuple of str
    """

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = MISSING

    @cached_property
    def pattern(self) -> str:
        """A regular expression of numbers; a comma without digits after it ends a clause, and no number."""
        decimal, group = re.escape(self.decimal), re.escape(self.thousands)
        digits = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)" if self.thousands else r"\d+"
        some = r"\d*" if self.decimal == "." else r"\d+"
        plain = rf"[-+]?(?:{digits}(?:{decimal}{some})?|{decimal}\d+)(?:[eE][-+]?\d+)?"
        return rf"(?:{plain}|[-+]?[iI]nf(?:inity)?)"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _marks(self) -> frozenset[str]:
        return frozenset(self.missing)

    def is_missing(self, text: str) -> bool:
        return text.strip() in self._marks

    def is_number(self, text: str) -> bool:
        return self._compiled.fullmatch(text.strip()) is not None

    def value(self, text: str) -> float:
        """The number that a text means."""
        text = text.strip()
        if self.thousands:
            text = text.replace(self.thousands, "")
        return float(text.replace(self.decimal, "."))

    def kind(self, texts: Iterable[str]) -> Kind:
        """What a column of these texts holds."""
        found = [text.strip() for text in texts]
        found = [text for text in found if text not in self._marks]
        if not found:
            return Kind.EMPTY
        numbers = sum(self._compiled.fullmatch(text) is not None for text in found)
        if numbers == len(found):
            return Kind.NUMBER
        if all(text.lower() in TRUTHS for text in found):
            return Kind.TRUTH
        if 2 * numbers >= len(found):
            return Kind.MIXED
        signed = sum(WITH_SIGN.fullmatch(text) is not None for text in found)
        return Kind.SIGNED if 2 * (signed + numbers) > len(found) else Kind.TEXT


def is_whole(text: str) -> bool:
    """Whether a number is written without a decimal separator or exponent."""
    return text.strip().lstrip("+-").isdigit()


def counts_on(texts: list[str]) -> bool:
    """Whether a column counts from any whole number on: 1001, 1002, 1003, ..."""
    texts = [text.strip() for text in texts]
    if not texts or not texts[0].isdecimal():
        return False
    return all(text == str(row) for row, text in enumerate(texts, int(texts[0])))


def counts_rows(texts: list[str]) -> bool:
    """Whether a column counts 0, 1, 2, ... or 1, 2, 3, ..."""
    texts = [text.strip() for text in texts]
    return any(all(text == str(row + start) for row, text in enumerate(texts)) for start in (0, 1))
