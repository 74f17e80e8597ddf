"""Imports point downwards only."""

import ast
from pathlib import Path

from for_each import for_each

import preimage

ROOT = Path(preimage.__file__).parent

# Higher layers may import lower ones, never the reverse, and not each other unless named here.
LAYERS = [
    {"cli", "explorer", "plotting", "neuro"},
    {"model_selection", "inflation", "calibration"},
    {"estimators", "interop"},
    {"persistence"},
    {"machines", "components", "completion", "discriminants", "clustering", "neighbors", "regression"},
    {"eigensolvers", "landmarks", "solvers", "reduced_sets", "widths", "invariances", "geometry"},
    {"descent"},
    {"feature_space"},
    {"kernels"},
    {"_engine", "exceptions"},
]
ALLOWED_SIDEWAYS = {
    ("completion", "components"),
    ("discriminants", "components"),
    ("estimators", "interop"),
    ("model_selection", "inflation"),
    ("cli", "explorer"),
    ("cli", "plotting"),
    ("cli", "neuro"),
    ("neuro", "plotting"),
}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
EVERYTHING = {"testing", "__init__", "__main__", "_models"}


def package_of(path):
    return room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))


def room_of(module):
    """The package of a module whose name is given without that of the library; models have a folder of their own."""
    return module.removeprefix("_models.").split(".")[0]


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("preimage."):
            yield room_of(node.module.removeprefix("preimage."))
        elif isinstance(node, ast.ImportFrom) and node.module == "preimage":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names if alias.name.startswith("preimage."))
            yield from (room_of(name.removeprefix("preimage.")) for name in names)


@for_each("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    package = package_of(path)
    if package in EVERYTHING:
        return
    assert package in LEVEL, f"{package} has no place in the layers of DESIGN"
    for other in imported_packages(path):
        if other == package or (package, other) in ALLOWED_SIDEWAYS:
            continue
        lower = LEVEL[other] > LEVEL[package]
        at_the_bottom = LEVEL[other] == LEVEL[package] == len(LAYERS) - 1
        assert lower or at_the_bottom, f"{path.relative_to(ROOT)} imports {other}, which is not below it"


@for_each("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_dask_is_known_to_the_machine_room_alone(path):
    """Estimators and algorithms use its verbs (`is_lazy`, `in_memory`, `map_rows`, ...); only texts name Dask."""
    if package_of(path) == "_engine" and path.stem in {"rows", "dask", "arrays"}:
        return
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names.update(str(value) for field, value in ast.iter_fields(node) if field in {"id", "attr", "name", "module"})
    assert not [name for name in names if "dask" in name]
