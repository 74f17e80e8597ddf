"""Is the width at which class means lie farthest apart a good width?

Question: how accurate is a support vector machine at the width that each criterion of `WidthSearch` chooses, beside the
best of five-fold cross-validation over the same grid, and at what share of its time? Does the radius of the smallest
enclosing ball of class means do better than plain distances between them? And how near do randomised algorithms come to
that radius? After T. J. Hansen, T. J. Abrahamsen, L. K. Hansen, "A randomized heuristic for kernel parameter selection
with large-scale multi-class data", MLSP 2011, whose table on ALOI is quoted; ALOI itself is not used here.

Set-up: USPS (all 7,291 digits for training, 2,007 for testing) and MNIST (the first 10,000 for training, or as many as
`--train` says, 10,000 for testing, pixels in [0, 1]); SVC with C = 10 (or the best of several, by cross-validation over
both) and widths that double around one over the median squared distance. Cross-validation shuffles and stratifies.
COIL-20: 16 principal components scaled to unit length, plus noise. Times are CPU seconds of all threads and processes,
on both sides: a search that fits on sixteen cores is no cheaper. Criteria are given the training digits alone, and
choose on the same grid; "refined" is the width from their own search, with a parabola through the peak. The section on
widths that cost nothing comes from the record of `comparisons/width_rules.py`.

    python benchmarks/papers/width_selection.py --n-jobs 2 --output docs/results/width_selection.md

Observe: the difference from the best accuracy, the ratio of times, and whether the
columns "ball" and "mean" differ at all.
"""

import json
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from preimage.kernels import squared_distance_percentile
from preimage.model_selection import WidthSearch
from preimage.widths import class_gram
from preimage.widths._enclosing import center_distances, gram_ball

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in (".", "comparisons", "speed")]
from _balls import multiplicative_weights, randomized
from _measure import RECORDS, STARTED, peak_memory
from _reports import option_parser, origin, progress, publish, table
from class_gram import objects
from data import load_coil20, load_mnist, load_usps
from width_rules import COSTS, N_TRAIN, RULES

CRITERIA = ("enclosing_ball", "mean_distance", "median_distance", "min_distance", "max_distance", "alignment")
SHORT = {
    "enclosing_ball": "ball",
    "mean_distance": "mean",
    "median_distance": "median",
    "min_distance": "min",
    "max_distance": "max",
    "alignment": "alignment",
}
OCTAVES = np.arange(-6, 6)
DIGIT_OCTAVES = {"usps": OCTAVES, "mnist": np.arange(-4, 4)}
MANY_CLASSES = (1000, 72, 32)  # classes, points of each, columns
NEAR = 0.01  # one point of accuracy
LEVEL = 0.02  # points; smaller differences between rules are none
STEPS = (5, 20, 50, 200, 500)
#: Published: accuracy in % at the chosen width on 100 objects of ALOI, by noise.
ALOI = {
    0.0: {"MEB": 67.11, "RMEB": 66.04, "R²MEB": 65.03, "median": 65.83, "mean": 65.83, "max": 65.83, "min": 65.83},
    0.1: {"MEB": 31.25, "RMEB": 29.58, "R²MEB": 28.32, "median": 28.65, "mean": 28.65, "max": 28.65, "min": 9.71},
    0.2: {"MEB": 8.82, "RMEB": 12.49, "R²MEB": 11.61, "median": 12.38, "mean": 12.38, "max": 10.85, "min": 0.71},
}
#: A separate program on COIL-20: log₂ γ and accuracy, by noise.
COIL_OTHER = {
    0.0: {"best": (0, 0.993), "mean": (0, 0.993), "median": (1, 0.989), "min": (3, 0.956), "max": (1, 0.989),
          "ball": (1, 0.989), "printed": (3, 0.956)},
    0.1: {"best": (0, 0.874), "mean": (0, 0.874), "median": (0, 0.874), "min": (1, 0.874), "max": (0, 0.874),
          "ball": (0, 0.874), "printed": (-2, 0.864)},
    0.2: {"best": (0, 0.703), "mean": (-1, 0.685), "median": (-1, 0.685), "min": (0, 0.703), "max": (-1, 0.685),
          "ball": (-1, 0.685), "printed": (-2, 0.683)},
    0.3: {"best": (-3, 0.497), "mean": (-2, 0.492), "median": (-2, 0.492), "min": (0, 0.453), "max": (-2, 0.492),
          "ball": (-2, 0.492), "printed": (-2, 0.492)},
}  # fmt: skip


