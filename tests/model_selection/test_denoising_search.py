"""Choosing a denoiser."""

import pickle

import numpy as np
import pandas as pd
import pytest
from labels import label
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from preimage import KernelPCA, report_progress
from preimage._engine import threads as _threads
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Gaussian, squared_distance_percentile
from preimage.model_selection import DenoisingScorer, DenoisingSearch, _denoising_search, add_noise, estimate_noise
from preimage.model_selection._denoising_criteria import Clipping
from preimage.model_selection._denoising_search import _Denoiser, _Width


def few(X):
    """Few candidates around the best ones."""
    return {"gammas": of_median(X, 0.25, 1.0), "n_components": (4, 32, 128), "penalties": (0.0, 0.02)}


def of_median(X, *widths):
    """γ for widths given as multiples of the median squared distance."""
    return [1 / (width * squared_distance_percentile(X, 50)) for width in widths]


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data / 16
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    train, test = X[order[:600]], X[order[600:800]]
    return train, test, train + rng.normal(0, 0.25, train.shape), test + rng.normal(0, 0.25, test.shape)


def error(model, noisy, clean):
    return np.mean((model.denoise(noisy) - clean) ** 2)


def test_clean_data_and_known_noise(digits):
    train, test, _, noisy = digits
    search = DenoisingSearch(added_noise=0.25, **few(train)).fit(train)
    worst = KernelPCA(4, gamma=search.best_params_["gamma"]).fit(train)
    assert search.criterion_ == "added noise"
    assert error(search, noisy, test) < 0.6 * error(worst, noisy, test)
    assert_allclose(search.best_error_, error(search, noisy, test), rtol=0.3)
    assert search.best_error_ == search.cv_results_["error"].min()
    assert len(search.cv_results_["error"]) == 12


@pytest.mark.parametrize("criterion", ["sure", "masked"])
def test_noisy_data_alone(criterion, digits):
    """The choice must be near the best choice with clean data in hand."""
    _, test, noisy_train, noisy = digits
    search = DenoisingSearch(criterion=criterion, **few(noisy_train)).fit(noisy_train)
    errors = [
        error(KernelPCA(count, gamma=gamma).fit(noisy_train), noisy, test)
        for gamma in np.unique(search.cv_results_["gamma"])
        for count in (4, 32, 128)
    ]
    chosen = error(search, noisy, test)
    assert chosen < 0.5 * 0.25**2
    assert chosen <= 1.35 * min(errors)


def test_stein_estimates_the_error_it_cannot_see(digits):
    _, test, noisy_train, noisy = digits
    search = DenoisingSearch(criterion="sure", **few(noisy_train)).fit(noisy_train)
    assert_allclose(search.best_error_, error(search, noisy, test), rtol=0.35)


def test_auto_masks_columns_when_rows_are_few(rng):
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 60)) + 0.1 * rng.normal(size=(40, 60))
    search = DenoisingSearch(gammas=of_median(X, 1.0), n_components=(2, 8)).fit(X)
    assert search.criterion_ == "masked"
    assert search.best_params_["penalty"] == 0


@pytest.mark.parametrize(("shape", "criterion"), [((100, 64), "sure"), ((90, 64), "masked"), ((60, 32), "masked")])
def test_auto_sees_the_noise_of_pictures_in_one_and_a_half_rows_per_column(shape, criterion, rng):
    X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1])) + 0.1 * rng.normal(size=shape)
    search = DenoisingSearch(gammas=of_median(X, 1.0), n_components=(2, 8)).fit(X)
    assert search.criterion_ == criterion


def test_noise_may_be_a_function(digits):
    train, *_ = digits

    def speckle(X, rng):
        return np.where(rng.random(X.shape) < 0.1, 1.0, X)

    search = DenoisingSearch(added_noise=speckle, **few(train)).fit(train)
    assert search.best_error_ < np.mean((speckle(train, np.random.default_rng(1)) - train) ** 2)


