"""`preimage compress`: small models in every format, and errors in one line."""

import pickle
import re

import joblib
import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("safetensors", reason="files are safetensors")
pytest.importorskip("skops", reason="models are skops files")

from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from skops import io as skops
from typer.testing import CliRunner

import preimage
from preimage import KernelPCA
from preimage.cli import _app
from preimage.cli.commands import _compress
from preimage.interop import SKOPS_TYPES

X, Y = make_moons(200, noise=0.2, random_state=0)
NAMES = np.array(["low", "high"])[Y]


def run(*arguments):
    return CliRunner().invoke(_app.app, ["compress", *map(str, arguments)])


def refused(message, *arguments):
    result = run(*arguments, "--quiet")
    lines = [line for line in result.output.splitlines() if line.strip()]
    assert result.exit_code in (1, 2, 3) and len(lines) == 1 and lines[0].startswith("Error:"), result.output
    assert message in result.output


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(_compress, "SECONDS", 0.0001)


@pytest.fixture
def folder(tmp_path):
    skops.dump(SVC(gamma=2).fit(X, Y), tmp_path / "model.skops")
    np.savetxt(tmp_path / "val.csv", np.column_stack([X, Y]), delimiter=",", header="a,b,y", comments="", fmt="%.17g")
    return tmp_path


def test_the_command_of_the_manual(folder):
    options = ["--data", folder / "val.csv", "--label", "y", "--tolerance", 0.02]
    result = run(folder / "model.skops", folder / "small.safetensors", *options)
    assert result.exit_code == 0, result.output
    small = preimage.load(folder / "small.safetensors")
    assert small.scores_[1] >= small.scores_[0] - 0.02 and small.n_points_ < 30
    before, after = small.left_out_scores_
    assert "accuracy, rows left out" in result.output and f"{before:.4f}" in result.output
    assert f"{after:.4f}" in result.output and f"± {small.left_out_standard_error_:.4f}" in result.output


def test_labels_may_be_words_and_archives_hold_them(folder):
    skops.dump(SVC(gamma=2).fit(X, NAMES), folder / "names.skops")
    rows = "\n".join(f"{a:.17g},{name},{b:.17g}" for (a, b), name in zip(X, NAMES))
    (folder / "names.csv").write_text("a,name,b\n" + rows)
    np.savez(folder / "names.npz", X=X, name=NAMES)
    for data in ("names.csv", "names.npz"):
        options = ["--points", 8, "--data", folder / data, "--label", "name", "--force"]
        result = run(folder / "names.skops", folder / "small.safetensors", *options)
        assert result.exit_code == 0, result.output
        assert "accuracy" in result.output


def test_columns_are_found_by_name(folder):
    pandas = pytest.importorskip("pandas", reason="names come from data frames")
    skops.dump(SVC(gamma=2).fit(pandas.DataFrame(X[:, ::-1], columns=["b", "a"]), Y), folder / "named.skops")
    options = ["--points", 8, "--data", folder / "val.csv", "--label", "y"]
    result = run(folder / "named.skops", folder / "small.safetensors", *options)
    assert result.exit_code == 0 and "Warning" not in result.output, result.output
    assert preimage.load(folder / "small.safetensors").scores_[0] > 0.95


def test_a_pipeline_stays_one(folder):
    skops.dump(make_pipeline(StandardScaler(), SVC(gamma=2)).fit(X, Y), folder / "pipe.skops")
    options = ["--points", 8, "--data", folder / "val.csv", "--label", "y"]
    assert run(folder / "pipe.skops", folder / "small.skops", *options).exit_code == 0
    assert skops.load(folder / "small.skops", trusted=SKOPS_TYPES).score(X, Y) > 0.95


