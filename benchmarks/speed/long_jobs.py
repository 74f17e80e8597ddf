"""Which jobs take so long on one core that users give up?

Set-up, one thread: `Renormalized(SVC())` on 2,000 rows of several kinds, easy and hard for exact leave-one-out (two
classes that overlap, labels at random, one class in twenty, as many columns as rows, ten classes); the inputs behind
128 axes of kernel PCA on scikit-learn's digits, by the default solver; semi-supervised kernel PCA of 5,000 points,
every tenth labelled.

    python benchmarks/speed/long_jobs.py --record         # all
    python benchmarks/speed/long_jobs.py axes labels      # those whose names contain one of the words

Observe: seconds of single runs. Renormalized: ten seconds at most; axes: two; semi-supervised: thirty.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _processes import again_with_threads


def renormalized(X, y):
    from sklearn.svm import SVC

    from preimage import Renormalized

    return lambda: Renormalized(SVC()).fit(X, y)


def overlapping(n):
    from sklearn.datasets import make_classification

    return renormalized(*make_classification(n, 20, n_informative=8, class_sep=0.7, flip_y=0.05, random_state=0))


def random_labels(n, d=20):
    import numpy as np

    rng = np.random.default_rng(0)
    return renormalized(rng.normal(size=(n, d)), rng.integers(2, size=n))


def rare(n):
    import numpy as np

    rng = np.random.default_rng(0)
    y = (np.arange(n) % 20 == 0).astype(int)
    return renormalized(rng.normal(size=(n, 20)) + 0.5 * y[:, None], y)


def ten_classes(n):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return renormalized(X[:n] / 16, y[:n])


def banana(n):
    """A curve in the plane and points around it: few columns, many pairs of nearly equal points."""
    import numpy as np

    rng = np.random.default_rng(0)
    t = rng.normal(size=n)
    y = rng.integers(2, size=n)
    return renormalized(np.column_stack([t, t**2 + y + rng.normal(size=n)]), y)


def axes(n, count=128):
    from sklearn.datasets import load_digits

    from preimage import KernelPCA

    model = KernelPCA(min(count, n // 2), gamma="median", landmarks=None).fit(load_digits().data[:n] / 16)
    return lambda: model.component_preimages(min(count, n // 2))


def semi_supervised(n):
    import numpy as np
    from sklearn.datasets import make_classification

    from preimage import SemiSupervisedKernelPCA

    X, y = make_classification(n, 20, n_informative=8, class_sep=0.7, flip_y=0.05, random_state=0)
    some = np.where(np.arange(n) % 10 == 0, y, -1)
    return lambda: SemiSupervisedKernelPCA(3).fit(X, some)


# How each job is made from a number of rows, and how many it has.
JOBS = {
    "Renormalized, overlapping classes": (overlapping, 2000),
    "Renormalized, random labels": (random_labels, 2000),
    "Renormalized, random labels, 2,000 columns": (lambda n: random_labels(n, n), 2000),
    "Renormalized, one in twenty": (rare, 2000),
    "Renormalized, banana": (banana, 2000),
    "Renormalized, ten digits, 1,797 rows": (ten_classes, 1797),
    "axes, component_preimages(128), digits": (axes, 1797),
    "semi-supervised, 5,000 rows": (semi_supervised, 5000),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="of the names of jobs; all jobs when left out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="keep the figures for the texts that quote them")
    parser.add_argument("--folder", type=Path, help="where --record writes")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the rows, to try the script")
    parser.add_argument("--budget", type=float, default=1e9, help="no further job begins after so many seconds")
    options = parser.parse_args()
    again_with_threads(options.threads)

    from _measure import RECORDS, describe_machine, record

    warnings.simplefilter("ignore")
    print(describe_machine())
    start, values = time.perf_counter(), {}
    for name, (make, rows) in JOBS.items():
        if options.words and not any(word in name for word in options.words):
            continue
        if time.perf_counter() - start > options.budget:
            print(f"{name:46} not begun")
            continue
        job = make(int(options.fraction * rows))
        wall, cpu = time.perf_counter(), time.process_time()
        job()
        values[name] = time.perf_counter() - wall
        print(f"{name:46}{values[name]:9.2f} s, CPU {time.process_time() - cpu:8.2f} s", flush=True)
    if options.record:
        record("long_jobs", values, {"threads": options.threads}, options.folder or RECORDS)


if __name__ == "__main__":
    main()