def main():
    options = parse()
    studies = {name: digit_study(name, options) for name in options.sets if name in DIGIT_OCTAVES}
    coil = coil_study(options) if "coil20" in options.sets else None
    balls = ball_study(options) if "balls" in options.sets else None
    classes = many_classes() if "classes" in options.sets else None
    publish(report_lines(options, studies, coil, balls, classes), options.output)


def parse():
    parser = option_parser(__doc__, "output")
    parser.add_argument("--sets", nargs="*", default=["usps", "mnist", "coil20", "balls", "classes"])
    parser.add_argument("--train", type=int, default=10_000, help="digits of MNIST for training")
    parser.add_argument("--test", type=int, default=10_000, help="digits of MNIST for testing")
    parser.add_argument(
        "--C", type=float, nargs="+", default=[10.0], help="more than one: the best in cross-validation"
    )
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=4000, help="digits of the criteria that look at a sample")
    parser.add_argument("--draws", type=int, default=30, help="seeds of randomised balls, and of noise on COIL-20 / 10")
    parser.add_argument("--n-jobs", type=int, default=1, help="processes, over folds and widths")
    return parser.parse_args()


def digits(name, options):
    data = load_usps() if name == "usps" else load_mnist()
    scale, n_train, n_test = (1.0, None, None) if name == "usps" else (255.0, options.train, options.test)
    part = lambda X, y, n: (np.asarray(X[:n], dtype=np.float64) / scale, y[:n].astype(int))
    return *part(data.X_train, data.y_train, n_train), *part(data.X_test, data.y_test, n_test)


def digit_study(name, options):
    """Choices of all criteria with their CPU seconds; accuracies of cross-validation; test accuracies."""
    X, y, X_test, y_test = digits(name, options)
    octaves = DIGIT_OCTAVES[name]
    gammas = 2.0**octaves / squared_distance_percentile(X, 50)
    searches = {
        "all": cpu_seconds(lambda: choices(X, y, gammas)),
        "sample": cpu_seconds(lambda: choices(X, y, gammas, n_samples=options.samples)),
        "randomised": randomized_choice(X, y, gammas),
    }
    one = cpu_seconds(lambda: WidthSearch(gammas=gammas, criterion="mean_distance").fit(X, y))[1]
    accuracy, seconds = cross_validated(X, y, gammas, options)
    best_C = np.argmax(accuracy, axis=0)
    refined = {c: WidthSearch(criterion=c, n_samples=options.samples).fit(X, y).best_gamma_ for c in CRITERIA}
    by_cv = np.unravel_index(np.argmax(accuracy), accuracy.shape)
    wanted = {"cross-validation": (options.C[by_cv[0]], gammas[by_cv[1]])}
    for criterion in CRITERIA:
        place = searches["all"][0][criterion]
        wanted[criterion] = options.C[best_C[place]], gammas[place]
        wanted[f"{criterion}, refined"] = options.C[best_C[place]], refined[criterion]
    distinct = sorted(set(wanted.values()))
    score = lambda C, gamma: SVC(C=C, gamma=gamma, cache_size=1000).fit(X, y).score(X_test, y_test)
    scores = dict(zip(distinct, Parallel(options.n_jobs)(delayed(score)(*pair) for pair in distinct), strict=True))
    progress(name, STARTED)
    return {
        "shape": (*X.shape, X_test.shape[0]),
        "octaves": octaves,
        "gammas": gammas,
        "accuracy": accuracy.max(axis=0),
        "C": np.array(options.C)[best_C],
        "cv_seconds": seconds,
        "searches": searches,
        "one_seconds": one,
        "refined": refined,
        "test": {key: scores[pair] for key, pair in wanted.items()},
    }


