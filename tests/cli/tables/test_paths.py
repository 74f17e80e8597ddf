"""Tables come from files, and from pipes with a limit; devices, sockets and lines without end take no memory."""

import gzip
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables are read by pyarrow")

from preimage.cli import main
from preimage.cli._errors import FileError
from preimage.cli.tables import _excel, _paths, _text
from preimage.cli.tables._files import read
from preimage.cli.tables._sources import open_source

TABLE = "a,b\n" + "".join(f"{i},{i * i % 7}\n" for i in range(30))
# A child may have so much memory more than it needs for its imports; lines and copies fit into it, bombs do not.
MEMORY = 300_000_000


def written_into(pipe, content):
    """Write into a pipe as another program would."""
    os.mkfifo(pipe)
    thread = threading.Thread(target=lambda: pipe.write_bytes(content), daemon=True)
    thread.start()
    return thread


def command(*words, folder, **options):
    """A command as a program of its own."""
    program = [sys.executable, "-c", "from preimage.cli import main; main()", *map(str, words)]
    return subprocess.run(program, cwd=folder, capture_output=True, timeout=300, check=False, **options)


@pytest.fixture
def run_here(tmp_path, monkeypatch, capfd):
    """A command in this process, where it has descriptors of files as a program has: its exit code, and what it said.

    What loading the library costs a program is more than all that such a command does.
    """

    def run(*words, stdin=os.devnull, text=None):
        if text is None:
            descriptor = os.open(stdin, os.O_RDONLY)
        else:
            descriptor, end = os.pipe()
            os.write(end, text.encode())  # it fits into the pipe
            os.close(end)
        kept, before = os.dup(0), signal.getsignal(signal.SIGTERM)
        os.dup2(descriptor, 0)
        os.close(descriptor)
        monkeypatch.setattr(sys, "stdin", open(0, closefd=False))  # noqa: SIM115 (it is this process's)
        monkeypatch.setattr(sys, "argv", ["preimage", *map(str, words)])
        monkeypatch.chdir(tmp_path)
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            os.dup2(kept, 0)
            os.close(kept)
            signal.signal(signal.SIGTERM, before)
        return code, capfd.readouterr().err

    return run


@pytest.mark.parametrize("name", ["table.csv", "table", "table.csv.gz", "rows.npy", "rows"])
def test_a_pipe_is_read_as_the_file_would_be(name, tmp_path):
    content = TABLE.encode()
    if name.endswith(".gz"):
        content = gzip.compress(content)
    if name.startswith("rows"):
        np.save(tmp_path / "saved.npy", np.arange(12.0).reshape(4, 3))
        content = (tmp_path / "saved.npy").read_bytes()
    thread = written_into(tmp_path / name, content)
    found = read(_paths.with_end(tmp_path / name)).values
    thread.join(10)
    expected = (
        np.arange(12.0).reshape(4, 3) if name.startswith("rows") else np.loadtxt(TABLE.split()[1:], delimiter=",")
    )
    np.testing.assert_array_equal(found, expected)


def test_a_pipe_is_not_read_by_readers_that_read_twice(tmp_path):
    os.mkfifo(tmp_path / "table.csv")
    for reader in (read, open_source):
        with pytest.raises(FileError, match=r"table\.csv is a pipe, not a file"):
            reader(tmp_path / "table.csv")


