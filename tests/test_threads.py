"""Threads over blocks leave the process as they found it."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from preimage._threads import available_threads, run_parallel


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
