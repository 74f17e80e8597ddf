"""Compressed models whose points have Gaussians of their own widths, and models of a fraction of their points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import preimage
from preimage import KernelPCA, compress
from preimage.interop import machine_of
from preimage.reduced_sets import Construct, Distill, Refine

X, Y = make_moons(200, noise=0.2, random_state=0)
SCALES = np.array([10.0, 0.1])
FREE = Distill(widths="free")

ORIGINALS = {
    "classifier": SVC(gamma=2),
    "regressor": SVR(gamma=2),
    "detector": OneClassSVM(gamma=1, nu=0.2),
    "ridge": KernelRidge(kernel="rbf", gamma=1),
    "transformer": KernelPCA(3, gamma=1),
    "pipeline": make_pipeline(KernelPCA(20, gamma=1), LogisticRegression(C=10)),
}


def answers(model, rows):
    return model.transform(rows) if hasattr(model, "transform") else model.predict(rows)


@pytest.fixture(params=ORIGINALS, scope="module")
def small(request):
    return compress(ORIGINALS[request.param].fit(X, Y), 8, X=X, method=FREE)


def test_points_are_inputs_and_widths_are_apart(small):
    assert small.points_.shape == (8, 2) and small.gammas_.shape == (8,)
    assert np.ptp(small.gammas_) > 0 and (small.gammas_ > 0).all()
    assert small.error_ < 0.2


def test_values_are_sums_of_gaussians(small):
    squared = np.sum((X[:, None] - small.points_) ** 2, axis=2)
    values = np.exp(-small.gammas_ * squared) @ small.expansion_.coefficients
    assert_allclose(small.expansion_(X), values, rtol=1e-9, atol=1e-10)


def test_files_keep_widths(small, tmp_path):
    pytest.importorskip("safetensors", reason="files are safetensors")
    small.save(tmp_path / "model")
    again = preimage.load(tmp_path / "model")
    assert np.array_equal(answers(again, X), answers(small, X))
    assert np.array_equal(again.gammas_, small.gammas_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_graphs_keep_widths(small, dtype):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx.reference import ReferenceEvaluator

    graph = small.to_onnx(dtype=dtype)
    onnx.checker.check_model(graph)
    found = ReferenceEvaluator(graph).run(None, {"X": X.astype(dtype)})[0]
    assert_allclose(found.reshape(-1), answers(small, X).reshape(-1), atol=1e-4)


def test_single_precision(small):
    narrow = compress(small, 8, dtype="float32")
    assert narrow.gammas_.dtype == np.float32
    assert_allclose(np.sort(narrow.gammas_), np.sort(small.gammas_), rtol=1e-5)
    assert_allclose(narrow.expansion_(X), small.expansion_(X), atol=1e-3)


def test_models_on_unscaled_inputs_are_the_same():
    scaled = make_pipeline(StandardScaler(), SVC(gamma=1))
    one = preimage.CompressedClassifier(scaled, 8, method=FREE).fit(X * SCALES, Y)
    two = compress(scaled.fit(X * SCALES, Y), 8, X=X * SCALES, y=Y, method=FREE)
    assert one.points_.shape == (8, 2)
    assert_allclose(one.decision_function(X * SCALES), two.decision_function(X * SCALES), atol=1e-8)
    assert_allclose(np.sort(one.gammas_), np.sort(two[-1].gammas_), rtol=1e-9)
    # Points are in the units of the data.
    assert np.abs(one.points_[:, 0]).max() > 5 > 1 > np.abs(one.points_[:, 1]).max()


@pytest.mark.parametrize("solver", ["auto", "gradient", "sparse"])
def test_denoising_on_widths_of_their_own(solver):
    original = KernelPCA(3, gamma=1).fit(X)
    small = compress(original, 12, X=X, method=FREE)
    small.preimage = solver
    assert small.denoise(X[:5]).shape == small.inverse_transform(small.transform(X[:5])).shape == (5, 2)
    if solver != "sparse":
        assert_allclose(small.denoise(X[:5]), original.denoise(X[:5]), atol=0.05)


def test_sparse_inputs():
    S = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0))
    small = compress(SVC(gamma=2).fit(S, Y), 6, X=S, method=FREE)
    assert_allclose(small.decision_function(S), small.decision_function(S.toarray()), atol=1e-9)


def test_machines_of_one_width_say_so():
    assert compress(SVC(gamma=2).fit(X, Y), 4, X=X).gammas_.tolist() == [2.0] * 4
    assert set(compress(SVC(gamma=2).fit(X, Y), 500, X=X, method=FREE).gammas_) == {2.0}  # all points are kept
    with pytest.raises(AttributeError, match="have no width"):
        compress(SVC(kernel="poly").fit(X, Y), 4, X=X).gammas_  # noqa: B018


@pytest.mark.parametrize("method", ["construct", "select", Refine(), Construct(widths="free")])
def test_small_machines_are_made_smaller(small, method):
    again = compress(small, 4, method=method)
    assert again.n_points_ == 4 and again.gammas_.shape == (4,)
    assert np.isfinite(again.error_)


IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.fixture
def recognisers():
    return OneVsRestClassifier(SVC(gamma=0.5)).fit(IRIS, SPECIES)


@pytest.mark.parametrize("fraction", [0.1, 0.4, 1.0])
def test_every_recogniser_keeps_the_same_fraction(recognisers, fraction):
    sizes = np.array([len(each.support_) for each in recognisers.estimators_])
    assert len(set(sizes)) > 1
    small = compress(recognisers, fraction, method="select", shared=False)
    kept = np.count_nonzero(small.expansion_.coefficients, axis=0)
    assert np.array_equal(kept, np.maximum(1, (fraction * sizes).astype(int)))
    if fraction == 1.0:
        assert_allclose(small.decision_function(IRIS), recognisers.decision_function(IRIS), atol=1e-6)


def test_a_fraction_of_shared_points_is_a_number(recognisers):
    n = machine_of(recognisers).expansion.merged().points.shape[0]
    one, other = compress(recognisers, 0.25), compress(recognisers, n // 4)
    assert one.n_points_ == other.n_points_ == n // 4
    assert np.array_equal(one.decision_function(IRIS), other.decision_function(IRIS))
    assert compress(recognisers, 1.0).n_points_ == n


@pytest.mark.parametrize("wrong", [0.0, -0.5, 1.5, float("nan"), float("inf"), True])
def test_other_fractions_are_refused(recognisers, wrong):
    with pytest.raises(ValueError, match="n_points"):
        compress(recognisers, wrong)
