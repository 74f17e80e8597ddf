"""Which classifier is how accurate on a million rows, how soon, and in how much memory?

Question: `SparseGreedyClassifier(m, gamma="relevance", alpha="loo")` against `Nystroem(m)` with `SGDClassifier`, and
`HistGradientBoostingClassifier`, on twenty columns of which five matter.

Set-up: normal columns; the class is the sign of sin(2x₀)x₁ + x₂x₃ + x₄² − 1 and noise of deviation 0.3; 100,000 further
rows for testing. Each method in a process of its own, with two threads. Rivals are tuned on 50,000 of the rows by
others of them, and the seconds of that are shown apart: Nystroem, on standardised columns, over γ and over the penalty
of SGDClassifier, which then learns from blocks of rows in five rounds, as the features of all rows take 4 GB; trees
over the learning rate and the number of leaves, with early stopping. Ours takes parameters as above.

    python benchmarks/speed/million_rows.py --record            # everything
    python benchmarks/speed/million_rows.py --rows 100000       # on fewer rows
    python benchmarks/speed/million_rows.py --only ours --landmarks 1000

Observe: seconds of the fit (ours: 60 at most), peak memory of the process (ours: 1.5 GB at most), accuracy (ours: that
of the best rival).
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _processes import environment

N_TEST, TUNING_ROWS, BLOCK, ROUNDS = 100_000, 50_000, 50_000, 5


def rows(n, seed):
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20), dtype=np.float32)
    values = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] ** 2 - 1
    return X, (values + 0.3 * rng.standard_normal(n, dtype=np.float32) > 0).astype(int)


def ours(X, y, m):
    from preimage import SparseGreedyClassifier

    return lambda: SparseGreedyClassifier(m, gamma="relevance", alpha="loo").fit(X, y)


def trees(X, y, m):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import GridSearchCV, ShuffleSplit

    model = HistGradientBoostingClassifier(max_iter=2000, early_stopping=True, n_iter_no_change=20, random_state=0)
    grid = {"learning_rate": [0.05, 0.1, 0.2], "max_leaf_nodes": [15, 31, 63]}
    search = GridSearchCV(model, grid, cv=ShuffleSplit(1, test_size=0.25, random_state=0), refit=False)
    best = search.fit(X[:TUNING_ROWS], y[:TUNING_ROWS]).best_params_
    return lambda: model.set_params(**best).fit(X, y)


def nystroem(X, y, m):
    import numpy as np
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def fitted(gamma, alpha, X, y):
        features = make_pipeline(StandardScaler(), Nystroem(gamma=gamma, n_components=m, random_state=0))
        features.fit(X[:TUNING_ROWS])
        machine, rng = SGDClassifier(loss="hinge", alpha=alpha, average=True, random_state=0), np.random.default_rng(0)
        for _ in range(ROUNDS):
            for start in rng.permutation(np.arange(0, len(X), BLOCK)):
                part = slice(start, start + BLOCK)
                machine.partial_fit(features.transform(X[part]), y[part], classes=[0, 1])
        return make_pipeline(features, machine)

    n = min(len(X), TUNING_ROWS) * 3 // 4
    score = lambda pair: fitted(*pair, X[:n], y[:n]).score(X[n:TUNING_ROWS], y[n:TUNING_ROWS])
    best = max(((gamma / 20, alpha) for gamma in (0.3, 1.0, 3.0) for alpha in (1e-6, 1e-5, 1e-4)), key=score)
    return lambda: fitted(*best, X, y)


METHODS = {"ours": ours, "nystroem": nystroem, "trees": trees}


def run(name, n, m):
    warnings.simplefilter("ignore")
    X, y = rows(n, 0)
    start = time.perf_counter()
    fit = METHODS[name](X, y, m)
    tuned, before = time.perf_counter(), time.process_time()
    model = fit()
    seconds, processor = time.perf_counter() - tuned, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    X_test, y_test = rows(N_TEST, 1)
    found = {"tuning": tuned - start, "seconds": seconds, "processor": processor, "peak": peak}
    found["accuracy"] = float(model.score(X_test, y_test))
    if hasattr(model, "relevance_"):
        found["relevance"] = [round(float(each), 3) for each in model.relevance_]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--record", action="store_true", help="keep the figures for the page on kernel machines")
    parser.add_argument("--child", choices=list(METHODS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(run(options.child, options.rows, options.landmarks)))
        return
    from _measure import describe_machine, record

    values = {}
    print(f"{describe_machine()}; {options.rows:,} rows, {options.landmarks} points, {options.threads} threads\n")
    print("| method | tuning | fit | processor | peak memory | accuracy |\n|---|---|---|---|---|---|", flush=True)
    for name in options.only:
        numbers = [f"--{each}={getattr(options, each)}" for each in ("rows", "landmarks")]
        command = [sys.executable, __file__, f"--child={name}", *numbers]
        answer = subprocess.run(
            command, env=environment(options.threads), check=True, capture_output=True, text=True
        ).stdout
        found = json.loads(answer.splitlines()[-1])
        times = " | ".join(f"{found[each]:.1f} s" for each in ("tuning", "seconds", "processor"))
        print(f"| {name} | {times} | {found['peak'] / 1e9:.2f} GB | {found['accuracy']:.4f} |", flush=True)
        values |= {f"{name}, {key}": found[key] for key in ("tuning", "seconds", "processor", "peak", "accuracy")}
        if "relevance" in found:
            print(f"relevance: {found['relevance']}", file=sys.stderr)
            values["columns without relevance"] = found["relevance"].count(0.0)
    if options.record:
        settings = {"rows": options.rows, "landmarks": options.landmarks, "threads": options.threads}
        record("million_rows", values, settings)


if __name__ == "__main__":
    main()
