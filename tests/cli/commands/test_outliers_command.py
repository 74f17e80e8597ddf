"""`preimage outliers`: the scores and decisions of the library, next to what names the rows."""

import csv

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")

from typer.testing import CliRunner

from preimage import KernelNoveltyDetector
from preimage._engine.robust import location_and_scale
from preimage.cli import _app
from preimage.cli._errors import ExitCode

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(57, 3)), [[6.0, 6, 6], [-7, 5, 0], [0, 0, 9]]])


def run(*arguments):
    return CliRunner().invoke(_app.app, ["outliers", *map(str, arguments)])


@pytest.fixture
def table(tmp_path):
    with open(tmp_path / "table.csv", "w", newline="") as file:
        csv.writer(file).writerows([["name", "a", "b", "c"], *([f"row {k}", *row] for k, row in enumerate(X))])
    return tmp_path / "table.csv"


@pytest.mark.parametrize("contamination", [None, 0.05])
def test_scores_and_decisions_are_those_of_the_library(table, tmp_path, contamination):
    options = [] if contamination is None else ["--contamination", contamination]
    result = run(table, tmp_path / "out.csv", "--keep", "name", *options)
    assert result.exit_code == 0, result.output
    expected = KernelNoveltyDetector("auto" if contamination is None else contamination).fit(X)
    with open(tmp_path / "out.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["name", "novelty", "outlier"]
    assert [row[0] for row in rows] == [f"row {k}" for k in range(60)]
    np.testing.assert_allclose([float(row[1]) for row in rows], -expected.left_out_scores_, rtol=1e-9)
    found = np.array([row[2] for row in rows])
    np.testing.assert_array_equal(found == "1", expected.predict(X) == -1)
    assert set(found) == {"0", "1"}
    assert "3 of 60 rows are outliers" in result.output and "rows 5" in result.output


def test_arrays_and_other_formats(tmp_path):
    np.save(tmp_path / "X.npy", X)
    for name in ("out.npy", "out.parquet", "out.tsv"):
        assert run(tmp_path / "X.npy", tmp_path / name, "--landmarks", "40", "--gamma", "0.2").exit_code == 0
    expected = KernelNoveltyDetector(gamma=0.2, landmarks=40).fit(X)
    values = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(values[:, 0], -expected.left_out_scores_, rtol=1e-9)
    np.testing.assert_array_equal(values[:, 1] == 1, expected.predict(X) == -1)


def test_a_figure_is_drawn(table, tmp_path):
    pytest.importorskip("matplotlib")
    result = run(table, tmp_path / "out.csv", "--plot", tmp_path / "figure.png")
    assert result.exit_code == 0 and (tmp_path / "figure.png").stat().st_size > 5000
    assert "figure.png" in result.output


def test_columns_of_different_units_are_standardised_and_gaps_filled(tmp_path):
    Z = X * [1, 1000, 1]
    Z[3, 0] = np.nan
    np.savetxt(tmp_path / "units.csv", Z, delimiter=",", header="a,b,c", comments="")
    assert run(tmp_path / "units.csv", tmp_path / "out.npy").exit_code == ExitCode.NOT_POSSIBLE
    result = run(tmp_path / "units.csv", tmp_path / "out.npy", "--impute", "mean")
    assert result.exit_code == 0 and "standardised" in result.output
    filled = np.where(np.isnan(Z), np.nanmean(Z, axis=0), Z)
    location, scale = location_and_scale(Z)
    expected = KernelNoveltyDetector().fit((filled - location) / scale)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy")[:, 0], -expected.left_out_scores_, rtol=1e-6)


def test_what_cannot_be_done_is_refused(table, tmp_path):
    assert run(table, tmp_path / "out.doc").exit_code == ExitCode.FILE
    for wrong in ("0", "0.7", "much"):
        assert run(table, tmp_path / "out.csv", "--contamination", wrong).exit_code == ExitCode.WRONG_USE
    np.save(tmp_path / "one.npy", X[:1])
    assert run(tmp_path / "one.npy", tmp_path / "out.csv").exit_code == ExitCode.NOT_POSSIBLE
    np.save(tmp_path / "same.npy", np.ones((9, 2)))
    assert run(tmp_path / "same.npy", tmp_path / "out.csv").exit_code in (ExitCode.NOT_POSSIBLE, ExitCode.DONE)
    assert not [path for path in tmp_path.iterdir() if "unfinished" in path.name]


def test_columns_that_are_not_written_are_named(table, tmp_path):
    assert "name: not in out.csv; to keep columns there, add --keep name" in run(table, tmp_path / "out.csv").output
    assert "not in" not in run(table, tmp_path / "out.csv", "--keep", "name", "--force").output


def test_one_outlier_is_one(tmp_path):
    np.save(tmp_path / "X.npy", np.vstack([RNG.normal(size=(19, 2)), [[50, 50]]]))
    assert "1 of 20 rows is an outlier. It is row 20." in run(tmp_path / "X.npy", tmp_path / "out.csv").output


def test_columns_of_values_stand_next_to_their_novelty_on_request(table, tmp_path):
    plain = run(table, tmp_path / "plain.csv", "--keep", "name,a,b,c")
    assert plain.exit_code == ExitCode.NOT_POSSIBLE
    assert "Columns of --keep are values only if --columns has them too." in " ".join(plain.output.split())
    result = run(table, tmp_path / "out.csv", "--columns", "a,b,c", "--keep", "name,b")
    assert result.exit_code == 0 and "row 1 is the first below the header." in " ".join(result.output.split())
    assert run(table, tmp_path / "scores.csv").exit_code == 0
    with open(tmp_path / "out.csv", newline="") as file, open(tmp_path / "scores.csv", newline="") as scores:
        (header, *rows), (_, *novelty) = csv.reader(file), csv.reader(scores)
    assert header == ["name", "b", "novelty", "outlier"] and [row[2:] for row in rows] == novelty
    np.testing.assert_array_equal([float(row[1]) for row in rows], X[:, 1])


@pytest.mark.parametrize("option", ["--columns", "--keep"])
def test_columns_are_named_once(table, tmp_path, option):
    result = run(table, tmp_path / "out.csv", option, "a,b,a")
    assert result.exit_code == ExitCode.WRONG_USE and f"Error: {option} names the column 'a' twice" in result.output


def test_without_a_fraction_it_says_that_the_number_of_outliers_is_not_known(table, tmp_path):
    said = " ".join(run(table, tmp_path / "out.csv", "--exclude", "name").output.split())
    assert "How many there are is not known: the most unusual row in twenty is called an outlier" in said
    told = run(table, tmp_path / "other.csv", "--exclude", "name", "--contamination", "0.05")
    assert "not known" not in told.output
