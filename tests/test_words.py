"""Plain English: the words of the field instead of private vocabulary.

The texts are docstrings, comments and messages of the source, and the prose of the documentation; identifiers and code
are not searched.
"""

import io
import re
import tokenize
from pathlib import Path

import preimage

ROOT = Path(__file__).parents[1]
SOURCE = Path(preimage.__file__).parent
SOURCES = [*sorted(SOURCE.rglob("*.py")), *sorted((ROOT / "examples").rglob("*.py"))]
GENERATED = ("_build", "gallery", "generated", "records")
DOCS = ROOT / "docs"
WRITTEN = [page for page in sorted(DOCS.rglob("*.md")) if not set(page.relative_to(DOCS).parts) & set(GENERATED)]
PAGES = [*WRITTEN, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
# The text of an f-string is a token of its own from Python 3.12 on; before, it is a string with its expressions.
STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}

AMOUNTS = (
    "one|two|three|four|five|ten|numbers?|values?|sums?|steps|products|bytes|coefficients|entries|seconds|functions?"
)
UNITS = (
    "row|point|pair|class|column|component|query|fold|width|block|vector|step|function|axis|ridge|alpha|chunk|thread|"
    "voxel|degree|feature|method|digit|problem|target|landmark|kernel"
)
# What not to write, and what to write instead.
WORDS = {
    # "the values a point has" is a relative clause.
    rf"\b(?:{AMOUNTS}) an? (?:{UNITS})\b(?! (?:has|outside))": "one per row, two products per step",
    r"\bshares? of (?:the|a|all|its|their)\b|\b(?:as )?(?:a|this) share\b": "a fraction of the variance, relative",
    r"\b(?:the|a) way back\b": "the pre-image, the inverse transformation",
    r"\bslopes?\b": "first derivative",
    r"\bbends?\b": "second derivative, curvature, deforms",
    r"\bpulls?\b": "contracted gradient, penalty on the distance",
    r"\bbeside\b": "on the same device as, next to, compared with",
    r"\bhome\b": "device",
    r"\bnam(?:es|ed|ing) by\b|\bspeaks? for\b": "predicts, classifies, supports",
    r"\bthan? (?:that|this) are none\b|\bthat is none\b": "are rounding noise and are dropped",
    r"\bstrangers?\b": "orthogonal, unrelated",
    r"\banything can come\b|\bof which anything\b": "is undefined",
    r"\bmade-up\b": "synthetic",
}
# A straight line and a logistic function have a slope in every textbook.
STRAIGHT_LINES = {"inflation/_corrections.py", "inflation/_transfer.py", "discriminants/_rule.py"}


def texts_of_source(path):
    """The strings and comments of a module with their line numbers; comments on successive lines are one text."""
    comments, last = [], 0
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            if comments and line == last + 1:
                comments[-1] = comments[-1][0], comments[-1][1] + "\n" + token.string.lstrip("#")
            else:
                comments.append((line, token.string.lstrip("#")))
            last = line
        elif token.type in STRINGS:
            is_f_string = re.match(r"[a-z]*f[a-z]*[\"']", token.string, flags=re.IGNORECASE)
            yield token.start[0], re.sub(r"\{[^{}]*\}", " ", token.string) if is_f_string else token.string
    yield from comments


def texts_of_page(path):
    """A page without its code; line breaks of code stay, so that line numbers are right."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    yield 1, re.sub(r"`[^`\n]*`|\]\([^)]*\)", " ", text)


def found(texts, words=WORDS):
    """Every phrase of the table in these texts, with its line and what to write instead."""
    return [
        f"line {line + text[: match.start()].count(chr(10))}: {' '.join(match[0].split())!r}, write {instead!r}"
        for line, text in texts
        for pattern, instead in words.items()
        for match in re.finditer(pattern.replace(" ", r"\s+"), text, flags=re.IGNORECASE)
    ]


def test_texts_of_the_source_use_plain_words():
    without_slope = {pattern: instead for pattern, instead in WORDS.items() if "slope" not in pattern}
    for path in SOURCES:
        straight = f"{path.parent.name}/{path.name}" in STRAIGHT_LINES
        phrases = found(texts_of_source(path), without_slope if straight else WORDS)
        assert not phrases, f"{path.relative_to(path.parents[2])}: {phrases}"


def test_pages_use_plain_words():
    for path in PAGES:
        phrases = found(texts_of_page(path))
        assert not phrases, f"{path.name}: {phrases}"


def test_phrases_are_found_in_texts_and_not_in_code(tmp_path):
    module, page = tmp_path / "module.py", tmp_path / "page.md"
    module.write_text('"""One value a\nrow."""\n\nslope = 1  # as a share\nmessage = f"{slope} products a step"\n')
    page.write_text("Text.\n\n```python\nslope = 1\n```\n\nThe `slope` pulls.\n")
    lines = [phrase.partition(",")[0] for phrase in found(texts_of_source(module))]
    assert lines == ["line 1: 'value a row'", "line 5: 'products a step'", "line 4: 'as a share'"]
    assert [phrase.partition(",")[0] for phrase in found(texts_of_page(page))] == ["line 7: 'pulls'"]
