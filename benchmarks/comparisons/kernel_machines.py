"""How accurate are machines on landmarks, by every loss, next to machines on all points, and what do they cost?

Set-up, tables: the IDA sets, with a number of landmarks of 15 % of the training rows. `SVC`, and `LinearSVC` on as many
points of `Nystroem`, choose γ and C by five-fold cross-validation on each split; `SparseGreedyClassifier` of each loss
chooses γ from the same list and α by left-out losses, without a refit. With --refined, others choose γ by
cross-validation too, and replace landmarks in up to four rounds, as many as help on rows that are left out. Inputs are
standardised. Errors are means over splits, on the test parts.

Set-up, digits: MNIST, pixels divided by 255, γ = 1/(d var X) for all. `SVC(C=10)`; `Nystroem` with as many points as
there are landmarks, and `LinearSVC(C=10)`; machines on cluster centres, with α = 1/(2·10), for the squared loss 0.01.

    python benchmarks/comparisons/kernel_machines.py
    OMP_NUM_THREADS=1 python benchmarks/comparisons/kernel_machines.py --sets all --splits 10 --train 0 --jobs 16
    python benchmarks/comparisons/kernel_machines.py --train 60000 --landmarks 1000 2000

The first line is a small run of about a minute. Observe: on tables all losses are about as accurate as the tuned
machine on all points, and γ and α take one pass over their candidates. On digits, machines on landmarks need a fraction
of its kernel values to predict.
"""

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
from _measure import record, timed
from _reports import minutes, option_parser, origin_and_time, progress, publish, table
from data import load_ida, load_mnist
from data._ida import IDA_NAMES

from preimage import SparseGreedyClassifier
from preimage.landmarks import KMeans

LOSSES = ("squared", "squared_hinge", "hinge", "logistic")
SHARE, ROUNDS = 0.15, 4
COSTS = np.logspace(-2, 3, 6)
FEW = ("banana", "heart", "thyroid")


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


def main():
    parser = option_parser(__doc__, "output", "record", "jobs")
    parser.add_argument("--sets", nargs="+", default=list(FEW), help=f"IDA sets, or 'all'; default: {' '.join(FEW)}")
    parser.add_argument("--splits", type=int, default=2, help="splits of each set")
    parser.add_argument("--refined", action="store_true", help="also machines whose landmarks are refined by the loss")
    parser.add_argument("--train", type=int, default=3000, help="rows of MNIST; 0 leaves it out")
    parser.add_argument("--landmarks", type=int, nargs="+", default=[300], help="landmarks on MNIST")
    options = parser.parse_args()
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
