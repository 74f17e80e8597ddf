"""Cells of long comparisons are kept, joined, and computed again for another release."""

import json

import _cells
import pytest

import preimage


def half(number):
    return {"half": number / 2}


def fails(number):
    raise AssertionError(f"{number} is known.")


TASKS = {"one": (1,), "two": (2,), "three": (3,)}
HALVES = {"one": {"half": 0.5}, "two": {"half": 1.0}, "three": {"half": 1.5}}


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_are_those_of_the_function_in_the_order_of_the_tasks(jobs):
    found = _cells.Cells().compute(TASKS, half, jobs)
    assert found == HALVES and list(found) == list(TASKS)


def test_known_cells_are_not_computed_again_and_files_are_joined(tmp_path):
    first, second = tmp_path / "folder" / "first.jsonl", tmp_path / "second.jsonl"
    _cells.Cells([first]).compute({"one": (1,)}, half)
    _cells.Cells([second]).compute({"two": (2,)}, half)
    joined = _cells.Cells([first, second])
    assert joined.compute({"one": (1,), "two": (2,)}, fails) == {"one": {"half": 0.5}, "two": {"half": 1.0}}
    joined.compute(TASKS, half)
    assert _cells.Cells([first]).compute({"one": (1,), "three": (3,)}, fails)
    assert len(second.read_text().splitlines()) == 1


def test_cells_of_another_release_do_not_count(tmp_path):
    path = tmp_path / "cells.jsonl"
    _cells.Cells([path]).compute({"one": (1,)}, half)
    line = json.loads(path.read_text())
    old = line | {"value": 7, "machine": "preimage 0.9.9 (0a1b2c3d); x86_64"}
    path.write_text(json.dumps(old) + "\n")
    assert "one" not in _cells.Cells([path])
    assert _cells.Cells([path]).compute({"one": (1,)}, half) == {"one": {"half": 0.5}}


def test_machines_and_processor_time_are_those_of_the_cells(tmp_path):
    path, here = tmp_path / "cells.jsonl", _cells.describe_machine()
    lines = [
        {"key": "one", "value": 1, "seconds": 90.0, "machine": here},
        {"key": "two", "value": 2, "seconds": 30.0, "machine": here + " elsewhere"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    cells = _cells.Cells([path])
    assert cells.machine() == f"{here}; and {here} elsewhere" and cells.machine(["one"]) == here
    assert _cells.processor_time(cells.seconds()) == "2.0 minutes of processor time"
    assert _cells.processor_time(3 * 3600) == "3.0 hours of processor time"


def test_commits_of_one_machine_are_named_together(tmp_path):
    path = tmp_path / "cells.jsonl"
    version = f"preimage {preimage.__version__}"
    lines = [
        {"key": commit, "value": 1, "seconds": 1.0, "machine": f"{version} ({commit}); {machine}"}
        for commit, machine in (("a1", "x86_64"), ("b2", "x86_64"), ("c3", "arm"))
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert _cells.Cells([path]).machine() == f"{version} (a1, b2); x86_64; and {version} (c3); arm"
