"""What has left: a sentence that says what to use, from one table."""

from importlib import import_module

import pytest

import preimage
from preimage._engine.removed import MOVED, REMOVED, RENAMED_PARAMETERS, UNTIL, sentence
from preimage.landmarks import RandomlyPivotedCholesky

NAMES = [entry for entry in REMOVED if entry[0].islower() and "=" not in entry and not entry.startswith("cli.")]


@pytest.mark.parametrize("entry", NAMES)
def test_names_that_have_left_are_missing_with_a_warning(entry):
    module, _, name = entry.rpartition(".")
    with pytest.warns(FutureWarning, match="preimage has no"), pytest.raises(AttributeError, match=name):
        getattr(import_module(f"preimage.{module}" if module else "preimage"), name)


@pytest.mark.parametrize("entry", MOVED)
def test_names_that_have_moved_work_with_a_warning(entry):
    old, _, name = entry.rpartition(".")
    new, _, same = MOVED[entry].rpartition(".")
    with pytest.warns(FutureWarning, match=f"preimage.{entry} has moved to preimage.{MOVED[entry]}"):
        found = getattr(import_module(f"preimage.{old}"), name)
    assert found is getattr(import_module(f"preimage.{new}"), same)


def test_parameters_that_have_left_are_ignored_with_a_warning():
    with pytest.warns(FutureWarning, match="block_size=1"):
        selector = RandomlyPivotedCholesky(3, method="plain")
    assert "method" not in selector.get_params() and selector.n_landmarks == 3


@pytest.mark.parametrize("entry", REMOVED)
def test_every_sentence_ends_like_one(entry):
    assert sentence(entry).endswith(".")


def test_of_anything_else_nothing_is_said():
    assert sentence("KernelPCA.gamma") is None


def test_nothing_that_has_left_stays_longer_than_was_said():
    present, end = (tuple(map(int, version.split("."))) for version in (preimage.__version__, UNTIL))
    assert present < end or not (REMOVED or RENAMED_PARAMETERS or MOVED)
