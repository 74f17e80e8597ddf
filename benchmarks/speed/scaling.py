"""What do the main jobs gain from more threads, and where does the time of the exact fit go?

Set-up: the jobs of `_jobs.py`, with 1, 2, 4, 8 and 16 threads as users set them (OMP_NUM_THREADS). Each number of
threads has a process of its own; every round runs a job once in each of them, one after the other, so that what slows
the machine for a while slows all. Where scikit-learn has a counterpart, it runs in the same rounds: exact kernel PCA by
LAPACK (its default here) and by ARPACK with two tolerances, `transform`, and Nyström features with PCA. Minima and
medians of the rounds are given; the first round counts, and runs of over four seconds are not repeated. Phases of the
exact fit are measured in one more run, by a stopwatch on functions of the library (`_phases.py`).

    python benchmarks/speed/scaling.py --record                                   # everything; minutes
    python benchmarks/speed/scaling.py --threads 1 8 --jobs exact compress        # some
    python benchmarks/speed/scaling.py --source before=../old/src --no-peers      # another source tree in turn
    python benchmarks/speed/cores_page.py --output docs/results/scaling.md        # the page of the records

Observe: "gain" is the time of one thread over the time of several, "efficiency" the gain per thread. No job should take
longer with more threads than with one.
"""

import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _jobs import OURS, Worker, matching_jobs
from _measure import record
from _reports import option_parser

THREADS = (1, 2, 4, 8, 16)
PHASED = "exact fit"
# Seconds of a run that is not repeated: what disturbs the machine for a moment hardly shows in it.
LONG = 4.0


def measure_job(job, workers, with_peers, repeats, seconds):
    """{(who, threads): [seconds]} of runs in turn; `workers` is {(source, threads): Worker}."""
    runs = {}
    for (source, threads), worker in workers.items():
        names = worker.candidates(job)
        for who in names if with_peers and source == OURS else names[:1]:
            runs[source if who == OURS else who, threads] = (worker, who, [])
    start = time.perf_counter()
    for _ in range(repeats):
        for worker, who, found in runs.values():
            if not found or min(found) <= LONG:
                found.append(worker.seconds(job, who))
        if time.perf_counter() - start > seconds:
            break
    return {key: found for key, (_, _, found) in runs.items()}


def print_job(job, rows):
    """A table of what `compact` gives."""
    minima = {(who, threads): least for who, threads, least, *_ in rows}
    medians = {(who, threads): median for who, threads, _, median, _ in rows}
    numbers = sorted({threads for _, threads in minima})
    print(f"\n{job}: seconds (minimum, median), gain, efficiency")
    print(f"{'threads':32}" + "".join(f"{threads:>28}" for threads in numbers))
    for who in dict.fromkeys(who for who, _ in minima):
        fewest = min(threads for name, threads in minima if name == who)
        entries = ""
        for threads in numbers:
            if (who, threads) not in minima:
                entries += " " * 28
                continue
            gain = minima[who, fewest] / minima[who, threads]
            entries += (
                f"{minima[who, threads]:9.3f}{medians[who, threads]:9.3f}{gain:5.1f}{fewest * gain / threads:5.0%}"
            )
        print(f"{who:32}{entries}")


def print_phases(phases):
    """`phases` is {threads: {phase: seconds}}."""
    names = next(iter(phases.values()))
    print(f"  phases in seconds and as fractions; threads {', '.join(map(str, phases))}")
    for name in names:
        cells = [f"{each[name]:8.3f}{each[name] / sum(each.values()):5.0%}" for each in phases.values()]
        print(f"    {name:22}" + "".join(cells), flush=True)


def print_waits(usages):
    """What threads do instead of work; `usages` is {threads: what `Worker.usage` says}."""
    for threads, usage in usages.items():
        rate = usage["waits"] / usage["seconds"]
        print(
            f"  {threads} threads: processor {usage['processor']:.2f} s in {usage['seconds']:.3f} s, "
            f"{usage['waits']} waits ({rate:.0f} a second), {usage['pages']} new pages",
            flush=True,
        )


