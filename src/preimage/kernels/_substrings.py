"""Distinct substrings of given texts, numbered, and how often each occurs in any texts."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

# Keys are ranked through a table where this has at most so many entries for each key, or so many at all; sorting keys
# takes as long as a table of some ten entries for each.
TABLE_PER_KEY, SMALL_TABLE = 8, 2**16


class Substrings:
    """The substrings of some lengths that occur in given texts.

    A substring of q letters is a pair: the number of its first q − 1 letters among those that occur, and its last
    letter. As one number, pairs of all places of all texts are ranked at once, and places of other texts are looked up
    among them: no table of strings, and no hash values that two substrings could share.

    Parameters
    ----------
    texts : sequence of str
    shortest, longest : int
        The lengths, in code points.
    """

    def __init__(self, texts: Sequence[str], shortest: int, longest: int) -> None:
        self.shortest, self.longest = shortest, longest
        self._alphabet = np.empty(0, dtype=np.int64)
        self._known: list[np.ndarray] = []
        self.own_counts = self._counted(_Places(texts), learns=True)

    @property
    def size(self) -> int:
        """How many distinct substrings there are."""
        return sum(known.size for known in self._known[self.shortest - 1 :])

    def counts(self, texts: Sequence[str]) -> sparse.csr_array:
        """How often each substring occurs in each text, shape (len(texts), size)."""
        return self._counted(_Places(texts), learns=False)

    def _counted(self, places: "_Places", learns: bool) -> sparse.csr_array:
        rows, columns, before = [], [], 0
        for length, (at, numbers) in enumerate(self._occurrences(places, learns), start=1):
            if length >= self.shortest:
                rows.append(places.owner[at])
                columns.append(numbers + before)
                before += self._known[length - 1].size
        row, column = np.concatenate(rows), np.concatenate(columns)
        counts = sparse.coo_array((np.ones(row.size), (row, column)), shape=(places.n_texts, self.size)).tocsr()
        counts.sort_indices()
        return counts

    def _occurrences(self, places: "_Places", learns: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each length, where known substrings begin, and their numbers."""
        if learns:
            self._alphabet = np.unique(places.letters)
        letters = _find(self._alphabet, places.letters)
        at, prefixes, n_prefixes = np.arange(letters.size), np.zeros(letters.size, dtype=np.int64), 1
        for length in range(1, self.longest + 1):
            fits = places.left[at] >= length
            at, prefixes = at[fits], prefixes[fits]
            last = letters[at + (length - 1)]
            keys = prefixes * self._alphabet.size + last
            if learns:
                known, numbers = _ranked(keys, n_prefixes * self._alphabet.size)
                self._known.append(known)
            else:
                numbers = np.where(last >= 0, _find(self._known[length - 1], keys), -1)
                at, numbers = at[numbers >= 0], numbers[numbers >= 0]
            yield at, numbers
            prefixes, n_prefixes = numbers, self._known[length - 1].size


class _Places:
    """All letters of some texts, one after another, the text that each is in, and how many letters follow in it."""

    def __init__(self, texts: Sequence[str]) -> None:
        # Four bytes for each code point, also for halves of pairs, which texts of files may have alone.
        encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        self.n_texts = len(texts)
        self.letters = np.frombuffer(encoded, dtype="<u4").astype(np.int64)
        self.owner = np.repeat(np.arange(len(texts)), lengths)
        self.left = np.cumsum(lengths)[self.owner] - np.arange(self.letters.size)


def _ranked(keys: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys, ascending, and the number of each key among them; keys are at least 0 and below the bound."""
    if bound > max(TABLE_PER_KEY * keys.size, SMALL_TABLE):
        known, numbers = np.unique(keys, return_inverse=True)
        return known, numbers.reshape(-1)
    occurs = np.zeros(bound, dtype=bool)
    occurs[keys] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[keys]


def _find(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The number of each key among those that are known, ascending; −1 where it is not."""
    if not known.size:
        return np.full(keys.size, -1)
    place = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[place] == keys, place, -1)
