"""What do the other choices of the paper on sparse greedy approximation do: spaces, orders, features, linear programs?

Question: A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning", ICML 2000, offer three
rules and two spaces, rearrange the chosen points afterwards, and apply the subsets to linear programs; sparse kernel
feature analysis is their relative with coefficients of norm one. How do they compare?

Set-up: 1,000 rows of Abalone, standardised, exp(−‖x − x′‖²/(2σ²)) with 2σ² = 0.5d, 59 candidates per step, one landmark
at a time. Digits in two halves for features. Linear programs on landmarks against HiGHS (SciPy's `linprog`) on the same
numbers, in turn; machines against support vector machines with the same width, C of each chosen on a quarter of the
training rows.

What to observe: for given columns, T of column space leaves a tenth to a third less in the Frobenius norm; chosen by
gains in function space, columns leave the smaller trace, and mostly the smaller Frobenius norm as well; rearranging
random points lowers the trace of the first few; features of norm one do the work of those of kernel PCA with k kernel
values instead of n; linear programs need a fraction of the functions of a support vector machine.

Run: python benchmarks/papers/greedy_spaces.py --output docs/results/greedy_spaces.md
"""

import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

sys.path.insert(0, str(Path(__file__).parents[1]))
from _reports import minutes, option_parser, origin_and_time, publish, table
from data import load_abalone, load_ida

from preimage import (
    KernelPCA,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    SparseKernelFeatureAnalysis,
)
from preimage._models.regression import solve_l1_program
from preimage.kernels import Gaussian
from preimage.landmarks import FeatureAnalysis, SparseGreedy, Uniform, landmark_coefficients

COLUMNS = (20, 50, 100)
RULES = {
    "function space, gain (31)": lambda m, seed: SparseGreedy(m, block_size=1, random_state=seed),
    "column space, gain (27)": lambda m, seed: SparseGreedy(m, block_size=1, space="column", random_state=seed),
    "longest column (32)": lambda m, seed: SparseGreedy(m, block_size=1, rule="column", random_state=seed),
    "feature analysis": lambda m, seed: FeatureAnalysis(m, random_state=seed),
    "random rows": lambda m, seed: Uniform(m, random_state=seed),
}
STEPS = (5, 10, 20, 40, 80)
FEATURES = (10, 30, 100)
COSTS = (0.1, 1.0, 10.0, 100.0)


def main():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    started = time.perf_counter()
    parts = [spaces(options.seeds), orders(options.seeds), features(options.seeds), programs(), machines(options.seeds)]
    head = ["# Spaces, orders, features and linear programs of sparse greedy approximation\n"]
    head += origin_and_time(minutes(time.perf_counter() - started))
    body = [line for part in parts for line in (*part, "")]
    publish(head + body[:-1], options.output)


def abalone(n=1000):
    data = load_abalone()
    rows = np.random.default_rng(0).permutation(len(data.y))
    X, y = data.X[rows].astype(float), data.y[rows].astype(float)
    return (X - X[:n].mean(axis=0)) / X[:n].std(axis=0), y


def spaces(seeds):
    X, kernel = abalone()[0][:1000], Gaussian(1 / (0.5 * 10))
    K = kernel(X)
    rows = []
    for name, make in RULES.items():
        cells = []
        for m in COLUMNS:
            found = []
            for seed in seeds:
                points = make(m, seed).select(kernel, X).points
                C = kernel(X, points)
                left = [K - C @ landmark_coefficients(kernel, points, X, space) for space in ("function", "column")]
                found.append([np.trace(left[0]) / len(K), *(np.linalg.norm(R) / np.linalg.norm(K) for R in left)])
            cells.append("{:.4f} / {:.4f} / {:.4f}".format(*np.mean(found, axis=0)))
        rows.append([name, *cells])
    return [
        "## Rules and spaces",
        "",
        "Means over seeds of what is left: the trace (function space) / the Frobenius norm with T = W⁻¹Cᵀ / the same "
        "with T = C⁺K, all relative to K.",
        "",
        *table(["rule", *[f"{m} columns" for m in COLUMNS]], rows),
    ]


def orders(seeds):
    X, kernel = abalone()[0][:1000], Gaussian(1 / (0.5 * 10))
    rows = []
    for kappa in (1, 5, 59):
        for rearrange in (False, True):
            paths = [
                SparseGreedy(100, n_candidates=kappa, block_size=1, rearrange=rearrange, random_state=seed)
                .select(kernel, X)
                .residuals_path
                for seed in seeds
            ]
            mean = np.mean(paths, axis=0) / len(X)
            name = f"{kappa} candidate{'s' * (kappa > 1)}" + (", rearranged" if rearrange else "")
            rows.append([name, *[f"{mean[step - 1]:.4f}" for step in (*STEPS, 100)]])
    return [
        "## Rearranging",
        "",
        "Trace left by the first p of 100 columns, in the order of their choice and rearranged.",
        "",
        *table(["", *[f"p = {p}" for p in (*STEPS, 100)]], rows),
    ]


