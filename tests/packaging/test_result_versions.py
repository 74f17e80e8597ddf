"""No page shows figures of an older version than its code, unless it is known, with a reason."""

import re
import tomllib
from pathlib import Path

import pytest
import results
from for_each import for_each

import preimage

ROOT = Path(__file__).parents[2]
OLDER = tomllib.loads((ROOT / "benchmarks" / "older.toml").read_text(encoding="utf-8"))
FOUND = {result.name: result for result in results.results()}


def test_older_figures_are_those_that_are_known():
    """What was made anew leaves the list."""
    assert {name for name, result in FOUND.items() if not result.is_present} == set(OLDER)
    assert all(OLDER.values())


@for_each("name", sorted(FOUND))
def test_figures_are_of_no_later_version(name):
    assert all(version <= results.release(preimage.__version__) for version in FOUND[name].versions)


def test_older_figures_are_made_first_and_new_ones_not_again():
    found = [
        results.Result("new.md", [(9, 9)], "b.py --x", 5.0),
        results.Result("older.md", [(0, 2)], "c.py", 50.0),
        results.Result("unknown.json", [], "d.py", None),
        results.Result("oldest.md", [(0, 1), (1, 0)], "a.py", None),
        results.Result("same.json", [(0, 2)], "c.py", 70.0),
        results.Result("hand.md", [(0, 1)], None, None),
        results.Result("joined.md", [(0, 0)], "benchmarks/joined.py joined", 0.1),
    ]
    runs = results.runs(found)
    assert [run.command for run in runs] == ["d.py", "a.py", "c.py", "b.py --x", "benchmarks/joined.py joined"]
    assert [run.seconds for run in runs] == [results.UNKNOWN, results.UNKNOWN, 70.0, 5.0, 0.1]


@pytest.mark.parametrize(
    ("text", "versions", "command", "seconds"),
    [
        (
            "`python benchmarks/papers/ida.py --output docs/results/page.md`; preimage 1.2.3 (0a1b2c3d+); 5.5 minutes.",
            [(1, 2)],
            "benchmarks/papers/ida.py --output docs/results/page.md",
            330.0,
        ),
        ("Made by `python benchmarks/papers/ida.py`; preimage 1.2.3; preimage 0.9.0", [(0, 9), (1, 2)], None, None),
        ("no stamp; 3 minutes", [], None, None),
    ],
)
def test_stamps_of_pages(tmp_path, text, versions, command, seconds):
    path = tmp_path / "page.md"
    path.write_text(f"# Title\n\n{text}\n", encoding="utf-8")
    result = results.page(path)
    assert (result.versions, result.command, result.seconds) == (versions, command, seconds)


def test_reports_are_stamped_with_version_and_commit(monkeypatch):
    import _measure

    monkeypatch.setattr(
        _measure, "_git", lambda *arguments: "0a1b2c3d" if arguments[0] == "rev-parse" else "M src/x.py"
    )
    line = _measure.describe_machine()
    assert results.STAMP.match(line).groups() == (preimage.__version__, "0a1b2c3d+")

    def no_history(*arguments):
        raise OSError

    monkeypatch.setattr(_measure, "_git", no_history)
    assert re.match(rf"preimage {re.escape(preimage.__version__)}; ", _measure.describe_machine())
    monkeypatch.setenv("PREIMAGE_COMMIT", "1234abcd")
    assert results.STAMP.match(_measure.describe_machine()).groups() == (preimage.__version__, "1234abcd")
