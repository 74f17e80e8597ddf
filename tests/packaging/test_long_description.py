"""The README on PyPI, where only absolute addresses lead somewhere."""

import re

import pytest
from _project import ROOT, URLS, raw_url

import preimage

LINK = re.compile(r"""!?\[[^\]]*\]\(([^)\s]+)[^)]*\)|(?:src|srcset|href)="([^"]+)\"""")
# The build writes these from what is named here.
WRITTEN_BY_THE_BUILD = {"api/index.html": ROOT / "docs" / "api.py", "gallery/index.html": ROOT / "examples"}
FENCE = re.compile(r"^```.*?^```", flags=re.MULTILINE | re.DOTALL)


def addresses(text):
    """Where links and pictures of a Markdown text lead; links on pictures are found by their own pattern."""
    text = FENCE.sub("", text)
    around_pictures = re.findall(r"\]\([^)\s]+\)\]\(([^)\s]+)", text)
    return [first or second for first, second in LINK.findall(text)] + around_pictures


def file_of(address):
    """The file of the repository that an address of ours shows, without anchors; None for addresses of others."""
    address = address.partition("#")[0]
    if address.startswith(URLS["Documentation"]):
        name = address.removeprefix(URLS["Documentation"])
        if name in WRITTEN_BY_THE_BUILD:
            return WRITTEN_BY_THE_BUILD[name]
        return ROOT / "docs" / (name.removesuffix(".html") + ".md" if name else "index.md")
    for place in (f"{URLS['Source']}/blob/v{preimage.__version__}/", raw_url(preimage.__version__)):
        if address.startswith(place):
            return ROOT / address.removeprefix(place)
    return None


@pytest.fixture(scope="module")
def description(metadata):
    return metadata.get_payload(decode=True).decode("utf-8")


def test_every_address_is_absolute_or_within_the_page(description):
    assert not [address for address in addresses(description) if not address.startswith(("https://", "#"))]


def test_every_address_of_ours_shows_a_file_that_exists(description):
    shown = [path for address in addresses(description) if (path := file_of(address)) is not None]
    assert shown and not [str(path) for path in shown if not path.exists()]


def test_pictures_are_fetched_as_files(description):
    found = re.findall(r"""!\[[^\]]*\]\(([^)\s]+)|<img [^>]*?src="([^"]+)\"""", FENCE.sub("", description))
    for picture in [first or second for first, second in found]:
        assert picture.startswith("https://") and not picture.startswith(URLS["Source"] + "/blob/")


def test_nothing_but_addresses_is_changed(description):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(addresses(description)) == len(addresses(readme))
    without = [re.sub(r'\]\([^)\s]+|(src|srcset|href)="[^"]+', "", text) for text in (description, readme)]
    assert without[0].strip() == without[1].strip()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[a](docs/guides/denoise.md#try-it)", "[a]({site}guides/denoise.html#try-it)"),
        ("![Digits](docs/images/digits.png)", "![Digits]({raw}docs/images/digits.png)"),
        ('<img width="80" src="docs/images/digits.png">', '<img width="80" src="{raw}docs/images/digits.png">'),
        ("[![Digits](docs/a.png)](docs/start/index.md)", "[![Digits]({raw}docs/a.png)]({site}start/index.html)"),
        ("[l](LICENSE), [b](benchmarks/README.md)", "[l]({blob}LICENSE), [b]({blob}benchmarks/README.md)"),
        ("[s](https://scikit-learn.org) [t](#top)", "[s](https://scikit-learn.org) [t](#top)"),
        ('<a href="docs/recipes.md">', '<a href="{site}recipes.html">'),
    ],
)
def test_kinds_of_links(written, expected):
    builder = pytest.importorskip("hatch_fancy_pypi_readme._builder", reason="needs hatch-fancy-pypi-readme")
    from _project import PYPROJECT
    from hatch_fancy_pypi_readme._substitutions import Substituter

    hook = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    rules = [Substituter.from_config(rule) for rule in hook["substitutions"]]

    class Text:
        def render(self):
            return written

    places = {"site": URLS["Documentation"], "raw": raw_url("1.2"), "blob": URLS["Source"] + "/blob/v1.2/"}
    assert builder.build_text([Text()], rules, "preimage", "1.2") == expected.format(**places)
