"""Modules as one script, each in its scope; style sheets as one."""

from importlib.resources import files

import pytest

from preimage.explorer._bundle import bundle, styles


@pytest.fixture
def modules(tmp_path):
    """The script of modules that a test writes."""

    def use(**sources):
        for name, source in sources.items():
            (tmp_path / f"{name}.js").write_text(source, encoding="utf-8")
        return bundle(tmp_path, "main.js")

    return use


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


def test_styles_begin_with_the_common_ones():
    assets = files("preimage.explorer") / "assets"
    text = styles(assets)
    assert text.startswith((assets / "style.css").read_text(encoding="utf-8"))
    assert all(each.read_text(encoding="utf-8") in text for each in (assets / "css").iterdir())
