"""How fast is kernel k-means, and does it find the clusters?

Set-up: two concentric rings (2,000 points), and the 1,797 digits of scikit-learn. Both sides have a Gaussian kernel of
the same width and ten runs, each until no point moves. The peer is the textbook algorithm in plain NumPy, vectorised,
with the whole kernel matrix and random points as first centres; times include the kernel matrix.

    python benchmarks/speed/kernel_kmeans.py --record

Observe: the adjusted Rand index of the run with the smallest objective on each side, the objectives themselves, and the
ratio of times. The largest index among the ten runs of the peer is shown as well: nobody could choose that run without
the labels. Landmarks are shown for comparison.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_circles
from sklearn.metrics import adjusted_rand_score

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record, timed
from _reports import option_parser, stamped, table

from preimage import KernelKMeans


def gaussian(X, gamma):
    squared = np.sum(X * X, axis=1)
    return np.exp(-gamma * np.maximum(squared[:, None] - 2 * X @ X.T + squared, 0))


def lloyd(K, k, rng, max_iter=300):
    """Lloyd's algorithm as textbooks write it: KZ with the indicator matrix Z in every iteration."""
    n, diagonal = len(K), np.diag(K)
    seeds = rng.choice(n, k, replace=False)
    labels = np.argmin(diagonal[seeds] - 2 * K[:, seeds], axis=1)
    for _ in range(max_iter):
        Z = np.zeros((n, k))
        Z[np.arange(n), labels] = 1
        sizes = np.maximum(Z.sum(axis=0), 1)
        F = K @ Z / sizes
        D = diagonal[:, None] - 2 * F + np.sum(Z * F, axis=0) / sizes
        new = np.argmin(D, axis=1)
        if np.array_equal(new, labels):
            break
        labels = new
    return labels, float(np.sum(D[np.arange(n), labels]))


def peer(X, gamma, k, n_init, seed):
    rng = np.random.default_rng(seed)
    K = gaussian(X, gamma)
    return [lloyd(K, k, rng) for _ in range(n_init)]


def compare(name, X, y, gamma, k, options):
    """Means over seeds, because the number of iterations depends on them."""
    index = lambda labels: adjusted_rand_score(y, labels)
    rows = {"textbook": [], "KernelKMeans": [], f"{options.landmarks} landmarks": []}
    largest = []
    for seed in range(options.seeds):
        seconds, runs = timed(lambda: peer(X, gamma, k, options.n_init, seed), 1)
        labels, inertia = min(runs, key=lambda run: run[1])
        rows["textbook"].append((seconds, inertia, index(labels)))
        largest.append(max(index(run[0]) for run in runs))
        for label, landmarks in zip(list(rows)[1:], (None, options.landmarks)):
            model = KernelKMeans(k, gamma=gamma, n_init=options.n_init, tol=0, landmarks=landmarks, random_state=seed)
            seconds, model = timed(lambda: model.fit(X), options.repeats)
            rows[label].append((seconds, model.inertia_, index(model.labels_)))
    print(f"{name}, γ = {gamma:g}, {k} clusters, {options.n_init} runs, means of {options.seeds} seeds:")
    base, found = np.mean([seconds for seconds, _, _ in rows["textbook"]]), {}
    for label, values in rows.items():
        seconds, inertia, index_of = np.mean(values, axis=0)
        each = " ".join(f"{value:.3f}" for _, _, value in values)
        print(
            f"    {label:15} {seconds:6.3f} s, {base / seconds:5.1f} x   objective {inertia:9.3f}   "
            f"index {index_of:.3f} ({each})"
        )
        found |= {f"{label}, seconds": seconds, f"{label}, objective": inertia, f"{label}, index": index_of}
    print(f"    largest index of the runs of the textbook, chosen with the labels: {np.mean(largest):.3f}")
    found["textbook, largest index"] = np.mean(largest)
    return {f"{name}, γ = {gamma:g}, {what}": float(value) for what, value in found.items()}


def section(contents):
    values, settings = contents["values"], contents["settings"]
    yield from stamped("## Kernel k-means\n", contents)
    yield (
        f"About 2,000 points, {settings['runs']} runs on each side until no point moves, means of {settings['seeds']} "
        "seeds, against a textbook implementation in NumPy with the whole Gram matrix.\n"
    )
    rows = []
    for name in dict.fromkeys(key.rpartition(", textbook, ")[0] for key in values if ", textbook, " in key):
        of = lambda what, name=name: values[f"{name}, {what}"]
        indices = [f"{of(f'{label}, index'):.3f}" for label in ("KernelKMeans", "textbook")]
        ratio = of("textbook, seconds") / of("KernelKMeans, seconds")
        rows.append([name, *indices, f"{of('textbook, largest index'):.3f}", f"{ratio:.1f}"])
    header = ["data", "adjusted Rand index, ours", "textbook, by its best objective"]
    yield from table([*header, "textbook, largest index, chosen with the labels", "time ratio"], rows)


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--n-init", type=int, default=10)
    parser.add_argument("--landmarks", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print(describe_machine())
    rings, values = make_circles(2000, factor=0.3, noise=0.05, random_state=0), {}
    for gamma in (3.0, 5.0, 10.0):
        values |= compare("rings", *rings, gamma, 2, options)
    X, y = load_digits(return_X_y=True)
    for gamma in (0.1, 0.3):
        values |= compare("digits", X / 16, y, gamma, 10, options)
    if options.record:
        settings = {"runs": options.n_init, "seeds": options.seeds, "landmarks": options.landmarks}
        record("kernel_kmeans", values, settings | {"repeats": options.repeats})


if __name__ == "__main__":
    main()
