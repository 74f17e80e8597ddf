"""How accurate are machines on landmarks, by every loss, next to machines on all points, and what do they cost?

Set-up, tables: the IDA sets, with a number of landmarks of 15 % of the training rows. `SVC`, and `LinearSVC` on as many
points of `Nystroem`, choose γ and C by five-fold cross-validation on each split; `SparseGreedyClassifier` of each loss
chooses γ from the same list and α by left-out losses, without a refit. With --refined, others choose γ by
cross-validation too, and replace landmarks in up to four rounds, as many as help on rows that are left out. Inputs are
standardised. Errors are means over splits, on the test parts.

Set-up, digits: MNIST, pixels divided by 255, γ = 1/(d var X) for all. `SVC(C=10)`; `Nystroem` with as many points as
there are landmarks, and `LinearSVC(C=10)`; machines on cluster centres, with α = 1/(2·10), for the squared loss 0.01.

    python benchmarks/comparisons/kernel_machines.py
    python benchmarks/comparisons/kernel_machines.py --sets all --splits 10 --train 0 --jobs 2 --record
    python benchmarks/comparisons/kernel_machines.py --train 60000 --landmarks 1000 2000
    python benchmarks/comparisons/kernel_machines.py --page --output docs/results/kernel_machines.md

The first line is a small run of about a minute. The last one makes the page from records: of this script, of
`speed/mnist_machines.py` and of `speed/million_rows.py`. Observe: on tables all losses are about as accurate as the
tuned machine on all points, and γ and α take one pass over their candidates. On digits, machines on landmarks need a
fraction of its kernel values to predict.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import RECORDS, command, record, timed
from _reports import minutes, option_parser, origin_and_time, progress, publish, table
from data import load_ida, load_mnist
from data._ida import IDA_NAMES

from preimage import SparseGreedyClassifier
from preimage.landmarks import KMeans

LOSSES = ("squared", "squared_hinge", "hinge", "logistic")
SHARE, ROUNDS = 0.15, 4
COSTS = np.logspace(-2, 3, 6)
FEW = ("banana", "heart", "thyroid")
PAGE = RECORDS.parent / "kernel_machines.md"


def gammas(X):
    return 2.0 ** np.arange(-7, 4, 2) / X.shape[1]


def tuned_machine(X, y):
    """The support vector machine on all points."""
    return search(SVC(), {"gamma": gammas(X), "C": COSTS}, X, y)


def tuned_nystroem(X, y):
    """A linear machine on as many random points as machines on landmarks have."""
    model = make_pipeline(Nystroem(n_components=n_landmarks(X), random_state=0), LinearSVC(max_iter=20_000))
    return search(model, {"nystroem__gamma": gammas(X), "linearsvc__C": COSTS}, X, y)


def search(model, grid, X, y):
    """Five-fold cross-validation of the mistakes, and a fit to all rows."""
    return GridSearchCV(model, grid, cv=StratifiedKFold(5, shuffle=True, random_state=0)).fit(X, y)


def on_landmarks(loss):
    """The machine with the smallest left-out loss over widths and penalties."""

    def fit(X, y):
        models = [SparseGreedyClassifier(n_landmarks(X), loss=loss, gamma=g, alpha="loo").fit(X, y) for g in gammas(X)]
        return min(models, key=lambda model: model.loo_errors_.min())

    return fit


def refined(loss):
    """The width by cross-validation, as rivals choose it; α by left-out losses; landmarks refined by the loss."""

    def fit(X, y):
        model = SparseGreedyClassifier(n_landmarks(X), loss=loss, alpha="loo")
        gamma = search(model, {"gamma": gammas(X)}, X, y).best_params_["gamma"]
        return model.set_params(gamma=gamma, refine=ROUNDS).fit(X, y)

    return fit


def n_landmarks(X):
    return max(2, int(SHARE * len(X)))


MACHINES = {
    "SVC": tuned_machine,
    "Nystroem": tuned_nystroem,
    **{loss: on_landmarks(loss) for loss in LOSSES},
}
REFINED = {f"{loss}, refined": refined(loss) for loss in ("hinge", "logistic")}


def errors_of_split(name, split, machines):
    """Mistakes in per cent and seconds of the fit, {machine: (mistakes, seconds)}; rows for training and landmarks."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # of LinearSVC with large costs
    data, found = load_ida(name), {}
    rows = data.is_train[split]
    scaler = StandardScaler().fit(data.X[rows])
    X, X_test = scaler.transform(data.X[rows]), scaler.transform(data.X[~rows])
    for machine, fit in machines.items():
        elapsed, model = timed(lambda fit=fit: fit(X, data.y[rows]))
        found[machine] = 100 * float(np.mean(model.predict(X_test) != data.y[~rows])), elapsed
    return found, len(X), n_landmarks(X)


