"""What do threads, and workers of a cluster, gain on a machine of sixteen cores, and what do busy ones lose?

Set-up: `scaling.py`, `busy.py`, `long_jobs.py` and `dask_cores.py` keep their records there, each by one command, and
this script makes tables, a figure and the page of them. Nothing is measured here.

    python benchmarks/speed/cores_page.py --output docs/results/scaling.md

Observe: gains over one thread, the time next to busy cores over the quiet time, and gains per worker of a cluster.
"""

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _jobs import JOBS, OURS
from _measure import RECORDS, command
from _phases import PHASES, REST
from _reports import option_parser, publish, table
from dask_cores import ACTIONS

# Sizes that `dask_cores.py` has for its jobs, in words.
CLUSTER = {
    "landmarks": "Kernel PCA of 2,000,000 × 32 rows in 64 chunks on 500 landmarks, float32",
    "exact": "Exact kernel PCA of 80,000 × 32 rows, 32 components, float64, no Gram matrix in memory",
}
# Jobs that are drawn with their counterparts; the others relative to one thread.
DRAWN = ("exact fit", "transform", "landmark fit")

ABOUT_THREADS = """\
Every number of threads has a process of its own with `OMP_NUM_THREADS` set; a round runs a job once in each of them,
and scikit-learn's counterpart where there is one. Both tolerances of ARPACK are at least as accurate as our fit here
(residuals 9e-11 and 2e-15 of the largest eigenvalue, ours 6e-9). Seconds are minima over at most {repeats} rounds,
the first one included, of which none begins after {seconds:g} s; in brackets, the time of one thread over that of
several."""

JOBS_IN_WORDS = """\
Data: blobs in 64 dimensions for exact fits (32 components, float64), for `transform` (of 20,000 rows against 5,000),
`WidthSearch` and k-means (ten clusters, eight starts); blobs in 32 dimensions with 500 landmarks; two overlapping
classes in 20 dimensions for discriminants, `compress` (a support vector machine to 50 points), `Renormalized` and
semi-supervised components (every tenth row labelled). scikit-learn's digits are the data of `denoise` (64
components), both searches for it (one is told the noise, the other is not), the imputer (30 % of the entries
missing), `compress` (1,500 rows to 60 points) and `Renormalized` with ten classes."""

WHAT_GAINS = """\
What gains: exact fits, cross-validated discriminants, the imputer, k-means and `denoise`, which consist of pieces
that run side by side. A piece consists of calls of NumPy and LAPACK of a tenth of a millisecond to a few, and between
them one thread at a time has Python's interpreter. What gains little are chains of small steps: one discriminant,
machines of `Renormalized`, which use two to four threads, and `compress`, whose searches for single points each take
what those before have left, and whose descent uses one thread for so few rows. Times of `compress` in this table are
single runs of a version that gave memory of temporaries back to the system on one thread, step by step. What that
takes differs from run to run: on one thread a further run of the 1,500 digits took 0.99 s of processor time, where
others took 0.70 s. Later commits keep this memory; curves over threads were not measured with them."""

ABOUT_MORE = """\
Minima of at most three rounds; a round of the search takes so long that there was only one. Between this run and the
one above kernel values of a fold are cut differently, and steps of the search make half as many calls of NumPy, which
is not measured here. The same run counted how often threads waited: those of the search 64,600 times in 1.2 s on
eight threads, a tenth of a millisecond each, which is what it loses."""

ABOUT_COST = """\
The model is too fast by an eighth to a fifth: processors need 18 and 19 seconds of work on four and ten workers for
what takes them 14 seconds on one, as they share memory, which matrices of this size in a cache do not show. The
client, which had one thread then, works for 0.7 s of each fit, a fourth of it with ten workers. Exact fits were not
measured at this version on workers of one thread: sixteen workers took 25 s for 80,000 × 32 rows in a run in which
each of them had sixteen threads, by a fault of the script that is mended."""

ABOUT_CLUSTERS = """\
Single runs on workers of one thread, with a client that has as many threads as there are workers; they wait while it
works. "Allowed" is the speed of as many processes that only multiply matrices, each relative to one alone; "expected"
is the model of [the guide](../guides/clusters.md#how-long-will-it-take), from the time of the plain process and the
client's work at one worker."""


