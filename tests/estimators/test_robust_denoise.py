"""KernelPCA.denoise with a robust loss: gross errors, missing entries, lazy rows, and what is refused."""

import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage._models.completion import LOSSES, _gross_errors
from preimage.estimators import _robust_denoise
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, UnsupportedKernelError

DIGITS = np.random.default_rng(5).permutation(load_digits().data / 16)
TRAINING, CLEAN = DIGITS[:500], DIGITS[1000:1060]


def salted(X=CLEAN, fraction=0.2):
    rng = np.random.default_rng(0)
    wrong = rng.random(X.shape) < fraction
    return np.where(wrong, rng.random(X.shape) < 0.5, X)


@pytest.fixture(scope="module")
def model():
    return KernelPCA(200, gamma=0.06).fit(TRAINING)


def mean_square(Z, truth=CLEAN):
    return float(np.mean((to_numpy(Z) - truth) ** 2))


@pytest.mark.parametrize("loss", ["cauchy", "tukey"])
def test_salt_and_pepper_is_removed_where_projections_smear_it(model, loss):
    X = salted()
    assert mean_square(model.denoise(X, loss=loss)) < 0.45 * mean_square(model.denoise(X))


def test_occluded_blocks_are_repaired_with_neighbouring_pixels(model):
    X = CLEAN.copy()
    rng = np.random.default_rng(0)
    for image in X.reshape(-1, 8, 8):
        top, left = rng.integers(0, 5, 2)
        image[top : top + 4, left : left + 4] = 1.0
    found = model.denoise(X, loss="tukey", connectivity=grid_to_graph(8, 8))
    assert mean_square(found) < 0.6 * mean_square(model.denoise(X))


def test_wrong_entries_are_named(model):
    X = salted()
    Z, outliers = model.denoise(X, loss="tukey", return_outliers=True)
    assert_allclose(Z, model.denoise(X, loss="tukey"))
    wrong = np.abs(X - CLEAN) > 0.5
    assert outliers.dtype == bool and outliers.shape == X.shape
    assert outliers[wrong].mean() > 0.75 and outliers[~wrong].mean() < 0.02


def test_missing_entries_are_filled_and_count_as_distrusted(model):
    X = salted()
    X[:, 20:24] = np.nan
    before = X.copy()
    Z, outliers = model.denoise(X, loss="cauchy", return_outliers=True)
    assert np.isfinite(Z).all() and outliers[:, 20:24].all()
    assert np.array_equal(X, before, equal_nan=True)
    assert mean_square(Z[:, 20:24], CLEAN[:, 20:24]) < 0.5 * mean_square(0 * Z[:, 20:24], CLEAN[:, 20:24])


def test_rows_without_any_entry_are_numbers(model):
    X = np.full((3, 64), np.nan)
    X[0] = CLEAN[0]
    Z, outliers = model.denoise(X, loss="huber", return_outliers=True)
    assert np.isfinite(Z).all() and outliers[1:].all()
    assert_allclose(Z[1], Z[2])


def test_without_a_loss_missing_entries_are_refused_as_before(model):
    with pytest.raises(ValueError, match="NaN"):
        model.denoise(np.full((1, 64), np.nan))


@pytest.mark.parametrize("loss", LOSSES.names)
def test_all_losses_agree_on_rows_without_errors(loss, model):
    Z, outliers = model.denoise(CLEAN[:10], loss=loss, return_outliers=True)
    assert mean_square(Z, CLEAN[:10]) < 0.02 and outliers.mean() < 0.15


@pytest.mark.net
def test_arrays_of_other_libraries(xp):
    model = KernelPCA(50, gamma=0.06).fit(xp.asarray(TRAINING[:150]))
    X = salted()[:5]
    Z, outliers = model.denoise(xp.asarray(X), loss="tukey", return_outliers=True)
    expected, also = KernelPCA(50, gamma=0.06).fit(TRAINING[:150]).denoise(X, loss="tukey", return_outliers=True)
    assert type(Z) is type(xp.asarray(X))
    assert_allclose(to_numpy(Z), expected, atol=1e-4)
    assert np.array_equal(to_numpy(outliers), also)


def test_single_precision_stays_single():
    model = KernelPCA(50, gamma=0.06).fit(TRAINING[:150].astype(np.float32))
    assert model.denoise(salted()[:3].astype(np.float32), loss="cauchy").dtype == np.float32


@pytest.mark.parametrize("landmarks", [None, 60])
def test_lazy_rows_give_what_rows_in_memory_give(landmarks):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    model = KernelPCA(40, gamma=0.06, landmarks=landmarks).fit(TRAINING)
    X = salted()[:12]
    X[1, 3:9] = np.nan
    expected, also = model.denoise(X, loss="tukey", return_outliers=True)
    Z, outliers = model.denoise(da.from_array(X, chunks=(5, -1)), loss="tukey", return_outliers=True)
    assert_allclose(Z.compute(), expected, atol=1e-7)
    assert np.array_equal(outliers.compute(), also)


def test_leading_components_are_those_of_a_smaller_model(model):
    small = KernelPCA(30, gamma=0.06).fit(TRAINING)
    X = salted()[:4]
    assert_allclose(model.denoise(X, loss="cauchy", n_components=30), small.denoise(X, loss="cauchy"), atol=1e-3)


