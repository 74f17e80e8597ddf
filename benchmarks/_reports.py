"""What the scripts have in common: options, where a report comes from, tables, and where the report goes."""

import argparse
import sys
import time
from pathlib import Path

from _measure import RECORDS, command, describe_machine, duration

COMMON_OPTIONS = {
    "jobs": {"type": int, "default": 1, "help": "processes; give each one core, with OMP_NUM_THREADS=1"},
    "record": {"action": "store_true", "help": "keep the figures for the texts that quote them"},
    "folder": {"type": Path, "default": RECORDS, "help": "where --record writes"},
    "output": {"type": Path, "help": "also write the report to this Markdown file, and figures beside it"},
}


def option_parser(text, *common):
    """A parser of options: `text` is what ``--help`` says, `common` names options that other scripts have too."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in common:
        parser.add_argument(f"--{name}", **COMMON_OPTIONS[name])
    return parser


def origin(machine=None, taken=None):
    """One line of a report: command, versions, machine and how long it took; of this run, unless it is said."""
    return f"`{command()}`; {machine or describe_machine()}; {taken or duration()}.\n"


def origin_and_time(taken):
    """Two lines of a report: command; versions, machine and how long it took."""
    yield f"`{command()}`\n"
    yield f"{describe_machine()}; {taken}.\n"


def stamped(heading, contents):
    """A heading, and the origin of the record below it, for pages that are put together from several records."""
    yield heading
    yield f"`{contents['command']}`; {contents['machine']}; {contents['duration']}.\n"


def minutes(seconds):
    return f"{seconds / 60:.1f} minutes"


def table(header, rows):
    """The lines of a table in Markdown."""
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def publish(lines, path=None):
    """Print a report, and write it to a file if there is a path."""
    report = "\n".join(lines)
    print(report)
    if path is not None:
        path.write_text(report + "\n", encoding="utf-8")


def progress(message, started):
    """A line for those who wait, which is no part of the report."""
    print(f"[{time.perf_counter() - started:6.0f} s] {message}", file=sys.stderr, flush=True)


def yes(holds):
    return "yes" if holds else "**no**"
