"""Formats of files, by their names."""

from pathlib import Path

from preimage.cli._errors import FileError
from preimage.cli.tables._encodings import COMPRESSIONS
from preimage.cli.tables._nifti import SUFFIXES, is_nifti
from preimage.cli.tables._pictures import PICTURES

FORMATS = (
    "CSV, TSV, TXT (.csv, .tsv, .txt, .dat, also with .gz or .zst), Excel (.xlsx), NumPy (.npy, .npz), "
    "Parquet (.parquet), NIfTI (.nii, .nii.gz), a folder of pictures (.png, .jpg, .tif) or a stack of them (.tif)"
)
# Formats with columns.
TABLES = (".csv", ".xlsx", ".parquet")
# Text tables, whatever their delimiter.
TEXTS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data", ".asc")


def format_of(path: Path) -> str:
    """The kind of a file: ".csv" (any text), ".xlsx", ".npy", ".npz", ".parquet", ".nii", "picture" or "folder"."""
    suffix = inner_suffix(path)
    if is_nifti(path) and not path.is_dir():
        return ".nii"
    if path.is_dir() or not path.suffix:
        return "folder"
    if path.suffix.lower() in PICTURES:
        return "picture"
    if suffix in TEXTS:
        return ".csv"
    if suffix not in {".npy", ".npz", ".parquet", ".xlsx"} or suffix != path.suffix.lower():
        old = " Save it as .xlsx first." if suffix == ".xls" else ""
        raise FileError(f"{path} has the unknown format {path.suffix!r}.{old} Use {FORMATS}.")
    return suffix


def inner_suffix(path: Path) -> str:
    """The suffix of a file, without that of compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSIONS else suffix


def stem_of(path: Path) -> str:
    """The name of a file without its suffix, or both suffixes of a compressed file."""
    double = next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), "")
    if double:
        return path.name[: -len(double)]
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSIONS else path.stem
