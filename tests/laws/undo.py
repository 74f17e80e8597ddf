"""Undo each mechanism on its own, in a copy of the tree, and see that a law notices.

A law that still holds when the mechanism that it watches is gone watches nothing. Each entry names a mechanism, a piece
of the source and what replaces it, and the tests of which one must fail then, among those that `make test` runs. Run it
by hand, it takes half an hour::

    python tests/laws/undo.py            # all, or the names that contain a word
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLAIMS = "tests/laws/test_claims_on_rows.py"
NOT_NETS = ("-m", "not net")  # what everyone runs notices


@dataclass(frozen=True)
class Undone:
    """`old` becomes `new` in one file of the package; `tests` are arguments of pytest, some of which must fail."""

    mechanism: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


UNDONE = (
    Undone(
        "rows are whitened before they are summed",
        "feature_space/_subspace.py",
        "    if has_long_pivots(gram):\n        return None\n",
        "    return None\n",
        ("tests/_models/components/test_landmark_principal.py",),
    ),
    Undone(
        "undetermined components are left out",
        "_engine/linalg.py",
        "    return leading_count(errors <= DETERMINED[itemsize(dtype)] * deviations)",
        "    return int(deviations.shape[0])",
        (CLAIMS, "-k", "test_claims_hold_on_rows and KernelPCA"),
    ),
    Undone(
        "undetermined features of the other estimators are left out",
        "_engine/linalg.py",
        "    return (errors <= allowed * deviations) & (length_errors <= allowed * squared_lengths)",
        "    return (errors == errors) & (length_errors == length_errors)",
        (CLAIMS, "-k", "test_claims_hold_on_rows and (Oriented or SemiSupervised or FeatureAnalysis)"),
    ),
    Undone(
        "the error of the scatter that was summed decides, too",
        "_models/components/_landmark_principal.py",
        "        if (count := min(by_values, by_sums)) == 0:",
        "        if (count := by_values) == 0:",
        ("tests/_models/components/test_landmark_principal.py",),
    ),
    Undone(
        "small eigenvalues are computed among themselves",
        "_models/components/_landmark_principal.py",
        "    values, vectors = graded_eigh(",
        "    from preimage._engine.linalg import top_eigh\n    values, vectors = top_eigh(",
        ("tests/_models/components/test_landmark_principal.py",),
    ),
    Undone(
        "a stream keeps rows until its landmarks are settled",
        "landmarks/_growth.py",
        "    return has_room(landmarks, selector) and n_rows <= most",
        "    return False",
        ("tests/estimators/test_landmark_kernel_pca.py", CLAIMS, "-k", "chunk or stream or batch"),
    ),
    Undone(
        "selectors go on where landmarks hide much",
        "landmarks/_selector.py",
        "        while kept and not is_done(best) and not _is_exhausted(best):",
        "        while False:",
        ("tests/landmarks/test_early_ends.py",),
    ),
    Undone(
        "single precision becomes double where it has no squares",
        "_engine/finite.py",
        "    if size == 4:\n        return in_double(X)",
        "    if size == 4:\n        return X",
        ("tests/laws/test_scale.py",),
    ),
    Undone(
        "kernel values without squares are refused",
        "kernels/_door.py",
        "    if kernel.points_are_row_numbers or 0 in X.shape:\n        return X",
        "    return X",
        ("tests/laws/test_scale.py",),
    ),
    Undone(
        "far queries are refused",
        "_engine/finite.py",
        "    if not is_moderate(X, dtype, may_be_tiny=True) and largest_entry(_filled(X)) > limit:",
        "    if False:",
        ("tests/laws/test_scale.py",),
    ),
    Undone(
        "results share no memory",
        "_engine/arrays.py",
        "        return result.copy() if any(_may_be_seen_by(other, result) for other in given) else result\n",
        "        return result\n",
        ("tests/laws/test_every_callable.py",),
    ),
    Undone(
        "models own their rows",
        "_engine/arrays.py",
        "        return array.copy() if shared or not isinstance(original, (np.ndarray, list)) else array\n",
        "        return array\n",
        ("tests/laws/test_every_callable.py",),
    ),
    Undone(
        "models own their tensors",
        "_engine/arrays.py",
        "        return array.device == other.device and array.untyped",
        "        return False and array.untyped",
        ("tests/laws/test_devices.py",),
    ),
    Undone(
        "models own the arrays among their parameters",
        "estimators/_kernel_input.py",
        "    kernel = own_parameters(kernel)\n",
        "",
        ("tests/laws/test_every_callable.py",),
    ),
    Undone(
        "arguments are blamed for errors from inside",
        "_engine/arguments.py",
        "    if is_of_users(error):\n        return\n",
        "    return\n",
        ("tests/laws/test_arguments.py",),
    ),
    Undone(
        "methods are found, not listed",
        "estimators/_estimator.py",
        '        if is_ours and not name.startswith("_")',
        '        if is_ours and name in ("fit", "transform")',
        ("tests/_engine/test_finite.py", "tests/laws/test_every_callable.py"),
    ),
    Undone(
        "probabilities move with the threshold",
        "_models/machines/_outputs.py",
        "        return shift_keeping_decisions(before, after, None if signs is None else signs != 0), self",
        "        shift = shift_keeping_decisions(before, after, None if signs is None else signs != 0)\n"
        "        return shift, self if self.probA is None else replace(self, probB=self.probB + self.probA * shift)",
        ("tests/_models/machines", "tests/laws/test_exported.py", "tests/estimators/compressed"),
    ),
    Undone(
        "exported probabilities have the temperature of the model",
        "_models/machines/_outputs.py",
        "        return most_probable(self._linked(self.temperature * F), self._winners(F))",
        "        return most_probable(self._linked(F), self._winners(F))",
        ("tests/laws/test_exported.py",),
    ),
    Undone(
        "what compiled code follows is checked",
        "persistence/_checks.py",
        "    check_compiled(value)\n    for",
        "    for",
        ("tests/persistence/test_compiled_code.py", "tests/hostile/test_skops_files.py"),
    ),
    Undone(
        "unknown fields and later versions warn",
        "persistence/_file.py",
        "    _warn_of_versions(document, value, decoder.unknown)\n",
        "",
        ("tests/persistence/test_versions.py",),
    ),
    Undone(
        "cached data are compared with their checksum",
        "../../benchmarks/data/_files.py",
        "                _check_kept(data_set, path, arrays)",
        "                pass",
        ("tests/benchmark_data/test_loaders.py",),
    ),
    Undone(
        "long lines are refused before memory is taken",
        "cli/tables/_text.py",
        "    if size > LONGEST_LINE:",
        "    if False:",
        ("tests/cli/tables/test_paths.py",),
    ),
    Undone(
        "devices and sockets are refused",
        "cli/tables/_paths.py",
        "    check_regular(path)\n    return _named(path)",
        "    return _named(path)",
        ("tests/cli/tables/test_paths.py",),
    ),
    Undone(
        "settings are restored by the end of their statement",
        "_engine/warnings.py",
        "        guard._ending = weakref.ref(ending, guard._leave_again)",
        "        guard._ending = weakref.ref(ending)",
        ("tests/laws/test_interrupts.py",),
    ),
    Undone(
        "left-out support vector machines are checked",
        "inflation/_svm_leave_one_out.py",
        "RESIDUAL = 1e-6",
        "RESIDUAL = 1e-2",
        ("tests/inflation/test_svm_leave_one_out.py",),
    ),
    Undone(
        "ratios of indefinite kernels are of the sum of moduli",
        "_models/components/_principal.py",
        "    if not _by_modulus(centered):\n        return max(",
        "    if True:\n        return max(",
        ("tests/_models/components/test_principal.py",),
    ),
    Undone(
        "labels follow the device of the rows",
        "estimators/_estimator.py",
        "                result = _with_objects(follow_rows(_looked_at(self, result, rows, name), rows))",
        "                result = _with_objects(_looked_at(self, result, rows, name))",
        ("tests/estimators/test_array_api_tag.py", "tests/laws/test_devices.py"),
    ),
)


def is_noticed(undone, tree):
    """Whether a test fails in a copy of the tree without the mechanism; also what pytest printed."""
    path = tree / "src" / "preimage" / undone.file
    before = path.read_text("utf-8")
    path.write_text(before.replace(undone.old, undone.new), "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-x",
                "-p",
                "no:cacheprovider",
                "--tb=line",
                *NOT_NETS,
                *undone.tests,
            ],
            cwd=tree,
            env=environment,
            capture_output=True,
            encoding="utf-8",
        )
    finally:
        path.write_text(before, "utf-8")
    return done.returncode == 1, done.stdout


def main():
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "preimage"
        ignored = shutil.ignore_patterns(".venv*", ".git", "__pycache__", "_build", "demo", "fuzz")
        shutil.copytree(ROOT, tree, ignore=ignored, symlinks=True)
        missed = 0
        for undone in UNDONE:
            if not all(word in undone.mechanism for word in words):
                continue
            noticed, printed = is_noticed(undone, tree)
            missed += not noticed
            failed = [line for line in printed.splitlines() if line.startswith("FAILED")]
            print(f"{'noticed' if noticed else 'MISSED '}  {undone.mechanism}: {' '.join(failed)[:150]}", flush=True)
            if not noticed:
                print(printed[-1500:])
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
