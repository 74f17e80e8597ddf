"""The HTML around the data: modules inlined each in its scope, and a policy that names what may run."""

import base64
import hashlib
import re

import numpy as np
import pytest

from preimage.explorer import _page
from preimage.explorer._page import bundle, page_of


@pytest.fixture
def modules(monkeypatch):
    """Modules of a test in place of those of the explorer."""

    def use(**sources):
        monkeypatch.setattr(_page, "asset", lambda name: sources[name.removeprefix("js/").removesuffix(".js")])
        bundle.cache_clear()
        return bundle("main.js")

    yield use
    bundle.cache_clear()


def test_modules_come_after_those_they_import_and_keep_their_names_apart(modules):
    script = modules(
        main='import { twice as double } from "./numbers.js";\nconst hidden = 1;\nexport const four = double(2);\n',
        numbers="const hidden = 2;\nexport function twice(x) { return hidden * x; }\n",
    )
    assert script.index("module_numbers = ") < script.index("module_main = ")
    assert "const { twice: double } = module_numbers;" in script
    assert "return { four };" in script and "return { twice };" in script


def test_comments_on_lines_of_their_own_stay_behind(modules):
    script = modules(
        main="// What this is.\n/**\n * What it does: `like this,\n * on two lines`.\n */\n"
        'export const address = "http://a/*b"; // kept\nexport const half = 4 / 2; /* kept */\n'
    )
    assert "What" not in script and "like this" not in script
    assert 'const address = "http://a/*b"; // kept\nconst half = 4 / 2; /* kept */' in script


def test_modules_in_a_circle_are_named(modules):
    with pytest.raises(ValueError, match=r"main\.js"):
        modules(main='import { a } from "./other.js";\n', other='import { b } from "./main.js";\n')


@pytest.mark.parametrize(
    "source", ['import x from "./y.js";', "export default 3;", "const a = `\n`;", 'const a = "</script>";']
)
def test_what_cannot_be_inlined_is_refused(modules, source):
    with pytest.raises(ValueError, match=r"main\.js"):
        modules(main=source)


def test_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else():
    page = page_of({"title": "a < b", "array": np.zeros(1)})
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    for name, text in {"script-src": script, "style-src": style}.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "<title>a &lt; b</title>" in page