def report_tables(names, n_splits, jobs, started, machines):
    tasks = [(name, split) for name in names for split in range(min(n_splits, len(load_ida(name).is_train)))]
    order = sorted(tasks, key=lambda task: -np.sum(load_ida(task[0]).is_train[0]))  # long ones first
    found = dict(
        zip(order, Parallel(n_jobs=jobs)(delayed(errors_of_split)(*task, machines) for task in order), strict=True)
    )
    progress("IDA sets", started)
    rows, values, wins = [], {}, {machine: [0, 0] for machine in machines}
    for name in names:
        parts = [found[task] for task in tasks if task[0] == name]
        errors = {machine: np.array([part[0][machine][0] for part in parts]) for machine in machines}
        for machine in machines:
            values[f"{name}, {machine}"] = errors[machine].mean()
            difference = errors[machine] - errors["SVC"]
            clear = 2 * difference.std(ddof=1) / np.sqrt(len(parts)) if len(parts) > 1 else np.inf
            wins[machine][0] += difference.mean() < -clear
            wins[machine][1] += difference.mean() > clear
        _, n, m = parts[0]
        values |= {f"{name}, rows": n, f"{name}, landmarks": m}
        rows.append([name, f"{n}", f"{m}", *[f"{values[f'{name}, {machine}']:.1f}" for machine in machines]])
    for machine in machines:
        values[f"mean, {machine}"] = np.mean([values[f"{name}, {machine}"] for name in names])
        values[f"seconds, {machine}"] = sum(part[0][machine][1] for part in found.values())
        values |= {f"clearly better, {machine}": wins[machine][0], f"clearly worse, {machine}": wins[machine][1]}
    rows.append(["**mean**", "", "", *[f"**{values[f'mean, {machine}']:.2f}**" for machine in machines]])
    rows.append(["clearly better than SVC", "", "", "", *[f"{wins[machine][0]}" for machine in list(machines)[1:]]])
    rows.append(["clearly worse", "", "", "", *[f"{wins[machine][1]}" for machine in list(machines)[1:]]])
    rows.append(["seconds of fits", "", "", *[f"{values[f'seconds, {machine}']:.0f}" for machine in machines]])
    lines = [
        f"\nMistakes in per cent on IDA sets, mean of {n_splits} splits; clearly: by more than two standard errors "
        "of the differences of splits, which share rows:\n",
        *table(["set", "rows", "landmarks", *machines], rows),
    ]
    return lines, values


def report_digits(n_train, sizes, started):
    digits = load_mnist()
    chosen = np.random.default_rng(0).permutation(len(digits.X_train))[:n_train]
    X, y = (digits.X_train[chosen] / 255).astype(np.float32), digits.y_train[chosen]
    X_test, y_test = (digits.X_test / 255).astype(np.float32), digits.y_test
    gamma = float(1 / (X.shape[1] * X.var()))
    models = {"SVC": SVC(C=10, gamma=gamma)}
    for m in sizes:
        points = Nystroem(gamma=gamma, n_components=m, random_state=0)
        models[f"Nystroem, {m}"] = make_pipeline(points, LinearSVC(C=10))
        for loss in LOSSES:
            alpha = 0.01 if loss == "squared" else 1 / 20
            models[f"{loss}, {m}"] = SparseGreedyClassifier(KMeans(m), loss=loss, gamma=gamma, alpha=alpha)
    rows = []
    for name, model in models.items():
        fit, _ = timed(lambda model=model: model.fit(X, y))
        predict, found = timed(lambda model=model: model.predict(X_test))
        points = len(model.support_) if name == "SVC" else int(name.split(", ")[1])
        rows.append([name, f"{points}", f"{100 * np.mean(found != y_test):.2f}", f"{fit:.1f}", f"{predict:.2f}"])
        progress(" | ".join(rows[-1]), started)
    yield f"\nMNIST, {len(X):,} rows of {X.shape[1]} for training, {len(X_test):,} for testing:\n"
    yield from table(["machine", "points", "mistakes, %", "fit, s", "predict, s"], rows)


def recorded(name):
    """What a run recorded, or None."""
    path = RECORDS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def stamp(contents):
    return f"`{contents['command']}`; {contents['machine']}; {contents['duration']}.\n"


