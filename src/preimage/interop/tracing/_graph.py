"""What kernels and steps are written on, whatever becomes of it: a graph of operators."""

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from preimage.kernels import Kernel, PairwiseQuantity, ProfileKernel

# A tensor of a graph is known by its name.
Tensor: TypeAlias = str


class Graph(ABC):
    """A graph under construction whose floating numbers have one type.

    Operators have the names and meanings of ONNX; a target has those that it needs. Tensors are matrices with one row
    per input. What targets write differently has a method here.

    Attributes
    ----------
    who : str
        The function that makes the graph, for messages.
    operators : str
        What the operators are called in messages.
    quantities : tuple of PairwiseQuantity
        Those with an implementation.
    without : tuple of classes
        Kernels that have rules, but no meaning for the target.
    further : tuple of str
        Elementwise operators that ONNX lacks and the target has.
    """

    who: str
    operators: str
    quantities: tuple[PairwiseQuantity, ...]
    without: tuple[type[Kernel], ...] = ()
    further: tuple[str, ...] = ()

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)

    @abstractmethod
    def add(self, operator: str, *inputs: Any, **attributes: Any) -> Tensor:
        """Append a node; its output's name. Inputs that are no names become constants."""

    @abstractmethod
    def constant(self, value: Any) -> Tensor:
        """A constant: a number or an array."""

    @abstractmethod
    def number(self, value: float, width: int) -> Tensor:
        """A number to combine with tensors of `width` columns."""

    @abstractmethod
    def cast(self, name: Tensor, dtype: DTypeLike) -> Tensor:
        """The same values in another type, such as "int64"."""

    @abstractmethod
    def filled_like(self, x: Tensor, value: float) -> Tensor:
        """A tensor of the shape of x with one value everywhere: not 0·x + value, which is NaN where x is infinite."""

    @abstractmethod
    def row_sums(self, x: Tensor) -> Tensor:
        """Σ_f x_f, of shape (N, 1)."""

    @abstractmethod
    def quantity(self, kernel: ProfileKernel, X: Tensor, points: np.ndarray) -> Tensor:
        """s(x, p) of the quantity of a profile kernel, shape (N, n)."""

    @abstractmethod
    def quantity_diagonal(self, kernel: ProfileKernel, X: Tensor) -> Tensor:
        """s(x, x), shape (N, 1)."""

    @abstractmethod
    def profile(self, kernel: ProfileKernel, s: Tensor, width: int) -> Tensor:
        """f(s) of a tensor with `width` columns."""

    @abstractmethod
    def mapped_products(self, X: Tensor, matrix: np.ndarray, points: np.ndarray) -> Tensor:
        """x M (p M)ᵀ for a matrix M, shape (N, n)."""

    @abstractmethod
    def image_products(
        self, X: Tensor, image: Tensor, points: np.ndarray, images: np.ndarray, divisor: float = 1.0
    ) -> Tensor:
        """Inner products of images, of X and of points under the same map, divided by a number; shape (N, n)."""

    def remember_map(self, X: Tensor, image: Tensor, points: np.ndarray, images: np.ndarray) -> None:  # noqa: B027
        """`images` are to `points` what the tensor `image` is to X: a target may store the points alone."""
