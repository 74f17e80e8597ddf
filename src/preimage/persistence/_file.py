"""`save` and `load`: one file format for every estimator."""

import io
import json
import os
import re
import stat
import warnings
from textwrap import shorten
from typing import Any, BinaryIO

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from preimage._engine.output_files import replacing
from preimage.exceptions import FileVersionWarning

FORMAT, VERSION = "preimage.model", 1
# What `save` of compressed models wrote before every estimator had one.
OLD_FORMAT = "preimage.kernel_machine"
# Letters of an error about a file, five lines in a window.
LONGEST_MESSAGE = 500
# Warnings point at the line that calls `load`, this many calls above the one that warns.
_OF_CALLER = 5
_ENTRIES = {"format", "version", "library", "scikit-learn", "value"}


class Saved:
    """Mixed into estimators that go to files."""

    #: Parameters that a file leaves out, always or of fitted models; after loading they have their defaults.
    _unsaved_parameters: tuple[str, ...] = ("callback",)
    _unsaved_once_fitted: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike) -> None:
        """Write this model to a safetensors file, which holds no code; `preimage.load` reads it.

        The file appears whole or not at all. Arrays on a device are written from there and loaded as NumPy arrays.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        TypeError
            If the model holds a function (`CallableKernel`, `FunctionTransformation`) or an object that the file
            format does not know.
        """
        save(self, path)


def save(model: BaseEstimator, path: str | os.PathLike) -> None:
    """Write an estimator, fitted or not, to a safetensors file, which holds no code; `load` reads it.

    The same as ``model.save(path)`` for estimators of this library; for pipelines of them with scikit-learn's
    scalers and linear models as well.

    Parameters
    ----------
    model : estimator
        An estimator of this library, or a pipeline.
    path : str or Path
        The file to write; it appears whole or not at all.

    Raises
    ------
    TypeError
        If the model holds a function or an object that the file format does not know.

    See Also
    --------
    load : Reads the file.
    to_onnx : A file for programs without Python.
    preimage.interop.SKOPS_TYPES : Types to trust where files are written by skops.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from preimage import KernelPCA, load, save
    >>> X = load_iris().data
    >>> model = make_pipeline(StandardScaler(), KernelPCA(2)).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "iris.safetensors"))
    ...     again = load(os.path.join(folder, "iris.safetensors"))
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save takes an estimator; got {type(model).__name__}.")
    write(model, path)


def load(path: str | os.PathLike) -> Any:
    """An estimator from a file that `save` wrote, with the same predictions to the last bit.

    Nothing in the file is executed: it holds numbers, and names that are looked up in a table.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    estimator
        A fitted compressed model comes back with `estimator=None`: the original is not kept.

    Raises
    ------
    ValueError
        If the file is damaged, cut off, of another kind (a pickle, say), or of a later version.

    See Also
    --------
    save : Writes the file.
    to_onnx : A file for programs without Python.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from preimage import KernelPCA, load
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KernelPCA(4, gamma=2).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.safetensors"))
    ...     again = load(os.path.join(folder, "model.safetensors"))
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    model = read(path)
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"{path} cannot be loaded. It holds no estimator, but {type(model).__name__}.")
    return model


def write(value: Any, path: str | os.PathLike) -> None:
    """Write plain values, arrays, registered objects, and lists, tuples and dicts of them; whole or not at all."""
    parts = _parts(value)
    with replacing(path) as aside, aside.open("wb") as file:
        file.writelines(parts)


def read(path: str | os.PathLike) -> Any:
    """What `write` wrote; a ValueError that names the file for any other."""
    path = os.fspath(path)  # numbers would be taken for open files
    try:
        check_is_file(path)
        with open(path, "rb") as file:
            return _value_of(file, os.fstat(file.fileno()).st_size)
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded. {error}") from error


def check_is_file(path: str | os.PathLike) -> None:
    """Raise unless `path` is a file with an end: opening a pipe would wait, and a device may have no end.

    Raises
    ------
    ValueError
        If it is a folder, a pipe or a device.
    OSError
        If there is nothing.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise ValueError(f"It is {'a folder' if stat.S_ISDIR(mode) else 'a pipe or a device'}, not a file.")


def printable(text: str) -> str:
    """Text from a file as it may go to a terminal: colours, cursor movements and the like become escapes."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def to_bytes(value: Any) -> bytes:
    """The bytes of a file."""
    return b"".join(_parts(value))


