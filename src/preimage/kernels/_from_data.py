"""Parameters of kernels that data decide, and how each is found."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from preimage._typing import Array
from preimage.kernels._bandwidth import resolve_gamma

if TYPE_CHECKING:
    from preimage.kernels._kernel import Kernel


class DataParameter(ABC):
    """How data decide a parameter. A kernel names its own in `Kernel.data_parameters`; all else follows from that."""

    #: Whether the value found is the rows of data themselves, so that a model needs a copy of them.
    keeps_rows = False

    @abstractmethod
    def is_open(self, value: Any) -> bool:
        """Whether a value of the parameter waits for data."""

    @abstractmethod
    def find(self, value: Any, X: Array, kernel: "Kernel") -> Any:
        """What an open value becomes on the rows of X for `kernel`."""


class Width(DataParameter):
    """A number, or None or the name of a rule that finds it from distances between rows: see `resolve_gamma`."""

    def is_open(self, value: Any) -> bool:
        return value is None or isinstance(value, str)

    def find(self, value: Any, X: Array, kernel: "Kernel") -> float:
        return resolve_gamma(value, X, kernel.metric)


class KeptRows(DataParameter):
    """An array of points, or None for the rows of the data: a reference sample, the points of a graph."""

    keeps_rows = True

    def is_open(self, value: Any) -> bool:
        return value is None

    def find(self, value: Any, X: Array, kernel: "Kernel") -> Array:
        return X
