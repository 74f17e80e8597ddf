"""`preimage impute`: the same table without gaps, an honest report, runs that continue, and models that are kept."""

import json

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("pandas", reason="tables are compared as frames")

import pandas as pd
from typer.testing import CliRunner

from preimage import KernelImputer, KernelImputerCV, load
from preimage.cli import _app
from preimage.cli.runs import _partial

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, np.pi, size=160)
WHOLE = pd.DataFrame(
    {
        "id": np.arange(1, 161),
        "a": np.cos(ANGLE).round(4),
        "b": (100 * np.sin(ANGLE)).round(3),
        "city": ["Köln", "a; b"] * 80,
        "count": np.round(10 * ANGLE),
        "late": np.pi / 2 < ANGLE,
    }
)
VALUES = ["a", "b", "count", "late"]


def with_gaps():
    frame = WHOLE.astype({"late": object})
    for number, name in enumerate(VALUES):
        frame.loc[5 + number :: 11, name] = None
    return frame


GAPS = with_gaps()


def run(*arguments):
    return CliRunner().invoke(_app.app, ["impute", *map(str, arguments)])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def save(frame, path):
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.fixture
def table(tmp_path):
    return save(GAPS, tmp_path / "gaps.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, the table without gaps, the model, and what was said."""
    folder = tmp_path_factory.mktemp("made")
    model = folder / "model.safetensors"
    said = done(save(GAPS, folder / "gaps.csv"), folder / "out.csv", "--categorical", "late", "--save-model", model)
    (folder / "said.txt").write_text(said)
    return folder


def report(path):
    return json.loads(path.with_suffix(".json").read_text())


def test_only_gaps_change_and_none_is_left(made):
    before, after = ((made / name).read_text().splitlines() for name in ("gaps.csv", "out.csv"))
    assert len(before) == len(after) and before[0] == after[0]
    for old, new in zip(before[1:], after[1:]):
        assert all(x in (y, "") and y for x, y in zip(old.split(","), new.split(",")))
    n_gaps, said = int(GAPS[VALUES].isna().sum().sum()), (made / "said.txt").read_text()
    assert f"Filled in {n_gaps} of 640 values" in said and "4 of 4 columns" in said
    found = report(made / "out.csv")
    assert found["gaps"] == n_gaps and [column["name"] for column in found["filled_columns"]] == VALUES
    assert [column["gaps"] for column in found["filled_columns"]] == GAPS[VALUES].isna().sum().tolist()


def test_expected_errors_are_those_of_the_truth(tmp_path):
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, np.pi, 600)
    truth = np.column_stack([np.cos(angle), 100 * np.sin(angle), angle]) + rng.normal(size=(600, 3)) * [0.1, 10, 0.1]
    gaps = rng.permuted(np.tile([True, False, False, False, False, False], (3, 100)), axis=1).T
    np.save(tmp_path / "gaps.npy", np.where(gaps, np.nan, truth))
    done(tmp_path / "gaps.npy", tmp_path / "out.npy", "--gamma", "median", "--components", "20")
    filled = np.load(tmp_path / "out.npy")
    assert (filled[~gaps] == truth[~gaps]).all()
    for number, column in enumerate(report(tmp_path / "out.npy")["filled_columns"]):
        error = np.sqrt(np.mean((filled - truth)[gaps[:, number], number] ** 2))
        assert column["expected_error"] < 0.9 * column["error_of_mean"]
        # Of a hundred values with heavy tails; over eight draws the ratio was 0.6 to 2.0. Rows with hidden values lack
        # more than others, so that estimates are rather too large.
        assert 1 / 3 < column["expected_error"] / error < 3
        assert column["error_of_mean"] == pytest.approx(truth[:, number].std(), rel=0.3)


def test_the_numbers_are_those_of_the_estimator(made):
    values = GAPS[VALUES].astype(float).to_numpy()
    imputer = KernelImputerCV(categorical_features=[3]).fit(values)
    expected, found = imputer.transform(values), pd.read_csv(made / "out.csv")
    np.testing.assert_allclose(found[VALUES[:3]], in_their_digits(expected), atol=1e-9)
    np.testing.assert_array_equal(found["late"], expected[:, 3])


