"""`preimage embed`: the same coordinates from every format and every chunk size, in bounded memory."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")

import pyarrow as arrow
from pyarrow import csv, parquet
from typer.testing import CliRunner

from preimage import KernelPCA
from preimage.cli import _app
from preimage.cli.runs import _learning

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, np.pi, size=(120, 1))
X = np.hstack([np.cos(ANGLE), np.sin(ANGLE), ANGLE]) + RNG.normal(scale=0.05, size=(120, 3))
NAMES = ["a", "b", "angle"]
FEW = ["--components", "3", "--landmarks", "20"]


def run(*arguments):
    return CliRunner().invoke(_app.app, ["embed", *map(str, arguments)])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def test_options_of_a_fit_are_named_where_nothing_is_fitted(tmp_path):
    np.save(tmp_path / "data.npy", X)
    KernelPCA(2).fit(X).save(tmp_path / "model.safetensors")
    result = done(tmp_path / "data.npy", tmp_path / "out.npy", "--model", tmp_path / "model.safetensors", *FEW)
    assert "--components, --landmarks had no effect" in result.output
    KernelPCA(2).save(tmp_path / "unfitted.safetensors")
    result = run(tmp_path / "data.npy", tmp_path / "o.npy", "--model", tmp_path / "unfitted.safetensors")
    assert result.exit_code == 3 and "KernelPCA, but one that was not fitted" in result.output


def table(path):
    if path.suffix == ".npy":
        return np.load(path)
    found = parquet.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in found.columns])


def save(path, X, names=NAMES):
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".csv":
        np.savetxt(path, X, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    else:
        columns = arrow.table(list(X.T.copy()), names=names)
        parquet.write_table(columns, path, row_group_size=37)
    return path


@pytest.fixture(params=[".npy", ".csv", ".parquet"])
def any_file(request, tmp_path):
    return save(tmp_path / f"data{request.param}", X)


def test_all_rows_as_landmarks_are_exact_kernel_pca(any_file, tmp_path):
    done(any_file, tmp_path / "out.npy", "--components", 3, "--landmarks", 120)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), KernelPCA(3, gamma="median").fit_transform(X), atol=1e-6)


@pytest.mark.parametrize("landmarks", ["none", "auto"])
def test_small_files_can_be_embedded_exactly(any_file, tmp_path, landmarks):
    done(any_file, tmp_path / "out.npy", "--components", 3, "--landmarks", landmarks, "--chunk-rows", 50)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), KernelPCA(3, gamma="median").fit_transform(X), atol=1e-6)


def test_coordinates_depend_neither_on_format_nor_on_chunks(any_file, tmp_path):
    np.save(tmp_path / "same.npy", X)
    done(tmp_path / "same.npy", tmp_path / "expected.npy", *FEW)
    for rows in (1000, 64, 7):
        done(any_file, tmp_path / "out.npy", *FEW, "--chunk-rows", rows, "--force")
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.load(tmp_path / "expected.npy"), atol=1e-9)


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
def test_every_output_format_holds_the_same_coordinates(tmp_path, suffix):
    save(tmp_path / "data.npy", X)
    done(tmp_path / "data.npy", tmp_path / "expected.npy", *FEW, "--chunk-rows", 50)
    done(tmp_path / "data.npy", tmp_path / f"out{suffix}", *FEW, "--chunk-rows", 50)
    np.testing.assert_array_equal(table(tmp_path / f"out{suffix}"), np.load(tmp_path / "expected.npy"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"data.npy", "expected.npy", f"out{suffix}"})


def test_columns_have_scikit_learns_names(tmp_path):
    done(save(tmp_path / "data.npy", X), tmp_path / "out.csv", *FEW)
    header = (tmp_path / "out.csv").read_text().splitlines()[0].replace('"', "")
    model = KernelPCA(3).fit(X)
    assert header == ",".join(model.get_feature_names_out())


def test_single_precision_stays(tmp_path):
    done(save(tmp_path / "data.npy", X.astype(np.float32)), tmp_path / "out.npy", *FEW)
    assert np.load(tmp_path / "out.npy").dtype == np.float32


def test_other_memory_orders_and_integers_are_read(tmp_path):
    numbers = RNG.integers(0, 9, size=(80, 4))
    done(save(tmp_path / "c.npy", numbers.astype(float)), tmp_path / "expected.npy", *FEW)
    done(save(tmp_path / "f.npy", np.asfortranarray(numbers)), tmp_path / "out.npy", *FEW, "--chunk-rows", 9)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.load(tmp_path / "expected.npy"), atol=1e-9)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_are_chosen_by_name(tmp_path, suffix):
    save(tmp_path / "two.npy", X[:, [2, 0]])
    done(tmp_path / "two.npy", tmp_path / "expected.npy", *FEW)
    path = save(tmp_path / f"data{suffix}", X)
    done(path, tmp_path / "chosen.npy", *FEW, "--columns", "angle,a")
    np.testing.assert_allclose(np.load(tmp_path / "chosen.npy"), np.load(tmp_path / "expected.npy"), atol=1e-9)
    done(path, tmp_path / "rest.npy", *FEW, "--columns", "angle,b,a", "--exclude", "b")
    np.testing.assert_allclose(np.load(tmp_path / "rest.npy"), np.load(tmp_path / "expected.npy"), atol=1e-9)


def test_text_may_stand_in_columns_that_are_left_out(tmp_path):
    lines = ["name,a,b,angle"] + [f"row {i}," + ",".join(f"{v:.17g}" for v in row) for i, row in enumerate(X)]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    done(tmp_path / "data.csv", tmp_path / "out.npy", *FEW)
    done(tmp_path / "data.csv", tmp_path / "same.npy", *FEW, "--exclude", "name")
    assert np.load(tmp_path / "out.npy").shape == (120, 3)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.load(tmp_path / "same.npy"))
    result = run(tmp_path / "data.csv", tmp_path / "o.npy", "--columns", "name,a")
    assert result.exit_code == 1 and "not numeric: name" in result.output


def test_columns_without_names_have_numbers(tmp_path):
    np.savetxt(tmp_path / "data.csv", X, delimiter=",", fmt="%.17g")
    save(tmp_path / "data.npy", X)
    for source, target in (("data.csv", "one.npy"), ("data.npy", "two.npy")):
        done(tmp_path / source, tmp_path / target, *FEW, "--columns", "3,1")
    np.testing.assert_allclose(np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy"), atol=1e-9)


def test_a_saved_model_embeds_other_files_alike(tmp_path):
    whole = save(tmp_path / "whole.csv", X)
    done(whole, tmp_path / "whole.npy", *FEW, "--save-model", tmp_path / "model.safetensors")
    part = save(tmp_path / "part.parquet", np.hstack([X[50:, ::-1], X[50:]]), ["angle", "b", "a", "u", "v", "w"])
    done(part, tmp_path / "part.npy", "--model", tmp_path / "model.safetensors")
    np.testing.assert_allclose(np.load(tmp_path / "part.npy"), np.load(tmp_path / "whole.npy")[50:], atol=1e-12)
    wide = save(tmp_path / "wide.npy", np.ones((9, 5)))
    result = run(wide, tmp_path / "o.npy", "--model", tmp_path / "model.safetensors")
    assert result.exit_code == 1 and "no column 'a'" in result.output


def test_a_damaged_model_is_refused(tmp_path):
    save(tmp_path / "data.npy", X)
    (tmp_path / "model.safetensors").write_bytes(b"PK\x03\x04 nonsense")
    result = run(tmp_path / "data.npy", tmp_path / "out.npy", "--model", tmp_path / "model.safetensors")
    assert result.exit_code == 3 and "no model that preimage wrote" in result.output


@pytest.mark.parametrize("method", ["auto", "rpcholesky", "sparse_greedy", "kmeans", "uniform", "pivoted_cholesky"])
def test_every_selector_works(tmp_path, method):
    done(save(tmp_path / "data.npy", X), tmp_path / "out.npy", *FEW, "--method", method)


@pytest.mark.parametrize("kernel", ["laplacian", "linear", "poly", "cosine", "matern"])
def test_other_kernels_work(tmp_path, kernel):
    done(save(tmp_path / "data.npy", X), tmp_path / "out.npy", "--components", 2, "--landmarks", 20, "--kernel", kernel)


def test_exact_kernel_pca_of_too_many_rows_is_refused(tmp_path, monkeypatch):
    data = save(tmp_path / "data.npy", X)
    monkeypatch.setattr(_learning, "MOST_EXACT", 100)
    result = run(data, tmp_path / "out.npy", "--landmarks", "none")
    assert result.exit_code == 1 and "takes hours" in result.output
    monkeypatch.setattr(_learning, "free_memory", lambda like: 1000)
    result = run(data, tmp_path / "out.npy", "--landmarks", "none")
    assert result.exit_code == 1 and "all rows" in result.output and "--landmarks 500" in result.output


def test_quiet_is_silent(tmp_path):
    assert done(save(tmp_path / "data.npy", X), tmp_path / "out.npy", *FEW, "--quiet").output == ""


def csv_of(text):
    def make(folder):
        (folder / "data.csv").write_text(text)
        return folder / "data.csv"

    return make


LONG = "".join(f"{i},{i % 7}\n" for i in range(200_000))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "none.npy", "does not exist"),
        (csv_of("a,b\n" + LONG + "1,x\n"), "line 200002, column 'b': 'x' is not a number"),
        (csv_of("a,b\n" + LONG + "1,\n2,3\n"), "missing or infinite value in row 200001, column 'b'"),
        (csv_of(LONG + "1,2,3\n"), "line 200001 has 3 values; 2 are needed"),
        (csv_of("a,b\nx,y\ny,z\n"), "Not taken are a (text), b (text)"),
        (csv_of("a,b\n"), "0 rows"),
        (csv_of(""), "is empty"),
        (csv_of("a,a\n1,2\n3,4\n"), "column 'a' occurs twice"),
        (csv_of("a,b\n1,2\n"), "has 1 row."),
        (csv_of("a,b\n1,2\n1,2\n1,2\n"), "same values in all rows"),
        (
            lambda folder: save(folder / "data.npy", np.where(np.arange(360).reshape(120, 3) == 232, np.nan, X)),
            "row 78, column '2'",
        ),
        (lambda folder: save(folder / "data.npy", X[:, 0]), "shape (120,)"),
        (lambda folder: save(folder / "data.npy", X.astype(str)), "not numeric"),
        (lambda folder: save(folder / "data.npy", np.array([{}, 1])), "cannot be read"),
    ],
)
def test_unusable_files_are_refused_in_one_line(tmp_path, make, message):
    path = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = run(path, tmp_path / "out.npy", "--quiet")
    assert result.exit_code in (1, 3) and message in result.output
    assert len(result.output.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_damaged_files_are_refused(tmp_path):
    for name in ("data.npy", "data.parquet"):
        (tmp_path / name).write_text("nonsense")
        result = run(tmp_path / name, tmp_path / "out.npy")
        assert result.exit_code == 3 and "cannot be read" in result.output


def test_other_mistakes_are_named(tmp_path):
    data = save(tmp_path / "data.csv", X)
    for arguments, message in [
        ([data, tmp_path / "out.doc"], "unknown format '.doc'"),
        ([data, tmp_path / "out.npz"], "written as .csv, .tsv, .parquet, .xlsx or .npy"),
        ([data, tmp_path / "out"], "written as .csv, .tsv, .parquet, .xlsx or .npy"),
        ([data, data, "--force"], "is an input"),
        ([data, tmp_path / "nowhere" / "out.npy"], "Create it first"),
        ([data, tmp_path / "out.npy", "--columns", "a,z"], "no column 'z'; it has a, b, angle"),
        ([data, tmp_path / "out.npy", "--exclude", "z"], "no column 'z'"),
        ([data, tmp_path / "out.npy", "--exclude", "a,b,angle"], "0 columns"),
        ([data, tmp_path / "out.npy", "--save-model", tmp_path / "m.pkl"], "ends in .safetensors"),
        ([tmp_path, tmp_path / "out.npy"], "cannot be read in chunks"),
    ]:
        result = run(*arguments)
        assert result.exit_code in (1, 2, 3) and message in result.output, (message, result.output)
    (tmp_path / "old.npy").write_text("precious")
    result = run(data, tmp_path / "old.npy")
    assert result.exit_code == 3 and "--force" in result.output
    assert (tmp_path / "old.npy").read_text() == "precious"


@pytest.mark.parametrize(
    "option",
    [("--components", "0"), ("--gamma", "wide"), ("--landmarks", "0"), ("--chunk-rows", "0"), ("--columns", "a,,b")],
)
def test_impossible_parameters_are_usage_errors(tmp_path, option):
    assert run(save(tmp_path / "data.npy", X), tmp_path / "out.npy", *option).exit_code == 2


MEASURE = """
import resource, sys
from typer.testing import CliRunner
from preimage.cli import _app
peaks = []
for name in sys.argv[1:]:
    options = ["--landmarks", "16", "--components", "2", "--chunk-rows", "20000"]
    result = CliRunner().invoke(_app.app, ["embed", name, name + ".out.npy", *options])
    assert result.exit_code == 0, result.output
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
print(*peaks)
"""


@pytest.mark.net
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in kilobytes on Linux")
def test_memory_does_not_grow_with_the_file(tmp_path):
    block = RNG.normal(size=(50_000, 16))
    np.save(tmp_path / "small.npy", block)
    large = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.float64, (32 * len(block), 16))
    writer = None
    for number in range(32):  # 205 MB
        large[number * len(block) : (number + 1) * len(block)] = block + number
        part = arrow.table(list((block[:10_000] + number).T.copy()), names=[f"x{column}" for column in range(16)])
        writer = writer or parquet.ParquetWriter(tmp_path / "large.parquet", part.schema)
        writer.write_table(part)
    writer.close()
    del large
    names = [str(tmp_path / name) for name in ("small.npy", "large.parquet", "large.npy")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", MEASURE, *names], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    small, table_peak, large = map(int, done.stdout.split())
    assert table_peak - small < 60 and large - table_peak < 20
