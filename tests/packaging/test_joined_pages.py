"""Pages that are put together from several records are what these records say."""

from pathlib import Path

import joined
from for_each import for_each

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@for_each("page", sorted(joined.PAGES))
def test_pages_are_written_from_the_records(page):
    written = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
    assert written == "\n".join(joined.report_lines(page)) + "\n", (
        f"python benchmarks/joined.py --write makes {page}.md"
    )
