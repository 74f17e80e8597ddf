"""`preimage denoise`: every format comes back, nothing is lost, and errors say what to do."""

import json

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("matplotlib", reason="figures need matplotlib")

from sklearn.datasets import load_digits
from typer.testing import CliRunner

import preimage
from preimage import KernelPCA
from preimage.cli import _app
from preimage.cli.commands import _denoise
from preimage.cli.runs import _partial
from preimage.estimators import _kernel_input
from preimage.estimators._cross_fit import automatic_folds
from preimage.kernels import resolve_gamma
from preimage.model_selection import DenoisingSearch
from preimage.solvers import FixedPoint

FAST = ["--components", "3", "--gamma", "median", "--penalty", "0"]
RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, np.pi, size=(60, 1))
X = np.hstack([np.cos(ANGLE), np.sin(ANGLE), ANGLE]) + RNG.normal(scale=0.05, size=(60, 3))


def run(*arguments):
    return CliRunner().invoke(_app.app, ["denoise", *map(str, arguments)])


def denoised(X, width="median", cross_fit=None):
    return KernelPCA(3, gamma=width, preimage=FixedPoint()).fit(X).denoise(X, cross_fit=cross_fit)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "noisy.csv"
    np.savetxt(path, X, delimiter=",", header="a,b,angle", comments="", fmt="%.17g")
    return path


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "noisy.npz"
    np.savez(path, data=X, labels=np.arange(60))
    return path


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    folder = tmp_path / "noisy"
    folder.mkdir()
    for number, pixels in enumerate(RNG.integers(0, 256, size=(12, 4, 5), dtype=np.uint8)):
        image.fromarray(pixels).save(folder / f"picture{number:02}.png")
    return folder


def test_csv_comes_back_with_its_header(table, tmp_path):
    output = tmp_path / "clean.csv"
    result = run(table, output, *FAST)
    assert result.exit_code == 0, result.output
    assert output.read_text().splitlines()[0] == "a,b,angle"
    np.testing.assert_allclose(np.loadtxt(output, delimiter=",", skiprows=1), denoised(X), atol=1e-8)


def test_csv_without_header_keeps_its_first_row(tmp_path):
    np.savetxt(tmp_path / "noisy.csv", X, delimiter=",")
    assert run(tmp_path / "noisy.csv", tmp_path / "clean.csv", *FAST).exit_code == 0
    assert np.loadtxt(tmp_path / "clean.csv", delimiter=",").shape == X.shape


def test_npy_keeps_shape_and_single_precision(tmp_path):
    np.save(tmp_path / "noisy.npy", RNG.normal(size=(20, 4, 5)).astype(np.float32))
    assert run(tmp_path / "noisy.npy", tmp_path / "clean.npy", *FAST).exit_code == 0
    clean = np.load(tmp_path / "clean.npy")
    assert clean.shape == (20, 4, 5) and clean.dtype == np.float32


def test_npz_replaces_the_chosen_array_and_keeps_the_others(archive, tmp_path):
    assert run(archive, tmp_path / "clean.npz", "--array", "data", *FAST).exit_code == 0
    with np.load(tmp_path / "clean.npz") as clean:
        np.testing.assert_allclose(clean["data"], denoised(X), atol=1e-8)
        np.testing.assert_array_equal(clean["labels"], np.arange(60))


