"""Files that pages are made of: modules, styles and the document around them."""

from functools import cache
from importlib.resources import files


@cache
def asset(name: str) -> str:
    """The text of a file, such as "js/main.js"."""
    return (files("preimage.explorer") / "assets" / name).read_text(encoding="utf-8")


def names_of(folder: str) -> list[str]:
    """Names of the files in a folder, sorted."""
    return sorted(each.name for each in (files("preimage.explorer") / "assets" / folder).iterdir())
