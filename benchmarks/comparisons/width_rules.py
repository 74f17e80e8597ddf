"""Is a width from class means better than the widths that cost nothing?

Question: test accuracy of a support vector machine whose width comes from `WidthSearch` (no model is fitted), from
scikit-learn's `gamma="scale"` (free), from the median of squared distances (free), and from cross-validation over the
same grid of widths (a model per width and fold).

Set-up: six sets; half of the rows for training (at most 1,000, equal class proportions), the others for testing (at
most 2,000); columns standardised by the training rows, except pixels; SVC with C = 10, as in the other tables of the
page, and with scikit-learn's default C = 1. Mean over draws of the halves. "octaves" is log₂ of a width γ over that of
"scale".

    python benchmarks/comparisons/width_rules.py --draws 20 --jobs 2 --record

The table is a section of `docs/results/width_selection.md`, which `papers/width_selection.py` makes from the record.

Observe: whether the criteria beat the free rules, where, and whether alignment chooses wider or narrower kernels than
the enclosing ball.
"""

import json
import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets as bundled
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import RECORDS, command, describe_machine, duration, record
from _reports import option_parser, publish, table
from data import load_gene_expression, load_ida, load_ionosphere, load_usps

from preimage.kernels import resolve_gamma
from preimage.model_selection import WidthSearch

SETS = ["digits", "usps", "ionosphere", "image", "german", "colon_tumor"]
PIXELS = ("digits", "usps")
COSTS = (10.0, 1.0)
N_TRAIN, N_TEST, N_FOLDS = 1000, 2000, 5
NEAR = 0.02  # points; smaller differences are none
RULES = ["scale", "median", "enclosing_ball", "alignment", "cross-validation"]


def main():
    parser = option_parser(__doc__, "jobs", "record", "output")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    tasks = [(name, seed) for name in options.sets for seed in range(options.draws)]
    found = Parallel(n_jobs=options.jobs)(delayed(one_draw)(*task) for task in tasks)
    draws = {name: [each for task, each in zip(tasks, found, strict=True) if task[0] == name] for name in options.sets}
    values = values_of({name: means(results) for name, results in draws.items()})
    settings = {"sets": options.sets, "draws": options.draws}
    stamp = {"command": command(), "machine": describe_machine(), "duration": duration()}
    publish(report_lines({"values": values, "settings": settings} | stamp), options.output)
    if options.record:
        record("width_rules", values, settings)


def recorded_lines():
    """The section from the record."""
    return report_lines(json.loads((RECORDS / "width_rules.json").read_text(encoding="utf-8")))


def measure(sets=SETS, draws=10):
    """What the record holds: accuracy in per cent of every rule on every set, and octaves."""
    return values_of({name: means([one_draw(name, seed) for seed in range(draws)]) for name in sets})


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


def means(results):
    """Means over draws: {("accuracy", C, rule): per cent, ("octaves", rule): log₂ γ/γ_scale}."""
    return {key: float(np.mean([result[key] for result in results])) for key in results[0]}


def one_draw(name, seed):
    X, y = load(name)
    n_train, n_test = min(len(X) // 2, N_TRAIN), min(len(X) - len(X) // 2, N_TEST)
    X, X_test, y, y_test = train_test_split(X, y, train_size=n_train, test_size=n_test, stratify=y, random_state=seed)
    if name not in PIXELS:
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
            values[", ".join([name, *(part if isinstance(part, str) else f"C = {part:g}" for part in key)])] = value
    for C in COSTS:
        for rule in RULES[1:]:
            gains = [r["accuracy", C, rule] - r["accuracy", C, "scale"] for r in studies.values()]
            values[f"mean gain over scale, C = {C:g}, {rule}"] = np.mean(gains)
    return values


def report_lines(contents):
    """The section, of what a record holds."""
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
        ahead = [name for name in sets if accuracy(name, COSTS[0], rule) > accuracy(name, COSTS[0], "scale") + NEAR]
        behind = [name for name in sets if accuracy(name, COSTS[0], rule) < accuracy(name, COSTS[0], "scale") - NEAR]
        gains = " and ".join(f"{values[f'mean gain over scale, C = {C:g}, {rule}']:+.2f}" for C in COSTS)
        yield (
            f'- {rule} against "scale": {gains} points in the mean with C = {COSTS[0]:g} and {COSTS[1]:g}; with the '
            "first, "
            f"ahead on {len(ahead)} and behind on {len(behind)} of {len(sets)} sets."
        )
    lead = means[COSTS[0], "cross-validation"] - means[COSTS[0], "enclosing_ball"]
    yield f"- Cross-validation is {abs(lead):.1f} points {'ahead of' if lead > 0 else 'behind'} the ball in the mean."


if __name__ == "__main__":
    main()