def test_devices_and_sockets_are_refused_at_once(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.csv"))
        (tmp_path / "zero.csv").symlink_to("/dev/zero")
        for name, kind in [("socket.csv", "a socket"), ("zero.csv", "a device")]:
            for reader in (read, open_source, _paths.with_end):
                with pytest.raises(FileError, match=f"{name} is {kind}, not a file"):
                    reader(tmp_path / name)


def test_a_pipe_without_end_is_left_at_a_stated_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(_paths, "MOST_STREAMED", 3 * 2**20)
    monkeypatch.setattr(_paths.tempfile, "tempdir", str(tmp_path))
    os.mkfifo(tmp_path / "endless.csv")
    endless = subprocess.Popen(["sh", "-c", "yes 1,2 > endless.csv 2>/dev/null"], cwd=tmp_path)
    with endless, pytest.raises(FileError, match="More than 3 MiB came through the pipe"):
        _paths.with_end(tmp_path / "endless.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["endless.csv"]  # the copy is gone


def test_the_command_reads_standard_input(tmp_path):
    done = command("embed", "-", "out.csv", "--components", "1", folder=tmp_path, input=TABLE.encode())
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.csv").read_text().split()) == 31


def test_the_command_says_that_nothing_comes(run_here):
    code, said = run_here("embed", "-", "out.csv", stdin="/dev/zero")
    assert code == 3 and "nothing is piped into it" in said


@pytest.mark.net
def test_the_command_says_that_standard_input_is_closed(tmp_path):
    done = command("embed", "-", "out.csv", folder=tmp_path, preexec_fn=lambda: os.close(0))
    assert done.returncode == 3 and b"standard input, which is closed" in done.stderr, done.stderr


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs names of open files")
@pytest.mark.parametrize(
    ("name", "is_deleted"),
    [
        ("/dev/stdin", False),
        ("/proc/self/fd/0", True),
        *(pytest.param(name, False, marks=pytest.mark.net) for name in ("/dev/fd/0", "/proc/self/fd/0")),
        *(pytest.param(name, True, marks=pytest.mark.net) for name in ("/dev/stdin", "/dev/fd/0")),
    ],
)
def test_a_file_is_read_by_the_name_of_its_descriptor(name, is_deleted, tmp_path, run_here):
    (tmp_path / "table.csv").write_text(TABLE)
    with open(tmp_path / "table.csv", "rb") as file:
        if is_deleted:
            (tmp_path / "table.csv").unlink()
        code, said = run_here("embed", name, "out.csv", "--components", "1", stdin=f"/proc/self/fd/{file.fileno()}")
    assert code == 0, said
    assert len((tmp_path / "out.csv").read_text().split()) == 31


def test_a_line_at_the_limit_is_refused_and_one_below_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "LONGEST_LINE", 2**18)
    path = tmp_path / "wide.csv"
    n_columns = 2**18 // 63 - 10  # of long values: few columns are read sooner
    row = ",".join(["1.25".ljust(62, "0")] * n_columns)
    path.write_text(f"{row}\n{row}\n{row}\n")
    assert open_source(path).n_columns == n_columns
    for text in (f"{row},{row}\n1\n", f"1,2\n3,4\n{row},{row}", TABLE + "x" * 2**19):
        path.write_text(text)
        with pytest.raises(FileError, match=r"a line of more than 0 MiB|values; 2 are needed"):
            list(open_source(path).chunks(100))


def test_lines_of_too_many_values_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "MOST_VALUES", 1000)
    (tmp_path / "wide.csv").write_text(",".join(["1"] * 1002) + "\n")
    with pytest.raises(FileError, match="more than 1,000 values"):
        open_source(tmp_path / "wide.csv")


