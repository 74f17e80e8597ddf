"""Do kernel Fisher discriminants read USPS digits as well as published, with and without known invariances?

Question: section 4 of S. Mika et al., "Invariant feature extraction and classification in kernel spaces", NIPS 12,
1999: 3.7 % errors, 3.6 % with a tangent covariance in the denominator, 3.1 % with expansion points clustered from a
set that contains virtual examples.

Set-up: official split (7,291 and 2,007 digits), Gaussian kernel exp(−‖x − y‖²/(0.3·256)), ten discriminants against the
rest on 3,000 expansion points, penalty ‖α‖²; the paper's thresholds are those of least empirical risk. Images are
smoothed with a Gaussian; the paper mentions no smoothing, but without it these figures are out of reach. Smoothing,
ridge, rule of the thresholds and weight of the tangent term are chosen on the last 2,291 training digits, after
training on the others; nothing on test digits. Transformations: translations, rotation, thickening.

What to observe: errors near 3.7 %; what invariances add lies within the standard error of 2,007 digits, 0.43 points.

    python benchmarks/papers/kernel_fisher_usps.py --output docs/results/kernel_fisher_usps.md
"""

import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine
from _reports import option_parser, publish
from data import load_usps

from preimage import KernelFisherDiscriminant
from preimage.invariances import Rotate, TangentCovariance, Thicken, TranslateX, TranslateY, VirtualExamples

SHAPE, GAMMA, N_POINTS, N_TRAIN = (16, 16), 1 / 76.8, 3000, 5000
SMOOTHINGS, RIDGES, WEIGHTS = (0.75, 1.0), (1e-5, 1e-4, 1e-3, 1e-2), (1e-3, 1e-2, 1e-1)
RULES = ("empirical", "gaussian", "midpoint")
GRID = list(product(SMOOTHINGS, RIDGES, RULES))
TRANSFORMATIONS = [transformation(SHAPE) for transformation in (TranslateX, TranslateY, Rotate, Thicken)]
# Errors in the paper, and of one run of a separate program.
ROWS = [
    ("discriminants", 3.7, 3.79),
    ("with tangent covariance", 3.6, 3.74),
    ("with points from virtual examples", 3.1, 3.74),
]


def main():
    parser = option_parser(__doc__, "output")
    options = parser.parse_args()
    usps = load_usps()
    lines = run(usps)
    publish(lines, options.output)


def run(usps):
    y, yt = usps.y_train.astype(int), usps.y_test.astype(int)
    X = {s: smooth(usps.X_train, s) for s in SMOOTHINGS}
    Xt = {s: smooth(usps.X_test, s) for s in SMOOTHINGS}
    started = time.perf_counter()
    validate = lambda model, s: errors(model.fit(X[s][:N_TRAIN], y[:N_TRAIN]), X[s][N_TRAIN:], y[N_TRAIN:])
    first = lambda s: X[s][:N_POINTS]
    clustered = {s: VirtualExamples(TRANSFORMATIONS).points(X[s][:N_TRAIN], N_POINTS) for s in SMOOTHINGS}

    plain, plain_note = best({choice: validate(machine(first(choice[0]), *choice[1:]), choice[0]) for choice in GRID})
    s, mu, rule = plain
    tangent, tangent_note = best({weight: validate(machine(first(s), mu, rule, weight), s) for weight in WEIGHTS})
    virtual, virtual_note = best(
        {choice: validate(machine(clustered[choice[0]], *choice[1:]), choice[0]) for choice in GRID}
    )
    centers = VirtualExamples(TRANSFORMATIONS).points(X[virtual[0]], N_POINTS)
    describe = lambda s, mu, rule: f"smoothing {s}, μ = {mu:g}, {rule} threshold"
    models = [
        (machine(first(s), mu, rule), s, describe(*plain), plain_note),
        (machine(first(s), mu, rule, tangent), s, f"the same, λ = {tangent:g}", tangent_note),
        (machine(centers, *virtual[1:]), virtual[0], describe(*virtual), virtual_note),
    ]
    lines = [
        "# Kernel Fisher discriminants on USPS",
        "",
        "Ten discriminants against the rest, Gaussian kernel, 3,000 expansion points; smoothing, ridge, threshold and "
        "tangent weight chosen on 2,291 training digits after training on the first 5,000. One standard error of 2,007 "
        "test digits is about 0.43 points, more than the rows differ. The paper mentions no smoothing; without it its "
        "figures are out of reach.",
        "",
        "`python benchmarks/papers/kernel_fisher_usps.py --output docs/results/kernel_fisher_usps.md`",
        "",
        "| machine | paper, % | other program, % | ours, % | chosen | validation error, % |",
        "|---|---|---|---|---|---|",
    ]
    for (name, paper, other), (model, s, chosen, note) in zip(ROWS, models, strict=True):
        error = errors(model.fit(X[s], y), Xt[s], yt)
        lines.append(f"| {name} | {paper} | {other} | {error:.2f} | {chosen} | {note} |")
    lines += ["", f"{describe_machine()}; {time.perf_counter() - started:.0f} s in all."]
    return lines


def smooth(X, sigma):
    return gaussian_filter(X.astype(float).reshape(-1, *SHAPE), (0, sigma, sigma)).reshape(len(X), -1)


def machine(points, mu, rule, weight=None):
    return KernelFisherDiscriminant(
        gamma=GAMMA,
        landmarks=points,
        regularizer="identity",
        alpha=mu,
        alpha_scale="absolute",
        multiclass="one_vs_rest",
        threshold=rule,
        invariances=None if weight is None else TangentCovariance(TRANSFORMATIONS),
        invariance_weight=weight or 0.0,
    )


def errors(model, X, y):
    return 100 * float(np.mean(model.predict(X) != y))


def best(table):
    """The choice with the smallest validation error, the larger parameters of equals, and the error."""
    chosen = min(reversed(list(table)), key=table.get)
    return chosen, f"{table[chosen]:.2f} ({min(table.values()):.2f} to {max(table.values()):.2f})"


if __name__ == "__main__":
    main()
