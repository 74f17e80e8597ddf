"""Data frames of pandas and polars without importing either."""

import subprocess
import sys

import numpy as np
import pytest

from preimage._engine.frames import as_completed_frame, as_frame, floating_types, frame_library

pd = pytest.importorskip("pandas")


def test_frames_are_known_by_their_library():
    pl = pytest.importorskip("polars")
    frame = pd.DataFrame({"a": [1.0]})
    assert frame_library(frame).name == "pandas" and frame_library(pl.DataFrame({"a": [1.0]})).name == "polars"
    others = (frame["a"], pl.DataFrame({"a": [1.0]}).lazy(), np.ones((1, 1)), [[1.0]], None)
    assert all(frame_library(each) is None for each in others)


def test_neither_library_needs_to_be_installed():
    code = """
import sys
sys.modules |= {"pandas": None, "polars": None}
import numpy as np
from preimage import KernelImputer, KernelPCA
X = np.random.default_rng(0).normal(size=(20, 2))
KernelPCA(2).fit(X).denoise(X), KernelImputer().fit_transform(X)
"""
    subprocess.run([sys.executable, "-W", "error::ImportWarning", "-c", code], check=True)


def test_floating_types_are_those_of_the_family_of_a_column():
    types = ["float64", "float32", "int8", "bool", "Float32", "Int64", "boolean"]
    frame = pd.DataFrame({name: pd.Series([0, 1]).astype(name) for name in types})
    assert floating_types(frame) == ["float64", "float32", "float64", "float64", "Float32", "Float64", "Float64"]


def test_floating_types_of_arrow_and_polars():
    pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    arrow = pd.DataFrame({name: pd.Series([0, 1]).astype(name) for name in ("float[pyarrow]", "int64[pyarrow]")})
    assert floating_types(arrow) == ["float[pyarrow]", "double[pyarrow]"]
    assert floating_types(pl.DataFrame({"a": [1], "b": [1.0]}, schema={"a": pl.Int8, "b": pl.Float32})) == [
        "float64",
        "float32",
    ]


def test_columns_may_have_equal_names_in_pandas():
    found = as_frame(np.eye(2), ["a", "a"], "pandas", types=["float32", "float64"])
    assert list(found.columns) == ["a", "a"] and list(map(str, found.dtypes)) == ["float32", "float64"]


class TestCompletedFrames:
    """Columns that come back as they were, or of their type where it holds what was filled."""

    FRAME = pd.DataFrame(
        {
            "whole": [2**60 + 1, 5],
            "filled whole": pd.array([3, None], dtype="Int64"),
            "filled": pd.array([3, None], dtype="Int64"),
            "single": np.array([0.1, np.nan], dtype=np.float32),
            "kind": pd.Categorical(["x", None], categories=["x", "y"]),
            "word": ["x", None],
        },
        index=["first", "second"],
    )
    FILLED = np.array(
        [[float(2**60 + 1), 3.0, 3.0, np.float32(0.1), "x", "x"], [5.0, 4.0, 3.5, 1 / 3, "y", "z"]], dtype=object
    )

    def found(self, frame=FRAME):
        return as_completed_frame(self.FILLED, list(self.FRAME.columns), "pandas", frame, range(6))

    def test_numbers_that_floats_do_not_hold_are_not_touched(self):
        assert self.found()["whole"].tolist() == [2**60 + 1, 5]

    def test_types_stay_where_they_hold_the_values(self):
        found = self.found()
        kept = [name for name in found.columns if found[name].dtype == self.FRAME[name].dtype]
        assert kept == ["whole", "filled whole", "single", "kind", "word"]
        assert found["filled"].dtype == "Float64" and found["filled"].tolist() == [3, 3.5]
        assert found["kind"].tolist() == ["x", "y"] and found["word"].tolist() == ["x", "z"]
        assert list(found.index) == ["first", "second"]

    def test_the_frame_that_was_given_is_left_alone(self):
        before = self.FRAME.copy(deep=True)
        found = self.found()
        found.loc["first", "whole"] = 7
        pd.testing.assert_frame_equal(self.FRAME, before)

    def test_categories_that_are_new_are_added(self):
        frame = self.FRAME.assign(kind=pd.Categorical(["x", None], categories=["x"]))
        assert list(self.found(frame)["kind"].cat.categories) == ["x", "y"]

    def test_polars_keeps_types_too(self):
        pl = pytest.importorskip("polars")
        schema = {"whole": pl.Int64, "filled": pl.Int64, "kind": pl.Categorical, "word": pl.String}
        frame = pl.DataFrame(
            {"whole": [2**60 + 1, 5], "filled": [3, None], "kind": ["x", None], "word": ["x", None]}, schema
        )
        found = as_completed_frame(self.FILLED[:, [0, 2, 4, 5]], list(schema), "polars", frame, range(4))
        assert dict(found.schema) == {**schema, "filled": pl.Float64}
        assert found.rows() == [(2**60 + 1, 3.0, "x", "x"), (5, 3.5, "y", "z")]
