"""How much faster is a pipeline of kernel PCA and a linear machine once both are one small machine?

Set-up: scikit-learn's digits, 1,347 to train on and 450 to score on, five random splits. Kernel PCA with 64 axes and a
Gaussian kernel of γ = 0.02 feeds a linear machine; `compress` makes 30 or 100 points of the 1,347 with the training
rows and without labels. Predictions of all 1,797 digits are timed in turn, one BLAS thread, and the fastest of the
rounds counts. Two smaller things that one could do instead are measured as well:

- "last step": only a support vector machine with a linear kernel is made small, and kernel PCA keeps its points;
- "axes": kernel PCA is made small by itself, for all of its axes, and the linear machine stays as it was.

The second part compares "folded" with "axes" where points are few against axes: 900 digits, 128 axes, LinearSVC(C=10),
agreement of labels with the original's on the other 897.

    python benchmarks/speed/compressed_pipeline.py            # all, some minutes
    python benchmarks/speed/compressed_pipeline.py --quick    # one split

Observe: 100 points predict as the original does, at a tenth of its time or less; making only the last step small hardly
saves time; few points are better spent on the folded machine than on the axes.
"""

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record
from _reports import option_parser, stamped, table

from preimage import KernelPCA, compress

N_AXES, GAMMA, SIZES, SPLITS = 64, 0.02, (30, 100), 5
FEW_AXES, FEW_SIZES = (32, 128), (15, 30, 60)
LAST_STEP = "SVC(kernel='linear'), last step, faster"
LAST = {
    "LinearSVC": lambda: [LinearSVC()],
    "StandardScaler, LinearSVC": lambda: [StandardScaler(), LinearSVC()],
    "SVC(kernel='linear')": lambda: [SVC(kernel="linear")],
    "LogisticRegression": lambda: [LogisticRegression(max_iter=1000)],
    "LinearDiscriminantAnalysis": lambda: [LinearDiscriminantAnalysis()],
    "RidgeClassifier": lambda: [RidgeClassifier()],
    "CalibratedClassifierCV(LinearSVC)": lambda: [CalibratedClassifierCV(LinearSVC(), ensemble=False)],
}


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--quick", action="store_true", help="one split, a few rounds")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    splits, rounds = (1, 3) if options.quick else (SPLITS, options.rounds)
    print(describe_machine())
    values = {**pipelines(splits, rounds), **few_points()}
    if options.record:
        record("compressed_pipeline", values, {"axes": N_AXES, "gamma": GAMMA, "splits": splits, "rounds": rounds})


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def pipelines(splits, rounds):
    X, y = digits()
    values = {}
    for name, last in LAST.items():
        rows = {size: [] for size in SIZES}
        before = []
        for seed in range(splits):
            train, test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
            model = make_pipeline(KernelPCA(N_AXES, gamma=GAMMA), *last()).fit(train, y_train)
            before.append(model.score(test, y_test))
            for size in SIZES:
                small = compress(model, size, X=train)
                agreement = np.mean(small.predict(test) == model.predict(test))
                rows[size].append((small.score(test, y_test), agreement))
        # Timed on the last split.
        models = {"before": model} | {size: compress(model, size, X=train) for size in SIZES}
        if name == "SVC(kernel='linear')":
            models["last step"] = Pipeline([model.steps[0], ("svc", compress(model[-1], 30, method="select"))])
        seconds = fastest({key: lambda m=each: m.predict(X) for key, each in models.items()}, rounds)
        print(f"{name}: {1e3 * seconds['before']:.1f} ms for {len(X):,} digits, accuracy {100 * np.mean(before):.2f} %")
        for size in SIZES:
            accuracy, agreement = np.mean(rows[size], axis=0)
            ratio, small = seconds["before"] / seconds[size], models[size]
            print(
                f"  {size} points for {small.n_original_points_:,}: {1e3 * seconds[size]:.2f} ms, {ratio:.1f} x faster "
                f"({small.work_ratio_:.1f} x fewer multiplications); accuracy {100 * accuracy:.2f} %, agreement "
                f"{100 * agreement:.2f} %"
            )
            values |= {f"{name}, {size}, faster": ratio, f"{name}, {size}, accuracy": 100 * accuracy}
            values |= {f"{name}, {size}, agreement": 100 * agreement, f"{name}, {size}, work": small.work_ratio_}
        if "last step" in models:
            alone = models["last step"][-1]
            print(
                f"  only the last step, {alone.n_points_} points for {alone.n_original_points_:,}: "
                f"{1e3 * seconds['last step']:.1f} ms, {seconds['before'] / seconds['last step']:.2f} x faster"
            )
            values[f"{name}, last step, faster"] = seconds["before"] / seconds["last step"]
        values |= {f"{name}, before, ms": 1e3 * seconds["before"], f"{name}, before, accuracy": 100 * np.mean(before)}
    return values


