"""Cells of a long comparison: computed by several processes, kept in a file as they end, and not computed again."""

import json
import os
import re
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date
from pathlib import Path

from _measure import describe_machine, describe_version
from _reports import progress


def add_options(parser):
    """``--jobs`` and ``--cells``."""
    parser.add_argument("--jobs", type=int, default=1, help="processes; give each one core, with OMP_NUM_THREADS=1")
    parser.add_argument(
        "--cells", type=Path, nargs="+", default=[], help="files of known cells; the first is extended by new ones"
    )


class Cells:
    """What was computed, by its key; lines of JSON in files, each with the machine, the version and the seconds.

    Cells of another release of the library do not count.

    Parameters
    ----------
    paths : sequence of Path
        Files to read; new cells are appended to the first. Without one they are kept in memory.
    """

    def __init__(self, paths=()):
        self.path = Path(paths[0]) if paths else None
        self.here = describe_machine()  # as it was when this process read the code
        self.lines = {}
        for path in paths:
            for line in Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else ():
                self._keep(json.loads(line))

    def _keep(self, line):
        if _release(line["machine"]) == _release(describe_version()):
            self.lines.setdefault(line["key"], line)

    def __getitem__(self, key):
        return self.lines[key]["value"]

    def __contains__(self, key):
        return key in self.lines

    def compute(self, tasks, function, jobs=1):
        """`function(*arguments)` of every task that is not known, ``{key: arguments}``, the first ones first.

        Results must be what JSON can hold. Returns ``{key: result}`` of all tasks.
        """
        started, unknown = time.perf_counter(), {key: tasks[key] for key in tasks if key not in self}
        if jobs == 1:
            for key, arguments in unknown.items():
                self._add(key, *_measured(function, arguments), started)
        elif unknown:
            with ProcessPoolExecutor(jobs) as pool:
                running = {pool.submit(_measured, function, arguments): key for key, arguments in unknown.items()}
                for done in as_completed(running):
                    self._add(running[done], *done.result(), started)
        return {key: self[key] for key in tasks}

    def _add(self, key, value, seconds, started):
        line = {"key": key, "value": value, "seconds": round(seconds, 3), "machine": self.here}
        line["date"] = date.today().isoformat()
        self.lines[key] = line
        progress(f"{key}: {seconds:.1f} s", started)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def machine(self, keys=None):
        """What the cells ran on, as `describe_machine` says it; several machines, or commits, one after the other."""
        commits = {}
        for machine in dict.fromkeys(self.lines[key]["machine"] for key in (self.lines if keys is None else keys)):
            version, _, rest = machine.partition("; ")
            name, _, commit = version.partition(" (")
            commits.setdefault((name, rest), []).append(commit.rstrip(")"))
        shown = lambda known: f" ({', '.join(known)})" if any(known) else ""
        return "; and ".join(f"{name}{shown(known)}; {rest}" for (name, rest), known in commits.items())

    def seconds(self, keys=None):
        """Processor time of the cells."""
        return sum(self.lines[key]["seconds"] for key in (self.lines if keys is None else keys))


def processor_time(seconds):
    """In words, for the head of a page."""
    shown = f"{seconds / 3600:.1f} hours" if seconds >= 6000 else f"{seconds / 60:.1f} minutes"
    return f"{shown} of processor time"


def _measured(function, arguments):
    """The result, and the seconds of processor time that it took, children included."""
    warnings.simplefilter("ignore")  # what has not converged is judged as it is
    before = sum(os.times()[:4])
    result = function(*arguments)
    return result, sum(os.times()[:4]) - before


def _release(machine):
    found = re.search(r"\bpreimage (\d+\.\d+)", machine)
    return found and found[1]
