"""Forged files with right checksums neither crash the interpreter nor lead it outside of arrays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux, for limits on memory")
FORGERIES = Path(__file__).with_name("forgeries.py")


def run(*arguments, script=None):
    command = (
        [sys.executable, str(FORGERIES), *map(str, arguments)] if script is None else [sys.executable, "-c", script]
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(FORGERIES.parent)])}
    return subprocess.run(command, capture_output=True, text=True, timeout=540, check=False, env=environment)


def test_forged_files_obey_the_law():
    """About three for each of 71 models; `forgeries.py` itself tries 20,000 in `make fuzz`."""
    done = run(200, 10**6)
    assert done.returncode == 0 and "0 against the law" in done.stdout, done.stdout[-3000:] + done.stderr[-2000:]


@pytest.mark.parametrize("at_end", [True, False])
def test_one_number_outside_of_an_array_ends_the_process(at_end):
    """The instrument itself: without it a read outside of an array would pass unnoticed."""
    script = f"""
import ctypes, numpy as np
from guarded_memory import guarded
array = guarded(np.arange(5.0), {at_end})
inside = ctypes.cast(array.ctypes.data, ctypes.POINTER(ctypes.c_double))
assert [inside[i] for i in range(5)] == [0, 1, 2, 3, 4]
print("inside", flush=True)
inside[{5 if at_end else -1}]
print("outside", flush=True)
"""
    done = run(script=script)
    assert done.stdout.split() == ["inside"] and done.returncode < 0, done.stderr


def test_a_machine_that_was_not_checked_is_seen_to_read_outside():
    """Undo the table of invariants, and the guarded rows end the process inside of libsvm."""
    script = """
import warnings, numpy as np
from sklearn.svm import SVC
from forgeries import GRAM, Y
from guarded_memory import guarded
import preimage.persistence._checks as checks
from preimage.persistence._file import from_bytes, to_bytes
model = SVC(kernel="precomputed").fit(GRAM, Y)
model.support_ = model.support_ + np.int32(len(GRAM))
try:
    from_bytes(to_bytes(model))
except ValueError:
    print("refused", flush=True)
checks.check_compiled = lambda value: None
loaded = from_bytes(to_bytes(model))
loaded.predict(guarded(GRAM[:1]))
print("outside", flush=True)
"""
    done = run(script=script)
    assert done.stdout.split() == ["refused"] and done.returncode < 0, done.stdout + done.stderr


@pytest.mark.parametrize("hard", ["resource.RLIM_INFINITY", "10**12"])
def test_the_limit_on_memory_holds_whatever_the_limit_was(hard):
    """The instrument itself: "no limit" is −1, and was once the smaller of two limits."""
    script = f"""
import resource, numpy as np
from guarded_memory import limited
if resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY:
    resource.setrlimit(resource.RLIMIT_AS, ({hard}, {hard}))
before = resource.getrlimit(resource.RLIMIT_AS)
with limited(10**8):
    np.zeros(10**6)
    try:
        np.zeros(10**8)
    except MemoryError:
        print("limited")
assert resource.getrlimit(resource.RLIMIT_AS) == before
"""
    done = run(script=script)
    assert done.stdout.split() == ["limited"], done.stderr


def test_a_refusal_for_want_of_memory_is_against_the_law():
    script = """
from forgeries import kind_of_refusal
def refused(error):
    try:
        try:
            raise error
        except Exception as first:
            raise ValueError("does not fit") from first
    except ValueError as second:
        return kind_of_refusal(second)
print(refused(KeyError("a")), refused(MemoryError()), sep="; ")
"""
    done = run(script=script)
    assert done.stdout.strip() == "refused; AGAINST: refused for want of memory", done.stderr
