"""Files that are something else than their names say are recognised, and the message says what to do."""

import bz2
import gzip
import io
import sqlite3
import zipfile

import numpy as np
import pytest

from preimage.cli._errors import FileError
from preimage.cli.tables._files import read
from preimage.cli.tables._recognised import check_recognised


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name in names:
            opened.writestr(name, "-")
    return file.getvalue()


def saved(save):
    file = io.BytesIO()
    save(file)
    return file.getvalue()


WITH_MACROS = archive("xl/workbook.xml", "xl/vbaProject.bin")
OLD = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
HTML = b"\xef\xbb\xbf\n<!-- made by us -->\n<HTML xmlns:x='urn:schemas-microsoft-com:office:excel'><table><tr><td>1"
XML_SHEET = b'<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n<Workbook/>'
FILES = [
    ("t.csv", archive("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook. Rename it to t.xlsx"),
    (
        "t.xlsx",
        archive("xl/workbook.xml", "xl/vbaProject.bin"),
        "an Excel workbook with macros. Open it .* save it as .xlsx",
    ),
    (
        "t.xlsm",
        archive("xl/workbook.xml", "xl/vbaProject.bin"),
        "an Excel workbook with macros. Open it .* save it as .xlsx",
    ),
    ("t.xlsx", archive("xl/workbook.bin"), "a binary Excel workbook. Open it .* save it as .xlsx"),
    ("t.ods", archive("mimetype", "content.xml"), "an OpenDocument file. Open it .* save it as .xlsx"),
    ("t.docx", archive("word/document.xml"), "a Word document. Copy its table"),
    ("t.csv", archive("a.csv"), "a ZIP archive. Unpack it"),
    ("t.csv", archive("X.npy"), "a NumPy archive. Rename it to t.npz"),
    ("t.csv", archive("a.csv")[:40], "a ZIP archive. Unpack it"),
    ("t.xls", OLD, "an old file of Office, or one with a password. Open it .* save it as .xlsx. A password"),
    ("t.xlsx", OLD, "an old file of Office, or one with a password"),
    ("t.xls", HTML, "an HTML page. Open it .* save it as .xlsx"),
    ("t.csv", b"<!DOCTYPE html><html>", "an HTML page"),
    ("t.xls", XML_SHEET, "an XML document. Open it .* save it as .xlsx"),
    ("t.csv", b'[\n {"a": 1, "b": 2}]', r"JSON. .*read_json\('t.csv'\).to_csv\('t_table.csv', index=False\)"),
    ("t.txt", b'{"a": 1}\n{"a": 2}\n', r"JSON, an object per line. .*read_json\('t.txt', lines=True\).to_csv\('t.csv'"),
    ("t.json", b"[1, 2, 3]", "JSON. Convert"),
    ("t.csv", b"PAR1....PAR1", "a Parquet file. Rename it to t.parquet"),
    ("t.csv", saved(lambda file: np.save(file, np.eye(2))), "a NumPy array. Rename it to t.npy"),
    ("t.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), "compressed by gzip. Rename it to t.csv.gz"),
    ("t.csv", bz2.compress(b"a,b\n1,2\n"), "compressed by bzip2. Rename it to t.csv.bz2"),
    ("t.csv", b"\x28\xb5\x2f\xfd\x00", "compressed by zstd. Rename it to t.csv.zst"),
    ("t.csv", b"%PDF-1.7\n", "a PDF document. Ask"),
    ("t.csv", b"\x89PNG\r\n\x1a\n", "a picture. Give it the suffix"),
    ("t.csv", b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    ("t.rds", b"\x1f\x8b\x08", r"a file of R. .*write.csv\(table, 't.csv'"),
    ("t.RData", b"RDX3\nX\n", r"a file of R. .*write.csv\(table, 't.csv'"),
    ("t.sav", b"$FL2@(#) SPSS", r"an SPSS file. .*read_spss\('t.sav'\)"),
    ("t.csv", b"$FL2@(#) SPSS", r"an SPSS file. .*read_spss\('t.csv'\)"),
    ("t.dta", b"\x72\x01", r"a Stata file. .*read_stata\('t.dta'\)"),
    ("t.dta", b"<stata_dta><header>", r"a Stata file. .*read_stata\('t.dta'\)"),
    ("t.sas7bdat", bytes(12) + bytes.fromhex("c2ea8160"), r"a SAS file. .*read_sas\('t.sas7bdat', format='sas7bdat'\)"),
    ("t.xpt", b"HEADER RECORD*******LIBRARY", r"a SAS transport file. .*format='xport'\)"),
    ("t.feather", b"ARROW1\0\0", r"an Arrow or Feather file. .*read_feather\('t.feather'\)"),
]


@pytest.mark.parametrize(("name", "content", "told"), FILES, ids=[f"{told[:24]}-{name}" for name, _, told in FILES])
def test_other_formats_are_named_with_what_to_do(name, content, told, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=rf"{name} is {told}"):
        read(tmp_path / name)


def test_databases_are_named(tmp_path):
    with sqlite3.connect(tmp_path / "t.csv") as database:
        database.execute("create table t (x)")
    with pytest.raises(FileError, match=r"an SQLite database. Export a table: sqlite3 .* t.csv .* > t_table.csv"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"a,b\n1,2\n"),
        ("t.csv", b"<5,<7\n1,2\n"),
        ("t.csv", b'"[1, 2]",x\n1,2\n'),
        ("t.csv", b"[cm],[kg]\n1,2\n"),
        ("t.csv", b"{a},{b}\n1,2\n"),
        ("t.csv", b""),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)),
        ("t.parquet", b"PAR1"),
        ("t.xlsx", archive("xl/workbook.xml")),
        ("t.xlsx", archive("xl/workbook.xml")[:40]),
        ("t.npz", archive("X.npy")),
        ("t.nii.gz", gzip.compress(b"scan", mtime=0)),
        ("t.png", b"\x89PNG\r\n\x1a\n"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes of archives have the time in them
)
def test_files_of_their_name_are_read(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    check_recognised(tmp_path / name)
    check_recognised(tmp_path)
