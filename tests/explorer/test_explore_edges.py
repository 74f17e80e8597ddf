"""Edges of what `explore` takes: rows in the mean, bright pixels, columns in small units, long names, frozen models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, explore
from preimage.explorer._compression import Centers
from preimage.explorer._precision import LONGEST_NAME, counted
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Linear, Polynomial, ScaledInputs

X = np.random.default_rng(0).normal(size=(60, 64)) + 5


def record_of(page, number=0):
    return page.header["models"][number]


def test_a_row_that_is_the_mean_can_be_drawn():
    # Its coordinates under a linear kernel are rounding errors, which differ between two ways of computing them.
    page = explore(KernelPCA(3, kernel="linear").fit(X), X.mean(axis=0)[None])
    assert np.max(np.abs(record_of(page)["coordinates"])) < 1e-6


@pytest.mark.parametrize("brightest", [20.0, 1e6])
def test_one_bright_pixel_leaves_the_other_pictures_as_they_are(brightest):
    pictures = np.random.default_rng(1).random((60, 64))
    pictures[7, 3] = brightest
    samples = explore(KernelPCA(3, gamma=0.1).fit(pictures), pictures, image_shape=(8, 8)).header["samples"]
    back = samples.get("low", 0.0) + samples.get("step", 1.0) * samples["inputs"].astype(float)
    assert np.max(np.abs(back - pictures)[:5]) < 0.05


def test_pictures_of_one_tone_have_no_levels():
    pictures = np.tile(np.random.default_rng(1).random((60, 1)), 64)
    samples = explore(KernelPCA(1, gamma=0.1).fit(pictures), pictures, image_shape=(8, 8)).header["samples"]
    np.testing.assert_allclose(samples["inputs"], pictures, atol=1e-6)


def test_compression_does_not_depend_on_the_units_of_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    rows[:, 0] += 2 * np.sin(3 * rows[:, 1])
    units = np.array([1e4, 1e-3, 1.0, 1.0])
    model = KernelPCA(5, kernel=ScaledInputs(Gaussian(0.3), 1 / units**2)).fit(rows * units)
    found = record_of(explore(model, rows * units, n_points=80))["coordinates"]
    expected = model.transform(rows * units)
    assert np.sum((found - expected) ** 2) < 1e-3 * np.sum(expected**2)


def test_the_loss_of_a_large_model_is_told_also_where_one_row_is_drawn():
    model = KernelPCA(6, gamma="median").fit(X)
    losses = [record_of(explore(model, rows, n_points=5))["note"].split("variance")[0] for rows in (X, X[:1])]
    # Five points cannot carry six components, though a single row may happen to keep its coordinates.
    assert not any("less than" in loss for loss in losses)


def test_names_units_and_axes_of_any_length_fit_a_page():
    names = [f"{column}{'n' * 10_000}" for column in range(64)]
    frame = pd.DataFrame(X, columns=names)
    model = KernelPCA(2, gamma=0.01).fit(frame)
    view = explore(model, frame, kind="table", units={names[0]: "m" * 10_000}).header["view"]
    assert max(map(len, view["names"])) == len(view["units"][0]) == LONGEST_NAME
    view = explore(model, frame, kind="curve", axis_label="a" * 10_000, value_label="v" * 10_000).header["view"]
    assert len(view["axis_label"]) == len(view["value_label"]) == LONGEST_NAME


@pytest.mark.parametrize("option", ["names", "units"])
def test_names_and_units_that_are_no_list_are_refused(option):
    with pytest.raises(ValueError, match=f"`{option}` for each of the 64 columns of X; got 5"):
        explore(KernelPCA(2, gamma=0.01).fit(X), X, **{option: 5})


def test_widths_are_fitted_for_frozen_models_too():
    rows = StandardScaler().fit_transform(X)
    model = KernelPCA(3, gamma=0.02).fit(rows)
    frozen = FrozenEstimator(model)
    for each, inputs in ((frozen, rows), (make_pipeline(StandardScaler(), frozen).fit(X), X)):
        page = explore(each, inputs, widths=[0.1])
        assert [record["width"] for record in page.header["models"]] == [0.02, 0.1]
    assert model.gamma == 0.02


def test_missing_numbers_of_pandas_are_filled_by_an_imputer():
    frame = pd.DataFrame(np.rint(X[:, :4] * 10).astype(int), columns=list("abcd"))
    given = frame.astype("Int64")
    given.iloc[3, 2] = pd.NA
    model = make_pipeline(SimpleImputer(), StandardScaler(), KernelPCA(2, gamma=0.1)).fit(given)
    page = explore(model, given)
    means = frame["c"].drop(3).mean()
    np.testing.assert_allclose(
        page.header["samples"]["inputs"][3], [*frame.iloc[3, :2], means, frame.iloc[3, 3]], rtol=1e-6
    )
    assert page.messages[1].startswith("1 of the drawn rows had a missing entry; it is shown")


@pytest.mark.filterwarnings("error")
def test_kernels_of_tiny_values_are_not_compressed_to_nothing():
    """Values near the smallest that models are fitted to keep their points; where the kernel vanishes, it is said."""
    rows = np.random.default_rng(0).normal(size=(13, 3))
    page = explore(KernelPCA(2, kernel=Polynomial(30, 1e-4, 1e-3)).fit(rows), rows, n_points=4)
    assert "computes with 4 points" in page.messages[-1]
    with pytest.raises(ValueError, match=r"KernelPCA squares kernel values, .* up to 9.85e-304"):
        KernelPCA(2, kernel=Polynomial(39, 1e-9, 1e-8)).fit(rows)
    with pytest.raises(ValueError, match=r"too small to tell points apart. .* n_points=13"):
        Centers().reduce(Expansion(Linear(), np.zeros((13, 3)), np.ones((13, 1))), 4)


def test_one_of_a_kind_is_not_a_plural():
    page = explore(KernelPCA(1, gamma=0.01).fit(X), X[:1], n_points=1)
    assert repr(page).endswith("1 row, 1 model with 1 component on 1 point")
    assert "computes with 1 point in place" in page.messages[-1]
    (said,) = explore(KernelPCA(1, gamma=0.01).fit(X), X, kind="table", max_samples=1).messages
    assert said.startswith("1 of 60 rows is drawn")
    assert counted(1, "row") == "1 row" and counted(7291, "row") == "7,291 rows"
    assert counted("1 to 3", "row") == "1 to 3 rows"
