"""How much accuracy is lost where `compress` chooses the number of points from the training rows alone?

Question: `compress(svc, X=X, y=y)` has the rows and labels that the machine was trained on, and no size. What is lost
on test rows, and how many more points are kept than needed?

Set-up: the thirteen IDA sets with their own splits, and random splits of the digits of scikit-learn (898 rows for
training) and of USPS (500; 3,000 for testing). C and γ of the machine by three-fold cross-validation on the training
rows; columns standardised by these, except pixels. Eight splits, fewer of sets that take long. The rule of `compress`
was made on the development sets, of which three splits each were looked at; the report sets were run once, with the
rule as it is.

The smallest number of points of a set is the first of 1, 2, 3, 4, 6, 8, 11, 16, … from which on the mean loss over the
splits is at most half a point. It is found with the test rows, so no method can know it. For comparison, the first size
whose accuracy on the training rows, which it is fitted to, drops by at most half a point.

Then the question why 250 shared points may have more test errors than 100: ten machines, one versus rest, on all 7,291
training digits of USPS, compressed to given sizes and compared on the 2,007 test digits.

    OMP_NUM_THREADS=1 python benchmarks/comparisons/compressed_sizes.py --jobs 2 --cells FILE --record --output FILE

Sets that the file of cells has are not computed again; all that it has are reported.

Observe: the mean loss, at most 0.5 points; and the ratio of the points kept to the smallest number, at most 2. With
more points, function values on USPS always come nearer to those of the machine, and test errors go up and down.
"""

import sys
import warnings
from functools import cache
from itertools import count, pairwise
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
import _data  # noqa: F401
from _cells import Cells, add_options, processor_time
from _measure import record
from _reports import option_parser, origin, publish, table, yes
from data import IDA_NAMES, load_ida, load_usps

from preimage import compress

DEVELOPMENT = ("banana", "german", "heart", "twonorm", "digits")
SETS = (*IDA_NAMES, "digits", "usps")
# Rows for training and at most as many for testing, where a set has no splits of its own.
ROWS = {"digits": (898, 899), "usps": (500, 3000)}
# Splits, where eight would take hours.
SPLITS = {
    **dict.fromkeys(("diabetis", "flare_solar", "ringnorm", "waveform"), 4),
    **dict.fromkeys(("banana", "german", "image", "twonorm", "digits"), 3),
    **dict.fromkeys(("splice", "usps"), 2),
}
GRID = {"C": (1, 10, 100), "gamma": (0.1, 0.3, 1.0)}  # γ in units of scikit-learn's "scale"
TOLERANCE = 0.005
CURVE = "usps, given sizes"
LONGEST_FIRST = (CURVE, "splice", "usps", "german", "digits", "image", *SETS)
GIVEN_SIZES = (50, 100, 150, 200, 250, 300)
MOST_EXCESS = 2.0


def main():
    parser = option_parser(__doc__, "record", "output")
    add_options(parser)
    parser.add_argument("--sets", nargs="+", choices=(*SETS, CURVE), default=(*SETS, CURVE))
    options = parser.parse_args()
    cells = Cells(options.cells)
    cells.compute({name: (name,) for name in LONGEST_FIRST if name in options.sets}, cell, options.jobs)
    figures = {name: cells[name] for name in SETS if name in cells}
    if CURVE not in cells:
        return
    machine, taken = cells.machine(), processor_time(cells.seconds())
    publish(report_lines(figures, cells[CURVE], origin(machine, taken)), options.output)
    if options.record:
        values = values_of(figures) | curve_values(cells[CURVE])
        record("compressed_sizes", values, {"sets": list(figures)}, machine=machine, taken=taken)


def cell(name):
    return list(curve_of_usps()) if name == CURVE else figures_of(name)


def curve_values(curve):
    return {
        f"given sizes, {each['points']}, {figure}": value
        for each in curve[1:]
        for figure, value in each.items()
        if figure != "points"
    }


def measure(sets=SETS):
    """What the record holds."""
    return values_of({name: figures_of(name) for name in sets})


def figures_of(name, splits=None):
    """What was found on one set, {figure: number}; losses are in points."""
    splits = SPLITS.get(name, 8) if splits is None else splits
    runs = [Run(*split_of(name, number)) for number in range(splits)]
    chosen = np.array([run.chosen.n_points_ for run in runs])
    losses = np.array([run.loss(run.chosen) for run in runs])
    return {
        "splits": float(splits),
        "accuracy": float(np.mean([100 * run.accuracy for run in runs])),
        "points before": float(np.mean([len(run.machine.support_) for run in runs])),
        "points": _typical(chosen),
        "loss": float(np.mean(losses)),
        "error": float(np.std(losses, ddof=1) / np.sqrt(splits)) if splits > 1 else 0.0,
        "predicted loss": float(np.mean([run.predicted_loss() for run in runs])),
        "smallest": float(smallest_size(runs, chosen.max())),
        "points by training rows": _typical([run.by_training_rows().n_points_ for run in runs]),
        "loss by training rows": float(np.mean([run.loss(run.by_training_rows()) for run in runs])),
    }


