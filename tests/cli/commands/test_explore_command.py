"""`preimage explore`: the page of the library, from files of all kinds; or one line that says what to do."""

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from saved_page import assert_same_page, read_page
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from preimage import KernelPCA, compress, explore
from preimage.cli import _app, _options
from preimage.cli._errors import ExitCode
from preimage.kernels import KERNELS, resolve_gamma

IRIS = load_iris()
X, NAMES = IRIS.data, ["sepal length", "sepal width", "petal length", "petal width"]
SPECIES = IRIS.target_names[IRIS.target]
SITES = np.array(["north", "south", "east"])[np.arange(150) % 3]
OWNERS = [f"owner-{number}" for number in range(150)]


def run(*arguments):
    return CliRunner().invoke(_app.app, ["explore", *map(str, arguments)])


def page_of(tmp_path, *arguments):
    result = run(*arguments[:1], tmp_path / "page.html", *arguments[1:], "--force")
    assert result.exit_code == 0, result.output
    return read_page(tmp_path / "page.html")


def assert_coordinates(page, expected):
    """Those that the page draws are rounded, far below what one sees."""
    expected = expected[page["samples"]["rows"]]
    difference = np.abs(page["models"][0]["coordinates"] - expected).max(axis=0)
    assert np.all(difference <= 2e-3 * expected.std(axis=0))