def test_parquet_comes_back_with_its_columns(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    parquet.write_table(arrow.table(list(X.T.copy()), names=["a", "b", "angle"]), tmp_path / "noisy.parquet")
    assert run(tmp_path / "noisy.parquet", tmp_path / "clean.parquet", *FAST).exit_code == 0
    clean = parquet.read_table(tmp_path / "clean.parquet")
    assert clean.column_names == ["a", "b", "angle"]
    np.testing.assert_allclose(np.column_stack([column.to_numpy() for column in clean.columns]), denoised(X), atol=1e-8)


def test_a_folder_of_pictures_comes_back_with_its_names(pictures, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    result = run(pictures, tmp_path / "clean", *FAST)
    assert result.exit_code == 0, result.output
    files = sorted((tmp_path / "clean").iterdir())
    assert [file.name for file in files] == sorted(file.name for file in pictures.iterdir())
    noisy = np.stack([np.asarray(image.open(file)).ravel() for file in sorted(pictures.iterdir())]) / 255
    clean = np.stack([np.asarray(image.open(file)).ravel() for file in files]) / 255
    # Three components of twelve pictures: each picture gets a model that has not seen it.
    np.testing.assert_allclose(clean, denoised(noisy, cross_fit=5), atol=0.51 / 255)
    assert (tmp_path / "clean.png").exists() and (tmp_path / "clean.json").exists()


def test_one_format_becomes_another(table, tmp_path):
    assert run(table, tmp_path / "clean.npy", *FAST).exit_code == 0
    np.testing.assert_allclose(np.load(tmp_path / "clean.npy"), denoised(X), atol=1e-8)


def test_the_summary_says_what_was_done(table, tmp_path):
    run(table, tmp_path / "clean.csv", *FAST, "--summary", tmp_path / "what.json", "--no-plot")
    summary = json.loads((tmp_path / "what.json").read_text())
    assert summary["rows"] == 60 and summary["columns"] == 3 and summary["converged"] == 60
    assert summary["parameters"]["components"] == 3 and summary["parameters"]["penalty"] == 0
    assert summary["version"] == preimage.__version__ and summary["objective"] >= 0 and summary["seconds"] > 0
    assert not (tmp_path / "clean.png").exists()


def test_what_is_left_open_is_chosen_and_a_seed_repeats_it(table, tmp_path):
    chosen = []
    for name in ("one", "two"):
        result = run(table, tmp_path / f"{name}.csv", "--gamma", "median", "--seed", "3", "--no-plot")
        assert result.exit_code == 0, result.output
        chosen.append(json.loads((tmp_path / f"{name}.json").read_text())["parameters"])
    assert chosen[0] == chosen[1] and chosen[0]["components"] >= 1


def test_the_criterion_is_that_of_the_search(table, tmp_path):
    chosen = ["--criterion", "masked", "--gamma", "median", "--seed", "1", "--no-plot"]
    assert run(table, tmp_path / "clean.csv", *chosen).exit_code == 0
    search = DenoisingSearch(criterion="masked", gammas=[resolve_gamma("median", X)], random_state=1).fit(X)
    found = json.loads((tmp_path / "clean.json").read_text())["parameters"]["components"]
    assert found == search.best_params_["n_components"]


def test_given_parameters_are_kept_when_others_are_chosen(table, tmp_path):
    result = run(table, tmp_path / "clean.csv", "--width", "0.7", "--components", "4", "--no-plot")
    assert result.exit_code == 0, result.output
    parameters = json.loads((tmp_path / "clean.json").read_text())["parameters"]
    assert parameters["components"] == 4 and parameters["width"] == pytest.approx(0.7)


def test_a_share_of_the_variance_is_a_number_of_components(table, tmp_path):
    run(table, tmp_path / "clean.csv", "--components", "0.9", "--gamma", "median", "--penalty", "0", "--no-plot")
    model = KernelPCA(0.9, gamma="median").fit(X)
    assert json.loads((tmp_path / "clean.json").read_text())["parameters"]["components"] == model.n_components_


def test_one_row_can_be_denoised_by_a_model_of_others(table, tmp_path):
    np.save(tmp_path / "one.npy", X[:1])
    assert run(tmp_path / "one.npy", tmp_path / "clean.npy", "--fit", table, *FAST).exit_code == 0
    np.testing.assert_allclose(np.load(tmp_path / "clean.npy"), denoised(X)[:1], atol=1e-6)


def test_existing_files_are_refused_before_any_work(table, tmp_path, monkeypatch):
    monkeypatch.setattr(_denoise, "read", lambda *_: pytest.fail("the input was read"))
    for existing in ("clean.csv", "clean.png", "clean.json"):
        (tmp_path / existing).write_text("precious")
        result = run(table, tmp_path / "clean.csv", *FAST)
        assert result.exit_code == 3 and existing in result.output and "--force" in result.output
        assert (tmp_path / existing).read_text() == "precious"
        (tmp_path / existing).unlink()


def test_force_replaces_files_and_folders(table, pictures, tmp_path):
    (tmp_path / "clean.csv").write_text("old")
    assert run(table, tmp_path / "clean.csv", *FAST, "--force").exit_code == 0
    assert (tmp_path / "clean.csv").read_text() != "old"
    for _ in range(2):
        assert run(pictures, tmp_path / "folder", *FAST, "--force").exit_code == 0
    assert len(list((tmp_path / "folder").iterdir())) == 12


def test_folders_with_other_files_are_never_replaced(pictures, tmp_path):
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean" / "thesis.tex").write_text("precious")
    result = run(pictures, tmp_path / "clean", *FAST, "--force")
    assert result.exit_code == 3 and "holds other files than" in result.output
    assert (tmp_path / "clean" / "thesis.tex").exists()


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()], ids=["failure", "interrupt"])
def test_nothing_is_left_and_nothing_is_lost_when_writing_fails(table, tmp_path, monkeypatch, error):
    def fail(path, data, kind):
        path.write_text("half")
        raise error

    monkeypatch.setattr(_partial, "write_file", fail)
    (tmp_path / "clean.csv").write_text("precious")
    before = sorted(tmp_path.iterdir())
    assert run(table, tmp_path / "clean.csv", *FAST, "--force").exit_code != 0
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "clean.csv").read_text() == "precious"


