"""The command ``preimage embed``: coordinates of the rows of a file, chunk by chunk."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from sklearn.pipeline import Pipeline

from preimage._engine.typing import Array
from preimage._engine.warnings import warn_user
from preimage.cli import _options
from preimage.cli._console import how_many
from preimage.cli._errors import DataError
from preimage.cli._options import AUTO, argument, one_of, option
from preimage.cli._outputs import check_outputs, table_format, wrote
from preimage.cli.runs._learning import SAMPLE_ROWS, Learned, learn
from preimage.cli.runs._model_files import check_columns, read_learned
from preimage.cli.runs._partial import PartialOutput, Totals, inputs_of, partial_output, write_rows
from preimage.cli.runs._preparation import Preparation, Tell, constant_imputer, count_rows, survey
from preimage.cli.tables._columns import SHOWN, listed
from preimage.cli.tables._frames import Frame
from preimage.cli.tables._paths import identity_of
from preimage.cli.tables._sources import SOURCE_FORMATS, Source, open_source
from preimage.estimators import KernelPCA
from preimage.kernels import as_kernel
from preimage.landmarks import SELECTORS
from preimage.persistence._file import to_bytes

METHODS = (AUTO, *SELECTORS.on_command_line())


def tell_of_dropped(source: Source, output: Path, tell: Tell) -> None:
    """Name the columns that are neither values nor in the output, and how to keep them there."""
    layout = source.layout
    dropped = layout.called(place for place in layout.untouched if place not in layout.copied)
    if dropped:
        some = ",".join(dropped[:SHOWN])
        some = f'"{some}"' if " " in some else some
        tell(f"{listed(dropped)}: not in {output.name}; to keep columns there, add --keep {some}")


@dataclass(frozen=True, kw_only=True)
class KernelOptions(_options.Options):
    """What a user says about kernel PCA."""

    components: _options.Components = "10"
    kernel: _options.Kernel = "rbf"
    gamma: _options.Gamma = AUTO
    degree: _options.Degree = 3
    coef0: _options.Coef0 = 1.0
    landmarks: _options.Landmarks = AUTO

    @property
    def rule(self) -> Any:
        """γ, or the rule for it."""
        return "median" if self.gamma == AUTO else self.gamma

    @property
    def why_not(self) -> str:
        """Why columns are not standardised unless the user says so."""
        return _options.why_not_standardized(self.gamma)

    def check(self, X: Array, path: Path) -> None:
        """Refuse data too small to learn from."""
        if len(X) < 2:
            raise DataError(f"{path} has {how_many(len(X), 'row')}. Kernel PCA learns from many.")

    def named(self, **more: Any) -> KernelPCA:
        """An unfitted model by the name of its kernel, so that others of other widths can be made of it."""
        parameters = {"kernel": self.kernel, "gamma": self.rule, "degree": self.degree, "coef0": self.coef0}
        return KernelPCA(self.components, **{**parameters, "random_state": self.seed, **more})


@dataclass(frozen=True, kw_only=True)
class Embed(KernelOptions):
    """Write the kernel PCA coordinates of a table, which may be larger than memory.

    An interrupted run leaves OUTPUT.part; the same command continues it. --gamma auto is the median rule, on a sample.
    """

    input: Annotated[Path, argument("INPUT", f"A table of any size: {SOURCE_FORMATS}.")]
    output: Annotated[Path, argument("OUTPUT", "The coordinates: .npy, .csv, .tsv, .parquet or .xlsx.")]
    landmarks: _options.Landmarks = "500"
    method: Annotated[Any, one_of(METHODS, f"How landmarks are chosen: {', '.join(METHODS)}.")] = AUTO
    model: Annotated[
        Path | None, option("FILE", "Fit nothing: use a KernelPCA of --save-model or of its save(FILE).")
    ] = None
    save_model: _options.SaveModel = None
    chunk_rows: _options.ChunkRows = None
    resume: _options.Resume = True
    output_format: _options.OutputFormat = None

    OF_THE_FIT = ("components", "kernel", "gamma", "degree", "coef0", "landmarks", "method")
    EXAMPLES = (
        "preimage embed table.csv coordinates.csv --components 5",
        "preimage embed big.npy coordinates.npy --landmarks 200 --save-model model.safetensors",
        "preimage embed new.npy coordinates.parquet --model model.safetensors",
    )

    def run(self) -> None:
        """Embed INPUT in chunks."""
        kind = table_format(self.output_format, self.output, "coordinates")
        named = {"OUTPUT": self.output, "--save-model": self.save_model}
        written = check_outputs(named, (self.input, self.model), self.force)
        ready, table = None, self.table
        said = {name: getattr(self, name) for name in (*self.OF_THE_FIT, "seed")}
        if self.model is not None:
            ready, said = read_learned(self.model), {"model": identity_of(self.model)}
            self.warn_of_unused()
            if table.columns is None and hasattr(ready.model, "feature_names_in_"):
                table = replace(table, columns=tuple(ready.model.feature_names_in_))
        source = open_source(self.input, table)
        self.say(source.described())
        tell_of_dropped(source, self.output, self.say)
        rows = self.chunk_rows or source.chunk_rows
        with partial_output(self.output, inputs_of("embed", source, rows, **said), self.resume) as sink:
            if sink.is_begun:
                learned = Learned.from_state(sink.model())
            else:
                learned = self._learned(source, ready, sink, rows)
            model = learned.model

            def step(chunk: Array, totals: Totals, advance: Callable[[int], None]) -> tuple[Array, Totals]:
                values = model.subspace_.coordinates(chunk)
                advance(len(chunk))
                return values, totals

            write_rows(learned.preparation.applied(source), sink, rows, step, "Embedding rows", self.say)
            sink.finish(kind, Frame.next_to_kept(source, list(model.get_feature_names_out())))
            if self.save_model is not None:
                with sink.making(self.save_model) as aside:
                    aside.write_bytes(to_bytes(_as_estimator(learned, source, sink.n_rows)))
        self.say(self._report(model, sink.n_rows, source))
        self.say(wrote(written))

    def unfitted(self, sample: Array) -> KernelPCA:
        """A model with the kernel that the sample gives."""
        kernel = as_kernel(self.kernel, gamma=self.rule, degree=self.degree, coef0=self.coef0)
        return KernelPCA(self.components, kernel=kernel.resolve(sample), random_state=self.seed)

    def exactly(self, sample: Array, X: Array) -> Learned:
        """A model of all rows."""
        return Learned(self.unfitted(sample).fit(X))

    def _learned(self, source: Source, ready: Learned | None, sink: PartialOutput, rows: int) -> Learned:
        """A model of the rows or the one that is there, and all that is ready for its coordinates."""
        if ready is None:
            n_rows, learned = learn(source, self, self.landmarks, rows, sink)
        else:
            check_columns(ready.model, source)
            learned = replace(ready, preparation=self._with_imputer(ready.preparation, source, rows))
            n_rows = count_rows(learned.preparation.applied(source), rows)
        model = learned.model
        sink.begin(learned.state, n_rows, (model.n_components_,), model.subspace_.frame.points.dtype)
        return learned

    def _with_imputer(self, preparation: Preparation, source: Source, rows: int) -> Preparation:
        """What a model does to rows before, with gaps filled in if the user wants it."""
        impute = self.table.impute
        if impute is None:
            return preparation
        if preparation.imputer is not None:
            warn_user("--impute had no effect: the model of --model fills in missing values itself.", UserWarning)
            return preparation
        # By the means of the training data, if the model has them, else by the rows at hand.
        found = survey(source, rows, SAMPLE_ROWS, self.seed, with_missing=True)
        plain = replace(source, options=replace(source.options, standardize=False))
        imputer = Preparation.of(plain, found, tell=self.say, leave_out=False).imputer
        if impute == "mean" and preparation.mean is not None:
            imputer = constant_imputer("mean", preparation.mean)
        return replace(preparation, imputer=imputer)

    def _report(self, model: KernelPCA, n_rows: int, source: Source) -> str:
        gamma, landmarks = getattr(model.kernel_, "gamma", None), model.landmarks_
        about = "exact"
        if landmarks is not None:
            missed = f"{100 * landmarks.residual_fraction:.2g} % of the kernel"
            about = f"{how_many(len(landmarks), 'landmark')} {'misses' if len(landmarks) == 1 else 'miss'} {missed}"
        width = "" if gamma is None else f", gamma {gamma:.4g}"
        components = how_many(model.n_components_, "component")
        return (
            f"Embedded {how_many(n_rows, 'row')} of {how_many(source.n_columns, 'column')} in {self.seconds():.1f} s: "
            f"{components}, {100 * sum(model.explained_variance_ratio_):.1f} % of the variance{width}; {about}."
        )


def _as_estimator(learned: Learned, source: Source, n_rows: int) -> Any:
    """What a model file holds: kernel PCA, after an imputer and a scaler where rows were prepared by such."""
    steps = learned.preparation.steps(learned.preparation.narrowed(source).names, n_rows)
    if not steps:
        return learned.model
    model = copy(learned.model)
    model.__dict__.pop("feature_names_in_", None)  # the first step has the names, and gives arrays
    return Pipeline([*steps, ("kernel_pca", model)])
