"""Data sets with entries taken out, for the comparison of imputers."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from data import (
    load_abalone,
    load_boston,
    load_gene_expression,
    load_ida,
    load_ionosphere,
    load_mnist,
    load_usps,
)
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_s_curve,
    make_swiss_roll,
)

PATTERNS = ("10 %", "30 %", "50 %", "blocks")
N_GENES = 200  # those of largest variance; round-robin regression on all 2,000 would not finish


class DataSet(NamedTuple):
    """Where rows come from, how many train, tune and test, and what a block of missing entries is.

    `image` is the shape of an image, whose blocks are bands of half of its height; others miss a third of their
    columns, side by side. Columns of tables have unlike units and are standardised. Rows of small sets are tested with
    several masks each, and with several draws of the rows. Methods and their defaults were chosen on the sets with
    `is_development`; what is claimed is measured on the others.
    """

    rows: Callable[[np.random.Generator], np.ndarray]
    sizes: tuple[int, int, int]
    image: tuple[int, int] | None = None
    is_table: bool = False
    n_masks: int = 1
    n_draws: int = 1
    is_development: bool = False


class Draw(NamedTuple):
    """Rows of one draw, in the units in which errors are measured."""

    train: np.ndarray
    tune: np.ndarray
    test: np.ndarray


def draw(name: str, seed: int) -> Draw:
    """Training, validation and test rows; tables are standardised by the training rows."""
    data = SETS[name]
    rng = np.random.default_rng(seed)
    X = data.rows(rng)
    X = X[rng.permutation(len(X))]
    train, tune, test, _ = np.split(X, np.cumsum(data.sizes))
    if data.is_table:
        mean, deviation = train.mean(axis=0), train.std(axis=0)
        deviation[deviation == 0] = 1
        train, tune, test = ((part - mean) / deviation for part in (train, tune, test))
    repeated = (np.repeat(part, data.n_masks, axis=0) for part in (tune, test))
    return Draw(train, *repeated)


def missing(name: str, X: np.ndarray, pattern: str, rng: np.random.Generator) -> np.ndarray:
    """Which entries of X are taken out; every row and every column keeps one."""
    q, d = X.shape
    image = SETS[name].image
    if pattern != "blocks":
        mask = rng.random((q, d)) < float(pattern.removesuffix(" %")) / 100
    elif image is not None:
        height, width = image
        first = rng.integers(0, height - height // 2 + 1, size=q)
        lines = np.arange(height) - first[:, None]
        mask = np.repeat((lines >= 0) & (lines < height // 2), width, axis=1)
    else:
        first = rng.integers(0, d, size=q)
        mask = (np.arange(d) - first[:, None]) % d < max(1, d // 3)
    mask[mask.all(axis=1), 0] = False
    mask[0, mask.all(axis=0)] = False
    return mask


def spectra(rng: np.random.Generator, n_rows: int = 600) -> np.ndarray:
    """Two peaks that move, as in examples/denoise/plot_denoise_spectra.py, with noise of 0.02."""
    channels = np.linspace(0, 1, 100)
    peak = lambda place, width: np.exp(-(((channels - place[:, None]) / width) ** 2) / 2)
    place, height = rng.uniform(0.25, 0.6, size=n_rows), rng.uniform(0.6, 1, size=(n_rows, 1))
    clean = height * peak(place, 0.035) + 0.6 * peak(1 - 0.5 * place, 0.07)
    return clean + rng.normal(scale=0.02, size=clean.shape)


def faces(rng: np.random.Generator, n_rows: int = 400, n_people: int = 40, size: int = 16) -> np.ndarray:
    """Drawn faces: forty people whose features differ, each ten times with other poses, lights and mouths."""
    people = rng.standard_normal((n_people, 10))
    side = (np.arange(size) + 0.5) / size * 2 - 1
    x, y = np.meshgrid(side, side)
    blob = lambda cx, cy, sx, sy: np.exp(-(((x - cx) / sx) ** 2 + ((y - cy) / sy) ** 2) / 2)
    edge = lambda t: 1 / (1 + np.exp(-t))
    images = []
    for i in range(n_rows):
        p = people[i % n_people]
        cx, cy, light, mouth = rng.uniform(-0.25, 0.25), rng.uniform(-0.12, 0.12), rng.uniform(-1, 1), rng.normal()
        head = edge(6 * (1 - ((x - cx / 2) / (0.72 + 0.06 * p[0])) ** 2 - ((y - cy / 2) / (0.9 + 0.05 * p[1])) ** 2))
        apart, level, wide = 0.32 + 0.04 * p[2], -0.2 + 0.05 * p[3] + cy, 0.13 + 0.02 * p[5]
        skin = (
            0.65 + 0.1 * p[4] - 0.35 * blob(cx, 0.5 + 0.04 * p[8] + cy, 0.25 + 0.05 * mouth, 0.06 + 0.02 * abs(mouth))
        )
        for eye in (cx - apart, cx + apart):
            skin = (
                skin - 0.45 * blob(eye, level, wide, 0.08) - (0.15 + 0.075 * p[6]) * blob(eye, level - 0.2, 0.18, 0.05)
            )
        skin = skin - 0.2 * blob(cx + 0.1 * light, 0.15 + cy, 0.07 + 0.015 * p[7], 0.18)
        hair = edge(-14 * (y - cy + 0.55 + 0.1 * p[9]))
        shade = head * (skin * (1 - hair) + (0.15 + 0.1 * (p[4] > 0)) * hair) * (1 + 0.35 * light * x)
        images.append(np.clip(shade + rng.normal(scale=0.02, size=shade.shape), 0, 1).ravel())
    return np.array(images)


def genes() -> np.ndarray:
    """Logarithms of the expression of the `N_GENES` genes that vary most, in the colon set."""
    X = np.log(np.maximum(load_gene_expression("colon_tumor").X.astype(float), 1.0))
    return X[:, np.argsort(-X.var(axis=0))[:N_GENES]]


def swiss_roll(rng: np.random.Generator) -> np.ndarray:
    """A rolled sheet in three columns, and with noise the two coordinates of the sheet itself."""
    sheet, angle = make_swiss_roll(900, noise=0.2, random_state=int(rng.integers(2**31)))
    flat = np.column_stack([angle, sheet[:, 1]]) + np.array([0.3, 3.0]) * rng.normal(size=(900, 2))
    return np.hstack([sheet, flat])


def s_curve(rng: np.random.Generator) -> np.ndarray:
    """A sheet bent as the letter S in five columns, of which two repeat others with noise."""
    sheet = make_s_curve(700, noise=0.05, random_state=int(rng.integers(2**31)))[0]
    copies = sheet[:, [0, 2]] @ np.array([[1.0, 0.5], [-0.5, 1.0]])
    return np.hstack([sheet, copies + 0.3 * rng.normal(size=copies.shape)])


def low_rank(rng: np.random.Generator) -> np.ndarray:
    """Three factors in twenty columns, with a tenth of noise."""
    signal = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 20))
    return signal + 0.1 * rng.normal(size=signal.shape)


def heavy_tails(rng: np.random.Generator) -> np.ndarray:
    """Two factors with three degrees of freedom in eight columns, some of them as logarithms have them."""
    signal = rng.standard_t(3, size=(500, 2)) @ rng.normal(size=(2, 8)) + 0.3 * rng.standard_t(3, size=(500, 8))
    return np.hstack([signal[:, :5], np.exp(0.5 * np.clip(signal[:, 5:], -6, 6))])


def small_images(rng: np.random.Generator) -> np.ndarray:
    """Handwritten digits of 14 × 14 pixels."""
    images = load_mnist().X_train[:6000].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) / 255
    return images.reshape(-1, 196)[rng.permutation(6000)[:600]]


DEVELOPMENT = {
    "Swiss roll": DataSet(swiss_roll, (300, 100, 300), is_table=True, n_draws=2),
    "iris": DataSet(lambda rng: load_iris().data, (80, 25, 45), is_table=True, n_masks=3, n_draws=3),
    "20 rows": DataSet(lambda rng: load_iris().data, (20, 10, 60), is_table=True, n_masks=3, n_draws=5),
    "low rank": DataSet(low_rank, (200, 60, 200), is_table=True, n_draws=2),
    "Boston": DataSet(lambda rng: load_boston().X.astype(float), (280, 80, 140), is_table=True, n_draws=2),
    "MNIST": DataSet(small_images, (300, 80, 150), image=(14, 14)),
}
REPORT = {
    "S curve": DataSet(s_curve, (300, 100, 250), is_table=True, n_draws=2),
    "heavy tails": DataSet(heavy_tails, (200, 60, 200), is_table=True, n_draws=3),
    "diabetes": DataSet(lambda rng: load_diabetes().data, (250, 70, 120), is_table=True, n_draws=2),
    "thyroid": DataSet(lambda rng: load_ida("thyroid").X.astype(float), (120, 35, 60), is_table=True, n_draws=3),
    "ionosphere": DataSet(lambda rng: load_ionosphere().X.astype(float), (200, 60, 90), is_table=True, n_draws=2),
}
SETS = {
    **{name: data._replace(is_development=True) for name, data in DEVELOPMENT.items()},
    **REPORT,
    "digits": DataSet(lambda rng: load_digits().data / 16, (1000, 200, 400), image=(8, 8)),
    "USPS": DataSet(lambda rng: (load_usps().X_train.astype(float) + 1) / 2, (500, 100, 200), image=(16, 16)),
    "faces": DataSet(faces, (240, 60, 100), image=(16, 16)),
    "spectra": DataSet(spectra, (350, 100, 150)),
    "wine": DataSet(lambda rng: load_wine().data, (100, 30, 48), is_table=True, n_masks=3, n_draws=3),
    "breast cancer": DataSet(lambda rng: load_breast_cancer().data, (320, 100, 149), is_table=True, n_draws=2),
    "abalone": DataSet(lambda rng: load_abalone().X.astype(float), (600, 150, 300), is_table=True, n_draws=2),
    "genes": DataSet(lambda rng: genes(), (36, 10, 16), is_table=True, n_draws=2),
}
