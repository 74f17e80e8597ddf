"""scikit-learn's checks of arrays of other libraries, in a process in which SciPy takes such arrays too.

SciPy reads SCIPY_ARRAY_API once, when it is imported. The rest of the suite runs without it, as most users do, and
leaves these checks out (`tests/conftest.py`). To see one of them alone::

    SCIPY_ARRAY_API=1 python -m pytest tests/estimators/test_checks.py -k "check_array_api and KernelKMeans"
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.utils import get_tags

from preimage import KernelPCA

TESTS = Path(__file__).parents[1]
# All files with `parametrize_with_checks`.
CHECKED = [
    "estimators/test_checks.py",
    "estimators/compressed/test_compressed_checks.py",
    "model_selection/test_width_search.py",
    "inflation/test_renormalized_checks.py",
]
# Reasons for which checks may be skipped: libraries and devices that are not here.
ABSENT = re.compile("is not installed|requires cuda|no XPU device|XPU is not available|MPS")


def with_scipy_array_api(*arguments):
    """Numbers of tests by outcome of a pytest in that environment, and what it printed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore", *arguments],
        env={**inherited, "SCIPY_ARRAY_API": "1"},
        cwd=TESTS,
        capture_output=True,
        encoding="utf-8",
    )
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (passed|failed|errors?|skipped)", done.stdout)}
    return counts, done.stdout + done.stderr


@pytest.mark.net
def test_estimators_pass_the_checks_of_scikit_learn():
    if not get_tags(KernelPCA()).array_api_support:
        pytest.skip("this SciPy is too old for the checks")
    counts, printed = with_scipy_array_api("-k", "check_array_api", *CHECKED)
    assert set(counts) <= {"passed", "skipped"}, printed[-6000:]
    # NumPy and array-api-strict are installed wherever the suite runs: four checks of each of some fifty estimators.
    assert counts["passed"] > 180, printed[-6000:]
    skipped = [line for line in printed.splitlines() if line.startswith("SKIPPED")]
    assert all(ABSENT.search(line) for line in skipped), "\n".join(skipped)


def test_every_file_of_checks_takes_part():
    found = {path for path in TESTS.rglob("test_*.py") if "@parametrize_with_checks" in path.read_text("utf-8")}
    assert found == {Path(__file__)} | {TESTS / name for name in CHECKED}


@pytest.mark.net
def test_what_holds_without_that_environment_holds_in_it():
    counts, printed = with_scipy_array_api(
        "estimators/test_array_api_tag.py", "_engine/test_arrays.py", "_engine/test_linalg.py"
    )
    assert set(counts) <= {"passed", "skipped"}, printed[-6000:]
    assert counts["passed"] > 100
