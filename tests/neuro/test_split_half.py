"""NPAIRS: laws of split halves, of their null, and of the tests between pipelines."""

from inspect import signature
from itertools import combinations
from math import comb

import numpy as np
import pytest
from data import load_haxby
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import KernelPCA
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.neuro import make_scans
from preimage.neuro._halves import half_splits
from preimage.neuro._maps import align_maps, reproducible_map
from preimage.neuro._split_half import (
    permuted_labels,
    pr_curve,
    split_half,
    split_half_null,
)

SCANS = make_scans(n_runs=6, n_times=24, size=12, snr=0.7, random_state=0)
X, Y, RUN = SCANS.X, SCANS.y, SCANS.run
Y3 = np.where(Y == 1, 1, np.where(np.arange(len(Y)) % 24 < 8, 0, 2))


def both_halves(result, number):
    first = np.isin(RUN, result.groups[result.halves[number]])
    return first, ~first


def test_every_split_is_what_its_definition_says():
    result = split_half(PenalizedDiscriminant(3.0), X, Y, RUN)
    assert len(result.prediction) == 10
    total = 0
    for number in range(10):
        one, two = both_halves(result, number)
        models = [PenalizedDiscriminant(3.0).fit(X[rows], Y[rows]) for rows in (one, two)]
        p = (models[0].score(X[two], Y[two]) + models[1].score(X[one], Y[one])) / 2
        r = np.corrcoef(models[0].coef_[0], models[1].coef_[0])[0, 1]
        assert result.prediction[number] == pytest.approx(p)
        assert result.reproducibility[number] == pytest.approx(r)
        assert result.distance[number] == pytest.approx(np.hypot(1 - p, 1 - r))
        total = total + reproducible_map(models[0].coef_[0], models[1].coef_[0])
    np.testing.assert_allclose(result.map, total / 10, rtol=1e-8)


def test_several_classes_are_aligned_with_a_model_of_all_rows():
    result = split_half(PenalizedDiscriminant(3.0), X, Y3, RUN, n_splits=2)
    reference = PenalizedDiscriminant(3.0).fit(X, Y3).scalings_.T
    assert result.map_reproducibility.shape == (2, 2) and result.maps.shape == (2, 144)
    for number in range(2):
        maps = [
            align_maps(PenalizedDiscriminant(3.0).fit(X[rows], Y3[rows]).scalings_.T, reference)
            for rows in both_halves(result, number)
        ]
        expected = [np.corrcoef(a, b)[0, 1] for a, b in zip(*maps)]
        np.testing.assert_allclose(result.map_reproducibility[number], expected, atol=1e-9)
        assert result.reproducibility[number] == pytest.approx(expected[0])


def test_a_given_reference_says_order_and_signs():
    reference = -PenalizedDiscriminant(3.0).fit(X, Y3).scalings_.T[::-1]
    plain = split_half(PenalizedDiscriminant(3.0), X, Y3, RUN, n_splits=3)
    turned = split_half(PenalizedDiscriminant(3.0), X, Y3, RUN, n_splits=3, reference=reference)
    np.testing.assert_allclose(turned.map_reproducibility, plain.map_reproducibility[:, ::-1])
    np.testing.assert_allclose(turned.maps, -plain.maps[::-1], atol=1e-9)


def test_without_noise_reproducibility_is_one():
    clean = np.where(Y[:, None] == 1, SCANS.patterns[1], SCANS.patterns[0])
    result = split_half(PenalizedDiscriminant(), clean, Y, RUN)
    np.testing.assert_array_equal(result.prediction, 1)
    np.testing.assert_allclose(result.reproducibility, 1, atol=1e-12)
    np.testing.assert_allclose(result.distance, 0, atol=1e-12)
    assert np.isfinite(result.map).all() and np.isfinite(result.threshold())
    assert np.array_equal(result.significant(), SCANS.patterns.any(axis=0))  # which do not overlap