def test_models_through_zero(xp):
    model = KernelPCA(40, gamma=0.06, center=False).fit(TRAINING[:150])
    assert np.isfinite(model.denoise(salted()[:3], loss="tukey")).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hubber"}, "Unknown loss 'hubber'"),
        ({"scale": 0.1}, "`scale` is for a robust loss"),
        ({"return_outliers": True}, "`return_outliers` is for a robust loss"),
        ({"connectivity": np.eye(64)}, "`connectivity` is for a robust loss"),
        ({"loss": "huber", "scale": 0.0}, "number above zero; got 0.0"),
        ({"loss": "huber", "scale": "auto"}, "number above zero; got 'auto'"),
        ({"loss": "huber", "connectivity": np.eye(3)}, r"needs the shape \(64, 64\)"),
        ({"loss": "huber", "n_components": 0}, "n_components must be between"),
    ],
)
def test_what_does_not_fit_is_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        model.denoise(CLEAN, **options)


def test_a_model_without_a_fit_is_refused():
    with pytest.raises(NotFittedError):
        KernelPCA().denoise(CLEAN, loss="huber")


def test_kernels_without_distances_or_gradients_are_refused():
    X = TRAINING[:50]
    with pytest.warns(IndefiniteKernelWarning):
        indefinite = KernelPCA(5, kernel="sigmoid", gamma=1.0).fit(X)
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        indefinite.denoise(X, loss="huber")
    with pytest.raises(UnsupportedKernelError, match="gradient"):
        KernelPCA(5, kernel=lambda x, y: float(np.exp(-np.sum((x - y) ** 2)))).fit(X[:20]).denoise(X, loss="huber")
    with pytest.raises(UnsupportedKernelError, match="precomputed"):
        KernelPCA(5, kernel="precomputed").fit(X @ X.T).denoise(X, loss="huber")


def test_rows_that_do_not_converge_are_named_in_a_warning(model, monkeypatch):
    monkeypatch.setattr(_gross_errors, "repair", partial(_gross_errors.repair, max_iter=1))
    with pytest.warns(ConvergenceWarning, match="of 60 pre-images did not converge .*a larger `scale`"):
        model.denoise(salted(), loss="tukey", scale=0.1)


def noisy(X, size=0.1):
    return X + size * np.random.default_rng(1).normal(size=X.shape)


@pytest.mark.parametrize("loss", ["cauchy", "tukey"])
@pytest.mark.parametrize("rows", [CLEAN, noisy(CLEAN)], ids=["clean", "noisy"])
def test_rows_without_gross_errors_are_denoised_as_without_a_loss(model, loss, rows):
    plain = model.denoise(rows)
    assert mean_square(model.denoise(rows, loss=loss)) <= 1.1 * mean_square(plain)
    found, outliers = model.denoise(rows, loss=loss, return_outliers=True)
    untouched = ~outliers.any(axis=1)
    assert untouched.mean() > 0.9
    assert_allclose(found[untouched], plain[untouched], atol=1e-7)


@pytest.mark.parametrize("name", ["wine", "curve"])
def test_tables_are_no_worse_with_a_loss(name):
    # Over several draws: rows that no row of a small training set resembles are taken for wrong now and then.
    errors = np.zeros((2, 2))
    for rng in map(np.random.default_rng, range(4)):
        if name == "wine":
            X = StandardScaler().fit_transform(load_wine().data)
        else:
            t = rng.uniform(0, 3, size=(150, 1))
            X = np.hstack([np.cos(t), np.sin(t), t, t**2 / 3]) + 0.05 * rng.normal(size=(150, 4))
        X = rng.permutation(X)
        training, clean = X[:110], X[110:]
        model = KernelPCA(30, gamma="median").fit(training)
        spoiled = clean.copy()
        spoiled[np.arange(len(clean)), rng.integers(0, X.shape[1], len(clean))] += 8.0
        for number, rows in enumerate((clean, spoiled)):
            errors[number] += [mean_square(model.denoise(rows, loss=loss), clean) for loss in (None, "tukey")]
    assert errors[0, 1] <= 1.1 * errors[0, 0]
    assert errors[1, 1] <= 0.9 * errors[1, 0]


def test_training_rows_can_be_repaired_by_models_of_other_folds(model):
    X = np.vstack([TRAINING[:20], salted()[:10]])
    Z, outliers = model.denoise(X, loss="cauchy", cross_fit=5, return_outliers=True)
    untouched = ~outliers.any(axis=1)
    assert untouched[:20].mean() > 0.8 and not untouched[20:].all()
    assert_allclose(Z[untouched], model.denoise(X, cross_fit=5)[untouched], atol=1e-7)
    assert_allclose(Z[20:], model.denoise(X[20:], loss="cauchy"), atol=1e-7)


def test_few_rows_are_denoised_as_without_a_loss():
    few = KernelPCA(3, gamma=0.06).fit(TRAINING[:12])
    assert_allclose(few.denoise(salted()[:4], loss="cauchy"), few.denoise(salted()[:4]), atol=1e-9)


def test_what_was_measured_stays_with_the_model_and_is_not_saved(monkeypatch):
    small, X = KernelPCA(20, gamma=0.06).fit(TRAINING[:100]), salted()[:3]
    first = small.denoise(X, loss="cauchy"), small.denoise(X, loss="cauchy", n_components=10)
    copy = pickle.loads(pickle.dumps(small))
    assert "remembered" not in copy.subspace_.__dict__
    assert_allclose(copy.denoise(X, loss="cauchy"), first[0], atol=1e-9)
    monkeypatch.setattr(_robust_denoise, "measured_errors", None)
    assert_allclose(small.denoise(X, loss="cauchy"), first[0])
    assert_allclose(small.denoise(X, loss="cauchy", n_components=10), first[1])