@pytest.mark.parametrize("deviation", [0.1, 0.25, 0.5])
def test_noise_is_estimated(deviation, digits, rng):
    train, *_ = digits
    assert_allclose(estimate_noise(train + rng.normal(0, deviation, train.shape)), deviation, rtol=0.15)
    assert_allclose(estimate_noise(rng.normal(0, deviation, (500, 40))), deviation, rtol=0.05)


def test_noise_needs_more_rows_than_columns():
    with pytest.raises(ValueError, match="5 rows and 9 such columns"):
        estimate_noise(np.random.default_rng(0).normal(size=(5, 9)))


def test_constant_columns_do_not_hide_the_noise(rng):
    X = rng.normal(0, 0.1, (500, 20))
    X[:, :5] = 3.0
    assert_allclose(estimate_noise(X), 0.1, rtol=0.05)


def test_scorer_takes_integers_and_data_frames(digits):
    train, *_ = digits
    whole = np.round(16 * train[:100]).astype(int)
    model = KernelPCA(20, gamma=0.001).fit(whole)
    expected = DenoisingScorer(4.0)(model, whole.astype(float))
    assert_allclose(DenoisingScorer(4.0)(model, whole), expected)
    frame = pd.DataFrame(whole)
    assert_allclose(DenoisingScorer(4.0)(KernelPCA(20, gamma=0.001).fit(frame), frame), expected)


def test_noise_functions_may_work_in_place(digits):
    train, *_ = digits

    def in_place(X, rng):
        X += 0.25 * rng.normal(size=X.shape)
        return X

    copying = DenoisingSearch(added_noise=lambda X, rng: X + 0.25 * rng.normal(size=X.shape), **few(train)).fit(train)
    assert_allclose(DenoisingSearch(added_noise=in_place, **few(train)).fit(train).best_error_, copying.best_error_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gammas": []}, "no candidates"),
        ({"gammas": [0]}, "gammas must be positive"),
        ({"penalties": [-1]}, "penalties must not be negative"),
        ({"n_components": [0]}, "n_components must be positive"),
        ({"added_noise": lambda X, rng: X * np.nan}, r"NaN|finite error"),
    ],
    ids=label,
)
def test_impossible_candidates_are_named(options, message, rng):
    with pytest.raises(ValueError, match=message):
        DenoisingSearch(**{"added_noise": 0.1, **options}).fit(rng.normal(size=(40, 3)))


def test_added_noise_has_its_size(rng):
    assert_allclose(np.std(add_noise(np.zeros((500, 50)), 0.3, rng)), 0.3, rtol=0.05)


def test_a_scorer_passes_arguments_to_denoise():
    X = np.random.default_rng(2).permutation(load_digits().data / 16)
    model = KernelPCA(100, gamma=0.06).fit(X[:300])

    def salt_and_pepper(X, rng):
        return np.where(rng.random(X.shape) < 0.2, rng.integers(0, 2, X.shape), X)

    scorers = (DenoisingScorer(salt_and_pepper, denoise_params=given) for given in (None, {"loss": "cauchy"}))
    plain, robust = (scorer(model, X[300:340]) for scorer in scorers)
    assert robust > 0.8 * plain


def test_scorer_serves_grid_search(digits):
    train, *_ = digits
    search = GridSearchCV(KernelPCA(gamma=0.2), {"n_components": [2, 64]}, scoring=DenoisingScorer(0.25), cv=3)
    assert search.fit(train[:300]).best_params_ == {"n_components": 64}


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="minimum of 8"):
        DenoisingSearch().fit(np.ones((5, 2)))


def test_few_columns_are_not_made_worse(rng):
    """A curve in the plane: both directions carry signal, so the noise cannot be read off the spectrum."""
    angle = rng.uniform(0, np.pi, 300)
    curve = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = curve + 0.1 * rng.normal(size=curve.shape)
    search = DenoisingSearch().fit(noisy)
    assert search.criterion_ == "masked"
    assert error(search, noisy, curve) < np.mean((noisy - curve) ** 2)
    known = DenoisingSearch(sigma=0.1).fit(noisy)
    assert known.criterion_ == "sure" and known.noise_ == 0.1
    assert error(known, noisy, curve) < 0.8 * np.mean((noisy - curve) ** 2)


