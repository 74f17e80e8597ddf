"""What is known of the project from its own files."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
URLS = PROJECT["urls"]
# Python versions that the project promises to work with, as texts such as "3.11".
PYTHONS = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if " :: 3." in text]


def raw_url(version):
    """Where files of a version can be fetched as they are."""
    return URLS["Source"].replace("github.com", "raw.githubusercontent.com") + f"/v{version}/"
