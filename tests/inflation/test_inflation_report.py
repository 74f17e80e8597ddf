"""Reports say what was measured, in numbers and in words."""

import json
import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from preimage import KernelPCA, Renormalized, inflation_report
from preimage.inflation import linear_leave_one_out

RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(40, 500))
TALL = RNG.normal(size=(200, 4)) * [4, 2, 1, 0.5]


def two_classes(separation, n=48, d=400):
    y = (np.arange(n) % 4 == 0).astype(int)
    X = np.random.default_rng(1).normal(size=(n, d))
    X[:, 0] += separation * y
    return X, y


def test_numbers_are_those_of_leave_one_out():
    report = inflation_report(PCA(3), WIDE)
    scores = linear_leave_one_out(WIDE, 3)
    np.testing.assert_allclose(report.ratios, scores.inflation)
    np.testing.assert_allclose(report.train_std, scores.train.std(axis=0))
    np.testing.assert_allclose(report.left_out_std, scores.left_out.std(axis=0))
    assert report.inflated.all() and ((report.overlap > 0) & (report.overlap < 0.9)).all()
    assert report.method == "affine" and report.dependence.n_pairs == 3
    assert report.errors is None and report.scores is None and report.signal is None
    assert (report.ratios_low < report.ratios).all() and (report.ratios < report.ratios_high).all()


def test_inflation_without_classes_is_all_that_can_be_said():
    report = inflation_report(PCA(3), WIDE)
    assert "Use Renormalized around PCA" in report.recommendation and "Give y as well" in report.recommendation
    assert report.answers["signal"].startswith("Unknown") and report.answers["inflation"].startswith("Yes")


def test_data_without_inflation_need_nothing():
    report = inflation_report(PCA(2), TALL)
    assert report.method == "none" and not report.inflated.any() and (report.overlap > 0.9).all()
    assert report.answers["inflation"].startswith("No") and report.recommendation == "Use PCA as it is."


def test_classes_tell_whether_correction_helps():
    X, y = two_classes(6.0)
    report = inflation_report(PCA(3), X, y)
    assert report.scores["corrected"] > report.scores["as they are"] and report.scores["largest class"] == 0.5
    assert report.errors["corrected"] < report.errors["as they are"] and report.errors["largest class"] == 0.25
    assert report.recommends_correction and report.gain > 2 * report.gain_error > 0
    assert all(answer.startswith("Yes") for answer in report.answers.values())
    accuracy = inflation_report(PCA(3), X, y, scoring="accuracy")
    assert accuracy.scores["as they are"] == pytest.approx(1 - accuracy.errors["as they are"])


@pytest.mark.parametrize(
    "model",
    [
        PCA(3),
        pytest.param(SVC(), marks=pytest.mark.net),
        pytest.param(make_pipeline(StandardScaler(), SVC(class_weight="balanced")), marks=pytest.mark.net),
    ],
    ids=str,
)
def test_noise_has_no_signal_and_correction_is_not_recommended(model):
    recommended, found = 0, []
    for seed in range(12):
        X, y = np.random.default_rng(seed).normal(size=(60, 100)), np.arange(60) < 24
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # left-out decisions that name wrong classes, by chance
            report = inflation_report(model, X, y, n_permutations=0)
        recommended += report.recommends_correction
        found.append(report.signal.verdict)
        assert ("no sign" in report.recommendation) == (found[-1] == "no")
        assert report.answers["signal"].startswith(
            {"yes": "Yes", "no": "No sign of signal"}.get(found[-1], "Cannot tell")
        )
        assert report.inflated.any()
    assert recommended <= 1 and found.count("yes") <= 1 and found.count("no") >= 4


def test_components_without_signal_are_left_alone():
    X, y = two_classes(0.0)
    report = inflation_report(PCA(3), X, y, classifier=GaussianNB())
    assert report.method == "none" and report.inflated.any() and not report.recommends_correction
    np.testing.assert_array_equal(report.corrected, report.left_out)


def test_signal_and_gain_of_classifiers():
    X, y = two_classes(7.0)
    report = inflation_report(SVC(gamma=1 / 400), X, y)
    assert report.kind == "classifier" and report.names == ["decision"] and report.ratios.shape == (1,)
    assert report.scores["training"] == 1
    left_out = report.left_out[:, 0] > 0
    assert report.errors["as they are"] == pytest.approx(np.mean(left_out != y))
    assert report.scores["as they are"] == pytest.approx(np.mean([np.mean(left_out[y == k] == k) for k in (0, 1)]))
    assert report.signal.p_value < 1e-3 and report.signal.auc > 0.9
    assert report.recommends_correction and "'threshold'" in report.recommendation


