"""From a fitted model and its data to a web page."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from preimage._engine.arguments import names_its_arguments
from preimage._engine.arrays import from_device, is_foreign
from preimage._engine.progress import progress_bar
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage.estimators import CompressedTransformer, KernelNoveltyDetector, OrientedKernelPCA, SemiSupervisedKernelPCA
from preimage.explorer._compression import said_of
from preimage.explorer._kinds import view_record
from preimage.explorer._labels import read_labels
from preimage.explorer._models import fitted_kernel, is_machine, width_of
from preimage.explorer._page import Explorer
from preimage.explorer._parts import read_part
from preimage.explorer._precision import counted, require_finite, shown
from preimage.explorer._rows import PICTURES, DrawnRows, filled_entries, number_of_rows
from preimage.explorer._stand_ins import IMPUTERS, with_components
from preimage.interop import machine_of
from preimage.interop._pipeline import final_step, taken_apart, unwrapped
from preimage.kernels import Kernel, is_profile
from preimage.persistence import on_host

# Widths that differ by less are one: rules such as "median" give the same number up to rounding.
SAME_WIDTH = 1e-9
# Names of kernels that have no width.
WITHOUT_WIDTH = ("linear", "cosine", "precomputed")
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
        A kernel machine (support vector machines, one-class machines, kernel ridge, Gaussian processes and this
        library's) is shown by what it decides at each place, on a map of kernel PCA with its kernel; an imputer by what
        it fills in, on a map of the filled rows.
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
        estimators, model_names, initial = named_models(model, widths, X, y, n_components)
        # −1 among labels stands for none in models that learn from rows without labels.
        unlabelled = any(isinstance(taken_apart(each)[1], SemiSupervisedKernelPCA) for each in estimators)
        labels = read_labels(y, number_of_rows(X), unlabelled, label_name)
        is_picture = kind in PICTURES or image_shape is not None or mask is not None
        drawn = DrawnRows.of(X, labels, colors, max_samples, 1 if is_picture else 4, random_state)
        parts = [read_part(estimator, drawn, n_components) for estimator in estimators]
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
        wishes = n_components, n_points, random_state
        made = [part.record(name, *wishes) for name, part in zip(model_names, parts, strict=True)]
    records, notes, losses = zip(*made, strict=True)
    about_rows = [*drawn.messages(), *filled_entries(drawn.values)]
    about_models = [*_notes(model_names, notes), *said_of([loss for loss in losses if loss is not None])]
    header = {
        "version": VERSION,
        "title": shown(_title(estimators[0], drawn.total) if title is None else title),
        "messages": [*said, *about_rows, *about_models],
        "initial": initial,
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
    if is_machine(last):
        method = type(last).__name__
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


def named_models(
    model: Any, widths: Sequence[float] | None, X: Rows, y: Targets, n_components: int | None = None
) -> tuple[list[Any], list[str], int]:
    """The models that a user asks for: one, several, or copies of one at several widths.

    Returns
    -------
    estimators : list
    names : list of str
        For menus: those given, else widths where they differ, else classes.
    initial : int
        The number of the one to show first.
    """
    estimators = list(model.values()) if isinstance(model, Mapping) else model
    estimators = list(estimators) if isinstance(estimators, (list, tuple)) else [estimators]
    if not estimators:
        raise ValueError("explore was given no model: the list is empty.")
    # Imputers alone have no map; in pipelines they stand before what has one.
    estimators = [with_components(each, X, n_components) if _is_imputer(each) else each for each in estimators]
    for each in estimators:
        fitted_kernel(taken_apart(each)[1])  # which refuses what pages cannot show
    estimators = [on_host(each) if _is_on_device(taken_apart(each)[1]) else each for each in estimators]
    first, initial = estimators[0], 0
    if widths is not None:
        if len(estimators) > 1:
            raise ValueError(
                f"explore was given {len(estimators)} models and widths. Widths are for one model, of which copies are "
                "fitted; leave them out to compare the models."
            )
        estimators = _with_widths(first, widths, X, y)
        initial = next(i for i, each in enumerate(estimators) if each is first)
    elif isinstance(model, Mapping):
        return estimators, [shown(name) for name in model], 0
    classes = [type(taken_apart(each)[1]).__name__ for each in estimators]
    if len(estimators) == 1:
        return estimators, classes, 0
    found = [_width(each) for each in estimators]
    if np.all(np.isfinite(found)) and len(set(found)) == len(found):
        return estimators, [f"γ = {width:.3g}" for width in found], initial
    return estimators, [f"{number + 1}: {name}" for number, name in enumerate(classes)], initial


def _is_imputer(estimator: Any) -> bool:
    """Whether a model is an imputer alone, or after steps that can be undone."""
    return isinstance(unwrapped(estimator), IMPUTERS)


def _with_widths(estimator: Any, widths: Sequence[Any], X: Rows, y: Targets) -> list[Any]:
    """The model and its copies with these widths as γ of its kernel, fitted to X and y; by width, each width once."""
    models = [estimator]
    for width in _checked(widths):
        copy = _unfitted(estimator)
        _set_width(copy, width)
        copy = copy.fit(X) if y is None else copy.fit(X, y)
        if not any(np.isclose(_width(copy), _width(each), rtol=SAME_WIDTH, atol=0) for each in models):
            models.append(copy)
    return sorted(models, key=_width)


def _is_on_device(model: Any) -> bool:
    """Whether a fitted model has other arrays than NumPy's."""
    model = getattr(model, "kernel_pca_", model)
    return is_foreign((model.subspace_.frame if hasattr(model, "subspace_") else machine_of(model).expansion).points)


