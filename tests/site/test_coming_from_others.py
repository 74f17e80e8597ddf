"""Pages for users of other estimators of scikit-learn list all their parameters, with the defaults of both sides."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.impute import KNNImputer
from sklearn.svm import SVC

from preimage import KernelImputer, SparseGreedyClassifier

START = Path(__file__).parents[2] / "docs" / "start"
PAGES = {"from_svc": (SVC, SparseGreedyClassifier), "from_knn_imputer": (KNNImputer, KernelImputer)}
each_page = pytest.mark.parametrize(("page", "theirs", "ours"), [(page, *pair) for page, pair in PAGES.items()])


def table(page):
    """What both sides say about each parameter of the other library."""
    text = (START / f"{page}.md").read_text(encoding="utf-8")
    section = text.partition("## Every parameter")[2].partition("\n## ")[0]
    found = {}
    for line in re.findall(r"^\| `.*", section, flags=re.MULTILINE):
        first, there, here = (cell.strip() for cell in line.strip("|").split(" | "))
        found |= {name: (there, here.rstrip(" |")) for name in re.findall(r"`(\w+)`", first)}
    return found


def default(estimator, name):
    return written(str(inspect.signature(estimator).parameters[name].default))


def quoted(cell):
    return [written(value) for value in re.findall(r"default `?([^`\s:;,]+)", cell)]


def written(value):
    """A default in one spelling: 1e-6 is 1e-06."""
    try:
        return str(float(value))
    except ValueError:
        return value.strip('"')


@each_page
def test_every_parameter_is_listed(page, theirs, ours):
    assert set(table(page)) == set(inspect.signature(theirs).parameters)


@each_page
def test_defaults_are_those_of_the_signatures(page, theirs, ours):
    for name, (there, here) in table(page).items():
        assert set(quoted(there)) <= {default(theirs, name)}, name
        if here.startswith("the same") and quoted(there):
            assert default(theirs, name) == default(ours, name), name
        if quoted(here) and name in inspect.signature(ours).parameters:
            assert quoted(here) == [default(ours, name)], name


def test_parameters_said_to_be_only_here_are():
    text = (START / "from_knn_imputer.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(\w+)`", re.search(r"^Only here: (.*?)\n\n", text, flags=re.MULTILINE | re.DOTALL)[1]))
    assert names
    assert names <= set(inspect.signature(KernelImputer).parameters) - set(inspect.signature(KNNImputer).parameters)
