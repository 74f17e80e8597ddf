"""Hostile input for everything public, as long as one likes: `python tests/hostile/fuzz.py --minutes 60`.

Question: is there input on which the library answers with a number that is not finite, an error that was not meant for
users, a warning of NumPy, no answer at all, or on which it changes what it was given?

Set-up: workers draw descriptions of problems with Hypothesis, run them and judge every call (`hostile_judge.py`).
Findings are grouped by cause; the first of each is made shorter. One description per cause is printed at the end and
saved in `examples.jsonl`; `--replay` runs it again. What is mended goes to `tests/hostile/examples.jsonl`, which the
suite runs.

Observe: "0 findings". Needs NumPy, SciPy, scikit-learn, hypothesis and the library; pandas where it is installed.
"""

import argparse
import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent))
if (Path(__file__).parents[2] / "src" / "preimage").is_dir():
    sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

# How a worker's report begins.
START = '{"count"'
# Problems between two reports of a worker.
BATCH = 25
# Seconds between two reports of the whole run, and for which workers may go on when the time is over.
BETWEEN_REPORTS, GRACE = 20.0, 10.0
# Seconds for shortening one description.
SHRINKING = 3.0
# Seconds of computing, and of waiting, after which a worker that is still at the same problem is ended: several times
# the limit of one call, for calls that cannot be stopped from Python.
STUCK, SILENCE = 100.0, 300.0
# Address space that a worker may take beyond what it has after its imports. Problems have some dozens of rows.
MEMORY = 3 * 2**30


def main():
    options = _options()
    if options.replay:
        sys.exit(_replay(options.replay))
    if options.worker is not None:
        return _work(options)
    jobs = len(os.sched_getaffinity(0)) if options.jobs == "auto" else int(options.jobs)
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"seed {seed}, {jobs} jobs, {options.minutes} minutes", flush=True)
    report = Overseer(jobs, seed, options).run()
    print(_as_text(report))
    sys.exit(1 if report["findings"] else 0)


def _write(report, output):
    """All that is known so far, so that a run that is ended from outside leaves it."""
    output.mkdir(parents=True, exist_ok=True)
    (output / "report.json").write_text(json.dumps(report, indent=1))
    (output / "failures.txt").write_text(_as_text(report))
    lines = [json.dumps({"cause": group["cause"], "problem": group["problem"]}) for group in report["findings"]]
    (output / "examples.jsonl").write_text("".join(line + "\n" for line in lines))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--jobs", default="auto", help="worker processes; auto: one per core")
    parser.add_argument("--seed", type=int, help="default: the time")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="estimators or functions")
    parser.add_argument(
        "--output", default="fuzz", metavar="DIR", help="for report.json, failures.txt and examples.jsonl"
    )
    parser.add_argument(
        "--replay", metavar="EXAMPLES", help="run a file of examples, or one description as JSON, and stop"
    )
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--current", help=argparse.SUPPRESS)
    return parser.parse_args()


def _replay(text):
    from hostile_problem import Problem
    from hostile_run import run

    lines = [text] if text.startswith("{") else Path(text).read_text().splitlines()
    total = 0
    for values in map(json.loads, lines):
        problem = Problem.from_json(values.get("problem", values))
        findings = run(problem)
        total += len(findings)
        print(f"{len(findings)} findings: {problem}")
        for finding in findings:
            print(f"\n{finding.kind} in {finding.call}: {finding.cause}\n{finding.message}\n")
    return 1 if total else 0


def _work(options):
    """Run problems until the time is over; what came of a batch goes to the standard output as one line."""
    import resource

    from hostile_explore import drawer, explore

    now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    end = time.monotonic() + 60 * options.minutes
    first, current, draw, known = options.worker, Path(options.current), drawer(options.only), set()

    def before(problem):
        current.write_text(problem.to_json())
        faulthandler.dump_traceback_later(SILENCE, exit=True)
        spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        resource.setrlimit(resource.RLIMIT_CPU, (int(spent + STUCK), resource.RLIM_INFINITY))

    faulthandler.register(signal.SIGXCPU, chain=True)
    while time.monotonic() < end:
        count, calls, found = explore(draw, range(first, first + BATCH), end, before, SHRINKING, known)
        print(json.dumps({"count": count, "calls": calls, "found": [_as_dict(*each) for each in found]}), flush=True)
        first += BATCH


def _as_dict(finding, problem, count):
    return {**asdict(finding), "problem": json.loads(problem.to_json()), "count": count}