def _width(estimator: Any) -> float:
    """γ of the kernel of a fitted model; NaN where there is none."""
    width = width_of(fitted_kernel(taken_apart(estimator)[1]))
    return np.nan if width is None else width


def _checked(widths: Any) -> list[Any]:
    if isinstance(widths, (str, Real)) or not hasattr(widths, "__iter__"):
        raise TypeError(f"explore takes widths as a list of values of gamma, such as [0.01, 0.1]; got {widths!r}.")
    widths = [width.item() if isinstance(width, np.generic) else width for width in widths]
    for width in widths:
        is_number = isinstance(width, (int, float)) and not isinstance(width, bool) and 0 < width < np.inf
        if not (is_number or isinstance(width, str)):
            raise ValueError(
                f"explore needs widths that are positive numbers, or rules such as 'median'; got {width!r}."
            )
    if not widths:
        raise ValueError("explore was given an empty list of widths. Leave it out to show the model as it is.")
    return widths


def _unfitted(estimator: Any) -> Any:
    """A copy that can be fitted: of what a search has found, and of what is frozen."""
    estimator = unwrapped(estimator)
    copy = clone(estimator)
    if isinstance(copy, Pipeline):
        name, last = estimator.steps[-1]
        copy.steps[-1] = (name, _unfitted(last))
    return copy


def _set_width(estimator: Any, width: Any) -> None:
    if isinstance(estimator, Pipeline):
        return _set_width(final_step(estimator), width)
    if isinstance(estimator, CompressedTransformer):
        if estimator.estimator is None:
            estimator.estimator = type(estimator)._default()
        return _set_width(estimator.estimator, width)
    if isinstance(estimator, OrientedKernelPCA):
        raise TypeError(
            "explore cannot fit OrientedKernelPCA again for other widths: it does not know the noise that `fit` was "
            "given. Fit one model per width, and pass them as a list."
        )
    kernel = getattr(estimator, "kernel", None)
    if isinstance(kernel, str) and kernel not in WITHOUT_WIDTH:
        estimator.set_params(gamma=width)
        return
    named = kernel.get_params() if isinstance(kernel, Kernel) else {}
    found = [name for name in named if name.split("__")[-1] == "gamma"]
    if len(found) != 1:
        raise TypeError(
            f"explore changes gamma of the kernel to get other widths; {kernel!r} has {len(found) or 'none'} of it. "
            "Fit one model per width, and pass them as a list."
        )
    estimator.set_params(kernel=clone(kernel).set_params(**{found[0]: width}))