def test_bounds_are_kept_and_help_with_noisy_training_data(digits):
    _, test, noisy_train, noisy = digits
    free = DenoisingSearch(**few(noisy_train)).fit(noisy_train)
    boxed = DenoisingSearch(bounds=(0, 1), **few(noisy_train)).fit(noisy_train)
    Z = boxed.denoise(noisy)
    assert Z.min() >= 0 and Z.max() <= 1
    assert error(boxed, noisy, test) < error(free, noisy, test)


def test_a_higher_score_is_better_as_in_scikit_learn(digits):
    train, *_ = digits
    search = DenoisingSearch(added_noise=0.25, **few(train)).fit(train)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max() == scores[search.best_index_] == -search.best_error_
    assert search.cv_results_["gamma"][search.best_index_] == search.best_params_["gamma"]


def test_noisy_training_rows_are_denoised_out_of_their_own_basis(digits):
    """Many components: the recipe fit(X).denoise(X) must be as good as denoising rows that are new."""
    train, test, noisy_train, noisy = digits
    search = DenoisingSearch(gammas=of_median(noisy_train, 0.25), n_components=(128,), penalties=(0.0,)).fit(
        noisy_train
    )
    assert search.cross_fit_ == 5
    assert error(search, noisy_train, train) < 1.1 * error(search, noisy, test)
    assert error(search, noisy_train, train) < 0.85 * error(search.best_estimator_, noisy_train, train)
    np.testing.assert_array_equal(search.denoise(noisy), search.best_estimator_.denoise(noisy))
    ten = DenoisingSearch(gammas=of_median(noisy_train, 0.25), n_components=(128,), penalties=(0.0,), cross_fit=10).fit(
        noisy_train
    )
    expected = ten.best_estimator_.denoise(noisy_train, cross_fit=10)
    np.testing.assert_array_equal(ten.denoise(noisy_train), expected)


def test_training_rows_get_parameters_of_their_own(digits):
    """Stein's estimate with the change of the model sees that their noise is in it; fewer components are better."""
    train, _, noisy_train, noisy = digits
    search = DenoisingSearch(**few(noisy_train)).fit(noisy_train)
    assert search.criterion_ == "sure" and search.cross_fit_ is None
    assert search.training_params_["n_components"] == 32 < search.best_params_["n_components"]
    estimate = np.nanmin(search.cv_results_["training_error"])
    found = error(search, noisy_train, train)
    assert_allclose(estimate, found, rtol=0.3)
    crossed = np.mean((search.best_estimator_.denoise(noisy_train, cross_fit=5) - train) ** 2)
    assert found < 1.03 * crossed < 0.8 * error(search.best_estimator_, noisy_train, train)
    both = search.denoise(np.vstack([noisy[:5], noisy_train[7:9]]))
    np.testing.assert_array_equal(both[:5], search.best_estimator_.denoise(noisy[:5]))
    assert_allclose(both[5:], search.training_estimator_.denoise(noisy_train[7:9]), atol=1e-8)
    np.testing.assert_array_equal(
        np.isnan(search.cv_results_["training_error"]), search.cv_results_["n_components"] > 50
    )


def test_few_components_and_clean_data_need_no_folds(digits):
    train, _, noisy_train, _ = digits
    few = DenoisingSearch(gammas=of_median(noisy_train, 0.25), n_components=(16,), penalties=(0.0,)).fit(noisy_train)
    clean = DenoisingSearch(added_noise=0.25, gammas=of_median(train, 0.25), n_components=(128,), penalties=(0.0,)).fit(
        train
    )
    off = DenoisingSearch(
        gammas=of_median(noisy_train, 0.25), n_components=(128,), penalties=(0.0,), cross_fit=None
    ).fit(noisy_train)
    for search, X in ((few, noisy_train), (clean, train), (off, noisy_train)):
        assert search.cross_fit_ is None
        np.testing.assert_array_equal(search.denoise(X), search.best_estimator_.denoise(X))