def test_groups_and_weights_are_those_of_renormalized():
    X, y = two_classes(6.0)
    groups = np.arange(48) // 8
    report = inflation_report(PCA(3), X, y, groups=groups)
    model = Renormalized(PCA(3)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(report.ratios, model.inflation_)
    weights = np.where(np.arange(48) % 3 == 0, 2.0, 1.0)
    report = inflation_report(SVC(), X, y, sample_weight=weights)
    np.testing.assert_array_equal(report.ratios, Renormalized(SVC()).fit(X, y, sample_weight=weights).inflation_)


def test_several_classes_have_a_row_each():
    y = np.array(["a", "b", "c"] * 10)
    X = WIDE[:30] + 4 * np.eye(500)[np.arange(30) % 3]
    report = inflation_report(SVC(), X, y, cv=5)
    assert report.names == ["class a", "class b", "class c"] and len(report.to_frame()) == 3


def test_values_of_new_samples_come_plain_and_corrected():
    report = inflation_report(PCA(2), WIDE)
    new = RNG.normal(size=(15, 500))
    plain, corrected = report.values_of(new)
    np.testing.assert_allclose(plain, report.model.transform(new))
    np.testing.assert_allclose(corrected, Renormalized(PCA(2)).fit(WIDE).transform(new))


def test_a_renormalized_estimator_stands_for_what_it_wraps():
    direct, wrapped = inflation_report(PCA(2), WIDE), inflation_report(Renormalized(PCA(2)), WIDE)
    np.testing.assert_array_equal(direct.ratios, wrapped.ratios)


def test_printed_and_drawn_in_notebooks():
    report = inflation_report(make_pipeline(StandardScaler(), PCA(14)), WIDE)
    text, page = str(report), report._repr_html_()
    assert text.startswith("Variance inflation of a pipeline with PCA on 40 samples with 500 variables")
    assert "component 12" in text and "component 13" not in text and "... and 2 more" in text
    assert report.recommendation in text and page.count("<tr>") == 13 and "component 12" in page
    assert "method='affine'" in repr(report)
    assert "<script" not in inflation_report(SVC(), WIDE, np.array(["<script>", "x"] * 20))._repr_html_()


def test_as_a_frame():
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = inflation_report(PCA(3), WIDE).to_frame()
    assert list(frame.columns) == ["train std", "left-out std", "ratio", "from", "to", "overlap", "inflated"]
    assert list(frame.index) == ["component 1", "component 2", "component 3"]


def test_as_plain_values():
    y = np.arange(40) < 12
    for report in (inflation_report(PCA(3), WIDE), inflation_report(SVC(), WIDE + 0.5 * y[:, None], y)):
        found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert [row["name"] for row in found["values"]] == report.names and found["answers"] == report.answers
        assert [row["ratio"] for row in found["values"]] == report.ratios.tolist()
        assert [row["inflated"] for row in found["values"]] == report.inflated.tolist()
        assert found["recommends_correction"] == report.recommends_correction and found["method"] == report.method
        has_classes = report.signal is not None
        assert all((found[key] is not None) == has_classes for key in ("signal", "gain", "scores", "errors"))
        if has_classes:
            assert found["gain"] == {"value": report.gain, "error": report.gain_error}
            assert found["signal"]["area_under_the_curve"] == report.signal.auc


def test_regression_targets_do_not_make_a_guard():
    report = inflation_report(PCA(2), WIDE, RNG.normal(size=40), n_permutations=0)
    assert report.errors is None and report.dependence is None


def test_same_seed_same_report():
    first, second = (inflation_report(PCA(3), WIDE, random_state=3) for _ in range(2))
    assert str(first) == str(second)


def test_rounding_errors_teach_nothing():
    with pytest.warns(UserWarning, match="vanish"):
        report = inflation_report(KernelPCA(2, gamma=10.0), WIDE)
    assert report.method == "none" and report.inflated.all()
    assert "rounding errors only" in report.answers["inflation"] and "smaller gamma" in report.recommendation


def test_errors_say_what_is_missing():
    with pytest.raises(ValueError, match=r"inflation_report\(SVC\(\)\) requires y"):
        inflation_report(SVC(), WIDE)
    with pytest.raises(TypeError, match=r"inflation_report corrects .* has no decision_function"):
        inflation_report(GaussianNB(), WIDE, np.arange(40) % 2)
    with pytest.raises(TypeError, match=r"no decision_function\. Probabilities alone .*TunedThresholdClassifierCV"):
        inflation_report(GaussianNB(), WIDE, np.arange(40) % 2)
    with pytest.raises(TypeError, match=r"has no transform\. Predictions of a regressor are not corrected\. Take Kern"):
        inflation_report(SVR(), WIDE, RNG.normal(size=40))


def test_labels_that_are_no_classes_are_refused_by_name():
    classes = np.where(np.arange(40) % 3, "healthy", "ill").astype(object)
    with pytest.raises(ValueError, match=r"one class per row of X; got \d+ rows and 40 classes\. .*pass X\.T"):
        inflation_report(SVC(), WIDE.T, classes)
    with pytest.raises(ValueError, match=r"got 40 rows and 39 classes\. Leave out rows without a class"):
        inflation_report(SVC(), WIDE, classes[:39])
    for hole in (None, np.nan):
        with pytest.raises(ValueError, match=r"y has none in 2 of 40 rows, the first is row 5\. Leave these rows out"):
            inflation_report(SVC(), WIDE, [hole if i in (5, 9) else each for i, each in enumerate(classes)])
    with pytest.raises(ValueError, match=r"needs classes as y; got numbers such as .*40 different ones.*np.digitize"):
        inflation_report(SVC(), WIDE, RNG.normal(size=40))


def test_the_text_has_the_probability_of_such_a_signal_by_chance():
    report = inflation_report(PCA(3), WIDE, np.arange(40) % 2, n_permutations=0)
    assert f"(p = {report.signal.p_value:.2g})" in report.answers["signal"] and report.answers["signal"] in str(report)
