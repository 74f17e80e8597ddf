"""How much longer do the main jobs take when other processes keep every core busy?

Set-up: the jobs of `_jobs.py` with as many threads as there are cores. Each job runs quietly and next to one spinning
process per core, in turn; minima and medians of the rounds. With fair shares of every core, a job takes twice its quiet
time. Threads that spin while they wait for each other make it many times more. scikit-learn's counterparts run as well
when asked for.

    python benchmarks/speed/busy.py --record
    python benchmarks/speed/busy.py --jobs exact --peers --threads 8
    python benchmarks/speed/busy.py --source before=../old/src

Observe: "ratio" is busy over quiet, of medians and of minima: 2 is what sharing costs.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _jobs import OURS, Worker, matching_jobs
from _measure import record
from _reports import option_parser

# Ends by itself when its parent is gone, also after SIGKILL, which no clean-up of the parent survives.
SPIN = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""


@contextlib.contextmanager
def busy_cores(count):
    """One spinning process per core inside a `with` statement."""
    spinning = []
    try:
        for _ in range(count):
            spinning.append(subprocess.Popen([sys.executable, "-S", "-c", SPIN, str(os.getpid())]))
        time.sleep(0.2)  # until they spin
        yield
    finally:
        for process in spinning:
            process.kill()
        for process in spinning:
            process.wait()


def measure_job(job, who, worker, cores, repeats, seconds):
    """[quiet seconds], [busy seconds] of runs in turn."""
    quiet, busy = [], []
    start = time.perf_counter()
    for _ in range(repeats):
        quiet.append(worker.seconds(job, who))
        with busy_cores(cores):
            busy.append(worker.seconds(job, who))
        if time.perf_counter() - start > seconds:
            break
    return quiet, busy


def main():
    parser = option_parser(__doc__, "record", "folder")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser.add_argument("--threads", type=int, default=cores)
    parser.add_argument("--jobs", nargs="+", default=[], help="words that the names of jobs contain")
    parser.add_argument("--source", nargs="+", default=[], metavar="NAME=PATH", help="other source trees, in turn")
    parser.add_argument("--peers", action="store_true", help="scikit-learn's counterparts as well")
    parser.add_argument("--repeats", type=int, default=3, help="largest number of rounds")
    parser.add_argument("--seconds", type=float, default=10.0, help="no further round of a job begins after that")
    parser.add_argument("--budget", type=float, default=1e9, help="no further job begins after so many seconds")
    parser.add_argument("--quick", action="store_true", help="small jobs, to try the script")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what spins is ended by `finally`

    import numpy as np

    sources = {OURS: None} | dict(source.split("=", 1) for source in options.source)
    workers, worst, values = {}, 0.0, {}
    start = time.perf_counter()
    try:
        workers |= {name: Worker(options.threads, source, options.quick) for name, source in sources.items()}
        machine = workers[OURS].machine
        print(f"{machine}; {cores} spinning processes")
        print(f"{'':32}{'':32}{'quiet':>9}{'median':>9}{'busy':>9}{'median':>9}{'ratio':>8}{'medians':>8}")
        for job in matching_jobs(options.jobs):
            if time.perf_counter() - start > options.budget:
                print(f"{job:32}not begun after {options.budget:g} seconds")
                continue
            for name, worker in workers.items():
                candidates = worker.candidates(job)
                for who in candidates if options.peers and name == OURS else candidates[:1]:
                    quiet, busy = measure_job(job, who, worker, cores, options.repeats, options.seconds)
                    ratio, medians = min(busy) / min(quiet), float(np.median(busy) / np.median(quiet))
                    if who == name == OURS:
                        worst = max(worst, ratio)
                        values |= {f"{job}; quiet": min(quiet), f"{job}; busy": min(busy)}
                        values |= {f"{job}; ratio": ratio, f"{job}; ratio of medians": medians}
                    print(
                        f"{job:32}{name if who == OURS else who:32}{min(quiet):9.3f}{np.median(quiet):9.3f}"
                        f"{min(busy):9.3f}{np.median(busy):9.3f}{ratio:8.2f}{medians:8.2f}",
                        flush=True,
                    )
                worker.forget(job)
    finally:
        for worker in workers.values():
            worker.kill()
    print(f"worst ratio of minima, this library: {worst:.2f}")
    if options.record:
        record("busy", values, {"threads": options.threads, "spinning": cores}, options.folder, machine)


if __name__ == "__main__":
    main()
