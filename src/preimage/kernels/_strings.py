"""Kernels on texts: substrings that two texts have in common."""

from collections.abc import Callable
from numbers import Integral
from typing import Self

import numpy as np
from scipy import sparse

from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.kernels._kernel import LONGEST_TEXT, Kernel, Prepared
from preimage.kernels._substrings import Substrings

# Substrings that are in more than this fraction of the texts are compared as columns of dense matrices. A product of
# sparse rows takes some ten times as long for each pair of entries, which occur as often as the square of this.
FREQUENT = 0.2


class Strings(Kernel):
    r"""Substrings that two texts have in common: a kernel on words, sequences of letters and other texts.

    Features of a text x are the numbers of times that substrings u occur in it, one for each substring:

    .. math:: k(x, y) = \sum_{u} |x|_u |y|_u, \qquad q \le \text{length of } u \le p .

    ``Strings.spectrum(p)`` has the substrings of p letters [1]_, ``Strings.blended(p)`` those of 1 to p letters. By
    default values are divided by :math:`\sqrt{k(x, x) k(y, y)}`, so that texts of different lengths compare. A text
    that is shorter than the shortest substring, such as an empty one, has no features: its values are zero, those with
    itself included.

    Letters are the code points of Python's texts. Whatever else counts as equal (capitals, accents that are written in
    two ways) is for `str.casefold` and `unicodedata.normalize` before. Counts are exact: no substring stands for
    another one.

    Parameters
    ----------
    longest : int, default=3
        p, the length of the longest substrings.
    shortest : int, default=1
        q, the length of the shortest ones.
    normalize : bool, default=True
        Whether values are divided by the lengths of both images.

    See Also
    --------
    CallableKernel : A function of two objects of any kind.
    Normalized : The same division for any kernel.
    sklearn.feature_extraction.text.CountVectorizer : The features themselves, as columns.

    References
    ----------
    .. [1] C. Leslie, E. Eskin, W. S. Noble, "The spectrum kernel: a string kernel for SVM protein classification",
       Pacific Symposium on Biocomputing, 2002.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.kernels import Strings
    >>> words = ["kernel", "kernels", "colonel", "wine", "vine"]
    >>> Strings.spectrum(2)(words[:2], words).round(2)
    array([[1.  , 0.91, 0.37, 0.26, 0.26],
           [0.91, 1.  , 0.33, 0.24, 0.24]])

    Kernels on texts combine, and estimators take lists of texts:

    >>> kernel = Strings.spectrum(3) + 0.5 * Strings.blended(2)
    >>> KernelPCA(2, kernel=kernel).fit_transform(words).shape
    (5, 2)
    """

    is_positive_semidefinite = True
    has_gradient = False
    takes_objects = True
    takes_numbers = False
    _parameter_constraints = {
        "longest": [Interval(Integral, 1, None, closed="left")],
        "shortest": [Interval(Integral, 1, None, closed="left")],
        "normalize": ["boolean"],
    }

    def __init__(self, longest: int = 3, shortest: int = 1, normalize: bool = True) -> None:
        self.longest = longest
        self.shortest = shortest
        self.normalize = normalize

    @classmethod
    def spectrum(cls, length: int = 3, *, normalize: bool = True) -> Self:
        """Substrings of this length alone.

        Parameters
        ----------
        length : int, default=3
        normalize : bool, default=True

        Returns
        -------
        Strings
            The kernel.

        Examples
        --------
        Of two letters, "banana" has "an" and "na" twice and "ba" once:

        >>> from preimage.kernels import Strings
        >>> Strings.spectrum(2, normalize=False)(["banana"], ["banana", "nab", "b"])
        array([[9., 2., 0.]])
        """
        return cls(length, length, normalize)

    @classmethod
    def blended(cls, longest: int = 3, *, normalize: bool = True) -> Self:
        """Substrings of one letter to this length.

        Parameters
        ----------
        longest : int, default=3
        normalize : bool, default=True

        Returns
        -------
        Strings
            The kernel.

        Examples
        --------
        Three letters "a", one "b", two "n", and the pairs of them:

        >>> from preimage.kernels import Strings
        >>> Strings.blended(2, normalize=False)(["banana"], ["banana", "nab", "b"])
        array([[23.,  8.,  1.]])
        """
        return cls(longest, 1, normalize)

    def __repr__(self, N_CHAR_MAX: int = LONGEST_TEXT) -> str:
        names = {1: f"blended({self.longest!r}", self.longest: f"spectrum({self.longest!r}"}
        own = f"Strings(longest={self.longest!r}, shortest={self.shortest!r}"
        begun = f"Strings.{names[self.shortest]}" if self.shortest in (self.longest, 1) else own
        return f"{begun})" if self.normalize is True else f"{begun}, normalize={self.normalize!r})"

    def resolve(self, X: Array) -> Self:
        self._check_lengths()
        return super().resolve(X)

    def checked_objects(self, X: Array) -> Array:
        """The texts, as Python's own."""
        for row, each in enumerate(X[:, 0]):
            if isinstance(each, str):
                continue
            what = "bytes; decode them" if isinstance(each, bytes) else f"{each!r:.40} of type {type(each).__name__}"
            raise TypeError(f"{self!r} compares texts, one str per row; row {row} is {what}.")
        if all(type(each) is str for each in X[:, 0]):
            return X
        X = X.copy()
        X[:, 0] = [str(each) for each in X[:, 0]]  # NumPy's texts, and others that only look like Python's
        return X

    def prepare(self, Y: Array) -> Prepared:
        self._check_lengths()
        known = Substrings(Y[:, 0], self.shortest, self.longest)
        right = _Counts.of(known.own_counts)

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            left = right if X is Y else right.others(known.counts(X[:, 0]), self._squared_lengths(X))

            def tile(rows: slice, columns: slice) -> Array:
                values = left.products(right, rows, columns)
                if not self.normalize:
                    return values
                # Of whole numbers, so that values do not depend on the order of rows, and k(x, x) is one.
                squared = left.squared_lengths[rows, None] * right.squared_lengths[None, columns]
                return np.divide(values, np.sqrt(squared), out=values, where=squared > 0)

            return tile

        return Prepared(self, Y, tiles)

    def diagonal(self, X: Array) -> Array:
        self._check_lengths()
        if self.normalize:
            return np.array([float(len(text) >= self.shortest) for text in X[:, 0]])
        return self._squared_lengths(X)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        self.require_gradient("This")  # raises

    def diagonal_gradient(self, Z: Array) -> Array:
        self.require_gradient("This")  # raises

    def _squared_lengths(self, X: Array) -> np.ndarray:
        return _squares(Substrings(X[:, 0], self.shortest, self.longest).own_counts)

    def _check_lengths(self) -> None:
        check_parameters(self)
        if self.shortest > self.longest:
            raise ValueError(
                f"Strings needs substrings of lengths from `shortest` to `longest`; got {self.shortest} and "
                f"{self.longest}. Strings.spectrum(p) has those of one length."
            )


