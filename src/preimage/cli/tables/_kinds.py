"""What a column holds: measurements, which are values, or codes, categories, dates and text, which are not."""

import re
from collections.abc import Sequence
from enum import Enum

from preimage.cli.tables._numbers import BLANKS, MOST_WHOLE, TRUTHS, NumberFormat, make_numbers, starts_with_zero


class Kind(Enum):
    """What a column holds; its value is the word for users."""

    MEASUREMENT = "measurement"
    CODE = "code"
    CATEGORY = "category"
    TRUTH = "true or false"
    DATE = "date"
    FORMULA = "formula"
    TEXT = "text"
    MIXED = "numbers and other words"
    EMPTY = "empty"


# The beginnings of the names of months in the languages of most spreadsheets.
_MONTH = (
    r"(?:jan|feb|f[eé]v|fev|mar|mär|mrz|apr|avr|abr|kwi|may|mai|maj|mag|jun|juin|giu|cze|jul|juil|lug|lip|aug|ao[uû]|ago|sie|sep"
    r"|set|wrz|oct|okt|out|ott|paź|nov|lis|dec|dez|d[ée]c|dic|des|gru|ene|gen|sty|lut|янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен"
    r"|окт|ноя|дек)[^\W\d_]{0,7}\.?"
)
_TIME = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|[-+]\d\d:?\d\d))?"
_DAY = (
    r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d\d)\.?"
    rf"|\d{{1,2}}\.?[- ]?{_MONTH}[- ]?\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}"
)
_DATE = re.compile(
    rf"(?:{_DAY})(?:(?:T|,? ){_TIME})?|{_TIME}|\d+ days? {_TIME}"
    rf"|(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])|[- ]?[QqTtHhMmWw]\d{{1,2}})|(?:0?[1-9]|1[0-2])[./](?:19|20)\d\d"
    rf"|[QqTt][1-4][-/ ](?:19|20)?\d\d|{_MONTH}[-/ ](?:\d{{4}}|\d\d)"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])",
    re.I,
)
# Whole numbers under these names are the years and days of a calendar, whether or not they repeat.
_OF_CALENDARS = re.compile(
    r"(?:.*[\W_])?(?:year|jahr|année|annee|anno|año|ano|ár|rok|год|yr|date|datum|fecha|data)", re.I
)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d|21\d\d")
# Seconds since 1970, or thousandths, millionths or billionths of these, from 2001 to 2033, under the names of times.
_OF_CLOCKS = re.compile(
    r"(?:.*[\W_])?(?:ts|t|epoch|unix|when|(?:unix|date)?time(?:[_ ]?stamp)?|zeit(?:stempel)?|created|updated)"
    r"(?:[\W_]{0,2}(?:at|utc|unix|epoch|[mun]?s|sec|seconds|millis))?[)\]]?",
    re.I,
)
_MOMENT = re.compile(r"1\d{9}(?:\d{3}){0,3}(?:\.\d+)?")
# Whole numbers under these names name something, whether or not they repeat.
_OF_CODES = re.compile(
    r"(?:.*[\W_])?(?:zip|plz|post(?:al|leitzahl|nr)?|account|acct|konto\w*|iban|phone|tel|telefon\w*|telephone|fax|mobile|isbn"
    r"|issn|ean|upc|gtin|sku|ssn|fips|geoid|naics|siren|siret|cpf|cnpj|code|barcode|kennung|kennziffer|kundennummer|matricule"
    r"|serial)(?:[\W_]?(?:id|no|nr|num|number|nummer|code))?\.?",
    re.I,
)
# Whole numbers that are all different name rows under these names, wherever their column stands.
_OF_ROWS = re.compile(
    r"(?:.*[\W_])?(?:ids?|index|idx|no|nr|num|number|nummer|numéro|key|uid|uuid|guid|ref|reference|customer|kunde|client"
    r"|patient|subject|order|invoice|rechnung|bestellung|ticket|case|record|sample|row|obs)\.?|.*[a-z]I[dD]|#",
    re.I,
)
# Whole numbers that are all different and as long as each other are codes from so many digits on, unless they end in
# zero, as rounded numbers do. Numbers from 1000 to 9999 are years, prices and counts as well.
FEWEST_DIGITS, FEWEST_ROWS = 5, 3
# Digits of numbers of phones, which have a + and may have blanks.
FEWEST_OF_PHONES = 8
# Words of which each stands twice on average, and no more of them, are categories.
MOST_CATEGORIES = 50


def kind_of_numbers(texts: Sequence[str], numbers: NumberFormat) -> Kind:
    """Whether a column holds numbers, in its own notation, truth values, words or nothing."""
    found = [text.strip() for text in texts if not numbers.is_missing(text)]
    if not found:
        return Kind.EMPTY
    others = [text for text in found if not numbers.is_number(text)]
    if not others:
        return Kind.MEASUREMENT
    if all(text.lower() in TRUTHS for text in found):
        return Kind.TRUTH
    return Kind.MIXED if make_numbers(len(found) - len(others), others) else Kind.TEXT


def kind_of(name: str, texts: Sequence[str], numbers: NumberFormat) -> Kind:
    """What a column of this name holds; `numbers` is its own notation."""
    found = [text.strip() for text in texts if not numbers.is_missing(text)]
    kind = kind_of_numbers(found, numbers)
    if kind in (Kind.MEASUREMENT, Kind.TEXT, Kind.MIXED) and are_dates(name, found):
        return Kind.DATE
    if kind is Kind.MEASUREMENT:
        return Kind.CODE if are_codes(name, found) else kind
    if kind is Kind.MIXED and all(re.fullmatch(r"0\d+|[\w-]*\d[\w-]*", text) for text in found):
        return Kind.CODE if any(map(starts_with_zero, found)) else kind
    if kind is Kind.TEXT:
        distinct = len(set(found))
        return Kind.CATEGORY if distinct <= MOST_CATEGORIES and 2 * distinct <= len(found) else kind
    return kind


def are_dates(name: str, texts: Sequence[str]) -> bool:
    """Whether texts are dates, times or months, or years or seconds since 1970 under a name that says so."""
    if all(map(_DATE.fullmatch, texts)):
        return True
    named = ((_OF_CALENDARS, _YEAR), (_OF_CLOCKS, _MOMENT))
    return any(names.fullmatch(name.strip()) and all(map(dates.fullmatch, texts)) for names, dates in named)


def are_codes(name: str, texts: Sequence[str]) -> bool:
    """Whether numbers name something: whole ones that arithmetic would damage, or that count nothing."""
    if any(map(starts_with_zero, texts)):
        return True
    bare = [re.sub(f"[{BLANKS}]", "", text.removeprefix("+").removesuffix(".0")) for text in texts]
    if _OF_CODES.fullmatch(name.strip()) and all(text.isalnum() for text in bare):
        return True  # 1E5 as well
    if not all(text.isdecimal() for text in bare):
        return False
    are_phones = all(text.startswith("+") for text in texts) and min(map(len, bare), default=0) >= FEWEST_OF_PHONES
    if are_phones or any(int(text) > MOST_WHOLE for text in bare):
        return True
    whole = [text.removesuffix(".0") for text in texts]
    if bare != whole:  # groups of digits
        return False
    if len(whole) < FEWEST_ROWS or len(set(whole)) < len(whole):
        return False
    is_rounded = all(text.endswith("0") for text in whole)
    is_even = len(set(map(len, whole))) == 1 and len(whole[0]) >= FEWEST_DIGITS and not is_rounded
    return is_even or _OF_ROWS.fullmatch(name.strip()) is not None