def page_lines():
    yield "# Kernel machines on landmarks\n"
    yield (
        "Support vector machines and their relatives on few points, next to those on all points: how accurate are "
        "they, "
        f"and what do they cost? Made from records by `{command()}`.\n"
    )
    written = PAGE.read_text(encoding="utf-8")
    yield from tables_section(recorded("kernel_machines"))
    cpu, cuda, million = (recorded(name) for name in ("mnist_machines_cpu", "mnist_machines_cuda", "million_rows"))
    is_whole = all(any(key.endswith("peak") for key in each["values"]) for each in (cpu, cuda))
    yield from digits_section(cpu, cuda) if is_whole else kept(written, "## Digits on two threads", "## A million rows")
    yield from million_section(million) if million else kept(written, "## A million rows")


def kept(page, first, end=None):
    """A part of the page as it was written, where a record lacks what is in it."""
    part = page[page.index(first) :]
    return [(part[: part.index(end)] if end else part.rstrip("\n") + "\n")[:-1]]


def tables_section(contents):
    values, n_splits = contents["values"], contents["settings"]["splits"]
    names = [key.removesuffix(", rows") for key in values if key.endswith(", rows")]
    machines = list(MACHINES)
    shown = lambda what, form: [form.format(values[f"{what}, {machine}"]) for machine in machines]
    count = lambda what: ["", *(f"{values[f'{what}, {machine}']:.0f}" for machine in machines[1:])]
    yield "## Tables\n"
    yield stamp(contents)
    yield (
        f"Mistakes in per cent on the thirteen IDA sets, means of {n_splits} splits. `SVC`, and `LinearSVC` on as many "
        "random points (`Nystroem`) as there are landmarks, choose γ and C by five-fold cross-validation on each "
        "split, "
        "36 pairs. `SparseGreedyClassifier` of each loss, on 15 % of the rows, chooses γ from the same list and α by "
        "left-out losses, without a refit. Clearly means by more than two standard errors of the differences of "
        "splits, "
        "which share rows.\n"
    )
    rows = [
        [name, f"{values[f'{name}, rows']:.0f}", f"{values[f'{name}, landmarks']:.0f}", *shown(name, "{:.1f}")]
        for name in names
    ]
    rows.append(["**mean**", "", "", *shown("mean", "**{:.2f}**")])
    rows.append(["clearly better than SVC", "", "", *count("clearly better")])
    rows.append(["clearly worse", "", "", *count("clearly worse")])
    rows.append(["seconds of fits", "", "", *shown("seconds", "{:.0f}")])
    yield from table(["set", "rows", "landmarks", *machines], rows)
    mean = lambda machine: values[f"mean, {machine}"]
    yield (
        f"\n- Means: `SVC` {mean('SVC'):.2f}, Nystroem {mean('Nystroem'):.2f}; on landmarks "
        + ", ".join(f"{loss} {mean(loss):.2f}" for loss in LOSSES)
        + "."
    )
    difference = lambda name, loss: values[f"{name}, {loss}"] - values[f"{name}, SVC"]
    for loss in ("hinge", "logistic"):
        order = sorted(names, key=lambda name, loss=loss: difference(name, loss))
        told = lambda some, loss=loss: ", ".join(f"{name} {difference(name, loss):+.1f}" for name in some)
        yield f"- {loss} less `SVC`: best on {told(order[:3])}; worst on {told(order[:-4:-1])}."
    yield (
        "- Where landmarks lose: on image segments, left-out losses choose wide kernels with tiny penalties, and "
        "random "
        "points with cross-validated ones are better. On splice, so few rows of sixty columns span too little; "
        "`refine=` "
        "helps there (`--refined`)."
    )
    shares = [values[f"seconds, {loss}"] / values["seconds, SVC"] for loss in LOSSES]
    yield (
        f"- Choosing γ and α takes machines on landmarks {min(shares):.2f} to {max(shares):.2f} of the time of the "
        "grid "
        "search of `SVC`.\n"
    )


