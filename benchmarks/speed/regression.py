"""Did a change make anything slower that people wait for?

Set-up: thirty operations, small and large, of two versions of the library: commits of this repository, or folders that
hold a `src/preimage`. Each round starts one process per version, in turn, so that what slows the machine for a while
slows both; a process runs every operation once to warm up and several times for the measurement. A ratio is the median
over rounds of the quotient of the fastest runs; its spread is half the range of the middle half of the rounds.

    python benchmarks/speed/regression.py v0.2.0                    # that version against the working tree
    python benchmarks/speed/regression.py v0.2.0 main --rounds 9 --only landmarks
    OMP_NUM_THREADS=1 python benchmarks/speed/regression.py HEAD~1
    OMP_NUM_THREADS=1 python benchmarks/speed/regression.py HEAD~1 --processor     # on a busy machine: processor time

Observe: ratios below 1.03 (1.10 for fits on landmarks with --landmarks 1.10); the exit code is 1 where one is above it
by more than its spread.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import geometric_mean, median, quantiles

ROOT = Path(__file__).parents[2]
# Seconds for which one operation is repeated in a process, and the fewest repetitions.
SECONDS, FEWEST = 0.4, 3


def operations():
    """{name: a function without arguments}, whose calls are timed."""
    import numpy as np
    from sklearn.datasets import load_digits, make_moons
    from sklearn.svm import SVC

    import preimage
    from preimage import (
        EmpiricalKernelMap,
        KernelFisherDiscriminant,
        KernelFisherDiscriminantCV,
        KernelImputer,
        KernelKMeans,
        KernelPCA,
        OrientedKernelPCA,
        Renormalized,
        SemiSupervisedKernelPCA,
        SparseGreedyRegressor,
    )
    from preimage.model_selection import DenoisingSearch

    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    X = X / 16
    Z = rng.normal(size=(50_000, 20))
    single = Z.astype(np.float32)
    M, m = make_moons(400, noise=0.2, random_state=0)
    partial = np.where(np.arange(500) % 5 == 0, y[:500], -1)
    gaps = np.where(rng.random((500, 64)) < 0.1, np.nan, X[:500])

    def fit(estimator, *data):
        return lambda: estimator.fit(*data)

    def asked(model, method, *rows):
        return lambda: getattr(model, method)(*rows)

    def streamed(model):
        for start in range(0, 20_000, 5_000):
            model.partial_fit(Z[start : start + 5_000])
        return model

    exact = KernelPCA(20, gamma=0.02).fit(X)
    landmarks = KernelPCA(20, gamma=0.02, landmarks=300, random_state=0).fit(Z)
    fixed = KernelPCA(20, gamma=0.02, preimage="fixed_point").fit(X[:600])
    return {
        "exact 50 × 2": fit(KernelPCA(2), M[:50]),
        "exact 300 × 64, 10": fit(KernelPCA(10), X[:300]),
        "exact 1,000 × 64, 20": fit(KernelPCA(20), X[:1000]),
        "exact 1,797 × 64, 100": fit(KernelPCA(100), X),
        "exact 5,000 × 20, 32": fit(KernelPCA(32), Z[:5000]),
        "exact 5,000 × 20, 32, float32": fit(KernelPCA(32), single[:5000]),
        "exact linear 1,000 × 64, 10": fit(KernelPCA(10, kernel="linear"), X[:1000]),
        "exact poly 1,000 × 64, 10": fit(KernelPCA(10, kernel="poly"), X[:1000]),
        "landmarks 300 of 50,000 × 20": fit(KernelPCA(20, gamma=0.02, landmarks=300, random_state=0), Z),
        "landmarks 300 of 50,000 × 20, float32": fit(KernelPCA(20, gamma=0.02, landmarks=300, random_state=0), single),
        "landmarks 100 of 1,797 × 64": fit(KernelPCA(20, landmarks=100, random_state=0), X),
        "landmarks 500 wide of 20,000 × 20": fit(KernelPCA(20, gamma=1e-3, landmarks=500, random_state=0), Z[:20_000]),
        "landmarks stream of 20,000": lambda: streamed(KernelPCA(10, gamma=0.02, landmarks=200, random_state=0)),
        "transform 1 row": asked(exact, "transform", X[:1]),
        "transform 1,797 rows": asked(exact, "transform", X),
        "transform 50,000 rows, landmarks": asked(landmarks, "transform", Z),
        "reconstruction error 1,797 rows": asked(exact, "reconstruction_error", X),
        "inverse transform 300 rows": asked(exact, "inverse_transform", exact.transform(X[:300])),
        "denoise 100 rows, fixed point": asked(fixed, "denoise", X[600:700]),
        "Fisher 400 × 2": fit(KernelFisherDiscriminant(gamma=1.0), M, m),
        "Fisher CV 400 × 2": fit(KernelFisherDiscriminantCV(), M, m),
        "k-means 1,000 × 64": fit(KernelKMeans(10, random_state=0), X[:1000]),
        "oriented 500 × 64": fit(OrientedKernelPCA(5), X[:500], X[1:501] - X[:500]),
        "semi-supervised 500 × 64": fit(SemiSupervisedKernelPCA(5), X[:500], partial),
        "greedy regression 1,797 × 64": fit(SparseGreedyRegressor(50, random_state=0), X, y),
        "empirical map 1,000 × 64": fit(EmpiricalKernelMap(), X[:1000]),
        "imputer 500 × 64": lambda: KernelImputer(random_state=0).fit_transform(gaps),
        "compress 1,000 × 64 to 50": lambda: preimage.compress(SVC().fit(X[:1000], y[:1000]), 50, X=X[:1000]),
        "denoising search 200 × 64": lambda: DenoisingSearch(random_state=0).fit(X[:200]),
        "renormalized 150 × 64": fit(Renormalized(SVC()), X[:150], y[:150] < 5),
    }


def measure(only, clock):
    """Seconds of the fastest run of each operation by a clock, printed as JSON."""
    warnings.simplefilter("ignore")
    fastest = {}
    for name, work in operations().items():
        if not any(word in name for word in only or [""]):
            continue
        work()
        seconds, started = [], time.perf_counter()
        while len(seconds) < FEWEST or time.perf_counter() - started < SECONDS:
            start = clock()
            work()
            seconds.append(clock() - start)
        fastest[name] = min(seconds)
    print(json.dumps(fastest))


def source(version, folder):
    """The folder to import a version from: a folder that is given, or the files of a commit."""
    given = Path(version)
    if given.is_dir():
        return given.resolve() if (given / "preimage").is_dir() else given.resolve() / "src"
    archive = subprocess.run(["git", "archive", version, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    (folder / version.replace("/", "_")).mkdir()
    subprocess.run(["tar", "-x"], input=archive, cwd=folder / version.replace("/", "_"), check=True)
    return folder / version.replace("/", "_") / "src"


def run(src, options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(src), os.environ.get("PYTHONPATH", "")])}
    arguments = [sys.executable, __file__, "--measure", *(["--processor"] if options.processor else [])]
    arguments += ["--only", *options.only] if options.only else []
    return json.loads(subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True).stdout)


def compare(before, after, options):
    """{name: (seconds before, seconds after, ratio, spread)}."""
    found = []
    for number in range(options.rounds):
        order = [before, after] if number % 2 == 0 else [after, before]
        results = {src: run(src, options) for src in order}
        found.append((results[before], results[after]))
    table = {}
    for name in found[0][0]:
        ratios = [new[name] / old[name] for old, new in found]
        low, _, high = quantiles(ratios, n=4) if options.rounds > 1 else (ratios[0],) * 3
        seconds = [median(each[side][name] for each in found) for side in (0, 1)]
        table[name] = (*seconds, median(ratios), (high - low) / 2)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", help="commit or folder")
    parser.add_argument("after", nargs="?", default=str(ROOT), help="commit or folder; default: the working tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="operations whose names contain one of these words")
    parser.add_argument("--most", type=float, default=1.03, help="largest ratio")
    parser.add_argument("--landmarks", type=float, default=None, help="largest ratio of fits on landmarks")
    parser.add_argument("--processor", action="store_true", help="processor time in place of wall-clock time")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.only, time.process_time if options.processor else time.perf_counter)
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from _measure import describe_machine

    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        before, after = (source(version, Path(folder)) for version in (options.before, options.after))
        table = compare(before, after, options)
    slower = 0
    print(f"\n| operation | before (ms) | after (ms) | ratio | spread |  |\n|{'---|' * 6}")
    for name, (old, new, ratio, spread) in table.items():
        most = options.landmarks if options.landmarks and name.startswith("landmarks") else options.most
        is_slower = ratio - spread > most
        slower += is_slower
        mark = "slower" if is_slower else ""
        print(f"| {name} | {1e3 * old:.2f} | {1e3 * new:.2f} | {ratio:.3f} | {spread:.3f} | {mark} |")
    mean = geometric_mean(ratio for _, _, ratio, _ in table.values())
    print(f"\ngeometric mean of {len(table)} ratios {mean:.3f}; {slower} slower")
    sys.exit(slower > 0)


if __name__ == "__main__":
    main()