def test_orientation_follows_labels_not_chance():
    plus = split_half(PenalizedDiscriminant(3.0), X, Y, RUN)
    minus = split_half(PenalizedDiscriminant(3.0), X, 1 - Y, RUN)
    np.testing.assert_allclose(minus.map, -plus.map, atol=1e-8)
    np.testing.assert_allclose(minus.reproducibility, plus.reproducibility, atol=1e-10)
    assert plus.map[SCANS.patterns[1] > 0].mean() > 1


def test_swapping_names_of_groups_changes_the_order_of_splits_only():
    named = np.array(["f", "b", "a", "d", "c", "e"])[RUN]
    one, other = (split_half(PenalizedDiscriminant(3.0), X, Y, groups) for groups in (RUN, named))
    np.testing.assert_allclose(np.sort(one.reproducibility), np.sort(other.reproducibility))
    np.testing.assert_allclose(one.map, other.map)


@pytest.mark.parametrize(
    ("model", "maps"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression(C=0.01)), "auto"),
        (LinearDiscriminantAnalysis(), "scalings"),
        (SVC(kernel="linear", C=0.01), "coef"),
        (SVC(C=10), "auto"),
        (SVC(C=10), "sensitivity"),
        (PenalizedDiscriminant(3.0), lambda model, rows: model.coef_[0] ** 2),
    ],
)
def test_any_estimator_with_a_map(model, maps):
    result = split_half(model, X, Y, RUN, maps=maps, n_splits=3)
    assert result.prediction.mean() > 0.65 and result.maps.shape == (1, 144)
    assert result.reproducibility.min() >= -1 and result.reproducibility.max() <= 1


def test_variates_of_two_classes_have_a_sign_too():
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.5)
    variate, weights = (split_half(lda, X, Y, RUN, maps=maps) for maps in ("scalings", "coef"))
    # With shrinkage the variates of scikit-learn are not quite its weights; a wrong sign would be far off.
    np.testing.assert_allclose(variate.reproducibility, weights.reproducibility, atol=0.01)
    assert abs(np.corrcoef(variate.map, weights.map)[0, 1]) > 0.999


def test_maps_of_classes_count_alike_and_regressions_have_scores():
    classes = split_half(LogisticRegression(C=0.01), X, Y3, RUN, n_splits=2)
    np.testing.assert_allclose(classes.reproducibility, classes.map_reproducibility.mean(axis=1))
    target = X[:, :5].sum(axis=1)
    assert split_half(Ridge(), X, target, RUN, n_splits=2).prediction.min() > 0.5
    assert split_half(Ridge(), X, target, RUN, n_splits=2, scoring="neg_mean_squared_error").prediction.max() < 0


@pytest.mark.parametrize("targets", [np.arange(len(Y)), np.arange(len(Y)).astype(float)])
@pytest.mark.parametrize("model", [Ridge(1.0), make_pipeline(StandardScaler(), Ridge(1.0))])
def test_whole_numbers_are_no_classes_for_a_regression(model, targets):
    result = split_half(model, X, targets, RUN, n_splits=3)
    assert result.prediction.shape == (3,) and result.map.shape == X.shape[1:]


def test_the_denoiser_of_a_half_never_sees_the_other():
    seen = []

    def denoiser(train, rows):
        seen.append(train)
        return rows

    plain = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, n_splits=2)
    result = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, n_splits=2, denoiser=denoiser)
    np.testing.assert_array_equal(result.reproducibility, plain.reproducibility)
    expected = [X[rows] for number in range(2) for rows in both_halves(result, number)]
    assert len(seen) == 4 and all(np.array_equal(a, b) for a, b in zip(seen, expected))
    seen.clear()
    shared = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, n_splits=2, denoiser=denoiser, shared_basis=True)
    assert len(seen) == 1 and np.array_equal(seen[0], X) and shared.shared_basis