def in_their_digits(values):
    """Numbers with as many digits as their columns have in the table: four, three, and none."""
    return np.column_stack([np.round(np.asarray(values)[:, k], digits) for k, digits in enumerate((4, 3, 0))])


@pytest.mark.parametrize("suffix", [".tsv", ".parquet", ".npy", ".xlsx", ".csv.gz"])
def test_other_formats_have_the_same_numbers(made, tmp_path, suffix):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
    path = tmp_path / f"other{suffix}"
    done(made / "gaps.csv", path, "--model", made / "model.safetensors")
    readers = {".parquet": pd.read_parquet, ".xlsx": pd.read_excel, ".npy": lambda path: pd.DataFrame(np.load(path))}
    read_text = lambda path: pd.read_csv(path, sep="\t" if "tsv" in suffix else ",")
    found = readers.get(suffix, read_text)(path)
    found = found.set_axis(VALUES, axis=1) if suffix == ".npy" else found[VALUES]
    expected = pd.read_csv(made / "out.csv")[VALUES]
    # Excel keeps fifteen digits.
    np.testing.assert_allclose(in_their_digits(found[VALUES[:3]].astype(float)), expected[VALUES[:3]], rtol=1e-14)


def test_whole_numbers_on_request(tmp_path):
    source = save(GAPS.assign(whole=GAPS["count"].astype("Int64")), tmp_path / "gaps.parquet")
    done(source, tmp_path / "real.parquet", "--components", 5)
    done(source, tmp_path / "whole.parquet", "--components", 5, "--round")
    real, whole = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("real", "whole"))
    assert whole["count"].dtype == real["count"].dtype == np.float64 and real["whole"].dtype == "Int64"
    assert (real["count"] != real["count"].round()).any()
    np.testing.assert_array_equal(whole["count"], real["count"].round())
    np.testing.assert_array_equal(whole["a"], real["a"])


NUMBERS = GAPS[["a", "b"]]


@pytest.mark.parametrize(
    "model",
    [
        KernelImputer(kernel="linear", n_components=1),
        KernelImputer(add_indicator=True),
        KernelImputer(missing_values=-1).set_output(transform="pandas"),
        KernelImputerCV(noises=[1e-3]),
    ],
    ids=["no width", "indicators", "other missing value", "search"],
)
def test_models_of_the_library_fill_tables(model, tmp_path):
    known = NUMBERS.fillna(-1) if model.missing_values == -1 else NUMBERS
    model.fit(known.astype(float)).save(tmp_path / "m.safetensors")
    done(save(NUMBERS, tmp_path / "gaps.csv"), tmp_path / "out.csv", "--model", tmp_path / "m.safetensors")
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == ["a", "b"] and found.notna().all(axis=None)
    assert (found[NUMBERS.notna()] == NUMBERS)[NUMBERS.notna()].all(axis=None)


def test_models_without_values_of_a_column_are_refused(tmp_path):
    KernelImputer().fit(NUMBERS.assign(b=np.nan).astype(float)).save(tmp_path / "m.safetensors")
    answer = run(save(NUMBERS, tmp_path / "gaps.csv"), tmp_path / "out.csv", "--model", tmp_path / "m.safetensors")
    assert answer.exit_code != 0 and "without any value of column 'b'" in " ".join(answer.output.split())


def test_models_are_kept_and_fill_other_tables(made, tmp_path):
    path = made / "model.safetensors"
    assert isinstance(load(path), KernelImputer) and list(load(path).feature_names_in_) == VALUES
    some = save(GAPS.iloc[:40, ::-1], tmp_path / "some.csv")
    assert "expected error" in done(some, tmp_path / "some_out.csv", "--model", path)
    expected = pd.read_csv(made / "out.csv")[VALUES[:3]].iloc[:40]
    np.testing.assert_allclose(pd.read_csv(tmp_path / "some_out.csv")[VALUES[:3]], expected, atol=1e-9)
    unused = run(some, tmp_path / "x.csv", "--model", path, "--gamma", "0.5")
    assert unused.exit_code == 0 and "--gamma had no effect" in unused.output
    wrong = run(save(GAPS[["a", "b"]], tmp_path / "two.csv"), tmp_path / "y.csv", "--model", path)
    assert wrong.exit_code == 1 and "has no column 'count'" in " ".join(wrong.output.split())