def test_groups_judge_and_are_folds(rng):
    X = rng.normal(size=(60, 3))
    runs = np.repeat(list("abc"), 20)
    search = DenoisingSearch(gammas=of_median(X, 1.0), n_components=(12,), cross_fit=5).fit(X, groups=runs)
    expected = search.best_estimator_.denoise(X, cross_fit=runs)
    np.testing.assert_array_equal(search.denoise(X), expected)
    with pytest.raises(ValueError, match="60 rows and groups of shape"):
        DenoisingSearch().fit(X, groups=runs[1:])
    with pytest.raises(ValueError, match="one group"):
        DenoisingSearch().fit(X, groups=np.zeros(60))


def test_data_frames_go_in_without_warnings_and_come_out(rng, recwarn):
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"], index=np.arange(60) + 5)
    search = DenoisingSearch(gammas=of_median(frame, 1.0), n_components=(4, 12)).fit(frame)
    values = search.denoise(frame)
    assert not [str(warning.message) for warning in recwarn if "feature names" in str(warning.message)]
    assert list(search.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        search.denoise(frame[["b", "a", "c"]])
    out = search.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(out, pd.DataFrame(values, columns=frame.columns, index=frame.index))


def test_searches_are_the_same_in_tensors_and_after_pickling(digits):
    torch = pytest.importorskip("torch")
    _, _, noisy_train, noisy = digits
    X = noisy_train[:200]
    options = {"gammas": of_median(X, 0.25), "n_components": (8, 64), "penalties": (0.0,)}
    for cross_fit in ("auto", 5):
        search = DenoisingSearch(**options, cross_fit=cross_fit).fit(X)
        queries = np.vstack([X[:5], noisy[:5]])
        expected = search.denoise(queries)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).denoise(queries), expected)
        tensors = DenoisingSearch(**options, cross_fit=cross_fit).fit(torch.asarray(X)).denoise(torch.asarray(queries))
        assert_allclose(tensors.numpy(), expected, atol=1e-4)


def test_candidates_left_open_follow_the_scale_of_the_data(rng):
    X = rng.normal(size=(60, 3))
    small, large = (DenoisingSearch(added_noise=0.1 * scale).fit(scale * X) for scale in (1, 1000))
    for name in ("gamma", "penalty"):
        assert_allclose(large.cv_results_[name], small.cv_results_[name] / 1000**2)
    assert_allclose(large.best_error_, small.best_error_ * 1000**2, rtol=1e-3)


def test_every_candidate_is_a_step_of_progress(rng):
    calls = []
    with report_progress(lambda *call: calls.append(call)):
        DenoisingSearch(added_noise=0.1, gammas=(0.5, 1.0, 2.0), n_components=(2,), penalties=(0.1,)).fit(
            rng.normal(size=(40, 3))
        )
    assert calls[:4] == [(done, 3, "Choosing the model") for done in range(4)]


@pytest.mark.parametrize("criterion", ["sure", "masked", "added noise"])
def test_results_do_not_depend_on_threads(rng, monkeypatch, criterion):
    X = np.repeat(rng.normal(size=(40, 2)), 3, axis=0) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(120, 6))
    options = {"added_noise": 0.1} if criterion == "added noise" else {"criterion": criterion}
    searches = []
    for threads in (1, 2, 8):
        monkeypatch.setattr(_threads, "allowed_threads", lambda count=threads: count)
        searches.append(DenoisingSearch(n_components=(2, 4, 8), gammas=(0.1, 0.3), **options).fit(X))
    for other in searches[1:]:
        assert other.best_params_ == searches[0].best_params_
        assert other.training_params_ == searches[0].training_params_
        for name in ("error", "training_error"):
            assert_allclose(other.cv_results_[name], searches[0].cv_results_[name], rtol=1e-6, atol=1e-9)


