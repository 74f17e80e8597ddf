"""Random numbers: always from a NumPy generator, so that a seed means the same on every device."""

import numpy as np


def generator(random_state):
    """A NumPy generator from what scikit-learn's users pass as `random_state`."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
