"""What figures share: the door to matplotlib, which is optional, and panels."""

from typing import Any

import numpy as np

from preimage._engine.validation import own_parameters


class Display:
    """Base of figures, which are dataclasses: they keep copies of what they are made from, to be drawn again."""

    def __post_init__(self) -> None:
        for name, part in list(vars(self).items()):
            setattr(self, name, own_parameters(part))

    def _panels(
        self, ax: Any, count: int, *, n_columns: int | None, panel_size: tuple[float, float], **options: Any
    ) -> Any:
        """`count` axes: those given as `ax`, or of a new figure with `n_columns` side by side; sets `figure_`."""
        who = type(self).__name__
        plt = pyplot(who)
        if ax is not None:
            axes = np.ravel(np.asarray(ax, dtype=object))
            if len(axes) != count:
                raise ValueError(f"{who} draws {count} panels and needs as many axes; got {len(axes)}.")
            self.figure_ = axes[0].figure
            return axes
        n_columns = count if n_columns is None else min(n_columns, count)
        n_rows = -(-count // n_columns)
        size = (n_columns * panel_size[0], n_rows * panel_size[1])
        self.figure_, grid = plt.subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options
        )
        axes = grid.ravel()
        for unused in axes[count:]:
            unused.remove()
        for lowest in axes[count - n_columns : count]:
            lowest.tick_params(labelbottom=True)
        return axes[:count]


def tidy(ax: Any) -> None:
    """Axes with a faint grid behind the curves, open to the top and to the right."""
    ax.grid(True, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def pyplot(who: str) -> Any:
    """`matplotlib.pyplot`, or an error that says what to install; `who` needs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{who} draws with matplotlib, which is not installed. Type: pip install "preimage[plot]"'
        ) from error
    return plt


def legend_place(ax: Any) -> dict[str, Any]:
    """Where a legend goes: to the right of the axes in a figure of our own, where there is room in given axes `ax`."""
    return {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if ax is None else {"loc": "best"}
