"""How long does `KernelImputer` take on a table with gaps, next to `KNNImputer`?

Set-up: rows of the digits, and a table of 300 rows and 10 columns with three factors, with 30 % of the entries missing
at random; fit and imputation of the same rows (`fit_transform`), with default parameters, both on one core, in turn.
Processor seconds besides wall-clock seconds: on a shared machine only the former say which takes longer.

    OMP_NUM_THREADS=1 python benchmarks/speed/imputation.py --record

Observe: the ratio of medians, and the mean squared errors on the missing pixels.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record
from _reports import option_parser

from preimage import KernelImputer


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--missing", type=float, default=0.3)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(describe_machine())

    digits = load_digits().data[: arguments.rows] / 16
    values = measured(digits, arguments)
    small = measured(table(np.random.default_rng(0)), arguments)
    if arguments.record:
        values |= {f"table, {name}": value for name, value in small.items()}
        settings = {"data": "digits / 16, table", "rows": arguments.rows, "missing": arguments.missing, "threads": 1}
        record("imputation_speed", values, settings)


def table(rng):
    """Three factors in ten columns."""
    return rng.normal(size=(300, 3)) @ rng.normal(size=(3, 10)) + 0.1 * rng.normal(size=(300, 10))


def measured(rows, arguments):
    """Ratios, seconds and errors of both imputers on rows with gaps."""
    gone = np.random.default_rng(0).random(rows.shape) < arguments.missing
    holes = np.where(gone, np.nan, rows)
    seconds = {name: [] for name in ("KNNImputer", "KernelImputer")}
    errors = {}
    for imputer in (KNNImputer(), KernelImputer()):
        imputer.fit_transform(holes[:100])  # what is loaded and compiled once
    for _ in range(arguments.repeats):
        for imputer in (KNNImputer(), KernelImputer()):
            start, wall = time.process_time(), time.perf_counter()
            found = imputer.fit_transform(holes)
            name = type(imputer).__name__
            seconds[name].append((time.process_time() - start, time.perf_counter() - wall))
            errors[name] = float(np.mean((found - rows)[gone] ** 2))
    medians = {name: np.median(values, axis=0) for name, values in seconds.items()}
    print(f"{rows.shape[0]} rows, {rows.shape[1]} columns")
    for name, (processor, wall) in medians.items():
        print(f"{name:14} {processor:6.3f} s of processor, {wall:6.3f} s, squared error {errors[name]:.4f}")
    ratio, wall_ratio = medians["KernelImputer"] / medians["KNNImputer"]
    print(f"ratio of medians: {ratio:.2f} of processor, {wall_ratio:.2f}")
    values = {"ratio": ratio, "wall_ratio": wall_ratio}
    values |= {f"seconds_{name}": medians[name][0] for name in medians}
    return values | {f"error_{name}": errors[name] for name in errors}


if __name__ == "__main__":
    main()
