"""Files of models as the command line reads and writes them, whoever made them."""

import io
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.preprocessing import StandardScaler

from preimage.cli._console import one_line
from preimage.cli._errors import DataError, FileError
from preimage.cli.runs._learning import Learned
from preimage.cli.runs._preparation import IMPUTERS, Preparation
from preimage.cli.tables._paths import check_declared, check_unpacked
from preimage.cli.tables._sources import Source
from preimage.estimators import KernelPCA
from preimage.estimators.compressed._models import standalone
from preimage.interop import SKOPS_TYPES, to_onnx
from preimage.interop._pipeline import taken_apart
from preimage.persistence import load, save
from preimage.persistence._checks import check_graph
from preimage.persistence._file import check_is_file, printable
from preimage.persistence._safetensors import MOST_VALUES, count_values

MODEL_FORMATS = (".skops", ".safetensors")
OUTPUT_FORMATS = (".skops", ".safetensors", ".onnx")
# joblib reads all of them, compressed or not.
PICKLES, COMPRESSED = (".joblib", ".pkl", ".pickle"), (".gz", ".bz2", ".xz", ".lzma", ".z")
# Bytes that any archive of a model may unpack to, however small it is: loading takes up to three times as many, and
# should take less than 100 MB beyond the file.
MOST_UNPACKED = 32_000_000
# skops describes a model by one JSON document, and sparse arrays are archives inside of an archive.
_DESCRIPTION = "schema.json"
_ADVICE = "If it is a model of yours, write it again without compression: skops.io.dump(model, path)."


def read_model(path: Path) -> Any:
    """A model from a skops file of trusted types, or from a file of `save`; pickles are not opened."""
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    _refuse_pickles(path)
    kind = format_of_model(path, MODEL_FORMATS, "MODEL")
    if kind == ".skops":
        return _read_skops(path)
    try:
        return load(path)
    except (ValueError, ImportError) as error:
        raise FileError(str(error)) from error


def load_model(path: Path) -> Any:
    """What a file of `save` holds."""
    try:
        return load(path)
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist.") from error
    except (OSError, ValueError, ImportError) as error:
        raise FileError(f"{path} is no model that preimage wrote, or damaged: {one_line(error)}") from error


def check_fitted(path: Path, model: Any, kind: type, attribute: str) -> None:
    """Refuse a file that does not hold a fitted model of some kind."""
    if not isinstance(model, kind) or not hasattr(model, attribute):
        found = "one that was not fitted" if isinstance(model, kind) else type(model).__name__
        raise FileError(f"{path} holds no fitted {kind.__name__}, but {found}.")


def check_columns(model: Any, source: Source) -> None:
    """Refuse a table with other columns than those of the training data."""
    if source.n_columns != model.n_features_in_:
        raise DataError(
            f"The model takes {model.n_features_in_} columns; {source.path} has {source.n_columns}. "
            "Choose with --columns or --exclude."
        )


def read_learned(path: Path) -> Learned:
    """A fitted `KernelPCA` from a file of its `save`, and what is done to rows before: it may be part of a pipeline."""
    model, preparation = load_model(path), Preparation()
    before, last = taken_apart(model)
    kinds = [next((kind for kind in (IMPUTERS, StandardScaler) if isinstance(step, kind)), None) for _, step in before]
    is_known = kinds in ([], [IMPUTERS], [StandardScaler], [IMPUTERS, StandardScaler])
    if is_known and all(hasattr(step, "n_features_in_") for _, step in before):
        preparation, model = Preparation.of_steps([step for _, step in before]), last
        if before and hasattr(before[0][1], "feature_names_in_"):
            model.feature_names_in_ = before[0][1].feature_names_in_
    check_fitted(path, model, KernelPCA, "subspace_")
    return Learned(model, preparation=preparation)


def write_model(path: Path, model: Any, kind: str) -> None:
    """Write a compressed model, or a pipeline that ends in one, in the format of `kind`."""
    if kind == ".skops":
        _skops().dump(model, path, compression=zipfile.ZIP_DEFLATED)
        return
    try:
        if kind == ".onnx":
            to_onnx(model, path)
        else:
            save(_alone_if_possible(model), path)
    except (ValueError, TypeError, ImportError) as error:
        raise FileError(f"The model cannot be written as {kind}; use .skops. {one_line(error)}") from error


def format_of_model(path: Path, formats: tuple[str, ...], what: str) -> str:
    """The suffix of a model's file, one of `formats`."""
    suffix = path.suffix.lower()
    if suffix not in formats:
        raise FileError(f"{what} is a file {', '.join(formats[:-1])} or {formats[-1]}; got {path}.")
    return suffix


def _alone_if_possible(model: Any) -> Any:
    """A pipeline of scalers and a compressed model as that model alone."""
    try:
        return standalone(model)
    except TypeError:
        return model


def _refuse_pickles(path: Path) -> None:
    last = [suffix.lower() for suffix in path.suffixes[-2:] if suffix.lower() not in COMPRESSED]
    if not last or last[-1] not in PICKLES:
        return
    safe = path
    while safe.suffix.lower() in (*PICKLES, *COMPRESSED):
        safe = safe.with_suffix("")
    safe = safe.with_name(f"{safe.name}.skops")
    raise FileError(
        f"{path} is a pickle, a program that runs when it is opened; it was not opened. If you trust whoever made it, "
        f"three lines of Python make {safe.name} of it, a file without code:",
        [
            "import joblib, skops.io",
            f"model = joblib.load({str(path)!r})",
            f"skops.io.dump(model, {str(safe)!r})",
        ],
    )


def _read_skops(path: Path) -> Any:
    skops = _skops()
    try:
        check_is_file(path)
    except ValueError as error:
        raise FileError(f"{path} cannot be loaded. {error}") from error
    with path.open("rb") as file:
        # Any error at all: skops and zipfile raise what the parts of a damaged file make them raise.
        try:
            _check_archive(file, path.stat().st_size)
            untrusted = sorted(set(skops.get_untrusted_types(file=path)) - set(SKOPS_TYPES))
            if not untrusted:
                model = skops.load(path, trusted=SKOPS_TYPES)
                check_graph(model)
                return model
        except Exception as error:
            raise FileError(f"{path} is damaged or not a skops file: {printable(one_line(error)[:400])}") from error
    names = printable(", ".join(untrusted)[:400])
    raise FileError(
        f"{path} holds types that are not trusted, and was not loaded: {names}. Load it in "
        "Python with skops.io.load(path, trusted=[...]) if you know them, and use preimage.compress there."
    )


def _check_archive(file: BinaryIO, size: int) -> None:
    """Refuse an archive that would fill the memory: it is small, and what it unpacks to is not."""
    with zipfile.ZipFile(file) as archive:
        check_unpacked(archive, size, MOST_UNPACKED, _ADVICE)
        for member in archive.infolist():
            if member.filename == _DESCRIPTION and count_values(archive.read(member)) > MOST_VALUES:
                raise ValueError(f"its description has more than {MOST_VALUES} values.")
            if member.filename.endswith(".npz"):
                _check_archive(io.BytesIO(archive.read(member)), member.file_size)
            if member.filename.endswith(".npy"):
                with archive.open(member) as array:
                    check_declared(array, member.file_size)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise FileError(
            'skops files need skops, which is not installed. Type: pip install "preimage[persist]"'
        ) from error
    return skops.io
