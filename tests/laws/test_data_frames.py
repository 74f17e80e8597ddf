"""Data frames in, data frames out: the same numbers as of arrays, with the names, index and types of the columns."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

from preimage.estimators._input_frames import IN_INPUT_SPACE, ROW_BY_ROW
from tests.all_estimators import MODELS, X, Y, fitted
from tests.for_each import for_each

pd = pytest.importorskip("pandas")

NAMES = ["length", "width", "petal length", "petal width"]
INDEX = [f"flower {number}" for number in range(len(X))]
# One column in single precision, one of pandas' own types with a missing value. The numbers are those of single
# precision everywhere, so that all kinds of frames and arrays have the same.
VALUES = X.astype(np.float32).astype(float)
TYPES = {"length": "float64", "width": "float32", "petal length": "Float64", "petal width": "float64"}
# Searches and corrections answer as the model inside does, which has `set_output` for them.
OF_FRAMES = sorted(
    name for name in MODELS if hasattr(fitted(name), "get_feature_names_out") and not isinstance(fitted(name), Pipeline)
)
# What rounding to single precision in one column changes.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}


def frame_of(library, values=VALUES):
    if library == "pandas":
        return pd.DataFrame(values, columns=NAMES, index=INDEX).astype(TYPES)
    pl = pytest.importorskip("polars")
    return pl.DataFrame(values, schema=NAMES).with_columns(pl.col("width").cast(pl.Float32))


def labels_for(name):
    return Y > 0 if "enormalized" in name or name == "sparse Fisher" else Y


def fitted_to(name, rows, library):
    """A model of this name fitted to other rows."""
    model = clone(fitted(name))
    if library is not None:
        model.set_output(transform=library)
    return model.fit(rows, labels_for(name))


def answers(model, rows):
    """What a model says in the space of inputs or of features, by method."""
    found = {"transform": model.transform(rows)}
    for name in sorted(IN_INPUT_SPACE & set(dir(model))):
        if name == "inverse_transform":
            found[name] = model.inverse_transform(found["transform"])
        elif name == "navigate":
            found[name] = model.navigate(rows[:1], rows[-1:], 3)
        else:
            found[name] = getattr(model, name)(*([rows] if name in ROW_BY_ROW else []))
    return found


@pytest.mark.parametrize("library", ["pandas", "polars"])
@for_each("name", OF_FRAMES)
def test_frames_come_back_as_frames_with_the_numbers_of_arrays(name, library):
    frame = frame_of(library)
    model = fitted_to(name, frame, library)
    expected, found = answers(fitted_to(name, VALUES, None), VALUES), answers(model, frame)
    for method, values in found.items():
        assert type(values).__module__.partition(".")[0] == library, method
        np.testing.assert_allclose(np.asarray(values, dtype=float), expected[method], err_msg=method, **TOLERANCE)
        if library == "pandas" and method in ROW_BY_ROW | {"transform"}:
            assert list(values.index) == INDEX, method
        is_input = method in model._in_input_space
        assert list(values.columns) == (NAMES if is_input else list(model.get_feature_names_out())), method
        if is_input:
            assert list(map(str, values.dtypes)) == list(map(str, frame.dtypes)), method


@for_each("name", OF_FRAMES)
def test_settings_of_scikit_learn_count_and_arrays_are_the_default(name):
    frame = frame_of("pandas")
    with config_context(transform_output="pandas"):
        model = fitted_to(name, frame, None)
        inside = answers(model, frame)
    assert all(type(values) is pd.DataFrame for values in inside.values())
    for method, values in answers(model, frame).items():
        assert type(values) is np.ndarray, method
        np.testing.assert_allclose(np.asarray(inside[method], dtype=float), values, err_msg=method, **TOLERANCE)


CITY = ["Bern", "Basel", "Genève"] * (len(X) // 3)


def damaged(library, damage):
    """A frame with a column of text, dates, NaN or infinity."""
    if library == "pandas":
        changes = {
            "text": {"city": CITY},
            "some text": {"city": np.array([1.0, 2.0, "unknown"] * (len(X) // 3), dtype=object)},
            "dates": {"city": pd.date_range("2020-01-01", periods=len(X))},
            "NaN": {"city": [1.0, 2.0, None] * (len(X) // 3)},
            "infinity": {"city": [1.0, 2.0, np.inf] * (len(X) // 3)},
        }
        return frame_of(library).assign(**changes[damage])
    pl = pytest.importorskip("polars")
    values = damaged("pandas", damage)["city"].to_list()
    return frame_of(library).with_columns(pl.Series("city", values))


SAID = {
    "text": "column 'city' holds text ('Bern')",
    "some text": "column 'city' holds text in 25 of 75 rows ('unknown' in row 2)",
    "dates": "column 'city' holds dates",
    "NaN": "contains NaN: 25 missing entries in column 'city' (25). ",
    "infinity": "contains infinity: 25 infinite entries in column 'city' (25). ",
}


# A column of polars has one type.
CASES = [("pandas", damage) for damage in SAID] + [("polars", damage) for damage in SAID if damage != "some text"]
# Models of scikit-learn inside make numbers of the dates of polars.
HOLD_OTHERS = ("Renormalized", "CompressedClassifier", "CompressedRegressor", "CompressedDetector")


@pytest.mark.parametrize(("library", "damage"), CASES)
@for_each("name", sorted(name for name in MODELS if not isinstance(fitted(name), (Pipeline, CalibratedClassifierCV))))
def test_columns_that_hold_no_numbers_are_named(name, damage, library):
    model, frame = clone(fitted(name)), damaged(library, damage)
    if damage == "NaN" and hasattr(model, "missing_values"):
        model.fit(frame)
        return
    if library == "polars" and damage == "dates" and type(model).__name__ in HOLD_OTHERS:
        return
    with pytest.raises(ValueError) as info:
        model.fit(frame, labels_for(name))
    assert SAID[damage] in str(info.value)
    assert damage in ("text", "dates") or "KernelImputer" in str(info.value)
