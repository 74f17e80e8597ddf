"""The command ``preimage explore``: a page of the rows of a file, classes and columns to colour by, and a model."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from preimage._engine.typing import Array
from preimage.cli import _options
from preimage.cli._console import how_many, one_line
from preimage.cli._errors import DataError, FileError
from preimage.cli._options import AUTO, NONE, argument, option
from preimage.cli._outputs import check_outputs
from preimage.cli.commands._compress import inputs_for
from preimage.cli.commands._embed import KernelOptions
from preimage.cli.runs._learning import data_errors, is_large
from preimage.cli.runs._model_files import load_model
from preimage.cli.runs._partial import claimed
from preimage.cli.runs._preparation import Preparation, survey
from preimage.cli.tables._files import read
from preimage.cli.tables._paths import FORMATS, TABLES, format_of
from preimage.cli.tables._sources import Source, open_source
from preimage.explorer import Explorer, explore

SUFFIXES = (".html", ".htm")
# Formats whose rows have no place for classes; those of an archive are arrays.
WITHOUT_COLUMNS = ("folder", "picture", ".npy", ".nii")
# Arguments of `preimage.explore` in its messages, and the options that say the same here.
SAID_HERE = {
    r"`?image_shape`?=\(height, width\)": "--image-shape HxW",
    r"`?image_shape`?=\((\d+), (\d+)\)": r"--image-shape \1x\2",
    r'`?kind`?="(\w+)"': r"--kind \1",
    r"`?axis`?=… sets": "numbers as names of columns say",
    r"`image_shape`": "--image-shape",
    r"`(mask|kind|widths)`": r"--\1",
}
# What a file says about one kind of view alone.
KIND_OF = {"image_shape": "image", "mask": "volume"}


@dataclass(frozen=True, kw_only=True)
class Explore(KernelOptions):
    """Make one web page with kernel PCA of a table, pictures or a brain scan; it needs no server and no network.

    --keep names more columns to colour by; other columns stay out of the page. --gamma auto is the median rule.
    """

    input: Annotated[Path, argument("INPUT", f"One sample per row: {FORMATS}.")]
    output: Annotated[Path, argument("PAGE", "The page: .html; any browser opens it.")]
    label: Annotated[
        str | None, option("COLUMN", "Column, or array of an archive, with classes.", None, "--label", "--labels")
    ] = None
    components: _options.Components = "20"
    widths: Annotated[
        Any, option("A,B,...", "Further models with these γ or rules, and a slider between them.", _options.gammas)
    ] = None
    model: Annotated[Path | None, option("FILE", "Fit nothing: show a model of --save-model or of its save(FILE).")] = (
        None
    )
    kind: Annotated[
        Literal["auto", "image", "curve", "table", "volume"],
        option("NAME", "How rows are drawn: auto, image, curve, table or volume."),
    ] = "auto"
    image_shape: Annotated[
        Any, option("HxW", "Rows of a table are pictures of this height and width.", _options.image_shape)
    ] = None
    title: Annotated[str | None, option("TEXT", "Above the page. (Default: the input.)")] = None
    points: Annotated[
        int, option("N", "Largest number of points of the model in the page; a larger model is compressed.", min=1)
    ] = 300
    samples: Annotated[int, option("N", "Rows that the page draws at most.", min=1)] = 5000
    about: Annotated[
        Path | None, option("FILE", "For pictures, scans and arrays: a table with --label and --keep.")
    ] = None
    array: _options.ArrayName = None
    mask: _options.Mask = None

    OF_THE_FIT = ("components", "kernel", "gamma", "degree", "coef0", "landmarks")
    EXAMPLES = (
        "preimage explore measurements.csv page.html --label species --components 8",
        "preimage explore digits.npz page.html --array X --label y --image-shape 8x8 --components 40",
        "preimage explore measurements.csv page.html --label species --keep site --widths p5,median,p95",
        "preimage explore new.npy page.html --model model.safetensors",
    )

    def run(self) -> None:
        """Make the page of INPUT."""
        if self.output.suffix.lower() not in SUFFIXES:
            raise FileError(f"{self.output} is not the name of a page; it ends in .html.")
        check_outputs({"PAGE": self.output}, (self.input, self.about, self.mask, self.model), self.force)
        if self.model is not None:
            self.warn_of_unused()
        with claimed(self.output):
            explorer = self._explorer()
            explorer.save(self.output)
        for sentence in explorer.messages:
            self.say(_said_here(sentence))
        size = self.output.stat().st_size / 1e6
        self.say(f"Wrote {self.output} ({size:.1f} MB) in {self.seconds():.1f} s. Open it in a browser.")

    def _explorer(self) -> Explorer:
        """The page of the library."""
        if is_large(self.input):
            raise DataError(
                f"{self.input} takes more than a quarter of the free memory, and all of its rows are read. A page "
                "draws some thousand rows: give a part of it."
            )
        model = None if self.model is None else load_model(self.model)
        source = self._read()
        y, colors = self._looks(source)
        self._tell_about(source)
        view = _view(source)
        if model is not None:
            names = getattr(model, "feature_names_in_", None)
            source = replace(
                source, values=inputs_for(model, source), options=replace(source.options, standardize=False)
            )
            if names is not None and "names" in view:
                view = _view(source, [str(name) for name in names])
        preparation = Preparation.of(source, survey(source, 0, 0, 0), self.why_not, self.say, leave_out=False)
        X = replace(preparation, mean=None, scale=None)(source.values)  # gaps filled in, in units of the file
        if model is None:
            model = self._fitted(X, replace(preparation, imputer=None))
        # What the user says about the view comes before what the file says.
        view = {key: value for key, value in view.items() if self.kind in (AUTO, KIND_OF.get(key, self.kind))}
        if self.image_shape is not None:
            view["image_shape"] = self.image_shape
        try:
            with warnings.catch_warnings():
                # Columns of models from files have names, and are in their order here.
                warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
                return explore(
                    model,
                    X,
                    y,
                    label_name=self.label,
                    kind=self.kind,
                    colors=colors or None,
                    title=self.title or self.input.name,
                    widths=self.widths,
                    n_points=self.points,
                    max_samples=self.samples,
                    random_state=self.seed,
                    **view,
                )
        except (ValueError, TypeError) as error:
            raise DataError(_said_here(one_line(error))) from error

    def _read(self) -> Source:
        kind, table = format_of(self.input), self.table
        if kind in WITHOUT_COLUMNS and self.about is None and (self.label is not None or table.keep):
            raise FileError(
                f"{self.input} has no columns for --label and --keep. Give a table that has them, with one row for "
                "each row, picture or scan: --about FILE."
            )
        if self.about is not None and kind not in WITHOUT_COLUMNS:
            raise FileError(
                f"{self.input} has columns for --label and --keep itself; --about is for pictures and arrays."
            )
        if kind in TABLES and self.label is not None:
            # As a column that is left out: classes may be missing here, other than in commands that learn from them.
            table = replace(table, exclude=(*(table.exclude or ()), self.label))
        elif kind in WITHOUT_COLUMNS:
            table = replace(table, keep=None)  # these are columns of --about
        return read(self.input, self.array, self.label if kind == ".npz" else None, self.mask, table)

    def _looks(self, source: Source) -> tuple[Array | None, Mapping[str, Array]]:
        """Classes, and further columns to colour by."""
        keep = self.table.keep or ()
        if format_of(self.input) == ".npz":
            absent = [name for name in keep if name not in source.others]
            if absent:
                held = ", ".join(source.others)
                raise DataError(f"{self.input} has no array {absent[0]!r} for --keep; it holds {held}.")
            return source.classes, {name: _vector(source.others[name], name, source) for name in keep}
        table, order = source, slice(None)
        if self.about is not None:
            plain = replace(self.table, columns=None, exclude=None, keep=None, index=NONE)
            table = open_source(self.about, plain, needs_numbers=False)
            order = self._order(table, source)
        values = lambda name: _array(table.values_of(name))[order]
        return None if self.label is None else values(self.label), {name: values(name) for name in keep}

    def _order(self, table: Source, source: Source) -> Any:
        """The rows of a table about rows: by names of pictures where a column has them, else as they are."""
        columns = {name: table.values_of(name) for name in table.layout.labels}
        n_rows = len(next(iter(columns.values())))
        files = [] if source.pictures is None else [file.name for file in source.pictures.files for _ in file.pages]
        for texts in columns.values():
            places = {str(text): place for place, text in enumerate(texts)}
            if files and len(set(files)) == len(files) and set(files) <= set(places):
                return [places[name] for name in files]
        if n_rows != source.n_rows:
            raise DataError(
                f"{self.about} has {how_many(n_rows, 'row')} and {self.input} has {source.n_rows}; --about needs one "
                "row for each."
            )
        return slice(None)

    def _fitted(self, X: Array, scaling: Preparation) -> Any:
        self.check(X, self.input)
        # Frozen: models of other widths see the same inputs, though gaps are filled in now.
        steps = [(name, FrozenEstimator(step)) for name, step in scaling.steps(None, len(X))]
        with data_errors():
            model = self.named(landmarks=self.landmarks).fit(scaling(X))
        return Pipeline([*steps, ("kernel_pca", model)]) if steps else model

    def _tell_about(self, source: Source) -> None:
        if source.is_table:
            self.say(source.described())
        for note in source.pictures.passed_over if source.pictures is not None else []:
            self.say(note)
        if source.scans is not None and self.mask is None:
            mask = source.scans.mask
            self.say(f"No --mask was given. {int(mask.sum())} of {mask.size} voxels look like a brain.")


def _said_here(message: str) -> str:
    """A message of the library with options of the command line in place of arguments."""
    for pattern, here in SAID_HERE.items():
        message = re.sub(pattern, here, message)
    return message


def _array(values: list[Any]) -> Array:
    """Numbers or words; missing numbers are NaN, missing words None."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, int | float) for value in known):
        if len(known) == len(values):
            return np.asarray(values)
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def _vector(array: Array, name: str, source: Source) -> Array:
    if array.ndim != 1 or len(array) != source.n_rows:
        raise DataError(f"--keep {name} needs one value for each of {source.n_rows} rows; got {array.shape}.")
    return array


def _view(source: Source, names: list[str] | None = None) -> dict[str, Any]:
    """What is known about columns: keywords of `preimage.explore`; `names` are those of a model, in its order."""
    if source.scans is not None:
        return {"mask": source.scans.mask_image}
    if source.image_shape is not None:
        return {"image_shape": source.image_shape}
    names, units = names or source.names, source.layout.units
    view: dict[str, Any] = {} if names is None else {"names": names}
    if names is not None and units is not None:
        view["units"] = [units[source.layout.find(name)] for name in names]
    return view