def cpu_seconds(function):
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def choices(X, y, gammas, **options):
    """Places on the grid that all criteria choose, from one class Gram matrix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = WidthSearch(gammas=gammas, **options).fit(X, y)
    return {criterion: int(np.argmax(search.criteria_[criterion])) for criterion in CRITERIA}


def randomized_choice(X, y, gammas):
    rng = np.random.default_rng(0)
    return int(np.argmax([randomized(G, 200, rng) for G in class_gram(X, y, gammas).unbiased]))


def cross_validated(X, y, gammas, options):
    """Mean accuracies, shape (n_C, n_gammas), and the CPU seconds of all fits and predictions together."""
    folds = list(StratifiedKFold(options.folds, shuffle=True, random_state=0).split(X, y))
    # Narrow kernels take longest; begin with them.
    tasks = [(C, gamma, fold) for gamma in gammas[::-1] for C in options.C for fold in folds]
    done = Parallel(options.n_jobs)(delayed(fold_accuracy)(X, y, *task) for task in tasks)
    table = np.array([value for value, _ in done]).reshape(len(gammas), len(options.C), len(folds))
    return table.mean(axis=2)[::-1].T, float(sum(seconds for _, seconds in done))


def fold_accuracy(X, y, C, gamma, fold):
    fitted, held_out = fold
    start = time.process_time()
    machine = SVC(C=C, gamma=gamma, cache_size=1000).fit(X[fitted], y[fitted])
    return machine.score(X[held_out], y[held_out]), time.process_time() - start


def coil_study(options):
    """For each noise: log₂ γ and accuracy in cross-validation of the best and of each criterion, by draw."""
    data = load_coil20()
    points = PCA(16, random_state=0).fit_transform(np.asarray(data.X, dtype=float))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    gammas = 2.0**OCTAVES
    study = {}
    for deviation in COIL_OTHER:
        draws = []
        for seed in range(1 if deviation == 0 else max(1, options.draws // 10)):
            X = points + deviation * np.random.default_rng(seed).normal(size=points.shape)
            accuracy = cross_validated(X, data.y, gammas, options)[0].max(axis=0)
            places = {SHORT[c]: place for c, place in choices(X, data.y, gammas).items()}
            biased = choices(X, data.y, gammas, unbiased=False)
            places |= {f"{SHORT[c]}, with self-pairs": biased[c] for c in ("enclosing_ball", "min_distance")}
            places["best"] = int(np.argmax(accuracy))
            places["printed"] = int(np.argmax([printed_radius(G) for G in class_gram(X, data.y, gammas).values]))
            draws.append({name: (OCTAVES[place], accuracy[place]) for name, place in places.items()})
        study[deviation] = {name: [draw[name] for draw in draws] for name in draws[0]}
    return study


def printed_radius(G, n_steps=5):
    """The algorithm as printed: weight grows on near points, and the distance of the nearest is called the radius."""
    q = p = np.full(len(G), 1 / len(G))
    for step in range(1, n_steps + 1):
        before, q = q, q * np.exp(-center_distances(G, p))
        q = q / q.sum()  # printed is the norm, with which p is no mean
        p = (1 - 1 / step) * before + q / step
    return center_distances(G, p)[np.argmax(q)]


def published_draws(G, n_steps, rng, learning_rate=2.0):
    """The randomised algorithm as published, with the sign corrected: draws from the averaged weights."""
    n, diagonal = len(G), np.diagonal(G)
    p, log_q = np.full(n, 1 / n), np.zeros(n)
    scale = center_distances(G, p).max()
    for step in range(1, n_steps + 1):
        j = rng.choice(n, p=p / p.sum())
        log_q += learning_rate / scale * (G[j, j] + diagonal - 2 * G[j])
        log_q -= log_q.max()
        q = np.exp(log_q)
        p = (1 - 1 / step) * p + q / q.sum() / step
    return center_distances(G, p).max()


def ball_problems():
    """Gram matrices: a few points of space, class means of digits, many class means of curves."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(15, 3))
    yield "15 points in ℝ³", points @ points.T
    wide = rng.normal(size=(300, 400))
    yield "300 points in ℝ⁴⁰⁰", wide @ wide.T
    X, y = curves_of_objects(200, 24, 0.05, rng)
    gamma = 1 / squared_distance_percentile(X, 50)
    narrow, middle = class_gram(X, y, [gamma, 8 * gamma]).values[::-1]
    yield "means of 200 classes", middle
    yield "the same, kernel narrow", narrow


def curves_of_objects(n_classes, n_views, deviation, rng, n_features=32):
    """Objects on a turntable: a closed curve of unit vectors each, with noise."""
    angle = 2 * np.pi * np.arange(n_views) / n_views
    waves = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], axis=1)
    shapes = rng.normal(size=(n_classes, waves.shape[1], n_features)) * np.array([1, 1, 0.5, 0.5])[None, :, None]
    curves = np.einsum("vw,cwd->cvd", waves, shapes) + 1.5 * rng.normal(size=(n_classes, 1, n_features))
    curves /= np.linalg.norm(curves, axis=2, keepdims=True)
    X = curves.reshape(-1, n_features) + deviation * rng.normal(size=(n_classes * n_views, n_features))
    return X, np.repeat(np.arange(n_classes), n_views)


