"""Which pages and records are of an older version than the library, and what makes them anew?

Set-up: every page in `docs/results` that a script writes, and every record, says what was typed, with which version and
commit, and how long it took. What it says is run again, oldest first; a run that did not say how long it takes counts
as an hour. Pages that are put together from several records are made after these.

Observe: what is of another version. Commands with ``--merge`` join runs on other machines, and cannot be repeated here.

    python benchmarks/results.py                    # the list
    python benchmarks/results.py --hours 8          # a night; `make results`
    python benchmarks/results.py --only ida novelty
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field

from _measure import RECORDS, ROOT
from _reports import option_parser, table

import preimage

PAGES = RECORDS.parent
# Without figures of their own.
SURVEYS = ("index", "performance", "missed")
STAMP = re.compile(r"\bpreimage (\d+\.\d+\.\d+)(?: \((\w+\+?)\))?")
COMMAND = re.compile(r"`(?:OMP_NUM_THREADS=\d+ )?python (benchmarks/[^`]+)`")
DURATION = re.compile(r"(\d+(?:\.\d+)?) (second|minute|hour)s")
SECONDS = {"second": 1, "minute": 60, "hour": 3600}
UNKNOWN = 3600.0
JOINED = "benchmarks/joined.py"


@dataclass
class Result:
    """A page or a record: the versions that it is of, oldest first, and what makes all of it."""

    name: str
    versions: list
    command: str | None
    seconds: float | None

    @property
    def is_present(self):
        return bool(self.versions) and self.versions[0] == release(preimage.__version__)


@dataclass
class Run:
    """One command, and what it makes."""

    command: str
    results: list = field(default_factory=list)

    @property
    def seconds(self):
        return max(result.seconds or UNKNOWN for result in self.results)

    @property
    def is_present(self):
        return all(result.is_present for result in self.results)

    @property
    def age(self):
        return min(result.versions[:1] or [(0,)] for result in self.results)


def release(version):
    """(1, 2) of "1.2.3": patches do not change what is right."""
    return tuple(map(int, version.split(".")[:2]))


def seconds_in(text):
    found = DURATION.search(text)
    return found and float(found[1]) * SECONDS[found[2]]


def page(path):
    text = path.read_text(encoding="utf-8")
    whole = [command for command in COMMAND.findall(text) if f"--output docs/results/{path.name}" in command]
    stamped = next((line for line in text.splitlines() if STAMP.search(line)), "")
    versions = sorted(release(version) for version, _ in STAMP.findall(text))
    return Result(path.name, versions, whole[0] if whole else None, seconds_in(stamped))


def one_record(path):
    contents = json.loads(path.read_text(encoding="utf-8"))
    versions = [release(version) for version, _ in STAMP.findall(contents["machine"])]
    command = contents["command"].removeprefix("python ")
    repeated = None if "--merge" in command else command
    return Result(path.name, versions, repeated, seconds_in(contents.get("duration", "")))


def results():
    """All pages with figures, and all records."""
    pages = [page(path) for path in sorted(PAGES.glob("*.md")) if path.stem not in SURVEYS]
    return pages + [one_record(path) for path in sorted(RECORDS.glob("*.json"))]


def runs(found):
    """Commands that make results, the oldest first, and the quickest of an age; pages made from records come last."""
    commands = {}
    for result in found:
        if result.command:
            commands.setdefault(result.command, Run(result.command)).results.append(result)
    return sorted(commands.values(), key=lambda run: (run.command.startswith(JOINED), run.age, run.seconds))


def main():
    options = parse_options()
    found = results()
    if not options.hours and not options.only:
        return show(found)
    left, failed = (options.hours or 1e3) * 3600, []
    for run in runs(found):
        wanted = {result.name.partition(".")[0] for result in run.results} & set(options.only or [])
        if not wanted and (options.only or run.is_present or run.seconds > left):
            continue
        started = time.perf_counter()
        print(f"python {run.command}", flush=True)
        code = subprocess.call(
            [sys.executable, *shlex.split(run.command)], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        failed += [run.command] if code else []
        left -= time.perf_counter() - started
    print("".join(f"failed: {command}\n" for command in failed), end="")
    sys.exit(bool(failed))


def show(found):
    def row(result):
        version = ".".join(map(str, result.versions[0])) if result.versions else "unknown"
        taken = f"{result.seconds / 60:.1f}" if result.seconds else ""
        return [result.name, version, taken, result.command or "by hand"]

    print("\n".join(table(["page or record", "version", "minutes", "command"], map(row, found))))
    old = sum(not result.is_present for result in found)
    print(f"\n{old} of {len(found)} are not of version {'.'.join(map(str, release(preimage.__version__)))}.")


def parse_options():
    parser = option_parser(__doc__)
    parser.add_argument("--hours", type=float, help="run what is old while it fits")
    parser.add_argument("--only", nargs="+", help="run what makes these pages and records, whatever their version")
    return parser.parse_args()


if __name__ == "__main__":
    main()
