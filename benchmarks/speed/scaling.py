"""What do the main jobs gain from more threads, and where does the time of the exact fit go?

Set-up: the jobs of `_jobs.py`, with 1, 2, 4, 8 and 16 threads as users set them (OMP_NUM_THREADS). Each number of
threads has a process of its own; every round runs a job once in each of them, one after the other, so that what slows
the machine for a while slows all. Where scikit-learn has a counterpart, it runs in the same rounds: exact kernel PCA by
LAPACK (its default here) and by ARPACK with two tolerances, `transform`, and Nyström features with PCA. Minima and
medians of the rounds are given; the first round counts, and runs of over four seconds are not repeated. Phases of the
exact fit are measured in one more run, by a stopwatch on functions of the library (`_phases.py`).

    python benchmarks/speed/scaling.py                                            # everything; minutes
    python benchmarks/speed/scaling.py --threads 1 8 --jobs exact compress        # some
    python benchmarks/speed/scaling.py --source before=../old/src --no-peers      # another source tree in turn
    python benchmarks/speed/scaling.py --results > printed.txt                    # keeps the numbers
    python benchmarks/speed/scaling.py --merge printed.txt --record --draw docs/results

Observe: "gain" is the time of one thread over the time of several, "efficiency" the gain per thread. No job should take
longer with more threads than with one.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _jobs import OURS, Worker, matching_jobs

THREADS = (1, 2, 4, 8, 16)
PHASED = "exact fit"
# Seconds of a run that is not repeated: what disturbs the machine for a moment hardly shows in it.
LONG = 4.0
# Lines of the output that `--merge` reads back.
MARK = "RESULT "


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


def merged(paths):
    """What earlier runs printed: {job: rows as of `compact`}, {job: phases}, and the machines."""
    jobs, phases, machines = {}, {}, []
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            if text.startswith(MARK):
                result = json.loads(text.removeprefix(MARK))
                machines += [result["machine"]] if "machine" in result else []
                if "job" not in result:
                    continue
                jobs.setdefault(result["job"], []).extend(result["runs"])
                phases.setdefault(result["job"], {}).update({int(key): each for key, each in result["phases"].items()})
    return jobs, phases, list(dict.fromkeys(machines))


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


def markdown(jobs, phases):
    """The tables of docs/results/scaling.md: seconds, and gains in brackets."""
    numbers = sorted({threads for rows in jobs.values() for _, threads, *_ in rows})
    lines = [f"| job | {' | '.join(f'{threads} threads' for threads in numbers)} |", "|---" * (len(numbers) + 1) + "|"]
    lines[0] = lines[0].replace("| 1 threads", "| 1 thread")
    for job, rows in jobs.items():
        for who, (counts, seconds) in _curves(rows).items():
            found = dict(zip(counts, seconds, strict=True))
            cells = [_cell(found, threads) for threads in numbers]
            lines.append(f"| {job if who == OURS else f'— {who}'} | {' | '.join(cells)} |")
    for job, by_threads in phases.items():
        if by_threads:
            lines += ["", f"| {job} | {' | '.join(f'{threads}' for threads in by_threads)} |"]
            lines.append("|---" * (len(by_threads) + 1) + "|")
            for phase in next(iter(by_threads.values())):
                cells = [f"{each[phase]:.3f} s, {each[phase] / sum(each.values()):.0%}" for each in by_threads.values()]
                lines.append(f"| {phase} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found, threads):
    if threads not in found:
        return "—"
    first = found[min(found)]
    digits = f"{found[threads]:.3g} s" if found[threads] < 100 else f"{found[threads]:.0f} s"
    return digits if threads == min(found) else f"{digits} ({first / found[threads]:.1f} ×)"


def draw(jobs, folder):
    """Curves of gains over one thread: exact kernel PCA with its counterparts, and the other jobs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 5.6), layout="constrained")
    fits = {job: rows for job, rows in jobs.items() if job.startswith((PHASED, "transform", "landmark"))}
    others = {job: rows for job, rows in jobs.items() if job not in fits}
    for number, (job, rows) in enumerate(fits.items()):
        for who, (counts, seconds) in _curves(rows).items():
            style = "o-" if who == OURS else "^:" if "arpack" in who else "s--"
            options = {"color": f"C{number}", "markersize": 4}
            axes[0].loglog(counts, seconds, style, label=job if who == OURS else f"{job}: {who}", **options)
            axes[1].loglog(counts, [seconds[0] / each for each in seconds], style, **options)
    for number, (job, rows) in enumerate(others.items()):
        counts, seconds = _curves(rows)[OURS]
        gains = [seconds[0] / each for each in seconds]
        axes[2].loglog(counts, gains, "o-", markersize=4, color=f"C{number}", label=job)
    axes[0].set(ylabel="seconds", title="Exact kernel PCA, transform, landmarks")
    axes[1].set(ylabel="gain over one thread", title="The same, relative to one thread")
    axes[2].set(title="Other jobs, relative to one thread")
    for ax in axes[1:]:
        ax.plot(THREADS, THREADS, color="0.75", linewidth=0.8)
        ax.set_yticks([0.5, 1, 2, 4, 8, 16], labels=["0.5", "1", "2", "4", "8", "16"])
    for ax in axes:
        ax.set(xlabel="threads")
        ax.set_xticks(THREADS, labels=list(map(str, THREADS)))
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    for ax in (axes[0], axes[2]):
        ax.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(0, -0.15))
    figure.savefig(folder / "scaling.png", dpi=110)
    print(f"drawn in {folder / 'scaling.png'}")


