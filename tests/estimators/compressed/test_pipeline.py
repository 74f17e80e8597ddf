"""Pipelines of which the machine is compressed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import preimage
from preimage import compress
from preimage.persistence._file import from_bytes, to_bytes

X = np.random.default_rng(0).normal(size=(80, 2))
Y = X[:, 0] * X[:, 1] > 0
MODEL = make_pipeline(StandardScaler(), SVC()).fit(X, Y)


def test_a_pipeline_shows_the_report_of_its_machine():
    small = compress(MODEL, 6, X=X, y=Y)
    assert str(small) == f"StandardScaler → {small[-1]}" and "6 points for" in str(small)
    search = GridSearchCV(MODEL, {"svc__C": [1]}).fit(X, Y)
    assert str(compress(search, 6, X=X, y=Y)) == str(small)


def test_without_labels_the_report_speaks_of_agreement():
    said = str(compress(MODEL, 6, X=X))
    assert "agreement with the original" in said and "accuracy" not in said


def test_it_is_a_pipeline_of_scikit_learn_in_all_else():
    small = compress(MODEL, 6, X=X)
    again = clone(small)
    assert isinstance(small, Pipeline) and "n_points=6" in repr(again) and "points for" not in repr(again)
    assert "n_points=6" in repr(GridSearchCV(small, {})) and "StandardScaler" in small._repr_html_()
    assert repr(small[:-1]).startswith("CompressedPipeline(steps=[('standardscaler'")
    assert repr(from_bytes(to_bytes(small))) == repr(small)
    assert repr(again.fit(X, Y)).startswith("StandardScaler → CompressedClassifier: 6 points for")


def test_a_pipeline_saves_and_exports_itself_as_a_machine_does(tmp_path):
    pytest.importorskip("onnx")
    small = compress(MODEL, 8, X=X)
    small.save(tmp_path / "small.safetensors")
    again = preimage.load(tmp_path / "small.safetensors")
    np.testing.assert_array_equal(again.decision_function(X), small.decision_function(X))
    again.save(tmp_path / "again.safetensors")
    proto = small.to_onnx(tmp_path / "small.onnx", X=X)
    assert (tmp_path / "small.onnx").read_bytes() == proto.SerializeToString()
    assert proto.SerializeToString() == preimage.to_onnx(small, X=X).SerializeToString()