def test_a_failing_figure_costs_no_data(table, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("no canvas")

    monkeypatch.setattr(_denoise, "draw_table", fail)
    result = run(table, tmp_path / "clean.csv", *FAST)
    assert result.exit_code == 3 and "no canvas. All denoised rows are in" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean.csv", "clean.json", "noisy.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,x\n", "column 'b' has numbers, and also 'x'"),
        ("a,b\n1,2\n3,\n,5\n", "2 missing or infinite values in 2 rows; the first is in row 2, column 'b'"),
        ("a,b\n1,2\n", "has one row"),
        ("a,b\n1,2\n3,4\n", "choosing parameters needs 8"),
        ("a,b\n", "has 0 rows"),
    ],
)
def test_unusable_tables_are_refused_with_a_reason(tmp_path, text, message):
    (tmp_path / "noisy.csv").write_text(text)
    result = run(tmp_path / "noisy.csv", tmp_path / "clean.csv")
    assert result.exit_code == 1 and message in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["noisy.csv"]


def test_other_mistakes_are_named(table, archive, tmp_path):
    assert "does not exist" in run(tmp_path / "none.csv", tmp_path / "clean.csv").output
    assert "unknown format '.doc'" in run(table, tmp_path / "clean.doc").output
    assert "that is a folder of pictures" in run(table, tmp_path / "clean").output
    assert "holds the arrays data, labels" in run(archive, tmp_path / "clean.npz").output
    assert "has no array 'X'" in run(archive, tmp_path / "clean.npz", "--array", "X").output
    np.save(tmp_path / "words.npy", np.array([["a"], ["b"]]))
    assert "not numeric" in run(tmp_path / "words.npy", tmp_path / "clean.npy").output
    (tmp_path / "broken.npz").write_text("x")
    assert "not an NPZ archive" in run(tmp_path / "broken.npz", tmp_path / "clean.npz").output
    np.save(tmp_path / "wide.npy", np.ones((9, 5)))
    assert "5 columns" in run(table, tmp_path / "clean.csv", "--fit", tmp_path / "wide.npy").output
    assert "different names" in run(table, tmp_path / "clean.csv", "--summary", tmp_path / "clean.csv").output
    assert "Create it first" in run(table, tmp_path / "nowhere" / "clean.csv").output


