"""Threads over blocks leave the process as they found it."""

import os
import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from preimage._threads import SMALL, at_most, available_threads, run_parallel, single_threaded_blas, small_matrices


def blas_threads():
    return sorted(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_results_come_in_order():
    assert run_parallel(lambda i: i * i, range(50)) == [i * i for i in range(50)]


def test_blas_is_limited_inside_and_restored_outside():
    before = blas_threads()
    inside = run_parallel(lambda _: blas_threads(), range(2))
    if max(before) > 1:
        assert all(set(counts) == {1} for counts in inside)
    assert blas_threads() == before


def test_small_matrices_wake_no_threads():
    before = blas_threads()
    with small_matrices(SMALL):
        assert set(blas_threads()) == {1}
    with small_matrices(SMALL + 1):
        assert blas_threads() == before
    assert blas_threads() == before


def test_blas_is_restored_after_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError):
        run_parallel(lambda i: 1 / i, range(4))
    assert blas_threads() == before


def test_nested_work_stays_serial():
    outer = run_parallel(lambda i: run_parallel(lambda j: threading.get_ident(), range(3)), range(4))
    assert all(len(set(inner)) == 1 for inner in outer)


def test_concurrent_callers_do_not_leave_blas_limited():
    before = blas_threads()
    work = lambda: [run_parallel(lambda i: np.ones((50, 50)) @ np.ones((50, 50)), range(20)) for _ in range(10)]
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_the_users_limit_is_respected():
    with threadpool_limits(1):
        assert available_threads() == 1
        idents = run_parallel(lambda _: threading.get_ident(), range(4))
        assert set(idents) == {threading.get_ident()}


def test_whoever_leaves_last_restores_the_number():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second, third = at_most(1), single_threaded_blas(), at_most(1)
        first.__enter__()
        assert second.__enter__()
        third.__enter__()
        for leaving in (first, second):
            leaving.__exit__(None, None, None)
            assert set(blas_threads()) == {1}
        third.__exit__(None, None, None)
        assert blas_threads() == before


def test_one_caller_has_the_cores():
    with single_threaded_blas() as first, single_threaded_blas() as second:
        assert first and not second
    with single_threaded_blas() as again:
        assert again


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_inside_is_not_limited():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with at_most(1), single_threaded_blas(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # there are other threads, which the child lacks
            child = os.fork()
            if child == 0:
                with single_threaded_blas() as alone:
                    pass
                os._exit(0 if alone and blas_threads() == before else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert blas_threads() == before
