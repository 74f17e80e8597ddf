"""What does the command line need for a file of a million rows?

Set-up: a CSV file of normal numbers with a header, written in blocks; ``preimage embed`` with 10 components and 500
landmarks on one thread, in a process of its own. CPU seconds and peak resident memory of that process, libraries
included. A file of a tenth of the rows shows what depends on their number.

    python benchmarks/speed/embed_file.py --record

Observe: the time grows with the rows, the memory does not.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record
from _reports import option_parser

COLUMNS, COMPONENTS, LANDMARKS = 16, 10, 500
BLOCK = 10_000


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    print(describe_machine())
    values = {}
    for name, rows in (("a tenth", options.rows // 10), ("all", options.rows)):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "rows.csv"
            write_rows(source, rows)
            seconds, wall, memory = run(source, Path(folder) / "coordinates.npy")
        print(f"{rows:,} rows: {seconds:.1f} s of CPU, {wall:.1f} s, {memory / 1e6:.0f} MB")
        values |= {f"{name}, CPU seconds": seconds, f"{name}, MB": memory / 1e6}
    if options.record:
        settings = {"rows": options.rows, "columns": COLUMNS, "components": COMPONENTS, "landmarks": LANDMARKS}
        record("embed_file", values, settings | {"threads": 1, "format": "CSV to NPY"})


def write_rows(path, rows):
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write(",".join(f"x{column}" for column in range(COLUMNS)) + "\n")
        for start in range(0, rows, BLOCK):
            block = rng.normal(size=(min(BLOCK, rows - start), COLUMNS)).round(4).tolist()
            file.writelines(",".join(map(str, row)) + "\n" for row in block)


def run(source, target):
    """CPU seconds, wall-clock seconds and peak memory in bytes of the command, in a process of its own."""
    code = "from preimage.cli import main; main()"
    words = [sys.executable, "-c", code, "embed", str(source), str(target)]
    words += ["--components", str(COMPONENTS), "--landmarks", str(LANDMARKS)]
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS"), "1")
    start = time.perf_counter()
    process = os.posix_spawn(sys.executable, words, os.environ | limits)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"preimage embed ended with status {os.waitstatus_to_exitcode(status)}.")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss * 1024


if __name__ == "__main__":
    main()
