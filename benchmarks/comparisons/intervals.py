"""Do intervals of regressors on landmarks contain what they say, and are their standard deviations those of a process?

Question: the fraction of new targets in 90 % intervals of `SparseGreedyRegressor.predict_interval`, how long these are,
how far standard deviations of `predict` are from those of scikit-learn's Gaussian process with the same kernel and
noise, and the fraction of targets below quantiles fitted by loss="quantile".

Set-up: made data with normal, heavy-tailed, skewed and varying noise, Friedman's function of ten columns, abalone and
Boston housing; random rows to fit, the others new; columns standardised. Landmarks are 200 rows or all where there are
fewer, the width is the one of five with the smallest left-out error, and α is chosen by "loo". Quantiles of left-out
residuals were preferred to those of a normal distribution, and to quantiles of absolute residuals, by other random
rows (`--first 1000`) than those of the page. Rivals: `GaussianProcessRegressor` with amplitude, width and noise by its
marginal likelihood, on at most 1,000 of the rows; two machines with loss="quantile"; two
`HistGradientBoostingRegressor(loss="quantile")`, with leaves and a number of trees that a fifth of the rows chooses.

    python benchmarks/comparisons/intervals.py --record --output docs/results/intervals.md

Observe: coverage between 87 and 93 % on all sets, on average over rows; where noise varies, not in each part of them.
Interval scores (length, and 20 times the distance of targets outside) say which intervals are better at any coverage.
"""

import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import norm
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import mean_pinball_loss

sys.path[:0] = [str(Path(__file__).parents[1])]
from _measure import record
from _reports import option_parser, origin, progress, publish, table
from data import load_abalone, load_boston

from preimage import SparseGreedyRegressor
from preimage.landmarks import SparseGreedy

COVERAGE = 0.9
LANDMARKS, MOST_OF_PROCESS = 200, 1000
WIDTHS = 4.0 ** np.arange(-2, 3)
QUANTILES = (0.05, 0.1, 0.5, 0.9, 0.95)
LEAVES, MOST_TREES = (10, 40), 200
OURS, NORMAL, ABSOLUTE = "intervals", "normal", "absolute"
PROCESS, MACHINES, TREES = "process", "quantile machines", "quantile trees"
NAMES = {
    OURS: "`predict_interval`",
    NORMAL: "± 1.64 deviations",
    ABSOLUTE: "quantiles of absolute residuals",
    PROCESS: "`GaussianProcessRegressor`",
    MACHINES: 'two machines, loss="quantile"',
    TREES: "boosted trees, two quantiles",
}


def curve(noise):
    def rows(rng, n):
        x = rng.uniform(0, 10, size=n)
        return x[:, None], np.sin(x) + noise(rng, x)

    return rows


def friedman(rng, n):
    return make_friedman1(n, noise=1.0, random_state=int(rng.integers(2**31)))


def loaded(load):
    def rows(rng, n):
        table = load()
        X, y = table.X, table.y
        order = rng.permutation(len(X))[:n]
        return np.asarray(X, dtype=float)[order], np.asarray(y, dtype=float)[order]

    return rows


# Rows to fit, and all rows.
SETS = {
    "sin, normal noise": (500, 2500, curve(lambda rng, x: 0.3 * rng.normal(size=x.size))),
    "sin, heavy tails": (500, 2500, curve(lambda rng, x: 0.3 * rng.standard_t(3, size=x.size))),
    "sin, skewed noise": (500, 2500, curve(lambda rng, x: 0.5 * rng.exponential(size=x.size))),
    "sin, varying noise": (500, 2500, curve(lambda rng, x: (0.05 + 0.1 * x) * rng.normal(size=x.size))),
    "friedman": (1000, 3000, friedman),
    "abalone": (2000, 4177, loaded(load_abalone)),
    "boston": (337, 506, loaded(load_boston)),
}
VARYING = "sin, varying noise"


def main():
    parser = option_parser(__doc__, "record", "output")
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # of the process, at bounds of its parameters
    started, found = time.perf_counter(), {}
    for name in options.sets:
        draws = [one_draw(name, seed) for seed in range(options.first, options.first + options.draws)]
        found[name] = {key: np.array([draw[key] for draw in draws]) for key in draws[0]}
        progress(name, started)
    deviations = {name: deviation_errors(name, options.first) for name in options.sets}
    publish(report_lines(found, deviations, options), options.output)
    if options.record:
        values = {f"{name}, {key}": each.mean() for name, of_set in found.items() for key, each in of_set.items()}
        values |= {f"{name}, deviations": error for name, error in deviations.items()}
        record("intervals", values, {"draws": options.draws, "first": options.first, "landmarks": LANDMARKS})


