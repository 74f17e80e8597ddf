"""Training rows denoised out of their own basis: a loop over folds, whatever the route, and nothing else changes."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits

from preimage import KernelPCA
from preimage.estimators._cross_fit import automatic_folds, clone_with_kernel, fitted_to, fold_of_rows, row_folds
from preimage.exceptions import UnsupportedKernelError
from preimage.solvers import FixedPoint, Gradient

SOLVER = FixedPoint(tol=1e-10, max_iter=2000)
MODEL = KernelPCA(6, gamma="median", preimage=SOLVER)


@pytest.fixture
def X(rng):
    angle = rng.uniform(0, np.pi, 60)
    return np.column_stack([np.cos(angle), np.sin(angle), angle]) + 0.1 * rng.normal(size=(60, 3))


def by_hand(model, X, folds):
    """Each fold denoised by a model of the others."""
    out = np.empty_like(X)
    for fold in np.unique(folds):
        other = clone(model).set_params(kernel=model.kernel_, gamma=None).fit(X[folds != fold])
        out[folds == fold] = other.denoise(X[folds == fold])
    return out


def test_a_number_is_a_loop_over_that_many_folds(X):
    model = clone(MODEL).fit(X)
    folds = fold_of_rows(X, 4, model.random_state)
    assert_array_equal(np.bincount(folds), [15, 15, 15, 15])
    assert_allclose(model.denoise(X, cross_fit=4), by_hand(model, X, folds), atol=1e-8)
    assert abs(model.denoise(X, cross_fit=4) - model.denoise(X)).max() > 1e-3


def test_the_first_components_of_all_folds(X):
    model = clone(MODEL).fit(X)
    few = KernelPCA(3, kernel=model.kernel_, preimage=SOLVER).fit(X)
    assert_allclose(model.denoise(X, n_components=3, cross_fit=4), few.denoise(X, cross_fit=4), atol=1e-6)
    with pytest.raises(ValueError, match="between 1 and 6"):
        model.denoise(X, n_components=7, cross_fit=4)
    landmarks = KernelPCA(6, gamma="median", landmarks=30, preimage=SOLVER).fit(X)
    few = KernelPCA(3, gamma="median", landmarks=30, preimage=SOLVER).fit(X)
    assert_allclose(landmarks.denoise(X, n_components=3, cross_fit=4), few.denoise(X, cross_fit=4), atol=1e-6)


def test_labels_are_folds(X):
    model, runs = clone(MODEL).fit(X), np.repeat(["first", "second", "third"], [10, 20, 30])
    assert_allclose(model.denoise(X, cross_fit=runs), by_hand(model, X, runs), atol=1e-8)
    order = np.random.default_rng(0).permutation(len(X))  # the same folds, rows in another order
    permuted = clone(MODEL).fit(X[order]).denoise(X[order], cross_fit=runs[order])
    assert_allclose(permuted, model.denoise(X, cross_fit=runs)[order], atol=1e-6)


def test_new_rows_are_denoised_by_the_whole_model_and_order_does_not_matter(X, rng):
    model, new = clone(MODEL).fit(X), X[:7] + 0.05 * rng.normal(size=(7, 3))
    assert_array_equal(model.denoise(new, cross_fit=5), model.denoise(new))
    training = model.denoise(X, cross_fit=5)
    mixed = model.denoise(np.vstack([X[9:4:-1], new, X[3:5]]), cross_fit=5)
    assert_allclose(mixed, np.vstack([training[9:4:-1], model.denoise(new), training[3:5]]), atol=1e-8)
    assert_allclose(model.denoise(X[11:12], cross_fit=5), training[11:12], atol=1e-8)


def test_copies_of_a_row_are_in_one_fold(X):
    X = np.vstack([X, X[:30], X[:5]])
    folds = fold_of_rows(X, 5, 0)
    assert_array_equal(folds[60:90], folds[:30])
    assert_array_equal(folds[90:], folds[:5])
    runs = np.arange(len(X)) // 20
    assert_array_equal(fold_of_rows(X, runs, 0)[60:90], runs[:30])
    model = clone(MODEL).fit(X)
    assert_allclose(model.denoise(X, cross_fit=5)[60:90], model.denoise(X, cross_fit=5)[:30], atol=1e-10)


def test_weights_are_repetition_in_folds_too(X):
    weights = np.arange(len(X)) % 3 + 1
    weighted = clone(MODEL).fit(X, sample_weight=weights)
    repeated = KernelPCA(6, kernel=weighted.kernel_, preimage=SOLVER).fit(np.repeat(X, weights, axis=0))
    runs = np.arange(len(X)) // 12
    expected = repeated.denoise(X, cross_fit=np.repeat(runs, weights))
    assert_allclose(weighted.denoise(X, cross_fit=runs), expected, atol=1e-6)
    landmarks = KernelPCA(6, gamma="median", landmarks=30).fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="fitted with sample_weight"):
        landmarks.denoise(X, cross_fit=5)


def test_many_components_keep_the_noise_of_their_own_rows():
    rng = np.random.default_rng(0)
    digits = load_digits().data
    clean = digits[rng.permutation(len(digits))[:300]] / 16
    noisy = clean + rng.normal(0, 0.25, clean.shape)
    model = KernelPCA(250, gamma=0.2).fit(noisy)
    plain, crossed = (np.mean((model.denoise(noisy, cross_fit=folds) - clean) ** 2) for folds in (None, 5))
    assert plain > 0.8 * 0.25**2  # nearly all of it is still there
    assert crossed < 0.45 * 0.25**2


@pytest.mark.parametrize("n_components", [0.9, None, 40])
def test_fewer_rows_may_have_fewer_components_without_a_warning(X, n_components):
    model = KernelPCA(n_components, gamma="median", preimage=SOLVER).fit(X)
    assert np.isfinite(model.denoise(X, cross_fit=3)).all()


def test_single_precision_and_other_solvers(X):
    model = clone(MODEL).fit(X)
    single = KernelPCA(6, gamma="median").fit(X.astype(np.float32))
    assert single.denoise(X.astype(np.float32), cross_fit=5).dtype == np.float32
    assert_allclose(single.denoise(X, cross_fit=5), model.denoise(X, cross_fit=5), atol=1e-2)
    boxed = KernelPCA(6, gamma="median", preimage=Gradient(lower=0, upper=1)).fit(X)
    Z = boxed.denoise(X, cross_fit=5)
    assert Z.min() >= 0 and Z.max() <= 1


def test_tensors_and_pickles(X):
    torch = pytest.importorskip("torch")
    model = clone(MODEL).fit(X)
    expected = model.denoise(X, cross_fit=5)
    assert_array_equal(pickle.loads(pickle.dumps(model)).denoise(X, cross_fit=5), expected)
    tensor = clone(MODEL).fit(torch.asarray(X)).denoise(torch.asarray(X), cross_fit=5)
    assert_allclose(tensor.numpy(), expected, atol=1e-6)


def test_landmarks_take_all_rows_of_the_training_set(X, rng):
    model = KernelPCA(6, gamma="median", landmarks=60, preimage=SOLVER).fit(X)
    folds = row_folds(X, 5)
    exact = clone(MODEL).fit(X)
    assert_allclose(model.denoise(X, cross_fit=5), by_hand(exact, X, folds), atol=1e-5)
    for other in (X[:-1], X + 0.01 * rng.normal(size=X.shape)):
        with pytest.raises(ValueError, match=r"keeps no rows to recognise.*60 rows; got"):
            model.denoise(other, cross_fit=5)


def test_learned_maps_on_landmarks_belong_to_their_fold(X):
    model = KernelPCA(6, gamma="median", landmarks=60, preimage="learned").fit(X)
    exact = KernelPCA(6, gamma="median", preimage="learned").fit(X)
    assert_allclose(model.denoise(X, cross_fit=5), exact.denoise(X, cross_fit=row_folds(X, 5)), atol=0.1)


def test_lazy_rows_are_denoised_as_in_memory(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    exact = clone(MODEL).fit(X)
    mapped = exact.denoise(np.load(tmp_path / "X.npy", mmap_mode="r"), cross_fit=5)
    assert_allclose(mapped, exact.denoise(X, cross_fit=5), atol=1e-8)
    array = pytest.importorskip("dask.array")
    lazy = array.from_array(X, chunks=(17, 3))
    model = KernelPCA(6, gamma=1.0, landmarks=30, preimage=SOLVER).fit(X)
    result = model.denoise(lazy, cross_fit=5)
    assert isinstance(result, array.Array)
    assert_allclose(result.compute(), model.denoise(X, cross_fit=5), atol=1e-6)
    assert_allclose(exact.denoise(lazy, cross_fit=5).compute(), exact.denoise(X, cross_fit=5), atol=1e-8)
    stream = KernelPCA(6, gamma=1.0, landmarks=30, preimage=SOLVER).fit(iter([X[:40], X[40:]]))
    assert np.isfinite(stream.denoise(X, cross_fit=5)).all()


def errors_by_hand(model, X, folds):
    """Each fold measured by a model of the others."""
    out = np.empty(len(X))
    for fold in np.unique(folds):
        other = clone(model).set_params(kernel=model.kernel_, gamma=None).fit(X[folds != fold])
        out[folds == fold] = other.reconstruction_error(X[folds == fold])
    return out


def test_errors_of_training_rows_are_a_loop_over_folds(X, rng):
    model, runs = clone(MODEL).fit(X), np.arange(60) % 7
    assert_allclose(model.reconstruction_error(X, cross_fit=runs), errors_by_hand(model, X, runs), atol=1e-10)
    folds = fold_of_rows(X, 4, model.random_state)
    assert_allclose(model.reconstruction_error(X, cross_fit=4), errors_by_hand(model, X, folds), atol=1e-10)
    new = X[:7] + 0.05 * rng.normal(size=(7, 3))
    mixed = model.reconstruction_error(np.vstack([X[9:4:-1], new]), cross_fit=4)
    expected = np.r_[model.reconstruction_error(X, cross_fit=4)[9:4:-1], model.reconstruction_error(new)]
    assert_allclose(mixed, expected, atol=1e-10)
    few = KernelPCA(3, kernel=model.kernel_).fit(X)
    leading = model.reconstruction_error(X, cross_fit=4, n_components=3)
    assert_allclose(leading, few.reconstruction_error(X, cross_fit=4), atol=1e-8)


def test_errors_of_training_rows_on_landmarks_lazily_and_as_tensors(X):
    exact = clone(MODEL).fit(X)
    model = KernelPCA(6, gamma="median", landmarks=60, preimage=SOLVER).fit(X)
    expected = errors_by_hand(exact, X, row_folds(X, 5))
    assert_allclose(model.reconstruction_error(X, cross_fit=5), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"keeps no rows to recognise.*60 rows; got"):
        model.reconstruction_error(X[:-1], cross_fit=5)
    array, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    lazy = array.from_array(X, chunks=(17, 3))
    for each in (exact, model):
        result = each.reconstruction_error(lazy, cross_fit=5)
        assert isinstance(result, array.Array)
        assert_allclose(result.compute(), each.reconstruction_error(X, cross_fit=5), atol=1e-8)
    tensor = clone(MODEL).fit(torch.asarray(X)).reconstruction_error(torch.asarray(X), cross_fit=5)
    assert_allclose(tensor.numpy(), exact.reconstruction_error(X, cross_fit=5), atol=1e-8)


def test_an_outlier_hides_in_its_own_component_unless_left_out(X):
    X = np.vstack([X, [[9.0, 9.0, 9.0]]])
    model = KernelPCA(0.99, gamma="p10").fit(X)
    assert model.reconstruction_error(X)[-1] < 0.05
    errors = model.reconstruction_error(X, cross_fit=10)
    assert errors[-1] == errors.max() and errors[-1] > 0.9


def test_errors_without_rows_to_leave_out_are_refused(X):
    K = X @ X.T
    model = KernelPCA(2, kernel="precomputed").fit(K)
    with pytest.raises(UnsupportedKernelError, match="precomputed"):
        model.reconstruction_error(K, np.diag(K), cross_fit=5)
    with pytest.raises(ValueError, match="`diagonal` is for precomputed"):
        clone(MODEL).fit(X).reconstruction_error(X, np.ones(60), cross_fit=5)


@pytest.mark.parametrize(
    ("cross_fit", "message"),
    [
        (1, "at least 2 folds"),
        ([0, 1], "2 labels for 60 rows"),
        (np.zeros(60), "same label for all rows"),
        ("five", "number of folds, or one label"),
        (2.5, "number of folds, or one label"),
    ],
    ids=str,
)
def test_impossible_folds_are_named(cross_fit, message, X):
    with pytest.raises(ValueError, match=message):
        clone(MODEL).fit(X).denoise(X, cross_fit=cross_fit)


def test_too_few_rows_are_refused_and_automatically_left_alone(X):
    few = KernelPCA(1, gamma=1.0).fit(X[:2])
    with pytest.raises(ValueError, match="three different rows at least"):
        few.denoise(X[:2], cross_fit=2)
    assert_array_equal(few.denoise(X[:2], cross_fit="auto"), few.denoise(X[:2]))


def test_labels_need_rows_that_can_be_told_apart(X):
    with pytest.raises(ValueError, match="number of folds, at least 2, on landmarks"):
        KernelPCA(3, gamma="median", landmarks=20).fit(X).denoise(X, cross_fit=np.arange(60))


def loud_rows(rng, n=60, d=40):
    clean = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    return clean, clean + 2.0 * rng.normal(size=clean.shape)


def heavy_rows(rng, n=80, d=6):
    clean = np.exp(rng.normal(size=(n, 3))) @ rng.normal(size=(3, d))
    return clean, clean + 0.1 * rng.normal(size=clean.shape)


def error(denoised, clean):
    return np.mean((denoised - clean) ** 2)


def test_loud_noise_and_all_components_want_folds(rng):
    clean, X = loud_rows(rng)
    model = KernelPCA(gamma="median").fit(X)
    assert automatic_folds(model) == 5
    automatic = model.denoise(X, cross_fit="auto")
    assert_array_equal(automatic, model.denoise(X, cross_fit=5))
    assert error(automatic, clean) < 0.7 * error(model.denoise(X), clean)


@pytest.mark.parametrize("n_components", [10, 20, None])
def test_rows_that_others_do_not_know_stay_in_their_own_model(n_components, rng):
    clean, X = heavy_rows(rng)
    model = KernelPCA(n_components, gamma="median").fit(X)
    assert_array_equal(model.denoise(X, cross_fit="auto"), model.denoise(X))
    assert error(model.denoise(X, cross_fit=5), clean) > 2 * error(model.denoise(X), clean)


@pytest.mark.parametrize("make", [loud_rows, heavy_rows])
@pytest.mark.parametrize("fraction", [1 / 8, 1 / 4, 1 / 2])
def test_the_choice_is_never_much_worse_than_none(make, fraction, rng):
    for _ in range(3):
        clean, X = make(rng)
        model = KernelPCA(int(fraction * len(X)), gamma="median").fit(X)
        plain, automatic = (error(model.denoise(X, cross_fit=each), clean) for each in (None, "auto"))
        assert automatic < 1.05 * plain


def test_the_choice_does_not_depend_on_the_rows_asked_for(rng):
    _, X = loud_rows(rng)
    model = KernelPCA(gamma="median").fit(X)
    whole = model.denoise(X, cross_fit="auto")
    assert_allclose(model.denoise(X[:3], cross_fit="auto"), whole[:3], atol=1e-6)


def test_units_do_not_matter(rng):
    _, X = loud_rows(rng)
    for scale in (1e-6, 1e6):
        assert automatic_folds(KernelPCA(gamma="median").fit(scale * X)) == 5


def test_where_nothing_can_judge_there_are_no_folds(rng):
    _, X = loud_rows(rng)
    assert automatic_folds(KernelPCA(5, gamma="median").fit(X)) is None  # few components
    assert automatic_folds(KernelPCA(gamma="median").fit(X), n_components=5) is None
    assert automatic_folds(KernelPCA(20, gamma="median", landmarks=40).fit(X)) is None
    assert automatic_folds(KernelPCA(gamma="median").fit(csr_array(X))) is None
    assert automatic_folds(KernelPCA(gamma="median").fit(np.repeat(X[:3], 20, axis=0))) is None  # three different rows


def test_labels_are_the_folds_that_judge(rng):
    _, X = loud_rows(rng)
    runs = np.repeat([0, 1, 2], 20)
    assert automatic_folds(KernelPCA(gamma="median").fit(X), cross_fit=runs) is runs


@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_of_the_same_rows_is_the_same(weighted, rng):
    _, X = loud_rows(rng)
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = KernelPCA(5, gamma="median").fit(X, sample_weight=weights)
    again = fitted_to(model, model.subspace_.frame.points)
    assert_allclose(again.denoise(X), model.denoise(X), atol=1e-8)
    assert clone_with_kernel(model).kernel is not None and clone_with_kernel(model).gamma is None
