"""Multiple imputation: draws that differ as much as the data leave open."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import t as student

from preimage import KernelImputer, KernelImputerCV, load


def bent(n, seed):
    generator = np.random.default_rng(seed)
    t = generator.uniform(-1, 1, size=(n, 1))
    rows = np.hstack([np.sin(2 * t), np.cos(2 * t), t, t**2, np.sin(4 * t)])
    return 10 + 3 * rows + 0.15 * generator.standard_normal(rows.shape)


ROWS, NEW = bent(150, 0), bent(150, 1)
HOLES = np.random.default_rng(2).random(ROWS.shape) < 0.3
HOLES[HOLES.all(axis=1), 0] = False
INCOMPLETE, NEW_INCOMPLETE = np.where(HOLES, np.nan, ROWS), np.where(HOLES, np.nan, NEW)


def coverage(draws, truth):
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return np.mean(((low <= truth) & (truth <= high))[HOLES])


def test_intervals_of_new_rows_contain_the_truth_as_often_as_they_say():
    model = KernelImputer(sample_posterior=True).fit(ROWS)
    assert 0.82 < coverage(model.sample(NEW_INCOMPLETE, n_draws=100), NEW) < 0.97


def test_intervals_of_the_training_rows_do_so_too():
    """Intervals of Student's distribution from eight draws of each entry."""
    few = slice(0, 80)
    draws = np.array(
        [
            KernelImputer(sample_posterior=True, tol=1e9, random_state=seed).fit_transform(INCOMPLETE[few])
            for seed in range(8)
        ]
    )
    error = np.abs(draws.mean(axis=0) - ROWS[few]) / (draws.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 8) + 1e-300)
    # Draws are departures of neighbours, of which a few are large: intervals for normal numbers are too wide for them.
    assert 0.78 < np.mean(error[HOLES[few]] < student.ppf(0.95, 7)) < 0.995


def test_draws_differ_around_the_most_likely_entries_and_keep_known_ones():
    model = KernelImputer(sample_posterior=True).fit(ROWS)
    draws = model.sample(NEW_INCOMPLETE, n_draws=60)
    assert draws.shape == (60, *NEW.shape)
    assert np.all(draws[:, ~HOLES] == NEW[~HOLES])
    assert np.all(np.ptp(draws, axis=0)[HOLES] > 0)
    means = KernelImputer().fit(ROWS).transform(NEW_INCOMPLETE)
    error, spread = (draws.mean(axis=0) - means)[HOLES], draws.std(axis=0)[HOLES]
    assert np.median(np.abs(error) / spread) < 0.5  # draws are cut off at the range of the columns
    drawn = draws[:, HOLES]
    assert drawn.min() >= ROWS.min() and drawn.max() <= ROWS.max()


def test_transform_draws_once_and_the_same_for_a_seed():
    model = KernelImputer(sample_posterior=True).fit(ROWS)
    once = model.transform(NEW_INCOMPLETE)
    assert_array_equal(once, model.transform(NEW_INCOMPLETE))
    assert_array_equal(once, model.sample(NEW_INCOMPLETE, 1)[0])
    other = KernelImputer(sample_posterior=True, random_state=1).fit(ROWS).transform(NEW_INCOMPLETE)
    assert np.mean(once[HOLES] != other[HOLES]) > 0.9


def test_saved_models_draw_the_same(tmp_path):
    model = KernelImputer(sample_posterior=True).fit(ROWS)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").sample(NEW_INCOMPLETE, 2), model.sample(NEW_INCOMPLETE, 2))


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "3"])
def test_bad_numbers_of_draws_are_refused(count):
    model = KernelImputer(sample_posterior=True).fit(ROWS[:20])
    with pytest.raises(ValueError, match="n_draws"):
        model.sample(NEW_INCOMPLETE, count)


def test_models_without_a_temperature_do_not_draw():
    with pytest.raises(ValueError, match="sample_posterior=True"):
        KernelImputer().fit(ROWS[:20]).sample(NEW_INCOMPLETE)


@pytest.mark.parametrize("options", [{"method": "energy"}, {"noise": 1e-3}], ids=str)
def test_the_energy_has_no_draws(options):
    with pytest.raises(ValueError, match="draws around conditional means"):
        KernelImputer(sample_posterior=True, **options).fit(ROWS[:20])
    with pytest.warns(FutureWarning, match="sample_posterior"):
        KernelImputerCV(sample_posterior=True)


def circle(n, seed):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angles), np.sin(angles)]) + 0.02 * rng.standard_normal((n, 2))


def test_draws_around_conditional_means_are_at_both_sides_of_a_circle():
    rows = circle(200, 1)
    model = KernelImputer(sample_posterior=True).fit(circle(300, 0))
    drawn = model.sample(np.where([True, False], rows, np.nan), 200)[:, :, 1]
    tall = np.abs(rows[:, 1]) > 0.5  # elsewhere the two sides are near each other
    both = np.mean(drawn > 0.2, axis=0)[tall], np.mean(drawn < -0.2, axis=0)[tall]
    assert all(np.median(each) > 0.2 for each in both)
    assert np.mean(np.abs(drawn[:, tall]) < 0.1) < 0.2  # and not in the middle, where their mean is
