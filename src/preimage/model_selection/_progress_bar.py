"""A bar for whoever waits, where rich is installed."""

from contextlib import contextmanager, nullcontext


@contextmanager
def progress_bar(description, total, verbose):
    """Yields a function to call after each of `total` pieces; silent unless `verbose`, and without rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        verbose = False
    if not verbose:
        yield lambda: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    silent = not (console.is_terminal or console.is_jupyter)  # nobody looks
    bar = Progress(*columns, console=console, transient=True, disable=silent)
    with nullcontext() if silent else bar:  # older versions of rich end one that is disabled with an empty line
        task = bar.add_task(description, total=total)
        yield lambda: bar.advance(task)
