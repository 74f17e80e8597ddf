"""How long do two calls take that are made once per model, next to scikit-learn's?

Set-up: `EmpiricalKernelMap.fit` on points that are given, on as many that are drawn, and on a number that the default
selector chooses, next to `Nystroem.fit` with as many components; and the first `inverse_transform` of a fitted
`KernelPCA`, which learns the map to inputs, next to what `fit_inverse_transform=True` adds to a fit of scikit-learn's.
One thread, in turn, minima; processor seconds, as the machine may be shared.

    OMP_NUM_THREADS=1 python benchmarks/speed/first_calls.py --record

Observe: ratios of our time over theirs. Points that a selector chooses come with what they leave of the kernel, which
random ones do not; the map to inputs is chosen among kernels and ridges by rows that are left out, where scikit-learn's
has those of the caller.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as Peer
from sklearn.kernel_approximation import Nystroem

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record
from _reports import option_parser

from preimage import EmpiricalKernelMap, KernelPCA
from preimage.kernels import squared_distance_percentile
from preimage.landmarks import Uniform

POINTS = (50, 100, 300)
COMPONENTS = (10, 50)


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    values = {}
    digits, wide = load_digits().data[:1000] / 16, factors(1000, 240)
    for m in POINTS:
        values |= maps(digits, m, arguments.repeats)
    for name, X in (("1,000 × 240", wide), ("1,000 digits", digits), ("300 × 10", factors(300, 10))):
        for k in COMPONENTS:
            values |= ways_back(name, X, k, arguments.repeats)
    for name, value in values.items():
        print(f"{name}: {value:.3g}")
    if arguments.record:
        record("first_calls", values, {"data": "digits / 16, table", "repeats": arguments.repeats, "threads": 1})


def factors(n, d):
    """Rows of a few factors and noise."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d // 5)) @ rng.normal(size=(d // 5, d)) + 0.1 * rng.normal(size=(n, d))


def width(X):
    return float(1 / (2 * squared_distance_percentile(X, 50)))


def fastest(functions, repeats):
    """Processor seconds of the fastest run of each function, taken in turn."""
    seconds = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.process_time()
            taken = function()
            seconds[name].append(time.process_time() - start if taken is None else taken)
    return {name: min(times) for name, times in seconds.items()}


def maps(X, m, repeats):
    """Fits to m points: {name of a ratio: value}."""
    gamma = width(X)
    given = X[np.random.default_rng(0).permutation(len(X))[:m]]
    own = lambda landmarks: lambda: _fitted(EmpiricalKernelMap(gamma=gamma, landmarks=landmarks, whiten=True), X)
    found = fastest(
        {
            "Nystroem": lambda: _fitted(Nystroem(gamma=gamma, n_components=m, random_state=0), X),
            "given": own(given),
            "drawn": own(Uniform(m, random_state=0)),
            "selected": own(m),
        },
        repeats,
    )
    return {f"map to {m} points, {name}": found[name] / found["Nystroem"] for name in ("given", "drawn", "selected")}


def _fitted(model, X):
    model.fit(X)


def ways_back(name, X, k, repeats):
    """First calls of `inverse_transform`: {name of a ratio: value}."""
    gamma = width(X)

    def first_call():
        model = KernelPCA(k, gamma=gamma).fit(X)
        Y = model.transform(X[:5])
        start = time.process_time()
        model.inverse_transform(Y)
        return time.process_time() - start

    def fit_of_theirs():
        # What the option adds to a fit: the method that it calls there.
        model = Peer(k, kernel="rbf", gamma=gamma).fit(X)
        Y = model.transform(X)
        start = time.process_time()
        model._fit_inverse_transform(Y, X)
        return time.process_time() - start

    found = fastest({"ours": first_call, "theirs": fit_of_theirs}, repeats)
    return {f"first inverse, {name}, k = {k}": found["ours"] / found["theirs"]}


if __name__ == "__main__":
    main()
