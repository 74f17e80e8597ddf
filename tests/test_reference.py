"""The API reference: every public name has a page in one group, and a docstring with all that a page needs."""

import doctest
import enum
import functools
import importlib.util
import inspect
import io
import re
import warnings
from pathlib import Path

import pytest
from all_estimators import MODELS, fitted
from for_each import for_each
from sklearn.pipeline import Pipeline

pytest.importorskip("numpydoc", reason="pages of the reference are made with numpydoc, which the extra docs brings")
import sklearn.experimental.enable_iterative_imputer  # noqa: F401
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives, roles
from docutils.parsers.rst.directives.admonitions import Note
from numpydoc.docscrape import NumpyDocString
from numpydoc.docscrape_sphinx import SphinxDocString

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("api", DOCS / "api.py")
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)

OBJECTS = {full: value for full, value in api.public_objects().items() if api.is_documented(full)}
by_object = for_each("full", OBJECTS)
# Roles and directives that Sphinx adds to reStructuredText and that docstrings or numpydoc use.
for role in ("obj", "class", "func", "meth", "mod", "doc", "ref"):
    roles.register_generic_role(role, nodes.literal)
for directive in ("seealso", "only"):
    directives.register_directive(directive, Note)


def sections(full):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpydoc warns of unknown sections
        return NumpyDocString(inspect.getdoc(OBJECTS[full]))


def documented(doc):
    """Names of the parameters, in order; several may share an entry, as in ``x, y : arrays``."""
    return [name.strip().lstrip("*") for entry in doc["Parameters"] for name in entry.name.split(",")]


def expected(value):
    signature = inspect.signature(value)
    return [name for name in signature.parameters if name not in ("self", "cls")]


def test_every_object_is_in_one_task():
    names = [name for task in api.tasks() for name in task["names"]]
    assert sorted(names) == sorted(api.public_objects())


def test_pages_of_names_that_are_gone_are_removed_and_others_left_alone(tmp_path):
    api.write(tmp_path)
    (tmp_path / "preimage.Gone.rst").write_text("Gone\n====\n")
    before = (tmp_path / "index.rst").stat().st_mtime_ns
    api.write(tmp_path)
    assert not (tmp_path / "preimage.Gone.rst").exists()
    assert (tmp_path / "index.rst").stat().st_mtime_ns == before
    assert len(list(tmp_path.iterdir())) == len(api.public_objects()) + 2


@by_object
def test_a_docstring_has_an_example(full):
    """`pytest --doctest-modules` runs it; nothing is skipped."""
    example = "\n".join(sections(full)["Examples"])
    assert ">>>" in example
    assert "+SKIP" not in example


@pytest.mark.parametrize("full", api.texts())
def test_an_example_of_a_text_runs(full):
    """Texts of objects that have no docstring of this library."""
    run(api.texts()[full], full)
    assert not problems(api.texts()[full])


def run(text, name):
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert test.examples
    assert not doctest.DocTestRunner(verbose=False).run(test).failed


@by_object
def test_a_docstring_says_what_to_see_also(full):
    """Other public names or those of scikit-learn, each with the reason to go there."""
    entries = sections(full)["See Also"]
    assert entries, "no See Also"
    for names, reason in entries:
        assert " ".join(reason).strip(), f"no reason to see {names}"
        for name, _ in names:
            other = resolved(name, full.rpartition(".")[0])
            assert other is not None, f"{name} is not public"
            assert other is not OBJECTS[full], "a name does not cite itself"


def resolved(name, module):
    """A public object or a method of one, by its full name or one that the module of the page has."""
    if re.match(r"(sklearn|numpy|scipy)\.", name):
        parent, _, last = name.rpartition(".")
        return getattr(importlib.import_module(parent), last, None)
    objects = api.public_objects()
    for candidate in (name, f"{module}.{name}"):
        if candidate in objects:
            return objects[candidate]
        owner, _, member = candidate.rpartition(".")
        if owner in objects and inspect.isclass(objects[owner]):
            return getattr(objects[owner], member, None)
    return None


@by_object
def test_all_parameters_of_a_signature_are_described(full):
    value = OBJECTS[full]
    if inspect.isclass(value) and (issubclass(value, (Exception, enum.Enum)) or inspect.isabstract(value)):
        return
    doc = sections(full)
    fields = [name.strip() for entry in doc["Attributes"] for name in entry.name.split(",")]
    missing = [name for name in expected(value) if name not in [*documented(doc), *fields]]
    assert not missing, f"{missing} not described"
    assert set(documented(doc)) <= set(expected(value)), "other names than those of the signature"
    assert not [entry.name for entry in doc["Parameters"] if not "".join(entry.desc)], "an empty description"


@for_each("model", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_attributes_of_a_fitted_model_are_described(model):
    found = fitted(model)
    found = found[-1] if isinstance(found, Pipeline) else found
    described = NumpyDocString(inspect.getdoc(type(found)))["Attributes"]
    described = {name.strip() for entry in described for name in entry.name.split(",")}
    names = {name for name in {*vars(found), *dir(type(found))} if re.fullmatch(r"[A-Za-z]\w*[a-z]_", name)}
    assert not names - described


@by_object
def test_functions_say_what_they_return(full):
    value = OBJECTS[full]
    if inspect.isfunction(value) and inspect.signature(value).return_annotation is not None:
        assert sections(full)["Returns"] or sections(full)["Yields"]


@by_object
def test_parameters_of_methods_are_those_of_their_signatures(full):
    for member, function in methods(OBJECTS[full]).items():
        names = documented(NumpyDocString(inspect.getdoc(function)))
        assert not names or set(names) == set(expected(function)), f"{member}: {names} for {expected(function)}"


@by_object
def test_docstrings_are_valid_restructuredtext(full):
    """Also those of methods: what docutils reports becomes a warning of the site's build."""
    texts = {full: OBJECTS[full]} | methods(OBJECTS[full])
    found = {name: problems(inspect.getdoc(value)) for name, value in texts.items()}
    assert not {name: messages for name, messages in found.items() if messages}


def methods(value):
    """Methods and properties that the page of a class describes."""
    if not inspect.isclass(value):
        return {}
    found = {name: inspect.getattr_static(value, name) for name in api.members_of(value)[0]}
    return {name: function_of(each) for name, each in found.items()}


def function_of(member):
    """The function of a method, of one that only some instances have, or of a property, cached or not."""
    for attribute in ("fget", "fn", "func", "__func__"):
        member = getattr(member, attribute, member)
    return member


@functools.cache  # classes share docstrings of inherited methods
def problems(text):
    """What docutils reports of a docstring as numpydoc renders it."""
    errors = io.StringIO()
    rendered = str(SphinxDocString(text, config={}))
    publish_doctree(rendered, settings_overrides={"warning_stream": errors, "report_level": 2, "default_role": "obj"})
    return errors.getvalue()