def drawn(name, seed):
    """Rows to fit and new ones, of standardised columns."""
    n_fitted, n, make = SETS[name]
    X, y = make(np.random.default_rng(seed), n)
    mean, scale = X[:n_fitted].mean(axis=0), X[:n_fitted].std(axis=0)
    X = (X - mean) / np.where(scale > 0, scale, 1)
    return X[:n_fitted], y[:n_fitted], X[n_fitted:], y[n_fitted:]


def one_draw(name, seed):
    X, y, Z, t = drawn(name, seed)
    start = time.process_time()
    model = fitted(X, y)
    seconds = {OURS: time.process_time() - start}
    values, deviations = model.predict(Z, return_std=True)
    whole = np.sqrt(deviations**2 + model.noise_variance_)
    left_out = np.abs(model._predictive.quantiles[:, 0])
    half = {NORMAL: norm.ppf((1 + COVERAGE) / 2), ABSOLUTE: np.quantile(left_out, COVERAGE)}
    intervals = {OURS: model.predict_interval(Z, COVERAGE).T}
    intervals |= {key: np.stack([values - z * whole, values + z * whole]) for key, z in half.items()}
    machines, seconds[MACHINES] = quantile_machines(model, X, y)
    intervals[MACHINES] = np.sort([machines[q].predict(Z) for q in (0.05, 0.95)], axis=0)
    for key, rival in ((PROCESS, process_interval), (TREES, tree_interval)):
        start = time.process_time()
        intervals[key] = rival(X, y, Z)
        seconds[key] = time.process_time() - start
    result = {"R2": 1 - np.mean((t - values) ** 2) / np.var(t)}
    for key, (low, high) in intervals.items():
        inside = (low <= t) & (t <= high)
        outside = np.maximum(low - t, 0) + np.maximum(t - high, 0)
        result[f"{key}, coverage"] = inside.mean()
        result[f"{key}, score"] = np.mean(high - low + 2 / (1 - COVERAGE) * outside)
        if name == VARYING:
            thirds = np.array_split(np.argsort(Z[:, 0]), 3)
            result |= {f"{key}, coverage of third {i}": inside[part].mean() for i, part in enumerate(thirds)}
    result |= {f"{key}, seconds": each for key, each in seconds.items()}
    for q, machine in machines.items():
        errors, on_curve = y - machine.predict(X), 1e-4 * y.std()
        result[f"quantile {q}, below"] = np.mean(errors < -on_curve)
        result[f"quantile {q}, below or on"] = np.mean(errors <= on_curve)
        result[f"quantile {q}, new rows"] = np.mean(t <= machine.predict(Z))
    return result


def fitted(X, y):
    """The machine whose width has the smallest left-out error."""
    widths = WIDTHS / (2 * X.shape[1])
    models = [SparseGreedyRegressor(min(LANDMARKS, len(X)), gamma=g, alpha="loo").fit(X, y) for g in widths]
    return min(models, key=lambda model: model.loo_errors_.min())


def quantile_machines(model, X, y):
    """Machines by the quantile loss with the width that least squares prefer, and seconds of the two of an interval."""
    machines, seconds = {}, 0.0
    for q in QUANTILES:
        start = time.process_time()
        machine = SparseGreedyRegressor(
            min(LANDMARKS, len(X)), loss="quantile", quantile=q, gamma=model.gamma, alpha="loo"
        )
        machines[q] = machine.fit(X, y)
        seconds += (time.process_time() - start) * (q in (0.05, 0.95))
    return machines, seconds


def process_interval(X, y, Z):
    X, y = X[:MOST_OF_PROCESS], y[:MOST_OF_PROCESS]
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(1.0, (1e-2, 1e3)) + WhiteKernel(0.5, (1e-4, 1e2))
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    values, deviations = process.predict(Z, return_std=True)  # with the white noise
    z = norm.ppf((1 + COVERAGE) / 2)
    return np.stack([values - z * deviations, values + z * deviations])


def tree_interval(X, y, Z):
    return np.sort([tuned_trees(X, y, q).predict(Z) for q in ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)], axis=0)


def tuned_trees(X, y, q):
    """The size of leaves and the number of trees with the smallest loss on a fifth of the rows, then fitted to all."""
    part = len(X) - len(X) // 5
    tried = []
    for leaf in LEAVES:
        trees = HistGradientBoostingRegressor(
            loss="quantile", quantile=q, max_iter=MOST_TREES, min_samples_leaf=leaf, random_state=0
        ).fit(X[:part], y[:part])
        losses = [mean_pinball_loss(y[part:], found, alpha=q) for found in trees.staged_predict(X[part:])]
        tried.append((min(losses), leaf, int(np.argmin(losses)) + 1))
    _, leaf, count = min(tried)
    return HistGradientBoostingRegressor(
        loss="quantile", quantile=q, max_iter=count, min_samples_leaf=leaf, random_state=0
    ).fit(X, y)