def test_training_data_of_another_file(tmp_path):
    """A few rows, most of which know one column only, tell nothing about the others."""
    few = GAPS.iloc[:12].copy()
    few.loc[:8, ["b", "count"]] = None
    complete, some = save(WHOLE.iloc[12:], tmp_path / "complete.csv"), save(few, tmp_path / "some.csv")
    done(some, tmp_path / "own.csv")
    done(some, tmp_path / "taught.csv", "--fit", complete, "--gamma", "median")
    errors = {}
    for name in ("own", "taught"):
        difference = pd.read_csv(tmp_path / f"{name}.csv")["count"] - WHOLE["count"].iloc[:12]
        errors[name] = np.median(np.abs(difference[few["count"].isna()]))  # one row knows `late` alone, and little
    assert errors["taught"] < 0.5 * errors["own"]
    assert report(tmp_path / "taught.csv")["training_rows"] == 148


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_interrupted_runs_continue_to_the_same_bytes(tmp_path, monkeypatch, suffix):
    table = save(GAPS.iloc[:72], tmp_path / "gaps.csv")
    options = ["--chunk-rows", 16, "--save-model", tmp_path / "model.safetensors", "--force", "--components", 5]
    done(table, tmp_path / f"whole{suffix}", *options)
    append, count = _partial.PartialOutput.append, iter(range(3))

    def some(self, *arguments):
        if next(count, None) is None:
            raise KeyboardInterrupt
        append(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "append", some)
        assert run(table, tmp_path / f"out{suffix}", *options).exit_code == 130
    changed = run(table, tmp_path / f"out{suffix}", *options, "--round")
    assert changed.exit_code == 3 and "rounded was False, now True" in changed.output
    assert "Continuing after row 48" in done(table, tmp_path / f"out{suffix}", *options)
    assert (tmp_path / f"out{suffix}").read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
    passing = ("seconds", "output")
    reports = [report(tmp_path / f"{name}{suffix}") for name in ("out", "whole")]
    assert {k: v for k, v in reports[0].items() if k not in passing} == {
        k: v for k, v in reports[1].items() if k not in passing
    }
    assert not [path.name for path in tmp_path.iterdir() if ".part." in path.name or path.name.endswith(".part")]
    assert not list(tmp_path.glob(".*.unfinished.*"))


def test_rows_without_values_get_numbers_and_a_warning(tmp_path):
    frame = GAPS.astype({"late": object})
    frame.loc[3, VALUES] = None
    output = tmp_path / "out.csv"
    said = done(save(frame, tmp_path / "gaps.csv"), output, "--components", 5)
    assert "1 row has no value at all" in said and pd.read_csv(output)[VALUES[:3]].notna().all(axis=None)
    assert "--categorical late " in said and pd.read_csv(output)["late"].isna().any()


