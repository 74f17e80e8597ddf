"""The page for users of scikit-learn lists all that its KernelPCA has, and nothing that it does not have."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as Peer

from preimage import KernelPCA

PAGE = (Path(__file__).parents[1] / "docs" / "start" / "from_scikit_learn.md").read_text(encoding="utf-8")
# Mixed in by scikit-learn for metadata routing: one for each method with optional arguments.
REQUESTS = re.compile(r"set_\w+_request")


def section(heading):
    return PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def rows(heading):
    """The table of a section: the names in the first column of each row, and its other cells."""
    table = {}
    for line in section(heading).splitlines():
        if line.startswith("| `"):
            first, *others = line.strip("|").split(" | ")
            table |= {name: [cell.strip() for cell in others] for name in re.findall(r"`(\w+)`", first)}
    return table


def only_here(heading):
    return set(re.findall(r"`(\w+)`", section(heading).partition("Only here: ")[2]))


def parameters(estimator):
    return inspect.signature(estimator).parameters


def documented_attributes(estimator):
    text = inspect.getdoc(estimator).partition("Attributes\n----------\n")[2].partition("\nSee Also\n")[0]
    return set(re.findall(r"^(\w+_) : ", text, flags=re.MULTILINE))


def methods(estimator):
    names = {name for name, _ in inspect.getmembers(estimator, callable) if not name.startswith("_")}
    return {name for name in names if not REQUESTS.fullmatch(name)}


def test_every_parameter_is_listed():
    assert set(rows("Every parameter")) == set(parameters(Peer))
    assert only_here("Every parameter") == set(parameters(KernelPCA)) - set(parameters(Peer))


def test_parameters_that_are_called_the_same_have_equal_defaults():
    for name, cells in rows("Every parameter").items():
        if cells[-1].startswith("the same"):
            assert parameters(Peer)[name].default == parameters(KernelPCA)[name].default, name


@pytest.mark.parametrize("name", sorted(parameters(Peer)))
def test_defaults_that_the_page_quotes_are_those_of_the_signatures(name):
    for estimator, cell in zip((Peer, KernelPCA), rows("Every parameter")[name], strict=True):
        default = parameters(estimator)[name].default
        written = f'"{default}"' if isinstance(default, str) else str(default)
        assert set(re.findall(r"default `?([^`\s:;,]+)", cell)) <= {written}


def test_every_attribute_is_listed():
    assert set(rows("Every attribute")) == documented_attributes(Peer)


def test_attributes_are_where_the_page_says():
    X = np.random.default_rng(0).normal(size=(30, 4))
    ours = KernelPCA(3, fit_inverse_transform=True, alpha=0.1).fit(X)
    theirs = Peer(3, kernel="rbf", fit_inverse_transform=True, alpha=0.1).fit(X)
    for name, (said,) in rows("Every attribute").items():
        if name != "feature_names_in_":  # of data frames only
            assert hasattr(ours, name) == said.startswith("the same"), name
    assert all(hasattr(ours, name) and not hasattr(theirs, name) for name in only_here("Every attribute"))


def test_every_method_is_listed():
    assert set(rows("Every method")) == methods(Peer) - {"set_callbacks"}
    listed = only_here("Every method")
    assert listed <= methods(KernelPCA) - methods(Peer)
    assert methods(KernelPCA) - methods(Peer) - listed <= {"set_callbacks"}
