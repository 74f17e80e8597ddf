"""Bars with rows, rows a second and the time that is left."""

from contextlib import contextmanager, nullcontext

from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text


class Bars:
    """One bar a stage, on a terminal only.

    Parameters
    ----------
    progress : rich Progress
    """

    def __init__(self, progress):
        self.progress = progress

    @contextmanager
    def stage(self, name, total, done=0):
        """A bar; yields a function that takes the number of rows that were done since."""
        task = self.progress.add_task(name, total=total, completed=done)
        yield lambda rows: self.progress.advance(task, rows)
        self.progress.update(task, total=self.progress.tasks[task].completed)


@contextmanager
def row_bars(console, quiet=False):
    """Bars on `console`, which is silent when `quiet` or when nobody looks."""
    columns = TextColumn("{task.description}"), BarColumn(), _Rows(), _Rate(), TimeRemainingColumn()
    silent = quiet or not console.is_terminal
    progress = Progress(*columns, console=console, transient=True, disable=silent)
    # Before version 14.3 of rich, one that is disabled ends with an empty line all the same.
    with nullcontext() if silent else progress:
        yield Bars(progress)


class _Rows(ProgressColumn):
    def render(self, task):
        total = "?" if task.total is None else f"{int(task.total):,}"
        return Text(f"{int(task.completed):,}/{total} rows")


class _Rate(ProgressColumn):
    def render(self, task):
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} rows/s")