class Overseer:
    """Starts workers, starts them again when they die, and gathers what they find."""

    def __init__(self, jobs, seed, options):
        self.options, self.end = options, time.monotonic() + 60 * options.minutes
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.seed, self.count, self.calls, self.groups = seed, 0, 0, {}
        self.started, self.jobs, self.number = time.monotonic(), jobs, 0

    def run(self):
        workers, shown = [self._start() for _ in range(self.jobs)], time.monotonic()
        while workers and time.monotonic() < self.end + GRACE:
            time.sleep(0.5)
            for worker in list(workers):
                self._read(worker)
                if worker.process.poll() is not None:
                    self._read(worker)
                    workers.remove(worker)
                    if worker.process.returncode != 0:
                        self._died(worker)
                    if time.monotonic() < self.end - GRACE:
                        workers.append(self._start())
            if time.monotonic() - shown > BETWEEN_REPORTS:
                shown = time.monotonic()
                print(f"{self.count} problems, {self.calls} calls, {len(self.groups)} causes", flush=True)
                _write(self.report(), Path(self.options.output))
        for worker in workers:  # what still runs at the end: a problem, or the search for a shorter one
            worker.process.kill()
            worker.process.wait()
            self._read(worker)
        _write(self.report(), Path(self.options.output))
        return self.report()

    def report(self):
        groups = sorted(self.groups.values(), key=lambda group: -group["count"])
        taken = time.monotonic() - self.started
        counts = {"problems": self.count, "calls": self.calls}
        return {"seed": self.seed, "jobs": self.jobs, "seconds": taken, **counts, "findings": groups}

    def _start(self):
        worker = Worker(self.folder / f"{self.number}", self.seed + 10**9 * self.number, self.end, self.options.only)
        self.number += 1
        return worker

    def _read(self, worker):
        for line in worker.lines():
            if not line.startswith(START):  # compiled libraries print there, too
                continue
            batch = json.loads(line)
            self.count += batch["count"]
            self.calls += batch["calls"]
            for found in batch["found"]:
                self._add(found)

    def _add(self, found):
        known = self.groups.get(found["cause"])
        if known is None:
            self.groups[found["cause"]] = found
            return
        count = known["count"] + found["count"]
        if len(json.dumps(found["problem"])) < len(json.dumps(known["problem"])):
            self.groups[found["cause"]] = known = found
        known["count"] = count

    def _died(self, worker):
        """The process ended by itself: a crash in compiled code, too much memory, or a call that cannot be stopped."""
        import hostile_paths  # noqa: F401
        from folders import LIBRARY

        if not worker.current.exists():
            sys.exit(f"A worker could not start:\n{worker.errors()[-3000:]}")
        problem = json.loads(worker.current.read_text())
        stack = worker.errors()
        # Python writes stacks of processes that die in ASCII.
        library = re.escape(LIBRARY.encode("ascii", "backslashreplace").decode())
        place = re.findall(rf'{library}([^"]+)", line \d+ in (\w+)', stack)
        where = "{} in {}".format(*place[0]) if place else "an unknown place"
        cause = f"process died (exit {worker.process.returncode}) at {where}"
        self._add(
            {
                "cause": cause,
                "kind": "died",
                "call": problem["name"],
                "message": stack[-1500:],
                "problem": problem,
                "count": 1,
            }
        )


class Worker:
    def __init__(self, path, seed, end, only):
        self.current, self.out, self.err = path.with_suffix(".now"), path.with_suffix(".out"), path.with_suffix(".err")
        minutes = (end - time.monotonic()) / 60
        command = [
            sys.executable,
            __file__,
            "--worker",
            str(seed),
            "--minutes",
            str(minutes),
            "--current",
            str(self.current),
        ]
        command += ["--only", *only] if only else []
        self.process = subprocess.Popen(command, stdout=self.out.open("wb"), stderr=self.err.open("wb"))
        self.position = 0

    def lines(self):
        with self.out.open("rb") as file:
            file.seek(self.position)
            text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        self.position += len(complete)
        return complete.decode().splitlines()

    def errors(self):
        return self.err.read_text(errors="replace")


def _as_text(report):
    total = sum(group["count"] for group in report["findings"])
    lines = [
        f"{report['problems']} problems, {report['calls']} calls in {report['seconds']:.0f} s "
        f"on {report['jobs']} cores, seed {report['seed']}; {total} findings of {len(report['findings'])} causes"
    ]
    from hostile_problem import Problem

    for group in report["findings"]:
        lines.append(f"\n{group['count']} × {group['cause']}\n    {Problem.from_json(group['problem'])!r}")
        lines.append("    " + group["message"].strip().replace("\n", "\n    "))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
