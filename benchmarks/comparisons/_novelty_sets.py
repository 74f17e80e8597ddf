"""Data sets with normal and novel rows: real ones, and development sets with groups and rows that repeat."""

import numpy as np
from data import IDA_NAMES, load_coil20, load_ida, load_ionosphere, load_mnist, load_usps
from sklearn import datasets as bundled

BUNDLED = {
    "digits": bundled.load_digits,
    "breast cancer (Wisconsin)": bundled.load_breast_cancer,
    "wine": bundled.load_wine,
    "iris": bundled.load_iris,
}
PIXELS = ("digits", "usps", "mnist", "objects")


def load(task):
    """Rows, and which of them belong to the largest class."""
    if task in MADE:
        return MADE[task]()
    if task in BUNDLED:
        X, y = BUNDLED[task](return_X_y=True)
    elif task in IDA_NAMES:
        data = load_ida(task)
        X, y = data.X, data.y
    elif task in ("usps", "mnist"):
        data = load_usps() if task == "usps" else load_mnist()
        X, y = data.X_train, data.y_train
    else:
        data = load_ionosphere()
        X, y = data.X, data.y
    classes, counts = np.unique(y, return_counts=True)
    return np.asarray(X, dtype=float), y == classes[np.argmax(counts)]


def curved_sheet():
    """A rolled sheet with noise, and rows anywhere in its box."""
    rng = np.random.default_rng(5)
    t = rng.uniform(0, 9, 2000)
    X = np.column_stack([t * np.cos(t), rng.uniform(0, 10, 2000), t * np.sin(t)]) + 0.15 * rng.normal(size=(2000, 3))
    return np.vstack([X, rng.uniform(X.min(axis=0), X.max(axis=0), (1000, 3))]), np.arange(3000) < 2000


def heavy_tails():
    """Eight columns that two causes with heavy tails make, and rows whose columns come from different rows."""
    rng = np.random.default_rng(6)
    X = rng.standard_t(3, (2000, 2)) @ rng.normal(size=(2, 8)) + 0.3 * rng.standard_t(3, (2000, 8))
    return np.vstack([X, np.apply_along_axis(rng.permutation, 0, X)[:1000]]), np.arange(3000) < 2000


def ring_and_noise():
    """A thick ring of 120 rows in two columns, and rows anywhere in its box."""
    rng = np.random.default_rng(7)
    angles = rng.uniform(0, 2 * np.pi, 120)
    X = np.column_stack([np.cos(angles), np.sin(angles)]) * (1 + 0.1 * rng.normal(size=(120, 1)))
    return np.vstack([X, rng.uniform(-1.5, 1.5, (100, 2))]), np.arange(220) < 120


def some_classes(load_classes, normal, novel):
    """Rows of some classes, and of others that are novel."""
    X, y = load_classes()
    rows = np.flatnonzero(np.isin(y, [*normal, *novel]))
    return X[rows], np.isin(y[rows], normal)


def digits(normal, novel):
    return some_classes(lambda: bundled.load_digits(return_X_y=True), normal, novel)


def objects(normal, novel):
    """Views of objects in 16 × 16 pixels."""
    data = load_coil20()
    X = np.asarray(data.X, dtype=float).reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(len(data.X), -1)
    return some_classes(lambda: (X / 255, data.y), normal, novel)


def two_clusters(n_columns, spread, seed, n_normal=700, freedom=None):
    """A normal distribution, or one with heavy tails, and two clusters of novel rows at its edge."""
    rng = np.random.default_rng(seed)
    shape = (n_normal, n_columns)
    X = rng.normal(size=shape) if freedom is None else rng.standard_t(freedom, shape)
    centers = rng.normal(size=(2, n_columns))
    centers *= (2.2 + 0.35 * np.sqrt(n_columns)) / np.linalg.norm(centers, axis=1, keepdims=True)
    novel = np.vstack([center + spread * rng.normal(size=(200, n_columns)) for center in centers])
    return np.vstack([X, novel]), np.arange(n_normal + 400) < n_normal


