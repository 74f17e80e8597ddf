"""From a fitted model and its data to a web page."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from preimage._engine.arguments import names_its_arguments
from preimage._engine.arrays import from_device
from preimage._engine.progress import progress_bar
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage.estimators import KernelNoveltyDetector, OrientedKernelPCA, SemiSupervisedKernelPCA
from preimage.explorer._compression import said_of
from preimage.explorer._drawn import DrawnRows, filled_entries
from preimage.explorer._explorer import Explorer
from preimage.explorer._fronts import taken_apart
from preimage.explorer._kinds import view_record
from preimage.explorer._labels import read_labels
from preimage.explorer._models import fitted_kernel
from preimage.explorer._named import named_models
from preimage.explorer._parts import Smaller, read_part
from preimage.explorer._precision import require_finite
from preimage.explorer._samples import PICTURES, number_of_rows
from preimage.explorer._words import counted, shown
from preimage.kernels import is_profile

# Raised when pages change in a way that matters to those who read their data.
VERSION = 1
_METHODS: dict[type, str] = {
    SemiSupervisedKernelPCA: "Semi-supervised kernel PCA",
    OrientedKernelPCA: "Oriented kernel PCA",
    KernelNoveltyDetector: "Novelties",
}


@names_its_arguments
def explore(
    model: Any,
    X: Rows,
    y: Targets = None,
    *,
    image_shape: Sequence[int] | None = None,
    kind: str = "auto",
    names: Sequence[str] | None = None,
    units: Any = None,
    axis: Array = None,
    axis_label: str | None = None,
    value_label: str | None = None,
    mask: Any = None,
    label_name: str | None = None,
    colors: Any = None,
    widths: Sequence[float] | None = None,
    title: str | None = None,
    n_components: int | None = None,
    n_points: int | None = None,
    max_samples: int = 5000,
    verbose: bool = False,
    random_state: Seed = 0,
) -> Explorer:
    r"""Make a web page that shows a fitted model: its map, pre-images at the pointer, walks, components, denoising.

    The page is one HTML file without references to anything outside it. The model is inside, and the browser of
    whoever opens it computes pre-images :math:`\arg\min_z \|\varphi(z) - \Psi\|^2` (P1) by the solvers of this library.
    They are those of `denoise`, and of `inverse_transform` where the model has ``preimage="fixed_point"`` or
    ``"gradient"``; with ``preimage="auto"`` `inverse_transform` answers by a learned map, and differs.

    Parameters
    ----------
    model : fitted estimator, list of them, or dict of them by name
        `KernelPCA` (also scikit-learn's), `SemiSupervisedKernelPCA`, `OrientedKernelPCA`, `CompressedTransformer`,
        `KernelNoveltyDetector`, whose own scores and decisions are shown as novelty, or a Pipeline of scalers, PCA,
        selections of columns and imputers that ends in one. Of several models, the page has a slider.
    X : array, sparse matrix, data frame, memory map or Dask array of shape (n, d)
        The rows to draw: the training set, or others like it, in the units in which they should be seen.
    y : array of shape (n,), optional
        Labels to colour by: texts or numbers, missing ones NaN, None or "" (and −1 for `SemiSupervisedKernelPCA`).
        Numbers of more than 30 different values are shown as measurements.
    image_shape : tuple of ints, optional
        Height and width of rows that are images; (height, width, 3) for colours.
    kind : {"auto", "image", "curve", "table", "volume"}, default="auto"
        How a row is shown. "auto" guesses, and the page says what it guessed.
    names, units : sequences of d strings, optional
        Of the columns; names of a data frame are used by themselves.
    axis : array of shape (d,), optional
        Where the values of curves were measured: wavelengths, times.
    axis_label, value_label : str, optional
        What the axes of curves show, such as "wavelength in nm" and "absorbance".
    mask : array of shape (x, y, z) or image, optional
        The voxels of a volume that columns of X are, in C order.
    label_name : str, optional
        What y is, such as "species"; the name of a pandas Series is used by itself.
    colors : dict of arrays of shape (n,), or data frame, optional
        Further columns to colour by, such as ``{"age": ages}``.
    widths : sequence of floats, optional
        Values of `gamma` for which copies of the model are fitted to X and y, in addition to the model itself, so that
        the page shows what the width does.
    title : str, optional
        The heading of the page; None is made of the model and the number of rows.
    n_components : int, optional
        Leading components that the page has; None is all, but at most 64.
    n_points : int, optional
        Models of more points are compressed to so many, see `compress`; the page says what that changes. None is 300,
        and fewer for rows of more than 6,000 values, with which a browser would be slow.
    max_samples : int, default=5000
        Rows that are drawn at most. Of more, some are chosen at random, labels in proportion.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the choice of rows and of compression: the same seed gives the same page.

    Returns
    -------
    Explorer
        With `save`, `to_html`, and `messages`; in a notebook it shows itself.

    See Also
    --------
    preimage.explorer.Explorer : What comes back, with `save`.
    KernelPCA.navigate : A walk between two points, as an array.
    preimage.plotting.NavigationDisplay : A walk as a figure.
    compress : How models of many points become small enough.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from preimage import KernelPCA, explore
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelPCA(8, gamma="median").fit(X[:200])
    >>> page = explore(model, X[:200], y[:200], image_shape=(8, 8))
    >>> page
    Explorer 'Kernel PCA of 200 rows, Gaussian kernel': 200 rows, 1 model with 8 components on 200 points

    ``page.save("digits.html")`` writes it.
    """
    max_samples = _count("max_samples", max_samples)
    n_points = None if n_points is None else _count("n_points", n_points)
    n_components = None if n_components is None else _count("n_components", n_components)
    X, y = (from_device(values) for values in (X, y))
    with progress_bar(verbose):
        models = named_models(model, widths, X, y)
        labels = read_labels(y, number_of_rows(X), models.are_partly_labelled, label_name)
        is_picture = kind in PICTURES or image_shape is not None or mask is not None
        drawn = DrawnRows.of(X, labels, colors, max_samples, 1 if is_picture else 4, random_state)
        parts = [read_part(estimator, drawn) for estimator in models.estimators]
        view, said = view_record(
            parts[0].inputs,
            kind=kind,
            image_shape=image_shape,
            mask=mask,
            axis=axis,
            axis_label=axis_label,
            value_label=value_label,
            names=drawn.names if names is None else names,
            units=units,
        )
        options = Smaller(n_components, n_points, random_state)
        made = [part.record(name, options) for name, part in zip(models.names(), parts, strict=True)]
    records, notes, losses = zip(*made, strict=True)
    about_rows = [*drawn.messages(), *filled_entries(drawn.values)]
    about_models = [*_notes(models.names(), notes), *said_of([loss for loss in losses if loss is not None])]
    header = {
        "version": VERSION,
        "title": shown(_title(models.estimators[0], drawn.total) if title is None else title),
        "messages": [*said, *about_rows, *about_models],
        "initial": models.initial,
        "view": view,
        "samples": drawn.record(parts[0].inputs, view["kind"]),
        "models": list(records),
    }
    require_finite(header)
    return Explorer(header)


def _count(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"explore needs {name} to be a whole number of at least one; got {value!r}.")
    return int(value)


def _title(estimator: Any, total: int) -> str:
    """What the page shows: the method, the kernel where one word says it, and the number of rows."""
    last = taken_apart(estimator)[1]
    method = next((name for cls, name in _METHODS.items() if isinstance(last, cls)), "Kernel PCA")
    kernel = fitted_kernel(last)
    named = f", {type(kernel).__name__} kernel" if is_profile(kernel) else ""
    return f"{method} of {counted(total, 'row')}{named}"


def _notes(names: list[str], notes: Sequence[list[str]]) -> list[str]:
    """What is said about models: once where it is true of all of them, else with their names."""
    distinct = dict.fromkeys(sentence for each in notes for sentence in each)
    said = []
    for sentence in distinct:
        about = [name for name, each in zip(names, notes, strict=True) if sentence in each]
        said.append(sentence if len(about) == len(names) else f"{', '.join(about)}: {sentence}")
    return said
