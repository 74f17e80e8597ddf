"""Files of later versions, and fields that nobody here knows: the model is loaded, with a warning of both versions."""

import warnings

import numpy as np
import pytest
from model_files import document_of, with_document
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.preprocessing import StandardScaler

import preimage
from preimage import KernelPCA
from preimage.exceptions import FileVersionWarning
from preimage.persistence._file import from_bytes, to_bytes

X = np.random.default_rng(0).normal(size=(20, 3))
DATA = to_bytes(KernelPCA(2, gamma=0.5).fit(X))


def forged(data=DATA, library=None, **fields):
    document = document_of(data)
    document["library"] = library or document["library"]
    document["value"]["state"].update(fields)
    return with_document(data, document)


@pytest.mark.parametrize("field", ["flavour", "flavour_", "_flavour"])
def test_unknown_parameters_and_attributes_are_named_with_both_versions(field):
    with pytest.warns(FileVersionWarning) as caught:
        model = from_bytes(forged(library="7.8.9", **{field: 3}))
    message = str(caught[0].message)
    assert len(caught) == 1 and f"KernelPCA.{field}" in message
    assert "preimage 7.8.9" in message and f"preimage {preimage.__version__}" in message
    np.testing.assert_array_equal(model.transform(X), from_bytes(DATA).transform(X))


@pytest.mark.parametrize("library", ["7.8.9", "7.8", "999999999.1", f"{preimage.__version__}.1"])
def test_a_later_version_is_named(library):
    with pytest.warns(FileVersionWarning, match="later version") as caught:
        from_bytes(forged(library=library))
    assert library in str(caught[0].message) and preimage.__version__ in str(caught[0].message)


@pytest.mark.parametrize("field", ["library", "scikit-learn"])
def test_versions_do_not_reach_the_terminal_as_they_are(field):
    data = to_bytes(StandardScaler().fit(X))
    with pytest.warns((FileVersionWarning, InconsistentVersionWarning)) as caught:
        from_bytes(with_document(data, document_of(data) | {field: "99.1 \x1b[31mX"}))
    assert r"99.1 \x1b[31mX" in str(caught[0].message) and "\x1b" not in str(caught[0].message)


@pytest.mark.parametrize("library", [preimage.__version__, "0.1.0", "0.0.1.dev3", "unknown", "v"])
def test_the_same_and_earlier_versions_pass_in_silence(library):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_bytes(forged(library=library))


@pytest.mark.parametrize("library", [3, ["0.1"], "9" * 200])
def test_a_version_is_a_short_text(library):
    with pytest.raises(ValueError, match="is text, and short"):
        from_bytes(forged(library=library))


def test_unknown_fields_of_scikit_learn_are_named_too():
    data = to_bytes(StandardScaler().fit(X))
    with pytest.warns(FileVersionWarning, match=r"StandardScaler\.flavour_"):
        from_bytes(forged(data, flavour_=1))


def test_another_scikit_learn_is_named_by_its_own_warning():
    document = document_of(to_bytes(StandardScaler().fit(X)))
    document["scikit-learn"] = "0.99"
    with pytest.warns(InconsistentVersionWarning, match=r"0\.99"):
        from_bytes(with_document(to_bytes(StandardScaler().fit(X)), document))


def test_parameters_of_earlier_versions_have_their_new_names():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = from_bytes(forged(library="0.2.0", eigensolver="dense", eigen_solver=None))
    assert model.eigen_solver == "dense" and not hasattr(model, "eigensolver")


def test_parameters_that_a_later_scikit_learn_marks_as_not_given_have_their_default():
    data = to_bytes(StandardScaler(with_mean=False).fit(X))
    document = document_of(data)
    document["value"]["state"]["with_std"] = "deprecated"
    model = from_bytes(with_document(data, document))
    assert model.with_std is True and model.with_mean is False
    np.testing.assert_array_equal(model.transform(X), from_bytes(data).transform(X))