def curve_of_usps():
    """Yield what machines with given numbers of shared points change on the test digits, {figure: number}."""
    data = load_usps()
    X, X_test = (np.asarray(each, dtype=float) for each in (data.X_train, data.X_test))
    model = OneVsRestClassifier(SVC(C=10, gamma=1 / 128)).fit(X, data.y_train)
    values, decided = model.decision_function(X_test), model.predict(X_test)
    yield {"points": 0, "test error": 100 * float(np.mean(decided != data.y_test))}
    for n in GIVEN_SIZES:
        small = quietly(compress, model, n, X=X)
        now = small.predict(X_test)
        squares = (small.decision_function(X_test) - values) ** 2
        yield {
            "points": n,
            "test error": 100 * float(np.mean(now != data.y_test)),
            "changed": int(np.sum(now != decided)),
            "to wrong": int(np.sum((now != decided) & (decided == data.y_test))),
            "to right": int(np.sum((now != decided) & (now == data.y_test))),
            "error of values": float(np.mean(squares) / np.mean(np.var(values, axis=0))),
        }


class Run:
    """A machine of one split, tuned on its training rows, and small machines of it."""

    def __init__(self, X, y, X_test, y_test):
        self.X, self.y, self.X_test, self.y_test = X, y, X_test, y_test
        scale = 1 / (X.shape[1] * X.var())
        grid = {"C": GRID["C"], "gamma": [scale * factor for factor in GRID["gamma"]]}
        self.machine = GridSearchCV(SVC(), grid, cv=3).fit(X, y).best_estimator_
        self.accuracy = self.machine.score(X_test, y_test)
        self.chosen = quietly(compress, self.machine, X=X, y=y)
        self.of_size = cache(self._of_size)

    def _of_size(self, n):
        return quietly(compress, self.machine, n, X=self.X, y=self.y)

    def loss(self, small):
        return 100 * (self.accuracy - small.score(self.X_test, self.y_test))

    def predicted_loss(self):
        scores = self.chosen.left_out_scores_
        return 0.0 if scores is None else 100 * (scores[0] - scores[1])

    def by_training_rows(self):
        """The first size that is good enough on the rows that it was fitted to."""
        for n in sizes():
            small = self.of_size(n)
            if n >= len(self.machine.support_) or small.scores_[1] >= small.scores_[0] - TOLERANCE - 1e-12:
                return small


def smallest_size(runs, largest):
    """The first size from which on the mean loss is at most the tolerance, as far as `largest` or beyond."""
    smallest, previous = None, None
    for n in sizes():
        enough = np.mean([run.loss(run.of_size(n)) for run in runs]) <= 100 * TOLERANCE
        smallest = (n if smallest is None else smallest) if enough else None
        if n >= largest and smallest is not None:
            return smallest
        previous = n
        if previous >= max(len(run.machine.support_) for run in runs):
            return previous


def sizes():
    """1, 2, 3, 4, 6, 8, 11, 16, ..., as the search for a size has them."""
    return (round(2 ** (power / 2)) for power in count() if power != 1)


def split_of(name, number):
    """Training rows and labels, test rows and labels."""
    if name in ROWS:
        X, y = pixels_of(name)
        order = np.random.default_rng(number).permutation(len(X))
        n_train, n_test = ROWS[name]
        train, test = order[:n_train], order[n_train:][:n_test]
        return X[train], y[train], X[test], y[test]
    data = load_ida(name)
    is_train = data.is_train[number].astype(bool)
    scaler = StandardScaler().fit(np.asarray(data.X[is_train], dtype=float))
    X = scaler.transform(np.asarray(data.X, dtype=float))
    return X[is_train], data.y[is_train], X[~is_train], data.y[~is_train]


def pixels_of(name):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16, y
    data = load_usps()
    return np.concatenate([data.X_train, data.X_test]).astype(float), np.concatenate([data.y_train, data.y_test])


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def _typical(numbers):
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(numbers))))


def means_of(figures):
    """Mean loss, geometric mean of the excess, and the same by training rows, of some sets."""
    some = list(figures.values())
    return {
        "loss": float(np.mean([each["loss"] for each in some])),
        "excess": _typical([each["points"] / each["smallest"] for each in some]),
        "loss by training rows": float(np.mean([each["loss by training rows"] for each in some])),
        "excess by training rows": _typical([each["points by training rows"] / each["smallest"] for each in some]),
    }


