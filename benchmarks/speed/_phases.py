"""Where the time of an exact fit goes: a stopwatch on functions of the library, put there from outside."""

import functools
import importlib
import sys
import threading
import time
from collections import Counter

# Functions of each phase. A function called by another one of the table counts for itself, not for its caller.
PHASES = {
    "kernel values": ["preimage.feature_space._gram:Gram.dense"],
    "products": [
        "preimage.feature_space._gram:Gram.__matmul__",
        "preimage.feature_space._gram:CenteredGram.__matmul__",
        "preimage.feature_space._gram:CenteredGram.sketch",
    ],
    "orthogonalisation": [
        "preimage.eigensolvers._block_krylov:KrylovBasis.next_block",
        "preimage._engine.linalg:orthogonalize",
        "preimage._engine.linalg:orthonormal_columns",
    ],
    "small dense algebra": [
        "preimage._engine.linalg:eigh_descending",
        "preimage._engine.linalg:top_eigh",
        "preimage.eigensolvers._block_krylov:KrylovBasis.ritz",
        "preimage.eigensolvers._block_krylov:KrylovBasis.weakest_excess",
        "preimage.eigensolvers._block_krylov:KrylovBasis.result",
        "preimage.eigensolvers._block_krylov:KrylovBasis.restart",
    ],
}
REST = "checks and Python"


def measure_phases(function):
    """Seconds of each phase in one call of `function`, on the thread that calls it; their sum is the whole time."""
    watch = _Stopwatch()
    with _installed(watch):
        start = time.perf_counter()
        function()
        total = time.perf_counter() - start
    seconds = {phase: watch.seconds[phase] for phase in PHASES}
    return seconds | {REST: total - sum(seconds.values())}


class _Stopwatch:
    """Seconds per phase, each moment counted for the innermost function on the calling thread."""

    def __init__(self):
        self.seconds = Counter()
        self.thread = threading.get_ident()
        self.stack, self.since = [], 0.0

    def wrapped(self, function, phase):
        @functools.wraps(function)
        def timed(*arguments, **options):
            if threading.get_ident() != self.thread:  # the calling thread waits for it, and counts the time
                return function(*arguments, **options)
            self._count()
            self.stack.append(phase)
            try:
                return function(*arguments, **options)
            finally:
                self._count()
                self.stack.pop()

        return timed

    def _count(self):
        now = time.perf_counter()
        if self.stack:
            self.seconds[self.stack[-1]] += now - self.since
        self.since = now


class _installed:
    """Replaces the functions of the table, wherever modules of the library hold them, inside a `with` statement."""

    def __init__(self, watch):
        self.watch = watch
        self.replaced = []

    def __enter__(self):
        for phase, names in PHASES.items():
            for name in names:
                function, owner = _found(name)
                if function is not None:
                    wrapped = self.watch.wrapped(function, phase)
                    for holder in [owner] if isinstance(owner, type) else _modules():
                        self._replace(holder, function, wrapped)

    def __exit__(self, *_):
        for holder, name, function in self.replaced:
            setattr(holder, name, function)

    def _replace(self, holder, function, wrapped):
        for name, value in list(vars(holder).items()):
            if value is function:
                setattr(holder, name, wrapped)
                self.replaced.append((holder, name, function))


def missing_functions():
    """Names of the table that the library does not have (any more)."""
    return [name for names in PHASES.values() for name in names if _found(name)[0] is None]


def _found(name):
    """A function and the module or class that owns it; None where there is none of this name."""
    module, _, path = name.partition(":")
    *classes, last = path.split(".")
    try:
        owner = functools.reduce(getattr, classes, importlib.import_module(module))
        return vars(owner)[last], owner
    except (ImportError, AttributeError, KeyError):
        return None, None


def _modules():
    return [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "preimage" and module]
