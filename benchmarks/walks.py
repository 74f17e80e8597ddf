"""How many files does a reader walk through to follow a call?

Six calls run under `sys.setprofile`, which sees every function of the package that is entered. Three numbers per call:

- entered: files of which any function ran;
- rooms: those of the rooms that the review of the call counted, without the machine room (`_arrays.py`, `_rows.py`,
  `_linalg.py`, ...), whose functions mean the same everywhere and need not be opened to follow an algorithm;
- stops: those of the rooms in which a function or method of more than one statement ran, other than a constructor.
  Constructors, properties and one-line functions say all in their name; a reader does not stop there.

The reviews counted by hand, and skipped what a reader skips: stops are the nearest count that a program can make.

Run with ``python benchmarks/walks.py``, or ``python benchmarks/walks.py --files`` for the lists.
"""

import argparse
import ast
import contextlib
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import preimage
from preimage import KernelFisherDiscriminantCV, KernelPCA, compress

ROOT = Path(preimage.__file__).parent


def walk(call: Callable[[], Any]) -> dict[str, set[int]]:
    """The files that a call enters, in order, each with the first lines of its functions that ran."""
    seen: dict[str, set[int]] = {}

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and code.co_name != "<module>":
            seen.setdefault(str(Path(code.co_filename).relative_to(ROOT)), set()).add(code.co_firstlineno)

    sys.setprofile(profile)
    threading.setprofile(profile)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


@cache
def long_functions(file: str) -> frozenset[int]:
    """First lines of the functions of a file with more than one statement, without constructors."""
    lines = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__" and len(_statements(node)) > 1:
            lines |= {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}
    return frozenset(lines)


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    is_docstring = lambda each: isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
    return [each for each in function.body if not is_docstring(each)]


def calls() -> dict[str, tuple[Callable[[], Any], tuple[str, ...]]]:
    """The six calls, prepared so that only what is named in each is measured, and the rooms that its review counted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 5))
    fitted = KernelPCA(20, gamma=0.1).fit(X)
    Z, y = make_classification(300, random_state=0)
    svc = SVC(gamma=0.05).fit(Z, y)
    folder = Path(tempfile.mkdtemp())
    table, out = folder / "big.csv", folder / "out.csv"
    np.savetxt(table, X[:400], delimiter=",", fmt="%.6f")

    def command() -> None:
        from preimage.cli import main

        with contextlib.suppress(SystemExit):
            options = ["--landmarks", "50", "--chunk-rows", "100", "--force"]
            sys.argv = ["preimage", "denoise", str(table), str(out), *options]
            main()

    def imported(call: Callable[[], Any]) -> Callable[[], Any]:
        call()  # so that modules imported inside functions are there, and only calls are seen
        return call

    every = tuple(path.name for folder in (ROOT, ROOT / "_models") for path in folder.iterdir() if path.is_dir())
    return {
        "KernelPCA(20, gamma=0.1).fit(X)": (lambda: KernelPCA(20, gamma=0.1).fit(X), every),
        "KernelPCA(landmarks=100).fit(X)": (lambda: KernelPCA(landmarks=100).fit(X), every),
        "denoise(X)": (lambda: fitted.denoise(X[:200]), every),
        "compress(svc, 20, X=X)": (
            lambda: compress(svc, 20, X=Z, y=y),
            ("estimators", "interop", "machines", "reduced_sets"),
        ),
        "KernelFisherDiscriminantCV().fit(X, y)": (
            lambda: KernelFisherDiscriminantCV().fit(Z, y),
            ("estimators", "discriminants"),
        ),
        "preimage denoise big.csv out.csv": (imported(command), ("cli",)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--files", action="store_true", help="print the files of each walk: stops with *, others of its rooms with -"
    )
    options = parser.parse_args()
    print(f"{'':40} entered  rooms  stops")
    for name, (call, rooms) in calls().items():
        seen = walk(call)
        counted = [file for file in seen if file.removeprefix("_models/").split("/")[0] in rooms]
        stops = [file for file in counted if seen[file] & long_functions(file)]
        print(f"{name:40} {len(seen):7} {len(counted):6} {len(stops):6}", flush=True)
        for file in seen if options.files else ():
            print(f"    {'*' if file in stops else '-' if file in counted else ' '} {file}")


if __name__ == "__main__":
    main()
