"""Pipelines of which the machine is compressed."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

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
