"""How many small mistakes would the tests notice? Random mutants of the source, and the tests of their folder.

A mutant changes one operator, comparison, constant or condition of a function that is not a message, a default or an
annotation. It is killed if a test of its folder fails, or one of `tests/laws`. Mutants that survive are printed: some
change nothing that can be seen (a constant of a heuristic, a shortcut for speed), others ask for a test.

    python tests/laws/mutants.py --lower 30 --upper 20 --seed 0
"""

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
UPPER = {"estimators", "interop", "persistence", "model_selection", "inflation", "calibration", "renormalization"}
UPPER |= {"cli", "explorer", "plotting", "neuro"}
SWAPS = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
}


class Places(ast.NodeVisitor):
    """Nodes that can be changed: inside functions, outside of messages and annotations."""

    def __init__(self):
        self.found, self.depth = [], 0

    def visit_FunctionDef(self, node):
        self.depth += 1
        for part in node.body:
            self.visit(part)
        self.depth -= 1

    def visit_Raise(self, node):
        pass

    def visit_JoinedStr(self, node):
        pass

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def generic_visit(self, node):
        if self.depth and can_change(node):
            self.found.append(node)
        super().generic_visit(node)


def can_change(node):
    if isinstance(node, ast.BinOp):
        texts = (each for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
        return type(node.op) in SWAPS and not any(texts)
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in SWAPS
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, bool)
    return isinstance(node, (ast.BoolOp, ast.If, ast.IfExp))


def mutate(node):
    """Change a node in place; what was done, in words."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        before, node.op = type(node.op).__name__, SWAPS[type(node.op)]()
        return f"{before} -> {type(node.op).__name__}"
    if isinstance(node, ast.Compare):
        before, node.ops[0] = type(node.ops[0]).__name__, SWAPS[type(node.ops[0])]()
        return f"{before} -> {type(node.ops[0]).__name__}"
    if isinstance(node, ast.Constant):
        before = node.value
        node.value = not before if isinstance(before, bool) else before + 1
        return f"{before} -> {node.value}"
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return "condition negated"


def candidates(is_upper):
    source = ROOT / "src" / "preimage"
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).parts
        if parts[-1] != "__init__.py" and "triton" not in parts[-1] and (parts[0] in UPPER) == is_upper:
            places = Places()
            places.visit(ast.parse(path.read_text()))
            for number, node in enumerate(places.found):
                yield path, number, node.lineno


def folder_of_tests(path):
    parts = path.relative_to(ROOT / "src" / "preimage").parts[:-1]
    while parts and not (ROOT / "tests").joinpath(*parts).is_dir():
        parts = parts[:-1]
    return "/".join(("tests", *parts)) if parts else "tests/laws"


def is_killed(copy, folder):
    """Whether a test of the folder fails in a copy of the tree, or one of the laws."""
    for tests in (folder, "tests/laws"):
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not net", tests]
        environment = {"PYTHONPATH": f"{copy}/src:{copy}/benchmarks", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
        try:
            done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=900, text=True)
        except subprocess.TimeoutExpired:
            return "it does not end"
        if done.returncode not in (0, 5):
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return failed[0][:120] if failed else f"exit {done.returncode}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", type=int, default=30)
    parser.add_argument("--upper", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as above:
        copy = Path(above, "preimage")
        left_out = shutil.ignore_patterns(".git", ".venv*", "_build", "__pycache__", ".*_cache", ".hypothesis")
        shutil.copytree(ROOT, copy, ignore=left_out)
        for half, count in (("lower", options.lower), ("upper", options.upper)):
            chosen = random.Random(options.seed).sample(list(candidates(half == "upper")), count)
            killed = 0
            for path, number, line in chosen:
                tree, places = ast.parse(path.read_text()), Places()
                places.visit(tree)
                what = mutate(places.found[number])
                inside = path.relative_to(ROOT)
                (copy / inside).write_text(ast.unparse(ast.fix_missing_locations(tree)))
                by = is_killed(copy, folder_of_tests(path))
                shutil.copy(path, copy / inside)
                killed += bool(by)
                print(f"{'killed' if by else 'SURVIVED'} {inside}:{line} {what} {by}", flush=True)
            print(f"{half} half: {killed} of {count} killed", flush=True)


if __name__ == "__main__":
    main()
