"""Which pages need several runs, and how are they put together?

A script with parts that take long, or need a machine of their own, records each part (``--record``) and writes a
section of a page from its record, with the command, the version and the machine above it. This script writes the whole
page from the records that are there.

    python benchmarks/joined.py landmarks --output docs/results/landmarks.md
    python benchmarks/joined.py --write        # all of them

Observe: which sections are of which version. `results.py` lists the commands that make records anew.
"""

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "speed"), str(HERE / "comparisons")]
from _measure import RECORDS
from _reports import option_parser, publish

# The title, and for each section the record, the module and its function.
PAGES = {
    "landmarks": (
        "Landmarks",
        [
            ("landmark_choice", "landmark_choice", "section"),
            ("landmark_rounding", "landmarks", "rounding_section"),
            ("landmark_selection", "landmarks", "selection_section"),
            ("landmark_peer", "landmarks", "peer_section"),
            ("landmark_exact", "landmarks", "exact_section"),
            ("landmark_scale", "scale", "section"),
            ("landmark_dask", "dask_scale", "section"),
            ("gpu_landmarks", "gpu_landmarks", "section"),
        ],
    ),
    "compression_speed": (
        "Speed of compressed machines",
        [
            ("compressed_prediction", "reduced_sets", "prediction_section"),
            ("compressed_pipeline", "compressed_pipeline", "section"),
            ("compression_mnist", "reduced_sets", "mnist_section"),
            ("compression_seconds", "reduced_sets", "compression_section"),
            ("compression_dlib", "reduced_sets", "dlib_section"),
        ],
    ),
    "discriminants_speed": (
        "Speed of discriminants and clusters",
        [("kernel_fisher", "kernel_fisher", "section"), ("kernel_kmeans", "kernel_kmeans", "section")],
    ),
    "explorer": (
        "Pages of the explorer: size, speed, agreement with Python",
        [("explorer_speed", "explorer", "section")],
    ),
}


def report_lines(page):
    title, sections = PAGES[page]
    yield f"# {title}\n"
    yield f"Put together from records by `python benchmarks/joined.py {page} --output docs/results/{page}.md`.\n"
    for name, module, function in sections:
        contents = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
        yield from getattr(importlib.import_module(module), function)(contents)


def main():
    parser = option_parser(__doc__, "output")
    parser.add_argument("page", nargs="?", choices=PAGES)
    parser.add_argument("--write", action="store_true", help="write all pages to docs/results")
    options = parser.parse_args()
    if options.page is None and not options.write:
        parser.error(f"name a page ({', '.join(PAGES)}), or use --write")
    for page in PAGES if options.write else [options.page]:
        publish(report_lines(page), RECORDS.parent / f"{page}.md" if options.write else options.output)


if __name__ == "__main__":
    main()
