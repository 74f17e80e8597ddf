"""Standard deviations and intervals of regressors on landmarks, for rows of every kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import preimage.estimators._predictive_intervals as room
from preimage import SparseGreedyRegressor, compress, load
from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.landmarks import KMeans, SparseGreedy

WIDTH = 0.8
GAMMA = 1 / (2 * WIDTH**2)


@pytest.fixture
def data(rng):
    X = rng.uniform(0, 8, size=(120, 2))
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.3 * rng.normal(size=120)


def regressor(landmarks=30, **options):
    return SparseGreedyRegressor(landmarks, **{"gamma": GAMMA, "alpha": 0.2, **options})


@pytest.mark.parametrize("alpha", [0.01, 0.5, 5.0])
def test_all_rows_are_a_gaussian_process_of_scikit_learn(data, alpha):
    X, y = data
    Z = np.random.default_rng(1).uniform(-3, 11, size=(200, 2))
    model = regressor(SparseGreedy(None, tol=1e-14), alpha=alpha, fit_intercept=False).fit(X, y)
    noise = model.noise_variance_[0]
    kernel = ConstantKernel(noise / alpha, "fixed") * RBF(WIDTH, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=noise).fit(X, y)
    expected, deviations = process.predict(Z, return_std=True)
    found = model.predict(Z, return_std=True)
    assert_allclose(found[0], expected, atol=1e-4)
    assert_allclose(found[1], deviations, rtol=1e-3)


def test_deviations_come_with_the_same_values_and_in_their_shape(data):
    X, y = data
    both = np.stack([y, -2 * y + 1], axis=1)
    for targets in (y, y[:, None], both):
        model = regressor().fit(X, targets)
        values, deviations = model.predict(X[:7], return_std=True)
        assert_array_equal(values, model.predict(X[:7]))
        assert deviations.shape == values.shape
        interval = model.predict_interval(X[:7])
        assert interval.shape == (*values.shape, 2)
        assert np.all(interval[..., 0] < values) and np.all(values < interval[..., 1])
        assert model.noise_variance_.shape == (1 if targets.ndim == 1 else targets.shape[1],)
    one = regressor().fit(X, y)
    assert_allclose(deviations, np.outer(one.predict(X[:7], return_std=True)[1], [1, 2]))
    # The interval of −2y + 1 is that of y, turned round.
    turned = 1 - 2 * one.predict_interval(X[:7])[:, ::-1]
    assert_allclose(interval, np.stack([one.predict_interval(X[:7]), turned], axis=1))


def test_intervals_are_nested(data):
    X, y = data
    model = regressor().fit(X, y)
    narrow, wide = (model.predict_interval(X, coverage) for coverage in (0.5, 0.95))
    assert np.all(wide[:, 0] <= narrow[:, 0]) and np.all(narrow[:, 1] <= wide[:, 1])
    inside = np.mean((narrow[:, 0] <= y) & (y <= narrow[:, 1]))
    assert 0.4 < inside < 0.8  # of training rows, which are nearer to the function than new ones


CASES = {
    "normal": lambda rng, x: np.sin(x) + 0.3 * rng.normal(size=len(x)),
    "heavy tails": lambda rng, x: np.sin(x) + 0.3 * rng.standard_t(3, size=len(x)),
    "skewed": lambda rng, x: np.sin(x) + rng.exponential(size=len(x)),
    "varying noise": lambda rng, x: np.sin(x) + (0.05 + 0.1 * x) * rng.normal(size=len(x)),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_contain_new_targets_with_their_coverage(case):
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 8, size=2300)
        y, X = CASES[case](rng, x), x[:, None]
        model = regressor(25, alpha="loo").fit(X[:300], y[:300])
        low, high = model.predict_interval(X[300:]).T
        found.append([np.mean(y[300:] < low), np.mean(y[300:] > high)])
    below, above = np.mean(found, axis=0)
    assert 0.87 <= 1 - below - above <= 0.93
    assert max(below, above) < 0.08  # both ends alike, skewed or not


def test_intervals_of_a_function_that_landmarks_do_not_reach():
    """Ten columns and landmarks for a fraction of the kernel only: what they leave is part of the deviation."""
    X, y = make_friedman1(3000, random_state=0)
    X = (X - 0.5) * 12**0.5
    coverages = []
    for alpha in (1e-4, 1.0, "loo"):
        model = SparseGreedyRegressor(60, gamma=0.1, alpha=alpha).fit(X[:1000], y[:1000])
        assert model.residual_fraction_ > 0.2
        low, high = model.predict_interval(X[1000:]).T
        coverages.append(np.mean((low <= y[1000:]) & (y[1000:] <= high)))
        values, deviations = model.predict(X[1000:], return_std=True)
        squares = (y[1000:] - values) ** 2 / (deviations**2 + model.noise_variance_)
        assert 0.7 < squares.mean() < 1.3
    assert min(coverages) > 0.87 and max(coverages) < 0.93


@pytest.mark.parametrize("alpha", [0.2, "loo"])
def test_rows_elsewhere_give_the_same(data, tmp_path, alpha):
    da = pytest.importorskip("dask.array")
    X, y = data
    here = regressor(alpha=alpha).fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    kinds = {
        "memory map": np.load(tmp_path / "rows.npy", mmap_mode="r"),
        "Dask": da.from_array(X, chunks=(50, 2)),
        "sparse": sparse.csr_array(X),
    }
    for name, rows in kinds.items():
        for model in (here, regressor(alpha=alpha).fit(rows, y)):
            values, deviations = model.predict(rows, return_std=True)
            interval = model.predict_interval(rows, 0.8)
            if name == "Dask":
                assert all(hasattr(each, "compute") for each in (values, deviations, interval))
                assert interval.shape == (120, 2)
            assert_allclose(np.asarray(values), here.predict(X), atol=1e-7)
            assert_allclose(np.asarray(deviations), here.predict(X, return_std=True)[1], rtol=1e-5)
            assert_allclose(np.asarray(interval), here.predict_interval(X, 0.8), atol=1e-6)


def test_tensors_stay_tensors(data):
    torch = pytest.importorskip("torch")
    X, y = data
    here, there = regressor().fit(X, y), regressor().fit(torch.asarray(X), torch.asarray(y))
    found = [*there.predict(torch.asarray(X), return_std=True), there.predict_interval(torch.asarray(X))]
    expected = [*here.predict(X, return_std=True), here.predict_interval(X)]
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, torch.Tensor)
        assert_allclose(to_numpy(one), other, rtol=1e-5)


def test_a_precomputed_kernel_gives_the_same(data):
    X, y = data
    model = regressor().fit(X, y)
    K, ones = model.kernel_(X), np.ones(9)
    given = SparseGreedyRegressor(30, kernel="precomputed", alpha=0.2).fit(K, y)
    assert_allclose(
        given.predict(K[:9], return_std=True, diagonal=ones)[1], model.predict(X[:9], return_std=True)[1], rtol=1e-6
    )
    assert_allclose(given.predict_interval(K[:9], diagonal=ones), model.predict_interval(X[:9]), rtol=1e-6)
    with pytest.raises(UnsupportedKernelError, match="Pass them as `diagonal=`"):
        given.predict(K[:9], return_std=True)
    for wrong in (np.ones(8), np.full(9, np.nan), np.ones((9, 1))):
        with pytest.raises(ValueError, match=r"`diagonal` needs k\(x, x\) of 9 rows"):
            given.predict_interval(K[:9], diagonal=wrong)


def test_single_precision_stays_single_and_close(data):
    X, y = data
    low, high = regressor().fit(X.astype(np.float32), y), regressor().fit(X, y)
    values, deviations = low.predict(X.astype(np.float32), return_std=True)
    interval = low.predict_interval(X.astype(np.float32))
    assert values.dtype == deviations.dtype == interval.dtype == np.float32
    assert_allclose(deviations, high.predict(X, return_std=True)[1], rtol=0.02)
    assert_allclose(interval, high.predict_interval(X), atol=0.02)


def test_rows_of_weight_zero_have_no_part(data):
    X, y = data
    weights = np.tile([1.0, 0.0, 2.0], 40)
    wrong = np.where(weights > 0, y, 1e6)
    chosen = weights > 0
    with_zeros, without = regressor().fit(X, wrong, weights), regressor().fit(X[chosen], y[chosen], weights[chosen])
    assert_allclose(with_zeros.predict_interval(X), without.predict_interval(X))
    da = pytest.importorskip("dask.array")
    lazy = regressor(KMeans(30)).fit(da.from_array(X, chunks=50), wrong, weights)
    assert 0 < lazy.noise_variance_[0] < 1


def test_many_rows_are_represented_by_some(data, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 8, size=(3000, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=3000)
    whole = regressor().fit(X, y)
    monkeypatch.setattr(room, "MOST_ROWS", 800)
    some, again = regressor().fit(X, y), regressor().fit(X, y)
    assert_array_equal(some.predict_interval(X), again.predict_interval(X))
    assert_allclose(some.noise_variance_, whole.noise_variance_, rtol=0.15)
    assert_allclose(np.diff(some.predict_interval(X)), np.diff(whole.predict_interval(X)), rtol=0.15)


def test_models_from_files_answer_alike(data, tmp_path):
    X, y = data
    model = regressor().fit(X, y)
    model.save(tmp_path / "model.preimage")
    loaded = load(tmp_path / "model.preimage")
    assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    assert_array_equal(loaded.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])
    assert_array_equal(loaded.noise_variance_, model.noise_variance_)


def test_compressed_models_have_predictions_alone(data):
    X, y = data
    small = compress(regressor().fit(X, y), 10, X=X)
    assert not hasattr(small, "predict_interval") and not hasattr(small, "noise_variance_")
    with pytest.raises(TypeError, match="return_std"):
        small.predict(X, return_std=True)


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive", "quantile"])
def test_other_losses_are_refused_with_what_to_do(data, loss):
    X, y = data
    model = regressor(loss=loss).fit(X, y)
    assert model.predict(X).shape == (120,)
    for call in (lambda: model.predict(X, return_std=True), lambda: model.predict_interval(X)):
        with pytest.raises(ValueError, match=rf"needs loss='squared'.*loss='{loss}'.*two with loss='quantile'"):
            call()
    assert not hasattr(model, "noise_variance_")


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, float("nan"), "0.9", None, True])
def test_a_coverage_is_a_fraction(data, coverage):
    model = regressor().fit(*data)
    with pytest.raises(ValueError, match=r"`coverage` of SparseGreedyRegressor.predict_interval .* got"):
        model.predict_interval(data[0], coverage)


def test_models_without_left_out_residuals_say_so(data):
    X, y = data
    with pytest.raises(NotFittedError):
        regressor().predict_interval(X)
    one = regressor().fit(X[:1], y[:1])
    exact = regressor(SparseGreedy(None, tol=1e-14), alpha=0.0, gamma=100.0, fit_intercept=False).fit(X, y)
    for model in (one, exact):
        assert np.all(np.isfinite(model.predict(X)))
        assert not hasattr(model, "noise_variance_")
        with pytest.raises(ValueError, match=r"needs residuals of rows that are left out.*Raise `alpha`"):
            model.predict(X, return_std=True)


def test_a_fit_that_fails_keeps_the_intervals_of_the_one_before(data):
    X, y = data
    model = regressor().fit(X, y)
    before = model.predict_interval(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), y)
    assert_array_equal(model.predict_interval(X), before)
    model.set_params(loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="needs loss='squared'"):
        model.predict_interval(X)
