"""One hook for progress: who is told, of what, and how often."""

import re
from contextlib import ExitStack
from threading import Thread
from unittest import TestCase

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from preimage import (
    CompressedClassifier,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    Renormalized,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
    compress,
    inflation_report,
    load,
    report_progress,
)
from preimage._engine.progress import (
    MOST_SUBTASKS,
    ProgressBar,
    ReportsProgress,
    _listeners,
    progress_bar,
    reports_progress,
    stage,
)
from preimage.eigensolvers import BlockKrylov
from preimage.landmarks import SparseGreedy
from preimage.model_selection import DenoisingSearch, WidthSearch


class Walker(ReportsProgress, BaseEstimator):
    """Fits in one stage of `n_steps`, each of which has a stage of its own."""

    def __init__(self, n_steps=3, verbose=False):
        self.n_steps = n_steps
        self.verbose = verbose

    @reports_progress
    def fit(self, X=None, y=None):
        with stage("Walking", self.n_steps) as advance:
            for _ in range(self.n_steps):
                with stage("Inside", 1) as inner:
                    inner()
                advance()
        return self

    @reports_progress
    def fit_transform(self, X=None, y=None):
        return self.fit(X, y)


class Recorder:
    """A callback with the protocol of scikit-learn's callbacks."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))


def calls_of(work):
    calls = []
    with report_progress(lambda *call: calls.append(call)):
        work()
    return calls


def test_a_stage_is_told_from_its_start_to_its_end():
    assert calls_of(Walker(2).fit) == [(0, 2, "Walking"), (1, 2, "Walking"), (2, 2, "Walking")]


def test_nobody_is_told_outside():
    calls = calls_of(lambda: None)
    Walker().fit()
    assert calls == []


def test_all_listeners_are_told():
    inner = []
    outer = calls_of(lambda: inner.extend(calls_of(Walker(1).fit)))
    assert outer == inner == [(0, 1, "Walking"), (1, 1, "Walking")]


def test_unknown_and_wrong_totals_are_known_at_the_end():
    def work():
        with stage("Open") as advance:
            advance(5)
        with stage("Short", 10, done=4) as advance:
            advance()

    opened = [(0, None, "Open"), (5, None, "Open"), (5, 5, "Open")]
    assert calls_of(work) == [*opened, (4, 10, "Short"), (5, 10, "Short"), (5, 5, "Short")]


def test_steps_of_threads_are_counted_one_by_one():
    def work():
        with stage("Threads", 200) as advance:
            threads = [Thread(target=lambda: [advance() for _ in range(50)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    assert [done for done, _, _ in calls_of(work)] == list(range(201))


def test_a_failing_stage_leaves_listeners_as_they_were():
    def fail():
        with stage("Failing", 2):
            raise RuntimeError

    def work():
        with pytest.raises(RuntimeError):
            fail()
        Walker(1).fit()

    assert [message for _, _, message in calls_of(work)] == ["Failing", "Walking", "Walking"]


def test_verbose_writes_a_line_a_stage_where_there_is_no_terminal(capsys):
    Walker(verbose=True).fit_transform()
    assert re.fullmatch(r"Walking: 3 in \d+\.\d s\n", capsys.readouterr().err)
    Walker(verbose=False).fit()
    with progress_bar(True):
        Walker(verbose=True).fit()
    assert capsys.readouterr().err.count("\n") == 1


def test_the_bar_is_drawn_over_and_removed_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("preimage._engine.progress.SECONDS_BETWEEN_DRAWINGS", 0)
    bar = ProgressBar()
    for done in (0, 500, 1000):
        bar(done, 1000, "Walking")
    drawn = capsys.readouterr().err
    assert "[............" in drawn and "500/1,000" in drawn and "left" in drawn
    assert drawn.endswith(" \r") and "\n" not in drawn
    bar(7, None, "Counting")
    bar.clear()
    assert "Counting: 7" in capsys.readouterr().err


def test_scikit_learns_callbacks_hear_stages_as_tasks():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    Walker(2).set_callbacks(recorder).fit_transform()
    step = [("begin", "Walking", 0), ("end", "Walking")]
    stages = [("begin", "Walking", 2), *step, *step, ("end", "Walking")]
    assert recorder.events == ["setup", ("begin", "fit", None), *stages, ("end", "fit"), "teardown"]


def test_scikit_learns_callbacks_hear_of_many_steps_as_hundredths():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    Walker(1234).set_callbacks(recorder).fit()
    assert recorder.events.count(("begin", "Walking", 0)) == MOST_SUBTASKS


def test_scikit_learns_searches_hand_their_bar_down():
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(Walker(), {"n_steps": [1, 2]}, scoring=lambda model, X, y=None: model.n_steps, cv=2)
    recorder = Recorder()
    recorder.max_propagation_depth = None
    assert isinstance(recorder, callback.AutoPropagatedCallback)
    search.set_callbacks(recorder).fit([[0.0]] * 4)
    assert recorder.events.count("setup") == 1 and recorder.events.count(("begin", "Walking", 2)) == 3


X, Y = make_moons(120, noise=0.2, random_state=0)
STAGES = {
    "KernelPCA": (lambda: KernelPCA(3, gamma=1.0, eigen_solver=BlockKrylov()), "Finding eigenvectors"),
    "KernelPCA on landmarks": (lambda: KernelPCA(3, gamma=1.0, landmarks=SparseGreedy(20)), "Selecting landmarks"),
    "KernelKMeans": (lambda: KernelKMeans(2, gamma=1.0), "Kernel k-means"),
    "KernelKMeans on landmarks": (lambda: KernelKMeans(2, gamma=1.0, landmarks=20), "k-means on landmarks"),
    "KernelNoveltyDetector on landmarks": (
        lambda: KernelNoveltyDetector(gamma=1.0, landmarks=SparseGreedy(20)),
        "Selecting landmarks",
    ),
    "KernelFisherDiscriminantCV": (lambda: KernelFisherDiscriminantCV(gammas=[1.0, 2.0]), "Choosing the width"),
    "KernelFisherDiscriminant": (KernelFisherDiscriminant, "Finding discriminants"),
    "sparse Fisher": (lambda: KernelFisherDiscriminant(sparsity=5), "Finding discriminants"),
    "Fisher on landmarks": (lambda: KernelFisherDiscriminant(landmarks=SparseGreedy(20)), "Selecting landmarks"),
    "OrientedKernelPCA": (lambda: OrientedKernelPCA(1), "Finding an orthonormal frame"),
    "OrientedKernelPCA on landmarks": (lambda: OrientedKernelPCA(1, landmarks=SparseGreedy(20)), "Selecting landmarks"),
    "SemiSupervisedKernelPCA": (lambda: SemiSupervisedKernelPCA(1), "Finding an orthonormal frame"),
    "semi-supervised on landmarks": (
        lambda: SemiSupervisedKernelPCA(1, landmarks=SparseGreedy(20)),
        "Selecting landmarks",
    ),
    "SparseGreedyClassifier": (lambda: SparseGreedyClassifier(10), "Selecting landmarks"),
    "SparseGreedyDetector": (lambda: SparseGreedyDetector(10), "Minimising losses"),
    "SparseGreedyRegressor": (lambda: SparseGreedyRegressor(10), "Selecting landmarks"),
    "KernelProjectionPursuit": (lambda: KernelProjectionPursuit(1, n_principal=3), "Searching directions"),
    "LinearProgrammingClassifier": (lambda: LinearProgrammingClassifier(10), "Solving linear programs"),
    "LinearProgrammingRegressor": (lambda: LinearProgrammingRegressor(10), "Solving linear programs"),
    "SparseKernelFeatureAnalysis": (lambda: SparseKernelFeatureAnalysis(10), "Selecting landmarks"),
    "CompressedClassifier": (lambda: CompressedClassifier(SVC(gamma=1.0), method="select"), "Sizes tried"),
    "CompressedClassifier of a size": (lambda: CompressedClassifier(SVC(gamma=1.0), 8), "Finding points"),
    "Renormalized SVC": (lambda: Renormalized(SVC(gamma=1.0)), "Leaving out samples"),
    "Renormalized KernelPCA": (lambda: Renormalized(KernelPCA(2, gamma=1.0)), "Finding eigenvectors"),
    "Renormalized by refits": (lambda: Renormalized(KernelPCA(2, gamma=1.0), cv=3), "Leaving out samples"),
    "WidthSearch": (lambda: WidthSearch(SVC()), "Pairs of points"),
    "DenoisingSearch": (
        lambda: DenoisingSearch(added_noise=0.1, gammas=[1.0, 2.0], n_components=[4]),
        "Choosing the model",
    ),
}


@pytest.mark.parametrize(("make", "message"), STAGES.values(), ids=STAGES)
def test_long_fits_report_their_stages(make, message, capsys):
    calls = calls_of(lambda: make().fit(X, Y))
    of_stage = [call for call in calls if call[2] == message]
    assert of_stage[0][0] == 0 and of_stage[-1][0] == of_stage[-1][1] > 0
    make().set_params(verbose=True).fit(X, Y)
    assert f"{message}: " in capsys.readouterr().err


def test_passes_over_rows_count_them(block_shape):
    calls = calls_of(lambda: KernelPCA(2, gamma=1.0, landmarks=20).fit(X))
    assert [call for call in calls if call[2] == "Learning from rows"][-1][:2] == (120, 120)


def test_pre_images_are_counted(tmp_path, capsys):
    model = KernelPCA(2, gamma=1.0, preimage="fixed_point", verbose=True).fit(X)
    for work in (model.denoise, lambda rows: model.inverse_transform(model.transform(rows))):
        calls = calls_of(lambda work=work: work(X))
        assert calls[0] == (0, 120, "Finding pre-images") and calls[-1] == (120, 120, "Finding pre-images")
        assert "Finding pre-images: 120" in capsys.readouterr().err
    assert calls_of(lambda: KernelPCA(2, gamma=1.0).fit(X).inverse_transform(X))[-1] == (
        1,
        1,
        "Learning a map to inputs",
    )
    mapped = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    for work in (model.transform, model.denoise):
        assert calls_of(lambda work=work: work(mapped))[-1] == (120, 120, "Rows of a memory map")


def test_functions_report_their_stages(capsys):
    svc = SVC(gamma=1.0).fit(X, Y)
    assert calls_of(lambda: compress(svc, X=X, method="select"))[-1][2] == "Sizes tried"
    compress(svc, X=X, method="select", verbose=True)
    assert "Sizes tried: " in capsys.readouterr().err
    inflation_report(SVC(), X, Y, verbose=True)
    assert "Leaving out samples: " in capsys.readouterr().err
    Renormalized(KernelPCA(2, gamma=1.0), cv=3, verbose=True).fit_transform(X)
    assert "Leaving out samples: " in capsys.readouterr().err


def test_models_with_callbacks_can_be_saved(tmp_path):
    pytest.importorskip("sklearn.callback")
    pytest.importorskip("safetensors")
    model = KernelPCA(2, gamma=1.0).set_callbacks(Recorder()).fit(X)
    model.save(tmp_path / "model.safetensors")
    assert (load(tmp_path / "model.safetensors").transform(X) == model.transform(X)).all()


def test_stacks_and_test_cases_enter_it_as_a_with_statement_does():
    calls = []
    with ExitStack() as stack:
        stack.enter_context(report_progress(lambda *call: calls.append(call)))
        Walker(1).fit()
    Walker(1).fit()
    assert calls == [(0, 1, "Walking"), (1, 1, "Walking")]

    class Case(TestCase):
        def runTest(self):
            self.enterContext(report_progress(lambda *call: calls.append(call)))
            Walker(1).fit()

    result = Case().run()
    assert result.wasSuccessful()
    assert len(calls) == 4
    assert _listeners.get() is None


def test_it_decorates_functions_which_may_call_themselves():
    calls = []

    @report_progress(lambda *call: calls.append(call))
    def countdown(n):
        """Counts."""
        if n:
            countdown(n - 1)
        Walker(1).fit()
        return n

    assert countdown(1) == 1
    assert countdown.__doc__ == "Counts."
    assert len(calls) == 2 * 2 + 2  # both calls listen to the inner walk
    assert _listeners.get() is None


def test_listeners_join_those_that_are_there_when_they_are_entered():
    first, second = [], []
    one, two = report_progress(lambda *call: first.append(call)), report_progress(lambda *call: second.append(call))
    with one, two:
        Walker(1).fit()
    assert first == second == [(0, 1, "Walking"), (1, 1, "Walking")]
    assert _listeners.get() is None


def test_one_that_is_entered_twice_leaves_nothing_behind():
    listener = report_progress(lambda *call: None)
    with listener, listener:
        pass
    assert _listeners.get() is None
    with pytest.raises(ZeroDivisionError), listener:
        raise ZeroDivisionError
    assert _listeners.get() is None
