"""A page that shows a fitted model: what `explore` returns."""

import html
import os
from pathlib import Path
from typing import Any

from preimage._engine.output_files import replacing
from preimage.explorer._page import page_of
from preimage.explorer._words import counted

# Height of the page inside a notebook, in pixels: the map and the pre-image next to it, without scrolling.
NOTEBOOK_HEIGHT = 860


class Explorer:
    """A web page with a fitted model inside; made by `explore`, shown by itself in notebooks.

    Parameters
    ----------
    header : dict
        The data of the page; `preimage.explore` makes it.

    Attributes
    ----------
    title : str
    messages : list of str
        What the page says below its title: how rows are shown, which of them are drawn, what was compressed.
    header : dict
        The data of the page.

    See Also
    --------
    preimage.explore : Makes it, and describes the page.
    preimage.plotting.NavigationDisplay : A walk as a figure.
    preimage.plotting.SpectrumDisplay : The spectrum as a figure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from preimage import KernelPCA, explore
    >>> wine = load_wine(as_frame=True)
    >>> model = make_pipeline(StandardScaler(), KernelPCA(4, gamma=0.02)).fit(wine.data)
    >>> page = explore(model, wine.data, wine.target, title="Wines")
    >>> page
    Explorer 'Wines': 178 rows, 1 model with 4 components on 178 points
    >>> "</html>" in page.to_html()
    True
    """

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header

    @property
    def title(self) -> str:
        return self.header["title"]

    @property
    def messages(self) -> list[str]:
        return list(self.header["messages"])

    def to_html(self) -> str:
        """The page as text: one HTML document that refers to nothing outside itself."""
        return page_of(self.header)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the page to a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            Such as "digits.html"; an existing file is replaced.

        Returns
        -------
        Path
        """
        page = self.to_html().encode("utf-8")
        with replacing(path) as file:
            file.write_bytes(page)
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which cannot reach the notebook around it."""
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="{NOTEBOOK_HEIGHT}" '
            f'title="{html.escape(self.title)}" srcdoc="{html.escape(self.to_html())}"></iframe>'
        )

    def __repr__(self) -> str:
        samples, models = self.header["samples"], self.header["models"]
        total, count = samples["total"], samples["count"]
        rows = counted(total, "row") if count == total else f"{count:,} of {counted(total, 'row')}"
        sizes = sorted({len(model["component_names"]) for model in models})
        points = sorted({model["points"].shape[0] for model in models})
        return (
            f"Explorer {self.title!r}: {rows}, {counted(len(models), 'model')} with "
            f"{counted(_range(sizes), 'component')} on {counted(_range(points), 'point')}"
        )


def _range(numbers: list[int]) -> str:
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
