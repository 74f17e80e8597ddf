"""Rows that are inputs again as data frames, where `set_output` asks for them."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelImputer, KernelPCA
from preimage.model_selection import WidthSearch
from preimage.persistence._file import from_bytes, to_bytes

pd = pytest.importorskip("pandas")

X = np.random.default_rng(0).normal(size=(30, 3))
TYPES = {"a": "float32", "b": "Float64", "c": "float64"}
FRAME = pd.DataFrame(X, columns=list(TYPES), index=np.arange(30) + 7).astype(TYPES)


def types_of(frame):
    return {name: str(dtype) for name, dtype in frame.dtypes.items()}


def test_reconstructions_have_the_index_of_coordinates_and_the_types_of_the_training_frame():
    model = KernelPCA(2).set_output(transform="pandas").fit(FRAME)
    found = model.inverse_transform(model.transform(FRAME)[5:9])
    assert list(found.index) == [12, 13, 14, 15] and types_of(found) == TYPES
    again = from_bytes(to_bytes(model))
    pd.testing.assert_frame_equal(again.inverse_transform(again.transform(FRAME)[5:9]), found)


def test_a_fit_to_an_array_forgets_types():
    model = KernelPCA(2).set_output(transform="pandas").fit(FRAME).fit(X)
    found = model.inverse_transform(model.transform(X))
    assert list(found.columns) == ["x0", "x1", "x2"] and set(types_of(found).values()) == {"float64"}


def test_denoised_rows_keep_floating_types_and_whole_numbers_become_floating():
    frame = FRAME.assign(a=np.arange(30), b=pd.array([0, 1] * 15, dtype="Int64"))
    found = KernelPCA(2).set_output(transform="pandas").fit(frame).denoise(frame)
    assert types_of(found) == {"a": "float64", "b": "Float64", "c": "float64"} and list(found.index) == [*frame.index]


def test_distrusted_entries_are_a_frame_of_truth_values():
    model = KernelPCA(2).set_output(transform="pandas").fit(FRAME)
    rows, outliers = model.denoise(FRAME, loss="cauchy", return_outliers=True)
    assert type(rows) is type(outliers) is pd.DataFrame and set(types_of(outliers).values()) == {"bool"}
    assert rows.where(~outliers).index.equals(FRAME.index)


def test_arguments_by_name_count():
    model = KernelPCA(2).set_output(transform="pandas").fit(FRAME)
    assert list(model.denoise(n_components=1, X=FRAME).index) == [*FRAME.index]


def test_imputed_columns_without_gaps_come_back_as_they_were():
    frame = FRAME.assign(count=[2**60 + 1] * 30, flag=[True, False] * 15, city=pd.Categorical(["Bern", "Basel"] * 15))
    frame.loc[9, ["a", "city"]] = None
    found = KernelImputer().set_output(transform="pandas").fit(frame).transform(frame)
    pd.testing.assert_frame_equal(found.drop(index=9), frame.drop(index=9))
    assert not found.isna().any(axis=None) and found.loc[9, "city"] in ("Bern", "Basel")


def test_imputed_frames_of_polars_have_categories():
    pl = pytest.importorskip("polars")
    schema = {"a": pl.Float32, "city": pl.Categorical, "place": pl.Enum(["Bern", "Basel"]), "n": pl.Int64}
    cities = ["Bern", None, *["Basel", "Bern"] * 14]
    frame = pl.DataFrame({"a": X[:, 0], "city": cities, "place": cities[::-1], "n": range(30)}, schema)
    found = KernelImputer().set_output(transform="polars").fit(frame).transform(frame)
    assert found.schema == frame.schema and found.null_count().row(0) == (0, 0, 0, 0)
    assert found["n"].equals(frame["n"]) and found["city"][2:].equals(frame["city"][2:])


def test_new_columns_and_left_out_ones():
    frame = FRAME.assign(empty=np.nan)
    frame.loc[8, "c"] = np.nan
    found = KernelImputer(add_indicator=True).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(found.columns) == ["a", "b", "c", "missingindicator_c", "missingindicator_empty"]
    assert types_of(found[["a", "b", "c"]]) == TYPES and found["missingindicator_c"].sum() == 1


def test_a_search_answers_as_its_model_does():
    model = WidthSearch(KernelPCA(2).set_output(transform="pandas")).fit(FRAME, X[:, 0] > 0)
    assert list(model.denoise(FRAME).index) == [*FRAME.index]


def test_scalers_before_and_frames_between_steps():
    pipeline = make_pipeline(StandardScaler(), KernelPCA(2)).set_output(transform="pandas").fit(FRAME)
    plain = make_pipeline(StandardScaler(), KernelPCA(2)).fit(FRAME)
    found = pipeline.inverse_transform(pipeline.transform(FRAME))
    np.testing.assert_allclose(found, plain.inverse_transform(plain.transform(FRAME)), rtol=1e-6, atol=1e-6)


def test_names_that_are_numbers_become_those_of_scikit_learn():
    frame = pd.DataFrame(X)
    assert list(KernelPCA(2).set_output(transform="pandas").fit(frame).denoise(frame).columns) == ["x0", "x1", "x2"]
