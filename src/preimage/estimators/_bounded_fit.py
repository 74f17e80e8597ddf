"""Fits of machines by libsvm that end."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Iterations after which libsvm stops, and for each row. Machines of scaled inputs take about ten for each row; on
# inputs of size 1e3 with C = 1 some take 1e8, and scikit-learn sets no limit. Ten times more and twenty rows would take
# ten seconds; ten times less and machines with a large C would stop before their tolerance.
MOST_ITERATIONS, ITERATIONS_PER_ROW = 1_000_000, 100


@contextmanager
def bounded_iterations(model: Any, n_rows: int, fraction: float = 1.0) -> Iterator[None]:
    """Let machines in an unfitted `model` that may iterate for ever stop, inside a `with` statement.

    scikit-learn then warns that they have not converged, and advises to scale the data. Parameters of the model are
    the same afterwards.

    Parameters
    ----------
    model : estimator, also a pipeline or a search
    n_rows : int
    fraction : float, default=1.0
        Of the iterations that a single fit may take, where there are many.
    """
    endless = {name: -1 for name, value in _parameters(model) if name.rpartition("__")[2] == "max_iter"}
    if not endless:
        yield
        return
    limit = int(fraction * max(MOST_ITERATIONS, ITERATIONS_PER_ROW * n_rows))
    model.set_params(**dict.fromkeys(endless, limit))
    try:
        yield
    finally:
        model.set_params(**endless)


def _parameters(model: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of parameters of which scikit-learn understands −1 as no limit."""
    return ((name, value) for name, value in model.get_params().items() if type(value) is int and value == -1)
