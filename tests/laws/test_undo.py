"""The list of what `undo.py` undoes is of this source."""

from for_each import for_each
from undo import ROOT, UNDONE


@for_each("undone", UNDONE, ids=lambda undone: undone.mechanism)
def test_what_is_undone_is_there_once(undone):
    assert (ROOT / "src" / "preimage" / undone.file).read_text("utf-8").count(undone.old) == 1
    assert all((ROOT / test).exists() for test in undone.tests if test.startswith("tests/"))
