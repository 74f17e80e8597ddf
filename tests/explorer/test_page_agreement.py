"""What people read off an opened page is what the model says in Python: through encoding and scalers."""

import numpy as np
import pytest
from ready_pages import digits_data, digits_model
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from preimage import KernelPCA, OrientedKernelPCA, SemiSupervisedKernelPCA, compress, explore
from preimage.kernels import Polynomial, RationalQuadratic
from preimage.solvers import FixedPoint, Gradient

# The agreement that pages promise, relative to the spread of the data.
AGREEMENT = 1e-4

ASK = """(numbers) => {
  const { models, samples } = window.preimage;
  return numbers.map((number) => {
    const row = samples.row(number);
    const coordinates = models[0].coordinates(row);
    const found = models[0].preimage(coordinates, { q: models[0].k });
    const clean = models[0].denoise(row, models[0].k);
    const plain = (result) => ({ row: Array.from(result.row), converged: result.converged });
    return { row: Array.from(row), coordinates: Array.from(coordinates), found: plain(found), clean: plain(clean) };
  });
}"""


def few_labels():
    X, y = digits_data()
    return X, np.where(np.arange(len(X)) % 3 == 0, y, -1)


def noise():
    X, _ = digits_data()
    return X, X + 0.1 * np.random.default_rng(0).normal(size=X.shape)


def wine(scaler):
    X = load_wine().data
    return make_pipeline(scaler, KernelPCA(5, kernel="rbf", gamma=0.1, preimage=FixedPoint())).fit(X), X


def digits_by(**options):
    X, _ = digits_data()
    return KernelPCA(6, **options).fit(X), X


MODELS = {
    # Nearest images, which pages look for; by default `inverse_transform` answers by a learned map.
    "Gaussian": lambda: digits_by(gamma=0.05, preimage=FixedPoint()),
    "polynomial": lambda: digits_by(kernel=Polynomial(2, coef0=1.0), preimage=Gradient()),
    "landmarks": lambda: digits_by(
        kernel=RationalQuadratic(0.1), landmarks=40, random_state=0, preimage=FixedPoint(penalty=0.01)
    ),
    "semi-supervised": lambda: (
        SemiSupervisedKernelPCA(5, gamma=0.05, preimage=Gradient()).fit(*few_labels()),
        digits_data()[0],
    ),
    "oriented": lambda: (OrientedKernelPCA(5, gamma=0.05, preimage=FixedPoint()).fit(*noise()), digits_data()[0]),
    "compressed": lambda: (compress(digits_model(), 40), digits_data()[0]),
    "standardized": lambda: wine(StandardScaler()),
    "between zero and one": lambda: wine(MinMaxScaler()),
}


@pytest.mark.parametrize("name", MODELS)
def test_pages_answer_as_the_model_does(open_page, name):
    model, X = MODELS[name]()
    watched = open_page(explore(model, X))
    # Columns of a table have their units; pixels have one for all.
    deviations = X.std(axis=0) if X.shape[1] < 64 else np.full(64, X.std())
    numbers = list(range(0, len(X), len(X) // 12))
    answers = watched.page.evaluate(ASK, numbers)
    rows = np.array([answer["row"] for answer in answers])
    # Samples of images have 256 levels; what the page computes from them is compared with the same rows in Python.
    np.testing.assert_allclose(rows, X[numbers], atol=np.ptp(X) / 255)
    coordinates = model.transform(rows)
    np.testing.assert_allclose(
        [answer["coordinates"] for answer in answers], coordinates, atol=AGREEMENT * np.abs(coordinates).max()
    )
    for asked, expected in (("found", model.inverse_transform(coordinates)), ("clean", denoised(model, rows))):
        converged = np.array([answer[asked]["converged"] for answer in answers])
        got = np.array([answer[asked]["row"] for answer in answers])
        assert converged.mean() > 0.8
        differences = np.linalg.norm((got - expected) / deviations, axis=1) / np.sqrt((deviations > 0).sum())
        assert differences[converged].max() < AGREEMENT, f"{asked}: {differences}"


def denoised(model, rows):
    """A pipeline denoises by its last step, in the units of its scalers."""
    if not hasattr(model, "steps"):
        return model.denoise(rows) if hasattr(model, "denoise") else model.inverse_transform(model.transform(rows))
    before, last = model[:-1], model[-1]
    return before.inverse_transform(last.denoise(before.transform(rows)))
