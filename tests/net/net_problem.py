"""One random problem from one number, and what came of it."""

import linecache
import os
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from folders import LIBRARY, SCIKIT_LEARN
from net_checks import CHECKS, Wrong
from net_data import random_rows
from net_kernels import random_kernel

from preimage.exceptions import UnsupportedKernelError

HERE = os.path.join(Path(__file__).parents[1], "")


@dataclass
class Problem:
    """Rows, queries, a kernel, and a generator for what a check still draws."""

    seed: int
    rng: Any
    X: Any
    Z: Any
    kernel: Any
    name: str

    @classmethod
    def of(cls, seed):
        rng = np.random.default_rng([seed, 12])
        X, Z = random_rows(rng)
        kernel = random_kernel(rng, X)
        names = sorted(CHECKS)
        return cls(seed, rng, X, Z, kernel, names[seed % len(names)])

    def __str__(self):
        return f"problem {self.seed}: {self.name} on {self.X.dtype} {self.X.shape}, {self.kernel!r}"


@dataclass(frozen=True)
class Outcome:
    """`kind` is "oracle" or "laws" for what held, "refused" for a clear error, and otherwise what went wrong."""

    seed: int
    name: str
    kind: str
    message: str

    @property
    def is_right(self):
        return self.kind in ("oracle", "laws", "refused")


def run(seed):
    """Make the problem of a number, solve it, and judge."""
    problem = Problem.of(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Outcome(seed, problem.name, CHECKS[problem.name](problem), "")
        except Wrong as wrong:
            kind = "non-finite" if "not finite" in str(wrong) else "wrong"
            return Outcome(seed, problem.name, kind, f"{wrong}; {problem}")
        except Exception as error:
            kind = _kind_of(error)
            text = str(error) if kind == "refused" else "".join(traceback.format_exception(error)[-4:]) + str(problem)
            return Outcome(seed, problem.name, kind, f"{type(error).__name__}: {text}")


def _kind_of(error):
    """A refusal is an error that the library, or scikit-learn below it, raises on purpose."""
    if isinstance(error, np.linalg.LinAlgError):
        return "LinAlgError"
    last = traceback.extract_tb(error.__traceback__)[-1]
    if last.filename.startswith(HERE):
        return "broken check"
    on_purpose = linecache.getline(last.filename, last.lineno).strip().startswith("raise ")
    known = last.filename.startswith((LIBRARY, SCIKIT_LEARN))
    clear = isinstance(error, (ValueError, UnsupportedKernelError)) and len(str(error)) > 20
    return "refused" if clear and on_purpose and known else "raw error"