@pytest.mark.parametrize("shared", [False, True])
def test_denoisers_with_either_interface(shared):
    options = {"n_splits": 2, "shared_basis": shared}
    pca = PCA(5)
    result = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, denoiser=pca, **options)
    assert not hasattr(pca, "components_")
    back = lambda train, rows: (lambda model: model.inverse_transform(model.transform(rows)))(PCA(5).fit(train))
    same = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, denoiser=back, **options)
    np.testing.assert_allclose(result.map, same.map, atol=1e-6)
    kernel = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, denoiser=KernelPCA(5, gamma="median"), **options)
    assert np.isfinite(kernel.map).all()


def test_meaningless_labels_are_at_chance_and_a_shared_basis_pretends_to_reproduce_them():
    options = {"n_permutations": 10, "n_splits": 5, "denoiser": PCA(6), "random_state": 1}
    half = split_half_null(PenalizedDiscriminant(3.0), X, Y3, RUN, **options)
    shared = split_half_null(PenalizedDiscriminant(3.0), X, Y3, RUN, shared_basis=True, **options)
    raw = split_half_null(PenalizedDiscriminant(3.0), X, Y3, RUN, **options | {"denoiser": None})
    for null in (raw, half, shared):
        assert abs(null.prediction.mean() - 1 / 3) < 0.04
    # Few components leave little room to disagree, common ones the least.
    assert raw.reproducibility.mean() < half.reproducibility.mean() < shared.reproducibility.mean()


def test_the_null_is_split_halves_of_permuted_labels():
    null = split_half_null(PenalizedDiscriminant(3.0), X, Y, RUN, n_permutations=2, n_splits=3)
    rng = np.random.default_rng(0)
    for number in range(2):
        again = split_half(PenalizedDiscriminant(3.0), X, permuted_labels(Y, RUN, rng), RUN, n_splits=3)
        assert null.reproducibility[number] == pytest.approx(again.reproducibility.mean())
        assert null.distance[number] == pytest.approx(again.distance.mean())
    observed = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, n_splits=3)
    assert null.p_values(observed) == {"prediction": 1 / 3, "reproducibility": 1 / 3, "distance": 1 / 3}


@given(seed=st.integers(0, 1000))
def test_permuted_labels_stay_in_their_group_and_block(seed):
    blocks = np.arange(len(Y)) // 8
    found = permuted_labels(Y, RUN, np.random.default_rng(seed), blocks)
    for run in range(6):
        assert found[run == RUN].sum() == Y[run == RUN].sum()
    assert all(len(set(found[blocks == block])) == 1 for block in np.unique(blocks))