class _Counts:
    """Counts of substrings in texts: frequent ones as dense columns, the others sparse; and sums of their squares."""

    def __init__(self, dense: np.ndarray, rare: sparse.csr_array, lengths: np.ndarray, is_frequent: np.ndarray) -> None:
        self.dense = dense
        self.rare = rare
        self.squared_lengths = lengths
        self.is_frequent = is_frequent

    @classmethod
    def of(cls, counts: sparse.csr_array) -> "_Counts":
        occurrences = np.bincount(counts.indices, minlength=counts.shape[1])
        is_frequent = occurrences > FREQUENT * counts.shape[0]
        return cls(*_split(counts, is_frequent), _squares(counts), is_frequent)

    def others(self, counts: sparse.csr_array, squared_lengths: np.ndarray) -> "_Counts":
        """Counts of the same substrings in other texts, which have substrings besides."""
        return _Counts(*_split(counts, self.is_frequent), squared_lengths, self.is_frequent)

    def products(self, other: "_Counts", rows: slice, columns: slice) -> np.ndarray:
        """Inner products of some texts with some of the others, shape (q, m)."""
        values = self.dense[rows] @ other.dense[columns].T
        if self.rare.nnz and other.rare.nnz:
            values += (self.rare[rows] @ other.rare[columns].T).toarray()
        return values


def _split(counts: sparse.csr_array, is_frequent: np.ndarray) -> tuple[np.ndarray, sparse.csr_array]:
    if not is_frequent.any():
        return np.zeros((counts.shape[0], 0)), counts
    return counts[:, np.flatnonzero(is_frequent)].toarray(), counts[:, np.flatnonzero(~is_frequent)]


def _squares(counts: sparse.csr_array) -> np.ndarray:
    """Σ c² for every row."""
    return np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
