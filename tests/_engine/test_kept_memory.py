"""Memory that stays with a process inside a task, seen by the pages that the system has to give it."""

import json
import os
import platform
import subprocess
import sys

import pytest

from preimage._engine import kept_memory
from preimage._engine.kept_memory import KEPT, KeptMemory

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")

PAGES = """
import json, resource, threading
import numpy as np
from preimage._engine.kept_memory import KeptMemory, settle_allocator
from preimage._engine.threads import run_parallel

def pages(work):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def arrays(count=20):
    for _ in range(count):
        np.zeros(2**20).sum()  # 8 MiB, which are 2,048 pages
"""


def pages_of(script, **variables):
    """What a script prints in a new process with these variables of the environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", PAGES + script]
    found = subprocess.run(command, env=kept | variables, check=True, capture_output=True, text=True)
    return json.loads(found.stdout)


@glibc
@pytest.mark.parametrize("thread", [False, True])
def test_arrays_of_a_task_reuse_memory_that_the_environment_would_return(thread):
    script = """
found = []
def task():
    found.append(pages(arrays))
    with KeptMemory():
        arrays(1)
        with KeptMemory():
            pass
        found.append(pages(arrays))
    found.append(pages(arrays))
"""
    script += "threading.Thread(target=task).start()\n" if thread else "task()\n"
    script += "[each.join() for each in threading.enumerate() if each is not threading.current_thread()]\n"
    before, inside, after = pages_of(script + "print(json.dumps(found))", MALLOC_TRIM_THRESHOLD_="65536")
    if min(before, after) < 20 * 1024:
        pytest.skip("the system gives huge pages, of which so few are needed that they say nothing")
    assert inside < 0.2 * min(before, after)


@glibc
def test_the_environment_decides_where_it_keeps_more(monkeypatch):
    calls = []
    monkeypatch.setattr(kept_memory, "_settings", lambda: (lambda *setting: calls.append(setting), 2 * KEPT, 2**17))
    with KeptMemory():
        pass
    assert {value for name, value in calls if name == kept_memory.TRIM_THRESHOLD} == {2 * KEPT}


def test_nothing_is_set_without_the_variable(monkeypatch):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    assert kept_memory._settings.__wrapped__() is None
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "a lot")
    assert kept_memory._settings.__wrapped__() is None


def test_the_last_of_several_tasks_restores_what_was(monkeypatch):
    calls = []
    monkeypatch.setattr(kept_memory, "_settings", lambda: (lambda *setting: calls.append(setting), 65536, 2**17))
    first, second = KeptMemory(), KeptMemory()
    first.enter(), second.enter(), first.leave()
    assert calls[-1] == (kept_memory.MMAP_THRESHOLD, kept_memory.LARGEST_KEPT_ARRAY)
    second.leave(), second.leave()  # Ctrl-C may come while it leaves
    assert calls[-2:] == [(kept_memory.TRIM_THRESHOLD, 65536), (kept_memory.MMAP_THRESHOLD, 2**17)]


@glibc
def test_arrays_that_come_and_go_together_are_new_memory_until_threads_begin():
    """glibc returns what is freed above twice the size of the largest array that it has seen."""
    script = """
def together():
    for _ in range(20):
        held = [np.ones(size * 2**17) for size in (6, 5, 4)]  # MiB
        del held

together()
before = pages(together)
run_parallel(lambda item: None, range(2)) if PARALLEL else settle_allocator()
together()
print(json.dumps([before, pages(together)]))
"""
    for parallel in ("False", "True"):
        before, after = pages_of(
            "from preimage._engine import threads\nthreads.allowed_threads = lambda: 2\n"
            + script.replace("PARALLEL", parallel)
        )
        assert after < 0.2 * before
    # Thresholds that the environment has fixed stay.
    before, after = pages_of(script.replace("PARALLEL", "False"), MALLOC_MMAP_THRESHOLD_="131072")
    assert after > 0.5 * before


@glibc
def test_reductions_keep_their_memory():
    script = """
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian
from preimage.reduced_sets import Distill

rng = np.random.default_rng(0)
target = Expansion(Gaussian(0.01), rng.normal(size=(600, 64)), rng.normal(size=(600, 1)))
rows = rng.normal(size=(1500, 64))
reduce = lambda: Distill(max_iter=20).reduce(target, 60, X=rows, rng=rng)
first, second = pages(reduce), pages(reduce)
print(json.dumps([first, second]))
"""
    _, settled = pages_of(script, OMP_NUM_THREADS="1")
    _, mapped = pages_of(script, OMP_NUM_THREADS="1", MALLOC_MMAP_THRESHOLD_="131072")
    if mapped < 1000:
        pytest.skip("the system gives huge pages, of which so few are needed that they say nothing")
    assert settled < 0.1 * mapped
