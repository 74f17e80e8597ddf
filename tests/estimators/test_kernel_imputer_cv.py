"""The width and the noise that restore hidden entries best."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from preimage import KernelImputer, KernelImputerCV
from preimage.kernels import Gaussian

rng = np.random.default_rng(0)
ANGLES = rng.uniform(0, 2 * np.pi, 120)
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.cos(2 * ANGLES)]) + 0.01 * rng.standard_normal((120, 3))
LINE = rng.standard_normal((60, 1)) @ rng.standard_normal((1, 4)) + 0.1 * rng.standard_normal((60, 4))
HOLES = np.where(rng.random(CIRCLE.shape) < 0.2, np.nan, CIRCLE)


def test_the_best_candidate_is_fitted_to_all_rows():
    search = KernelImputerCV(gammas=[0.1, 1.0], noises=[1e-5, 1e-2]).fit(CIRCLE)
    results = search.cv_results_
    assert len(results["params"]) == 4
    best = results["params"][int(np.argmin(results["rank_test_score"]))]
    assert best == search.best_params_
    judged = results["n_entries"] == results["n_entries"].max()
    assert search.best_score_ == results["mean_test_score"][judged].max()
    alone = KernelImputer(n_components=None, **best).fit(CIRCLE)
    assert_array_equal(search.transform(HOLES), alone.transform(HOLES))


def test_a_wave_wants_a_narrower_kernel_than_a_line():
    t = np.linspace(-1, 1, 80)
    wave = np.column_stack([t, np.sin(8 * t), t + 0.02 * np.sin(60 * t)])
    options = {"gammas": [1e-3, 1.0], "noises": [1e-3]}
    assert KernelImputerCV(**options).fit(wave).best_params_["gamma"] == 1.0
    assert KernelImputerCV(**options).fit(LINE).best_params_["gamma"] == 1e-3


@pytest.mark.parametrize("complete", [True, False])
def test_chosen_models_restore_new_rows_better_than_means_and_the_worst_candidate(complete):
    X = load_wine().data
    generator = np.random.default_rng(1)
    X = X[generator.permutation(len(X))]
    train, test = X[:100], X[100:]
    holes = generator.random(test.shape) < 0.3
    if not complete:
        train = np.where(generator.random(train.shape) < 0.2, np.nan, train)
    search = KernelImputerCV(gammas=[0.005, 1.0], noises=[1e-5, 1e-2, 0.5]).fit(train)
    error = lambda model: np.mean(
        (((model.transform(np.where(holes, np.nan, test)) - test) / test.std(axis=0))[holes]) ** 2
    )
    worst = search.cv_results_["params"][int(np.argmin(search.cv_results_["mean_test_score"]))]
    assert error(search) < error(KernelImputer(n_components=None, **worst).fit(train))
    assert error(search) < np.mean((((np.nanmean(train, axis=0) - test) / test.std(axis=0))[holes]) ** 2)


def test_conditional_means_alone_leave_nothing_to_compare():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[::7, 1] = np.nan
    found = KernelImputerCV(method="conditional", random_state=0).fit(X)
    assert found.best_params_ == {"method": "conditional"}
    assert_allclose(found.transform(X), KernelImputer(method="conditional", random_state=0).fit(X).transform(X))


def test_same_seeds_give_the_same_choice_and_other_seeds_hide_other_entries():
    scores = [
        KernelImputerCV(gammas=[0.1], noises=[1e-3], random_state=seed).fit(LINE).cv_results_["mean_test_score"]
        for seed in (0, 0, 1)
    ]
    assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_kernels_without_a_width_leave_the_noise_to_choose():
    for kernel in ("linear", Gaussian(0.3)):
        search = KernelImputerCV(kernel=kernel, noises=[1e-3, 1e-1]).fit(LINE)
        assert [each["gamma"] for each in search.cv_results_["params"]] == [None, None]
    assert len({*search.cv_results_["mean_test_score"]}) == 2


def test_incomplete_rows_are_their_own_example_of_what_is_missing():
    search = KernelImputerCV(gammas=[1.0], noises=[1e-3]).fit(HOLES)
    filled = search.transform(HOLES)
    assert np.isfinite(filled).all()
    assert_array_equal(filled[~np.isnan(HOLES)], HOLES[~np.isnan(HOLES)])
    truth = np.mean((filled - CIRCLE)[np.isnan(HOLES)] ** 2)
    assert_allclose(-search.best_score_ * CIRCLE.var(), truth, rtol=1)  # entries hidden and missing are alike


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gammas": []}, "at least one candidate"),
        ({"noises": []}, "fractions"),
        ({"noises": [-1.0]}, "fractions"),
        ({"noises": [[0.1]]}, "fractions"),
        ({"cv": 70}, "at least 70 rows"),
        ({"hidden": 1.5}, "hidden"),
    ],
)
def test_bad_candidates_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KernelImputerCV(**options).fit(LINE)


def test_hidden_entries_do_not_reach_the_filling_of_other_rows(monkeypatch):
    """Whatever the hidden entries are, the rows that candidates are fitted to are filled in the same way."""
    drawn = []

    def without_truth(self, first, hidden, rng):
        changed = np.array(hidden.rows)
        changed[hidden.numbers] += 5.0 * hidden.hidden
        seeds = [np.random.default_rng(3), np.random.default_rng(3)]
        filled = [fill(self, first, each, seed) for each, seed in zip((hidden, replace(hidden, rows=changed)), seeds)]
        drawn.append([each.rows[~hidden.observed] for each in filled])
        return filled[0]

    fill = KernelImputerCV._filled_without_hidden
    monkeypatch.setattr(KernelImputerCV, "_filled_without_hidden", without_truth)
    KernelImputerCV(gammas=[1.0], noises=[1e-2]).fit(HOLES)
    assert_array_equal(*drawn[0])


def test_default_candidates_are_multiples_of_the_median_distance():
    search = KernelImputerCV(noises=[1e-2], hidden=0.5).fit(LINE[:30])
    widths = 1 / (search.cv_results_["param_gamma"].astype(float) * search.best_estimator_.start_scale_)
    assert_allclose(widths, [0.5, 1, 2, 4, 16, 64, 256])


def test_one_column_has_nothing_to_hide():
    with pytest.raises(ValueError, match="can be hidden"):
        KernelImputerCV().fit(LINE[:, :1])