def groups_of(figures):
    """Sets on which the rule was made, sets that had no part in it, and all; those that were run."""
    groups = {
        "development": {name: each for name, each in figures.items() if name in DEVELOPMENT},
        "report": {name: each for name, each in figures.items() if name not in DEVELOPMENT},
        "all": figures,
    }
    return {group: some for group, some in groups.items() if some}


def values_of(figures):
    values = {f"{name}, {figure}": value for name, each in figures.items() for figure, value in each.items()}
    for group, some in groups_of(figures).items():
        values.update({f"{group}, mean {figure}": value for figure, value in means_of(some).items()})
    return values


def report_lines(figures, curve, made_by):
    yield "# Sizes that `compress` chooses\n"
    yield made_by
    yield (
        "`compress(svc, X=X, y=y)` with the rows and labels that the machine was trained on; accuracy on test rows, "
        "mean over splits. Loss: accuracy of the machine minus that of the small one, in points, and its "
        "standard error over splits. Foretold: the loss on rows left out, which `left_out_scores_` reports. Points: "
        "geometric means. Smallest: the fewest points with a mean loss of at most 0.5 points on these very test rows. "
        "Training rows: the first size whose accuracy on the rows that it was fitted to drops by at most 0.5 "
        "points.\n"
    )
    header = ("set", "splits", "accuracy", "points before", "points", "smallest", "ratio", "loss", "foretold")
    by_training_rows = ("training rows: points", "loss")
    for group, some in groups_of(figures).items():
        if group == "all":
            continue
        yield f"## {group.capitalize()} sets\n"
        yield from table((*header, *by_training_rows), map(row_of, some.items()))
        yield ""
    yield from lines_of_usps(curve)
    yield "## Summary\n"
    for group, some in groups_of(figures).items():
        means = means_of(some)
        yield (
            f"- {group.capitalize()} sets: mean loss {means['loss']:.2f} points at {means['excess']:.2f} times the "
            f"smallest number of points. By training rows: {means['loss by training rows']:.2f} points at "
            f"{means['excess by training rows']:.2f} times."
        )
    means = means_of(figures)
    named = lambda holds: ", ".join(name for name, each in figures.items() if holds(each)) or "none"
    worse = named(lambda each: each["loss"] > 100 * TOLERANCE)
    larger = named(lambda each: each["points"] > MOST_EXCESS * each["smallest"])
    yield f"- Mean loss at most 0.5 points: {yes(means['loss'] <= 100 * TOLERANCE)}. More in: {worse}."
    yield f"- At most twice the points on average: {yes(means['excess'] <= MOST_EXCESS)}. More in: {larger}."


def lines_of_usps(curve):
    original, *small = curve
    yield "## Given sizes on USPS\n"
    yield (
        f"Ten machines, one versus rest, on all training digits: {original['test error']:.2f} % errors on 2,007 test "
        "digits. Of the decisions that a small machine changes, some were right before and some are right now. The "
        "difference of test errors is the difference of these two counts, and its standard error is the root of their "
        "sum. Squared error of values: on test digits, relative to the variance of the functions.\n"
    )
    header = ("points", "test error, %", "against the machine", "decisions changed", "right → wrong", "wrong → right")
    yield from table((*header, "squared error of values"), map(curve_row, [(original, each) for each in small]))
    steady = all(fewer["error of values"] > more["error of values"] for fewer, more in pairwise(small))
    near = all(
        abs(each["to wrong"] - each["to right"]) <= 2 * noise_of(each) for each in small if each["points"] >= 100
    )
    yield f"\nThe error of values becomes smaller with each size: {yes(steady)}."
    yield (
        f"Test errors from 100 points on are within two standard errors of the machine's: {yes(near)}. Which of these "
        "sizes has the fewest is then a matter of chance.\n"
    )


def noise_of(each):
    """The standard error of the number of decisions that became wrong minus those that became right."""
    return float(np.sqrt(each["to wrong"] + each["to right"]))


def curve_row(pair):
    original, each = pair
    noise = 100 * noise_of(each) / 2007
    return (
        f"{each['points']}",
        f"{each['test error']:.2f}",
        f"{each['test error'] - original['test error']:+.2f} ± {noise:.2f}",
        f"{each['changed']}",
        f"{each['to wrong']}",
        f"{each['to right']}",
        f"{each['error of values']:.4f}",
    )


def row_of(item):
    name, each = item
    return (
        name,
        f"{each['splits']:.0f}",
        f"{each['accuracy']:.1f}",
        f"{each['points before']:.0f}",
        f"{each['points']:.1f}",
        f"{each['smallest']:.0f}",
        f"{each['points'] / each['smallest']:.2f}",
        f"{each['loss']:.2f} ± {each['error']:.2f}",
        f"{each['predicted loss']:.2f}",
        f"{each['points by training rows']:.1f}",
        f"{each['loss by training rows']:.2f}",
    )


if __name__ == "__main__":
    main()