def read(name):
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def origin_of(found):
    """How a record was made, and on what."""
    command, _, jobs = found["command"].partition(" --jobs ")
    command = f"{command} --jobs …" if "'" in jobs else found["command"]  # those of the table, as quoted words
    parts = [f"Measured by `{command}`", found["machine"], found.get("duration")]
    return "; ".join(filter(None, parts)) + "."


def curves_of(values):
    """{job: {who: {threads: seconds}}} of the values of `scaling.json`, in the order of `JOBS`."""
    found = {}
    for key, value in values.items():
        match key.split("; "):
            case [job, who, threads] if threads.endswith(" threads") and who in (OURS, *_peers(values)):
                found.setdefault(job, {}).setdefault(who, {})[int(threads.split()[0])] = value
    return {job: found[job] for job in JOBS if job in found}


def _peers(values):
    return {key.split("; ")[1].removesuffix(f" over {OURS}") for key in values if f" over {OURS}; " in key}


def scaling_table(curves):
    numbers = sorted({threads for each in curves.values() for seconds in each.values() for threads in seconds})
    header = ["job", *(f"{threads} thread{'s' * (threads > 1)}" for threads in numbers)]
    rows = [
        [job if who == OURS else f"— {who}", *(gained(seconds, threads) for threads in numbers)]
        for job, each in curves.items()
        for who, seconds in each.items()
    ]
    return table(header, rows)


def gained(seconds, threads):
    """Seconds, and in brackets the gain over one thread."""
    if threads not in seconds:
        return "—"
    digits = f"{seconds[threads]:.3g} s"
    return digits if threads == min(seconds) else f"{digits} ({seconds[min(seconds)] / seconds[threads]:.1f} ×)"


def phase_tables(values):
    """Where the time of exact fits goes."""
    for job in JOBS:
        by_threads = {}
        for key, value in values.items():
            match key.split("; "):
                case [name, phase, threads] if name == job and phase in (*PHASES, REST):
                    by_threads.setdefault(int(threads.split()[0]), {})[phase] = value
        if by_threads:
            yield ""
            total = {threads: sum(each.values()) for threads, each in by_threads.items()}
            cell = lambda each, threads, phase: f"{each[phase]:.3f} s, {each[phase] / total[threads]:.0%}"
            yield from table(
                [job, *map(str, by_threads)],
                [[name, *(cell(each, t, name) for t, each in by_threads.items())] for name in (*PHASES, REST)],
            )


def cluster_table(job, values):
    """Seconds and gains of a job of `dask_cores.py`, and what workers did."""
    of_plain = values[f"{job}; plain; seconds"]
    rows = [["plain process", f"{of_plain:.3g}", *[""] * 8]]
    workers = sorted(int(key.split("; ")[1].split()[0]) for key in values if key.startswith(job) and "; tasks" in key)
    for count in workers:
        of = lambda name, count=count: values.get(f"{job}; {count} workers; {name}")
        has_actions = all(of(name) is not None for name in ACTIONS)
        busy = [of(name) / (count * of("seconds")) for name in ACTIONS[:2]] if has_actions else []
        part = lambda name, of=of: "" if of(name) is None else f"{of(name):.0%}"
        rows.append(
            [
                f"{count}",
                f"{of('seconds'):.3g}",
                f"{of_plain / of('seconds') / count:.0%}",
                part("efficiency"),
                part("of what the machine allows"),
                "" if of("model seconds") is None else f"{of('model seconds'):.3g}",
                f"{of('tasks'):.0f}",
                f"{of('megabytes between workers'):.0f}",
                " / ".join(f"{each:.0%}" for each in [*busy, max(0.0, 1 - sum(busy))]) if busy else "",
                "" if of("difference") is None else f"{of('difference'):.0e}",
            ]
        )
    header = [
        "workers",
        "seconds",
        "gain per worker, over the process",
        "over one worker",
        "of what the machine allowed",
    ]
    header += ["expected", "tasks", "MB between workers", "compute / wait for data / idle", "difference"]
    kept = [place for place in range(len(header)) if any(row[place] for row in rows)]
    return table([header[place] for place in kept], [[row[place] for place in kept] for row in rows])


def busy_lines(found):
    yield "\n## Busy machines\n"
    settings, of_busy = found["settings"], found["values"]
    yield (
        f"{origin_of(found)} {settings['threads']} threads, quiet and with {settings['spinning']} spinning processes, "
        "one on every core, in turn; minima, and ratios of minima and of medians. Where cores are divided fairly, "
        "everything takes twice as long.\n"
    )
    yield from table(
        ["job", "quiet", "busy", "ratio", "of medians"],
        [
            [
                job,
                *(f"{of_busy[f'{job}; {name}']:.3g} s" for name in ("quiet", "busy")),
                *(f"{of_busy[f'{job}; {name}']:.2f}" for name in ("ratio", "ratio of medians")),
            ]
            for job in JOBS
            if f"{job}; quiet" in of_busy
        ],
    )