def from_bytes(data: bytes) -> Any:
    """What `to_bytes` was given; a ValueError that says what is wrong for any other bytes."""
    return _value_of(io.BytesIO(data), len(data))


def _parts(value: Any) -> list[Any]:
    import preimage
    from preimage.persistence._safetensors import parts_of_file
    from preimage.persistence._state import Encoder

    encoder = Encoder()
    encoded = encoder.encode(value, type(value).__name__)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": preimage.__version__,
        "scikit-learn": sklearn.__version__ if encoder.uses_sklearn else None,
        "value": encoded,
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return parts_of_file(text, encoder.tensors.arrays)


def _value_of(file: BinaryIO, size: int) -> Any:
    """What a file of `size` bytes holds.

    Names are looked up in a table, numbers must be finite where the writer's were, and parameters are checked. Nothing
    in the file is imported, called or unpickled.

    Raises
    ------
    ValueError
        If it is anything else, damaged, cut off, or of another version; the message says which.
    """
    from preimage.persistence._checks import check_answers
    from preimage.persistence._safetensors import Tensors, read_file
    from preimage.persistence._state import Decoder

    try:
        document, arrays = read_file(file, size)
        _check_document(document)
        decoder = Decoder(Tensors(arrays))
        value = decoder.decode(document["value"])
        check_answers(value, decoder.made, decoder.tensors)
    # Errors may quote the file, of any length. Those of other types than ours come from what a forger made up.
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError) as error:
        raise ValueError(printable(shorten(str(error), LONGEST_MESSAGE))) from error
    _warn_of_versions(document, value, decoder.unknown)
    return value


def _warn_of_versions(document: dict[str, Any], value: Any, unknown: list[str]) -> None:
    """Say which versions wrote the file and read it, where the model may mean something else for the other."""
    import preimage

    versions = f"written by preimage {printable(document['library'])}; installed is preimage {preimage.__version__}"
    if unknown:
        shown = printable(", ".join(sorted(set(unknown)))[:200])
        warnings.warn(
            f"The file has fields that this version does not know, and does not use: {shown}. It was {versions}. "
            "Answers may differ from those of the version that wrote it.",
            FileVersionWarning,
            stacklevel=_OF_CALLER,
        )
    elif _numbers_of(document["library"]) > _numbers_of(preimage.__version__):
        warnings.warn(
            f"The file is of a later version: it was {versions}. Answers may differ; update preimage.",
            FileVersionWarning,
            stacklevel=_OF_CALLER,
        )
    written = document["scikit-learn"]
    if written is not None and written != sklearn.__version__:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(value).__name__,
                current_sklearn_version=sklearn.__version__,
                original_sklearn_version=printable(written),
            ),
            stacklevel=_OF_CALLER,
        )


def _numbers_of(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: (0, 3) of "0.3.dev1"."""
    found = re.match(r"(?:\d{1,9}(?:\.|$))*(?:\d{1,9})?", version)
    return tuple(int(number) for number in (found[0] if found else "").split(".") if number)


def _check_document(document: Any) -> None:
    found = document.get("format") if isinstance(document, dict) else document
    if found == OLD_FORMAT:
        raise ValueError(
            "The file is a compressed model in the format of an earlier preimage, which this one does not read. "
            "Compress the original again and save the result."
        )
    if not isinstance(document, dict) or found != FORMAT:
        raise ValueError(f"The file holds no model of preimage; its format is {found!r:.60}.")
    if document.get("version") != VERSION:
        raise ValueError(
            f"The file has version {document.get('version')!r:.30} of the format, written by preimage "
            f"{document.get('library')!r:.30}; this library reads version {VERSION}. A newer preimage may read it."
        )
    if set(document) != _ENTRIES:
        odd = ", ".join(repr(name) for name in sorted(_ENTRIES.symmetric_difference(document)))[:200]
        raise ValueError(f"The description in the file lacks entries or has unknown ones: {odd}.")
    library, theirs = document["library"], document["scikit-learn"]
    if not isinstance(library, str) or not isinstance(theirs, (str, type(None))) or len(library + (theirs or "")) > 100:
        raise ValueError(
            f"A version of a library in the file is text, and short; got {library!r:.30} and {theirs!r:.30}."
        )
