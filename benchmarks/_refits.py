"""Leave-one-out scores by refitting: the definition, which `preimage.inflation.leave_one_out` computes at once."""

import numpy as np

from preimage._engine.linalg import match, matched
from preimage.inflation._leave_one_out import SPARE_COMPONENTS, LeaveOneOut, spectrum


def refitted_scores(gram, n_components=None, centered=True):
    """As `leave_one_out`, by a decomposition of the leading components for every point left out."""
    values, vectors = spectrum(gram, centered)
    count = len(values) if n_components is None else min(n_components, len(values))
    train = vectors[:, :count] * np.sqrt(values[:count])
    left_out, left_values = np.zeros_like(train), np.zeros_like(train)
    for n in range(len(gram)):
        others = np.delete(np.arange(len(gram)), n)
        K = gram[np.ix_(others, others)]
        fold_values, fold_vectors = spectrum(K, centered, count + SPARE_COMPONENTS)
        axes = fold_vectors / np.sqrt(fold_values)
        row = gram[n, others]
        row = row - row.mean() - K.mean(axis=0) + K.mean() if centered else row
        # ⟨axis of the fold, axis of all⟩, from the scores of the others along the latter.
        centers = train[others].mean(axis=0) if centered else 0.0
        order, signs = match(axes.T @ (train[others] - centers))
        left_out[n] = matched((row @ axes)[None, :], order, signs)[0]
        left_values[n] = matched(fold_values[None, :], order, np.ones(count))[0]
    return LeaveOneOut(train, left_out, values[:count], left_values)