def digits_section(cpu, cuda):
    values, threads = cpu["values"], cpu["settings"]["threads"]
    sizes = [key.split(",")[0] for key in values if key.endswith("threads, fit")]
    gigabytes = lambda values, key: f"{values[key] / 1e9:.2f}" if key in values else ""
    yield "## Digits on two threads\n"
    yield stamp(cpu)
    yield (
        "60,000 digits for training, 10,000 for testing, γ = 1/(d var X) and C = 10 for both, squared hinge, float32, "
        "k-means landmarks. `SVC` has one thread.\n"
    )
    header = ["machine", "points", "mistakes, %", "fit, s", "of `SVC`", "predict, s", "of `SVC`", "peak, GB"]
    rows = []
    for name in ("SVC", *(f"{m}, {threads} threads" for m in sizes)):
        points = values["SVC, points"] if name == "SVC" else int(name.split(",")[0])
        fit, predict = values[f"{name}, fit"], values[f"{name}, predict"]
        rows.append(
            [
                "`SVC`" if name == "SVC" else f"{points:,} landmarks",
                f"{points:,.0f}",
                f"{values[f'{name}, errors']:.2f}",
                f"{fit:.1f}",
                f"{fit / values['SVC, fit']:.3f}",
                f"{predict:.2f}",
                f"{predict / values['SVC, predict']:.3f}",
                gigabytes(values, f"{name}, peak"),
            ]
        )
    yield from table(header, rows)
    yield (
        "\nMachines on landmarks keep the coordinates of all rows, and one matrix of all pairs of landmarks per "
        "class.\n"
    )
    values = cuda["values"]
    yield "## Digits on a GPU\n"
    yield stamp(cuda)
    yield (
        f"The same on torch tensors, on an {cuda['settings']['device']}, after a fit of 3,000 rows that loads the "
        "code of "
        "the device. Seconds contain the choice of landmarks and all copies.\n"
    )
    rows = [
        [
            f"{int(m):,}",
            f"{values[f'{m}, cuda, errors']:.2f}",
            f"{values[f'{m}, cuda, fit']:.1f}",
            f"{values[f'{m}, cuda, predict']:.3f}",
            gigabytes(values, f"{m}, cuda, peak"),
        ]
        for m in (key.split(",")[0] for key in values if key.endswith("cuda, fit"))
    ]
    yield from table(["landmarks", "mistakes, %", "fit, s", "predict, s", "peak of the device, GB"], rows)
    yield ""


def million_section(contents):
    values, settings = contents["values"], contents["settings"]
    names = {
        "ours": f'`SparseGreedyClassifier({settings["landmarks"]}, gamma="relevance", alpha="loo")`',
        "nystroem": f"`Nystroem({settings['landmarks']})` and `SGDClassifier`",
        "trees": "`HistGradientBoostingClassifier`",
    }
    yield "## A million rows\n"
    yield stamp(contents)
    yield (
        f"{settings['rows']:,} rows of twenty columns, five of which decide the class, by an interaction, a product "
        "and "
        f"a square, with noise; {100_000:,} further rows for testing. Each method in a process of its own on "
        f"{settings['threads']} threads. Rivals are tuned on 50,000 rows; ours takes parameters as they come, and the "
        "squared loss. The largest accuracy that the noise allows is not known.\n"
    )
    rows = [
        [
            shown,
            "" if name == "ours" else f"{values[f'{name}, tuning']:.1f}",
            f"{values[f'{name}, seconds']:.1f}",
            f"{values[f'{name}, peak'] / 1e9:.2f}",
            f"{values[f'{name}, accuracy']:.3f}",
        ]
        for name, shown in names.items()
    ]
    yield from table(["method", "tuning, s", "fit, s", "peak, GB", "accuracy"], rows)
    best = max(names, key=lambda name: values[f"{name}, accuracy"])
    yield (
        f"\n{values['columns without relevance']:.0f} columns have the relevance zero; fifteen do not matter. The "
        "highest "
        f"accuracy is that of {names[best]}."
    )


def main():
    parser = option_parser(__doc__, "output", "record", "jobs")
    parser.add_argument("--sets", nargs="+", default=list(FEW), help=f"IDA sets, or 'all'; default: {' '.join(FEW)}")
    parser.add_argument("--splits", type=int, default=2, help="splits of each set")
    parser.add_argument("--refined", action="store_true", help="also machines whose landmarks are refined by the loss")
    parser.add_argument("--train", type=int, default=3000, help="rows of MNIST; 0 leaves it out")
    parser.add_argument("--landmarks", type=int, nargs="+", default=[300], help="landmarks on MNIST")
    parser.add_argument("--page", action="store_true", help="write the page from the records, and measure nothing")
    options = parser.parse_args()
    if options.page:
        return publish(page_lines(), options.output)
    started = time.perf_counter()
    names = IDA_NAMES if options.sets == ["all"] else options.sets
    machines = MACHINES | (REFINED if options.refined else {})
    lines, values = report_tables(names, options.splits, options.jobs, started, machines)
    if options.train:
        lines += report_digits(options.train, options.landmarks, started)
    if options.record:
        record("kernel_machines", values, {"splits": options.splits, "share": SHARE, "sets": len(names)})
    publish([*origin_and_time(minutes(time.perf_counter() - started)), *lines], options.output)


if __name__ == "__main__":
    main()
