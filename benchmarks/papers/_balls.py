"""Nearly smallest balls around points of which inner products are known, by the algorithms of the publication.

Both return an upper bound of the squared radius, which `preimage.widths.enclosing_ball` finds exactly.
"""

import numpy as np

from preimage.widths._enclosing import center_distances

# Steps of the mean weight towards far points, in units of one over the squared radius. Larger steps oscillate.
LEARNING_RATE = 2.0
# A point whose squared distance is 2 % of the squared radius smaller is drawn e times less often.
DRAW_SHARPNESS = 50.0
# Line searches among rows that are known already, for each row that is drawn.
CORRECTIONS = 8


def multiplicative_weights(G, n_steps):
    """Weight grows on far points, qᵢ ∝ qᵢ exp(+η d²(i; p)), and p is the mean of q; O(K²) per step."""
    p = np.full(len(G), 1 / len(G))
    scale = center_distances(G, p).max()
    G = G / scale
    log_q = np.zeros(len(G))
    for step in range(1, n_steps + 1):
        log_q += LEARNING_RATE * center_distances(G, p)
        q = np.exp(log_q - log_q.max())
        p = (1 - 1 / step) * p + q / q.sum() / step
    return scale * center_distances(G, p).max()


def randomized(G, n_steps, rng):
    """Each step draws a point, far ones most often, and moves the centre along the line to it by exact line search.

    The centre is a mean of drawn points alone, so that drawn rows of G tell its distances to all points: a step costs a
    row and O(K).
    """
    diagonal, first = np.diag(G), int(rng.integers(len(G)))
    p, known = np.zeros(len(G)), np.zeros(len(G), dtype=bool)
    p[first], known[first] = 1.0, True
    product = G[first].copy()
    best = np.inf
    for _ in range(n_steps):
        distances = np.maximum(p @ product + diagonal - 2 * product, 0)
        best = min(best, distances.max())
        weights = np.exp(DRAW_SHARPNESS * (distances - distances.max()) / best)
        point = int(rng.choice(len(G), p=weights / weights.sum()))
        known[point] = True
        for _ in range(CORRECTIONS + 1):
            p, product = _moved(G, p, product, point, diagonal)
            distances = np.maximum(p @ product + diagonal - 2 * product, 0)
            best = min(best, distances.max())
            dual = p @ diagonal - p @ product
            far = int(np.argmax(np.where(known, distances, -np.inf)))
            near = int(np.argmin(np.where(p > 0, distances, np.inf)))
            point = far if distances[far] - dual >= dual - distances[near] else near
    return best


def _moved(G, p, product, point, diagonal):
    """The dual value along the line to a point, or away from it, is dual + τ(d − dual) − τ²d."""
    distance = p @ product + diagonal[point] - 2 * product[point]
    dual = p @ diagonal - p @ product
    least = -p[point] / (1 - p[point]) if p[point] < 1 else 0.0
    step = np.clip((distance - dual) / (2 * max(distance, np.finfo(float).tiny)), least, 1.0)
    p = (1 - step) * p
    p[point] = 0.0 if step == least < 0 else p[point] + step
    return p, (1 - step) * product + step * G[point]
