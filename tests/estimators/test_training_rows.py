"""Rows of the training set are recognised, also after a pipeline has computed them anew, and others are not."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import KernelPCA, Renormalized
from preimage.estimators._training_rows import TrainingRows, same_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 400))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_rounding_errors_do_not_hide_a_row_and_neighbours_are_not_taken_for_it(dtype, scale, offset):
    data = (scale * (X + offset)).astype(dtype)
    rows = TrainingRows(data)
    wrong = data * (1 + 4 * np.finfo(dtype).eps * RNG.uniform(-1, 1, size=data.shape)).astype(dtype)
    np.testing.assert_array_equal(rows.find(wrong[::-1]), np.arange(50)[::-1])
    near = (data.astype(float) + 1e-2 * scale * RNG.normal(size=data.shape)).astype(dtype)
    assert not rows.contain(near).any()


def test_one_column_and_equal_rows():
    rows = TrainingRows(np.array([[3.0], [1.0], [3.0], [2.0]]))
    np.testing.assert_array_equal(rows.find(np.array([[3.0], [2.0 + 1e-12], [2.1], [1.0]])), [0, 3, -1, 1])
    np.testing.assert_array_equal(same_rows(np.array([[3.0], [1.0], [3.0], [2.0]])), [0, 1, 0, 2])


def test_dense_and_sparse_rows_agree_and_what_is_not_a_number_is_compared_as_it_is():
    thin = X * (np.abs(X) > 1)
    assert TrainingRows(sparse.csc_matrix(thin)).contain(thin).all()
    assert TrainingRows(thin).contain(sparse.csr_array(thin)).all()
    words = np.array([["a", "b"], ["c", "d"]], dtype=object)
    np.testing.assert_array_equal(TrainingRows(words).contain(np.array([["c", "d"], ["c", "b"]], dtype=object)), [1, 0])
    holes = np.array([[1.0, np.nan], [2.0, 3.0]])
    queries = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 3.0]])
    np.testing.assert_array_equal(TrainingRows(holes).contain(queries), [1, 1, 0])


@pytest.mark.parametrize(
    "steps",
    [
        [PCA(30)],
        [PCA(30, whiten=True)],
        [StandardScaler(), PCA(20)],
        [KernelPCA(15, gamma="median")],
        [PCA(30, svd_solver="full"), StandardScaler()],
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["transfer", "affine"])
def test_training_rows_keep_their_decisions_inside_a_pipeline(steps, method):
    y = (np.arange(50) % 4 == 0).astype(int)
    data = X + 2.0 * np.outer(y, np.eye(400)[0])
    wrapped = make_pipeline(*steps, Renormalized(SVC(), method=method)).fit(data, y)
    plain = make_pipeline(*steps, SVC()).fit(data, y)
    np.testing.assert_allclose(wrapped.decision_function(data), plain.decision_function(data), atol=1e-6)
    one = np.concatenate([wrapped.decision_function(row[None]) for row in data])
    np.testing.assert_allclose(one, plain.decision_function(data), atol=1e-6)


def test_training_rows_keep_their_scores_inside_a_pipeline():
    wrapped = make_pipeline(PCA(30), Renormalized(KernelPCA(3), method="affine")).fit(X)
    plain = make_pipeline(PCA(30), KernelPCA(3)).fit(X)
    np.testing.assert_allclose(np.abs(wrapped.transform(X)), np.abs(plain.transform(X)), atol=1e-6)
