"""Does denoising by kernel PCA make maps of the brain more reproducible, and how much of it is in the protocol?

Question: how near to (1, 1) do prediction and reproducibility come on Haxby's object recognition, with raw scans,
linear PCA and kernel PCA with pre-images; and what is left of the gain when the two halves do not share the basis of
the denoiser? After P. M. Rasmussen, T. J. Abrahamsen, K. H. Madsen, L. K. Hansen, "Nonlinear denoising and analysis of
neuroimages with kernel principal component analysis and pre-image estimation", NeuroImage 60, 2012, who fit one basis
to all scans of a subject ("shared") and report a smaller distance for all six subjects.

Set-up: subject 1, 864 scans of 577 ventral-temporal voxels, 8 kinds of pictures, 12 runs; a linear trend removed and
voxels standardised within each run. Penalised discriminant with the nearest mean; r is that of the first canonical
variate after alignment with a model of all runs, or of the sensitivity map. Runs are divided into 6 for training, on
which width and number of components are chosen by the mean distance, and 6 for testing, which are reported; halves are
3 against 3 runs, all 10 of them; ridges are chosen on each curve, as in the paper. Kernel exp(−‖x − y‖²/σ) with σ a
multiple of the mean squared distance of a scan to its nearest quarter of the others.

What to observe: with a shared basis denoising wins throughout, by r; with a basis for each half little or nothing is
left of it. Permuted labels, blocks of scans exchanged within runs, tell how much agreement means nothing.

Run: python benchmarks/papers/npairs.py --n-jobs 8 --output docs/results/npairs.md
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import detrend
from scipy.spatial.distance import pdist, squareform
from scipy.stats import permutation_test
from sklearn.decomposition import PCA

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import command, describe_machine
from _reports import option_parser, progress, publish
from data import load_haxby

from preimage import KernelPCA, PenalizedDiscriminant
from preimage.neuro import pr_curve, split_half, split_half_null
from preimage.solvers import FixedPoint

WIDTHS = (0.5, 2, 8, 64, 1024)
COMPONENTS = (10, 20, 50, 100, 150)
RIDGES = np.logspace(-3, 4, 15)
SOLVER = FixedPoint(tol=1e-4, max_iter=200)
PROTOCOLS = {False: "basis per half", True: "basis shared"}
RAW, LINEAR, KERNEL = "raw", "linear PCA", "kernel PCA"
# (width, components): p, r, distance with a shared basis and with one per half, of a separate program.
OTHER = {
    (2, 20): ((0.500, 0.704, 0.585), (0.460, 0.612, 0.666)),
    (2, 50): ((0.565, 0.639, 0.571), (0.511, 0.548, 0.668)),
    (2, 150): ((0.552, 0.554, 0.638), (0.513, 0.504, 0.698)),
    (8, 20): ((0.508, 0.701, 0.579), (0.472, 0.619, 0.652)),
    (8, 50): ((0.559, 0.641, 0.570), (0.529, 0.553, 0.651)),
    (8, 150): ((0.559, 0.548, 0.635), (0.535, 0.513, 0.676)),
    (64, 20): ((0.516, 0.703, 0.573), (0.470, 0.626, 0.650)),
    (64, 50): ((0.567, 0.631, 0.572), (0.533, 0.562, 0.641)),
    (64, 150): ((0.562, 0.564, 0.620), (0.551, 0.529, 0.653)),
}
OTHER_RAW = (0.552, 0.528, 0.652)
LEVEL = 0.05


def paired_permutation_test(first, second):
    """Mean difference of two pipelines on the same units, and its p-value: signs of differences are flipped."""
    mean = lambda a, b, axis: np.mean(a - b, axis=axis)
    found = permutation_test((first, second), mean, permutation_type="samples", vectorized=True, random_state=0)
    return float(found.statistic), float(found.pvalue)


def main():
    options = parse_options()
    started = time.perf_counter()
    scans = Scans(load_haxby(), options.trend)
    lines = opening(options)
    if "table" in options.parts:
        lines += table_lines(scans, options)
        progress("table", started)
    if "divisions" in options.parts:
        lines += division_lines(scans, options)
        progress("divisions", started)
    lines.insert(4, f"{lines.pop(4)} {(time.perf_counter() - started) / 60:.1f} minutes.")
    publish(lines, options.output)


def parse_options():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--parts", nargs="+", default=["table", "divisions"], choices=["table", "divisions"])
    parser.add_argument("--divisions", type=int, default=10, help="divisions of the runs into training and test")
    parser.add_argument("--permutations", type=int, default=100, help="of labels, for the null on each division")
    parser.add_argument("--widths", type=float, nargs="+", default=WIDTHS, help="multiples of the unit")
    parser.add_argument("--components", type=int, nargs="+", default=COMPONENTS)
    parser.add_argument("--trend", choices=["linear", "none"], default="linear", help="removed within runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=1)
    return parser.parse_args()


class Scans:
    """Preprocessed scans with labels, runs and blocks."""

    def __init__(self, haxby, trend):
        self.y, self.run, self.block = haxby.y, haxby.run, haxby.block
        self.names = [str(name) for name in haxby.label_names]
        self.runs = np.unique(haxby.run)
        self.X = np.empty(haxby.X.shape)
        for run in self.runs:
            rows = haxby.X[haxby.run == run].astype(float)
            rows = detrend(rows, axis=0, type="linear" if trend == "linear" else "constant")
            self.X[haxby.run == run] = rows / np.maximum(rows.std(axis=0), 1e-12)

    def of(self, runs):
        """X, y, groups of some runs, and their blocks."""
        rows = np.isin(self.run, runs)
        return (self.X[rows], self.y[rows], self.run[rows]), self.block[rows]


def width_unit(X, fraction=0.25):
    """Mean squared distance to the nearest quarter of the other rows."""
    distances = np.sort(squareform(pdist(X, "sqeuclidean")), axis=1)[:, 1:]
    return float(distances[:, : int(np.ceil(fraction * distances.shape[1]))].mean())


class Denoised:
    """Denoised rows for every number of components at once, computed once for each set of training rows."""

    def __init__(self, width, components):
        self.width, self.components, self.known = width, tuple(components), {}

    def denoiser(self, count):
        """A function (training rows, rows) → denoised rows, for `split_half`."""
        return lambda train, rows: self._all(train, rows)[count]

    def _all(self, train, rows):
        key = hash(train.tobytes())
        if key not in self.known:
            most = min(max(self.components), len(train) - 1)
            work = self._linear if self.width is None else self._kernel
            self.known[key] = work(train, rows, most)
        return self.known[key]

    def _linear(self, train, rows, most):
        model = PCA(most, svd_solver="full").fit(train)
        scores = model.transform(rows)
        return {q: model.mean_ + scores[:, :q] @ model.components_[:q] for q in self.components}

    def _kernel(self, train, rows, most):
        model = KernelPCA(most, gamma=1 / (self.width * width_unit(train))).fit(train)
        found = {}
        for q in self.components:
            space = model.subspace_.leading(min(q, model.n_components_))
            found[q] = SOLVER.inverse(space, space.coordinates(rows), rows).points
        return found


def settings_of(method, options):
    """Widths and components that a method chooses from; None is no width, or no denoising at all."""
    if method == RAW:
        return [(None, None)]
    widths = [None] if method == LINEAR else options.widths
    return [(width, count) for width in widths for count in options.components]


def curves_of(data, settings, options, *, shared, maps="auto"):
    """The pr-curve of each setting; denoised rows are shared by those of one width."""
    for width in dict.fromkeys(width for width, _ in settings):
        cache = Denoised(width, options.components)
        for _, count in (setting for setting in settings if setting[0] == width):
            denoiser = None if count is None else cache.denoiser(count)
            yield (
                (width, count),
                pr_curve(
                    PenalizedDiscriminant(),
                    *data,
                    "alpha",
                    RIDGES,
                    denoiser=denoiser,
                    shared_basis=shared,
                    n_splits="all",
                    maps=maps,
                ),
            )


def table_lines(scans, options):
    """Every setting of the table, on the first six runs."""
    data, _ = scans.of(scans.runs[:6])
    (_, raw), *_ = curves_of(data, [(None, None)], options, shared=False)
    jobs = [(width, shared) for width in (2, 8, 64) for shared in (True, False)]
    counts = (20, 50, 150)
    local = argparse.Namespace(**vars(options) | {"components": counts})

    def one(width, shared):
        settings = [(width, count) for count in counts]
        return {(setting, shared): curve for setting, curve in curves_of(data, settings, local, shared=shared)}

    found = {}
    for part in Parallel(n_jobs=options.n_jobs)(delayed(one)(*job) for job in jobs):
        found |= part
    lines = [
        "",
        "## Both protocols on the first six runs",
        "",
        "Mean over all 10 splits of the nearest point of each curve to (1, 1): p / r / distance, and in brackets those "
        "of a separate program, whose ridges and preprocessing are not known.",
        "",
        f"Raw: {triple(raw)} ({numbers(OTHER_RAW)}).",
        "",
        "| width, components | basis shared | basis per half |",
        "| --- | --- | --- |",
    ]
    for (width, count), (theirs_shared, theirs_half) in OTHER.items():
        shared, half = found[(width, count), True], found[(width, count), False]
        cells = f"{triple(shared)} ({numbers(theirs_shared)}) | {triple(half)} ({numbers(theirs_half)})"
        lines.append(f"| {width}, {count} | {cells} |")
    base = raw.nearest_distance.mean()
    for shared, name in PROTOCOLS.items():
        distances = [found[setting, shared].nearest_distance.mean() for setting in OTHER]
        better = sum(distance < base for distance in distances)
        lines += [
            "",
            f"- {name}: {better} of {len(distances)} settings are nearer to (1, 1) than raw; distances "
            f"{min(distances):.3f} to {max(distances):.3f}, raw {base:.3f}.",
        ]
    return lines


def division_lines(scans, options):
    """Chosen on six runs, reported on the six others."""
    rng = np.random.default_rng(options.seed)
    divisions = [rng.permutation(scans.runs) for _ in range(options.divisions)]
    jobs = [
        (number, method, shared)
        for number in range(len(divisions))
        for method, shared in ((RAW, False), (LINEAR, False), (LINEAR, True), (KERNEL, False), (KERNEL, True))
    ]
    run = Parallel(n_jobs=options.n_jobs, verbose=0)
    results = run(
        delayed(one_division)(scans, divisions[number], method, shared, options) for number, method, shared in jobs
    )
    found = {}
    for (_, method, shared), result in zip(jobs, results):
        found.setdefault((method, shared), []).append(result)
    found = {name: {key: np.array([row[key] for row in rows]) for key in rows[0]} for name, rows in found.items()}
    return summary_lines(found, options) + test_lines(found) + verdict_lines(found) + choice_lines(found)


def one_division(scans, order, method, shared, options):
    """Figures on the test runs of one division, with width and components chosen on the training runs."""
    settings = settings_of(method, options)
    if len(settings) > 1:
        train, _ = scans.of(order[:6])
        curves = curves_of(train, settings, options, shared=shared)
        settings = [min(((curve.nearest_distance.mean(), setting) for setting, curve in curves))[1]]
    test, blocks = scans.of(order[6:])
    ((setting, curve),) = curves_of(test, settings, options, shared=shared)
    ((_, sensitive),) = curves_of(test, settings, options, shared=shared, maps="sensitivity")
    p, r = curve.nearest_points.mean(axis=0)
    chosen = curve.distance.argmin(axis=1)
    width, count = setting
    cache = Denoised(width, options.components)
    null_options = {
        "denoiser": None if count is None else cache.denoiser(count),
        "shared_basis": shared,
        "n_splits": "all",
    }
    model = PenalizedDiscriminant(float(RIDGES[curve.best_index]))
    observed = split_half(model, *test, **null_options)
    null = split_half_null(model, *test, n_permutations=options.permutations, blocks=blocks, **null_options)
    p_values = null.p_values(observed)
    return {
        "p": p,
        "r": r,
        "distance": curve.nearest_distance.mean(),
        "sensitivity": sensitive.reproducibility[np.arange(len(chosen)), chosen].mean(),
        "one_ridge": curve.best.distance.mean(),
        "null_p": null.prediction.mean(),
        "null_r": null.reproducibility.mean(),
        "excess_r": observed.reproducibility.mean() - null.reproducibility.mean(),
        "p_value_p": p_values["prediction"],
        "p_value_r": p_values["reproducibility"],
        "width": np.nan if width is None else width,
        "count": np.nan if count is None else count,
    }


def summary_lines(found, options):
    lines = [
        "",
        f"## Chosen on six runs, reported on six others, {options.divisions} divisions",
        "",
        "Means over divisions (standard deviation of the distance). Ridges at the nearest point of each split's curve; "
        "“one ridge”: the distance at the ridge that is best on average over splits. Permuted labels at that ridge: "
        "their mean p and r, by how much r exceeds theirs, and the largest p-values of p and r over the divisions "
        f"({options.permutations} permutations).",
        "",
        "| scans | distance | p | r | r, sensitivity | one ridge | permuted p | permuted r | r − permuted | p-values |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (method, shared), values in found.items():
        mean = {key: float(np.mean(column)) for key, column in values.items()}
        spread = float(np.std(values["distance"]))
        largest = f"{values['p_value_p'].max():.3f}, {values['p_value_r'].max():.3f}"
        lines.append(
            f"| {name_of(method, shared)} | {mean['distance']:.3f} ({spread:.3f}) | {mean['p']:.3f} | "
            f"{mean['r']:.3f} | {mean['sensitivity']:.3f} | {mean['one_ridge']:.3f} | {mean['null_p']:.3f} | "
            f"{mean['null_r']:.3f} | {mean['excess_r']:.3f} | {largest} |"
        )
    return lines


def test_lines(found):
    lines = [
        "",
        "## Permutation tests over the divisions",
        "",
        "Signs of the differences flipped, two-sided; divisions share runs, so p-values are somewhat too small. "
        "Negative differences of the distance, and positive ones of the others, favour the first.",
        "",
        "| compared | distance | p | r | r, sensitivity | r − permuted |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    pairs = [((method, shared), (RAW, False)) for shared in (False, True) for method in (LINEAR, KERNEL)]
    pairs += [((KERNEL, shared), (LINEAR, shared)) for shared in (False, True)]
    pairs += [((KERNEL, True), (KERNEL, False))]
    for first, second in pairs:
        cells = []
        for key in ("distance", "p", "r", "sensitivity", "excess_r"):
            difference, p = paired_permutation_test(found[first][key], found[second][key])
            cells.append(f"{difference:+.3f} (p = {p:.3f})")
        lines.append(f"| {name_of(*first)} against {name_of(*second)} | {' | '.join(cells)} |")
    return lines


def verdict_lines(found):
    """One sentence for each way of denoising, by the test of its distance against that of raw scans."""
    lines = ["", "## What holds", ""]
    raw = found[RAW, False]["distance"]
    for (method, shared), values in found.items():
        if method == RAW:
            continue
        difference, p = paired_permutation_test(values["distance"], raw)
        words = (
            "cannot be told from that of raw scans" if p > LEVEL else ("is smaller" if difference < 0 else "is larger")
        )
        lines.append(
            f"- {name_of(method, shared)}: the distance {words} ({np.mean(values['distance']):.3f} against "
            f"{np.mean(raw):.3f}, p = {p:.3f})."
        )
    return lines


def choice_lines(found):
    lines = ["", "## Chosen on the training runs", ""]
    for (method, shared), values in found.items():
        if method == RAW:
            continue
        pairs = [
            f"{count:g}" if np.isnan(width) else f"({width:g}, {count:g})"
            for width, count in zip(values["width"], values["count"])
        ]
        what = "components" if method == LINEAR else "(width, components)"
        lines.append(f"- {name_of(method, shared)}, {what}: {', '.join(pairs)}.")
    return lines


def opening(options):
    trend = "A linear trend removed and voxels" if options.trend == "linear" else "Voxels"
    return [
        "# Split-half prediction and reproducibility on Haxby's object recognition",
        "",
        f"`{command()}`",
        "",
        f"{describe_machine()};",
        "",
        "Subject 1, 577 ventral-temporal voxels, 8 kinds of pictures, 12 runs of 72 scans. " + trend + " standardised "
        "within runs. Penalised discriminant, nearest mean; r of the first canonical variate, aligned with a model of "
        f"all runs in use; {len(RIDGES)} ridges from {RIDGES[0]:g} to {RIDGES[-1]:g} times the variance of a voxel.",
    ]


def name_of(method, shared):
    return method if method == RAW else f"{method}, {PROTOCOLS[shared]}"


def triple(curve):
    return numbers((*curve.nearest_points.mean(axis=0), curve.nearest_distance.mean()))


def numbers(values):
    return " / ".join(f"{value:.3f}" for value in values)


if __name__ == "__main__":
    main()
