"""What the modules and styles of a page may not contain, read from their sources."""

import re
from importlib.resources import files

import pytest
from browser import MODULES
from for_each import for_each
from test_words import found

ASSETS = MODULES.parent
SCRIPTS = sorted(MODULES.rglob("*.js"))
STYLES = sorted(ASSETS.rglob("*.css"))
each_script = for_each("path", SCRIPTS, ids=lambda path: str(path.relative_to(MODULES)))

# Ways from text to code or markup, and ways out of the file. The policy of a page stops most of them when they run;
# here they are found even where no test goes.
FORBIDDEN = {
    r"\beval\s*\(": "eval",
    r"\bnew\s+Function\b": "code from text",
    r"\b(?:inner|outer)HTML\b|\binsertAdjacentHTML\b|\bsrcdoc\b|\bcreateContextualFragment\b|\bDOMParser\b": "markup",
    r"\bdocument\s*\.\s*write": "markup",
    r"setAttribute\(\s*[\"'](?:style|on\w+)[\"']|[\s{,]style:\s*[\"'`]|\bcssText\b": "an inline style or handler",
    r"\bfetch\s*\(|\bXMLHttpRequest\b|\bWebSocket\b|\bEventSource\b|\bsendBeacon\b|\bimportScripts\b": "a request",
    r"\b(?:new\s+)?(?:Shared)?Worker\s*\(|\bimport\s*\(|\bserviceWorker\b": "code from elsewhere",
    # Pages in a notebook have no origin of their own; there these throw.
    r"\blocalStorage\b|\bsessionStorage\b|\bindexedDB\b|\bdocument\s*\.\s*cookie\b": "storage",
    r"\b(?:alert|confirm|prompt)\s*\(": "a dialog, which blocks the page",
    r"\bconsole\s*\.": "a message nobody reads",
}
# The name of the language of drawings is an address that nobody visits; the one of the library is a link to click on.
ADDRESSES = re.compile(
    r"https?://(?!www\.w3\.org/2000/svg\b|preimage-dev\.github\.io/preimage/\")[^\s\"'`)]+|[\"'(]//\w"
)


def without_comments(source):
    """Code alone, line by line as before."""
    return re.sub(
        r"/\*.*?\*/|(?<![:\"'`\\/])//[^\n]*", lambda text: "\n" * text[0].count("\n"), source, flags=re.DOTALL
    )


def texts_of_script(source):
    """Comments and strings with their line numbers."""
    pattern = r"/\*.*?\*/|(?<![:\"'`\\/])//[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`"
    for match in re.finditer(pattern, source, flags=re.DOTALL):
        yield source[: match.start()].count("\n") + 1, re.sub(r"\$\{[^{}]*\}|\n\s*(?:\*|//)", " ", match[0])


def test_there_are_scripts_and_styles():
    assert len(SCRIPTS) > 10 and STYLES
    assert (files("preimage.explorer") / "assets" / "page.html").is_file()


@each_script
def test_scripts_make_no_markup_no_code_and_no_request(path):
    code = without_comments(path.read_text(encoding="utf-8"))
    for pattern, what in FORBIDDEN.items():
        assert not re.search(pattern, code), f"{path.name} has {what}: {re.search(pattern, code)[0]!r}"
    assert not ADDRESSES.search(code)


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_styles_load_nothing(path):
    style = path.read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import|@font-face|</style", style, flags=re.IGNORECASE)


@each_script
def test_scripts_use_plain_words(path):
    assert not found(texts_of_script(path.read_text(encoding="utf-8")))


@each_script
def test_exported_functions_say_what_they_do(path):
    source = path.read_text(encoding="utf-8")
    for match in re.finditer(r"^export (?:async )?(?:function\*?|class) (\w+)", source, flags=re.MULTILINE):
        assert source[: match.start()].rstrip().endswith("*/"), f"{path.name}: {match[1]} has no comment"


@each_script
def test_scripts_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


def test_what_is_forbidden_is_found():
    """A rule that finds nothing anywhere would be no rule."""
    bad = (
        "x = eval(text); new Function('a'); node.innerHTML = a; document.write(b); node.setAttribute('style', c); "
        "fetch(d); new Worker(e); localStorage.f = 1; alert(g); console.log(h); import('./i.js')"
    )
    assert all(re.search(pattern, bad) for pattern in FORBIDDEN)
    assert ADDRESSES.search('load("https://example.org/x.js")') and ADDRESSES.search('load("//example.org/x.js")')
    assert "eval" not in without_comments("// eval(x)\nf(); /* eval(y)\n */") and "f()" in without_comments(
        "// x\nf();"
    )
    assert found(texts_of_script("// One value per row.\nconst a = 1; // a slope\n")) == [
        "line 2: 'slope', write 'first derivative'"
    ]
