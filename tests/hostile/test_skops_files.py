"""Wrong skops files, as the command line reads them: refused in one line, or the model that was saved."""

import io
import json
import os
import zipfile

import numpy as np
import pytest
from mutilations import (
    MOST_MEMORY,
    flipped_bit,
    flipped_bytes,
    lost,
    measured,
    repeated,
    spliced,
    swapped,
    truncated,
    zeroed,
)
from scipy import sparse
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from preimage import KernelPCA

skops = pytest.importorskip("skops.io", reason="models are skops files")
pytest.importorskip("typer", reason="the command line needs typer")
errors = pytest.importorskip("preimage.cli._errors")
model_files = pytest.importorskip("preimage.cli.runs._model_files")
FileError, read_model = errors.FileError, model_files.read_model

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), np.arange(40) % 3
DENSE = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
SPARSE = SVC().fit(sparse.csr_matrix(np.abs(X)), Y)
WAYS = (truncated, flipped_bit, flipped_bytes, lost, repeated, spliced, swapped, zeroed)


def dumped(model, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    skops.dump(model, file, compression=compression)
    return file.getvalue()


FILES = [dumped(DENSE), dumped(DENSE, zipfile.ZIP_DEFLATED), dumped(SPARSE)]


def with_members(data, **changes):
    """The archive with other contents of some of its members, which are named by their endings."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = changes.get(name.rpartition(".")[2], old.read(name))
            new.writestr(name, content(old.read(name)) if callable(content) else content)
    return result.getvalue()


def refusal(data, path):
    path.write_bytes(data)
    with pytest.raises(FileError) as caught:
        measured(lambda: read_model(path), len(data))
    assert caught.value.memory <= MOST_MEMORY and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("data", FILES, ids=["stored", "compressed", "sparse"])
def test_damaged_files_are_refused_or_give_the_model(data, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(data)
    queries, original = np.abs(X), read_model(path)
    for number in range(120):
        path.write_bytes(WAYS[number % len(WAYS)](RNG, data))
        try:
            model, memory = measured(lambda: read_model(path), len(data))
        except FileError as error:
            memory, message = error.memory, str(error)
            assert "\n" not in message
        else:
            np.testing.assert_array_equal(model.decision_function(queries), original.decision_function(queries))
        assert memory <= MOST_MEMORY


def test_archives_that_unpack_to_a_thousand_times_their_size_are_refused(tmp_path):
    bomb = with_members(FILES[0], json=b" " * 5 * 10**7)
    assert len(bomb) < 10**5
    assert "unpacks to" in refusal(bomb, tmp_path / "bomb.skops")


def test_arrays_that_declare_more_than_they_have_are_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9,)})
    assert "does not fit into" in refusal(with_members(FILES[0], npy=header.getvalue()), tmp_path / "huge.skops")


def test_archives_inside_of_archives_are_looked_at(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(5 * 10**7))
    assert "unpacks to" in refusal(with_members(FILES[2], npz=inner.getvalue()), tmp_path / "inner.skops")


@pytest.mark.parametrize("text", ["[" * 10**5, "{}", "null", "[]", '{"__class__": "system", "__module__": "os"}', "\0"])
def test_other_descriptions_are_refused(text, tmp_path):
    refusal(with_members(FILES[0], json=text.encode()), tmp_path / "odd.skops")


def test_many_values_are_refused(tmp_path):
    text = json.dumps({"content": [[]] * 10**6})
    assert "values" in refusal(with_members(FILES[0], json=text.encode()), tmp_path / "wide.skops")


@pytest.mark.parametrize("kind", [np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_random_generators_that_nobody_checks_are_refused(kind, tmp_path):
    """A Philox generator reads at any place of its buffer that a file gives; a wrong one ends the process."""
    model = KernelPCA(2, random_state=np.random.Generator(kind(0))).fit(X)
    assert kind.__name__ in refusal(dumped(model), tmp_path / "generator.skops")


def test_names_in_a_file_do_not_reach_the_terminal_as_they_are(tmp_path):
    odd = lambda text: text.replace(b"sklearn.pipeline", b"other.\\u001b[31mX")
    message = refusal(with_members(FILES[0], json=odd), tmp_path / "odd.skops")
    assert message.isprintable() and r"\x1b[31mX" in message


def test_what_is_no_file_is_refused_at_once(tmp_path):
    (tmp_path / "folder.skops").mkdir()
    os.mkfifo(tmp_path / "pipe.skops")
    (tmp_path / "empty.skops").touch()
    (tmp_path / "loop.skops").symlink_to(tmp_path / "loop.skops")
    for name in ("folder", "pipe", "empty", "loop", "nothing"):
        with pytest.raises((FileError, OSError)) as caught:
            read_model(tmp_path / f"{name}.skops")
        assert name in str(caught.value) and "\n" not in str(caught.value)


def _precomputed():
    model = SVC(kernel="precomputed").fit(X @ X.T, Y)
    model.support_ = model.support_ + np.int32(10**9)
    return model


def _sparse():
    model = SVC().fit(sparse.csr_matrix(np.abs(X)), Y)
    model.support_vectors_.indices[0] = 10**9
    return model


def _of_a_tree():
    tree = DecisionTreeClassifier().fit(X, Y)
    return make_pipeline(SelectFromModel(tree, prefit=True), SVC()).fit(X, Y)


def _booleans():
    model = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    model.steps[0][1].mask_ = np.array([2, 1], dtype=np.uint8).view(bool)
    return model


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (_precomputed, "numbers of support vectors below 40"),
        (_sparse, "does not fit its shape"),
        (_of_a_tree, "types that are not trusted"),
        (_booleans, "neither true nor false"),
    ],
)
def test_what_compiled_code_would_follow_out_of_arrays_is_refused(forge, reason, tmp_path):
    assert reason in refusal(dumped(forge()), tmp_path / "forged.skops")


@pytest.mark.parametrize("model", [DENSE, SPARSE, make_pipeline(StandardScaler(), SGDClassifier()).fit(X, Y)], ids=str)
def test_right_models_pass(model, tmp_path):
    (tmp_path / "model.skops").write_bytes(dumped(model))
    rows = np.abs(X)
    np.testing.assert_array_equal(read_model(tmp_path / "model.skops").predict(rows), model.predict(rows))


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937])
def test_right_generators_pass(kind, tmp_path):
    model = KernelPCA(2, random_state=np.random.Generator(kind(0))).fit(X)
    (tmp_path / "model.skops").write_bytes(dumped(model))
    assert read_model(tmp_path / "model.skops").random_state.random() == model.random_state.random()