@pytest.mark.parametrize(
    "option",
    [("--components", "0"), ("--components", "1.5"), ("--gamma", "wide"), ("--penalty", "-1"), ("--noise", "0")],
)
def test_impossible_parameters_are_usage_errors(table, tmp_path, option):
    assert run(table, tmp_path / "clean.csv", *option).exit_code == 2


def test_pictures_must_be_alike(pictures, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    image.new("L", (9, 9)).save(pictures / "z.png")
    assert "z.png has 9 × 9 pixels" in run(pictures, tmp_path / "clean", *FAST).output
    image.new("RGB", (5, 4)).save(pictures / "z.png")
    assert "z.png has 5 × 4 pixels of 8-bit colours" in run(pictures, tmp_path / "clean", *FAST).output


def test_training_rows_are_denoised_by_models_without_them(table, tmp_path):
    many = ["--components", "20", "--gamma", "median", "--penalty", "0", "--no-plot"]
    model = KernelPCA(20, gamma="median", preimage=FixedPoint()).fit(X)
    for name, option, folds in (
        ("auto", [], automatic_folds(model)),
        ("three", ["--cross-fit", "3"], 3),
        ("off", ["--cross-fit", "none"], None),
    ):
        result = run(table, tmp_path / f"{name}.csv", *many, *option)
        assert result.exit_code == 0, result.output
        assert ("fitted without them" in result.output) == (folds is not None)
        assert json.loads((tmp_path / f"{name}.json").read_text())["cross_fit"] == folds
        clean = np.loadtxt(tmp_path / f"{name}.csv", delimiter=",", skiprows=1)
        np.testing.assert_allclose(clean, model.denoise(X, cross_fit=folds), atol=1e-8)
    assert run(table, tmp_path / "clean.csv", "--cross-fit", "1").exit_code == 2


def test_few_components_and_clean_training_data_need_no_folds(table, tmp_path):
    assert run(table, tmp_path / "few.csv", *FAST, "--no-plot").exit_code == 0
    assert json.loads((tmp_path / "few.json").read_text())["cross_fit"] is None
    clean = ["--components", "20", "--gamma", "median", "--penalty", "0", "--noise", "0.05", "--no-plot"]
    assert run(table, tmp_path / "clean.csv", *clean).exit_code == 0
    assert json.loads((tmp_path / "clean.json").read_text())["cross_fit"] is None


def test_rows_of_another_file_are_recognised(table, tmp_path):
    np.save(tmp_path / "some.npy", np.vstack([X[:4], X[:2] + 0.01]))
    many = ["--components", "20", "--gamma", "median", "--penalty", "0", "--no-plot"]
    many += ["--cross-fit", "5"]
    assert run(tmp_path / "some.npy", tmp_path / "clean.npy", "--fit", table, *many).exit_code == 0
    model = KernelPCA(20, gamma="median", preimage=FixedPoint()).fit(X)
    expected = np.vstack([model.denoise(X, cross_fit=5)[:4], model.denoise(X[:2] + 0.01)])
    np.testing.assert_allclose(np.load(tmp_path / "clean.npy"), expected, atol=1e-6)


@pytest.mark.parametrize("in_chunks", [[], ["--landmarks", "20"]], ids=["memory", "chunks"])
def test_inputs_are_never_replaced(table, pictures, tmp_path, in_chunks):
    before = table.read_bytes()
    (tmp_path / "link.csv").symlink_to(table)
    for output in (table, tmp_path / "link.csv"):
        result = run(table, output, *FAST, "--force", "--no-plot", *in_chunks)
        assert result.exit_code == 3 and "is an input" in result.output
    other = tmp_path / "other.npy"
    np.save(other, X)
    assert "is an input" in run(other, table, "--fit", table, *FAST, "--force", *in_chunks).output
    assert table.read_bytes() == before
    assert "is an input" in run(pictures, pictures, *FAST, "--force").output
    assert len(list(pictures.iterdir())) == 12


def test_training_rows_get_parameters_of_their_own(tmp_path):
    """What the command chooses and does is what the search does."""
    noisy = load_digits().data[:200] / 16 + np.random.default_rng(0).normal(scale=0.3, size=(200, 64))
    np.save(tmp_path / "noisy.npy", noisy)
    result = run(tmp_path / "noisy.npy", tmp_path / "clean.npy", "--gamma", "median", "--no-plot")
    assert result.exit_code == 0, result.output
    assert "rows that the model has learned from; for new rows" in result.output
    search = DenoisingSearch(gammas=[resolve_gamma("median", noisy)]).fit(noisy)
    summary = json.loads((tmp_path / "clean.json").read_text())
    assert summary["parameters"]["components"] == search.best_params_["n_components"]
    assert search.cross_fit_ is None and summary["cross_fit"] is None
    assert summary["training_row_parameters"]["components"] == search.training_params_["n_components"]
    np.testing.assert_allclose(np.load(tmp_path / "clean.npy"), search.denoise(noisy), atol=1e-8)


@pytest.mark.parametrize("kind", ["csv", "npy", "parquet"])
def test_tables_of_many_short_rows_are_denoised_in_chunks(table, tmp_path, monkeypatch, kind):
    """However little memory they take: a model of all of 30,000 rows would take hours."""
    source = tmp_path / f"many.{kind}"
    if kind == "npy":
        np.save(source, X)
    elif kind == "parquet":
        pytest.importorskip("pandas").read_csv(table).to_parquet(source)
    else:
        source = table
    words = [*FAST, "--no-plot", "--force"]
    landmarks = lambda: json.loads((tmp_path / "clean.json").read_text()).get("landmarks")
    assert run(source, tmp_path / f"clean.{kind}", *words).exit_code == 0 and landmarks() is None
    monkeypatch.setattr(_kernel_input, "MOST_EXACT_ROWS", 50)
    assert run(source, tmp_path / f"clean.{kind}", *words).exit_code == 0 and landmarks() is not None
    assert run(source, tmp_path / f"clean.{kind}", *words, "--landmarks", "none").exit_code == 0 and landmarks() is None
    # Where chunks cannot be written, the rows are worked on as before.
    assert run(source, tmp_path / "clean.npz", *words).exit_code == 0 and landmarks() is None


def digits(folder, noise, clip):
    """A folder of noisy digits and what they are without noise, both from 0 to 1."""
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    folder.mkdir()
    clean = load_digits().data[:200] / 16
    clean = clean if clip else 0.3 + 0.4 * clean
    noisy = np.clip(clean + noise * np.random.default_rng(0).normal(size=clean.shape), 0, 1)
    for number, pixels in enumerate(noisy):
        levels = np.round(255 * pixels.reshape(8, 8)).astype(np.uint8)
        image.fromarray(levels).save(folder / f"{number:03}.png")
    return clean


def error_of(folder, clean):
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow")
    found = [np.asarray(image.open(path), dtype=float).ravel() / 255 for path in sorted(folder.iterdir())]
    return np.mean((np.array(found) - clean) ** 2)


def test_clipped_pictures_are_denoised_better_than_by_principal_components(tmp_path):
    """By 20 of them, the number that clean pictures would choose, the error is 0.0194; "masked" alone has 0.0178."""
    clean = digits(tmp_path / "noisy", 0.2, clip=True)
    result = run(tmp_path / "noisy", tmp_path / "clean", "--no-plot")
    assert result.exit_code == 0 and "cannot be estimated" in " ".join(result.output.split())
    assert error_of(tmp_path / "noisy", clean) > 0.023 and error_of(tmp_path / "clean", clean) < 0.0176
    report = json.loads((tmp_path / "clean.json").read_text())
    assert report["clipped"] > 0.3 and report["psnr"] is None and report["expected_error"] is None


def test_pictures_have_an_expected_error_in_decibels(tmp_path):
    clean = digits(tmp_path / "noisy", 0.08, clip=False)
    result = run(tmp_path / "noisy", tmp_path / "clean", "--no-plot")
    report = json.loads((tmp_path / "clean.json").read_text())
    for when, folder in (("before", "noisy"), ("after", "clean")):
        assert report["psnr"][when] == pytest.approx(-10 * np.log10(error_of(tmp_path / folder, clean)), abs=0.5)
    assert f"PSNR {report['psnr']['before']:.1f} and {report['psnr']['after']:.1f} dB" in " ".join(
        result.output.split()
    )


def test_hidden_columns_say_nothing_about_the_error(table, tmp_path):
    assert run(table, tmp_path / "clean.csv", "--no-plot").exit_code == 0
    report = json.loads((tmp_path / "clean.json").read_text())
    assert report["criterion"] == "masked" and report["expected_error"] is report["noise"] is report["psnr"] is None


def test_noise_that_is_known_gives_an_expected_error(tmp_path):
    angle = np.linspace(0, np.pi, 400)[:, None]
    curve = np.hstack([np.cos(angle), np.sin(angle)])
    np.save(tmp_path / "fit.npy", curve)
    noisy = curve + 0.2 * RNG.normal(size=curve.shape)
    np.save(tmp_path / "x.npy", noisy)
    options = ["--fit", tmp_path / "fit.npy", "--noise", "0.2", "--no-plot"]
    assert run(tmp_path / "x.npy", tmp_path / "y.npy", *options).exit_code == 0
    report = json.loads((tmp_path / "y.json").read_text())
    error = np.sqrt(np.mean((np.load(tmp_path / "y.npy") - curve) ** 2))
    assert report["noise"] == 0.2 and report["expected_error"] == pytest.approx(error, rel=0.25)


def with_a_glitch(path):
    """The table with one value that is far from all others, in the 18th row."""
    Z = X.copy()
    Z[17, 1] = 1e9
    np.savetxt(path, Z, delimiter=",", header="a,b,angle", comments="", fmt="%.17g")
    return Z


@pytest.mark.parametrize("loss", ["none", "cauchy"])
def test_a_glitch_is_told_not_learned_and_replaced_on_request(tmp_path, loss):
    Z = with_a_glitch(tmp_path / "noisy.csv")
    result = run(tmp_path / "noisy.csv", tmp_path / "clean.csv", *FAST, "--loss", loss)
    said = " ".join(result.output.split())
    assert result.exit_code == 0 and "Not learned from 1 row with values far from all others: 18." in said
    found = np.loadtxt(tmp_path / "clean.csv", delimiter=",", skiprows=1)
    near = np.arange(60) != 17
    if loss == "none":
        assert "--loss cauchy" in said
        np.testing.assert_allclose(found[near], denoised(Z[near]), atol=1e-8)
    else:
        assert "--loss cauchy" not in said and abs(found[17, 1] - np.sin(ANGLE[17, 0])) < 0.2


def test_the_error_is_estimated_also_of_tables_with_a_glitch(tmp_path):
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, np.pi, size=(300, 1))
    clean = np.sin(angle + np.arange(12))
    noisy = clean + rng.normal(scale=0.2, size=clean.shape)
    noisy[17, 1] = 1e9
    np.savetxt(tmp_path / "noisy.csv", noisy, delimiter=",")
    assert run(tmp_path / "noisy.csv", tmp_path / "clean.csv", "--no-plot", "--criterion", "sure").exit_code == 0
    off = np.delete(np.loadtxt(tmp_path / "clean.csv", delimiter=",") - clean, 17, axis=0)
    expected = json.loads((tmp_path / "clean.json").read_text())["expected_error"]
    assert expected == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.2)


def test_pictures_are_counted_as_pictures_and_no_estimate_is_owned_up_to(pictures, tmp_path):
    said = " ".join(run(pictures, tmp_path / "clean", "--criterion", "masked").output.split())
    assert "Denoised 12 pictures of 20 pixels" in said and "cannot be estimated" in said