def test_scalers_go_with_the_machine_into_files_of_one_model(folder):
    skops.dump(make_pipeline(StandardScaler(), SVC(gamma=2)).fit(X, Y), folder / "pipe.skops")
    options = ["--points", 8, "--data", folder / "val.csv", "--label", "y"]
    assert run(folder / "pipe.skops", folder / "small.skops", *options).exit_code == 0
    assert run(folder / "pipe.skops", folder / "small.safetensors", *options).exit_code == 0
    pipeline = skops.load(folder / "small.skops", trusted=SKOPS_TYPES)
    alone = preimage.load(folder / "small.safetensors")
    np.testing.assert_allclose(alone.decision_function(X), pipeline.decision_function(X), atol=1e-9)
    pytest.importorskip("onnx", reason="export needs onnx")
    assert run(folder / "pipe.skops", folder / "small.onnx", *options).exit_code == 0


def test_kernel_pca_and_a_linear_machine_become_one_machine(folder):
    """Which every format takes, where a pipeline would be left over."""
    model = make_pipeline(KernelPCA(20, gamma=2), StandardScaler(), LogisticRegression()).fit(X, Y)
    skops.dump(model, folder / "linear.skops")
    options = ["--points", 15, "--data", folder / "val.csv", "--label", "y"]
    result = run(folder / "linear.skops", folder / "small.safetensors", *options)
    assert result.exit_code == 0, result.output
    assert re.search(r"points +200 +15 ", result.output) and "multiplications" in result.output
    small = preimage.load(folder / "small.safetensors")
    assert np.abs(small.predict_proba(X) - model.predict_proba(X)).max() < 0.1
    pytest.importorskip("onnx", reason="export needs onnx")
    assert run(folder / "linear.skops", folder / "small.onnx", *options).exit_code == 0


@pytest.mark.parametrize(
    "model",
    [
        CalibratedClassifierCV(SVC(gamma=2), ensemble=False),
        CalibratedClassifierCV(FrozenEstimator(SVC(gamma=2).fit(X, Y)), method="isotonic"),
        GridSearchCV(SVC(gamma=2), {"C": [1, 10]}, cv=2),
    ],
)
def test_calibrated_classifiers_and_searches_are_read(folder, model):
    skops.dump(model.fit(X, Y), folder / "whole.skops")
    result = run(folder / "whole.skops", folder / "small.safetensors", "--points", 15, "--data", folder / "val.csv")
    assert result.exit_code == 1 and "--label COLUMN" in result.output
    np.save(folder / "rows.npy", X)
    result = run(folder / "whole.skops", folder / "small.safetensors", "--points", 15, "--data", folder / "rows.npy")
    assert result.exit_code == 0 and "agreement with the original" in result.output, result.output
    assert "accuracy" not in result.output
    assert preimage.load(folder / "small.safetensors").score(X, Y) > 0.9


