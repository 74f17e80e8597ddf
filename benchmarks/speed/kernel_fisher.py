"""How fast are kernel Fisher discriminants: one fit, cross-validation over a grid, a million rows?

Set-up: `make_classification` with 50 features, half of them informative, Gaussian kernel.

- "grid": 5 widths × 8 ridges by 5-fold cross-validation on 5,000 rows. The naive loop forms the scatter matrices and
  calls `scipy.linalg.eigh(M, N)` for every width, ridge and fold; it is timed on a share of the candidates
  (``--naive``) and scaled up.
- "fit": 10,000 rows, one fit, against scikit-learn's SVC with its default settings but the best C of a grid, found on
  2,000 rows; both in this run, on clean labels and on noisy ones, which leave a support vector machine more vectors.
- "rows": a million rows with 500 landmarks, memory against that of the data. In a process of its own.

    python benchmarks/speed/kernel_fisher.py --record              # everything
    python benchmarks/speed/kernel_fisher.py grid --rows 1000      # some of it, smaller
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, peak_memory, record, timed
from _reports import option_parser, stamped

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV

GAMMAS = np.geomspace(0.002, 0.2, 5)
ALPHAS = np.geomspace(1e-4, 10, 8)
FLIPPED = (0.01, 0.2)


def data(n, d=50, seed=0, flipped=0.01):
    X, y = make_classification(
        n, d, n_informative=d // 2, n_redundant=0, n_clusters_per_class=4, flip_y=flipped, random_state=seed
    )
    return X / X.std(axis=0), y


def compare_grids(n, n_naive):
    X, y = data(n)
    folds = list(StratifiedKFold(5).split(X, y))
    seconds, search = timed(lambda: KernelFisherDiscriminantCV(gammas=GAMMAS, alphas=ALPHAS, cv=folds).fit(X, y))
    loo, by_loo = timed(lambda: KernelFisherDiscriminantCV(gammas=GAMMAS, alphas=ALPHAS, cv="loo").fit(X, y))
    candidates = [(gamma, alpha, fold) for gamma in GAMMAS for alpha in ALPHAS for fold in folds]
    share = candidates[:: max(1, len(candidates) // n_naive)][:n_naive]
    naive, _ = timed(lambda: [naive_score(X, y, *each) for each in share])
    naive *= len(candidates) / len(share)
    print(f"\ngrid: {n:,} × 50, {len(GAMMAS)} widths × {len(ALPHAS)} ridges, 5 folds, refit included")
    print(f"  KernelFisherDiscriminantCV {seconds:.1f} s, {search.best_params_}, accuracy {search.best_score_:.3f}")
    print(f"  cv='loo' {loo:.1f} s, {by_loo.best_params_}, accuracy {by_loo.best_score_:.3f}")
    print(f"  naive loop {naive:.0f} s (from {len(share)} of {len(candidates)} candidates)")
    print(f"  ratio {naive / seconds:.1f} and {naive / loo:.1f}")
    values = {"rows": n, "folds, seconds": seconds, "folds, accuracy": search.best_score_}
    values |= {"loo, seconds": loo, "loo, accuracy": by_loo.best_score_, "naive, seconds": naive}
    return {f"grid, {name}": value for name, value in (values | {"candidates timed": len(share)}).items()}


def naive_score(X, y, gamma, alpha, fold):
    """Scatter matrices and a generalised eigenproblem, as in a textbook."""
    train, test = fold
    K, labels = rbf_kernel(X[train], gamma=gamma), y[train]
    parts = [K[:, labels == c] for c in (0, 1)]
    means = [part.mean(axis=1) for part in parts]
    N = sum((part - mean[:, None]) @ (part - mean[:, None]).T for part, mean in zip(parts, means, strict=True))
    M = np.outer(means[1] - means[0], means[1] - means[0])
    N[np.diag_indices_from(N)] += alpha * np.trace(N) / len(N)
    direction = eigh(M, N)[1][:, -1]
    direction *= np.sign(direction @ (means[1] - means[0]))
    values = rbf_kernel(X[test], X[train], gamma=gamma) @ direction
    return np.mean((values > direction @ (means[0] + means[1]) / 2) == y[test])


def compare_fits(n, repeats, flipped):
    X, y = data(n + 2000, flipped=flipped)
    X, y, X_test, y_test = X[:n], y[:n], X[n:], y[n:]
    grid = GridSearchCV(SVC(), {"C": [0.1, 1, 10, 100]}, cv=3).fit(X[:2000], y[:2000])
    svm_seconds, svm = timed(lambda: SVC(**grid.best_params_).fit(X, y), repeats)
    print(f"\nfit: {n:,} × 50, {flipped:.0%} of the labels at random")
    values = {"SVC, seconds": svm_seconds, "SVC, accuracy": svm.score(X_test, y_test), "rows": n}
    print(f"  SVC(C={grid.best_params_['C']}) {svm_seconds:.2f} s, accuracy {svm.score(X_test, y_test):.4f}")
    for options in ({}, {"landmarks": 500}):
        model = KernelFisherDiscriminant(gamma="scale", alpha=0.1, **options)
        seconds, model = timed(lambda: model.fit(X, y), repeats)
        score = model.score(X_test, y_test)
        name = options or "on all points"
        print(f"  KFD {name} {seconds:.2f} s, accuracy {score:.4f}, ratio {svm_seconds / seconds:.1f}")
        short = "landmarks" if options else "all points"
        values |= {f"{short}, seconds": seconds, f"{short}, accuracy": score}
    return {f"fit, {flipped:g} at random, {name}": value for name, value in values.items()}


def fit_many_rows(n):
    rng = np.random.default_rng(0)
    X, y = np.empty((n, 50)), rng.integers(0, 2, size=n)
    for start in range(0, n, 10_000):
        part = slice(start, min(start + 10_000, n))
        X[part] = rng.normal(size=(part.stop - part.start, 50)) + 0.5 * y[part, None]
    before = peak_memory()
    start = time.perf_counter()
    model = KernelFisherDiscriminant(gamma=0.01, landmarks=500).fit(X, y)
    seconds = time.perf_counter() - start
    extra = peak_memory() - before
    score = model.score(X[:20_000], y[:20_000])
    print(f"\nrows: {n:,} × 50, 500 landmarks: {seconds:.1f} s, accuracy {score:.4f}")
    print(f"  peak memory above the data ({X.nbytes / 1e9:.2f} GB): {extra / 1e9:.2f} GB")
    values = {"rows": n, "seconds": seconds, "accuracy": score, "GB beyond the data": extra / 1e9}
    print(json.dumps({f"rows, {name}": value for name, value in values.items()}))


def section(contents):
    values = contents["values"]
    yield from stamped("## Kernel Fisher discriminants\n", contents)
    naive, folds, loo = (values[f"grid, {name}, seconds"] for name in ("naive", "folds", "loo"))
    yield (
        f"- Cross-validation, {values['grid, rows']:,.0f} × 50, {len(GAMMAS)} widths × {len(ALPHAS)} ridges, 5 folds, "
        f"refit included: {folds:.0f} s; by leave-one-out in closed form {loo:.0f} s. A loop with `scipy.linalg.eigh` "
        f"for every candidate and fold: {naive:,.0f} s (scaled up from {values['grid, candidates timed']:.0f} of "
        f"{len(GAMMAS) * len(ALPHAS) * 5} candidates). Ratios {naive / folds:.1f} and {naive / loo:.0f}."
    )
    for flipped in FLIPPED:
        of = lambda what, flipped=flipped: values[f"fit, {flipped:g} at random, {what}"]
        yield (
            f"- One fit, {of('rows'):,.0f} × 50, {100 * flipped:g} % of the labels at random: all points "
            f"{of('all points, seconds'):.1f} s and {100 * of('all points, accuracy'):.1f} % right, `SVC` at its best "
            f"C {of('SVC, seconds'):.1f} s and {100 * of('SVC, accuracy'):.1f} %, 500 landmarks "
            f"{of('landmarks, seconds'):.2f} s and {100 * of('landmarks, accuracy'):.1f} %."
        )
    yield (
        f"- {values['rows, rows']:,.0f} × 50 with 500 landmarks: {values['rows, seconds']:.1f} s, "
        f"{values['rows, GB beyond the data']:.2f} GB beyond the data.\n"
    )


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("parts", nargs="*", choices=["grid", "fit", "rows", "rows-here", []], help="all by default")
    parser.add_argument("--rows", type=int, help="in place of 5,000, 10,000 and 1,000,000")
    parser.add_argument("--naive", type=int, default=4, help="candidates of the naive loop that are timed")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    parts = options.parts or ["grid", "fit", "rows"]
    if "rows-here" in parts:
        fit_many_rows(options.rows or 1_000_000)
        return
    print(describe_machine())
    values = {}
    if "fit" in parts:
        for flipped in FLIPPED:
            values |= compare_fits(options.rows or 10_000, options.repeats, flipped)
    if "rows" in parts:
        command = [sys.executable, __file__, "rows-here", "--rows", str(options.rows or 1_000_000)]
        *lines, last = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        print("\n".join(lines))
        values |= json.loads(last)
    if "grid" in parts:
        values |= compare_grids(options.rows or 5000, options.naive)
    if options.record:
        record("kernel_fisher", values, {"parts": parts, "columns": 50, "repeats": options.repeats})


if __name__ == "__main__":
    main()
