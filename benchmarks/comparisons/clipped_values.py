"""Which criterion chooses a denoiser well when values are clipped, as saturated pixels are?

Question: the mean squared error of `DenoisingSearch().fit(noisy).denoise(noisy)` with "auto", which is
Stein's estimate here, with the prediction of hidden columns, and with a deviation that is given; compared with a search
that is judged by the clean values of its held-out rows, which nobody has.

Set-up: digits, USPS and 8 × 8 patches of a photograph, with values from 0 to 1 and Gaussian noise; as it is, clipped to
[0, 1], and clipped and rounded to 8 bits. Default candidates.

    python benchmarks/comparisons/clipped_values.py

Observe: that "auto" is near the best column in every row, that hidden columns are not, and how many values are
recognised as clipped: none where none were.
"""

import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits, load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine
from _reports import option_parser
from data import load_usps

from preimage._engine.arrays import take_rows
from preimage.model_selection import DenoisingSearch
from preimage.model_selection._denoising_criteria import AddedNoise

CASES = [("digits", 200, 0.2), ("digits", 600, 0.1), ("digits", 600, 0.2), ("digits", 600, 0.4)]
CASES += [("usps", 600, 0.2), ("usps", 600, 0.4), ("patches", 400, 0.1), ("patches", 400, 0.3)]
KINDS = {
    "plain": lambda values: values,
    "clipped": lambda values: np.clip(values, 0, 1),
    "8 bits": lambda values: np.rint(np.clip(values, 0, 1) * 255) / 255,
}


class Informed(DenoisingSearch):
    """A search that sees the clean values of the rows that judge."""

    def fit(self, X, clean):
        self._clean = clean
        return super().fit(X)

    def _error_estimate(self, X, judging_rows, rest, rng):
        self.criterion_, self.noise_, self.clipped_ = "informed", None, None
        return AddedNoise(self._clean[judging_rows], take_rows(X, judging_rows))


def clean_values(name, n, draw):
    rng = np.random.default_rng(draw)
    if name == "patches":
        grey = load_sample_image("china.jpg").mean(axis=2)[::2, ::2] / 255
        return extract_patches_2d(grey, (8, 8), max_patches=n, random_state=draw).reshape(n, -1)
    X = load_digits().data / 16 if name == "digits" else (load_usps().X_train + 1) / 2
    return X[rng.permutation(len(X))[:n]]


def study(name, n, deviation, kind, draws):
    """Mean errors of the noisy rows and of each search, and the fraction that was recognised as clipped."""
    totals = []
    for draw in range(draws):
        clean = clean_values(name, n, draw)
        noisy = KINDS[kind](clean + np.random.default_rng(100 + draw).normal(0, deviation, clean.shape))
        searches = [
            Informed().fit(noisy, clean),
            *(DenoisingSearch(criterion=each).fit(noisy) for each in ("auto", "masked")),
            DenoisingSearch(sigma=deviation).fit(noisy),
        ]
        errors = [np.mean((search.denoise(noisy) - clean) ** 2) for search in searches]
        totals.append([np.mean((noisy - clean) ** 2), *errors, searches[1].clipped_])
    return np.mean(totals, axis=0)


def main():
    parser = option_parser(__doc__, "jobs")
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    rows = [(*case, kind) for case in CASES for kind in KINDS]
    found = Parallel(n_jobs=options.jobs)(delayed(study)(*row, options.draws) for row in rows)
    print(f"{describe_machine()}; mean of {options.draws} draws\n")
    print("| Data | Noise | Values | Noisy | Informed | auto | masked | σ given | Recognised as clipped |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (name, n, deviation, kind), (*errors, clipped) in zip(rows, found, strict=True):
        figures = " | ".join(f"{each:.4f}" for each in errors)
        print(f"| {name}, {n} | {deviation} | {kind} | {figures} | {clipped:.1%} |")


if __name__ == "__main__":
    main()
