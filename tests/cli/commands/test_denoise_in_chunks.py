"""`preimage denoise` in chunks: the same rows as in memory, whatever the chunks."""

import itertools
import json

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("matplotlib", reason="figures need matplotlib")

from typer.testing import CliRunner

from preimage import KernelPCA
from preimage.cli import _app
from preimage.cli.commands import _denoise
from preimage.estimators._cross_fit import row_folds
from preimage.solvers import FixedPoint

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, np.pi, size=(90, 1))
X = np.hstack([np.cos(ANGLE), np.sin(ANGLE), ANGLE]) + RNG.normal(scale=0.05, size=(90, 3))
FIXED = ["--components", "3", "--gamma", "median", "--penalty", "0"]


def run(*arguments):
    return CliRunner().invoke(_app.app, ["denoise", *map(str, arguments)])


@pytest.fixture
def table(tmp_path):
    np.savetxt(tmp_path / "noisy.csv", X, delimiter=",", header="a,b,angle", comments="", fmt="%.17g")
    return tmp_path / "noisy.csv"


def test_all_rows_as_landmarks_give_what_memory_gives(table, tmp_path):
    result = run(table, tmp_path / "clean.csv", *FIXED, "--landmarks", "90", "--chunk-rows", "25")
    assert result.exit_code == 0, result.output
    clean = np.loadtxt(tmp_path / "clean.csv", delimiter=",", skiprows=1)
    expected = KernelPCA(3, gamma="median", preimage=FixedPoint()).fit(X).denoise(X)
    np.testing.assert_allclose(clean, expected, atol=1e-5)
    assert (tmp_path / "clean.csv").read_text().splitlines()[0].replace('"', "") == "a,b,angle"
    summary = json.loads((tmp_path / "clean.json").read_text())
    assert summary["rows"] == summary["converged"] == summary["training_rows"] == 90
    assert 80 < summary["landmarks"] <= 90 and summary["columns"] == 3 and summary["parameters"]["components"] == 3
    assert (tmp_path / "clean.png").exists()


def test_what_is_left_open_is_chosen_on_a_sample(table, tmp_path):
    result = run(table, tmp_path / "clean.parquet", "--gamma", "median", "--landmarks", "40", "--no-plot")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "clean.json").read_text())["parameters"]["components"] >= 1


def test_arrays_of_pictures_keep_their_shape(tmp_path):
    np.save(tmp_path / "noisy.npy", RNG.normal(size=(40, 4, 5)).astype(np.float32))
    result = run(tmp_path / "noisy.npy", tmp_path / "clean.npy", *FIXED, "--landmarks", "20", "--chunk-rows", "16")
    assert result.exit_code == 0, result.output
    clean = np.load(tmp_path / "clean.npy")
    assert clean.shape == (40, 4, 5) and clean.dtype == np.float32


def test_other_rows_can_be_learned_from(table, tmp_path):
    np.save(tmp_path / "few.npy", X[:5])
    whole = [*FIXED, "--landmarks", "90", "--no-plot"]
    assert run(tmp_path / "few.npy", tmp_path / "clean.npy", "--fit", table, *whole).exit_code == 0
    expected = KernelPCA(3, gamma="median", preimage=FixedPoint()).fit(X).denoise(X[:5])
    np.testing.assert_allclose(np.load(tmp_path / "clean.npy"), expected, atol=1e-5)
    np.save(tmp_path / "wide.npy", np.ones((9, 5)))
    assert "5 columns" in run(tmp_path / "few.npy", tmp_path / "o.npy", "--fit", tmp_path / "wide.npy", *whole).output


def test_large_files_go_in_chunks_by_themselves(table, tmp_path, monkeypatch):
    monkeypatch.setattr(_denoise, "read", lambda *_: pytest.fail("the whole file was read"))
    monkeypatch.setattr(_denoise, "is_large", lambda path: True)
    assert run(table, tmp_path / "clean.csv", *FIXED, "--no-plot").exit_code == 0


def test_none_reads_large_files_as_a_whole(table, tmp_path, monkeypatch):
    monkeypatch.setattr(_denoise, "is_large", lambda path: True)
    assert run(table, tmp_path / "clean.csv", *FIXED, "--no-plot", "--landmarks", "none").exit_code == 0
    assert "landmarks" not in json.loads((tmp_path / "clean.json").read_text())


