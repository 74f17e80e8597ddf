"""Code of pages runs in order, shares what it makes, and fails with the page's own line."""

import os

import pytest
import running_code

PAGE = """---
requires: [numpy, no_such_package]
---

# A page

```python
class Point:
    pass

print("first")
open("made.txt", "w").write("by Python\\n")
```

:::{note}
  ```bash
  cat made.txt
  ```
:::

```sh
this is shown and not run
```

```python
import pickle
import matplotlib.pyplot as plt

print(type(pickle.loads(pickle.dumps(Point()))).__name__)
plt.plot([1, 2])
plt.title("Two points")
```
"""


def test_blocks_that_run_are_found_with_their_lines():
    found = running_code.blocks(PAGE)
    assert [block.language for block in found] == ["python", "bash", "python"]
    assert [PAGE.splitlines()[block.line - 1].strip() for block in found] == [
        "class Point:",
        "cat made.txt",
        "import pickle",
    ]
    assert found[1].code == "cat made.txt\n"


def test_packages_that_a_page_requires_and_that_are_not_there_are_named():
    assert running_code.missing_packages(PAGE) == ["no_such_package"]
    assert running_code.missing_packages("# A page\n\nrequires: [no_such_package]\n") == []


@pytest.mark.skipif(os.name == "nt", reason="pages have blocks of bash, which on Windows is that of another system")
def test_a_page_runs_in_one_namespace_and_one_folder(tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    first, shell, last = running_code.outputs(page)
    assert (first.printed, shell.printed, last.printed) == ("first\n", "by Python\n", "Point\n")
    assert [figure.text for figure in last.figures] == ["Two points"]
    assert running_code.kept_outputs(page) == [first, shell, last]
    page.write_text(PAGE.replace('"first"', '"second"'), encoding="utf-8")
    assert running_code.kept_outputs(page) is None


def test_a_block_that_fails_is_reported_with_its_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nx = 1\nx / 0\n```\n", encoding="utf-8")
    with pytest.raises(running_code.PageError, match=r"page\.md.*line 5(.|\n)*ZeroDivisionError"):
        running_code.outputs(page)
    assert running_code.kept_outputs(page) is None