def test_a_figure_is_drawn(folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    options = ["--points", 4, "--data", folder / "val.csv", "--label", "y", "--plot", folder / "curve.png"]
    result = run(folder / "model.skops", folder / "small.safetensors", *options)
    assert result.exit_code == 0, result.output
    assert (folder / "curve.png").read_bytes()[:4] == b"\x89PNG"
    options = [*options[:-1], folder / "curve.doc", "--force"]
    refused("not a figure file", folder / "model.skops", folder / "small.safetensors", *options)


def test_inputs_are_never_replaced(folder):
    before = (folder / "model.skops").read_bytes()
    refused("is an input", folder / "model.skops", folder / "model.skops", "--points", 8, "--force")
    (folder / "link.skops").symlink_to(folder / "model.skops")
    refused("is an input", folder / "model.skops", folder / "link.skops", "--points", 8, "--force")
    assert (folder / "model.skops").read_bytes() == before
    (folder / "small.skops").write_text("precious")
    refused("--force", folder / "model.skops", folder / "small.skops", "--points", 8)
    assert (folder / "small.skops").read_text() == "precious"


class Homemade(SVC):
    pass


def test_unknown_types_are_named_and_not_loaded(folder):
    skops.dump(Homemade().fit(X, Y), folder / "own.skops")
    refused("Homemade", folder / "own.skops", folder / "small.skops", "--points", 8)


def test_mistakes_are_named(folder):
    model, out, data = folder / "model.skops", folder / "small.skops", folder / "val.csv"
    (folder / "broken.skops").write_bytes(model.read_bytes()[:1000])
    (folder / "broken.safetensors").write_bytes(b"x")
    (folder / "model.txt").write_bytes(b"x")
    skops.dump(LogisticRegression().fit(X, Y), folder / "linear.skops")
    skops.dump(SVR(), folder / "unfitted.skops")
    refused("does not exist", folder / "none.skops", out, "--points", 8)
    refused("MODEL is a file .skops or .safetensors", folder / "model.txt", out, "--points", 8)
    refused("OUT is a file .skops, .safetensors or .onnx", model, folder / "small.pkl", "--points", 8)
    refused("damaged or not a skops file", folder / "broken.skops", out, "--points", 8)
    refused("cannot be loaded", folder / "broken.safetensors", out, "--points", 8)
    refused("Only kernel machines", folder / "linear.skops", out, "--points", 8)
    refused("not fitted", folder / "unfitted.skops", out, "--points", 8)
    refused("--points N, or --data FILE", model, out)
    refused("--label COLUMN", model, out, "--points", 8, "--data", data)
    refused("has no column 'z'", model, out, "--points", 8, "--data", data, "--label", "z")
    refused("need --data", model, out, "--points", 8, "--label", "y")
    np.save(folder / "val.npy", X)
    refused("no place for labels", model, out, "--points", 8, "--data", folder / "val.npy", "--label", "y")
    (folder / "odd.csv").write_text("a,b,y\n1,2,7\n3,4,0\n")
    refused("classes that the model lacks: 7", model, out, "--points", 8, "--data", folder / "odd.csv", "--label", "y")
    assert not out.exists()


def test_help_lists_the_command():
    assert "compress" in CliRunner().invoke(_app.app, ["--help"]).output


def test_other_steps_stay_in_one_file(folder):
    skops.dump(make_pipeline(StandardScaler(), PCA(2), SVC(gamma=2)).fit(X, Y), folder / "turned.skops")
    options = ["--points", 8, "--data", folder / "val.csv", "--label", "y"]
    assert run(folder / "turned.skops", folder / "turned.safetensors", *options).exit_code == 0
    pipeline = preimage.load(folder / "turned.safetensors")
    assert [type(step).__name__ for _, step in pipeline.steps] == ["StandardScaler", "PCA", "CompressedClassifier"]
    runtime = pytest.importorskip("onnxruntime", reason="graphs run in onnxruntime")
    assert run(folder / "turned.skops", folder / "turned.onnx", *options).exit_code == 0
    session = runtime.InferenceSession(folder / "turned.onnx", providers=["CPUExecutionProvider"])
    label = session.run(["label"], {"X": X.astype(np.float32)})[0]
    assert np.mean(label == pipeline.predict(X)) > 0.99
    skops.dump(make_pipeline(QuantileTransformer(n_quantiles=9), SVC()).fit(X, Y), folder / "odd.skops")
    refused("no graph for the step 'quantiletransformer'", folder / "odd.skops", folder / "odd.onnx", *options)
    assert not (folder / "odd.onnx").exists()


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code of a file was executed",))


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl", "model.pickle", "my.model.joblib.gz", "MODEL.PKL"])
def test_pickles_are_not_opened_but_converted_by_three_lines(folder, name):
    (folder / name).write_bytes(pickle.dumps(Bomb()))
    result = run(folder / name, folder / "small.skops", "--points", 8)
    assert result.exit_code == 3 and "it was not opened" in result.output
    joblib.dump(SVC(gamma=2).fit(X, Y), folder / name)
    first, *program = [line for line in result.output.splitlines() if line.strip()]
    assert first.startswith("Error:") and len(program) == 3
    exec("\n".join(line.strip() for line in program), {})
    made = folder / (name.split(".")[0] if "my" not in name else "my.model")
    assert run(made.with_name(f"{made.name}.skops"), folder / "small.skops", "--points", 8).exit_code == 0
