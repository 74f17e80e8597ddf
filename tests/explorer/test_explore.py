"""`explore`: what a page holds is what the model says."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as PlainKernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler
from sklearn.svm import SVC

from preimage import KernelNoveltyDetector, KernelPCA, OrientedKernelPCA, SemiSupervisedKernelPCA, compress, explore
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.explorer._models import page_model
from preimage.kernels import Gaussian, Laplacian, Polynomial, RationalQuadratic, Sigmoid, Warped
from preimage.solvers import Gradient, objective_at

X, y = load_digits(return_X_y=True)
X, y = X[:150], y[:150]
PARTLY = np.where(np.arange(150) % 3 == 0, y, -1)
QUERIES = load_digits().data[150:170]


def models():
    return {
        "exact": KernelPCA(6, gamma="median").fit(X),
        "landmarks": KernelPCA(6, gamma="median", landmarks=60).fit(X),
        "uncentred": KernelPCA(6, gamma="median", center=False).fit(X),
        "single precision": KernelPCA(6, gamma="median").fit(X.astype(np.float32)),
        "far from zero": KernelPCA(6, kernel="linear").fit(X),
        "polynomial": KernelPCA(6, kernel=Polynomial(2, gamma=0.001)).fit(X),
        "sum": KernelPCA(6, kernel=Gaussian(0.001) + 0.5 * RationalQuadratic(0.001)).fit(X),
        "laplacian": KernelPCA(6, kernel=Laplacian(0.01)).fit(X),
        "semi-supervised": SemiSupervisedKernelPCA(6, gamma="median").fit(X, PARTLY),
        "warped": SemiSupervisedKernelPCA(6, kernel=Warped(Gaussian(0.001))).fit(X, PARTLY),
        "oriented": OrientedKernelPCA(6, gamma="median").fit(X, pairs=X + np.roll(X, 1, axis=1) / 10),
        "scikit-learn's": PlainKernelPCA(6, kernel="rbf", gamma=0.001).fit(X),
        "compressed": compress(KernelPCA(6, gamma="median").fit(X), 80, X=X),
    }


MODELS = models()
by_name = pytest.mark.parametrize("name", MODELS)


def record_of(page, number=0):
    return page.header["models"][number]


def frame_of(model):
    """From features of a model to coordinates in its orthonormal frame."""
    return model._in_frame(6) if hasattr(model, "_in_frame") else lambda Y: Y


@pytest.mark.parametrize("landmarks", [None, 70])
def test_a_detector_shows_its_own_scores_and_threshold(landmarks):
    detector = KernelNoveltyDetector(0.1, landmarks=landmarks).fit(X)
    drawn = np.vstack([X, QUERIES])
    record = record_of(explore(detector, drawn))
    np.testing.assert_array_equal(record["detection"]["scores"], -detector.score_samples(drawn))
    is_outlier = record["detection"]["scores"] > record["detection"]["threshold"]
    np.testing.assert_array_equal(is_outlier, detector.predict(drawn) == -1)
    expected = detector.kernel_pca_.transform(drawn)[:, : record["coordinates"].shape[1]]
    np.testing.assert_allclose(record["coordinates"], expected, atol=2e-2 * np.ptp(expected))
    assert record_of(explore(MODELS["exact"], X))["detection"] is None


def test_a_detector_behind_a_scaler_and_at_several_widths():
    detector = make_pipeline(StandardScaler(), KernelNoveltyDetector(gamma=0.01)).fit(X)
    page = explore(detector, X, y, widths=[0.02], title=None)
    assert page.header["title"].startswith("Novelties of 150 rows")
    np.testing.assert_array_equal(record_of(page)["detection"]["scores"], -detector.score_samples(X))
    other = make_pipeline(StandardScaler(), KernelNoveltyDetector(gamma=0.02)).fit(X)
    np.testing.assert_array_equal(record_of(page, 1)["detection"]["scores"], -other.score_samples(X))
    with pytest.raises(NotFittedError):
        explore(KernelNoveltyDetector(), X)


@by_name
def test_coordinates_are_those_that_transform_gives(name):
    page = explore(MODELS[name], QUERIES, image_shape=(8, 8))
    expected = MODELS[name].transform(QUERIES)
    # They are rounded to a thousandth of a standard deviation, to be packed.
    tolerance = 2e-3 if name == "single precision" else 0.0
    allowed = tolerance * np.abs(expected).max() + 2.0**-11 * record_of(page)["deviations"] * (1 + 1e-6)
    assert np.all(np.abs(record_of(page)["coordinates"] - expected) <= allowed)


@by_name
def test_errors_are_distances_from_the_subspace(name):
    model = MODELS[name]
    if not hasattr(model, "subspace_"):
        pytest.skip("the model has no subspace")
    expected = model.subspace_.residuals(QUERIES.astype(model.subspace_.frame.coefficients.dtype))
    found = record_of(explore(model, QUERIES, image_shape=(8, 8)))["errors"]
    tolerance = 1e-3 if name == "single precision" else 2e-5
    np.testing.assert_allclose(found, np.maximum(expected, 0), atol=tolerance * np.abs(expected).max())


@by_name
@pytest.mark.parametrize("q", [2, 6])
def test_vectors_with_given_coordinates_are_those_of_the_model(name, q):
    model, page = MODELS[name], page_model(MODELS[name]).leading(q)
    Y = model.transform(QUERIES)[:, :q].astype(np.float64)
    Z = QUERIES if page.shift is None else QUERIES - page.shift
    if hasattr(model, "subspace_"):
        expected = model.subspace_.leading(q).embed(np.asarray(model._in_frame(q)(Y)))(QUERIES)
    elif name == "scikit-learn's":
        ours = KernelPCA(6, gamma=0.001).fit(X)
        signs = np.sign(np.sum(ours.transform(X) * model.transform(X), axis=0))
        expected = ours.subspace_.leading(q).embed(Y * signs[:q])(QUERIES)
    else:
        A = model.expansion_.coefficients
        target = A[:, :q] @ Y.T + A[:, 6:]
        expected = model.expansion_.kernel(QUERIES, model.points_) @ target
    tolerance = 1e-3 if name == "single precision" else 1e-8
    np.testing.assert_allclose(page.target(Y)(Z), expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", ["exact", "landmarks", "polynomial", "semi-supervised", "oriented"])
def test_distances_follow_from_offset_and_norm(name):
    """‖φ(z) − Ψ‖² = k(z, z) − 2ψ(z) + ‖origin‖² + 2β·⟨V, origin⟩ + β·β, as the page computes it."""
    page = page_model(MODELS[name])
    Y = page.coordinates(X[:5])
    B = Y if page.features is None else Y @ page.features.T
    # ⟨V, origin⟩ of the orthonormal frame V = WFᵀ.
    offset = page.offset if page.features is None else page.features @ page.offset
    norms = page.origin_squared_norm + 2 * B @ offset + np.sum(B * B, axis=1)
    target = page.target(Y)
    np.testing.assert_allclose(norms, target.squared_norms(), rtol=1e-6)
    distances = page.kernel.diagonal(X[:5]) - 2 * np.diag(target(X[:5])) + norms
    np.testing.assert_allclose(distances, objective_at(target, X[:5]), atol=1e-8)
    np.testing.assert_allclose(distances, page.residuals(X[:5], Y), atol=1e-8)


@pytest.mark.parametrize("name", ["exact", "landmarks", "far from zero", "polynomial", "oriented", "compressed"])
def test_preimages_of_the_pages_model_are_those_of_the_model(name):
    model, page = MODELS[name], page_model(MODELS[name])
    shift = 0.0 if page.shift is None else page.shift
    Y = model.transform(QUERIES)
    found = page.solver.solve(page.target(Y), QUERIES - shift).points + shift
    expected = model.find_preimages(Y, start=QUERIES).points
    np.testing.assert_allclose(found, expected, atol=1e-4 * X.std() * 8)


def test_components_can_be_fewer_and_zeros_are_left_out():
    page = explore(MODELS["exact"], X, y, image_shape=(8, 8), n_components=3)
    assert record_of(page)["coordinates"].shape == (150, 3)
    assert any("first 3 of 6" in message for message in page.messages)
    with pytest.warns(RankWarning):
        padded = KernelPCA(8, kernel="linear", remove_zero_eig=False).fit(X[:, :3] + [0, 1, 2])
    assert len(record_of(explore(padded, X[:, :3] + [0, 1, 2]))["component_names"]) < 8


def test_a_solver_that_pages_do_not_have_is_named():
    learned = KernelPCA(3, gamma="median", preimage="learned").fit(X)
    assert "the model itself uses LearnedMap" in explore(learned, X, image_shape=(8, 8)).messages[0]
    for preimage in ("auto", "fixed_point", Gradient(lower=0, upper=16)):
        page = explore(KernelPCA(3, gamma="median", preimage=preimage).fit(X), X, image_shape=(8, 8))
        assert page.messages == []


class TestFronts:
    wine = load_wine(as_frame=True)

    @pytest.mark.parametrize(
        "steps",
        [
            [StandardScaler()],
            [RobustScaler(), MinMaxScaler((-1, 1))],
            [StandardScaler(), PCA(5)],
            [PCA(5, whiten=True), StandardScaler()],
            [StandardScaler(), SelectKBest(k=6)],
            ["passthrough", make_pipeline(StandardScaler(), PCA(13))],
        ],
        ids=str,
    )
    def test_steps_become_one_map_in_both_directions(self, steps):
        data, target = self.wine.data, self.wine.target
        model = make_pipeline(*steps, KernelPCA(4, gamma=0.05)).fit(data, target)
        page = explore(model, data, target)
        np.testing.assert_allclose(record_of(page)["coordinates"], model.transform(data), atol=1e-3)
        front = record_of(page)["front"]
        raw, expected = data.to_numpy(), model[:-1].transform(data)
        if "scale" in front:
            Z = raw * front["scale"] + front["shift"]
            back = (Z - front["shift"]) / front["scale"]
        else:
            Z = raw @ front["matrix"] + front["shift"]
            back = Z @ front["back"] + front["back_shift"]
        np.testing.assert_allclose(Z, expected, atol=1e-9)
        # What the front keeps of a row, the map back keeps as well.
        again = back * front["scale"] + front["shift"] if "scale" in front else back @ front["matrix"] + front["shift"]
        np.testing.assert_allclose(again, Z, atol=1e-9 * np.abs(Z).max())

    def test_scalers_give_inputs_back_and_pca_what_scikit_learn_gives(self):
        data = self.wine.data.to_numpy()
        model = make_pipeline(PCA(5), KernelPCA(4, gamma=1e-4)).fit(data)
        front = record_of(explore(model, data))["front"]
        Z = model[0].transform(data)
        np.testing.assert_allclose(Z @ front["back"] + front["back_shift"], model[0].inverse_transform(Z))

    def test_rows_and_units_are_those_of_the_user(self):
        model = make_pipeline(StandardScaler(), KernelPCA(4, gamma=0.05)).fit(self.wine.data)
        page = explore(model, self.wine.data, self.wine.target)
        np.testing.assert_allclose(page.header["samples"]["inputs"], self.wine.data, rtol=1e-6)
        assert page.header["view"]["names"] == list(self.wine.data.columns)

    def test_imputers_fill_what_is_drawn(self):
        data = self.wine.data.to_numpy().copy()
        data[::7, 3] = np.nan
        for steps in ([SimpleImputer(), StandardScaler()], [StandardScaler(), SimpleImputer()]):
            model = make_pipeline(*steps, KernelPCA(4, gamma=0.05)).fit(data)
            page = explore(model, data, self.wine.target)
            inputs = page.header["samples"]["inputs"]
            np.testing.assert_allclose(inputs[::7, 3], np.nanmean(data[:, 3]), rtol=1e-5)
            known = ~np.isnan(data)
            assert any("26 of the drawn rows had 26 missing entries" in message for message in page.messages)
            np.testing.assert_allclose(inputs[known], data[known], rtol=1e-6)
            np.testing.assert_allclose(record_of(page)["coordinates"], model.transform(data), atol=1e-3)

    def test_a_search_shows_what_it_found(self):
        pipeline = make_pipeline(StandardScaler(), KernelPCA(4, gamma=0.05), SVC())
        search = GridSearchCV(pipeline, {"svc__C": [1.0]}).fit(self.wine.data, self.wine.target)
        with pytest.raises(TypeError, match="'kernelpca' of the pipeline, KernelPCA, it cannot"):
            explore(search, self.wine.data)
        found = search.best_estimator_[:-1]
        assert record_of(explore(found, self.wine.data))["front"] is not None

    def test_a_step_that_cannot_be_undone_is_named(self):
        model = make_pipeline(QuantileTransformer(n_quantiles=50), KernelPCA(4)).fit(self.wine.data)
        with pytest.raises(TypeError, match="'quantiletransformer' of the pipeline, QuantileTransformer"):
            explore(model, self.wine.data)
        clipped = make_pipeline(MinMaxScaler(clip=True), KernelPCA(4)).fit(self.wine.data)
        with pytest.raises(TypeError, match="'minmaxscaler'"):
            explore(clipped, self.wine.data)


class TestCompression:
    def test_large_models_become_small_and_say_what_that_changes(self):
        model = KernelPCA(4, gamma="median").fit(X)
        page = explore(model, X, y, image_shape=(8, 8), n_points=40)
        record = record_of(page)
        assert record["points"].shape == (40, 64)
        assert any("40 points in place of the model's 150" in message for message in page.messages)
        lost = np.sum((record["coordinates"] - model.transform(X)) ** 2) / np.sum(model.transform(X) ** 2)
        assert 0 < lost < 0.01
        assert f"{100 * lost:.2g} %" in record["note"] or "less than 0.01 %" in record["note"]
        # Novelty scores are compressed as well.
        np.testing.assert_allclose(record["errors"], model.reconstruction_error(X), atol=0.02)

    def test_models_of_all_kinds_are_compressed_too(self):
        for model in (
            OrientedKernelPCA(3, gamma="median").fit(X, pairs=X + 0.5),
            SemiSupervisedKernelPCA(3, gamma="median").fit(X, PARTLY),
            KernelPCA(3, gamma="median", center=False).fit(X),
            KernelPCA(3, kernel=Sigmoid(0.001, -0.5)).fit(X),
        ):
            record = record_of(explore(model, X, image_shape=(8, 8), n_points=50))
            assert record["points"].shape[0] == 50
            expected = model.transform(X)
            assert np.sum((record["coordinates"] - expected) ** 2) < 0.02 * np.sum((expected - expected.mean(0)) ** 2)

    def test_small_models_stay_what_they_are(self):
        page = explore(MODELS["exact"], X, y, image_shape=(8, 8), n_points=150)
        np.testing.assert_allclose(record_of(page)["points"], X, rtol=1e-7)
        assert record_of(page)["note"] == ""


class TestSeveralModels:
    def test_widths_are_copies_of_the_model_in_order(self):
        model = KernelPCA(3, gamma=0.001).fit(X)
        page = explore(model, X, y, image_shape=(8, 8), widths=[0.01, 0.0001, 0.001])
        assert [record["width"] for record in page.header["models"]] == [0.0001, 0.001, 0.01]
        assert page.header["initial"] == 1
        assert [record["name"] for record in page.header["models"]] == ["γ = 0.0001", "γ = 0.001", "γ = 0.01"]
        narrow = KernelPCA(3, gamma=0.01).fit(X)
        np.testing.assert_allclose(np.abs(record_of(page, 2)["coordinates"]), np.abs(narrow.transform(X)), atol=1e-3)
        assert model.gamma == 0.001

    def test_widths_reach_pipelines_and_kernels_and_take_rules(self):
        model = make_pipeline(StandardScaler(), KernelPCA(3, kernel=Warped(Gaussian(0.01)))).fit(X)
        page = explore(model, X, image_shape=(8, 8), widths=[0.02, "median"])
        assert len(page.header["models"]) == 3
        page = explore(make_pipeline(StandardScaler(), KernelPCA(3)).fit(X), X, image_shape=(8, 8), widths=["median"])
        assert len(page.header["models"]) == 2

    def test_lists_and_dictionaries_of_models(self):
        page = explore([MODELS["exact"], MODELS["landmarks"]], X, y, image_shape=(8, 8))
        assert [record["name"] for record in page.header["models"]] == ["1: KernelPCA", "2: KernelPCA"]
        page = explore({"all rows": MODELS["exact"], "few": MODELS["landmarks"]}, X, y, image_shape=(8, 8))
        assert [record["name"] for record in page.header["models"]] == ["all rows", "few"]

    def test_what_is_true_of_all_models_is_said_once(self):
        page = explore(
            {"a": MODELS["exact"], "b": MODELS["landmarks"]}, X, image_shape=(8, 8), n_components=2, n_points=70
        )
        said = [message for message in page.messages if "components are shown" in message]
        assert said == ["The first 2 of 6 components are shown."]
        page = explore([MODELS["exact"], MODELS["landmarks"]], X, image_shape=(8, 8), n_points=50)
        (loss,) = [message for message in page.messages if "in place of" in message]
        assert "50 points or fewer per model in place of up to 150" in loss
        assert all(record["note"] for record in page.header["models"])

    @pytest.mark.parametrize("widths", [[], [0.0], [-1], [np.nan], [np.inf], [None], [True], 0.5, "median"])
    def test_wrong_widths_are_refused(self, widths):
        with pytest.raises((ValueError, TypeError), match="explore"):
            explore(MODELS["exact"], X, image_shape=(8, 8), widths=widths)

    def test_widths_need_one_model_with_a_width(self):
        with pytest.raises(ValueError, match="2 models and widths"):
            explore([MODELS["exact"], MODELS["landmarks"]], X, widths=[1.0])
        for name in ("far from zero", "sum", "oriented"):
            with pytest.raises(TypeError, match="pass them as a list"):
                explore(MODELS[name], X, image_shape=(8, 8), widths=[1.0])


class TestPage:
    def test_the_same_call_gives_the_same_page(self):
        make = lambda: explore(MODELS["exact"], X, y, image_shape=(8, 8), n_points=50, max_samples=60).to_html()
        assert make() == make()

    def test_saving_writes_the_page_or_nothing(self, tmp_path):
        page = explore(MODELS["exact"], X, y, image_shape=(8, 8), title="Digits")
        path = page.save(tmp_path / "digits.html")
        assert path.read_text(encoding="utf-8") == page.to_html()
        with pytest.raises(FileNotFoundError):
            page.save(tmp_path / "missing" / "digits.html")
        with pytest.raises(IsADirectoryError):
            page.save(tmp_path)
        assert [each.name for each in tmp_path.iterdir()] == ["digits.html"]

    def test_a_notebook_shows_a_frame_that_is_shut_in(self):
        page = explore(MODELS["exact"], X, y, image_shape=(8, 8), title='"><script>alert(1)</script>')
        shown = page._repr_html_()
        assert shown.startswith('<iframe sandbox="allow-scripts allow-downloads allow-popups"')
        assert "<script" not in shown and "&lt;script" in shown

    def test_nothing_that_was_given_is_changed(self):
        model = KernelPCA(3, gamma="median").fit(X)
        before = {name: np.copy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
        rows, labels = X.copy(), y.copy()
        rows.flags.writeable = labels.flags.writeable = False
        explore(model, rows, labels, image_shape=(8, 8), n_points=30, max_samples=40, widths=[0.01]).to_html()
        np.testing.assert_array_equal(rows, X)
        assert all(np.array_equal(vars(model)[name], value) for name, value in before.items())

    def test_pictures_are_bytes_and_points_single_where_rounding_does_not_show(self):
        page = explore(MODELS["exact"], X, y, image_shape=(8, 8))
        samples = page.header["samples"]
        assert samples["inputs"].dtype == np.uint8
        np.testing.assert_allclose(samples["low"] + samples["step"] * samples["inputs"], X, atol=samples["step"] / 2)
        assert record_of(page)["points"].dtype == np.float32  # whole numbers
        far = X + 1e6 + np.random.default_rng(0).normal(size=X.shape)
        assert record_of(explore(KernelPCA(3, gamma="median").fit(far), far))["points"].dtype == np.float64


class TestRefusals:
    def test_models(self):
        for model in (LogisticRegression(), KernelPCA, "model", None, make_pipeline(StandardScaler()).fit(X)):
            with pytest.raises(TypeError, match="explore shows fitted models of KernelPCA"):
                explore(model, X)
        with pytest.raises(NotFittedError):
            explore(KernelPCA(), X)
        with pytest.raises(NotFittedError):
            explore(SVC(), X)
        with pytest.raises(ValueError, match="no model"):
            explore([], X)

    def test_kernels(self):
        with pytest.raises(UnsupportedKernelError, match="precomputed"):
            explore(KernelPCA(2, kernel="precomputed").fit(X @ X.T), X @ X.T)
        with pytest.raises(UnsupportedKernelError, match="explore"):
            explore(KernelPCA(2, kernel=lambda x, z: float(np.exp(-np.sum((x - z) ** 2) / 1e3))).fit(X[:20]), X[:20])

    def test_rows(self):
        model = MODELS["exact"]
        with pytest.raises(ValueError, match="64 features"):
            explore(model, X[:, :10])
        with pytest.raises(ValueError, match="NaN"):
            explore(model, np.where(X == 3, np.nan, X))
        with pytest.raises(ValueError, match="none"):
            explore(model, X[:0])
        with pytest.raises(TypeError, match="iterator"):
            explore(model, iter([X]))
        with pytest.raises(ValueError, match="150 rows in X and 149 values in y"):
            explore(model, X, y[:-1])

    def test_numbers(self):
        for option in ("n_points", "max_samples", "n_components"):
            for value in (0, -3, 1.5, "many", True):
                with pytest.raises(ValueError, match=f"explore needs {option}"):
                    explore(MODELS["exact"], X, **{option: value})

    def test_a_subclass_that_transforms_otherwise(self):
        class Other(KernelPCA):
            def transform(self, X):
                return -super().transform(X)

        with pytest.raises(TypeError, match="other coordinates"):
            explore(Other(2, gamma="median").fit(X), X)
