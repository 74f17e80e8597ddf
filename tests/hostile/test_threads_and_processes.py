"""Ctrl-C in any fit, threads that share models, forked and spawned processes: nothing is left behind or differs."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import all_estimators
import joblib
import numpy as np
import pytest
from all_estimators import MODELS, X, Y, answers
from folders import LIBRARY
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from preimage import KernelFisherDiscriminant, KernelPCA, Renormalized
from preimage._engine import threads as _threads
from preimage._engine.threads import at_most

OTHER = np.random.default_rng(0).permutation(X.T).T * 1.5  # other rows of the same shape
# Parts of all calls of a fit after which Ctrl-C comes.
MOMENTS = (0.05, 0.5, 0.97)
FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
pytestmark = pytest.mark.filterwarnings("ignore:This process .*multi-threaded:DeprecationWarning")


def settings():
    """What a fit may change for its time and must restore."""
    blas = sorted(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
    return blas, _threads._caller.threads, list(warnings.filters), np.geterr()


def same(found, expected):
    return found.keys() == expected.keys() and all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.fixture(scope="module")
def fitted():
    return {name: make() for name, make in MODELS.items()}


@pytest.fixture(scope="module")
def expected(fitted):
    return {name: answers(model) for name, model in fitted.items()}


class CtrlC:
    """Counts calls from functions of this library, and raises KeyboardInterrupt at one of them."""

    def __init__(self, at=None):
        self.at, self.count = at, 0

    def __call__(self, frame, event, argument):
        # No signal comes between the end of a `with` statement and the function in C that releases its lock.
        is_release = event == "c_call" and getattr(argument, "__name__", "") == "__exit__"
        if event in {"call", "c_call"} and not is_release and frame.f_code.co_filename.startswith(LIBRARY):
            self.count += 1
            if self.count == self.at:
                raise KeyboardInterrupt

    def during(self, work):
        """Whether `work` was interrupted."""
        sys.setprofile(self)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return False


def again(name, model=None):
    """Fit a model of the list, or one of other rows in the same object."""
    if model is None or name.startswith("compressed ") or name == "sparse Fisher":
        MODELS[name]()
    else:
        model.fit(OTHER, all_estimators.TWO if isinstance(model, Renormalized) else Y)


@pytest.mark.parametrize("name", MODELS)
def test_an_interrupted_fit_leaves_everything_as_it_was(name, expected):
    """Settings of the process are restored, and a model is neither a mixture of two fits nor half of one."""
    before, calls, model = settings(), CtrlC(), MODELS[name]()
    calls.during(lambda: again(name, MODELS[name]()))
    for moment in MOMENTS:
        if CtrlC(max(1, int(moment * calls.count))).during(lambda: again(name, model)):
            assert same(answers(model), expected[name])
        else:  # fits that were done before take fewer steps
            model.__dict__ = vars(MODELS[name]())
        assert settings() == before
    unfitted = vars(clone(model)).keys()
    empty = clone(model)
    if CtrlC(calls.count // 2).during(lambda: again(name, empty)):
        assert vars(empty).keys() == unfitted
    assert same(answers(MODELS[name]()), expected[name])


SIGNAL = """
import os, signal, sys, threading, time
import numpy as np
from threadpoolctl import threadpool_info
from preimage import KernelPCA
from preimage._engine import threads as _threads
_threads.allowed_threads = lambda: 4
counts = lambda: [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
X = np.random.default_rng(0).normal(size=(1500, 10))
before, expected = counts(), KernelPCA(5, gamma=0.1).fit(X[:300]).transform(X[:5])
for moment in (0.01, 0.05, 0.15):
    threading.Timer(moment, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        for _ in range(1000):
            KernelPCA(5, gamma=0.1).fit(X)
    except KeyboardInterrupt:
        assert counts() == before and _threads._caller.threads is None
assert np.array_equal(KernelPCA(5, gamma=0.1).fit(X[:300]).transform(X[:5]), expected)
print("as before")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_signals_from_outside():
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", SIGNAL], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert ran.stdout == "as before\n", ran.stderr


def test_eight_threads_get_the_same_answers_from_one_model(fitted, expected):
    before = settings()

    def ask(number):
        names = list(fitted)
        names = names[3 * number :] + names[: 3 * number]
        return [name for name in names if not same(answers(fitted[name]), expected[name])]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [[]] * 8
    assert settings() == before


def test_eight_threads_fit_at_the_same_time(expected):
    before, names = settings(), list(MODELS)

    def fit(number):
        return [name for name in names[number::8] if not same(answers(MODELS[name]()), expected[name])]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(fit, range(8))) == [[]] * 8
    assert settings() == before


def in_child(work):
    """Exit code of a forked child that ends with 0 if `work()` is true; one that hangs is killed."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    monkeypatch.setattr(_threads, "allowed_cores", lambda: 4)


@FORK
def test_a_child_fits_after_its_parent_did(four_threads, expected):
    rows = np.random.default_rng(0).normal(size=(1500, 5))
    there = KernelPCA(3, gamma=0.2).fit(rows).transform(rows[:5])
    here = lambda: np.array_equal(KernelPCA(3, gamma=0.2).fit(rows).transform(rows[:5]), there)
    assert in_child(here) == 0
    assert here()


@FORK
def test_forks_while_another_thread_computes(four_threads):
    rows, stop, failures = np.random.default_rng(0).normal(size=(1200, 5)), threading.Event(), []
    model = KernelPCA(3, gamma=0.2).fit(rows)
    there = model.transform(rows)

    def compute():
        while not stop.is_set():
            if not np.array_equal(KernelPCA(3, gamma=0.2).fit(rows).transform(rows), there):
                failures.append("parent")

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        for _ in range(3):
            time.sleep(0.03)
            assert in_child(lambda: np.array_equal(model.transform(rows), there) and _fits_as(rows, there)) == 0
    finally:
        stop.set()
        thread.join()
    assert not failures


def _fits_as(rows, there):
    return np.array_equal(KernelPCA(3, gamma=0.2).fit(rows).transform(rows), there)


SENT = ("KernelPCA", "CompressedClassifier")


def test_workers_of_joblib_answer_the_same(fitted, expected):
    found = joblib.Parallel(2)(joblib.delayed(answers)(fitted[name]) for name in SENT)
    for name, each in zip(SENT, found, strict=True):
        assert each.keys() == expected[name].keys()
        assert all(np.allclose(each[key], expected[name][key], rtol=1e-10, atol=1e-12) for key in each)


def test_searches_in_processes_and_in_threads_find_the_same():
    searches = [
        (make_pipeline(KernelPCA(3), LogisticRegression()), {"kernelpca__gamma": [0.1, 1.0]}),
        (KernelFisherDiscriminant(), {"gamma": [0.1, 1.0]}),
        (Renormalized(SVC()), {"estimator__gamma": [0.1, 1.0]}),
    ]
    for model, grid in searches:
        labels = all_estimators.TWO if isinstance(model, Renormalized) else Y
        scores = []
        for backend in ("sequential", "loky", "threading"):
            with joblib.parallel_config(backend=backend, n_jobs=2):
                search = GridSearchCV(model, grid, cv=2).fit(X, labels)
            scores.append(search.cv_results_["mean_test_score"])
        assert np.allclose(scores, scores[0], rtol=1e-10)


def _in_spawned(queue, data):
    model = pickle.loads(data)
    queue.put((model.transform(X[:5]), KernelPCA(3, gamma=0.5).fit(X).transform(X[:5])))


def test_spawned_processes():
    model = KernelPCA(3, gamma=0.5).fit(X)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_in_spawned, args=(queue, pickle.dumps(model)))
    process.start()
    for found in queue.get(timeout=120):
        assert np.allclose(found, model.transform(X[:5]), rtol=1e-10)
    process.join()
    assert process.exitcode == 0


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_limits_of_threadpoolctl_in_another_thread(first):
    """Limits that overlap without one being inside the other; a number that others have set stays."""
    blas = lambda: max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        if first == "theirs":
            theirs = threadpool_limits(1, user_api="blas")
            with at_most(None):
                theirs.restore_original_limits()
            assert blas() == before
        else:
            with at_most(None), threadpool_limits(2, user_api="blas"):
                pass
            assert blas() == before