def test_blocks_must_be_whole():
    with pytest.raises(ValueError, match="one label"):
        permuted_labels(Y, RUN, np.random.default_rng(0), np.arange(len(Y)) // 5)
    with pytest.raises(ValueError, match="each row needs one"):
        permuted_labels(Y, RUN, np.random.default_rng(0), np.arange(5))


def test_a_curve_is_split_halves_of_each_value():
    values = [0.1, 3.0, 100.0]
    curve = pr_curve(PenalizedDiscriminant(), X, Y3, RUN, "alpha", values, n_splits=4, denoiser=PCA(10))
    for number, alpha in enumerate(values):
        alone = split_half(PenalizedDiscriminant(alpha), X, Y3, RUN, n_splits=4, denoiser=PCA(10))
        np.testing.assert_allclose(curve.at(number).prediction, alone.prediction)
        np.testing.assert_allclose(curve.at(number).map_reproducibility, alone.map_reproducibility, atol=1e-7)
        np.testing.assert_allclose(curve.at(number).maps, alone.maps, atol=1e-6)
    np.testing.assert_array_equal(curve.nearest_distance, curve.distance.min(axis=1))
    p, r = curve.nearest_points.T
    np.testing.assert_allclose(np.hypot(1 - p, 1 - r), curve.nearest_distance)
    assert curve.best.distance.mean() == curve.distance.mean(axis=0).min()


def test_a_curve_of_another_estimator():
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    curve = pr_curve(pipe, X, Y, RUN, "logisticregression__C", [1e-3, 1.0], n_splits=2)
    alone = split_half(pipe.set_params(logisticregression__C=1.0), X, Y, RUN, n_splits=2)
    np.testing.assert_allclose(curve.at(1).map, alone.map)
    with pytest.raises(ValueError, match="needs `param_range`"):
        pr_curve(pipe, X, Y, RUN, "logisticregression__C")
    with pytest.raises(ValueError, match="at least one value"):
        pr_curve(pipe, X, Y, RUN, "logisticregression__C", [])


def test_a_curve_over_numbers_of_variates_has_as_many_maps_as_the_largest():
    curve = pr_curve(PenalizedDiscriminant(), X, Y3, RUN, "n_components", [1, None], n_splits=2)
    few, all_of_them = (split_half(PenalizedDiscriminant(n_components=k), X, Y3, RUN, n_splits=2) for k in (1, None))
    assert curve.maps.shape == (2, 2, X.shape[1])
    np.testing.assert_allclose(curve.at(1).maps, all_of_them.maps)
    np.testing.assert_allclose(curve.at(0).maps[:1], few.maps)
    np.testing.assert_allclose(curve.reproducibility[:, 0], few.reproducibility)
    assert np.isnan(curve.maps[0, 1]).all() and np.isnan(curve.map_reproducibility[:, 0, 1]).all()


def test_values_of_a_curve_may_be_of_any_kind():
    values = ["equal", [0.3, 0.7], (0.5, 0.5)]
    curve = pr_curve(PenalizedDiscriminant(), X, Y, RUN, "priors", values, n_splits=2)
    assert list(curve.param_values) == values and "priors = " in str(curve)
    assert pr_curve(PenalizedDiscriminant(), X, Y, RUN, param_range=[1, 2], n_splits=2).param_values.dtype.kind in "if"


def test_models_of_all_rows_are_fitted_only_where_variates_need_an_order():
    fits = []

    class Counted(LogisticRegression):
        def fit(self, X, y):
            fits.append(len(X))
            return super().fit(X, y)

    split_half_null(Counted(C=1e-4), X, Y, RUN, n_permutations=5, n_splits=2)
    assert sum(n == len(X) for n in fits) <= 1


def test_threads_and_a_bar_change_nothing(capsys):
    alone = split_half(PenalizedDiscriminant(3.0), X, Y, RUN)
    with parallel_config(backend="threading"):
        many = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, n_jobs=2, verbose=True)
    np.testing.assert_array_equal(alone.map, many.map)
    assert capsys.readouterr().out == ""