def features(seeds):
    X, y = load_digits(return_X_y=True)
    X = X / 16
    makers = {
        "kernel PCA": lambda k: KernelPCA(k, gamma=0.05),
        "feature analysis, l1": lambda k: SparseKernelFeatureAnalysis(k, gamma=0.05),
        "feature analysis, l2": lambda k: SparseKernelFeatureAnalysis(k, gamma=0.05, norm="l2"),
        "feature analysis, kurtosis": lambda k: SparseKernelFeatureAnalysis(k, gamma=0.05, criterion="kurtosis"),
    }
    rows = []
    for name, make in makers.items():
        cells = []
        for k in FEATURES:
            errors, seconds, needed = [], [], 0
            for seed in seeds:
                X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
                begun = time.process_time()
                map_ = make(k).fit(X_train)
                seconds.append(time.process_time() - begun)
                needed = len(map_.subspace_.frame.points)
                model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
                model.fit(map_.transform(X_train), y_train)
                errors.append(1 - model.score(map_.transform(X_test), y_test))
            cells.append(f"{100 * np.mean(errors):.1f} % / {needed} / {np.mean(seconds):.2f} s")
        rows.append([name, *cells])
    return [
        "## Features",
        "",
        "Digits in two halves, γ = 0.05: test error of logistic regression on k features / kernel values per query / "
        "CPU seconds of the fit.",
        "",
        *table(["", *[f"k = {k}" for k in FEATURES]], rows),
    ]


def general_solver(K, signs, C):
    """The dual program, which is smaller, for HiGHS."""
    A = (K * signs[:, None]).T
    found = linprog(
        -np.ones(len(K)),
        A_ub=np.concatenate([A, -A]),
        b_ub=np.ones(2 * len(A)),
        A_eq=signs[None],
        b_eq=[0],
        bounds=(0, C),
        method="highs-ds",
    )
    return -found.fun


def programs():
    X, y = load_digits(return_X_y=True)
    X, signs = X / 16, np.where(y % 2, 1.0, -1.0)
    rows = []
    for n, m in ((600, 100), (1797, 100), (1797, 300)):
        K = Gaussian(0.05)(X[:n], SparseGreedy(m).select(Gaussian(0.05), X[:n]).points)
        lower, upper = np.where(signs[:n] > 0, 1.0, -np.inf), np.where(signs[:n] < 0, -1.0, np.inf)
        for C in (1.0, 100.0):
            times = {"ours": [], "HiGHS": []}
            for _ in range(2):
                begun = time.process_time()
                ours = solve_l1_program(K, lower, upper, np.full(n, C))
                times["ours"].append(time.process_time() - begun)
                begun = time.process_time()
                theirs = general_solver(K, signs[:n], C)
                times["HiGHS"].append(time.process_time() - begun)
            seconds = {name: min(found) for name, found in times.items()}
            rows.append(
                [
                    f"{n} × {m}, C = {C:g}",
                    f"{seconds['ours']:.2f} s",
                    f"{seconds['HiGHS']:.2f} s",
                    f"{seconds['HiGHS'] / seconds['ours']:.1f}",
                    f"{ours.objective / theirs - 1:.1e}",
                    str(np.count_nonzero(ours.coefficients)),
                ]
            )
    return [
        "## Solvers of the program",
        "",
        "Even and odd digits on m landmarks; CPU seconds, the smaller of two runs in turn.",
        "",
        *table(["program", "ours", "HiGHS", "ratio", "relative difference of objectives", "functions used"], rows),
    ]


def best_of(makers, X, y, seed):
    """The model whose score on a quarter of the rows is the highest, fitted on all of them."""
    X_fit, X_judge, y_fit, y_judge = train_test_split(X, y, test_size=0.25, random_state=seed)
    scores = [make().fit(X_fit, y_fit).score(X_judge, y_judge) for make in makers]
    return makers[int(np.argmax(scores))]().fit(X, y)


def machines(seeds):
    rows = []
    for name in ("banana", "waveform", "twonorm", "abalone"):
        found = []
        for seed in seeds:
            if name == "abalone":
                X, y = abalone()
                train, test = np.split(np.random.default_rng(seed).permutation(len(y))[:2000], [1000])
                X_train, y_train, X_test, y_test = X[train], y[train] / 3, X[test], y[test] / 3
                kinds = (LinearProgrammingRegressor, SVR)
            else:
                data = load_ida(name)
                train = data.is_train[seed]
                X_train, y_train, X_test, y_test = data.X[train], data.y[train], data.X[~train], data.y[~train]
                kinds = (LinearProgrammingClassifier, SVC)
            gamma = 1 / np.median(np.sum((X_train[:200, None] - X_train[None, :200]) ** 2, axis=2))
            programs = [lambda C=C: kinds[0](100, gamma=gamma, C=C) for C in COSTS]
            others = [lambda C=C: kinds[1](gamma=gamma, C=C) for C in COSTS]
            models = [best_of(makers, X_train, y_train, seed) for makers in (programs, others)]
            grown = kinds[0](100, gamma=gamma, C=models[0].C, max_gap=0.01).fit(X_train, y_train)
            scores = [model.score(X_test, y_test) for model in (*models, grown)]
            found.append([*scores, *(len(model.support_) for model in (*models, grown)), grown.gap_[0]])
        mean = np.mean(found, axis=0)
        rows.append(
            [
                name,
                f"{mean[0]:.3f} / {mean[3]:.0f}",
                f"{mean[2]:.3f} / {mean[5]:.0f}",
                f"{mean[1]:.3f} / {mean[4]:.0f}",
            ]
        )
    return [
        "## Machines",
        "",
        "Score on test rows (accuracy; R² for Abalone) / functions used; widths by the median of distances, C chosen "
        "on a quarter of the training rows.",
        "",
        *table(["data", "program on 100 landmarks", "max_gap=0.01", "support vector machine"], rows),
    ]


if __name__ == "__main__":
    main()
