"""What do Gaussians of several widths gain in reduced sets, and where?

Question: the squared error of function values on new rows, relative to their variance, of machines reduced to a few
points that share the width of the kernel, and of the same number of points with widths of their own.

Set-up: support vector machines with C = 10 and γ = 1/d on standardised columns (γ = 2 for moons and γ = 4 for the
surface, a regression in the plane), trained on half of the rows, reduced by `Distill` on these and by `Refine`, and
compared with the original on the other half; means over random halves. Tables are those that come with scikit-learn.

    python benchmarks/comparisons/free_widths.py --record --output docs/results/free_widths.md

Observe: the ratio of errors, free over fixed, and how it approaches one as columns get more.
"""

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_moons
from sklearn.svm import SVC, SVR

sys.path.insert(0, str(Path(__file__).parents[1]))
from _cells import Cells, add_options, processor_time
from _measure import record
from _reports import option_parser, origin, publish

from preimage.interop import machine_of
from preimage.reduced_sets import Distill, Refine, relative_error

SIZES = (4, 8, 16)
REDUCERS = {"Distill": Distill, "Refine": Refine}


def surface(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(600, 2))
    return X, np.sin(3 * X[:, 0]) * np.exp(-(X[:, 1] ** 2)) + 0.1 * rng.normal(size=600), SVR(gamma=4, C=10)


def table(load, kind=SVC, scale=True):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1) if scale else X / 16
    y = y if kind is SVC else (y - y.mean()) / y.std()
    return lambda seed: (X, y, kind(gamma=1 / X.shape[1], C=10))


SETS = {
    "surface": surface,
    "moons": lambda seed: (*make_moons(600, noise=0.2, random_state=seed), SVC(gamma=2, C=10)),
    "iris": table(load_iris),
    "diabetes": table(load_diabetes, SVR),
    "wine": table(load_wine),
    "breast cancer": table(load_breast_cancer),
    "digits": table(load_digits, scale=False),
}


def main():
    parser = option_parser(__doc__, "record", "output")
    add_options(parser)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    options = parser.parse_args()
    cells = Cells(options.cells)
    tasks = {f"{name}, {seed}": (name, seed) for name in options.sets for seed in range(options.draws)}
    found = cells.compute(tasks, one_draw, options.jobs)
    values = {}
    for name in options.sets:
        scores = [found[f"{name}, {seed}"] for seed in range(options.draws)]
        values |= {f"{name}, {key}": float(np.mean([score[key] for score in scores])) for key in scores[0]}
    columns = {name: SETS[name](0)[0].shape[1] for name in options.sets}
    machine, taken = cells.machine(tasks), processor_time(cells.seconds(tasks))
    publish(report_lines(values, columns, options, origin(machine, taken)), options.output)
    if options.record:
        settings = {"draws": options.draws, "sizes": list(SIZES)}
        record("free_widths", values, settings, machine=machine, taken=taken)


def one_draw(name, seed):
    """Errors and seconds: {"Distill, free, 8": error, ...}."""
    X, y, machine = SETS[name](seed)
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[::2], order[1::2]
    target = machine_of(machine.fit(X[train], y[train])).expansion
    values = target(X[test])
    variance = np.mean((values - values.mean(axis=0)) ** 2)
    scores = {}
    for size in SIZES:
        for name, reducer in REDUCERS.items():
            for widths in ("fixed", "free"):
                begin = time.process_time()
                small = reducer(widths=widths).reduce(target, size, X=X[train])
                key = f"{name}, {widths}, {size}"
                scores[f"{key}, seconds"] = time.process_time() - begin
                shift = 0 if small.shift is None else small.shift
                scores[key] = np.mean((small.expansion(X[test]) + shift - values) ** 2) / variance
                scores[f"{key}, in feature space"] = relative_error(target, small.expansion)
    return scores


def report_lines(values, columns, options, made_by):
    yield "# Gaussians of several widths in reduced sets\n"
    yield made_by
    yield (
        "Squared error of function values on new rows relative to their variance, with points that share the width of "
        "the kernel → with widths of their own; in parentheses the ratio. Support vector machines trained on half of "
        f"the rows, means of {options.draws} random halves. What the reducers minimise is never "
        "larger with free widths; errors on new rows may be.\n"
    )
    for name, what in (("Distill", "function values on the training rows"), ("Refine", "the norm of feature space")):
        yield f'## `{name}(widths="free")`, {what}\n'
        heads = [f"{size} points" for size in SIZES]
        yield f"| data | columns | {' | '.join(heads)} | time |\n|{'---|' * (len(SIZES) + 3)}"
        for data, d in columns.items():
            cells = [cell(values, f"{data}, {name}", size) for size in SIZES]
            times = [sum(values[f"{data}, {name}, {w}, {size}, seconds"] for size in SIZES) for w in ("free", "fixed")]
            yield f"| {data} | {d} | {' | '.join(cells)} | × {times[0] / times[1]:.1f} |"
        yield ""
    yield (
        "The norm of a Gaussian of another width, in the feature space of the kernel, grows exponentially with the "
        "number of columns (R26): with many of them widths stay near that of the kernel, and free ones gain little. In "
        "predictions they cost one multiplication per point."
    )


def cell(values, key, size):
    fixed, free = (values[f"{key}, {widths}, {size}"] for widths in ("fixed", "free"))
    return f"{fixed:.2g} → {free:.2g} ({free / fixed:.2f})"


if __name__ == "__main__":
    main()
