"""`preimage inflation`: what the library reports, from a table and in words for its owner."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from sklearn.svm import SVC
from typer.testing import CliRunner

from preimage import KernelPCA, inflation_report
from preimage.cli import _app

RNG = np.random.default_rng(0)
Y = np.arange(40) < 12
X = RNG.normal(size=(40, 300))
X[Y, :30] += 1.5
RUNS = np.arange(40) % 8


def run(*arguments):
    return CliRunner().invoke(_app.app, ["inflation", *map(str, arguments)])


@pytest.fixture
def table(tmp_path):
    header = ",".join(["diagnosis", "run", *(f"gene{k}" for k in range(300))])
    values = np.column_stack([Y, RUNS, X])
    np.savetxt(tmp_path / "patients.csv", values, delimiter=",", header=header, comments="", fmt="%.17g")
    np.savez(tmp_path / "patients.npz", X=X, diagnosis=Y.astype(int), run=RUNS)
    return tmp_path / "patients.csv"


@pytest.mark.parametrize("name", ["patients.csv", "patients.npz"])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_numbers_are_those_of_the_library(table, tmp_path, name, grouped):
    options = ["--group", "run"] if grouped else []
    options += ["--array", "X"] if name.endswith("npz") else []
    result = run(tmp_path / name, "--label", "diagnosis", *options, "--output", tmp_path / "report.json")
    assert result.exit_code == 0, result.output
    # Without --group the column of runs is one more variable of the table.
    rows = np.column_stack([RUNS, X]) if name.endswith("csv") and not grouped else X
    groups = RUNS if grouped else None
    expected = inflation_report(SVC(), rows, Y, groups=groups)
    record = json.loads((tmp_path / "report.json").read_text())
    np.testing.assert_allclose([value["ratio"] for value in record["values"]], expected.ratios, rtol=1e-6)
    assert record["recommends_correction"] == expected.recommends_correction and record["method"] == expected.method
    for question in ("Is there signal? Yes", "Is there inflation? Yes", "Does correction help?", "What this means"):
        assert question in result.stdout


@pytest.mark.parametrize(
    ("options", "model"),
    [
        (["--label", "diagnosis"], SVC()),  # as in the guide
        (["--label", "diagnosis", "--estimator", "svc", "--components", "3"], SVC()),
        (["--label", "diagnosis", "--components", "3"], KernelPCA(3, gamma="median")),
        (["--label", "diagnosis", "--landmarks", "30"], KernelPCA(5, gamma="median", landmarks=30, random_state=0)),
        ([], KernelPCA(5, gamma="median")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_classes_are_judged_by_a_support_vector_machine_unless_components_are_asked_for(
    table, tmp_path, options, model
):
    result = run(table, "--group", "run", *options, "--output", tmp_path / "report.csv")
    assert result.exit_code == 0, result.output
    with open(tmp_path / "report.csv") as file:
        rows = list(csv.DictReader(file))
    values = X if "--label" in options else np.column_stack([Y, X])
    expected = inflation_report(model, values, Y if "--label" in options else None, groups=RUNS)
    np.testing.assert_allclose([float(row["ratio"]) for row in rows], expected.ratios, rtol=1e-5)
    assert all(row["inflated"] == "True" for row in rows)


def test_without_classes_it_speaks_of_inflation_alone(table):
    result = run(table, "--estimator", "pca", "--components", "2")
    assert result.exit_code == 0 and "give --label COLUMN" in result.stdout and "give y" not in result.stdout


def test_a_figure_is_drawn(table, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    result = run(table, "--label", "diagnosis", "--plot", tmp_path / "figure.png", "--quiet")
    assert result.exit_code == 0 and result.output == ""
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"


def test_columns_are_prepared_as_in_other_commands(tmp_path):
    """Words are left out, holes filled in, and a column of large numbers does not rule the others."""
    values = X[:, :20].copy()
    values[:, 3] *= 1e6
    rows = ["patient,diagnosis," + ",".join(f"g{k}" for k in range(20))]
    for k, row in enumerate(values):
        cells = ["" if (k, place) == (5, 7) else f"{value:.17g}" for place, value in enumerate(row)]
        rows.append(",".join([f"p{k}", "ill" if Y[k] else "well", *cells]))
    (tmp_path / "patients.csv").write_text("\n".join(rows) + "\n")
    refused = run(tmp_path / "patients.csv", "--label", "diagnosis")
    assert refused.exit_code == 1 and "--impute" in refused.output
    options = ["--label", "diagnosis", "--impute", "mean", "--output", tmp_path / "report.json"]
    result = run(tmp_path / "patients.csv", *options)
    assert result.exit_code == 0 and "standardised" in result.stderr and "patient" in result.stderr
    values[5, 7] = np.delete(values[:, 7], 5).mean()
    scaled = (values - values.mean(axis=0)) / np.where(
        np.arange(20) == 7, np.delete(values[:, 7], 5).std(), values.std(axis=0)
    )
    expected = inflation_report(SVC(), scaled, np.where(Y, "ill", "well"))
    found = [value["ratio"] for value in json.loads((tmp_path / "report.json").read_text())["values"]]
    np.testing.assert_allclose(found, expected.ratios, rtol=1e-6)


def test_mistakes_are_named(table, tmp_path):
    np.savetxt(tmp_path / "one.csv", X[:1, :5], delimiter=",", header="a,b,c,d,e", comments="")
    np.savetxt(tmp_path / "many.csv", X[:, :5], delimiter=",", header="a,b,c,d,e", comments="")
    pairs = np.column_stack([np.arange(40) // 2, X[:, :4]])
    np.savetxt(tmp_path / "pairs.csv", pairs, delimiter=",", header="a,b,c,d,e", comments="")
    for arguments, code, message in [
        ([table, "--label", "sex"], 1, "no column 'sex'"),
        ([table, "--label", "diagnosis", "--group", "sex"], 1, "no column 'sex'"),
        ([tmp_path / "many.csv", "--label", "a"], 1, "40 different values in 40 rows"),
        ([tmp_path / "pairs.csv", "--label", "a"], 1, "20 different values in 40 rows"),
        ([tmp_path / "one.csv"], 1, "at least 3"),
        ([table, "--estimator", "svc"], 2, "needs classes"),
        ([table, "--output-format", "csv"], 2, "--output FILE"),
        ([table, "--output", tmp_path / "report.doc"], 3, "unknown format '.doc'"),
        ([table, "--output", table, "--output-format", "csv", "--force"], 3, "is an input"),
        ([tmp_path / "none.csv"], 3, "does not exist"),
    ]:
        result = run(*arguments, "--quiet")
        assert result.exit_code == code and message in result.output, (arguments, result.output)
        assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(("mark", "options"), [("NA", []), ("", []), ("unknown", ["--missing", "unknown"])])
def test_missing_classes_are_no_class(tmp_path, mark, options):
    lines = [f"{mark if row == 7 else 'ab'[row % 2]},{a},{b}" for row, (a, b) in enumerate(X[:, :2])]
    (tmp_path / "x.csv").write_text("\n".join(["diagnosis,gene1,gene2", *lines]) + "\n")
    result = run(tmp_path / "x.csv", "--label", "diagnosis", *options)
    assert result.exit_code == 1 and "missing" in result.output