def test_mistakes_are_named_and_leave_nothing(table, tmp_path):
    (tmp_path / "holes.csv").write_text("a,b\n1,2\n3,\n4,5\n")
    before = sorted(tmp_path.iterdir())
    for arguments, message in [
        ([tmp_path / "holes.csv", tmp_path / "clean.csv"], "row 2, column 'b'"),
        ([table, tmp_path / "clean.npz"], "written as .csv, .npy or .parquet"),
        ([tmp_path, tmp_path / "clean.csv", "--no-figure"], "cannot be read in chunks"),
        ([tmp_path / "none.csv", tmp_path / "clean.csv"], "does not exist"),
    ]:
        result = run(*arguments, *FIXED, "--landmarks", "10")
        assert result.exit_code in (1, 3) and message in result.output, result.output
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("landmarks", "folds", "loss"),
    [
        ("40", "4", "none"),
        ("auto", "none", "cauchy"),
        *(
            pytest.param(landmarks, folds, loss, marks=pytest.mark.net)
            for landmarks, folds, loss in itertools.product(["40", "auto"], ["none", "4"], ["none", "cauchy"])
            if (landmarks, folds, loss) not in {("40", "4", "none"), ("auto", "none", "cauchy")}
        ),
    ],
)
def test_chunks_give_what_the_model_itself_gives(table, tmp_path, landmarks, folds, loss):
    """One answer: of the model's own `denoise`, of rows in memory, and of chunks of any size."""
    options = ["--components", "9", "--gamma", "median", "--penalty", "0", "--no-plot", "--force"]
    options += ["--cross-fit", folds, "--loss", loss]
    points = None if landmarks == "auto" else int(landmarks)
    model = KernelPCA(9, gamma="median", preimage=FixedPoint(), random_state=0, landmarks=points).fit(X)
    given = {"cross_fit": None if folds == "none" else int(folds), "loss": None if loss == "none" else loss}
    expected = model.denoise(X, **given)
    ways = [["--landmarks", landmarks, "--chunk-rows", "25"], ["--landmarks", landmarks, "--chunk-rows", "90"]]
    for way in ways if points else [*ways, []]:
        result = run(table, tmp_path / "clean.csv", *options, *way)
        assert result.exit_code == 0, result.output
        clean = np.loadtxt(tmp_path / "clean.csv", delimiter=",", skiprows=1)
        np.testing.assert_allclose(clean, expected, atol=1e-8)


def test_chunks_choose_what_rows_in_memory_choose(table, tmp_path):
    words = ["--gamma", "median", "--no-plot"]
    assert run(table, tmp_path / "memory.csv", *words).exit_code == 0
    assert run(table, tmp_path / "chunks.csv", *words, "--landmarks", "auto", "--chunk-rows", "31").exit_code == 0
    one, other = (np.loadtxt(tmp_path / f"{name}.csv", delimiter=",", skiprows=1) for name in ("memory", "chunks"))
    np.testing.assert_allclose(one, other, atol=1e-8)
    reports = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("memory", "chunks")]
    for key in ("parameters", "training_row_parameters", "cross_fit", "loss"):
        assert reports[0][key] == reports[1][key]


@pytest.mark.parametrize("landmarks", ["90", "auto"])
def test_training_rows_are_denoised_by_models_without_them(table, tmp_path, landmarks):
    """The same folds whatever the chunks; by the values of rows on landmarks."""
    many = ["--components", "12", "--gamma", "median", "--penalty", "0", "--no-plot", "--landmarks", landmarks]
    for rows in (25, 90):
        result = run(table, tmp_path / f"{rows}.csv", *many, "--chunk-rows", rows, "--cross-fit", 5)
        assert result.exit_code == 0, result.output
        assert "fitted without them, in 5 folds" in result.output
        clean = np.loadtxt(tmp_path / f"{rows}.csv", delimiter=",", skiprows=1)
        model = KernelPCA(12, gamma="median", preimage=FixedPoint()).fit(X)
        folds = 5 if landmarks == "auto" else row_folds(X, 5)
        np.testing.assert_allclose(clean, model.denoise(X, cross_fit=folds), atol=1e-3)
    assert json.loads((tmp_path / "25.json").read_text())["cross_fit"] == 5
    for name in ("none", "auto"):  # models on landmarks keep no rows that could judge, and these rows want none
        assert run(table, tmp_path / "off.csv", *many, "--cross-fit", name, "--force").exit_code == 0
        assert json.loads((tmp_path / "off.json").read_text())["cross_fit"] is None


def test_rows_of_another_file_are_new_to_the_model(table, tmp_path):
    np.save(tmp_path / "few.npy", X[:5] + 0.01)
    many = ["--components", "12", "--gamma", "median", "--penalty", "0", "--no-plot", "--landmarks", "90"]
    assert run(tmp_path / "few.npy", tmp_path / "clean.npy", "--fit", table, *many).exit_code == 0
    assert json.loads((tmp_path / "clean.json").read_text())["cross_fit"] is None