def test_tables_without_gaps_come_back_as_they_are(tmp_path):
    path = save(WHOLE, tmp_path / "whole.csv")
    assert "has no gaps" in done(path, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()
    model, again = tmp_path / "model.safetensors", tmp_path / "again.safetensors"
    assert "has no gaps" in done(path, tmp_path / "b.csv", "--save-model", model)
    assert (tmp_path / "b.csv").read_bytes() == path.read_bytes()
    gaps = save(GAPS, tmp_path / "gaps.csv")
    assert "Expected errors" in done(gaps, tmp_path / "filled.csv", "--model", model)
    assert "has no gaps" in done(path, tmp_path / "c.csv", "--model", model, "--save-model", again)
    assert load(again).n_features_in_ == load(model).n_features_in_


def test_a_run_without_a_model_may_continue_with_one(tmp_path, monkeypatch):
    path, output, model = save(WHOLE, tmp_path / "whole.csv"), tmp_path / "out.csv", tmp_path / "model.safetensors"

    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "finish", interrupted)
        assert run(path, output).exit_code == 130
    assert "Continuing" in done(path, output, "--save-model", model)
    assert output.read_bytes() == path.read_bytes() and report(output)["training_rows"] == len(WHOLE)
    assert isinstance(load(model), KernelImputer)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["{gaps}", "{gaps}", "--force"], 3, "is an input"),
        (["{none}", "out.csv"], 3, "does not exist"),
        (["{gaps}", "out.nii"], 3, "tables are written as"),
        (["{gaps}", "out.csv", "--components", "-1"], 2, "neither a count"),
        (["{gaps}", "out.csv", "--save-model", "model.pkl"], 3, ".safetensors"),
        (["{empty}", "out.csv", "--columns", "a,b"], 1, "has no values"),
        (["{one}", "out.csv", "--columns", "a,b,c"], 1, "one row"),
        (["{gaps}", "out.csv", "--model", "{gaps}"], 3, "no model that preimage wrote"),
        (["{gaps}", "out.csv", "--impute", "mean"], 2, "No such option"),
    ],
)
def test_errors_say_what_to_do(table, tmp_path, words, code, message):
    files = {"gaps": table, **{name: tmp_path / f"{name}.csv" for name in ("none", "one", "empty")}}
    files["one"].write_text("a,b,c\n1.5,,2\n")
    files["empty"].write_text("a,b,c\n1.5,,2\n2.5,,3\n1.25,,4\n")
    words = [word.format(**files) for word in words]
    words[1] = words[1] if words[1].startswith("/") else tmp_path / words[1]
    result = run(*words)
    assert result.exit_code == code and message in " ".join(result.output.split()), result.output
    assert not (tmp_path / "out.csv").exists()


def test_columns_without_values_are_pointed_out(made, tmp_path):
    path = save(GAPS.assign(nothing=np.nan), tmp_path / "gaps.csv")
    assert "stay empty: nothing" in done(path, tmp_path / "out.csv", "--components", "5")


def test_a_figure_shows_what_was_filled_in(made, tmp_path):
    pytest.importorskip("matplotlib")
    figure = tmp_path / "gaps.png"
    done(made / "gaps.csv", tmp_path / "o.csv", "--plot", figure, "--model", made / "model.safetensors")
    assert figure.stat().st_size > 5000


def test_quiet_prints_nothing(made, tmp_path):
    assert run(made / "gaps.csv", tmp_path / "o.csv", "--quiet", "--model", made / "model.safetensors").output == ""


