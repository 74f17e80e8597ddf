"""Files that are something else than their names say, and formats that other programs convert."""

import re
import zipfile
from pathlib import Path

from preimage.cli._errors import FileError

# Bytes at the beginning that are looked at.
_BEGINNING = 4096
_MARK = b"\xef\xbb\xbf"
_OLD_OFFICE, _ZIP = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
# What the first bytes say.
_BY_BYTES = {
    rb"PAR1": "a Parquet file",
    rb"\x93NUMPY": "a NumPy array",
    rb"ARROW1|FEA1": "an Arrow or Feather file",
    rb"\x1f\x8b": "compressed by gzip",
    rb"\x28\xb5\x2f\xfd": "compressed by zstd",
    rb"BZh[1-9]1AY&SY": "compressed by bzip2",
    rb"7z\xbc\xaf\x27\x1c|Rar!|\xfd7zXZ\0": "an archive",
    rb"\x89PNG|\xff\xd8\xff|II\*\0|MM\0\*": "a picture",
    rb"\x89HDF\r\n": "an HDF5 file",
    rb"%PDF-": "a PDF document",
    rb"SQLite format 3\0": "an SQLite database",
    rb"RD[AX][23]\n|X\n\0\0\0": "a file of R",
    rb"\$FL[23]@\(#\)": "an SPSS file",
    rb"<stata_dta>": "a Stata file",
    rb"HEADER RECORD\*{7}LIB": "a SAS transport file",
    rb"\0{12}\xc2\xea\x81\x60": "a SAS file",
    rb"(?is)\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body|table|meta|div)\b": "an HTML page",
    rb"\s*<\?xml\b": "an XML document",
    rb'\s*\{\s*"[^"\n]*"\s*:': "JSON, an object per line",
    rb"\s*\[\s*(?:\[|\{)": "JSON",
}
# What a part of an archive says.
_BY_PART = {
    "xl/workbook.bin": "a binary Excel workbook",
    "xl/vbaProject.bin": "an Excel workbook with macros",
    "xl/workbook.xml": "an Excel workbook",
    "word/document.xml": "a Word document",
    "content.xml": "an OpenDocument file",
}
# What suffixes say of files whose first bytes may say nothing.
_BY_SUFFIX = {
    **dict.fromkeys((".sav", ".zsav"), "an SPSS file"),
    **dict.fromkeys((".rdata", ".rda", ".rds"), "a file of R"),
    **dict.fromkeys((".feather", ".arrow"), "an Arrow or Feather file"),
    **{".dta": "a Stata file", ".sas7bdat": "a SAS file", ".xpt": "a SAS transport file"},
    **{".json": "JSON", ".jsonl": "JSON, an object per line", ".ndjson": "JSON, an object per line"},
}
# Formats that hold others: R compresses its own.
_COMPRESSED = ("compressed by gzip", "compressed by bzip2")
# Suffixes with which a file is read, or with which reading says what is wrong with it.
_READ = {
    "a Parquet file": (".parquet",),
    "a NumPy array": (".npy",),
    "a NumPy archive": (".npz",),
    "an Excel workbook": (".xlsx",),
    "a ZIP archive": (".xlsx", ".npz"),
    "compressed by gzip": (".gz",),
    "compressed by zstd": (".zst",),
    "compressed by bzip2": (".bz2",),
    "a picture": (".png", ".jpg", ".jpeg", ".tif", ".tiff"),
}
# How pandas reads what it can convert.
_READERS = {
    "an Arrow or Feather file": "read_feather({name!r})",
    "an SPSS file": "read_spss({name!r})",
    "a Stata file": "read_stata({name!r})",
    "a SAS file": "read_sas({name!r}, format='sas7bdat')",
    "a SAS transport file": "read_sas({name!r}, format='xport')",
    "JSON": "read_json({name!r})",
    "JSON, an object per line": "read_json({name!r}, lines=True)",
}
_SPREADSHEET, _UNPACK = "Open it in Excel or LibreOffice, and save it as .xlsx.", "Unpack it, and give a file of it."
_ADVICE = {
    "a Parquet file": "Rename it to {stem}.parquet.",
    "a NumPy array": "Rename it to {stem}.npy.",
    "a NumPy archive": "Rename it to {stem}.npz.",
    "an Excel workbook": "Rename it to {stem}.xlsx.",
    "compressed by gzip": "Rename it to {name}.gz.",
    "compressed by zstd": "Rename it to {name}.zst.",
    "compressed by bzip2": "Rename it to {name}.bz2.",
    "a picture": "Give it the suffix of its format.",
    "a ZIP archive": _UNPACK,
    "an archive": _UNPACK,
    "an old file of Office, or one with a password": f"{_SPREADSHEET} A password must be taken off.",
    "an HDF5 file": "Read it with pandas or h5py, and save its table as CSV.",
    "a PDF document": "Ask for its table as CSV or .xlsx, or copy it into a spreadsheet.",
    "a Word document": "Copy its table into a spreadsheet, and save that as .xlsx.",
    "an SQLite database": "Export a table: sqlite3 -header -csv {name} 'SELECT * FROM name' > {new}",
    "a file of R": "Load it in R, and write its table: write.csv(table, {new!r}, row.names = FALSE)",
}


def check_recognised(path: Path) -> None:
    """Refuse a file that is something else than its suffix says, or that other programs convert, and say how."""
    suffix = path.suffix.lower()
    what = _what(path) if path.is_file() else None
    if what is None or what in _COMPRESSED:
        what = _BY_SUFFIX.get(suffix, what)
    if what is None or suffix in _READ.get(what, ()):
        return
    names = {"name": path.name, "stem": path.stem, "new": f"{path.stem}{'_table' if suffix == '.csv' else ''}.csv"}
    convert = f"Convert it with pandas: pandas.{_READERS.get(what)}.to_csv({{new!r}}, index=False)"
    advice = convert if what in _READERS else _ADVICE.get(what, _SPREADSHEET)
    raise FileError(f"{path} is {what}. {advice.format(**names)}")


def _what(path: Path) -> str | None:
    """What a file is, as its first bytes say; None for text and all that is not known."""
    with open(path, "rb") as file:
        start = file.read(_BEGINNING).removeprefix(_MARK)
    if start.startswith(_OLD_OFFICE):
        return "an old file of Office, or one with a password"
    if start.startswith(_ZIP):
        return _what_archive(path)
    return next((what for pattern, what in _BY_BYTES.items() if re.match(pattern, start)), None)


def _what_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.namelist()
    except zipfile.BadZipFile:
        parts = []
    if any(part.endswith(".npy") for part in parts):
        return "a NumPy archive"
    return next((what for part, what in _BY_PART.items() if part in parts), "a ZIP archive")