def ball_study(options):
    """Squared radii relative to the exact one, by algorithm and number of steps, over seeds."""
    study = {}
    for name, G in ball_problems():
        exact = gram_ball(G)
        ours = lambda steps, seed, G=G: randomized(G, steps, np.random.default_rng(seed))
        published = lambda steps, seed, G=G: published_draws(G, steps, np.random.default_rng(seed))
        ratio = lambda method, steps, exact=exact: np.array(
            [method(steps, seed) / exact.squared_radius for seed in range(options.draws)]
        )
        study[name] = {
            "gap": exact.gap / exact.squared_radius,
            "programme": by_programme(G) / exact.squared_radius - 1 if by_programme(G) is not None else None,
            "weights": {steps: multiplicative_weights(G, steps) / exact.squared_radius for steps in STEPS},
            "published": {steps: ratio(published, steps) for steps in STEPS},
            "randomised": {steps: ratio(ours, steps) for steps in STEPS},
        }
    return study


def by_programme(G):
    """The squared radius as PIQP finds it, or None where it is not installed."""
    try:
        import piqp
    except ImportError:
        return None
    n, scale = len(G), float(np.diag(G).max())
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-13)
    H = G / scale
    solver.setup(2 * H, -np.diag(H), np.ones((1, n)), np.ones(1), x_l=np.zeros(n), x_u=np.full(n, np.inf))
    solver.solve()
    p = np.maximum(solver.result.x, 0)
    p /= p.sum()
    return scale * float(p @ np.diag(H) - p @ H @ p)