def _curves(rows):
    """{who: (numbers of threads, minima)}."""
    curves = {}
    for who, threads, least, *_ in sorted(rows, key=lambda row: row[1]):
        numbers, seconds = curves.setdefault(who, ([], []))
        numbers.append(threads)
        seconds.append(least)
    return curves


def measure(options):
    sources = {OURS: None} | dict(source.split("=", 1) for source in options.source)
    workers, jobs, phases = {}, {}, {}
    try:
        for threads in options.threads:
            for name, source in sources.items():
                workers[name, threads] = Worker(threads, source, options.quick)
        machine = workers[OURS, options.threads[-1]].machine
        if options.results:
            print_result(machine=machine)
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
            if options.results:
                print_result(job=job, runs=jobs[job], phases=phases.get(job, {}))
            for worker in workers.values():
                worker.forget(job)
    finally:
        for worker in workers.values():
            worker.kill()
    return jobs, phases, [machine]


def print_result(**result):
    """A line for `--merge`."""
    print(MARK + json.dumps(result, ensure_ascii=False), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--jobs", nargs="+", default=[], help="words that the names of jobs contain")
    parser.add_argument("--source", nargs="+", default=[], metavar="NAME=PATH", help="other source trees, in turn")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="only this library")
    parser.add_argument("--repeats", type=int, default=5, help="largest number of rounds")
    parser.add_argument("--seconds", type=float, default=20.0, help="no further round of a job begins after that")
    parser.add_argument("--budget", type=float, default=1e9, help="no further job begins after so many seconds")
    parser.add_argument("--waits", action="store_true", help="how often threads wait, of one more run")
    parser.add_argument("--quick", action="store_true", help="small jobs, to try the script")
    parser.add_argument("--merge", type=Path, nargs="+", help="read what earlier runs printed instead of measuring")
    parser.add_argument("--results", action="store_true", help="print lines for --merge instead of tables")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/results/scaling.md")
    parser.add_argument("--record", action="store_true", help="keep the numbers for the texts that quote them")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="draw the curves there")
    options = parser.parse_args()
    jobs, phases, machines = merged(options.merge) if options.merge else measure(options)
    if not (options.results or options.markdown):
        print("\n".join(machines))
        for job, rows in jobs.items():
            print_job(job, rows)
            if phases.get(job):
                print_phases(phases[job])
    if options.markdown:
        print(markdown(jobs, phases))
    if options.draw:
        draw(jobs, options.draw)
    if options.record:
        from _measure import record

        record("scaling", flat(jobs, phases), {"jobs": list(jobs)}, machine="; ".join(machines))


if __name__ == "__main__":
    main()
