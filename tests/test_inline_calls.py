"""Calls that texts quote in line, which no build runs, have parameters that exist.

``KernelPCA(0.95, gamma="median")`` in a sentence or a table is code that readers copy.
"""

import ast
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

from for_each import for_each

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path[:0] = [str(DOCS), str(DOCS / "_extensions")]
api, running_code = import_module("api"), import_module("running_code")

PAGES = [*(DOCS / page for page in running_code.pages()), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
CODE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", flags=re.MULTILINE | re.DOTALL)
PUBLIC = {name: getattr(import_module(module), name) for module in api.PUBLIC for name in import_module(module).__all__}


def quoted_calls(text):
    """Calls of public names in the inline code of a text."""
    for code in re.findall(r"`([^`\n]+)`", CODE.sub(" ", text)):
        try:
            tree = ast.parse(code.strip())
        except SyntaxError:  # a command, or an abbreviation
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node) in PUBLIC:
                yield code, node


def name_of(call):
    return ast.unparse(call.func).removeprefix("preimage.")


def problem(call):
    """What is wrong with a call, or None; an argument `...` stands for several."""
    if any(isinstance(each, ast.Constant) and each.value is ... for each in call.args):
        call = ast.Call(call.func, [each for each in call.args if not isinstance(each, ast.Constant)], call.keywords)
    signature = inspect.signature(PUBLIC[name_of(call)])
    try:
        signature.bind_partial(*call.args, **{each.arg: each.value for each in call.keywords if each.arg})
    except TypeError as error:
        return str(error)


@for_each("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_quoted_calls_have_parameters_that_exist(page):
    wrong = {code: problem(call) for code, call in quoted_calls(page.read_text(encoding="utf-8"))}
    assert not any(wrong.values()), {code: error for code, error in wrong.items() if error}


def test_a_wrong_call_is_found():
    calls = [
        node for _, node in quoted_calls("`KernelPCA(2, width=3)`, `preimage.save(m, width=3)`, `preimage explore`.")
    ]
    assert len(calls) == 2 and all("width" in problem(call) for call in calls)
    (call,) = [node for _, node in quoted_calls("| `KernelPCA(..., gamma=1)` |")]
    assert problem(call) is None