def many_classes():
    """CPU seconds of all criteria for many classes, and the peak of memory, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(search_many_classes).result()


def search_many_classes():
    X, y = objects(*MANY_CLASSES)
    seconds = cpu_seconds(lambda: WidthSearch().fit(X, y))[1]
    return seconds, peak_memory() / 2**30


def report_lines(options, studies, coil, balls, classes):
    yield "# Width selection from class means\n"
    yield origin()
    yield (
        "After T. J. Hansen, T. J. Abrahamsen, L. K. Hansen, MLSP 2011. Criteria see training data alone. CPU seconds "
        f"are summed over threads and processes. SVC with C {'= ' if len(options.C) == 1 else 'of '}"
        f"{', '.join(f'{C:g}' for C in options.C)}.\n"
    )
    yield from verdicts(studies, coil, balls)
    yield ""
    yield from rules_lines()
    for name, study in studies.items():
        yield from digit_lines(name, study, options)
    if coil is not None:
        yield from coil_lines(coil)
    if balls is not None:
        yield from ball_lines(balls, options)
    if classes is not None:
        n_classes, n_views, n_features = MANY_CLASSES
        yield "\n## Many classes\n"
        yield (
            f"{n_classes * n_views:,} points in {n_classes:,} classes, {n_features} columns: a search with all "
            "criteria "
            f"over the grid takes {classes[0]:.0f} s of CPU, and {classes[1]:.2f} GiB at most."
        )
    yield "\n## Published\n"
    yield "Accuracy in % on 100 objects of ALOI at the width that each criterion chose, by deviation of the noise:\n"
    columns = list(ALOI[0.0])
    yield from table(["σ", *columns], ([f"{s:g}", *(f"{row[c]:g}" for c in columns)] for s, row in ALOI.items()))
    yield (
        "\nThe update printed there moves weight towards *near* points; the column “printed” of COIL-20 shows what "
        "that chooses."
    )


def verdicts(studies, coil, balls):
    yield "## Summary\n"
    for name, study in studies.items():
        accuracy = study["accuracy"]
        loss = {c: accuracy.max() - accuracy[place] for c, place in study["searches"]["all"][0].items()}
        good = [SHORT[c] for c in CRITERIA if loss[c] <= NEAR]
        yield (
            f"- {name.upper()}, accuracy in cross-validation: at the ball's width "
            f"{100 * loss['enclosing_ball']:.2f} points below its best. Within one point: {', '.join(good) or 'none'}."
        )
        for which, text in (("all", "all digits"), ("sample", "a sample")):
            ratio = study["cv_seconds"] / study["searches"][which][1]
            yield f"- {name.upper()}, {text}: {ratio:.0f} × less time than cross-validation."
        ball, mean = (study["searches"]["all"][0][c] for c in ("enclosing_ball", "mean_distance"))
        difference = 100 * (accuracy[ball] - accuracy[mean])
        yield (f"- {name.upper()}, ball against mean distance: {ball - mean:+d} octaves, {difference:+.2f} points.")
    pairs = ball_and_mean(studies, coil)
    if pairs:
        same = sum(ball[0] == mean[0] for ball, mean in pairs)
        gain = 100 * np.array([ball[1] - mean[1] for ball, mean in pairs])
        yield (
            f"- Does the ball beat the mean distance? Same width in {same} of {len(pairs)} problems (data sets and "
            f"draws of noise); accuracy {gain.mean():+.2f} points on average, {gain.min():+.2f} to {gain.max():+.2f}."
        )
    if balls is not None:
        worst = max(float(study["randomised"][200].max()) for study in balls.values())
        least = min(float(values.min()) for study in balls.values() for values in study["randomised"].values())
        yield (
            f"- Randomised squared radius after 200 steps: at most {worst:.4f} of the exact one, at least "
            f"1 {least - 1:+.1e}."
        )
        if all(study["programme"] is not None for study in balls.values()):
            far = max(abs(study["programme"]) for study in balls.values())
            yield f"- Exact squared radius against PIQP: relative difference at most {far:.1e}."


def ball_and_mean(studies, coil):
    """(width, accuracy) of ball and of mean distance, a pair for every problem."""
    pairs = []
    for study in studies.values():
        places = study["searches"]["all"][0]
        pairs.append([(places[c], study["accuracy"][places[c]]) for c in ("enclosing_ball", "mean_distance")])
    for results in (coil or {}).values():
        pairs += list(zip(results["ball"], results["mean"], strict=True))
    return pairs


def digit_lines(name, study, options):
    n, d, n_test = study["shape"]
    octaves = study["octaves"]
    accuracy, (places, all_seconds) = study["accuracy"], study["searches"]["all"]
    sampled, sample_seconds = study["searches"]["sample"]
    drawn = study["searches"]["randomised"]
    yield f"\n## {name.upper()}: {n:,} digits of {d} pixels\n"
    yield f"{options.folds}-fold cross-validation over the grid, log₂ of γ times the median squared distance:\n"
    yield from table(
        ["", *(f"{octave:+d}" for octave in octaves)],
        [
            ["accuracy in %", *(f"{100 * value:.2f}" for value in accuracy)],
            ["best C", *(f"{C:g}" for C in study["C"])],
        ],
    )
    yield f"\nWhat the criteria choose, and test accuracy on {n_test:,} digits:\n"
    rows = [
        [
            "cross-validation",
            f"{octaves[int(np.argmax(accuracy))]:+d}",
            "",
            "",
            f"{100 * accuracy.max():.2f}",
            "",
            f"{100 * study['test']['cross-validation']:.2f}",
            "",
        ]
    ]
    for criterion in CRITERIA:
        place = places[criterion]
        rows.append(
            [
                SHORT[criterion],
                f"{octaves[place]:+d}",
                f"{octaves[sampled[criterion]]:+d}",
                f"{np.log2(study['refined'][criterion] / study['gammas'][-octaves[0]]):+.2f}",
                f"{100 * accuracy[place]:.2f}",
                f"{100 * (accuracy[place] - accuracy.max()):+.2f}",
                f"{100 * study['test'][criterion]:.2f}",
                f"{100 * study['test'][f'{criterion}, refined']:.2f}",
            ]
        )
    yield from table(
        ["", "choice", f"of {options.samples:,}", "refined", "accuracy, CV", "to best", "test", "test, refined"], rows
    )
    less = lambda seconds: f"{seconds:.2f} ({study['cv_seconds'] / seconds:.0f} × less)"
    yield (
        f"\nThe randomised ball chooses {octaves[drawn]:+d}. CPU seconds: cross-validation "
        f"{study['cv_seconds']:.1f}; all six criteria {less(all_seconds)}, of {options.samples:,} digits "
        f"{less(sample_seconds)}. Curves but no model are what a search "
        f"computes; asked for one criterion it takes {study['one_seconds']:.2f}, as the kernel matrix is what it costs."
    )


def rules_lines():
    """What `comparisons/width_rules.py` recorded."""
    contents = json.loads((RECORDS / "width_rules.json").read_text(encoding="utf-8"))
    sets, draws, values = contents["settings"]["sets"], contents["settings"]["draws"], contents["values"]
    accuracy = lambda name, C, rule: values[f"{name}, accuracy, C = {C:g}, {rule}"]
    both = lambda first, second: f"{first:.2f} ({second:.2f})"
    yield "## Against widths that cost nothing\n"
    yield f"`{contents['command']}`; {contents['machine']}; {contents.get('duration', 'time not kept')}.\n"
    yield (
        f"Test accuracy in per cent of SVC with C = {COSTS[0]:g} (in brackets C = {COSTS[1]:g}), mean of {draws} "
        "random "
        f"halves with equal class proportions, at most {N_TRAIN:,} rows for training; columns standardised, except "
        'pixels. After the semicolon log₂ of the chosen γ over that of "scale".\n'
    )
    rows = [
        [
            name,
            *(
                both(*(accuracy(name, C, rule) for C in COSTS)) + f"; {values[f'{name}, octaves, {rule}']:+.1f}"
                for rule in RULES
            ),
        ]
        for name in sets
    ]
    means = {(C, rule): np.mean([accuracy(name, C, rule) for name in sets]) for C in COSTS for rule in RULES}
    rows.append(["mean", *(both(*(means[C, rule] for C in COSTS)) for rule in RULES)])
    yield from table(["set", *RULES], rows)
    yield ""
    for rule in RULES[1:]:
        ahead = [name for name in sets if accuracy(name, COSTS[0], rule) > accuracy(name, COSTS[0], "scale") + LEVEL]
        behind = [name for name in sets if accuracy(name, COSTS[0], rule) < accuracy(name, COSTS[0], "scale") - LEVEL]
        gains = " and ".join(f"{values[f'mean gain over scale, C = {C:g}, {rule}']:+.2f}" for C in COSTS)
        yield (
            f'- {rule} against "scale": {gains} points in the mean with C = {COSTS[0]:g} and {COSTS[1]:g}; with the '
            "first, "
            f"ahead on {len(ahead)} and behind on {len(behind)} of {len(sets)} sets."
        )
    lead = means[COSTS[0], "cross-validation"] - means[COSTS[0], "enclosing_ball"]
    yield f"- Cross-validation is {abs(lead):.1f} points {'ahead of' if lead > 0 else 'behind'} the ball in the mean."


def coil_lines(coil):
    columns = list(next(iter(coil.values())))
    yield "\n## COIL-20\n"
    yield (
        "16 principal components of unit length, noise of deviation σ added; log₂ γ (mean over draws of noise) and "
        "accuracy in five-fold cross-validation there. Below ours, a separate program on other draws and folds. "
        "Without self-pairs unless said; “printed” is the published algorithm as printed, in five steps, but for "
        "weights divided by their sum.\n"
    )
    order = ["best", *(c for c in columns if c != "best")]
    rows = []
    for deviation, results in coil.items():
        mean = lambda name, results=results: np.mean(results[name], axis=0)
        rows.append([f"{deviation:g}", *(f"{mean(c)[0]:+.1f}: {mean(c)[1]:.3f}" for c in order)])
        other = COIL_OTHER[deviation]
        rows.append(["other", *(f"{other[c][0]:+d}: {other[c][1]:.3f}" if c in other else "" for c in order)])
    yield from table(["σ", *order], rows)


def ball_lines(balls, options):
    yield "\n## The ball by three algorithms\n"
    yield (
        "Squared radius over the exact one. “Weights”: multiplicative weights, O(K²) per step. “Published”: draws from "
        "the averaged weights, sign corrected, O(K) per step. “Randomised”: one drawn row and O(K) "
        f"per step, with a certificate. Mean ± deviation (largest) of {options.draws} seeds.\n"
    )
    rows = []
    for name, study in balls.items():
        rows.append([name, "weights", *(f"{study['weights'][steps]:.4f}" for steps in STEPS)])
        for method in ("published", "randomised"):
            cells = [f"{v.mean():.3f} ± {v.std():.3f} ({v.max():.3f})" for v in study[method].values()]
            rows.append(["", method, *cells])
    yield from table(["", "algorithm", *(f"T = {steps}" for steps in STEPS)], rows)
    gaps = ", ".join(f"{study['gap']:.1e}" for study in balls.values())
    yield f"\nRelative gaps of the exact ball between radius and lower bound: {gaps}."


if __name__ == "__main__":
    main()
