"""What the site adds to Sphinx: equations as MathML, links to the reference and to the repository, descriptions."""

from functools import partial
from pathlib import Path

import pytest

import_or_skip = partial(pytest.importorskip, reason="the packages of the extra 'docs' are not installed")
nodes = import_or_skip("docutils.nodes")
descriptions = import_or_skip("descriptions")
mathml = import_or_skip("mathml")
names = import_or_skip("names")
repository_links = import_or_skip("repository_links")

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "text", [r"\frac12", r"x_1, \dots, x_n", r"\Big( \frac{a}{b} \Big)^2", r"a < b\ \text{if } c", "^d", r"\tfrac12 x"]
)
def test_spellings_of_latex_are_converted(text):
    assert mathml.converted(text).startswith("<math")


def test_indices_of_accented_letters_stand_beside_them():
    assert "munderover" not in mathml.converted(r"\tilde\gamma_i", as_block=True)
    assert "munderover" in mathml.converted(r"\sum_{i=1}^n", as_block=True)


def test_bars_with_an_exponent_are_not_stretched():
    assert '<mo stretchy="false">‖</mo>' in mathml.converted(r"\lVert x \rVert^2")


@pytest.mark.parametrize(("text", "spaces"), [(r"s \tanh s", 2), (r"\log(s)", 0), (r"\operatorname{tr} K", 1)])
def test_names_of_functions_stand_apart_from_letters(text, spaces):
    assert mathml.converted(text).count("<mspace") == spaces


def test_bars_grow_between_left_and_right_only():
    assert mathml.converted(r"\|x\|^2 + \langle a, b \rangle").count('stretchy="false"') == 4
    assert mathml.converted(r"\lVert x \rVert^2").count('stretchy="false"') == 2
    assert "stretchy" not in mathml.converted(r"\left\| x \right\|")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("KernelPCA", "KernelPCA"),
        ("KernelPCA(0.95).fit(X)", "KernelPCA"),
        ("preimage.solvers.FixedPoint", "preimage.solvers.FixedPoint"),
        ("KernelPCA.denoise", "KernelPCA.denoise"),
        ("gamma_from_width(8)", "gamma_from_width"),
    ],
)
def test_inline_code_begins_with_a_name(code, name):
    assert names.NAME.match(code)[0] == name


@pytest.mark.parametrize("code", ["n_components=3", "64 columns", "pip install preimage", "X @ Y"])
def test_inline_code_that_is_no_name_stays_code(code):
    match = names.NAME.match(code)
    assert match is None or match[0] not in names.public_names()


def test_names_of_other_libraries_are_recognised_by_what_stands_before():
    assert names.OTHERS.search("as in scikit-learn's ") and not names.OTHERS.search("as in ")


def test_code_in_a_link_of_its_own_or_in_a_heading_is_left_alone():
    addnodes = import_or_skip("sphinx.addnodes")
    for kind, expected in [(nodes.paragraph, True), (nodes.title, False), (addnodes.pending_xref, False)]:
        code = nodes.literal("", "KernelPCA")
        parent = kind()
        parent += code
        assert names.may_be_link(code) == expected


def test_the_package_comes_before_its_modules():
    assert names.public_names()["explore"] == "preimage.explore"
    assert names.public_names()["FixedPoint"] == "preimage.solvers.FixedPoint"


def test_links_out_of_the_documentation_lead_to_the_repository():
    text = "[a](../Makefile) [b](design.md) [c](https://example.org) [d](../tests/)\n```\n[a](../Makefile)\n```\n"
    found = repository_links.with_repository_links(text, ROOT / "docs", "https://host")
    assert found == text.replace("[a](../Makefile) ", "[a](https://host/blob/main/Makefile) ").replace(
        "[d](../tests/)", "[d](https://host/tree/main/tests)"
    )


def test_a_description_ends_with_a_sentence_or_a_word():
    long = "A sentence that says what the page is about, in as many words as it takes. " + "And another one " * 10
    section = nodes.section("", nodes.title("", "Title"), nodes.note("", nodes.paragraph("", "A note")))
    section += nodes.paragraph("", long)
    assert (
        descriptions.description(section)
        == "A sentence that says what the page is about, in as many words as it takes."
    )
    assert descriptions.description(nodes.section("", nodes.paragraph("", "word " * 60))).endswith("word …")


@pytest.mark.parametrize("text", ["S. Mika et al., 1999.", "I. Steinwart, 2008.", "M. Figueiredo, 2002."])
def test_references_keep_the_initial_of_their_author(text):
    from docutils.core import publish_doctree

    initials = import_or_skip("initials")
    document = publish_doctree(f"Text [1]_.\n\n.. [1] {text}\n")
    (found,) = document.findall(nodes.enumerated_list)
    assert "".join(part.astext() for part in initials.with_initial(found)) == text