class TestCategories:
    KIND = np.array([4, 1, 9])[np.digitize(ANGLE, [0.8, 1.9])]

    def table(self, path):
        frame = GAPS.assign(kind=pd.array(self.KIND, dtype="Int64"))
        frame.loc[3::7, "kind"] = None
        return save(frame, path)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_gaps_get_one_of_the_codes(self, tmp_path, suffix):
        before, out, model = self.table(tmp_path / f"in{suffix}"), tmp_path / f"out{suffix}", tmp_path / "m.safetensors"
        said = done(before, out, "--categorical", "kind", "--save-model", model)
        found = pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)
        assert pd.api.types.is_integer_dtype(found["kind"]) and set(found["kind"]) == {1, 4, 9}
        assert np.mean(found["kind"] == self.KIND) > 0.95
        assert "of them wrong (with the most frequent category instead:" in said
        column = report(out)["filled_columns"][-1]
        assert column["name"] == "kind" and column["categorical"] and column["expected_error"] < 0.4
        assert column["expected_error"] < column["error_of_mean"]
        again = tmp_path / f"again{suffix}"
        done(before, again, "--model", model)
        assert (pd.read_csv(again) if suffix == ".csv" else pd.read_parquet(again)).equals(found)
        assert load(model).is_categorical_.tolist() == [False] * 3 + [True]

    def test_categories_that_the_model_has_not_seen_stay(self, tmp_path):
        model = tmp_path / "m.safetensors"
        done(self.table(tmp_path / "in.csv"), tmp_path / "out.csv", "--categorical", "kind", "--save-model", model)
        other = pd.read_csv(tmp_path / "in.csv").assign(kind=77)
        done(save(other, tmp_path / "other.csv"), tmp_path / "filled.csv", "--model", model)
        assert set(pd.read_csv(tmp_path / "filled.csv")["kind"]) == {77}

    def test_gaps_of_words_and_codes_get_words_and_codes(self, tmp_path):
        words = np.array(["Köln", "a; b", "x"])[np.digitize(ANGLE, [0.8, 1.9])]
        codes = np.array(["007", "0123", "7"])[np.digitize(ANGLE, [0.8, 1.9])]
        frame = GAPS[["a", "b"]].assign(city=words, zip=codes)
        frame.loc[3::7, "city"], frame.loc[4::7, "zip"] = None, None
        before, out, model = save(frame, tmp_path / "in.csv"), tmp_path / "out.csv", tmp_path / "m.safetensors"
        done(before, out, "--categorical", "city,zip", "--save-model", model)
        found = pd.read_csv(out, dtype=str)
        assert np.mean(found["city"] == words) > 0.95 and np.mean(found["zip"] == codes) > 0.95
        # In another order of columns, with a word that the model does not know, and with fewer words.
        other = frame.iloc[:40, ::-1].copy()
        other.loc[0, "city"] = "new"
        done(save(other, tmp_path / "other.csv"), tmp_path / "again.csv", "--model", model)
        again = pd.read_csv(tmp_path / "again.csv", dtype=str)
        assert again.loc[0, "city"] == "new" and again["zip"].tolist() == found["zip"].iloc[:40].tolist()
        assert load(model).transform(frame[["a", "b", "city", "zip"]])[:, 2].tolist() == found["city"].tolist()
        others = ["--fit", save(other, tmp_path / "fit_to.csv"), "--components", 5]
        done(before, tmp_path / "fit.csv", "--categorical", "city,zip", *others)
        assert set(pd.read_csv(tmp_path / "fit.csv")["city"]) <= {*words, "new"}

    @pytest.mark.parametrize(("column", "message"), [("id", "names rows, and is no category"), ("x", "no column 'x'")])
    def test_columns_without_codes_are_refused(self, tmp_path, column, message):
        result = run(self.table(tmp_path / "in.csv"), tmp_path / "out.csv", "--categorical", column)
        assert result.exit_code != 0 and message in " ".join(result.output.split())


def test_columns_that_keep_gaps_are_named_and_no_others(tmp_path):
    frame = GAPS.assign(zip=[f"0{row:04}" for row in range(160)], mark="x", word=["u", "v"] * 80)
    frame.loc[3, ["zip", "word"]] = None
    said = done(save(frame, tmp_path / "in.csv"), tmp_path / "out.csv", "--components", 5)
    assert "Gaps stay in late, zip, word. To fill in those of categories: --categorical late,word " in said
    said = done(tmp_path / "in.csv", tmp_path / "other.csv", "--categorical", "late,word", "--components", 5)
    assert "Gaps stay in zip. Filled in" in said


@pytest.mark.parametrize(("option", "name"), [("--categorical", "Citty"), ("--columns", "CITY"), ("--exclude", "cit")])
def test_misspelt_columns_are_recognised(tmp_path, option, name):
    result = run(save(GAPS, tmp_path / "in.csv"), tmp_path / "out.csv", option, name)
    said = " ".join(result.output.split())
    assert result.exit_code == 1 and f"in.csv has no column '{name}'. Did you mean 'city'? It has id," in said


def test_columns_are_shown_also_where_one_of_them_is_refused(tmp_path):
    save(GAPS.assign(b=["not measured", *GAPS["b"][1:].astype(object)]), tmp_path / "in.csv")
    shown = [" ".join(line.split()) for line in run(tmp_path / "in.csv", "--columns-only").output.splitlines()]
    assert {"b numbers and other words values, with --missing", "count measurement values"} <= set(shown)
    assert "add --missing 'not measured'" in " ".join(run(tmp_path / "in.csv", tmp_path / "out.csv").output.split())