def page():
    scaling, more, long_jobs, cluster = map(read, ("scaling", "scaling_more", "long_jobs", "dask_cores"))
    yield "# Threads, busy machines and long jobs\n"
    yield f"Written by `{command()}` from the records of the scripts that are named below.\n"
    yield "## What the main jobs gain from threads\n"
    yield f"{origin_of(scaling)} {ABOUT_THREADS.format(**scaling['settings'])}\n"
    yield from scaling_table(curves_of(scaling["values"]))
    yield "\n![Seconds and gains by the number of threads](scaling.png)\n"
    yield f"{WHAT_GAINS}\n"
    yield f"{JOBS_IN_WORDS}\n"
    yield "### The same jobs again, and searches\n"
    yield f"{origin_of(more)} {ABOUT_MORE}\n"
    yield from scaling_table(curves_of(more["values"]))
    yield "\n## Workers of a Dask cluster\n"
    yield f"{origin_of(cluster)} {ABOUT_CLUSTERS}"
    for job in CLUSTER:
        if f"{job}; plain; seconds" in cluster["values"]:
            yield f"\n{CLUSTER[job]}:\n"
            yield from cluster_table(job, cluster["values"])
    yield f"\n{ABOUT_COST}"
    yield "\n## Parts of the exact fit\n"
    yield "By a stopwatch on the functions of the library, in one more run."
    yield from phase_tables(scaling["values"])
    if (RECORDS / "busy.json").exists():
        yield from busy_lines(read("busy"))
    yield "\n## Long jobs on one core\n"
    yield f"{origin_of(long_jobs)} Single runs.\n"
    yield from table(["job", "seconds"], [[job, f"{value:.2f} s"] for job, value in long_jobs["values"].items()])


def draw(curves, path):
    """Curves of gains over one thread: exact kernel PCA with its counterparts, and the other jobs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 5.6), layout="constrained")
    fits = {job: each for job, each in curves.items() if job.startswith(DRAWN)}
    numbers = sorted({threads for each in curves.values() for seconds in each.values() for threads in seconds})
    for number, (job, each) in enumerate(fits.items()):
        for who, seconds in each.items():
            style = "o-" if who == OURS else "^:" if "arpack" in who else "s--"
            options = {"color": f"C{number}", "markersize": 4}
            axes[0].loglog(*_line(seconds), style, label=job if who == OURS else f"{job}: {who}", **options)
            axes[1].loglog(*_line(seconds, seconds[min(seconds)]), style, **options)
    others = [job for job in curves if job not in fits]
    for number, job in enumerate(others):
        seconds = curves[job][OURS]
        options = {"markersize": 4, "color": f"C{number % 10}", "linestyle": "-" if number < 10 else "--"}
        axes[2].loglog(*_line(seconds, seconds[min(seconds)]), "o", label=job, **options)
    axes[0].set(ylabel="seconds", title="Exact kernel PCA next to scikit-learn")
    axes[1].set(ylabel="gain over one thread", title="The same, relative to one thread")
    axes[2].set(title="Other jobs, relative to one thread")
    for ax in axes[1:]:
        ax.plot(numbers, numbers, color="0.75", linewidth=0.8)
        ax.set_yticks([0.5, 1, 2, 4, 8, 16], labels=["0.5", "1", "2", "4", "8", "16"])
    for ax in axes:
        ax.set(xlabel="threads")
        ax.set_xticks(numbers, labels=list(map(str, numbers)))
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    for ax in (axes[0], axes[2]):
        ax.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(0, -0.15))
    figure.savefig(path, dpi=110)


def _line(seconds, over=None):
    """Numbers of threads, and seconds or the gain over so many."""
    numbers = sorted(seconds)
    return numbers, [seconds[each] if over is None else over / seconds[each] for each in numbers]


def main():
    options = option_parser(__doc__, "output").parse_args()
    publish(page(), options.output)
    if options.output:
        draw(curves_of(read("scaling")["values"]), options.output.with_suffix(".png"))


if __name__ == "__main__":
    main()
