"""Models of all classes in one opened page: their coordinates, novelty and pre-images are those of Python."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as PlainKernelPCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from preimage import KernelNoveltyDetector, KernelPCA, OrientedKernelPCA, SemiSupervisedKernelPCA, compress, explore
from preimage.kernels import Gaussian, Polynomial, Warped

WINE = load_wine()
X, y = WINE.data, WINE.target
PARTLY = np.where(np.arange(y.size) % 3 == 0, y, -1)
UNIT = np.std(X, axis=0)
ROWS = X[::9] + 0.2 * UNIT * np.random.default_rng(0).normal(size=X[::9].shape)

SHIFTED = (X + 0.3 * UNIT * np.random.default_rng(1).normal(size=X.shape) - X.mean(axis=0)) / UNIT


def behind(*steps, scaler=None):
    return make_pipeline(scaler or StandardScaler(), *steps)


MODELS = {
    "exact": behind(KernelPCA(4, gamma=0.05)).fit(X),
    "landmarks": behind(KernelPCA(4, gamma=0.05, landmarks=60), scaler=RobustScaler()).fit(X),
    "behind PCA": behind(PCA(6), KernelPCA(4, gamma=0.05)).fit(X),
    "selected columns": behind(SelectKBest(k=7), KernelPCA(4, gamma=0.05)).fit(X, y),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), KernelPCA(4, gamma=0.05)).fit(X),
    "linear, not scaled": KernelPCA(4, kernel="linear").fit(X),
    "polynomial": behind(KernelPCA(4, kernel=Polynomial(2, gamma=0.05))).fit(X),
    "semi-supervised": behind(SemiSupervisedKernelPCA(4, gamma=0.05)).fit(X, PARTLY),
    "warped": behind(SemiSupervisedKernelPCA(4, kernel=Warped(Gaussian(0.05)))).fit(X, PARTLY),
    "oriented": behind(OrientedKernelPCA(4, gamma=0.05)).fit(X, orientedkernelpca__pairs=SHIFTED),
    "compressed": compress(behind(KernelPCA(4, gamma=0.05)).fit(X), 40, X=X),
    "scikit-learn's": behind(PlainKernelPCA(4, kernel="rbf", gamma=0.05)).fit(X),
}
ASK = """rows => window.preimage.models.map((model) => rows.map((row) => ({
  coordinates: [...model.coordinates(row)], error: model.reconstructionError(row), clean: [...model.denoise(row).row],
})))"""


@pytest.fixture(scope="module")
def html():
    return explore(MODELS, X, y, n_points=1000, names=WINE.feature_names).to_html()


def ours(model):
    """The steps before a model, and the model, or one of ours that has the same axes and pre-images."""
    if not hasattr(model, "steps"):
        return make_pipeline("passthrough"), model
    if isinstance(model[-1], PlainKernelPCA):
        return model[:-1], KernelPCA(4, gamma=0.05).fit(model[:-1].transform(X))
    return model[:-1], model[-1]


def test_answers_of_an_opened_page(open_page, html):
    answers = dict(zip(MODELS, open_page(html).page.evaluate(ASK, ROWS.tolist()), strict=True))
    for name, model in MODELS.items():
        found = {key: np.array([each[key] for each in answers[name]]) for key in answers[name][0]}
        expected = model.transform(ROWS)
        np.testing.assert_allclose(found["coordinates"], expected, atol=2e-6 * np.ptp(expected), err_msg=name)
        front, last = ours(model)
        inside, clean = front.transform(ROWS), front.transform(found["clean"])
        spread = np.sqrt(np.sum(np.var(front.transform(X), axis=0)))
        assert np.max(np.abs(clean - np.asarray(last.denoise(inside)))) < 1e-4 * spread, name
        assert np.max(np.abs(clean - inside)) > 1e-3 * spread, name  # something was done
        if hasattr(last, "subspace_"):
            residuals = np.maximum(last.subspace_.residuals(inside), 0)
            np.testing.assert_allclose(found["error"], residuals, atol=1e-5 * residuals.max(), err_msg=name)


def test_columns_that_a_selection_drops_come_back_as_their_mean(open_page, html):
    number = list(MODELS).index("selected columns")
    ask = "([n, row]) => [...window.preimage.models[n].denoise(row).row]"
    clean = np.array(open_page(html).page.evaluate(ask, [number, ROWS[0].tolist()]))
    dropped = ~MODELS["selected columns"][1].get_support()
    np.testing.assert_allclose(clean[dropped], X.mean(axis=0)[dropped], rtol=1e-6)


def test_an_opened_page_says_what_a_detector_decides(open_page):
    detector = behind(KernelNoveltyDetector(0.1)).fit(X)
    watched = open_page(explore(detector, X, y, names=WINE.feature_names).to_html())
    scores, labels = -detector.score_samples(X), detector.predict(X)
    for sample in (int(scores.argmax()), int(scores.argmin())):
        watched.page.evaluate("(selected) => window.preimage.store.set({ selected })", sample)
        watched.settle()
        text = watched.panel("inspector").locator('[data-part="selected"]').inner_text()
        assert f"rank {1 + int((scores > scores[sample]).sum())} of {len(X)} samples" in text
        assert ("An outlier: above" if labels[sample] == -1 else "Not an outlier: not above") in text
