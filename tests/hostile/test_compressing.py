"""Compression, export and files with arguments that cannot work, and single precision where it has no digits."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import preimage
from preimage import CompressedRegressor, KernelPCA, compress, load, save, to_onnx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
SVM = SVC().fit(X, Y > 0)
# What single precision may cost, of what the functions vary by; the law of `estimators/compressed/_precision.py`, with
# room for rows that it did not see.
LOSS = 0.05


def values(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.mark.parametrize("scale", [1e-100, 1e-40, 1e-18, 1e-8, 1.0, 1e8, 1e18, 1e40, 1e100])
@pytest.mark.parametrize(
    "make",
    [
        lambda scale: KernelRidge(kernel="rbf", gamma=0.3 / scale**2),
        lambda scale: KernelRidge(kernel="poly", gamma=scale**-2.0, degree=2),
        lambda scale: KernelRidge(kernel="laplacian", gamma=0.3 / scale),
        lambda scale: SVR(gamma="scale"),
    ],
    ids=["Gaussian", "polynomial", "Laplacian", "SVR"],
)
def test_single_precision_keeps_the_machine_or_is_refused(make, scale):
    original = make(scale).fit(X * scale, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        double = compress(original, 25, X=X * scale, method="select")
        try:
            single = compress(original, 25, X=X * scale, method="select", dtype="float32")
        except ValueError as error:
            message = str(error)
            assert "dtype='float32'" in message and not 1e-6 < scale < 1e6
            return
        found, expected = values(single, X * scale), values(double, X * scale)
    assert single.points_.dtype == np.float32
    assert np.max(np.abs(found - expected)) <= LOSS * np.ptp(expected)


@pytest.mark.parametrize("factor", [1e45, 1e-50])
@pytest.mark.parametrize("with_data", [True, False])
def test_targets_beyond_single_precision_are_refused(factor, with_data):
    original = KernelRidge(kernel="rbf").fit(X, Y * factor)
    with pytest.raises(ValueError, match=r"dtype='float32'.*Leave dtype out"):
        compress(original, 6, X=X if with_data else None, dtype="float32")
    assert np.all(np.isfinite(compress(original, 6).predict(X)))


def test_digits_that_a_scaler_brings_are_kept_or_refused():
    make = lambda dtype: CompressedRegressor(make_pipeline(StandardScaler(), SVR()), 8, dtype=dtype)
    near = 100 + X
    np.testing.assert_allclose(
        make("float32").fit(near, Y).predict(near), make(None).fit(near, Y).predict(near), atol=0.02
    )
    with pytest.raises(ValueError, match=r"dtype='float32'.*of what they vary by"):
        make("float32").fit(1e8 + X, Y)


def test_points_beyond_single_precision_are_refused_where_the_kernel_saturates():
    huge = np.where(np.arange(40)[:, None] == 3, 1e60, X)
    original = KernelPCA(2, kernel=preimage.kernels.Sigmoid(1.0, -0.5)).fit(huge)
    with pytest.raises(ValueError, match="dtype='float32'"):
        compress(original, 40, X=huge, dtype="float32", method="select")


def test_more_points_than_there_are_keep_them_all():
    for n in (len(SVM.support_), len(SVM.support_) + 1, 10**9):
        small = compress(SVM, n)
        assert small.n_points_ == len(SVM.support_)
        np.testing.assert_allclose(small.decision_function(X), SVM.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_points": 0},
        {"n_points": -3},
        {"n_points": 1.5},
        {"n_points": True},
        {"n_points": np.nan},
        {},
        {"n_points": 3, "X": np.zeros((0, 3))},
        {"n_points": 3, "X": np.zeros((5, 2))},
        {"n_points": 3, "X": X * np.nan},
        {"n_points": 3, "X": X, "y": np.zeros(3, int)},
        {"n_points": 3, "X": X, "y": np.full(40, "x")},
        {"n_points": 3, "y": Y > 0},
        {"X": X, "tolerance": -1.0},
        {"X": X, "tolerance": np.nan},
        {"n_points": 3, "method": "magic"},
        {"n_points": 3, "dtype": "float16"},
    ],
    ids=str,
)
def test_arguments_that_cannot_work_are_refused(arguments):
    with pytest.raises(ValueError) as caught:
        compress(SVM, **arguments)
    assert str(caught.value)


@pytest.mark.parametrize("model", [None, SVC, X, "svc", StandardScaler()], ids=lambda each: type(each).__name__)
def test_what_is_no_kernel_machine_is_refused_by_its_type(model):
    for use in (lambda: compress(model, 3), lambda: to_onnx(model)):
        with pytest.raises(TypeError, match="Only kernel machines"):
            use()


@pytest.mark.parametrize("write", [save, to_onnx], ids=["save", "to_onnx"])
def test_places_that_cannot_be_written_are_refused(write, tmp_path):
    pytest.importorskip("onnx", reason="export needs onnx")
    model = KernelPCA(2, gamma=0.5).fit(X)
    for path, error in [
        (tmp_path, IsADirectoryError),
        (tmp_path / "none" / "model", FileNotFoundError),
        (tmp_path / ("a" * 300), OSError),
        ("/dev/full", OSError),
        (3, TypeError),
    ]:
        with pytest.raises(error):
            write(model, path)
    assert not list(tmp_path.iterdir())
    write(model, tmp_path / "model.any suffix")
    assert [path.name for path in tmp_path.iterdir()] == ["model.any suffix"]


def test_files_are_loaded_by_name_only(tmp_path):
    for path in (None, 3, 1.5, [tmp_path]):
        with pytest.raises(TypeError):
            load(path)
    preimage.save(KernelPCA(2, gamma=0.5).fit(X), tmp_path / "model.any suffix")
    assert load(str(tmp_path / "model.any suffix")).gamma == 0.5


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_scores_are_numbers_for_targets_of_any_unit_and_few_rows(n, factor):
    original = KernelRidge(kernel="rbf").fit(X, Y)
    small = compress(original, 6, X=X[:n], y=Y[:n] * factor, method="select")
    assert np.all(np.isfinite(small.scores_)) and np.max(small.scores_) <= 1


def test_support_vector_machines_without_a_width_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        original = SVR(kernel="sigmoid").fit(X * 1e-155, Y)
    with pytest.raises(ValueError, match=r"gamma=inf.*StandardScaler"):
        compress(original, 3)


def test_scalers_whose_squares_are_no_numbers_are_refused():
    model = CompressedRegressor(make_pipeline(StandardScaler(), SVR()), 3)
    with pytest.raises(ValueError, match=r"divides columns by .* another unit"):
        model.fit(X * 1e-160, Y)


def test_models_without_preimages_do_not_offer_them():
    indefinite = compress(TheirKernelPCA(2, kernel="sigmoid", gamma=1.0).fit(X), 6, X=X)
    assert not any(hasattr(indefinite, name) for name in ("denoise", "inverse_transform", "find_preimages"))
    assert hasattr(compress(KernelPCA(2).fit(X), 6, method="select"), "denoise")


@pytest.mark.parametrize("targets", [np.zeros(40), np.c_[Y, np.zeros(40)], np.full(40, 3.0)], ids=["0", "y and 0", "3"])
@pytest.mark.parametrize("original", [KernelRidge(kernel="rbf"), SVR()], ids=["ridge", "SVR"])
def test_constant_functions_need_no_more_digits_than_single_precision_has(original, targets):
    if targets.ndim == 2 and isinstance(original, SVR):
        return
    single, double = (CompressedRegressor(original, dtype=dtype).fit(X, targets) for dtype in ("float32", None))
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-4)


def test_one_row_of_data_is_enough_to_look_at_single_precision():
    original = KernelRidge(kernel="rbf").fit(X, Y)
    single, double = (compress(original, 10, X=X[:1], dtype=dtype, method="select") for dtype in ("float32", None))
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-4)
