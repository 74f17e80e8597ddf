"""Threads over blocks leave the process as they found it."""

import os
import subprocess
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from preimage._engine import threads as _threads
from preimage._engine.progress import report_progress, stage
from preimage._engine.threads import (
    SMALL,
    Helpers,
    Job,
    allowed_threads,
    at_most,
    available_threads,
    large_decomposition,
    on_own_threads,
    run_parallel,
    run_several,
    small_matrices,
)


def blas_threads():
    return sorted(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


@pytest.fixture
def eight(monkeypatch):
    """A process that may use eight threads, whatever the machine has."""
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    monkeypatch.setattr(_threads, "allowed_cores", lambda: 8)


def test_results_come_in_order(eight):
    assert run_parallel(lambda i: i * i, range(50)) == [i * i for i in range(50)]


def test_blas_is_limited_inside_and_restored_outside(eight):
    before = blas_threads()
    inside = run_parallel(lambda _: blas_threads(), range(2))
    assert all(set(counts) == {1} for counts in inside)
    assert blas_threads() == before


def test_small_matrices_wake_no_threads():
    before = blas_threads()
    with small_matrices(SMALL):
        assert set(blas_threads()) == {1}
        assert available_threads() == 1
    with small_matrices(SMALL + 1):
        assert blas_threads() == before
    assert blas_threads() == before


def test_large_decompositions_have_the_threads_of_the_caller():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with at_most(None):
            assert set(blas_threads()) == {1}
            with large_decomposition(SMALL + 1):
                assert max(blas_threads()) == available_threads()
            with large_decomposition(SMALL):
                assert set(blas_threads()) == {1}
            with at_most(1), large_decomposition(SMALL + 1):
                assert set(blas_threads()) == {1}
        with large_decomposition(SMALL + 1):  # nobody has set a limit that could be lifted
            assert blas_threads() == before
        assert blas_threads() == before


def test_blas_is_restored_after_an_error(eight):
    before = blas_threads()
    with pytest.raises(ZeroDivisionError):
        run_parallel(lambda i: 1 / i, range(4))
    assert blas_threads() == before
    assert run_parallel(lambda i: i, range(20)) == list(range(20))  # helpers are still there


def test_the_error_is_that_of_the_first_item_as_in_a_loop(eight):
    def work(i):
        time.sleep(0.02 if i == 3 else 0)
        if i >= 3:
            raise ValueError(f"item {i}")
        return i

    for _ in range(5):
        with pytest.raises(ValueError, match="item 3"):
            run_parallel(work, range(100))


def test_nothing_is_begun_after_an_error(eight):
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(0.01)
        raise ValueError

    with pytest.raises(ValueError):
        run_parallel(work, range(1000))
    assert len(begun) <= 16


def test_nested_work_stays_serial_where_all_threads_are_used(eight):
    outer = run_parallel(lambda i: run_parallel(lambda j: threading.get_ident(), range(3)), range(8))
    assert all(len(set(inner)) == 1 for inner in outer)


def test_nested_work_shares_the_threads_that_are_left(eight):
    assert run_parallel(lambda i: available_threads(), range(2)) == [4, 4]
    assert run_parallel(lambda i: available_threads(), range(5)) == [1] * 5
    assert run_parallel(lambda i: available_threads(), range(1)) == [8]
    sums = run_parallel(lambda i: sum(run_parallel(lambda j: i * j, range(10))), range(3))
    assert sums == [0, 45, 90]


def test_work_that_takes_memory_runs_a_few_at_a_time(eight):
    lock, running, most = threading.Lock(), [], []

    def work(item):
        with lock:
            running.append(item)
            most.append(len(running))
        time.sleep(0.002)
        with lock:
            running.remove(item)
        return item, available_threads()

    found = run_several(work, range(11), 3)
    assert found == [(item, 2) for item in range(11)]  # in order, and each with its part of the eight threads
    assert max(most) <= 3
    assert run_several(lambda _: available_threads(), range(3), 1) == [8] * 3
    assert run_several(lambda item: item, range(20), 100) == list(range(20))


def test_no_more_threads_than_allowed_run_at_a_time(eight):
    lock, running, most = threading.Lock(), set(), []

    def work(_):
        with lock:
            running.add(threading.get_ident())
            most.append(len(running))
        time.sleep(0.002)
        with lock:
            running.discard(threading.get_ident())

    run_parallel(lambda i: run_parallel(work, range(8)), range(3))
    assert max(most) <= 8


def test_an_item_that_is_held_up_holds_up_no_other(eight):
    release, done = threading.Event(), []

    def work(i):
        if i == 0:
            assert release.wait(10)
        else:
            done.append(i)
            if len(done) == 30:
                release.set()

    run_parallel(work, range(31))
    assert sorted(done) == list(range(1, 31))


def test_helpers_that_never_come_are_not_waited_for():
    class NoHelp(Helpers):
        def _serve(self):
            return

    assert NoHelp().run(Job(lambda i: i, range(5)), 3, 3) == list(range(5))


def test_settings_of_the_context_hold_in_all_threads(eight):
    with np.errstate(divide="raise"):
        assert set(run_parallel(lambda _: np.geterr()["divide"], range(16))) == {"raise"}


def test_pieces_side_by_side_report_no_progress(eight):
    def work(_):
        with stage("piece", 1) as advance:
            advance()

    messages = []
    with report_progress(lambda done, total, message: messages.append(message)):
        run_parallel(work, range(8))
    assert not messages


def test_concurrent_callers_do_not_leave_blas_limited(eight):
    before = blas_threads()
    work = lambda: [run_parallel(lambda i: np.ones((50, 50)) @ np.ones((50, 50)), range(20)) for _ in range(10)]
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_a_limit_of_another_thread_does_not_count():
    """BLAS has one thread while another fit runs, but later fits of this thread may use all cores."""
    with threadpool_limits(2, user_api="blas"):
        inside, leave, counts = threading.Event(), threading.Event(), []

        def other():
            with at_most(1):
                inside.set()
                leave.wait(10)

        thread = threading.Thread(target=other)
        before = available_threads()
        thread.start()
        assert inside.wait(10)
        counts.append(available_threads())
        leave.set()
        thread.join()
        assert counts == [before]


def test_the_users_limit_is_respected():
    with threadpool_limits(1):
        assert available_threads() == 1
        idents = run_parallel(lambda _: threading.get_ident(), range(4))
        assert set(idents) == {threading.get_ident()}


def test_n_jobs_is_respected(eight):
    with at_most(3):
        assert available_threads() == 3
        with at_most(5):
            assert available_threads() == 3
        with at_most(-1):
            assert available_threads() == 3
    with at_most(-2):
        assert available_threads() == 7
    with at_most(-100):
        assert available_threads() == 1
    with pytest.raises(ValueError, match="n_jobs=0"), at_most(0):
        pass
    assert on_own_threads(lambda: (available_threads(), set(blas_threads())))() == (8, {1})


def test_cores_and_the_cpu_quota_are_respected(monkeypatch):
    monkeypatch.setattr(_threads, "blas_threads", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)  # what joblib finds in the control group
    _threads._cores_within_quota.cache_clear()
    assert allowed_threads() == 3
    monkeypatch.setattr(joblib, "cpu_count", lambda: 20)
    _threads._cores_within_quota.cache_clear()
    assert allowed_threads() == 12
    monkeypatch.setattr(_threads, "blas_threads", lambda: 2)
    assert allowed_threads() == 2
    _threads._cores_within_quota.cache_clear()


def _threads_here(_):
    from preimage._engine.threads import allowed_threads

    return allowed_threads()


@pytest.mark.net
def test_workers_of_joblib_share_the_cores():
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        assert joblib.Parallel(2)(joblib.delayed(_threads_here)(i) for i in range(2)) == [1, 1]


def test_whoever_leaves_last_restores_the_number():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        stays = threading.Event()
        entered = threading.Event()

        def other():
            with at_most(None):
                entered.set()
                stays.wait(10)

        thread = threading.Thread(target=other)
        with at_most(1):
            thread.start()
            assert entered.wait(10)
        assert set(blas_threads()) == {1}
        stays.set()
        thread.join()
        assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_inside_is_not_limited(eight):
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with at_most(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # there are other threads, which the child lacks
            child = os.fork()
            if child == 0:
                free = blas_threads() == before and available_threads() == 8
                worked = run_parallel(lambda i: i + 1, range(20)) == list(range(1, 21))
                os._exit(0 if free and worked else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert blas_threads() == before


INTERRUPTED = """
import os, signal, threading, time
from threadpoolctl import threadpool_info
from preimage._engine import threads as _threads
_threads.allowed_threads = lambda: 4
counts = lambda: [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
before = counts()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    _threads.run_parallel(lambda i: time.sleep(0.05), range(1000))
except KeyboardInterrupt:
    assert counts() == before and _threads._caller.threads is None
    assert _threads.run_parallel(lambda i: i, range(8)) == list(range(8))
    print("as before")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_an_interrupt_restores_everything():
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    assert ran.stdout == "as before\n", ran.stderr


def test_an_interrupt_between_two_items_does_not_wait_for_the_item_just_taken():
    class Interrupted(Job):
        def _next(self, *arguments, **options):
            number = super()._next(*arguments, **options)
            if threading.current_thread() is caller:
                raise KeyboardInterrupt
            return number

    def run():
        with pytest.raises(KeyboardInterrupt):
            Helpers().run(Interrupted(lambda i: time.sleep(0.001), range(20)), 2, 2)

    caller = threading.Thread(target=run, daemon=True)
    caller.start()
    caller.join(timeout=30)
    assert not caller.is_alive()


def test_the_process_ends_while_helpers_wait():
    code = (
        "from preimage._engine import threads as t; t.allowed_threads = lambda: 4; print(t.run_parallel(abs, [1, 2]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (0, "[1, 2]\n"), ran.stderr