def test_small_searches_use_few_threads():
    """Steps on few rows are the interpreter's, which one thread has at a time; large ones are worth all cores."""

    def useful(n_points, n_queries, n_columns):
        points = np.zeros((n_points, n_columns))
        space = Subspace.span(Gaussian(1.0), np.arange(2.0 * n_columns).reshape(2, n_columns))
        frame = Expansion(Gaussian(1.0), points, np.zeros((n_points, len(space))))
        model = _Denoiser(Subspace(frame), np.zeros((n_queries, n_columns)), np.zeros((n_queries, len(space))))
        return _Width(1.0, model, [2, 4, 8], [], []).useful_threads

    assert useful(80, 20, 5) == 1
    assert useful(480, 120, 64) == 2
    assert useful(800, 300, 64) == 9
    assert useful(4000, 300, 64) >= 16


def clipped_digits(levels=None):
    clean = load_digits().data[:300] / 16
    noisy = np.clip(clean + np.random.default_rng(0).normal(0, 0.2, clean.shape), 0, 1)
    return clean, noisy if levels is None else np.rint(noisy * levels) / levels


@pytest.mark.parametrize("levels", [None, 255])
def test_clipped_values_are_recognised_and_judged_by_the_better_criterion(levels):
    clean, noisy = clipped_digits(levels)
    of = {name: DenoisingSearch(criterion=name, **few(noisy)).fit(noisy) for name in ("auto", "sure", "masked")}
    errors = {name: error(search, noisy, clean) for name, search in of.items()}
    assert of["auto"].criterion_ == "sure" and 0.3 < of["auto"].clipped_ < 0.4
    assert errors["auto"] <= 1.02 * min(errors.values())
    assert errors["auto"] < 0.8 * np.mean((noisy - clean) ** 2)
    assert of["masked"].clipped_ is None


def test_a_given_deviation_is_that_of_the_noise_before_clipping(monkeypatch):
    clean, noisy = clipped_digits()
    estimated, given = (DenoisingSearch(sigma=each, **few(noisy)).fit(noisy) for each in (None, 0.2))
    assert given.noise_ == 0.2 and given.clipped_ > 0.3
    assert error(given, noisy, clean) < 1.1 * error(estimated, noisy, clean)
    monkeypatch.setattr(_denoising_search.Clipping, "of", lambda X, deviation: nothing_clipped(X))
    uncorrected = DenoisingSearch(sigma=0.2, **few(noisy)).fit(noisy)
    assert error(given, noisy, clean) < 0.95 * error(uncorrected, noisy, clean)


def nothing_clipped(X):
    nowhere = np.zeros(X.shape[1], dtype=bool)
    return Clipping(X.min(axis=0), X.max(axis=0), nowhere, nowhere, 0.0)


def test_a_loss_takes_part_in_the_search():
    """Candidates are judged with the loss, and rows with gross errors are denoised with it."""
    angle = np.random.default_rng(0).uniform(0, np.pi, size=120)
    X = np.column_stack([f(k * angle) for k in (1, 1, 2) for f in (np.cos, np.sin)])

    def spoil(rows, rng):
        return np.where(rng.random(rows.shape) < 0.1, 6.0, rows)

    search = DenoisingSearch(added_noise=spoil, loss="tukey", n_components=[4, 16], penalties=[0.0], gammas=[0.1]).fit(
        X
    )
    rows = spoil(X[:20] + 1e-3, np.random.default_rng(1))
    np.testing.assert_allclose(search.denoise(rows), search.best_estimator_.denoise(rows, loss="tukey"), atol=1e-9)
    with pytest.raises(ValueError, match="without jumps"):
        DenoisingSearch(criterion="sure", loss="tukey").fit(X)


def test_former_names_of_parameters_warn():
    with pytest.warns(FutureWarning, match="'noise' 'added_noise'"):
        assert DenoisingSearch(0.25).added_noise == 0.25
    with pytest.warns(FutureWarning, match="'deviation' 'sigma'"):
        search = DenoisingSearch(deviation=0.1)
    assert search.get_params()["sigma"] == 0.1 and "deviation" not in search.get_params()