def compact(found):
    """[[who, threads, minimum, median, number of runs]] with four digits."""
    import numpy as np

    rows = []
    for (who, threads), seconds in found.items():
        least, median = (float(f"{value:.4g}") for value in (min(seconds), np.median(seconds)))
        rows.append([who, threads, least, median, len(seconds)])
    return rows


def _rounded(phases):
    return {phase: float(f"{seconds:.3g}") for phase, seconds in phases.items()}


def flat(jobs, phases):
    """Values of a record, by keys such as "exact fit, 5,000 × 64; preimage; 8 threads"."""
    values = {}
    for job, rows in jobs.items():
        for who, threads, least, median, _ in rows:
            values[f"{job}; {who}; {threads} threads"] = least
            values[f"{job}; {who}; {threads} threads; median"] = median
        ours = {threads: least for who, threads, least, *_ in rows if who == OURS}
        for who, threads, least, *_ in rows:
            if who == OURS:
                values[f"{job}; gain of {threads} threads"] = ours[min(ours)] / least
            else:
                values[f"{job}; {who} over {OURS}; {threads} threads"] = least / ours[threads]
    for job, by_threads in phases.items():
        for threads, each in by_threads.items():
            values |= {f"{job}; {phase}; {threads} threads": seconds for phase, seconds in each.items()}
    return values


def measure(options):
    sources = {OURS: None} | dict(source.split("=", 1) for source in options.source)
    workers, jobs, phases = {}, {}, {}
    try:
        for threads in options.threads:
            for name, source in sources.items():
                workers[name, threads] = Worker(threads, source, options.quick)
        machine = workers[OURS, options.threads[-1]].machine
        start = time.perf_counter()
        for job in matching_jobs(options.jobs):
            if time.perf_counter() - start > options.budget:
                print(f"\n{job}: not begun after {options.budget:g} seconds")
                continue
            try:
                found = measure_job(job, workers, options.peers, options.repeats, options.seconds)
            except RuntimeError as error:
                print(f"\n{job}\n{error}", flush=True)
                continue
            jobs[job] = compact(found)
            if job.startswith(PHASED):
                phases[job] = {threads: _rounded(workers[OURS, threads].phases(job)) for threads in options.threads}
            if options.waits:
                print_waits({threads: workers[OURS, threads].usage(job) for threads in options.threads})
            print_job(job, jobs[job])
            if job in phases:
                print_phases(phases[job])
            for worker in workers.values():
                worker.forget(job)
    finally:
        for worker in workers.values():
            worker.kill()
    return jobs, phases, machine


def main():
    parser = option_parser(__doc__, "record", "folder")
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--jobs", nargs="+", default=[], help="words that the names of jobs contain")
    parser.add_argument("--source", nargs="+", default=[], metavar="NAME=PATH", help="other source trees, in turn")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="only this library")
    parser.add_argument("--repeats", type=int, default=5, help="largest number of rounds")
    parser.add_argument("--seconds", type=float, default=20.0, help="no further round of a job begins after that")
    parser.add_argument("--budget", type=float, default=1e9, help="no further job begins after so many seconds")
    parser.add_argument("--waits", action="store_true", help="how often threads wait, of one more run")
    parser.add_argument("--more", action="store_true", help="keep a record of some jobs beside that of all")
    parser.add_argument("--quick", action="store_true", help="small jobs, to try the script")
    options = parser.parse_args()
    jobs, phases, machine = measure(options)
    print(f"\n{machine}")
    if options.record:
        settings = {"jobs": list(jobs), "repeats": options.repeats, "seconds": options.seconds}
        if options.more:
            record("scaling_more", flat(jobs, phases), settings, options.folder, machine)
        else:
            record("scaling", flat(jobs, phases), settings, options.folder, machine)


if __name__ == "__main__":
    main()
