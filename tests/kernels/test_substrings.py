"""Counts of substrings against counts one by one."""

import naive
import numpy as np
import pytest

from preimage.kernels import _substrings
from preimage.kernels._substrings import Substrings

RNG = np.random.default_rng(1)
TEXTS = ["", "a", "banana", "ananas", "été", "𝔘𝔘𝔘", "".join(map(chr, RNG.integers(0x4E00, 0x9FFF, 300)))]
OTHERS = ["bandana", "", "𝔘a", "xyz", "ana" * 30]


@pytest.mark.parametrize("table", [0, 10**9], ids=["sorted", "by a table"])
@pytest.mark.parametrize(("shortest", "longest"), [(1, 1), (1, 4), (3, 3), (2, 5)])
def test_counts_are_those_of_counting_one_by_one(monkeypatch, table, shortest, longest):
    monkeypatch.setattr(_substrings, "TABLE_PER_KEY", 0)
    monkeypatch.setattr(_substrings, "SMALL_TABLE", table)
    known = Substrings(TEXTS, shortest, longest)
    names = sorted(set().union(*(naive.substring_counts(text, shortest, longest) for text in TEXTS)))
    assert known.size == len(names)
    for texts, counts in ((TEXTS, known.own_counts), (OTHERS, known.counts(OTHERS)), ([], known.counts([]))):
        assert counts.shape == (len(texts), known.size)
        for row, text in zip(counts.toarray(), texts, strict=True):
            expected = naive.substring_counts(text, shortest, longest)
            assert sorted(row[row > 0]) == sorted(count for name, count in expected.items() if name in names)
    assert (known.own_counts - known.counts(TEXTS)).count_nonzero() == 0


def test_texts_without_letters():
    known = Substrings(["", ""], 2, 3)
    assert known.size == 0 and known.counts(["abc"]).shape == (1, 0)
