"""Columns of categories in imputers: codes in, codes out, probabilities, draws, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from preimage import KernelImputer, KernelImputerCV, load
from preimage.estimators._imputed_columns import MOST_CATEGORIES

RNG = np.random.default_rng(0)
N = 200
Z = RNG.normal(size=N)
CODES = np.array([7.0, 3.0, 20.0, 5.0])  # in no order
X = np.column_stack(
    [Z + 0.1 * RNG.normal(size=N), CODES[np.digitize(Z, [-0.9, 0.2, 1.1])], np.cos(Z), np.where(Z > 0, 1.0, 0.0)]
)
COLUMNS = [1, 3]
MISSING = RNG.random(X.shape) < 0.15
MISSING[:, 0] &= ~MISSING[:, 1]
HOLES = np.where(MISSING, np.nan, X)
NAMES = {7.0: "low", 3.0: "middle", 20.0: "high", 5.0: "top"}


def imputer(**parameters):
    return KernelImputer(categorical_features=COLUMNS, **parameters)


def in_words(values):
    """A frame in which the second column is text."""
    frame = pd.DataFrame(values, columns=list("abcd"))
    frame["b"] = [NAMES.get(value) for value in values[:, 1]]
    return frame


def fraction_right(filled, column):
    return np.mean(filled[MISSING[:, column], column] == X[MISSING[:, column], column])


class TestCodes:
    @pytest.mark.parametrize("method", ["conditional", "energy"])
    def test_filled_entries_are_codes_that_were_seen_and_mostly_right(self, method):
        model = imputer(method=method)
        for filled in (model.fit_transform(HOLES), model.transform(HOLES)):
            assert np.array_equal(filled[~MISSING], X[~MISSING])
            assert set(filled[:, 1]) == set(CODES) and set(filled[:, 3]) == {0, 1}
            assert fraction_right(filled, 1) > 0.85 and fraction_right(filled, 3) > 0.8

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_complete_rows_come_back_as_they_are(self, dtype):
        rows = X.astype(dtype)
        found = imputer().fit(np.where(MISSING, np.nan, rows)).transform(rows)
        assert found.dtype == dtype and found.tobytes() == rows.tobytes()

    def test_rows_without_an_entry_get_the_most_frequent_category(self):
        model = imputer().fit(X)
        found = model.transform(np.full((1, 4), np.nan))
        expected = SimpleImputer(strategy="most_frequent").fit(X).statistics_[COLUMNS]
        assert_allclose(found[0, COLUMNS], expected)
        frequencies = [np.mean(X[:, 1] == code) for code in model.categories_[0]]
        assert_allclose(model.category_probabilities(np.full((1, 4), np.nan))[0][0], frequencies)

    def test_other_names_of_categories_give_the_same_answer_under_these_names(self):
        other = {7.0: -2.0, 3.0: 40.0, 20.0: 0.5, 5.0: 3.0}
        renamed = HOLES.copy()
        renamed[:, 1] = [other.get(value, np.nan) for value in HOLES[:, 1]]
        found, expected = imputer().fit_transform(renamed), imputer().fit_transform(HOLES)
        assert np.array_equal(found[:, 1], [other[value] for value in expected[:, 1]])
        assert_allclose(np.delete(found, 1, axis=1), np.delete(expected, 1, axis=1), atol=1e-8)

    def test_the_order_of_columns_and_rows_hardly_matters(self):
        order = np.random.default_rng(1).permutation(N)
        found = imputer().fit_transform(HOLES[order])
        assert_allclose(found, imputer().fit_transform(HOLES)[order], atol=1e-8)

    def test_indicators_by_hand_say_the_same(self):
        """Conditional means of indicators in one scale, hidden one by one instead of together: nearly the same."""
        model = imputer().fit(X)
        by_hand = np.hstack([X[:, [0, 2]], *((X[:, [j]] == np.unique(X[:, j])).astype(float) for j in COLUMNS)])
        scale = model.scale_
        plain = KernelImputer(scale=False, min_value=-np.inf, max_value=np.inf).fit(by_hand / scale)
        queries = np.column_stack([np.linspace(-2, 2, 60), np.full((60, 3), np.nan)])
        coded = np.full((60, 8), np.nan)
        coded[:, 0] = queries[:, 0]
        found = plain.transform(coded / scale) * scale
        ours = model.transform(queries)
        assert np.mean(model.categories_[0][found[:, 2:6].argmax(axis=1)] == ours[:, 1]) > 0.9
        assert_allclose(np.clip(found[:, 2:6], 0, 1), model.category_probabilities(queries)[0], atol=0.3)

    def test_two_categories_are_a_column_of_zeros_and_ones_with_a_threshold(self):
        found = KernelImputer(categorical_features=[3]).fit_transform(HOLES)[:, 3]
        numbers = KernelImputer().fit_transform(HOLES)[:, 3]
        clear = MISSING[:, 3] & (np.abs(numbers - 0.5) > 0.15)
        assert clear.sum() > 10
        assert np.mean(found[clear] == (numbers[clear] > 0.5)) > 0.95

    @pytest.mark.parametrize("method", ["conditional", "energy"])
    def test_a_constant_category_stays_constant(self, method):
        rows = np.column_stack([HOLES, np.where(MISSING[:, 0], np.nan, 4.0)])
        model = KernelImputer(categorical_features=[1, 4], method=method)
        assert np.all(model.fit_transform(rows)[:, 4] == 4)
        assert_allclose(model.category_probabilities(rows)[1], 1)

    def test_tables_of_categories_alone_and_of_one_column(self):
        model = KernelImputer(categorical_features=[0, 1])
        filled = model.fit_transform(HOLES[:, COLUMNS])
        assert set(filled[:, 0]) == set(CODES) and np.isfinite(filled).all()
        one = KernelImputer(categorical_features=[True]).fit_transform(HOLES[:, [1]])
        assert set(one[:, 0]) == set(CODES)

    def test_bounds_are_for_numbers(self):
        found = imputer(min_value=-0.2, max_value=[0.1, 0, 0.1, 0]).fit_transform(HOLES)
        assert set(found[:, 1]) == set(CODES)
        assert np.all((found[MISSING[:, 2], 2] <= 0.1) & (found[MISSING[:, 2], 2] >= -0.2))

    def test_missing_values_indicators_and_empty_columns(self):
        rows = np.column_stack([np.where(MISSING, -1.0, X + 10), np.full(N, -1.0)])
        model = KernelImputer(
            categorical_features=[1, 4], missing_values=-1, add_indicator=True, keep_empty_features=True
        )
        found = model.fit_transform(rows)
        assert found.shape == (N, 10)
        assert set(found[:, 1]) == set(CODES + 10) and np.all(found[:, 4] == 0)
        assert np.array_equal(found[:, 5:9], MISSING)
        assert len(model.get_feature_names_out()) == 10
        assert [each.size for each in model.categories_] == [4, 0]
        assert [each.shape for each in model.category_probabilities(rows)] == [(N, 4)]

    def test_many_rows_of_which_some_are_drawn_keep_rare_categories(self):
        rows = np.tile(HOLES, (51, 1))
        rows[-1, 1] = 99.0
        model = imputer().fit(rows)
        assert 99.0 in model.categories_[0]
        assert model.transform(rows[-3:])[-1, 1] == 99


class TestProbabilities:
    def test_they_are_those_of_the_filled_and_of_the_known_entries(self):
        model = imputer().fit(HOLES)
        found, filled = model.category_probabilities(HOLES), model.transform(HOLES)
        for place, column in enumerate(COLUMNS):
            assert_allclose(found[place].sum(axis=1), 1)
            assert np.array_equal(model.categories_[place][found[place].argmax(axis=1)], filled[:, column])
            known = found[place][~MISSING[:, column]]
            assert np.array_equal(np.sort(known, axis=1)[:, :-1], np.zeros_like(known[:, 1:]))

    def test_they_are_honest(self):
        """Among entries that are filled in with a probability of about p, a fraction of about p is right."""
        rng = np.random.default_rng(3)
        x = rng.uniform(-2, 2, size=1500)
        kind = (rng.random(1500) < 1 / (1 + np.exp(-2 * x))).astype(float)
        model = KernelImputer(categorical_features=[1]).fit(np.column_stack([x, kind])[:500])
        queries = np.column_stack([x[500:], np.full(1000, np.nan)])
        found = model.category_probabilities(queries)[0][:, 1]
        assert_allclose(found.mean(), kind[500:].mean(), atol=0.05)
        assert np.mean((found - kind[500:]) ** 2) < np.mean((1 / (1 + np.exp(-2 * x[500:])) - kind[500:]) ** 2) + 0.02

    def test_draws_have_these_frequencies(self):
        model = imputer(sample_posterior=True).fit(X)
        queries = HOLES[MISSING.any(axis=1)][:20]
        draws = model.sample(queries, n_draws=1000)
        assert set(np.unique(draws[:, :, 1])) <= set(CODES)
        for place, column in enumerate(COLUMNS):
            found = np.stack(
                [np.mean(draws[:, :, column] == code, axis=0) for code in model.categories_[place]], axis=1
            )
            assert_allclose(found, model.category_probabilities(queries)[place], atol=0.06)

    def test_draws_of_several_categories_depend_on_each_other(self):
        rng = np.random.default_rng(4)
        kind = rng.integers(3, size=400)
        rows = np.column_stack([rng.normal(size=400), kind, 2 - kind]).astype(float)
        model = KernelImputer(categorical_features=[1, 2], sample_posterior=True).fit(rows)
        draws = model.sample([[0.0, np.nan, np.nan]], n_draws=500)[:, 0]
        assert len(set(draws[:, 1])) == 3
        assert np.mean(draws[:, 2] == 2 - draws[:, 1]) > 0.7  # a third if they were drawn one by one

    def test_training_rows_are_drawn_too_and_other_seeds_draw_others(self):
        found = [imputer(sample_posterior=True, random_state=seed).fit_transform(HOLES) for seed in (0, 0, 1)]
        assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0][:, 1], found[2][:, 1])
        assert set(found[0][:, 1]) == set(CODES)


class TestFrames:
    def test_text_comes_back_as_text(self):
        frame = in_words(HOLES)
        model = KernelImputer(categorical_features=["b", "d"])
        found, expected = model.fit_transform(frame), imputer().fit_transform(HOLES)
        assert found.dtype == object
        assert list(found[:, 1]) == [NAMES[value] for value in expected[:, 1]]
        assert_allclose(found[:, [0, 2, 3]].astype(float), expected[:, [0, 2, 3]], atol=1e-8)
        assert list(model.categories_[0]) == sorted(NAMES.values())
        objects = imputer().fit_transform(frame.to_numpy(dtype=object))
        assert np.array_equal(objects, found)

    @pytest.mark.parametrize("estimator", [KernelImputer(), KernelImputerCV(gammas=[0.1], noises=[1e-3, 1e-2])])
    def test_types_of_columns_are_kept_in_frames(self, estimator):
        frame = in_words(HOLES)
        frame["b"] = pd.Categorical(frame["b"], categories=["top", "high", "middle", "low", "never"], ordered=True)
        frame.index = np.arange(N)[::-1]
        model = clone(estimator).set_output(transform="pandas")
        for found in (model.fit_transform(frame), model.transform(frame)):
            assert found["b"].dtype == frame["b"].dtype and not found["b"].isna().any()
            assert found["a"].dtype == float and found.index.equals(frame.index)
            assert found["b"][~MISSING[:, 1]].equals(frame["b"][~MISSING[:, 1]])
        fitted = getattr(model, "best_estimator_", model)
        assert fitted.is_categorical_.tolist() == [False, True, False, False]
        assert "never" not in fitted.categories_[0]

    def test_categories_of_numbers_and_frames_with_fewer_categories(self):
        frame = pd.DataFrame(HOLES, columns=list("abcd"))
        frame["b"] = frame["b"].astype("category")
        model = KernelImputer().set_output(transform="pandas").fit(frame)
        assert_allclose(model.categories_[0], np.sort(CODES))
        few = frame[frame["b"] == 3.0].copy()
        few["b"] = few["b"].cat.remove_unused_categories()
        few.iloc[:2, 1] = np.nan
        few["a"] = 2.0
        found = model.transform(few)
        assert isinstance(found["b"].dtype, pd.CategoricalDtype) and not found["b"].isna().any()
        assert np.array_equal(KernelImputer(categorical_features=[1]).fit(HOLES).transform(HOLES[:9])[:, 1],
                              np.asarray(model.transform(frame[:9])["b"], dtype=float))  # fmt: skip

    def test_sampled_text(self):
        model = KernelImputer(categorical_features=["b"], sample_posterior=True).fit(in_words(HOLES))
        draws = model.sample(in_words(HOLES), n_draws=3)
        assert draws.shape == (3, N, 4) and set(draws[:, :, 1].ravel()) <= set(NAMES.values())

    def test_inputs_do_not_change(self):
        frame = in_words(HOLES)
        before = frame.copy(deep=True)
        KernelImputer(categorical_features=["b"]).fit(frame).transform(frame)
        pd.testing.assert_frame_equal(frame, before)


class TestLives:
    def test_files_and_pickles(self, tmp_path):
        frame = in_words(HOLES)
        model = KernelImputer(categorical_features=["b", "d"], sample_posterior=True).fit(frame)
        model.save(tmp_path / "imputer.safetensors")
        for again in (load(tmp_path / "imputer.safetensors"), pickle.loads(pickle.dumps(model))):
            assert np.array_equal(again.transform(frame), model.transform(frame))
            assert np.array_equal(again.category_probabilities(frame)[0], model.category_probabilities(frame)[0])

    @pytest.mark.parametrize("method", ["conditional", "energy"])
    @pytest.mark.parametrize("n_empty", [0, 1])
    def test_files_of_every_method(self, method, n_empty, tmp_path):
        holes = np.column_stack([HOLES, *[np.full(len(HOLES), np.nan)] * n_empty])
        columns = [1, *range(HOLES.shape[1], holes.shape[1])]
        model = KernelImputer(method=method, categorical_features=columns).fit(holes)
        model.save(tmp_path / "imputer.safetensors")
        assert np.array_equal(load(tmp_path / "imputer.safetensors").transform(holes), model.transform(holes))

    def test_dask_arrays(self):
        dask = pytest.importorskip("dask.array")
        lazy = dask.from_array(HOLES, chunks=(70, 4))
        model, expected = imputer().fit(lazy), imputer().fit(HOLES)
        assert all(map(np.array_equal, model.categories_, expected.categories_))
        assert_allclose(model.transform(lazy).compute(), expected.transform(HOLES))

    def test_other_libraries(self):
        torch = pytest.importorskip("torch")
        model, expected = imputer().fit(torch.asarray(HOLES)), imputer().fit(HOLES)
        assert_allclose(model.transform(torch.asarray(HOLES)).numpy(), expected.transform(HOLES), atol=1e-8)
        found = model.category_probabilities(torch.asarray(HOLES))[0]
        assert isinstance(found, torch.Tensor)
        assert_allclose(found.numpy(), expected.category_probabilities(HOLES)[0], atol=1e-8)

    def test_searches_hide_categories_as_a_whole(self):
        search = KernelImputerCV(categorical_features=COLUMNS).fit(HOLES)
        assert_allclose(search.transform(HOLES), search.best_estimator_.transform(HOLES))
        assert set(search.transform(HOLES)[:, 1]) == set(CODES)
        assert search.category_probabilities(HOLES)[0].shape == (N, 4)


TRUTH_VALUES = {
    "objects": lambda known, values: pd.Series([bool(v) if k else None for k, v in zip(known, values)], dtype=object),
    "NaN among objects": lambda known, values: pd.Series(
        [bool(v) if k else np.nan for k, v in zip(known, values)], dtype=object
    ),
    "boolean": lambda known, values: pd.Series(
        [bool(v) if k else pd.NA for k, v in zip(known, values)], dtype="boolean"
    ),
}


class TestTruthValues:
    """They are true or false where they are missing, not a number in between, and keep their type."""

    @pytest.mark.parametrize("kind", TRUTH_VALUES)
    @pytest.mark.parametrize("said", ["from_dtype", ["d"]])
    def test_of_pandas(self, said, kind):
        known = ~MISSING[:, 3]
        frame = pd.DataFrame(HOLES[:, [0, 2]], columns=["a", "c"])
        frame["d"] = TRUTH_VALUES[kind](known, X[:, 3])
        model = KernelImputer(categorical_features=said).set_output(transform="pandas")
        found = model.fit_transform(frame)["d"]
        assert found.dtype == frame["d"].dtype
        assert all(type(value) in (bool, np.bool_) for value in found)
        assert np.array_equal(found[known].astype(float), X[known, 3])
        assert np.mean(found[~known].astype(float) == X[~known, 3]) > 0.8
        assert_allclose(model.category_probabilities(frame)[0].sum(axis=1), 1)

    def test_of_polars(self):
        polars = pytest.importorskip("polars")
        known = ~MISSING[:, 3]
        entries = [bool(value) if k else None for k, value in zip(known, X[:, 3])]
        frame = polars.DataFrame({"a": X[:, 0], "c": X[:, 2], "d": entries})
        found = KernelImputer().set_output(transform="polars").fit_transform(frame)["d"]
        assert found.dtype == polars.Boolean and found.null_count() == 0
        assert np.mean(found.to_numpy()[~known] == X[~known, 3]) > 0.8

    def test_a_value_that_training_rows_did_not_have_is_none_to_refuse(self):
        frame = pd.DataFrame({"a": X[:, 0], "d": np.ones(N, dtype=bool)})
        frame.loc[0, "a"] = np.nan
        model = KernelImputer().set_output(transform="pandas").fit(frame)
        queries = pd.DataFrame({"a": [np.nan, 0.0], "d": [False, True]})
        found = model.transform(queries)
        assert list(found["d"]) == [False, True] and np.isfinite(found["a"]).all()

    def test_they_are_numbers_if_that_is_said(self):
        frame = pd.DataFrame({"a": X[:, 0], "d": TRUTH_VALUES["boolean"](~MISSING[:, 3], X[:, 3])})
        found = KernelImputer(categorical_features=None).fit_transform(frame)[:, 1]
        assert len(set(found)) > 5


class TestObjects:
    def test_known_objects_stay_what_they_are(self):
        frame = pd.DataFrame({"a": X[:, 0], "n": pd.Series([None, *range(1, N)], dtype=object)})
        found = KernelImputer().set_output(transform="pandas").fit_transform(frame)["n"]
        assert all(type(value) is int for value in found[1:]) and np.isfinite(found[0])

    def test_other_words_in_complete_rows_come_back(self):
        model = KernelImputer(categorical_features=["b"]).set_output(transform="pandas").fit(in_words(HOLES))
        queries = in_words(X[:4]).astype({"a": float})
        queries.loc[1, "b"], queries.loc[2, "b"] = "huge", "tiny"
        assert list(model.transform(queries)["b"]) == list(queries["b"])
        queries.loc[0, "a"] = np.nan
        found = model.transform(queries)
        assert list(found["b"]) == list(queries["b"]) and np.isfinite(found["a"]).all()
        queries.loc[2, "a"] = np.nan
        with pytest.raises(ValueError, match=r"of column 'b'; got tiny\. Mark"):
            model.transform(queries)


class TestRefusals:
    def test_a_text_in_place_of_a_list_of_columns(self):
        with pytest.raises(ValueError, match=r"got the text 'b'. Of one column, write categorical_features=\['b'\]"):
            KernelImputer(categorical_features="b").fit(in_words(HOLES))

    @pytest.mark.parametrize("said", [[4], [-1], [True, False], ["b"], [0.5], [[1]], "dtype", 3])
    def test_columns_that_are_not_there(self, said):
        with pytest.raises(ValueError, match="categorical_features"):
            KernelImputer(categorical_features=said).fit(HOLES)

    def test_names_that_are_not_there(self):
        with pytest.raises(ValueError, match=r"names among \['a', 'b', 'c', 'd'\]; got \['kind'\]"):
            KernelImputer(categorical_features=["kind"]).fit(pd.DataFrame(HOLES, columns=list("abcd")))

    @pytest.mark.parametrize("method", ["transform", "sample", "category_probabilities"])
    def test_unseen_categories(self, method):
        model = imputer(sample_posterior=True).fit(HOLES)
        with pytest.raises(ValueError, match=r"categories 3, 5, 7, 20 of column 1; got 4\. Mark .* missing"):
            getattr(model, method)([[0.0, 4.0, np.nan, 1.0]])
        words = KernelImputer(categorical_features=["b"], sample_posterior=True).fit(in_words(HOLES))
        with pytest.raises(ValueError, match=r"categories high, low, .* of column 'b'; got huge"):
            getattr(words, method)(in_words(HOLES).assign(b="huge"))
        with pytest.raises(ValueError, match="of column 'b'; got 2"):
            getattr(words, method)(in_words(HOLES).assign(b=2.0))

    def test_too_many_categories(self):
        rows = np.column_stack([np.arange(300.0), np.zeros(300)])
        with pytest.raises(ValueError, match=f"at most {MOST_CATEGORIES} categories .* column 0 has 300"):
            KernelImputer(categorical_features=[0]).fit(rows)

    def test_categories_of_several_types(self):
        frame = in_words(HOLES)
        frame["b"] = frame["b"].astype(object)
        frame.loc[0, "b"] = 3
        with pytest.raises(ValueError, match="all numbers or all text; column 'b' has int, str"):
            KernelImputer(categorical_features=["b"]).fit(frame)

    def test_models_without_categories_have_no_probabilities(self):
        with pytest.raises(ValueError, match="categorical_features"):
            KernelImputer().fit(HOLES).category_probabilities(HOLES)
