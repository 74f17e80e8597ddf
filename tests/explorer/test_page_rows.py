"""Rows, labels and columns of a page: which are drawn, what they are called, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from preimage import KernelPCA, SemiSupervisedKernelPCA, explore
from preimage.explorer._labels import MOST_GROUPS, Groups, Measurements, read_column, read_labels
from preimage.explorer._precision import LONGEST_NAME, deviations, in_single, in_steps
from preimage.explorer._rows import chosen_rows

X = np.random.default_rng(0).normal(size=(60, 3))
MODEL = KernelPCA(2, gamma=0.5).fit(X)
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"quotes\" & 'apostrophes'",
    "emoji 🧠🏳️‍🌈, Ünïcödé, 日本語, العربية",
    "x" * 10_000,
    "-->\x00\u2028 ]]>",
    "\ud800 lone surrogate",
    "  spaces  ",
]


def page(*arguments, **options):
    return explore(MODEL, *arguments, **options)


def samples(*arguments, **options):
    return page(*arguments, **options).header["samples"]


class TestLabels:
    @pytest.mark.parametrize(
        ("y", "names"),
        [
            (np.arange(60) % 3, ["0", "1", "2"]),
            ((np.arange(60) % 3).astype(float), ["0", "1", "2"]),
            (np.array(["b", "a"])[np.arange(60) % 2], ["a", "b"]),
            (np.arange(60) % 2 == 0, ["False", "True"]),
            (["a", None, float("nan"), "", "b", 1] * 10, ["1", "a", "b"]),
            (pd.Series(pd.Categorical(["x", "y"] * 30)), ["x", "y"]),
            (pd.Series(["x", pd.NA] * 30, dtype="string"), ["x"]),
            (pd.Series([1, None] * 30, dtype="Int64"), ["1"]),
            (np.array([b"x", b"y"] * 30), ["x", "y"]),
            ((np.arange(60) % 3)[:, None], ["0", "1", "2"]),
        ],
        ids=lambda value: str(type(value)),
    )
    def test_all_kinds_of_labels_have_names_and_codes(self, y, names):
        labels = samples(X, y)["labels"]
        assert labels["names"] == names
        flat = np.ravel(np.asarray(y, dtype=object))
        text = lambda value: value.decode() if isinstance(value, bytes) else str(value)
        for given, code in zip(flat, labels["codes"], strict=True):
            known = given is not None and given is not pd.NA and given == given and given != ""
            if known and isinstance(given, float):
                given = int(given)
            assert (names[code] == text(given)) if known else code == -1

    def test_labels_that_are_missing_or_alike_make_a_page(self):
        assert samples(X)["labels"] is None
        assert samples(X, [None] * 60)["labels"] is None
        assert samples(X, np.full(60, np.nan))["labels"] is None
        assert samples(X, ["same"] * 60)["labels"]["names"] == ["same"]

    def test_hostile_names_are_shown_in_full_up_to_a_length(self):
        y = [HOSTILE[i % len(HOSTILE)] for i in range(60)]
        labels = samples(X, y)["labels"]
        # A lone surrogate has no bytes in any file.
        expected = [name.replace("\ud800", "?")[: LONGEST_NAME - 1] + "…" * (len(name) > 200) for name in HOSTILE]
        assert sorted(labels["names"]) == sorted(expected)
        html = page(X, y, title=HOSTILE[0], names=HOSTILE[:3], label_name=HOSTILE[1], colors={HOSTILE[2]: y}).to_html()
        assert "<script>alert" not in html and "<img" not in html
        html.encode("utf-8")

    def test_texts_that_look_alike_to_the_page_stay_apart(self):
        long = ["y" * 9_000 + str(i % 2) for i in range(60)]
        assert len(samples(X, long)["labels"]["names"]) == 2
        mixed = samples(X, [1, "1"] * 30)["labels"]
        assert mixed["names"] == ["1", "1"] and set(mixed["codes"]) == {0, 1}

    def test_measurements_are_a_column(self):
        values = np.linspace(0, 1, 60)
        record = samples(X, values, label_name="age")
        assert record["labels"] is None
        assert record["columns"][0]["name"] == "age"
        np.testing.assert_allclose(record["columns"][0]["values"], values, atol=1e-6)
        assert isinstance(read_labels(np.arange(60), 60, False), Measurements)  # many whole numbers

    def test_minus_one_is_no_label_where_models_learn_from_few(self):
        y = np.where(np.arange(60) % 2 == 0, -1, np.arange(60) % 3)
        model = SemiSupervisedKernelPCA(2, gamma=0.5).fit(X, y)
        labels = explore(model, X, y).header["samples"]["labels"]
        assert labels["names"] == ["0", "1", "2"] and np.all((labels["codes"] == -1) == (y == -1))
        assert samples(X, y)["labels"]["names"] == ["-1", "0", "1", "2"]

    def test_rare_labels_become_one_group(self):
        found = read_column("id", [f"patient {i // 2 if i < 100 else i}" for i in range(1000)], 1000, "y")
        assert len(found.names) == MOST_GROUPS and found.names[-1].endswith("other labels")
        assert np.all(found.codes >= 0)
        # The most frequent ones keep their names.
        assert {f"patient {i}" for i in range(50)} <= set(found.names)

    @pytest.mark.parametrize("y", [np.zeros((60, 2)), np.zeros(59), [1 + 1j] * 60, 3, "labels", [[1, 2]] * 60])
    def test_wrong_labels_are_refused(self, y):
        with pytest.raises(ValueError, match="explore"):
            page(X, y)


class TestColumns:
    def test_columns_to_colour_by(self):
        frame = pd.DataFrame(
            {
                "age": np.where(np.arange(60) % 7 == 0, np.nan, np.linspace(20, 80, 60)),
                "site": ["Paris", None] * 30,
                "day": pd.date_range("2024-01-01", periods=60),
                "infinite": np.where(np.arange(60) == 3, np.inf, np.linspace(0, 1, 60)),
                "seconds": 1.7e9 + np.arange(60) / 100,
            }
        )
        age, site, day, infinite, seconds = samples(X, colors=frame)["columns"]
        assert np.isnan(age["values"]).sum() == 9
        assert site["names"] == ["Paris"] and np.sum(site["codes"] == -1) == 30
        assert day["name"] == "day (days since 2024-01-01)" and day["values"][-1] == 59
        assert np.isnan(infinite["values"][3])
        assert seconds["values"].dtype == np.float64 and np.unique(seconds["values"]).size == 60

    def test_columns_follow_their_rows(self):
        numbers = np.arange(60) + 0.5
        record = samples(X, colors={"number": numbers}, max_samples=20)
        np.testing.assert_array_equal(record["columns"][0]["values"], numbers[record["rows"]])

    def test_wrong_columns_are_refused(self):
        with pytest.raises(ValueError, match=r"59 values in colors\['age'\]"):
            page(X, colors={"age": np.zeros(59)})
        with pytest.raises(TypeError, match="dictionary of columns"):
            page(X, colors=np.zeros(60))


class TestChoiceOfRows:
    def test_labels_are_in_proportion_and_rare_ones_are_there(self):
        codes = np.repeat([0, 1, 2], [8000, 1990, 10])
        rows = chosen_rows(10_000, 1000, Groups("y", ["a", "b", "c"], codes), np.random.default_rng(0))
        assert rows.size == 1000 and np.all(np.diff(rows) > 0)
        counts = np.bincount(codes[rows])
        assert abs(counts[0] - 800) < 5 and counts[2] >= 2

    def test_the_seed_decides(self):
        first, again, other = (samples(X, max_samples=30, random_state=seed)["rows"] for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_more_labels_than_rows_to_draw(self):
        rows = chosen_rows(100, 10, Groups("y", [], np.arange(100)), np.random.default_rng(0))
        assert rows.size == 10

    def test_a_hundred_thousand_rows(self):
        many = np.random.default_rng(0).normal(size=(100_000, 3))
        made = explore(MODEL, many, np.arange(100_000) % 7)
        record = made.header["samples"]
        assert (record["total"], record["count"]) == (100_000, 5000)
        assert any("5,000 of 100,000 rows are drawn" in message for message in made.messages)
        np.testing.assert_allclose(record["inputs"], many[record["rows"]], rtol=1e-5)
        np.testing.assert_allclose(
            made.header["models"][0]["coordinates"], MODEL.transform(many[record["rows"]]), atol=1e-3
        )

    def test_long_rows_are_fewer(self, monkeypatch):
        monkeypatch.setattr("preimage.explorer._rows.MOST_BYTES", 120)
        made = page(X)
        assert made.header["samples"]["count"] == 10
        assert any("10 of 60 rows are drawn, chosen at random, because each has 3 values" in m for m in made.messages)

    def test_voxels_are_bytes_with_scales_of_their_own(self):
        scans = X * [1.0, 1000.0, 0.0] + [0.0, 1e5, 7.0]
        made = explore(KernelPCA(2, gamma=1e-7).fit(scans), scans, mask=np.ones((1, 1, 3), bool))
        record = made.header["samples"]
        assert record["inputs"].dtype == np.uint8 and record["low"].shape == (3,)
        found = record["low"] + record["step"] * record["inputs"]
        assert np.all(np.abs(found - scans) <= np.ptp(scans, axis=0) / 510 * (1 + 1e-9))

    def test_long_rows_have_fewer_points(self, monkeypatch):
        monkeypatch.setattr("preimage.explorer._parts.MOST_POINT_NUMBERS", 30)
        monkeypatch.setattr("preimage.explorer._parts.FEWEST_POINTS", 5)
        assert page(X).header["models"][0]["points"].shape[0] == 10
        assert page(X, n_points=20).header["models"][0]["points"].shape[0] == 20

    def test_one_row_one_column_one_component(self):
        model = KernelPCA(1, gamma=0.5).fit(X[:, :1])
        made = explore(model, X[:1, :1])
        record = made.header["models"][0]
        assert record["coordinates"].shape == (1, 1) and record["deviations"][0] > 0
        assert "</html>" in made.to_html()


class TestContainers:
    @pytest.mark.parametrize(
        "convert",
        [
            lambda rows: rows.tolist(),
            lambda rows: sparse.csr_array(rows),
            lambda rows: sparse.coo_matrix(rows),
            lambda rows: np.asfortranarray(rows.astype(np.float32)),
            lambda rows: pd.DataFrame(rows, columns=["a", "b", "c"]),
            lambda rows: np.ma.masked_array(rows, mask=np.zeros(rows.shape, bool)),
        ],
        ids=["list", "csr", "coo", "float32", "frame", "masked"],
    )
    @pytest.mark.parametrize("most", [30, 100])
    def test_rows_of_any_container_are_the_same(self, convert, most):
        expected, found = samples(X, max_samples=most), samples(convert(X), max_samples=most)
        np.testing.assert_array_equal(found["rows"], expected["rows"])
        np.testing.assert_allclose(found["inputs"], expected["inputs"], rtol=1e-6)

    def test_rows_that_are_elsewhere(self, tmp_path):
        dask = pytest.importorskip("dask.array")
        expected = samples(X, max_samples=30)
        np.save(tmp_path / "rows.npy", X)
        for rows in (dask.from_array(X, chunks=(17, 3)), np.load(tmp_path / "rows.npy", mmap_mode="r")):
            np.testing.assert_array_equal(samples(rows, max_samples=30)["inputs"], expected["inputs"])

    def test_names_come_from_frames_and_are_checked(self):
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = KernelPCA(2, gamma=0.5).fit(frame)
        assert explore(model, frame).header["view"]["names"] == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names"):
            explore(model, frame[["b", "a", "c"]])

    @pytest.mark.parametrize(
        "rows", [X[:, 0], X[None], [["a", "b", "c"]] * 3, X + 1j, X * 1e120, np.full((3, 3), np.inf)]
    )
    def test_rows_that_are_no_table_of_moderate_numbers_are_refused(self, rows):
        with pytest.raises(ValueError):
            page(rows)


class TestPrecision:
    def test_single_precision_is_used_where_rounding_does_not_show(self):
        near, far = np.linspace(0, 1, 50)[:, None], 1e9 + np.linspace(0, 1, 50)[:, None]
        assert in_single(near, deviations(near)).dtype == np.float32
        assert in_single(far, deviations(far)).dtype == np.float64
        for size in (1e-300, 1e300):
            kept = in_single(near * size, deviations(near * size))
            np.testing.assert_allclose(kept, near * size, rtol=1e-6)

    def test_rounding_to_steps_is_near_and_packs(self):
        values = np.random.default_rng(0).normal(size=(1000, 2)) * [1.0, 1e-200]
        rounded = in_steps(values, [2.0**-10, 1e-203])
        assert np.all(np.abs(rounded - values) <= [2.0**-11, 0.5e-203])
        assert np.all(rounded[:, 0].astype(np.float32).view(np.uint32) % 256 == 0)
        np.testing.assert_array_equal(in_steps(values, 0.0), values)

    def test_spreads_of_columns(self):
        values = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan], [np.nan, 5.0, np.nan]])
        np.testing.assert_allclose(deviations(values), [1.0, 5.0, 0.0])