def deviation_errors(name, seed):
    """Largest relative difference from the process with the same kernel and noise, all of 200 rows as landmarks."""
    X, y, Z, _ = drawn(name, seed)
    X, y = X[:200], y[:200]
    chosen = fitted(X, y)
    model = SparseGreedyRegressor(
        SparseGreedy(None, tol=1e-14), gamma=chosen.gamma, alpha=chosen.alpha_, fit_intercept=False
    ).fit(X, y)
    noise = float(model.noise_variance_[0])
    kernel = ConstantKernel(noise / chosen.alpha_, "fixed") * RBF((2 * chosen.gamma) ** -0.5, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=noise).fit(X, y)
    expected, found = (each.predict(Z, return_std=True)[1] for each in (process, model))
    return float(np.max(np.abs(found / expected - 1)))


def report_lines(found, deviations, options):
    draws = options.draws
    yield "# Intervals for predictions\n"
    yield origin()
    yield (
        f"90 % intervals of new targets, means over {draws} random choices of the rows that are fitted; the set-up is "
        "at the head of the script. How to ask for intervals: [train a machine on many rows]"
        "(../guides/train_many_rows.md#intervals-and-standard-deviations).\n"
    )
    yield "## Coverage\n"
    yield "Per cent of new targets inside; 87 to 93 were wanted.\n"
    shown = [OURS, NORMAL, PROCESS, MACHINES, TREES]
    rows = lambda cell: [[name, *[cell(of_set, key) for key in shown]] for name, of_set in found.items()]
    header = ["data", *[NAMES[key] for key in shown]]
    yield from table(header, rows(lambda of_set, key: f"{100 * of_set[f'{key}, coverage'].mean():.1f}"))
    largest = max(of_set[f"{OURS}, coverage"].std() for of_set in found.values())
    yield (
        f"\nFitted rows differ from draw to draw: coverages of `predict_interval` have standard deviations of up to "
        f"{100 * largest:.1f} points over draws.\n"
    )
    yield "## Length\n"
    yield (
        "Interval scores relative to those of `predict_interval`: lengths plus 20 times the distance of what is "
        "outside. Above one is worse than ours, below is better. The process has all rows (of abalone, half of them) "
        f"as points, and machines have {LANDMARKS}, which are few for Friedman's ten columns.\n"
    )
    relative = lambda of_set, key: (of_set[f"{key}, score"] / of_set[f"{OURS}, score"]).mean()
    shown = [NORMAL, ABSOLUTE, PROCESS, MACHINES, TREES]
    header = ["data", "R²", *[NAMES[key] for key in shown]]
    yield from table(
        header,
        [
            [name, f"{of_set['R2'].mean():.2f}", *[f"{relative(of_set, key):.3f}" for key in shown]]
            for name, of_set in found.items()
        ],
    )
    if VARYING in found:
        yield "\n## Where noise varies\n"
        yield (
            "Per cent of new targets inside, by thirds of x from small to large noise. Intervals that know of one "
            "noise alone are right on average: too long for the first third and too short for the last. Quantiles "
            "follow.\n"
        )
        of_set = found[VARYING]
        shown = [OURS, PROCESS, MACHINES, TREES]
        yield from table(
            ["third", *[NAMES[key] for key in shown]],
            [
                [str(i + 1), *[f"{100 * of_set[f'{key}, coverage of third {i}'].mean():.1f}" for key in shown]]
                for i in range(3)
            ],
        )
    yield "\n## Standard deviations\n"
    yield (
        "Largest relative difference of `predict(return_std=True)` on new rows from scikit-learn's "
        "`GaussianProcessRegressor` with the same kernel and noise, where all of 200 rows are landmarks.\n"
    )
    yield from table(["data", "largest difference"], [[name, f"{error:.1e}"] for name, error in deviations.items()])
    yield "\n## Fraction of targets below a quantile\n"
    yield (
        'Machines with loss="quantile" and alpha="loo": per cent of the targets of fitted rows below the curve, and '
        "below or on it → of new rows below it. The minimum promises that the quantile lies between the first two; "
        "curves that pass through many targets (Friedman, Boston) say less of new rows.\n"
    )
    per_cent = lambda of_set, q, which: f"{100 * of_set[f'quantile {q}, {which}'].mean():.1f}"
    cells = lambda of_set, q: [per_cent(of_set, q, which) for which in ("below", "below or on", "new rows")]
    yield from table(
        ["data", *[f"{100 * q:g}" for q in QUANTILES]],
        [[name, *["{} to {} → {}".format(*cells(of_set, q)) for q in QUANTILES]] for name, of_set in found.items()],
    )
    yield "\n## Time\n"
    yield (
        "Processor seconds of a fit with the choice of five widths (ours), of the marginal likelihood, or of two "
        "quantiles.\n"
    )
    shown = [OURS, PROCESS, MACHINES, TREES]
    yield from table(
        ["data", *[NAMES[key] for key in shown]],
        [[name, *[f"{of_set[f'{key}, seconds'].mean():.2f}" for key in shown]] for name, of_set in found.items()],
    )


if __name__ == "__main__":
    main()
