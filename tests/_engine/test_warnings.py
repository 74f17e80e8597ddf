"""Warnings name the line of the user."""

import sys
import threading
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import EmpiricalKernelMap, KernelPCA, OrientedKernelPCA
from preimage._engine.threads import at_most, run_parallel
from preimage._engine.warnings import ignored, raised, warn_user
from preimage._models.components._landmark_principal import select_landmarks
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, RankWarning
from preimage.kernels import Gaussian, Sigmoid
from preimage.landmarks import Uniform


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3))


def hard_to_find(X):
    return KernelPCA(2, gamma=0.5, eigen_solver="block_krylov", max_iter=1, tol=1e-12).fit(np.repeat(X, 3, axis=0))


@pytest.mark.parametrize(
    ("use", "category"),
    [
        (lambda X: KernelPCA(10, kernel="linear").fit(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear").fit_transform(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear", n_jobs=1).fit(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear", landmarks=20).fit(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear", landmarks=20, n_jobs=1).partial_fit(X), RankWarning),
        (lambda X: KernelPCA(3, gamma=1e6).fit(X), UserWarning),
        (lambda X: KernelPCA(kernel=Sigmoid(2.0, 1.0)).fit(X), IndefiniteKernelWarning),
        (lambda X: OrientedKernelPCA(10, kernel="linear").fit(X), RankWarning),
        (lambda X: make_pipeline(StandardScaler(), KernelPCA(10, kernel="linear")).fit(X), RankWarning),
        (lambda X: make_pipeline(KernelPCA(10, kernel="linear"), StandardScaler()).fit(X), RankWarning),
        (lambda X: EmpiricalKernelMap(kernel=Sigmoid(2.0, 1.0), whiten=True).fit(X), IndefiniteKernelWarning),
        (hard_to_find, ConvergenceWarning),
    ],
)
def test_the_line_is_here(use, category, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use(X)
    caught = [warning for warning in caught if issubclass(warning.category, category)]
    assert caught and {warning.filename for warning in caught} == {__file__}


def test_threads_leave_the_filters_as_they_were(rng):
    """Filters belong to the process: threads that set them side by side would restore those of each other."""
    X, before = rng.normal(size=(300, 4)), list(warnings.filters)
    inside = threading.Barrier(2)

    def select(number):
        inside.wait(10)
        for _ in range(20):
            select_landmarks(Uniform(10, random_state=number), Gaussian(0.5), X, None)

    threads = [threading.Thread(target=select, args=(number,)) for number in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    after, warnings.filters[:] = list(warnings.filters), before
    assert after == before


def test_warnings_are_ignored_or_raised_in_threads_that_work_for_the_caller():
    def warn(number):
        warn_user("few", RankWarning)

    with warnings.catch_warnings(), at_most(2):
        warnings.simplefilter("error")
        with ignored(RankWarning):
            run_parallel(warn, range(4))
        with raised(UserWarning), pytest.raises(RankWarning, match="few"):
            run_parallel(warn, range(4))
        with raised(RankWarning), ignored(RankWarning):  # the inner one counts
            run_parallel(warn, range(4))
        with ignored(ConvergenceWarning), pytest.raises(RankWarning, match="few"):
            warn(0)
