"""Is a width from class means better than the widths that cost nothing?

Question: test accuracy of a support vector machine whose width comes from `WidthSearch` (no model is fitted), from
scikit-learn's `gamma="scale"` (free), from the median of squared distances (free), and from cross-validation over the
same grid of widths (a model per width and fold).

Set-up: six sets; half of the rows for training (at most 1,000, equal class proportions), the others for testing (at
most 2,000); columns standardised by the training rows, except pixels; SVC with C = 10, as in the other tables of the
page, and with scikit-learn's default C = 1. Mean over draws of the halves. "octaves" is log₂ of a width γ over that of
"scale".

    python benchmarks/comparisons/width_rules.py --record --output widths.md

Observe: whether the criteria beat the free rules, where, and whether alignment chooses wider or narrower kernels than
the enclosing ball.
"""

import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets as bundled
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import record
from _reports import option_parser, origin, publish
from data import load_gene_expression, load_ida, load_ionosphere, load_usps

from preimage.kernels import resolve_gamma
from preimage.model_selection import WidthSearch

SETS = ["digits", "usps", "ionosphere", "image", "german", "colon_tumor"]
PIXELS = ("digits", "usps")
COSTS = (10.0, 1.0)
N_TRAIN, N_TEST, N_FOLDS = 1000, 2000, 5
RULES = ["scale", "median", "enclosing_ball", "alignment", "cross-validation"]


def main():
    parser = option_parser(__doc__, "jobs", "record", "output")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    jobs = (delayed(study)(name, options.draws) for name in options.sets)
    studies = dict(zip(options.sets, Parallel(n_jobs=options.jobs)(jobs), strict=True))
    publish(report_lines(studies, options), options.output)
    if options.record:
        record("width_rules", values_of(studies), {"sets": options.sets, "draws": options.draws})


def measure(sets=SETS, draws=10):
    """What the record holds: accuracy in per cent of every rule on every set, and octaves."""
    return values_of({name: study(name, draws) for name in sets})


def load(name):
    if name == "digits":
        return bundled.load_digits(return_X_y=True)
    if name == "usps":
        data = load_usps()
        return data.X_train.astype(float), data.y_train
    if name == "colon_tumor":
        data = load_gene_expression(name)
    else:
        data = load_ionosphere() if name == "ionosphere" else load_ida(name)
    return np.asarray(data.X, dtype=float), data.y


def study(name, draws):
    """Means over draws: {("accuracy", C, rule): per cent, ("octaves", rule): log₂ γ/γ_scale}."""
    X, y = load(name)
    results = [one_draw(X, y, name in PIXELS, seed) for seed in range(draws)]
    return {key: float(np.mean([result[key] for result in results])) for key in results[0]}


def one_draw(X, y, are_pixels, seed):
    n_train, n_test = min(len(X) // 2, N_TRAIN), min(len(X) - len(X) // 2, N_TEST)
    X, X_test, y, y_test = train_test_split(X, y, train_size=n_train, test_size=n_test, stratify=y, random_state=seed)
    if not are_pixels:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    gammas = {"scale": 1 / (X.shape[1] * X.var()), "median": resolve_gamma("median", X)}
    for criterion in ("enclosing_ball", "alignment"):
        search = WidthSearch(criterion=criterion).fit(X, y)
        gammas[criterion] = search.best_gamma_
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    results = {}
    for C in COSTS:
        by_folds = GridSearchCV(SVC(C=C), {"gamma": search.gammas_}, cv=folds).fit(X, y)
        gammas["cross-validation"] = by_folds.best_params_["gamma"]
        for rule in RULES:
            accuracy = SVC(C=C, gamma=gammas[rule]).fit(X, y).score(X_test, y_test)
            results["accuracy", C, rule] = 100 * accuracy
            if COSTS[0] == C:
                results["octaves", rule] = np.log2(gammas[rule] / gammas["scale"])
    return results


def values_of(studies):
    values = {}
    for name, results in studies.items():
        for key, value in results.items():
            values[f"{name}, " + ", ".join(part if isinstance(part, str) else f"C = {part:g}" for part in key)] = value
    for C in COSTS:
        for rule in RULES[1:]:
            gains = [r["accuracy", C, rule] - r["accuracy", C, "scale"] for r in studies.values()]
            values[f"mean gain over scale, C = {C:g}, {rule}"] = np.mean(gains)
    return values


def report_lines(studies, options):
    yield "## Against widths that cost nothing\n"
    yield origin()
    yield (
        f"Test accuracy in per cent of SVC with C = {COSTS[0]:g} (in brackets C = {COSTS[1]:g}), mean of "
        f"{options.draws} random halves with equal class proportions, at most {N_TRAIN:,} rows for training; columns "
        'standardised, except pixels. After the semicolon log₂ of the chosen γ over that of "scale".\n'
    )
    yield "| set | " + " | ".join(RULES) + " |"
    yield "|---|" + "---|" * len(RULES)
    for name, results in studies.items():
        cells = [
            f"{results['accuracy', COSTS[0], rule]:.2f} ({results['accuracy', COSTS[1], rule]:.2f}); "
            f"{results['octaves', rule]:+.1f}"
            for rule in RULES
        ]
        yield f"| {name} | " + " | ".join(cells) + " |"
    means = [[np.mean([r["accuracy", C, rule] for r in studies.values()]) for rule in RULES] for C in COSTS]
    yield "| mean | " + " | ".join(f"{first:.2f} ({second:.2f})" for first, second in zip(*means, strict=True)) + " |"


if __name__ == "__main__":
    main()
