"""The command ``preimage doctor``."""

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from preimage.cli.runs._doctor import examined

EXAMPLES = ("preimage doctor", "preimage doctor --json")


def doctor_command(
    as_json: Annotated[
        bool, typer.Option("--json", help="The same as JSON, to attach to a report of a defect.")
    ] = False,
) -> None:
    """Say what is installed and what may be used: extras, threads, BLAS, memory, GPU and data folders."""
    facts = examined()
    typer.echo(json.dumps(facts, indent=2) if as_json else "\n".join(_lines(facts)))


def _lines(facts: dict[str, Any]) -> list[str]:
    """Facts in words; what could not be found out is shown as it is."""
    words: dict[str, Callable[[Any], str | list[str]]] = {
        "packages": lambda packages: ", ".join(f"{name} {version or 'ABSENT'}" for name, version in packages.items()),
        "extras": _extras,
        "blas": lambda libraries: [_library(library) for library in libraries] or "none found",
        "cores": _cores,
        "memory": _memory,
        "gpu": _gpus,
        "data": _data,
        "environment": lambda found: ", ".join(f"{name}={value}" for name, value in found.items()) or "nothing set",
    }
    lines: list[str] = []
    for name, fact in facts.items():
        is_known = not (isinstance(fact, dict) and "error" in fact)
        said = words[name](fact) if is_known and name in words else _unknown(fact)
        parts = said if isinstance(said, list) else [said]
        lines.extend(f"{name if number == 0 else '':<12} {part}" for number, part in enumerate(parts))
    return lines


def _unknown(fact: Any) -> str:
    return f"not known: {fact['error']}" if isinstance(fact, dict) else str(fact)


def _extras(extras: dict[str, Any]) -> list[str]:
    return [
        f"{name:<8} {'yes' if about['complete'] else 'NO '}  "
        + ", ".join(f"{package} {version}" for package, version in about["packages"].items())
        + (f"  →  {about['install']}" if about["install"] else "")
        for name, about in extras.items()
    ] or ["none are declared"]


def _library(library: dict[str, Any]) -> str:
    about = [
        str(library[key]) for key in ("internal_api", "version", "architecture", "threading_layer") if key in library
    ]
    threads = library.get("num_threads")
    return f"{' '.join(about)}, {threads} thread{'s' if threads != 1 else ''}"


def _cores(cores: dict[str, Any]) -> str:
    scheduled, quota = cores["this_process_may_be_scheduled_on"], cores["within_the_quota_of_its_container"]
    return (
        f"{cores['in_the_machine']} in the machine, {scheduled or 'all'} for this process, {quota} within its quota; "
        f"threads used by default: {cores['threads_used_by_default']}"
    )


def _memory(memory: dict[str, int]) -> str:
    free, budget = memory["free_bytes"] / 1e9, memory["default_max_memory_bytes"] / 1e9
    return f"{free:.1f} GB free; max_memory is {budget:.1f} GB where it is not given"


def _gpus(gpus: dict[str, Any]) -> list[str]:
    def said(found: Any) -> str:
        if isinstance(found, list):
            return "; ".join(found) or "no device"
        return _unknown(found)

    return [f"{library}: {said(found)}" for library, found in gpus.items()]


def _data(data: dict[str, Any]) -> list[str]:
    folder = data["folder"]
    looked_in = _unknown(folder) if isinstance(folder, dict) else folder or "no folder (PREIMAGE_DATA names one)"
    writable = "writable" if data["downloads_are_writable"] else "NOT writable"
    return [f"data sets in {looked_in}", f"downloads in {data['downloads']} ({writable})"]
