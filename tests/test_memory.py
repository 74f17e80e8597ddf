"""Memory budgets."""

import numpy as np
import pytest

from preimage._memory import free_memory, memory_budget

X = np.ones((2, 2))


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GB", 10**9), ("1.5 gb", 1.5 * 10**9), ("512MiB", 512 * 2**20), ("100", 100), ("2k", 2000), (12345, 12345)],
)
def test_sizes(text, size):
    assert memory_budget(text, X) == size


@pytest.mark.parametrize("text", ["", "GB", "1XB", "1..2GB", "one"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="512MiB"):
        memory_budget(text, X)


def test_default_is_half_of_what_is_free():
    assert 0 < memory_budget(None, X) <= free_memory(X)
