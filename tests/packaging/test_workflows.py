"""Workflows are run elsewhere; that they can be read, ask for little, and call targets that exist is seen here."""

import re

import pytest
import yaml
from _project import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
OTHER_FORMS = [ROOT / ".github" / "dependabot.yml", *sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))]
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def jobs_of(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]


def steps_of(path):
    return [step for job in jobs_of(path).values() for step in job["steps"]]


@each_workflow
def test_jobs_may_only_read_unless_they_publish(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    for job in jobs_of(path).values():
        assert "permissions" not in job or "environment" in job


@each_workflow
def test_jobs_end(path):
    assert all(0 < job["timeout-minutes"] <= 60 for job in jobs_of(path).values())


@each_workflow
def test_actions_have_versions_and_leave_no_credentials(path):
    for step in steps_of(path):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|release/v\d+)", step["uses"])
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


@each_workflow
def test_targets_of_make_exist(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    called = [word for step in steps_of(path) for word in re.findall(r"\bmake ([\w-]+)", step.get("run", ""))]
    assert called and not [each for each in called if not re.search(rf"^{each}:", makefile, re.MULTILINE)]


@each_workflow
def test_jobs_that_are_waited_for_exist(path):
    jobs = jobs_of(path)
    assert {job["needs"] for job in jobs.values() if "needs" in job} <= set(jobs)


def test_releases_are_uploaded_without_a_secret():
    """PyPI knows the workflow; only its job that uploads can prove who it is."""
    path = ROOT / ".github" / "workflows" / "publish.yml"
    assert "secrets." not in path.read_text(encoding="utf-8")
    jobs = jobs_of(path).items()
    assert {name for name, job in jobs if "id-token" in job.get("permissions", {})} == {"pypi"}
    # PyPI knows the environment by the name of the job.
    assert all(job["environment"]["name"] == name for name, job in jobs if "environment" in job)


@pytest.mark.parametrize("path", OTHER_FORMS, ids=lambda path: path.name)
def test_forms_can_be_read(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = [field for field in form.get("body", []) if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert fields or "body" not in form