def write_table(path, values=X, labels=SPECIES, delimiter=",", write=repr):
    lines = [delimiter.join(["owner", *NAMES, "species", "site"])]
    for owner, row, label, site in zip(OWNERS, values, labels, SITES):
        lines.append(delimiter.join([owner, *("" if np.isnan(v) else write(float(v)) for v in row), label, site]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "measurements.csv")


def test_the_page_is_that_of_the_library(table, tmp_path):
    found = page_of(tmp_path, table, "--labels", "species", "--components", "3", "--keep", "site")
    model = KernelPCA(3, gamma="median", landmarks="auto", random_state=0).fit(X)
    named = {"names": NAMES, "label_name": "species", "title": "measurements.csv"}
    expected = explore(model, X, SPECIES, colors={"site": SITES}, **named)
    expected.save(tmp_path / "expected.html")
    assert_same_page(found, read_page(tmp_path / "expected.html"))
    assert found["view"]["kind"] == "table" and found["view"]["names"] == NAMES
    np.testing.assert_allclose(np.sort(found["samples"]["rows"]), np.arange(150))


def test_a_page_holds_no_column_that_was_not_asked_for(table, tmp_path):
    page_of(tmp_path, table, "--label", "species")
    text = (tmp_path / "page.html").read_text()
    assert "virginica" in text and "owner-7" not in text and "north" not in text


def test_tables_of_all_dialects_give_the_same_page(table, tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="tables need pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="tables need pyarrow")
    options = ["--label", "species", "--title", "Iris", "--components", "2"]
    expected = page_of(tmp_path, table, *options)
    write_table(tmp_path / "german.csv", delimiter=";", write=lambda value: repr(value).replace(".", ","))
    columns = {"owner": OWNERS, **dict(zip(NAMES, X.T)), "species": list(SPECIES), "site": list(SITES)}
    parquet.write_table(arrow.table(columns), tmp_path / "iris.parquet")
    for name in ("german.csv", "iris.parquet"):
        assert_same_page(page_of(tmp_path, tmp_path / name, *options), expected)


def test_columns_of_other_scales_are_standardised_and_drawn_in_their_units(tmp_path):
    scaled = X * [1, 1, 1, 1000]
    table = write_table(tmp_path / "scaled.csv", scaled)
    found = page_of(tmp_path, table, "--label", "species", "--components", "3", "--title", "t")
    model = make_pipeline(StandardScaler(), KernelPCA(3, gamma="median", landmarks="auto", random_state=0)).fit(scaled)
    explore(model, scaled, SPECIES, names=NAMES, title="t", random_state=0).save(tmp_path / "expected.html")
    expected = read_page(tmp_path / "expected.html")
    np.testing.assert_allclose(found["samples"]["inputs"], scaled[found["samples"]["rows"]], rtol=1e-6)
    for name in ("coordinates", "eigenvalues"):
        np.testing.assert_allclose(found["models"][0][name], expected["models"][0][name], rtol=1e-3, atol=1e-4)


def test_missing_classes_are_drawn_without_one(tmp_path):
    labels = ["NA" if number % 10 == 0 else name for number, name in enumerate(SPECIES)]
    found = page_of(tmp_path, write_table(tmp_path / "x.csv", labels=labels), "--label", "species")
    assert sorted(found["samples"]["labels"]["names"]) == sorted(IRIS.target_names)
    codes = dict(zip(found["samples"]["rows"].tolist(), found["samples"]["labels"]["codes"].tolist()))
    assert {row for row, code in codes.items() if code == -1} == set(range(0, 150, 10))


def test_gaps_are_filled_in_before_rows_are_drawn(tmp_path):
    gaps = X.copy()
    gaps[5, 2] = np.nan
    table = write_table(tmp_path / "gaps.csv", gaps)
    refused = run(table, tmp_path / "page.html")
    assert refused.exit_code == 1 and "--impute" in refused.output and not (tmp_path / "page.html").exists()
    found = page_of(tmp_path, table, "--impute", "mean", "--label", "species")
    place = found["samples"]["rows"].tolist().index(5)
    assert found["samples"]["inputs"][place, 2] == pytest.approx(np.nanmean(gaps[:, 2]), rel=1e-6)


def test_several_widths_are_several_models(table, tmp_path):
    found = page_of(tmp_path, table, "--label", "species", "--components", "2", "--widths", "0.1,median,p90")
    expected = [0.1, resolve_gamma("median", X), resolve_gamma("p90", X)]
    widths = [model["width"] for model in found["models"]]
    np.testing.assert_allclose(sorted(set(widths)), sorted(set(expected)), rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS.on_command_line())
def test_every_kernel_of_the_command_has_a_page(table, tmp_path, kernel):
    found = page_of(tmp_path, table, "--components", "2", "--kernel", kernel, "--degree", "2", "--label", "species")
    model = KernelPCA(2, kernel=kernel, gamma="median", degree=2).fit(X)
    assert_coordinates(found, model.transform(X))


def test_a_compressed_model_is_shown(table, tmp_path):
    small = compress(KernelPCA(3, gamma="median").fit(X), 20, random_state=0)
    small.save(tmp_path / "small.safetensors")
    found = page_of(tmp_path, table, "--model", tmp_path / "small.safetensors", "--label", "species")
    assert found["models"][0]["points"].shape == (20, 4)
    assert_coordinates(found, small.transform(X))


def test_a_model_of_a_file_is_shown(table, tmp_path):
    saved = tmp_path / "model.safetensors"
    options = ["--save-model", saved, "--components", "3", "--landmarks", "40", "--standardize"]
    done = CliRunner().invoke(_app.app, ["embed", *map(str, [table, tmp_path / "y.npy", *options])])
    assert done.exit_code == 0, done.output
    found = page_of(tmp_path, table, "--model", saved, "--label", "species")
    assert_coordinates(found, np.load(tmp_path / "y.npy"))
    other = run(table, tmp_path / "other.html", "--model", saved, "--columns", "sepal length")
    assert other.exit_code == 1 and "sepal width" in other.output and not (tmp_path / "other.html").exists()
    unused = run(table, tmp_path / "unused.html", "--model", saved, "--components", "2")
    assert unused.exit_code == 0 and "--components had no effect" in unused.output


def test_arrays_of_pictures_and_archives_are_images(tmp_path):
    pictures = np.random.default_rng(0).random((20, 4, 6))
    np.save(tmp_path / "pictures.npy", pictures)
    np.savez(tmp_path / "pictures.npz", X=pictures.reshape(20, 24), y=np.arange(20) % 2, day=np.arange(20.0))
    for words in (
        ["pictures.npy"],
        ["pictures.npz", "--array", "X", "--label", "y", "--keep", "day", "--image-shape", "4x6"],
    ):
        found = page_of(tmp_path, tmp_path / words[0], *words[1:])
        assert found["view"]["kind"] == "image" and found["view"]["shape"] == [4, 6]
    assert found["samples"]["columns"][0]["name"] == "day" and found["samples"]["labels"]["names"] == ["0", "1"]


def test_pictures_take_their_classes_from_a_table_by_their_names(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    (tmp_path / "pictures").mkdir()
    rng, numbers = np.random.default_rng(0), np.random.default_rng(1).permutation(12)
    for number in range(12):
        level = 40 + 15 * number + rng.integers(0, 5, size=(5, 4))
        image.fromarray(level.astype(np.uint8)).save(tmp_path / "pictures" / f"p{number:02}.png")
    lines = ["file,shade", *(f"p{number:02}.png,{'dark' if number < 6 else 'bright'}" for number in numbers)]
    (tmp_path / "about.csv").write_text("\n".join(lines) + "\n")
    options = ["--about", tmp_path / "about.csv", "--label", "shade"]
    found = page_of(tmp_path, tmp_path / "pictures", *options)
    names, codes = found["samples"]["labels"]["names"], found["samples"]["labels"]["codes"]
    shades = {row: names[code] for row, code in zip(found["samples"]["rows"].tolist(), codes)}
    assert shades == {row: "dark" if row < 6 else "bright" for row in range(12)}
    (tmp_path / "about.csv").write_text("shade\ndark\nbright\n")
    refused = run(tmp_path / "pictures", tmp_path / "new.html", *options)
    assert refused.exit_code == 1 and "has 2 rows" in refused.output and not (tmp_path / "new.html").exists()


def test_scans_are_volumes_of_their_mask(tmp_path):
    pytest.importorskip("nilearn", reason="brain images need nilearn")
    import nibabel

    rng = np.random.default_rng(0)
    inside, scans = rng.uniform(size=(6, 7, 4)) < 0.5, rng.normal(loc=100, size=(6, 7, 4, 15)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(scans, np.eye(4)), tmp_path / "scan.nii.gz")
    nibabel.save(nibabel.Nifti1Image(inside.astype(np.uint8), np.eye(4)), tmp_path / "mask.nii.gz")
    found = page_of(tmp_path, tmp_path / "scan.nii.gz", "--mask", tmp_path / "mask.nii.gz")
    assert found["view"]["kind"] == "volume" and found["view"]["shape"] == [6, 7, 4]
    np.testing.assert_array_equal(found["view"]["voxels"], np.flatnonzero(inside))
    expected = scans[inside].T[found["samples"]["rows"]]
    samples = found["samples"]
    levels = samples["low"] + samples["step"] * samples["inputs"]
    assert np.all(np.abs(levels - expected) <= 0.51 * samples["step"])


def test_what_the_page_says_is_printed(table, tmp_path):
    result = run(table, tmp_path / "page.html", "--label", "species")
    (sentence,) = read_page(tmp_path / "page.html")["messages"]
    assert 'kind="curve"' in sentence and "image_shape=(height, width)" in sentence
    assert sentence.replace('kind="curve"', "--kind curve").replace(
        "image_shape=(height, width)", "--image-shape HxW"
    ) in " ".join(result.stderr.split())
    assert "Open it in a browser" in result.stderr
    assert run(table, tmp_path / "quiet.html", "--quiet").output == ""


def test_mistakes_are_named_and_nothing_is_written(table, tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "there.html").write_text("mine")
    before = sorted(tmp_path.iterdir())
    for words, code, message in [
        ([table, "page.pdf"], 3, "ends in .html"),
        ([table, "there.html"], 3, "--force"),
        ([table, table, "--force"], 3, "ends in .html"),
        ([table, "page.html", "--label", "breed"], 1, "no column 'breed'"),
        ([table, "page.html", "--keep", "breed"], 1, "no column 'breed'"),
        ([table, "page.html", "--kernel", "sigmoid"], 2, "sigmoid"),
        ([table, "page.html", "--image-shape", "16"], 2, "16x16"),
        ([table, "page.html", "--image-shape", "3x3", "--label", "species"], 1, "--image-shape (3, 3) has 3 × 3"),
        ([table, "page.html", "--widths", "median,,2"], 2, "''"),
        ([table, "page.html", "--kind", "volume"], 1, "--mask"),
        ([table, "page.html", "--kind", "image", "--columns", "sepal length,sepal width"], 1, "--image-shape 16x12"),
        ([table, "page.html", "--about", tmp_path / "x.npy"], 3, "--about"),
        ([table, "page.html", "--mask", tmp_path / "x.npy"], 3, "no scan"),
        ([tmp_path / "x.npy", "page.html", "--label", "y"], 3, "--about FILE"),
        ([tmp_path / "none.csv", "page.html"], 3, "does not exist"),
        ([table, "page.html", "--model", tmp_path / "none.safetensors"], 3, "does not exist"),
        ([table, tmp_path / "none" / "page.html"], 3, "does not exist"),
    ]:
        words = [words[0], tmp_path / words[1], *words[2:]]
        result = run(*words, "--quiet")
        assert result.exit_code == code and message in result.output, (words, result.output)
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "there.html").read_text() == "mine"


def test_a_file_larger_than_memory_is_refused_before_it_is_read(table, tmp_path, monkeypatch):
    monkeypatch.setattr("preimage.cli.commands._explore.is_large", lambda path: True)
    result = run(table, tmp_path / "page.html")
    assert result.exit_code == ExitCode.NOT_POSSIBLE and "give a part" in result.output


@pytest.mark.parametrize(("text", "shape"), [("16x8", (16, 8)), ("4×5", (4, 5)), ("2x2x3", (2, 2, 3))])
def test_shapes_are_read(text, shape):
    assert _options.image_shape(text) == shape


def test_models_of_other_widths_see_the_same_inputs_also_where_gaps_were_filled(tmp_path):
    gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X * [1, 20, 300, 4000])
    table = write_table(tmp_path / "gaps.csv", gappy)
    page = page_of(tmp_path, table, "--impute", "mean", "--widths", "p5,median,p95", "--components", "3")
    # γ of the model itself is the median rule: of the same inputs, the same number, and once on the page.
    assert len(page["models"]) == 3
    for model in page["models"]:
        np.testing.assert_array_equal(model["front"]["scale"], page["models"][0]["front"]["scale"])


def test_names_of_columns_cause_no_warning(tmp_path):
    table = write_table(tmp_path / "units.csv", X * [1, 20, 300, 4000])
    model = tmp_path / "model.safetensors"
    arguments = ["embed", table, tmp_path / "embedded.csv", "--save-model", model]
    assert CliRunner().invoke(_app.app, [*map(str, arguments)]).exit_code == 0
    for options in ([], ["--model", model]):
        result = run(table, tmp_path / "page.html", "--force", *options)
        assert result.exit_code == 0, result.output
        assert "feature names" not in result.output