@given(m=st.integers(2, 9))
def test_all_halves_are_distinct_and_none_is_missing(m):
    _, _, halves = half_splits(np.arange(m), None, "all", np.random.default_rng(0))
    brute = {
        min(frozenset(c), frozenset(range(m)) - frozenset(c), key=sorted) if m % 2 == 0 else frozenset(c)
        for c in combinations(range(m), m // 2)
    }
    found = {frozenset(np.flatnonzero(half)) for half in halves}
    assert found == brute and len(halves) == len(brute)


@settings(max_examples=20)
@given(m=st.sampled_from([20, 21]), seed=st.integers(0, 100))
def test_drawn_halves_are_distinct(m, seed):
    _, _, halves = half_splits(np.arange(m), None, 30, np.random.default_rng(seed))
    assert halves.shape == (30, m) and (halves.sum(axis=1) == m // 2).all()
    both = {half.tobytes() for half in halves} | {(~half).tobytes() for half in halves}
    assert len(both) == 60
    assert comb(m, m // 2) > 20_000  # these are drawn, not listed


def test_too_many_halves_are_refused_before_they_are_counted():
    with pytest.raises(ValueError, match=r"40 groups have 6\.89e\+10 splits"):
        half_splits(np.arange(40), None, "all", np.random.default_rng(0))


def test_halves_have_all_classes():
    groups, y = np.arange(8), np.array([0, 0, 0, 0, 0, 0, 1, 1])
    _, _, halves = half_splits(groups, y, "all", np.random.default_rng(0))
    assert len(halves) and (halves[:, 6] != halves[:, 7]).all()
    with pytest.raises(ValueError, match="in two groups at least"):
        half_splits(groups, np.arange(8) == 3, 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="two groups or more"):
        half_splits(np.zeros(8), y, 5, np.random.default_rng(0))


def test_bad_input_is_refused():
    model = PenalizedDiscriminant()
    with pytest.raises(ValueError, match="run or subject of each row"):
        split_half(model, X, Y, None)
    with pytest.raises(ValueError, match="NaN"):
        split_half(model, np.where(X > 3, np.nan, X), Y, RUN)
    with pytest.raises(ValueError, match="inconsistent"):
        split_half(model, X, Y[:-1], RUN)
    for senseless in (0, -1, 2.5, None, "most"):
        with pytest.raises(ValueError, match="n_splits"):
            split_half(model, X, Y, RUN, n_splits=senseless)
    with pytest.raises(TypeError, match="`denoiser` is"):
        split_half(model, X, Y, RUN, denoiser="pca")
    with pytest.raises(ValueError, match="must have the shape"):
        split_half(model, X, Y, RUN, denoiser=lambda train, rows: rows[:, :3])
    count = iter(range(1, 9))
    with pytest.raises(ValueError, match="cannot be compared"):
        split_half(model, X, Y, RUN, n_splits=1, maps=lambda model, rows: np.ones((next(count), 144)))
    with pytest.raises(ValueError, match="groups contains NaN"):
        split_half(PenalizedDiscriminant(), X, Y, np.where(RUN == 2, np.nan, RUN))
    with pytest.raises(ValueError, match="n_permutations"):
        split_half_null(PenalizedDiscriminant(), X, Y, RUN, n_permutations=0)


def test_results_say_what_they_are():
    result = split_half(PenalizedDiscriminant(3.0), X, Y, RUN, n_splits=2, denoiser=PCA(5), shared_basis=True)
    assert "2 splits of 6 groups, basis shared by the halves" in str(result)
    curve = pr_curve(PenalizedDiscriminant(), X, Y, RUN, n_splits=2)
    assert str(curve).startswith("alpha = ") and "nearest points" in str(curve)


def test_faces_and_houses_are_reproducible_in_the_brain():
    try:
        haxby = load_haxby(download_if_missing=False)
    except FileNotFoundError as absent:
        pytest.skip(str(absent).splitlines()[0])
    names = haxby.label_names.tolist()
    rows = np.isin(haxby.y, [names.index("face"), names.index("house")]) & (haxby.run <= np.unique(haxby.run)[3])
    values = haxby.X[rows].astype(float)
    for run in np.unique(haxby.run[rows]):
        mine = haxby.run[rows] == run
        values[mine] = (values[mine] - values[mine].mean(axis=0)) / values[mine].std(axis=0)
    result = split_half(PenalizedDiscriminant(10.0), values, haxby.y[rows], haxby.run[rows])
    null = split_half_null(PenalizedDiscriminant(10.0), values, haxby.y[rows], haxby.run[rows], n_permutations=19)
    assert result.prediction.mean() > 0.9 and result.reproducibility.mean() > 0.25
    assert null.p_values(result)["reproducibility"] == 0.05


@pytest.mark.parametrize("function", [pr_curve, split_half_null])
def test_functions_of_split_halves_have_the_same_options(function):
    found, options = (signature(each).parameters for each in (function, split_half))
    assert all(str(found[name]) == str(option) for name, option in options.items())
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got an unexpected keyword argument 'n_split'"):
        function(None, None, None, None, n_split=3)


def test_tensors_are_moved_to_the_host(monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    expected = split_half(PenalizedDiscriminant(), X, Y, RUN, n_splits=2)

    def refuse(*arguments, **options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.")

    tensor = torch.asarray(X)
    monkeypatch.setattr(torch.Tensor, "__array__", refuse)  # as tensors on a GPU do
    found = split_half(PenalizedDiscriminant(), tensor, Y, RUN, n_splits=2)
    np.testing.assert_array_equal(found.halves, expected.halves)
