"""The door to matplotlib, which is optional."""

from typing import Any

import numpy as np


def pyplot(who: str) -> Any:
    """`matplotlib.pyplot`, or an error that says what to install; `who` needs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{who} draws with matplotlib, which is not installed. Type: pip install "preimage[plot]"'
        ) from error
    return plt


def panels(
    who: str, ax: Any, count: int, *, n_columns: int | None, panel_size: tuple[float, float], **options: Any
) -> Any:
    """`count` axes: those given as `ax`, or those of a new figure with `n_columns` panels side by side."""
    plt = pyplot(who)
    if ax is not None:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != count:
            raise ValueError(f"{who} draws {count} panels and needs as many axes; got {len(axes)}.")
        return axes
    n_columns = count if n_columns is None else min(n_columns, count)
    n_rows = -(-count // n_columns)
    size = (n_columns * panel_size[0], n_rows * panel_size[1])
    _, grid = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options)
    axes = grid.ravel()
    for unused in axes[count:]:
        unused.remove()
    for lowest in axes[count - n_columns : count]:
        lowest.tick_params(labelbottom=True)
    return axes[:count]