def bombs(folder):
    """Files that are small, or have holes, and whose contents would fill the memory."""
    size = 2 * 10**9
    with open(folder / "holes.csv", "wb") as file:  # zero bytes that take no disk
        file.truncate(size)
    with open(folder / "line.csv", "wb") as file:
        file.write(b"1," * 2**16)
        file.truncate(size)
    with gzip.open(folder / "line.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(600):
            file.write(b"1" * 10**6)
    with gzip.open(folder / "empty_lines.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"a,b\n1,2\n3,4\n")
        for _ in range(600):
            file.write(b"\n" * 10**6)
    with open(folder / "header.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 4)})
    with zipfile.ZipFile(folder / "declared.npz", "w") as archive:
        archive.write(folder / "header.npy", "X.npy")
    about = {"descr": "<f8", "fortran_order": False, "shape": (150000, 1000)}
    zeros = zipfile.ZipFile(folder / "zeros.npz", "w", zipfile.ZIP_DEFLATED)
    with zeros as archive, archive.open("X.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, about)
        for _ in range(1200):
            file.write(bytes(10**6))
    numbers = zipfile.ZipFile(folder / "bytes.npz", "w", zipfile.ZIP_DEFLATED)
    with numbers as archive, archive.open("X.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, about | {"descr": "|u1", "shape": (200, 10**6)})
        for _ in range(200):
            file.write(bytes(10**6))
    return sorted(folder.iterdir())


@pytest.mark.net
def test_a_process_with_little_memory_refuses_files_that_would_fill_it(tmp_path):
    names = [path.name for path in bombs(tmp_path)]
    script = f"""
import resource
from pathlib import Path
from preimage.cli._errors import CommandError
from preimage.cli.tables._files import read
import pyarrow, pyarrow.csv
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {MEMORY}, used + {MEMORY}))
for path in sorted(Path(".").iterdir()):
    try:
        read(path)
    except CommandError as error:
        print("refused", path.name, error)
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs Linux to say how much memory a process has")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert [line.split()[1] for line in done.stdout.splitlines()] == names, done.stdout + done.stderr[-2000:]
    assert "MiB" in done.stdout and "Unable to allocate" not in done.stdout


def test_sheets_that_declare_all_cells_of_excel_are_as_large_as_they_are(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files")
    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, 2], [3, 4], [5, 7]]:
        book.active.append(row)
    book.save(tmp_path / "small.xlsx")
    with zipfile.ZipFile(tmp_path / "small.xlsx") as old, zipfile.ZipFile(tmp_path / "large.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'<dimension ref="A1:B4"', b'<dimension ref="A1:XFD1048576"'))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    np.testing.assert_array_equal(read(tmp_path / "large.xlsx").values, [[1, 2], [3, 4], [5, 7]])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


def forged_book(path, part, old, new):
    """A small book in whose `part` every text `old` is another one."""
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files")
    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, 2], [3, 4], [5, 7]]:
        book.active.append(row)
    book.save(path.with_name("right.xlsx"))
    with zipfile.ZipFile(path.with_name("right.xlsx")) as right, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as to:
        for name in right.namelist():
            content = right.read(name)
            assert name != part or old in content
            to.writestr(name, content.replace(old, new) if name == part else content)
    path.with_name("right.xlsx").unlink()


SHEET, STYLES, END = "xl/worksheets/sheet1.xml", "xl/styles.xml", b"</sheetData>"
LONG_TEXT = b'<row><c t="inlineStr"><is><t>'
FAR_CELL = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'


@pytest.mark.net
@pytest.mark.parametrize(
    ("part", "end", "beginning", "repeated", "times", "reason"),
    [
        pytest.param(SHEET, END, LONG_TEXT, b"a", 250_000_000, "unpacks to", id="a long text"),
        pytest.param(SHEET, END, b"", b"<row/>", 20_000_000, "XML tags", id="empty rows"),
        pytest.param(SHEET, END, b"<row>", b"<c/>", 5_000_000, "XML tags", id="a long row"),
        pytest.param(SHEET, END, FAR_CELL, b"", 0, "more than 16,777,216 cells", id="a cell far away"),
        pytest.param(SHEET, END, b'<row r="2000000"/>', b"", 0, "1,048,576 rows", id="a row far away"),
        pytest.param(STYLES, b"</cellXfs>", b"", b"<xf/>", 500_000, "formats", id="formats"),
    ],
)
def test_small_books_that_would_fill_the_memory_are_refused(part, end, beginning, repeated, times, reason, tmp_path):
    # Tags stay open: none of these is read to its end.
    forged_book(tmp_path / "bomb.xlsx", part, end, beginning + repeated * times + end)
    tracemalloc.start()
    with pytest.raises(FileError, match=rf"bomb\.xlsx cannot be read: it.*{reason}"):
        read(tmp_path / "bomb.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A million empty rows, which Excel allows, are lists of 64 bytes; others are refused before they are opened.
    assert peak < 150_000_000


@pytest.mark.net
def test_sheets_of_zeros_are_no_bombs(tmp_path):
    """Of all tables they become smallest in an archive."""
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for _ in range(3000):
        sheet.append([0] * 100)
    book.save(tmp_path / "zeros.xlsx")
    assert read(tmp_path / "zeros.xlsx").values.shape[1] == 100


def test_sheets_of_too_many_cells_are_refused(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files")
    monkeypatch.setattr(_excel, "MOST_CELLS", 10)
    book = openpyxl.Workbook()
    for _ in range(5):
        book.active.append([1, 2, 3])
    book.save(tmp_path / "table.xlsx")
    with pytest.raises(FileError, match="more than 10 cells"):
        read(tmp_path / "table.xlsx")


WITH_GAPS = TABLE.replace("3,2\n", "3,\n")
FEW = ["--components", "2", "--gamma", "median"]
PIPED = {
    "embed": ["{}", "out.csv", *FEW],
    "denoise": ["{}", "out.csv", *FEW, "--penalty", "0", "--no-plot"],
    "denoise --fit": ["x.csv", "out.csv", "--fit", "{}", *FEW, "--penalty", "0", "--no-plot"],
    "impute": ["{}", "out.csv", *FEW],
    "impute --fit": ["x.csv", "out.csv", "--fit", "{}", *FEW],
    "outliers": ["{}", "out.csv"],
}


@pytest.mark.parametrize("name", PIPED)
def test_commands_read_pipes_as_files(name, tmp_path, run_here):
    text = WITH_GAPS if name.startswith("impute") else TABLE
    (tmp_path / "x.csv").write_text(text)
    words = [name.split()[0], *PIPED[name]]
    code, said = run_here(*[word.format("x.csv") for word in words])
    assert code == 0, said
    expected = (tmp_path / "out.csv").read_bytes()
    for way in ("-", "/dev/stdin", "pipe.csv"):
        (tmp_path / "out.csv").unlink()
        thread = written_into(tmp_path / way, text.encode()) if way == "pipe.csv" else None
        code, said = run_here(*[word.format(way) for word in words], "--force", text=None if thread else text)
        assert code == 0, (way, said)
        assert (tmp_path / "out.csv").read_bytes() == expected, way


def test_standard_input_can_be_data_and_training_data(run_here):
    code, said = run_here("denoise", "-", "out.csv", "--fit", "-", *FEW, "--penalty", "0", "--no-plot", text=TABLE)
    assert code == 0, said


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
@pytest.mark.parametrize(
    "words",
    [
        ["embed", "x.csv", "{}"],
        ["denoise", "x.csv", "o.csv", "--plot", "{}"],
        ["impute", "x.csv", "o.csv", "--summary", "{}"],
    ],
    ids=["output", "plot", "summary"],
)
def test_outputs_are_files(output, words, tmp_path, run_here):
    (tmp_path / "x.csv").write_text(TABLE)
    code, said = run_here(*[word.format(output) for word in words])
    assert code == 2 and f"Outputs are files, and {output} is none." in said
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
