"""Columns of all scales, missing values, and columns that only pass through: in memory, in chunks, and after a stop."""

import csv
import json
import warnings

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("pandas", reason="tables are compared as frames")

import pandas as pd
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from preimage import KernelPCA, load
from preimage._engine.column_moments import ColumnMoments
from preimage.cli import _app
from preimage.cli._options import TableOptions
from preimage.cli.runs import _partial
from preimage.cli.runs._learning import Preparation, Survey, survey
from preimage.cli.tables._sources import open_source
from preimage.solvers import FixedPoint

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, np.pi, size=(90, 1))
X = np.hstack([np.cos(ANGLE), np.sin(ANGLE), ANGLE]) + RNG.normal(scale=0.05, size=(90, 3))
SCALES = np.array([1.0, 100.0, 30_000.0])
FRAME = pd.DataFrame(X * SCALES, columns=["a", "b", "c"]).assign(city=["Köln", "a, b", 'say "x"'] * 30)
FRAME.insert(0, "id", np.arange(1, 91))
FEW = ["--components", "3", "--landmarks", "20"]
FIXED = ["--components", "3", "--gamma", "median", "--penalty", "0", "--no-plot"]


def run(*arguments):
    return CliRunner().invoke(_app.app, [str(argument) for argument in arguments])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def written(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_excel(path) if path.suffix == ".xlsx" else pd.read_csv(path, sep=None, engine="python")


def save(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path


def denoised_scaled():
    scaler = StandardScaler().fit(X * SCALES)
    model = KernelPCA(3, gamma="median", preimage=FixedPoint()).fit(scaler.transform(X * SCALES))
    return scaler.inverse_transform(model.denoise(scaler.transform(X * SCALES)))


def test_preparation_is_undone_exactly_where_nothing_is_done(tmp_path):
    rows = X * SCALES
    found, path = Survey(len(rows), rows, ColumnMoments.of(rows)), tmp_path / "table.csv"
    pd.DataFrame(rows, columns=["a", "b", "c"]).to_csv(path, index=False)
    source = lambda wish: open_source(path, TableOptions(standardize=wish))
    prepare = lambda wish, why_not="": Preparation.of(source(wish), found, why_not)
    assert prepare(False).undone(prepare(False)(rows)) is rows
    np.testing.assert_allclose(prepare(True).undone(prepare(True)(rows)), rows)
    assert prepare(None).is_standardizing and not prepare(None, "so").is_standardizing
    assert prepare(True)(rows.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".xlsx"])
@pytest.mark.parametrize("route", [[], ["--landmarks", "90", "--chunk-rows", "25"]], ids=["memory", "chunks"])
def test_denoise_writes_the_whole_table_back_in_its_units(tmp_path, suffix, route):
    path, output = save(FRAME, tmp_path / f"noisy{suffix}"), tmp_path / f"clean{suffix}"
    said = done("denoise", path, output, *FIXED, *route)
    assert "90 rows, 5 columns" in said and "id code names rows a measurement values" in said
    assert "city category not used" in said
    assert "columns are standardised" in said and "2 other columns written back unchanged: id, city" in said
    clean = written(output)
    assert list(clean.columns) == list(FRAME.columns)
    assert clean["id"].tolist() == FRAME["id"].tolist() and clean["city"].tolist() == FRAME["city"].tolist()
    np.testing.assert_allclose(clean[["a", "b", "c"]] / SCALES, denoised_scaled() / SCALES, atol=1e-5)
    assert json.loads((tmp_path / "clean.json").read_text())["standardized"]


def test_standardised_coordinates_do_not_depend_on_units(tmp_path):
    save(FRAME, tmp_path / "one.csv")
    save(FRAME.assign(a=FRAME["a"] * 1024), tmp_path / "two.csv")
    for name in ("one", "two"):
        done("embed", tmp_path / f"{name}.csv", tmp_path / f"{name}.npy", *FEW, "--chunk-rows", 16)
    np.testing.assert_allclose(np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy"), atol=1e-9)
    done("embed", tmp_path / "one.csv", tmp_path / "raw.npy", *FEW, "--no-standardize")
    assert not np.allclose(np.load(tmp_path / "raw.npy"), np.load(tmp_path / "one.npy"), atol=0.01)


def test_columns_of_one_scale_arrays_and_given_widths_are_left_as_they_are(tmp_path):
    save(pd.DataFrame(X, columns=["a", "b", "c"]), tmp_path / "alike.csv")
    assert "standardised" not in done("embed", tmp_path / "alike.csv", tmp_path / "alike.npy", *FEW)
    np.save(tmp_path / "array.npy", X * SCALES)
    assert "standardised" not in done("embed", tmp_path / "array.npy", tmp_path / "plain.npy", *FEW)
    save(FRAME, tmp_path / "table.csv")
    assert "--gamma is a number" in done("embed", tmp_path / "table.csv", tmp_path / "o.npy", *FEW, "--gamma", "0.5")


def test_saved_models_standardise_alike(tmp_path):
    path, model = save(FRAME, tmp_path / "table.csv"), tmp_path / "model.safetensors"
    done("embed", path, tmp_path / "out.csv", *FEW, "--save-model", model, "--keep", "city")
    out = pd.read_csv(tmp_path / "out.csv")
    assert list(out.columns)[:2] == ["id", "city"] and out["city"].tolist() == FRAME["city"].tolist()
    values = out.iloc[:, 2:].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(load(model).transform(FRAME[["a", "b", "c"]]), values, atol=1e-12)
    some = save(FRAME.iloc[40:, ::-1].drop(columns="id"), tmp_path / "some.parquet")
    done("embed", some, tmp_path / "some.npy", "--model", model)
    np.testing.assert_allclose(np.load(tmp_path / "some.npy"), values[40:], atol=1e-12)


@pytest.mark.parametrize("impute", ["mean", "median"])
@pytest.mark.parametrize("route", [[], ["--landmarks", "90", "--chunk-rows", "25"]], ids=["memory", "chunks"])
def test_missing_values_are_filled_in(tmp_path, impute, route):
    holes = FRAME.copy()
    holes.loc[[4, 50], "b"] = np.nan
    filled = holes.assign(b=holes["b"].fillna(getattr(holes["b"], impute)()))
    save(holes, tmp_path / "holes.csv"), save(filled, tmp_path / "filled.csv")
    result = run("denoise", tmp_path / "holes.csv", tmp_path / "o.csv", *FIXED, *route)
    assert result.exit_code == 1 and "row 5, column 'b'" in result.output and "--impute" in result.output
    scaled = ["--standardize"]
    said = done("denoise", tmp_path / "holes.csv", tmp_path / "a.csv", *FIXED, *route, *scaled, "--impute", impute)
    assert f"2 missing values are filled in with the {impute}" in said
    # The deviation of columns is that of known values.
    scale = FRAME["b"].drop([4, 50]).std() / filled["b"].std()
    done("denoise", tmp_path / "filled.csv", tmp_path / "b.csv", *FIXED, *route, *scaled)
    a, b = (written(tmp_path / name)[["a", "b", "c"]].to_numpy() for name in ("a.csv", "b.csv"))
    assert scale == pytest.approx(1, abs=0.02)
    np.testing.assert_allclose(a / SCALES, b / SCALES, atol=0.02)


@pytest.mark.parametrize(
    "route",
    [[], pytest.param(["--landmarks", "90", "--chunk-rows", "25"], marks=pytest.mark.net)],
    ids=["memory", "chunks"],
)
def test_gaps_are_filled_in_as_the_command_impute_does(tmp_path, route):
    holes, options = FRAME.copy(), [*FIXED, *route, "--no-standardize"]
    holes.loc[[4, 50], "b"] = np.nan
    save(holes, tmp_path / "holes.csv")
    done("impute", tmp_path / "holes.csv", tmp_path / "filled.csv")
    said = done("denoise", tmp_path / "holes.csv", tmp_path / "a.csv", *options, "--impute", "kernel")
    assert "2 missing values are filled in from similar rows" in said
    done("denoise", tmp_path / "filled.csv", tmp_path / "b.csv", *options)
    a, b = (written(tmp_path / name)[["a", "b", "c"]].to_numpy() for name in ("a.csv", "b.csv"))
    np.testing.assert_allclose(a / SCALES, b / SCALES, atol=1e-9)


@pytest.mark.parametrize("standardize", ["--standardize", "--no-standardize"])
@pytest.mark.parametrize("impute", ["mean", "median", "kernel"])
def test_saved_models_fill_gaps_in(tmp_path, impute, standardize):
    holes, model = FRAME.copy(), tmp_path / "model.safetensors"
    holes.loc[[4, 50], "b"] = np.nan
    path = save(holes, tmp_path / "holes.csv")
    done("embed", path, tmp_path / "out.npy", *FEW, "--impute", impute, standardize, "--save-model", model)
    expected = np.load(tmp_path / "out.npy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(load(model).transform(holes[["a", "b", "c"]]), expected, atol=1e-9)
    some = save(holes.iloc[40:, ::-1], tmp_path / "some.csv")
    done("embed", some, tmp_path / "some.npy", "--model", model)
    np.testing.assert_allclose(np.load(tmp_path / "some.npy"), expected[40:], atol=1e-9)
    said = done("embed", some, tmp_path / "same.npy", "--model", model, "--impute", "mean")
    assert "--impute had no effect" in said
    np.testing.assert_array_equal(np.load(tmp_path / "same.npy"), np.load(tmp_path / "some.npy"))


@pytest.mark.parametrize("impute", ["mean", pytest.param("kernel", marks=pytest.mark.net)])
@pytest.mark.parametrize("command", ["embed", "denoise"])
def test_interrupted_runs_continue_with_the_same_preparation(tmp_path, monkeypatch, command, impute):
    holes = FRAME.copy()
    holes.loc[[4, 50], "b"] = np.nan
    path = save(holes, tmp_path / "table.csv")
    options = [*(FEW if command == "embed" else [*FIXED, "--landmarks", "20"]), "--chunk-rows", 16, "--impute", impute]
    done(command, path, tmp_path / "whole.csv", *options)
    append, count = _partial.PartialOutput.append, iter(range(3))

    def some(self, *arguments):
        if next(count, None) is None:
            raise KeyboardInterrupt
        append(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "append", some)
        assert run(command, path, tmp_path / "out.csv", *options).exit_code == 130
    changed = run(command, path, tmp_path / "out.csv", *options, "--no-standardize")
    assert changed.exit_code == 3 and "--standardize was None, now False" in changed.output
    assert "Continuing after row 48" in done(command, path, tmp_path / "out.csv", *options)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_only_some_columns_can_be_denoised(tmp_path):
    path = save(FRAME, tmp_path / "noisy.csv")
    done("denoise", path, tmp_path / "clean.csv", *FIXED, "--columns", "a,b")
    clean = written(tmp_path / "clean.csv")
    np.testing.assert_allclose(clean["c"], FRAME["c"], rtol=1e-15)
    assert not np.allclose(clean["a"], FRAME["a"])
    done("denoise", path, tmp_path / "same.csv", *FIXED, "--exclude", "c")
    assert (tmp_path / "same.csv").read_bytes() == (tmp_path / "clean.csv").read_bytes()


def test_dialects_are_written_back(tmp_path):
    path = tmp_path / "noisy.csv"
    path.write_bytes(FRAME.to_csv(index=False, sep=";", decimal=",").encode("latin-1"))
    done("denoise", path, tmp_path / "clean.csv", *FIXED)
    clean = pd.read_csv(tmp_path / "clean.csv", sep=";", decimal=",", encoding="latin-1")
    assert clean["city"].tolist() == FRAME["city"].tolist()
    np.testing.assert_allclose(clean[["a", "b", "c"]] / SCALES, denoised_scaled() / SCALES, atol=1e-5)


def test_noise_is_in_the_units_of_the_data(tmp_path):
    path = save(FRAME, tmp_path / "table.csv")
    said = done("denoise", path, tmp_path / "o.csv", *FIXED, "--noise", "0.1")
    assert "left so, since --noise is in the units of the data" in said
    result = run("denoise", path, tmp_path / "p.csv", *FIXED, "--noise", "0.1", "--standardize")
    assert result.exit_code == 2 and "--noise" in result.output


def test_one_income_column_does_not_hide_groups(tmp_path):
    """Two groups that differ in two columns, next to one with a large scale."""
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1], 60)
    frame = pd.DataFrame(
        {"age": rng.normal(30 + 25 * group, 4), "score": rng.normal(group, 0.1), "income": rng.normal(5e4, 2e4, 120)}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    for name, option in (("auto", []), ("raw", ["--no-standardize"])):
        done("embed", tmp_path / "people.csv", tmp_path / f"{name}.npy", *FEW, *option)
    agreement = {}
    for name in ("auto", "raw"):
        first = np.load(tmp_path / f"{name}.npy")[:, 0]
        right = np.mean((first > np.median(first)) == group)
        agreement[name] = max(right, 1 - right)
    assert agreement["auto"] > 0.95 and agreement["raw"] < 0.8


@pytest.mark.parametrize("route", [[], ["--landmarks", "20", "--chunk-rows", "30"]])
def test_training_columns_are_found_by_their_names(tmp_path, route):
    data, out, others = save(FRAME, tmp_path / "x.csv"), tmp_path / "out.csv", tmp_path / "others.csv"
    done("denoise", data, out, *FIXED, *route, "--fit", save(FRAME, tmp_path / "same.csv"))
    expected = out.read_text()
    save(FRAME.assign(extra=1.5)[["c", "extra", "b", "city", "a"]], others)
    done("denoise", data, out, *FIXED, *route, "--fit", others, "--force")
    assert out.read_text() == expected
    save(FRAME.rename(columns={"b": "other"}), others)
    result = run("denoise", data, out, *FIXED, *route, "--fit", others, "--force")
    assert result.exit_code == 1 and "has no column 'b'" in " ".join(result.output.split())


def test_empty_texts_between_blanks_are_written_back(tmp_path):
    path, out = tmp_path / "x.txt", tmp_path / "out.txt"
    FRAME.assign(city=["", "x y"] * 45).to_csv(path, sep=" ", index=False, quoting=csv.QUOTE_NONNUMERIC)
    done("denoise", path, out, *FIXED)
    back = pd.read_csv(out, sep=" ", keep_default_na=False)
    assert back.city.tolist() == ["", "x y"] * 45 and back.id.tolist() == FRAME.id.tolist()


def test_all_levels_of_an_index_are_no_values(tmp_path):
    FRAME.assign(visit=RNG.integers(3, size=90)).set_index(["id", "visit"]).to_parquet(tmp_path / "x.parquet")
    told = done("embed", tmp_path / "x.parquet", tmp_path / "out.csv", *FEW)
    assert (
        told.count("measurement values") == 3 and "id code names rows" in told and "visit measurement not used" in told
    )


def test_texts_do_not_become_formulas(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
    out = tmp_path / "out.xlsx"
    done("denoise", save(FRAME.assign(city="=1+1"), tmp_path / "x.csv"), out, *FIXED)
    cells = list(openpyxl.load_workbook(out).active["E"])[1:]
    assert {(cell.value, cell.data_type) for cell in cells} == {("=1+1", "s")}


def test_numbers_that_name_something_are_values_on_request(tmp_path):
    frame = FRAME.rename(columns={"id": "patient_id"}).assign(patient_id=RNG.permutation(90) * 7)
    told = done("embed", save(frame, tmp_path / "x.csv"), tmp_path / "out.csv", *FEW)
    assert "patient_id code not used" in told
    told = done("embed", tmp_path / "x.csv", tmp_path / "out.csv", *FEW, "--index", "patient_id", "--force")
    assert "patient_id code names rows" in told
    told = done("embed", tmp_path / "x.csv", tmp_path / "o.csv", *FEW, "--columns", "a,b,patient_id")
    assert "patient_id code values" in told


ROUTES = pytest.mark.parametrize("route", [[], ["--landmarks", "90", "--chunk-rows", "25"]], ids=["memory", "chunks"])


@ROUTES
@pytest.mark.parametrize("value", [1e9, -1e60])
def test_one_wrong_value_does_not_hide_the_others(tmp_path, route, value):
    """What kernel PCA makes of the other rows hardly changes."""
    options = [*FIXED, *route, "--standardize"]
    done("denoise", save(FRAME, tmp_path / "right.csv"), tmp_path / "a.csv", *options)
    wrong = FRAME.copy()
    wrong.loc[17, "b"] = value
    done("denoise", save(wrong, tmp_path / "wrong.csv"), tmp_path / "b.csv", *options)
    a, b = (
        written(tmp_path / name)[["a", "b", "c"]].drop(17) / FRAME[["a", "b", "c"]].std() for name in ("a.csv", "b.csv")
    )
    assert np.abs(a - b).to_numpy().mean() < 0.05
    assert np.corrcoef(b["b"], FRAME["b"].drop(17))[0, 1] > 0.9


@ROUTES
@pytest.mark.parametrize("command", ["denoise", "embed"])
@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_values_beyond_squares_are_refused_by_name(tmp_path, route, command, suffix):
    path, wrong = tmp_path / f"x{suffix}", FRAME[["a", "b", "c"]].copy()
    wrong.loc[17, "b"] = 1e300
    if suffix == ".npy":
        np.save(path, wrong.to_numpy())
    else:
        save(wrong, path)
    options = [*FIXED, *route] if command == "denoise" else [*FEW, *route[2:]]
    result = run(command, path, tmp_path / "o.csv", *options)
    said, name = " ".join(result.output.split()), "b" if suffix == ".csv" else "2"
    assert result.exit_code == 1 and f"1e+300 in column '{name}'" in said and f"--exclude {name}" in said
    done(command, path, tmp_path / "o.csv", *options, "--exclude", name)


@ROUTES
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_constant_columns_are_left_out_by_name_and_come_back_as_they_are(tmp_path, route, suffix):
    frame = FRAME.drop(columns=["id", "city"])
    more = frame.assign(zero=0, dose="1.50").astype({"dose": float})
    path, out = tmp_path / f"more{suffix}", tmp_path / f"out{suffix}"
    if suffix == ".csv":
        path.write_text(more.to_csv(index=False).replace(",1.5\n", ",1.50\n"))
    else:
        more.to_parquet(path)
    assert "Constant, and left out of the model: zero, dose." in done("denoise", path, out, *FIXED, *route)
    done("denoise", save(frame, tmp_path / f"plain{suffix}"), tmp_path / f"alone{suffix}", *FIXED, *route)
    found, alone = written(out), written(tmp_path / f"alone{suffix}")
    assert list(found.columns) == list(more.columns) and found["zero"].dtype == more["zero"].dtype
    np.testing.assert_array_equal(found[["a", "b", "c"]], alone)
    if suffix == ".csv":
        assert all(line.endswith(",0,1.50") for line in out.read_text().splitlines()[1:])
    done("denoise", path, tmp_path / "whole.npy", *FIXED, *route)
    np.testing.assert_array_equal(np.load(tmp_path / "whole.npy"), found)


def test_models_are_of_the_columns_that_vary(tmp_path):
    more, model = save(FRAME.assign(a1=3.0)[["a", "a1", "b", "c"]], tmp_path / "x.csv"), tmp_path / "m.safetensors"
    done("embed", more, tmp_path / "one.npy", *FEW, "--save-model", model)
    assert list(load(model).feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(load(model).transform(FRAME[["a", "b", "c"]]), np.load(tmp_path / "one.npy"), atol=1e-9)
    done(
        "embed", save(FRAME.assign(a1=RNG.normal(size=90)), tmp_path / "y.csv"), tmp_path / "two.npy", "--model", model
    )
    np.testing.assert_allclose(np.load(tmp_path / "two.npy"), np.load(tmp_path / "one.npy"), atol=1e-12)


@ROUTES
def test_what_is_constant_in_the_training_data_stays_in_new_rows(tmp_path, route):
    rows = FRAME.drop(columns=["id", "city"])
    new, fit = (
        save(rows.assign(k=RNG.normal(size=90)), tmp_path / "x.csv"),
        save(rows.assign(k=7), tmp_path / "fit.csv"),
    )
    said = done("denoise", new, tmp_path / "o.csv", *FIXED, *route, "--fit", fit)
    assert "left out of the model: k" in said
    np.testing.assert_array_equal(written(tmp_path / "o.csv")["k"], written(new)["k"])


def test_tables_of_equal_rows_are_refused(tmp_path):
    save(FRAME[["a"]].assign(a=3.0, b=4.0), tmp_path / "x.csv")
    result = run("embed", tmp_path / "x.csv", tmp_path / "o.csv")
    assert result.exit_code == 1 and "same values in all rows" in result.output


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [7, 500])
def test_scales_do_not_depend_on_chunks(tmp_path, rows, dtype):
    values = np.column_stack(
        [
            RNG.normal(size=300),
            np.repeat([0, 1], [290, 10]),
            np.where(RNG.random(300) < 0.1, RNG.exponential(size=300), 0),
            1e4 + RNG.normal(0, 0.5, size=300),
            np.full(300, 0.1),
        ]
    ).astype(dtype)
    values[17, 0] = 1e9
    np.save(tmp_path / "x.npy", values)
    source = open_source(tmp_path / "x.npy", TableOptions(standardize=True))
    of = lambda found: Preparation.of(source, found)
    chunked, whole = of(survey(source, rows, 1000, 0)), of(survey(source.held(), rows, 1000, 0))
    np.testing.assert_array_equal(chunked.scale, whole.scale)
    np.testing.assert_array_equal(chunked.mean, whole.mean)
    prepared = whole(values)
    assert prepared.dtype == dtype and np.isfinite(prepared).all()
    spread = np.delete(prepared, 17, axis=0).std(axis=0)
    assert np.all(spread[:4] > 0.5) and np.all(spread[:4] < 1.2) and spread[4] == 0
    np.testing.assert_allclose(whole.undone(prepared), values, rtol=1e-6, atol=1e-6)


def test_small_changes_about_a_large_mean_are_no_constant(tmp_path):
    rows = FRAME[["a"]].assign(time=1e9 + 1e-3 * FRAME["b"] / 100, rounding=np.where(FRAME["a"] > 0, 0.1 + 0.2, 0.3))
    said = done("embed", save(rows, tmp_path / "x.csv"), tmp_path / "o.csv", *FEW[:2])
    assert "left out of the model: rounding." in said and "so columns are standardised" in said


def test_rare_values_that_the_sample_misses_have_a_scale(tmp_path):
    rows = np.column_stack([RNG.normal(size=400), np.arange(400) == 399]).astype(float)
    np.save(tmp_path / "x.npy", rows)
    source = open_source(tmp_path / "x.npy", TableOptions(standardize=True))
    found = survey(source, 50, 10, 0)
    assert not found.sample[:, 1].any()
    assert Preparation.of(source, found).scale[1] == pytest.approx(rows[:, 1].std())
