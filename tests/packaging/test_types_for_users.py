"""The programs of guides and examples are typed as a user's program is, against the annotations of the library."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="programs are checked by mypy")
pytestmark = pytest.mark.net

ROOT = Path(__file__).parents[2]
BLOCKS = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What would be a wrong annotation of ours; the others are about names that a program uses twice, or Matplotlib's own.
CODES = ("attr-defined", "call-arg", "index", "name-defined", "operator", "return-value", "union-attr", "valid-type")
# What only some results have: the parameters of a solver with parameters, errors on rows that were given.
KNOWN = (
    '"PreimageResult" has no attribute "parameters"',
    'dtype[Any]] | None" is not indexable',
    'dtype[Any]] | None" has no attribute "min"',
)


def written(folder):
    for page in sorted((ROOT / "docs" / "guides").glob("*.md")):
        blocks = BLOCKS.findall(page.read_text(encoding="utf-8"))
        (folder / f"guide_{page.stem}.py").write_text("\n".join(blocks), encoding="utf-8")
    for example in sorted((ROOT / "examples").rglob("*.py")):
        (folder / f"example_{example.stem}.py").write_text(example.read_text(encoding="utf-8"), encoding="utf-8")


def test_programs_of_pages_agree_with_the_annotations(tmp_path):
    written(tmp_path)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "examples")])
    command = [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, "--no-error-summary", "--show-error-codes", f"--cache-dir={tmp_path / 'cache'}", "."],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    lines = [line for line in done.stdout.splitlines() if line.endswith(tuple(f"[{code}]" for code in CODES))]
    assert not [line for line in lines if not any(known in line for known in KNOWN)]
