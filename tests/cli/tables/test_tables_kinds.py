"""Kinds of columns: what numbers under a name are."""

import pytest

from preimage.cli.tables._kinds import Kind, kind_of
from preimage.cli.tables._numbers import NumberFormat

SECONDS = ["1577836800", "1577836860", "1577836920"]


@pytest.mark.parametrize("name", ["ts", "timestamp", "Unix time", "time (s)", "created_at", "t_ms"])
@pytest.mark.parametrize("end", ["", "000", ".25"])
def test_seconds_since_1970_are_times(name, end):
    assert kind_of(name, [text + end for text in SECONDS], NumberFormat()) is Kind.DATE


@pytest.mark.parametrize(("name", "texts"), [("revenue", SECONDS), ("time", ["0", "60", "120"]), ("t", ["1.5", "2.5"])])
def test_other_numbers_are_no_times(name, texts):
    assert kind_of(name, texts, NumberFormat()) is Kind.MEASUREMENT