def moons_and_groups():
    rng = np.random.default_rng(3)
    X = bundled.make_moons(800, noise=0.08, random_state=1)[0]
    groups = [rng.normal([0.5, 0.25], 0.05, (150, 2)), rng.normal([-0.6, -0.6], 0.1, (150, 2))]
    return np.vstack([X, *groups, rng.uniform([-1.5, -1], [2.5, 1.5], (60, 2))]), np.arange(1160) < 800


def in_levels(task, levels, n_columns=None):
    """A development set with some columns only, of few levels, each as frequent as the others."""
    X, is_normal = load(task)
    columns = np.arange(X.shape[1])
    X = X[:, columns if n_columns is None else np.random.default_rng(0).permutation(columns)[:n_columns]]
    steps = np.quantile(X, np.linspace(0, 1, levels + 1)[1:-1], axis=0)
    return (steps[:, None] < X).sum(axis=0).astype(float), is_normal


def categories(seed, n_columns, levels):
    """Codes of categories: normal rows of three latent classes, novel ones of two."""
    rng = np.random.default_rng(seed)
    classes = [rng.dirichlet(np.full(levels, 0.4), size=n_columns) for _ in range(5)]
    counts = [500] * 3 + [200] * 2
    rows = [
        np.column_stack([rng.choice(levels, count, p=column) for column in of_class])
        for of_class, count in zip(classes, counts, strict=True)
    ]
    return np.vstack(rows).astype(float), np.arange(sum(counts)) < 1500


def smaller_class(task):
    X, is_normal = load(task)
    return X, ~is_normal


def are_pixels(task):
    return any(word in PIXELS for word in task.replace(",", "").split())


MADE = {
    "curved sheet": curved_sheet,
    "heavy tails": heavy_tails,
    "ring and noise": ring_and_noise,
    "digits 0, novel 1": lambda: digits([0], [1]),
    "digits 8, novel 1 and 7": lambda: digits([8], [1, 7]),
    "digits 2 and 5, novel 4": lambda: digits([2, 5], [4]),
    "even digits, novel 9": lambda: digits([0, 2, 4, 6, 8], [9]),
    "objects, two novel": lambda: objects([2, 3, 5, 6, 8], [14, 19]),
    "two clusters, 5 columns": lambda: two_clusters(5, 0.5, 1),
    "two clusters, 13 columns, 70 rows": lambda: two_clusters(13, 0.6, 2, n_normal=70),
    "two clusters, 13 columns": lambda: two_clusters(13, 1.0, 3),
    "moons and groups": moons_and_groups,
    "diabetis in 3 levels": lambda: in_levels("diabetis", 3),
    "heart in 2 levels": lambda: in_levels("heart", 2, 6),
    "image in 3 levels": lambda: in_levels("image", 3, 6),
    "breast cancer in 3 levels": lambda: in_levels("breast cancer (Wisconsin)", 3, 5),
    "thyroid in 4 levels": lambda: in_levels("thyroid", 4),
    "twonorm in 2 levels": lambda: in_levels("twonorm", 2, 7),
    "categories, 8 of 3 levels": lambda: categories(11, 8, 3),
    "categories, 9 of 3 levels": lambda: categories(12, 9, 3),
    "categories, 6 of 4 levels": lambda: categories(13, 6, 4),
    "categories, 10 of 2 levels": lambda: categories(14, 10, 2),
    "heart, smaller class": lambda: smaller_class("heart"),
    "image, smaller class": lambda: smaller_class("image"),
    "two clusters, heavy tails": lambda: two_clusters(8, 0.5, 4, freedom=3),
    "objects, one novel": lambda: objects([1, 4, 7, 9, 12], [15]),
    "many objects, one novel": lambda: objects([*range(1, 11)], [16]),
}
DEVELOPMENT = [
    "digits",
    "breast cancer (Wisconsin)",
    "diabetis",
    "heart",
    "image",
    "thyroid",
    "twonorm",
    *MADE,
]
REPORT = [
    "banana",
    "breast_cancer",
    "flare_solar",
    "german",
    "ringnorm",
    "splice",
    "titanic",
    "waveform",
    "ionosphere",
    "usps",
    "mnist",
    "wine",
    "iris",
]
