"""Which view is guessed for data, what it is told, and what it refuses."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from preimage.explorer._kinds import view_record

rng = np.random.default_rng(0)
CHANNELS = np.arange(100)
CENTERS = 40 + rng.uniform(-10, 10, size=(200, 1))
SPECTRA = np.exp(-((CHANNELS - CENTERS) ** 2) / 50)
NOISY_SPECTRA = SPECTRA + 0.3 * rng.normal(size=SPECTRA.shape)
WALKS = np.cumsum(rng.normal(size=(100, 144)), axis=1)
DIGITS = load_digits().data
SHUFFLED = DIGITS[:, np.random.default_rng(0).permutation(64)]
TABLE = rng.normal(size=(30, 6))


@pytest.mark.parametrize(
    ("inputs", "kind"),
    [
        (DIGITS, "image"),
        (SHUFFLED, "table"),
        (SPECTRA, "curve"),
        (NOISY_SPECTRA, "curve"),
        (WALKS, "curve"),
        (WALKS[:, rng.permutation(144)], "table"),
        (rng.normal(size=(200, 100)), "table"),
        (load_wine().data, "table"),
        (load_breast_cancer().data, "table"),
        (load_diabetes().data, "table"),
        (TABLE[:1, :1], "table"),
        (np.ones((5, 64)), "table"),
    ],
)
def test_kind_is_guessed_from_values_and_said(inputs, kind):
    record, messages = view_record(inputs)
    assert record["kind"] == kind
    assert len(messages) == 1
    assert "a guess" in messages[0]
    assert "image_shape=" in messages[0]


@pytest.mark.parametrize("inputs", [DIGITS, SPECTRA, TABLE], ids=["image", "curve", "table"])
@pytest.mark.parametrize(("factor", "shift"), [(1e-9, 0.0), (-3.0, 5.0), (1e200, 0.0)])
def test_guess_does_not_depend_on_units_or_missing_entries(inputs, factor, shift):
    changed = factor * inputs + shift
    changed[::3, 0] = np.nan
    assert view_record(changed)[0]["kind"] == view_record(inputs)[0]["kind"]


def test_options_decide_without_a_guess():
    shapes = {"image_shape": (2, 3)}, {"axis": range(6)}, {"mask": np.ones((1, 2, 3))}
    for options, kind in zip(shapes, ["image", "curve", "volume"]):
        record, messages = view_record(TABLE, **options)
        assert (record["kind"], messages) == (kind, [])
        assert view_record(TABLE, kind=kind, **options)[0].keys() == record.keys()


@pytest.mark.parametrize(
    ("names", "kind", "found"),
    [
        ([f"{value} nm" for value in range(400, 412, 2)], "curve", "nm"),
        ([f"t={value / 10} s" for value in range(6)], "curve", "t (s)"),
        ([f"{value:.1f}" for value in range(4000, 3994, -1)], "curve", "column name"),
        ([f"x{column}" for column in range(6)], "table", None),
        ([str(column) for column in range(1, 7)], "table", None),
        (["5", "3", "8", "1", "2", "9"], "table", None),
        (["alcohol", "ash", "hue", "color", "flavanoids", "proline"], "table", None),
    ],
)
def test_names_of_columns_decide_before_values(names, kind, found):
    record, _ = view_record(TABLE, names=names)
    assert record["kind"] == kind
    assert record.get("axis_label") == found
    assert record["names"] == names


def test_names_of_pixels_make_images():
    grid = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    counted = [f"pixel{number}" for number in range(1, 65)]
    for names in grid, counted:
        assert view_record(SHUFFLED, names=names)[0]["shape"] == [8, 8]
    assert view_record(SHUFFLED, names=grid[::-1])[0]["kind"] == "table"
    wide = [f"r{row}c{column}" for row in range(4) for column in range(16)]
    assert view_record(SHUFFLED, names=wide)[0]["shape"] == [4, 16]


def test_names_that_only_count_leave_the_decision_to_values():
    names = [f"V{column}" for column in range(100)]
    assert view_record(SPECTRA, names=names)[0]["kind"] == "curve"
    assert view_record(SPECTRA, names=[f"channel {name}" for name in "ab" * 50])[0]["kind"] == "table"


def test_statistics_leave_out_missing_entries():
    inputs = rng.normal(size=(40, 5)) * [1e-5, 1, 1e5, 1, 1]
    inputs[:, 3] = 7.0
    inputs[:, 4] = np.nan
    inputs[5:9, 0] = np.nan
    record, _ = view_record(inputs)
    for name, law in ("low", np.nanmin), ("high", np.nanmax), ("mean", np.nanmean), ("deviation", np.nanstd):
        np.testing.assert_allclose(record[name][:4], law(inputs[:, :4], axis=0), rtol=1e-10, atol=1e-12)
        assert np.isfinite(record[name]).all()
    assert record["range"] == [np.nanmin(inputs), np.nanmax(inputs)]


@pytest.mark.parametrize("value", [0.0, -3.0, np.nan])
def test_equal_values_have_a_scale_around_them(value):
    for kind, options in ("image", {}), ("volume", {"mask": np.ones((2, 2, 1))}), ("curve", {}), ("table", {}):
        low, high = view_record(np.full((3, 4), value), kind=kind, **options)[0]["range"]
        assert low < np.nan_to_num(value) < high


def test_square_images_need_no_shape_and_one_channel_is_grey():
    assert view_record(SHUFFLED, kind="image")[0]["shape"] == [8, 8]
    assert view_record(SHUFFLED, image_shape=(4, 16, 1))[0]["shape"] == [4, 16]
    assert view_record(TABLE, image_shape=(1, 2, 3))[0]["shape"] == [1, 2, 3]


def test_volumes_know_their_voxels_and_an_image_its_directions():
    mask = np.zeros((3, 4, 5), dtype=bool)
    mask[1, 2, 3] = mask[0, 0, 4] = mask[2, 3, 0] = True
    record, _ = view_record(TABLE[:, :3], mask=mask)
    assert record["shape"] == [3, 4, 5]
    np.testing.assert_array_equal(record["voxels"], np.flatnonzero(mask))
    assert "voxel_size" not in record

    class Image:
        dataobj = mask.astype(np.uint8)
        affine = np.array([[-3.0, 0, 0, 90], [0, 0, 2, -126], [0, 4, 0, -72], [0, 0, 0, 1]])

    record, _ = view_record(TABLE[:, :3], mask=Image())
    assert record["voxel_size"] == [3, 4, 2]
    assert record["directions"] == [["R", "L"], ["I", "S"], ["P", "A"]]


@pytest.mark.parametrize(("shift", "signed"), [(0.0, True), (-0.5, True), (3.0, False), (-3.0, False)])
def test_volumes_on_both_sides_of_zero_have_a_symmetric_scale(shift, signed):
    values = rng.normal(size=(50, 8)) + shift
    record, _ = view_record(values, mask=np.ones((2, 2, 2)))
    low, high = record["range"]
    assert record["signed"] == signed
    assert (low == -high) == signed
    assert np.mean((values >= low) & (values <= high)) > 0.975


def test_units_come_as_one_as_a_list_or_by_name():
    names = list("abcdef")
    assert view_record(TABLE, names=names, units={"b": "mg"})[0]["units"] == ["", "mg", "", "", "", ""]
    assert view_record(TABLE, units="mm")[0]["units"] == ["mm"] * 6
    assert view_record(TABLE, names=names, units=["m", None, "s", "", "K", "A"])[0]["units"] == [
        "m",
        "",
        "s",
        "",
        "K",
        "A",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "picture"}, "'image', 'curve', 'table', 'volume'; got 'picture'"),
        ({"kind": "image"}, "rows have 6 values, which is not a square"),
        ({"image_shape": (2, 2)}, "2 × 2 = 4 values; X has 6 columns"),
        ({"image_shape": (3, 1, 2)}, "3 (red, green, blue); got 2"),
        ({"image_shape": 6}, "two positive numbers"),
        ({"image_shape": (2, 3.0)}, "two positive numbers"),
        ({"kind": "volume"}, "needs `mask`"),
        ({"mask": np.ones((2, 3))}, "mask[:, :, None]"),
        ({"mask": np.ones((2, 2, 2))}, "8 voxels that are not zero; X has 6 columns"),
        ({"axis": range(5)}, "6 numbers, one for each column"),
        ({"axis": list("abcdef")}, "6 numbers, one for each column"),
        ({"axis": [1, 2, 3, 3, 4, 5]}, "rise, or to fall"),
        ({"axis": [1, 2, 3, 4, 5, np.nan]}, "rise, or to fall"),
        ({"axis": range(6), "image_shape": (2, 3)}, "belong to different kinds"),
        ({"kind": "table", "image_shape": (2, 3)}, '`image_shape` is for kind="image"'),
        ({"names": ["a", "b"]}, "each of the 6 columns of X; got 2"),
        ({"names": "abcdef"}, "got one string"),
        ({"units": ["a", "b"]}, "each of the 6 columns of X; got 2"),
        ({"units": {"z": "mm"}}, "X has no column names"),
        ({"names": list("abcdef"), "units": {"z": "mm"}}, "the columns are a, b, c, d, e, …"),
    ],
)
def test_what_does_not_fit_is_refused_with_numbers(options, message):
    with pytest.raises(ValueError) as error:
        view_record(TABLE, **options)
    assert message in str(error.value)


def test_inputs_are_not_changed():
    inputs = DIGITS.copy()
    inputs[0, 0] = np.nan
    before = inputs.copy()
    view_record(inputs)
    np.testing.assert_array_equal(inputs, before)