def few_points():
    X, y = digits()
    train, test, y_train = X[:900], X[900:], y[:900]
    values = {}
    for n_axes in FEW_AXES:
        pca = KernelPCA(n_axes, gamma=GAMMA).fit(train)
        svm = LinearSVC(C=10).fit(pca.transform(train), y_train)
        model = Pipeline([("pca", pca), ("svm", svm)])
        for size in FEW_SIZES:
            folded = compress(model, size, X=train)
            axes = Pipeline([("pca", compress(pca, size, X=train)), ("svm", svm)])
            agreement = [100 * np.mean(each.predict(test) == model.predict(test)) for each in (folded, axes)]
            print(f"{n_axes} axes, {size} points: folded {agreement[0]:.1f} %, axes {agreement[1]:.1f} % of labels")
            values |= {f"{n_axes} axes, {size}, folded": agreement[0], f"{n_axes} axes, {size}, axes": agreement[1]}
    return values


def section(contents):
    values, settings = contents["values"], contents["settings"]
    yield from stamped("## Pipelines of kernel PCA and a linear machine\n", contents)
    yield (
        f"One BLAS thread, the fastest of {settings['rounds']} rounds in which all models took turns. scikit-learn's "
        f"digits, 1,347 to train on and 450 to score on, mean of {settings['splits']} splits; kernel PCA with "
        f"{settings['axes']} axes (Gaussian, γ = {settings['gamma']}) feeds the machine; `compress` sees the training "
        "digits without labels. Times are for all 1,797 digits in one call.\n"
    )
    rows, machines = [], [name for name in LAST if f"{name}, before, ms" in values]
    for name in machines:
        before = values[f"{name}, before, ms"]
        cells = [f"{before:.1f} ms, {values[f'{name}, before, accuracy']:.2f} %"]
        for size in SIZES:
            faster, accuracy = (values[f"{name}, {size}, {what}"] for what in ("faster", "accuracy"))
            cells.append(f"{before / faster:.1f} ms, {faster:.1f} × faster, {accuracy:.2f} %")
        rows.append([f"`{name}`".replace("'", '"'), *cells])
    yield from table(["linear machine", "original", *(f"{size} points" for size in SIZES)], rows)
    spans = {}
    for size in SIZES:
        agreement = [values[f"{name}, {size}, agreement"] for name in machines]
        work = [values[f"{name}, {size}, work"] for name in machines]
        spans[size] = f"{min(agreement):.4g} to {max(agreement):.4g} %", f"{min(work):.0f} to {max(work):.0f}"
    few, more = SIZES
    yield (
        f"\nLabels agree with the original's for {spans[few][0]} of the held-out digits at {few} points, and for "
        f"{spans[more][0]} at {more}. `work_ratio_` counts {spans[few][1]} and {spans[more][1]} times fewer "
        "multiplications: times fall by less, because checks and other overheads of a call do not shrink with the "
        "points. Making only the last step of the SVC's pipeline small leaves all points of kernel PCA in place and is "
        f"{values[LAST_STEP]:.1f} times faster.\n"
    )
    yield (
        "Points spent on the folded machine or on the axes of kernel PCA: 900 digits, `LinearSVC(C=10)`, agreement "
        "with the labels that the original gives to 897 others.\n"
    )
    pairs = [(axes, size) for axes in FEW_AXES for size in FEW_SIZES]
    shown = lambda axes, size, what: f"{values[f'{axes} axes, {size}, {what}']:.1f} %"
    yield from table(
        ["axes", "points", "kernel PCA made small, linear machine kept", "both as one machine"],
        [[str(axes), str(size), shown(axes, size, "axes"), shown(axes, size, "folded")] for axes, size in pairs],
    )
    yield ""


def fastest(functions, rounds):
    """Fewest seconds of each function; every round runs all of them in turn."""
    seconds = dict.fromkeys(functions, np.inf)
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    main()
