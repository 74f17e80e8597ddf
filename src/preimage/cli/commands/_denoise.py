"""The command ``preimage denoise``: rows in memory, or in chunks of a file that does not fit into it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from preimage._engine.robust import far_rows
from preimage._engine.typing import Array
from preimage._models.completion import LOSSES
from preimage.cli import _options
from preimage.cli._console import console, how_many
from preimage.cli._errors import DataError, FileError, UsageError
from preimage.cli._options import AUTO, NONE, argument, count_of, one_of, option
from preimage.cli._outputs import can_draw, check_outputs, chosen_format, save_figure, write_json, wrote
from preimage.cli.runs._learning import Learned, folds_of, has_many_rows, is_large, learn
from preimage.cli.runs._partial import HeldOutput, Sink, Totals, claimed, inputs_of, partial_output, write_rows
from preimage.cli.runs._preparation import Preparation, count_rows
from preimage.cli.tables._columns import listed
from preimage.cli.tables._files import read
from preimage.cli.tables._frames import Frame
from preimage.cli.tables._paths import FORMATS, PICTURES, TABLES, format_of, next_to
from preimage.cli.tables._pictures import check_one_file, numbered_pictures
from preimage.cli.tables._sources import Source, open_source, options_like
from preimage.estimators import KernelPCA
from preimage.kernels import Gaussian, resolve_gamma
from preimage.model_selection import DenoisingSearch
from preimage.model_selection._denoising_search import expected_errors
from preimage.plotting._command_figures import draw_rows, draw_slices
from preimage.plotting._tables import draw_table
from preimage.solvers import FixedPoint, PreimageResult

# Formats that --output-format can ask for; a scan can only be written to a file whose suffix says so.
CHOICES = (".csv", ".npy", ".npz", ".parquet", ".xlsx", "folder")
# Formats of outputs that are made in chunks.
CHUNKED = (".npy", *TABLES)
LOSS_NAMES = (NONE, *LOSSES.on_command_line())
# Rows that are denoised together: enough for products of matrices to be fast, few enough for bars to move.
BLOCK = 256
# Most rows of a chunk: denoised rows take long, and what an interruption costs should be little.
CHUNK_ROWS = 4096
# Most rows, from the start of a file in chunks, that a figure shows.
FIGURE_ROWS = 2000
# Rows on which width, components and penalty are chosen, in memory as in chunks: the search fits exact models of all
# widths to them, and takes about a minute. Its time grows with their square.
CHOICE_ROWS = 2000
# Fewer rows cannot be divided into some to fit to and some to judge by (`DenoisingSearch` asks for as many).
FEWEST_ROWS_TO_CHOOSE = 8
# What a sample is called, and its values.
VALUES = {"row": "column", "picture": "pixel"}


@dataclass(frozen=True, kw_only=True)
class Denoise(_options.Options):
    """Denoise a table, a folder of pictures or a brain scan (NIfTI) by kernel PCA.

    Options that are "auto" are chosen on the training data by DenoisingSearch, which needs no clean data.
    """

    input: Annotated[Path, argument("INPUT", f"Noisy data: {FORMATS}; one sample per row.")]
    output: Annotated[Path, argument("OUTPUT", "Where the denoised data go; the suffix says the format.")]
    components: _options.ComponentsOrAuto = AUTO
    gamma: _options.Gamma = AUTO
    width: _options.Width = None
    penalty: Annotated[Any, option("auto|NUMBER", "Penalty of the distance to the noisy input.", _options.penalty)] = (
        AUTO
    )
    fit_to: _options.FitTo = None
    noise: Annotated[
        Any,
        option("NUMBER", "Training data are clean; expect Gaussian noise of this deviation.", _options.positive),
    ] = None
    criterion: Annotated[
        Literal["auto", "sure", "masked"],
        option(None, "How to judge candidates without clean data: Stein's estimate, or predictions of hidden columns."),
    ] = "auto"
    cross_fit: Annotated[
        Any,
        option(
            "auto|N|none",
            "Denoise training rows by models fitted without them, in N folds; auto: in 5 where the estimated error is "
            "clearly smaller.",
            count_of("folds from 2 on", 2),
        ),
    ] = AUTO
    loss: Annotated[
        Any,
        one_of(
            LOSS_NAMES,
            "Expect entries that are plainly wrong (spikes, occlusions, failed sensors): replace them before "
            "denoising. tukey ignores them entirely, cauchy nearly.",
            "|".join(LOSS_NAMES),
        ),
    ] = NONE
    landmarks: Annotated[
        Any,
        option(
            "N|auto|none",
            "Work in chunks of rows, with a model on this number of points. (Default: auto for more than 20,000 rows "
            "or a quarter of the free memory, else none.)",
            count_of("landmarks", none=NONE),
        ),
    ] = None
    chunk_rows: _options.ChunkRows = None
    resume: _options.Resume = True
    array: _options.ArrayName = None
    mask: _options.Mask = None
    outside: Annotated[
        Literal["keep", "zero"],
        option(None, "Voxels of a NIfTI scan outside the mask: left as they were, or set to zero."),
    ] = "keep"
    plot: Annotated[Path | None, option("FIG", "Before/after figure. (Default: OUTPUT with .png.)", None, "--plot")] = (
        None
    )
    no_plot: Annotated[bool, option(None, "Draw no figure.", None, "--no-plot")] = False
    summary: _options.Summary = None
    output_format: _options.OutputFormat = None

    method = AUTO  # landmarks are chosen as the library does where nothing is said
    EXAMPLES = (
        "preimage denoise noisy.csv clean.csv",
        "preimage denoise noisy.npy clean.npy --components 20 --gamma median --penalty 0 --no-plot",
        "preimage denoise new.npy clean.npy --fit clean_examples.npy --noise 0.25",
        "preimage denoise noisy_pictures clean_pictures",
        "preimage denoise new.npy clean.npy --fit clean_examples.npy --loss cauchy --components 20 --gamma p5 "
        "--penalty 0",
    )

    def run(self) -> None:
        """Denoise INPUT, in memory or in chunks."""
        loss = None if self.loss == NONE else self.loss
        gamma = _options.one_gamma(self.gamma, self.width)
        if self.noise is not None and self.table.standardize:
            raise UsageError("--noise is a deviation in the units of the data, which --standardize changes.")
        wanted = self.output_format
        kind = format_of(self.output) if wanted is None else chosen_format(wanted, CHOICES)
        figure = None if self.no_plot else self.plot or _default_figure(self.output)
        summary = self.summary or next_to(self.output, ".json")
        named = {"OUTPUT": self.output, "--plot": figure, "--summary": summary}
        check_outputs(named, (self.input, self.fit_to, self.mask), self.force, is_folder=kind == "folder")
        self = replace(self, gamma=gamma, loss=loss, plot=figure, summary=summary)
        if not self._is_for_chunks(kind):
            with claimed(self.output):
                source, train = self._read(kind)
                self._denoise(source, train, HeldOutput(self.output, self.outside), kind, None, source.n_rows)
            return
        if self.mask is not None:
            raise FileError("--mask is for NIfTI scans, which are not worked on in chunks.")
        if kind not in CHUNKED:
            raise FileError(f"{self.output}: large files are written as .csv, .npy or .parquet.")
        source = train = open_source(self.input, self.table)
        if self.fit_to is not None:
            train = open_source(self.fit_to, options_like(source, self.fit_to, self.table))
        rows = self.chunk_rows or min(CHUNK_ROWS, source.chunk_rows)
        names = ("components", "gamma", "penalty", "noise", "criterion", "seed", "cross_fit", "loss")
        said = {"training data": train.identity(), "landmarks": self.landmarks or AUTO}
        inputs = inputs_of("denoise", source, rows, **said, **{name: getattr(self, name) for name in names})
        with partial_output(self.output, inputs, self.resume) as sink:
            self._denoise(source, train, sink, kind, self.landmarks or AUTO, rows)

    def _is_for_chunks(self, kind: str) -> bool:
        """Whether to work in chunks: as the user says or, without a word, where rows are many or take much memory."""
        if self.landmarks is not None:
            return self.landmarks != NONE
        files = [path for path in (self.input, self.fit_to) if path is not None]
        # Where chunks cannot be written, hours are better than an error.
        return any(map(is_large, files)) or (kind in CHUNKED and any(has_many_rows(path, self.table) for path in files))

    def _read(self, kind: str) -> tuple[Source, Source]:
        """The data and the training data in memory, if they go with each other and with the format of the output."""
        source = train = read(self.input, self.array, mask=self.mask, options=self.table)
        if self.fit_to is not None:
            # Scans have the voxels of the data, also where their mask was found by intensities.
            of_scans = source.scans is not None and format_of(self.fit_to) == ".nii"
            mask = source.scans.mask_image if of_scans else self.mask
            train = read(self.fit_to, self.array, mask=mask, options=options_like(source, self.fit_to, self.table))
        shapes, same_size = (train.image_shape, source.image_shape), train.n_columns == source.n_columns
        if train.pictures is not None and None not in shapes and shapes[0] != shapes[1] and same_size:
            raise DataError(
                f"{train.path} has pictures of the shape {shapes[0]} and {source.path} of {shapes[1]}, with the same "
                "number of values; they must agree."
            )
        if (kind == ".nii") != (source.scans is not None):
            raise FileError(f"{source.path} and OUTPUT must both be NIfTI scans (.nii, .nii.gz), or neither.")
        if kind == "folder" and source.image_shape is None:
            raise FileError(
                f"{source.path} is a table, and OUTPUT has no suffix: that is a folder of pictures. Add .csv, say."
            )
        if kind == "picture":
            check_one_file(source.pictures, source.path, self.output)
        if kind == "folder" and source.pictures is None and source.image_shape is not None:
            source = replace(source, pictures=numbered_pictures(source.values, source.image_shape, source.path))
        return source, train

    def _denoise(self, source: Source, train: Source, sink: Sink, kind: str, landmarks: Any, rows: int) -> None:
        """Learn from `train`, write the rows of `source`, some `rows` at a time, to `sink`, and say what was done."""
        if train.n_columns != source.n_columns:
            raise DataError(
                f"{train.path} has {how_many(train.n_columns, 'column')} and {source.path} has {source.n_columns}; "
                "they must agree."
            )
        self._tell_about(source, kind)
        if sink.is_begun:
            learned = Learned.from_state(sink.model())
        else:
            learned = self._learned(source, train, sink, landmarks, rows)
        prepare, solve = learned.preparation, learned.denoiser(self.loss)

        def step(chunk: Array, totals: Totals, advance: Callable[[int], None]) -> tuple[Array, Totals]:
            results, prepared = [], prepare(chunk)
            for first in range(0, len(chunk), BLOCK):
                results.append(solve(prepared[first : first + BLOCK]))
                advance(len(results[-1].points))
            result = PreimageResult.join(results)
            return prepare.undone(result.points, chunk), _updated(totals, result)

        with_missing = self.table.impute is not None
        write_rows(source, sink, rows, step, "Denoising rows", self.say, with_missing)
        shown = next(source.chunks(rows if source.values is not None else min(rows, FIGURE_ROWS), 0, with_missing))
        before = prepare.undone(prepare(shown), shown)
        after = sink.first(len(before))
        sink.finish(kind, _frame(source, prepare))
        report = self._report(source, learned, sink)
        assert self.summary is not None
        write_json(self.summary, report, sink.making)
        what = f"All denoised rows are in {self.output}; --no-plot draws no figure."
        save_figure(self.plot, lambda: _drawn(source, before, after, sink.n_rows), what, sink.making)
        self._print(report, "row" if source.pictures is None else "picture")

    def _learned(self, source: Source, train: Source, sink: Sink, landmarks: Any, rows: int) -> Learned:
        """Fit the model, and make ready for the rows."""
        is_own = train is source or train.identity() == source.identity()
        # Folds that are chosen are judged by an exact model; on landmarks, without one, there are none.
        n_folds = self.cross_fit if is_own and self.noise is None and self.cross_fit != AUTO else None
        n_rows, learned = learn(train, self, landmarks, rows, sink, n_folds)
        if is_own:
            learned = replace(learned, expected_error=learned.expected_training_error)
        n_rows = n_rows if train is source else count_rows(learned.preparation.applied(source), rows)
        totals = {"converged": 0, "objective": 0.0, "reasons": []}
        shape, dtype = source.row_shape or (source.n_columns,), learned.model.subspace_.frame.points.dtype
        sink.begin(learned.state, n_rows, shape, dtype, totals)
        return learned

    @property
    def is_open(self) -> bool:
        return AUTO in (self.components, self.gamma, self.penalty)

    @property
    def why_not(self) -> str:
        """Why columns are not standardised unless the user says so."""
        in_units = "--noise is in the units of the data"
        return in_units if self.noise is not None else _options.why_not_standardized(self.gamma)

    def check(self, X: Array, path: Path) -> None:
        """Refuse data too small to learn from."""
        if len(X) < 2 and path.suffix.lower() in PICTURES:
            raise DataError(
                f"{path} is one picture, which is one sample, and kernel PCA learns from many. Give the folder of all "
                "pictures, a TIFF file of several pages, or a folder to learn from with --fit FOLDER."
            )
        if len(X) < 2:
            raise DataError(
                f"{path} has one row. Kernel PCA learns from many: add rows, or give others with --fit FILE."
            )
        if self.is_open and len(X) < FEWEST_ROWS_TO_CHOOSE:
            raise DataError(
                f"{path} has {how_many(len(X), 'row')}; choosing parameters needs {FEWEST_ROWS_TO_CHOOSE}. "
                "Give --components, --gamma and --penalty."
            )

    def unfitted(self, sample: Array) -> KernelPCA:
        """A model with what was left open chosen on a sample of the rows."""
        return self._model(self._chosen(sample)[0])

    def exactly(self, sample: Array, X: Array) -> Learned:
        """Models of X, with what was left open chosen on X; of rows far from all others nothing can be learned."""
        far = far_rows(X)
        if far.any() and np.sum(~far) >= FEWEST_ROWS_TO_CHOOSE:
            self._tell_of_far(far)
            X = X[~far]
        chosen, search = self._chosen(X)
        about: dict[str, Any] = {} if search is None else {"criterion": search.criterion_, "clipped": search.clipped_}
        if search is not None and search.best_params_ == chosen and search.best_estimator_.n_samples_seen_ == len(X):
            own = search.training_estimator_ if search.training_params_ != search.best_params_ else None
            about |= {"of_training_rows": own, **expected_errors(search)}
            return Learned(search.best_estimator_, search.cross_fit_, **about)
        # A fraction of the variance, a penalty that the criterion cannot judge, or rows that the search did not see: it
        # fitted another model.
        model = self._model(chosen).fit(X)
        # With noise that is known, the training data are clean, and so is the model.
        return Learned(model, None if self.noise is not None else folds_of(model, self.cross_fit), **about)

    def _tell_of_far(self, far: Array) -> None:
        """Which rows are not learned from; a model that knew them would give each back with its glitch."""
        rows = [f"{row + 1:,}" for row in np.flatnonzero(far)]
        what = f"{how_many(len(rows), 'row')} with values far from all others: {listed(rows)}"
        advice = " Such rows are denoised badly; --loss cauchy replaces the values." if self.loss is None else ""
        self.say(f"Not learned from {what}.{advice}")

    def _model(self, chosen: dict[str, Any]) -> KernelPCA:
        solver, kernel = FixedPoint(penalty=float(chosen["penalty"])), Gaussian(chosen["gamma"])
        return KernelPCA(chosen["n_components"], kernel=kernel, preimage=solver, random_state=self.seed)

    def _chosen(self, X: Array) -> tuple[dict[str, Any], DenoisingSearch | None]:
        """Parameters for new rows: what was left open chosen on X or, of many rows, on some; what was said stays."""
        said = {"gamma": self.gamma, "n_components": self.components, "penalty": self.penalty}
        if not self.is_open:
            return {**said, "gamma": resolve_gamma(self.gamma, X)}, None
        X = X[np.linspace(0, len(X) - 1, min(len(X), CHOICE_ROWS)).astype(int)]
        search = DenoisingSearch(
            added_noise=self.noise,
            criterion=self.criterion,
            gammas=None if self.gamma == AUTO else [resolve_gamma(self.gamma, X)],
            n_components=[self.components] if isinstance(self.components, int) else None,
            penalties=None if self.penalty == AUTO else [self.penalty],
            loss=self.loss,
            cross_fit=self.cross_fit,
            random_state=self.seed,
        ).fit(X)
        best = search.best_params_
        return {name: best[name] if name == "gamma" or said[name] == AUTO else said[name] for name in said}, search

    def _tell_about(self, source: Source, kind: str) -> None:
        """What was understood of the data, and what becomes of columns, pictures and voxels that are no values."""
        for note in source.pictures.notes if source.pictures is not None else []:
            self.say(note)
        if source.scans is not None and self.mask is None:
            # Voxels are left out by a rule of thumb; users should know at once.
            said = f"Warning: no --mask was given. {source.scans.said(self.outside)}"
            console.print(said, style="yellow", markup=False)
        if source.is_table or source.values is None:
            self.say(source.described())
        if others := source.layout.called(source.layout.untouched):
            become = "written back unchanged" if kind in TABLES else f"left out of {self.output.name}"
            self.say(f"{how_many(len(others), 'other column')} {become}: {listed(others)}.")

    def _report(self, source: Source, learned: Learned, sink: Sink) -> dict[str, Any]:
        """A summary as plain values."""
        model, own, totals = learned.model, learned.of_training_rows, sink.totals
        if source.values is not None:
            about = {"criterion": learned.criterion, "clipped": learned.clipped}
        else:
            left = None if model.landmarks_ is None else float(model.landmarks_.residual_fraction)
            about = {"landmarks": len(model.subspace_.frame.points), "residual_fraction": left}
        return self.record(
            self.input,
            self.output,
            sink.n_rows,
            source.n_columns,
            training_rows=model.n_samples_seen_,
            parameters=_parameters(model),
            training_row_parameters=None if own is None else _parameters(own),
            standardized=learned.preparation.is_standardizing,
            cross_fit=learned.n_folds,
            loss=self.loss,
            **about,
            noise=learned.noise,
            expected_error=learned.expected_error,
            psnr=_psnr(source, learned),
            explained_variance=float(np.sum(model.explained_variance_ratio_)),
            objective=totals["objective"] / sink.n_rows,
            converged=totals["converged"],
            not_converged=totals["reasons"],
        )

    def _print(self, report: dict[str, Any], what: str) -> None:
        say, chosen, own = self.say, report["parameters"], report["training_row_parameters"]
        say(
            f"Denoised {how_many(report['rows'], what)} of {how_many(report['columns'], VALUES[what])} in "
            f"{report['seconds']:.1f} s: {_described(chosen if own is None else own)}."
        )
        if own is not None:
            say(f"These are for rows that the model has learned from; for new rows: {_described(chosen)}.")
        if report["cross_fit"] is not None:
            say(f"Training rows were denoised by models fitted without them, in {report['cross_fit']} folds.")
        if report["expected_error"] is not None:
            say(_expectation(report))
        elif report.get("criterion") == "masked":
            say("The error of the result cannot be estimated: parameters were chosen by predictions of hidden values.")
        if report.get("clipped"):
            say(
                f"{report['clipped']:.0%} of the values lie at the ends of their range, as clipping leaves them. The "
                "noise that it removed had a mean that is lost: dark and bright parts stay less dark and bright than "
                "they were, and the error of the result cannot be estimated."
            )
        if left := report["rows"] - report["converged"]:
            reasons = ", ".join(report["not_converged"])
            console.print(f"Warning: {how_many(left, 'row')} did not converge ({reasons}).", style="yellow")
        say(wrote([path for path in (self.output, self.plot, self.summary) if path is not None]))


def _updated(totals: Totals, result: PreimageResult) -> Totals:
    reasons = set(totals["reasons"]) | set(result.reason[~result.converged].tolist())
    return {
        "converged": totals["converged"] + int(np.sum(result.converged)),
        "objective": totals["objective"] + float(np.sum(result.objective)),
        "reasons": sorted(reasons),
    }


def _parameters(model: KernelPCA) -> dict[str, float]:
    """What a model was fitted with, as plain numbers."""
    gamma, penalty = float(model.kernel_.gamma), float(model.preimage_.penalty)
    return {"components": int(model.n_components_), "width": 1 / gamma, "gamma": gamma, "penalty": penalty}


def _described(chosen: dict[str, float]) -> str:
    components = how_many(int(chosen["components"]), "component")
    return f"{components}, gamma {chosen['gamma']:.4g}, penalty {chosen['penalty']:.3g}"


def _psnr(source: Source, learned: Learned) -> dict[str, float] | None:
    """Expected peak signal-to-noise ratios in dB of pictures, whose values go from 0 to 1."""
    noise, error, values = learned.noise, learned.expected_error, source.values
    # Of floating-point pictures with other values the peak is not known.
    if source.pictures is None or noise is None or error is None or values.min() < 0 or values.max() > 1:
        return None
    return {"before": -20 * float(np.log10(noise)), "after": -20 * float(np.log10(error))}


def _expectation(report: dict[str, Any]) -> str:
    """What is known of the error without clean data."""
    noise, error, psnr = report["noise"], report["expected_error"], report["psnr"]
    unit = " deviations" if report["standardized"] else ""
    in_decibels = f"; PSNR {psnr['before']:.1f} and {psnr['after']:.1f} dB" if psnr else ""
    return (
        f"Estimated without clean data: noise of {noise:.3g}{unit} before, error of {error:.3g}{unit} after (root mean "
        f"squares{in_decibels})."
    )


def _drawn(source: Source, before: Array, after: Array, n_rows: int) -> Any:
    """A figure of the first rows."""
    if source.is_table and source.n_columns != 2:
        return draw_table(before, after, source.names, n_rows)
    if source.scans is not None:
        return draw_slices(before, after, source.scans.mask)
    return draw_rows(before, after, source.image_shape, source.names)


def _frame(source: Source, preparation: Preparation) -> Frame:
    """All columns of a table; those that the model left out are copied as they are."""
    frame, varying = Frame.of_whole(preparation.narrowed(source)), preparation.varying
    if varying is None:
        return frame
    return replace(frame, values=[None if column is None else int(varying[column]) for column in frame.values])


def _default_figure(output: Path) -> Path | None:
    """A figure next to the output; None without matplotlib."""
    if can_draw():
        return next_to(output, "_figure.png" if output.suffix.lower() == ".png" else ".png")
    console.print('No figure: matplotlib is not installed (pip install "preimage[plot]").', markup=False)
    return None
