"""The tree of tests is that of the source, so that the tests of a file are found by its name."""

from collections import Counter
from pathlib import Path

import preimage

SOURCE, TESTS = Path(preimage.__file__).parent, Path(__file__).parent
# Folders of tests that are about all of the library, or about what is around it.
OF_EVERYTHING = {"benchmark_data", "hostile", "laws", "net", "oracles", "packaging", "site", "theory"}
# Folders of the source whose files are tested with those above them.
TESTED_ABOVE = {"interop/onnx", "interop/tracing", "_models"}
# Files of tests that are not named for one file of the source: they are about several, about a parameter, or about the
# repository. Longer is not better: `AT_MOST` may go down and not up.
OF_SEVERAL = """
_models/components/test_determined_features.py
_models/machines/test_all_points_kept.py
cli/tables/test_dialects.py
cli/tables/test_random_tables.py
cli/test_help.py
cli/test_main.py
cli/test_vocabulary.py
cli/test_wrong_uses.py
eigensolvers/test_eigensolvers.py
estimators/compressed/test_compressed_checks.py
estimators/compressed/test_compressed_files.py
estimators/compressed/test_several_widths.py
estimators/test_array_api_checks.py
estimators/test_array_api_tag.py
estimators/test_checks.py
estimators/test_dask_kernel_pca.py
estimators/test_fisher_scoring.py
estimators/test_gamma_from_labels.py
estimators/test_growing_landmarks.py
estimators/test_landmark_kernel_pca.py
estimators/test_lazy_invariances.py
estimators/test_navigation_laws.py
estimators/test_own_data.py
estimators/test_precomputed_inputs.py
estimators/test_rows_elsewhere.py
estimators/test_sklearn_tests.py
estimators/test_uncentered_kernel_pca.py
estimators/test_vanishing_kernels.py
estimators/test_way_back_memory.py
explorer/test_browser_agreement.py
explorer/test_completion_in_page.py
explorer/test_kernels_in_the_browser.py
explorer/test_map_cases.py
explorer/test_map_laws.py
explorer/test_model_js.py
explorer/test_newcomers_pages.py
explorer/test_notebook.py
explorer/test_operators.py
explorer/test_tool_panels.py
geometry/test_hostile_points.py
interop/test_onnx.py
interop/test_onnx_pipelines.py
kernels/test_contract.py
kernels/test_range_of_numbers.py
landmarks/test_early_ends.py
landmarks/test_hostile_landmarks.py
persistence/test_every_estimator.py
persistence/test_versions.py
reduced_sets/test_free_widths.py
reduced_sets/test_hostile_reductions.py
test_api.py
test_claims.py
test_demo_figures.py
test_docs.py
test_examples.py
test_explorer_pages.py
test_footnotes.py
test_for_each.py
test_from_scikit_learn.py
test_inline_calls.py
test_layers.py
test_match.py
test_memory_net.py
test_published.py
test_readme_picture.py
test_reference.py
test_report.py
test_scripts.py
test_tree.py
test_words.py
testing/test_check_preimage_solver.py
testing/test_check_reducer.py
testing/test_check_selector.py
"""
AT_MOST = 75


def folders(root, pattern):
    """Folders below `root` with a file of that name, as paths with slashes."""
    return {path.parent.relative_to(root).as_posix() for path in root.rglob(pattern)} - {"."}


def names_of(folder):
    """Files of a folder of the source, without the underscore that says that they are private."""
    return {path.stem.removeprefix("_") for path in (SOURCE / folder).glob("*.py")} - {"_init__"}


def has_a_file(test):
    """Whether the source has the file that a test is named for.

    The name of the folder may come first, since no two files of tests have the same name; further words say what about
    the file is tested.
    """
    folder = test.parent.relative_to(TESTS)
    name = test.stem.removeprefix("test_").removeprefix(f"{folder.name}_")
    return any(name == file or name.startswith(f"{file}_") for file in names_of(folder))


def listed():
    return set(OF_SEVERAL.split())


def test_every_folder_of_the_source_has_a_folder_of_tests():
    assert folders(SOURCE, "__init__.py") - TESTED_ABOVE <= folders(TESTS, "test_*.py")
    assert not TESTED_ABOVE & folders(TESTS, "test_*.py"), "these have a folder of tests now"


def test_every_folder_of_tests_is_one_of_the_source_or_about_everything():
    assert folders(TESTS, "test_*.py") <= folders(SOURCE, "*.py") | OF_EVERYTHING


def test_every_file_of_tests_is_named_for_a_file_of_the_source():
    tests = {path.relative_to(TESTS).as_posix(): path for path in TESTS.rglob("test_*.py")}
    inside = {name: path for name, path in tests.items() if name.split("/")[0] not in OF_EVERYTHING}
    others = {name for name, path in inside.items() if not has_a_file(path)}
    assert others <= listed(), f"name them for a file of the source: {sorted(others - listed())}"
    assert listed() <= others, f"these can leave the list: {sorted(listed() - others)}"


def test_no_two_files_of_tests_have_the_same_name():
    """Files of tests are modules without a package: of two with one name, only one would run."""
    counts = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert not [name for name, count in counts.items() if count > 1], "begin one of them with the name of its folder"


def test_the_list_gets_shorter():
    assert len(listed()) <= AT_MOST
