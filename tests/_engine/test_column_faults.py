"""Errors that name the columns which hold no numbers."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import KernelImputer, KernelPCA, compress
from preimage._engine.column_faults import refuse_holes, refuse_words

pd = pytest.importorskip("pandas")

X = np.random.default_rng(0).normal(size=(20, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def refused(X, **options):
    with pytest.raises(ValueError) as info:
        refuse_words("KernelPCA.fit", X, **options)
    return str(info.value)


@pytest.mark.parametrize("method", ["transform", "denoise", "score_samples"])
def test_every_method_names_column_and_itself(method):
    model, spoiled = KernelPCA(2).fit(FRAME), FRAME.assign(b="Bern")
    with pytest.raises(
        ValueError, match=rf"KernelPCA.{method} needs columns of numbers: column 'b' holds text \('Bern'"
    ):
        getattr(model, method)(spoiled)
    with pytest.raises(ValueError, match=r"contains NaN: 2 missing entries in column 'b' \(2\).*make_pipeline\(Kernel"):
        getattr(model, method)(FRAME.assign(b=[np.nan] * 2 + [1.0] * 18))


def test_tables_of_numbers_pass():
    for dtype in ("float32", "int8", "bool", "Float64", "Int64", "boolean", object):
        refuse_words("KernelPCA.fit", FRAME.round().clip(0, 1).astype(dtype))
    refuse_words("KernelPCA.fit", FRAME.assign(a=pd.Categorical(np.arange(20) % 2)))
    refuse_words("KernelPCA.fit", X.astype(object))
    refuse_words("KernelPCA.fit", X.astype(str))


def test_remedies_are_those_of_the_fault():
    assert "KernelImputer" not in refused(FRAME.assign(a="Bern"))
    assert "which KernelImputer fills" in refused(FRAME.assign(a=np.array([*X[1:, 0], "n/a"], dtype=object)))
    assert "astype(float)" in refused(FRAME.assign(a="1.5")) and "astype" not in refused(FRAME.assign(a="Bern"))
    assert "categorical_features=" in refused(FRAME.assign(a="Bern"), takes_categories=True)
    with pytest.raises(ValueError, match=r"KernelImputer\(categorical_features=\[...\]\)"):
        KernelImputer().fit(FRAME.assign(a="Bern"))


def test_many_columns_are_counted_and_long_entries_cut():
    said = refused(pd.DataFrame({f"c{j}": ["x" * 200] for j in range(9)}))
    assert "column 'c4'" in said and "'c5'" not in said and "and 4 more columns" in said and "x" * 40 not in said


def test_arrays_have_numbers_of_columns():
    assert "column 1 holds text in 1 of 2 rows ('x' in row 1)" in refused(
        np.array([[1.0, 2.0], [3.0, "x"]], dtype=object)
    )
    spoiled = X.copy()
    spoiled[3, 0] = spoiled[4, 2] = np.nan
    with pytest.raises(ValueError, match=r"2 missing entries in columns 0 \(1\), 2 \(1\)"):
        KernelPCA(2).fit(spoiled)


def test_infinity_is_said_to_those_who_fill_nan():
    spoiled = np.where(X[0, 0] == X, np.inf, X)
    with pytest.raises(
        ValueError, match=r"1 infinite entry in column 0 \(1\).*replace it by NaN, which KernelImputer fills"
    ):
        refuse_holes("KernelImputer.fit", spoiled, spoiled, fills=True, allows_nan=True)
    refuse_holes("KernelImputer.fit", X, np.where(X > 1, np.nan, X), fills=True, allows_nan=True)


def test_functions_with_arguments_by_name_name_columns():
    model = SVC().fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="column 'b' holds text"):
        compress(estimator=model, n_points=3, X=FRAME.assign(b="Bern"))
    scaled = make_pipeline(StandardScaler(), SVC()).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="column 'b' holds text"):
        compress(estimator=scaled, n_points=3, X=FRAME.assign(b="Bern"))
