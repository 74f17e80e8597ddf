"""Graphs of operators, and formulas read by calling them: arithmetic on a `Traced` tensor writes down operators."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from preimage.exceptions import UnsupportedKernelError
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


def traced(graph: Graph, kernel: Any, formula: Callable[[Any], Any], s: Tensor, width: int) -> Tensor:
    """The tensor of a formula of `kernel`, such as its profile, of the tensor s with `width` columns.

    Raises
    ------
    UnsupportedKernelError
        If the formula does something that is no operator.
    """
    x = Traced(graph, s, width)
    try:
        result = formula(x)
        if isinstance(result, Real):
            result = _full_like(x, float(result))
        if not isinstance(result, Traced):
            raise TypeError(f"it returns {type(result).__name__} for an argument that is no array of NumPy")
        return result.name
    except UnsupportedKernelError:
        raise
    except (AttributeError, TypeError, ValueError, NotImplementedError) as error:
        what = getattr(formula, "__name__", "formula")
        raise UnsupportedKernelError(
            f"{graph.who} cannot write the {what.replace('_', ' ')} of {kernel!r:.200} as {graph.operators}"
            f"{': ' if str(error) else ''}{str(error).rstrip('.')}. Arithmetic, comparisons, `where` and elementary "
            "functions of its argument can be written, from the array namespace of the argument or from NumPy."
        ) from error


def _operator(name: str, reverse: bool = False) -> Callable[..., Any]:
    return lambda x, *others: x.apply(name, *others, reverse=reverse)


class Traced:
    """A tensor of a graph under construction; arithmetic and array functions append nodes.

    Profiles of kernels, written once for arrays, are called with it: also those that users define.
    """

    def __init__(self, graph: Graph, name: Tensor, width: int):
        self.graph, self.name, self.width = graph, name, width  # of shape (N, width)
        self.dtype = graph.dtype

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        return _NAMESPACE

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions, in formulas that are not written for other arrays."""
        name = _NAMES_OF_NUMPY.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or options or name not in vars(_NAMESPACE):
            return NotImplemented
        return vars(_NAMESPACE)[name](*inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, inputs: Any, options: Any) -> Any:
        known = vars(_NAMESPACE).get(function.__name__)
        return NotImplemented if known is None else known(*inputs, **options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("it asks for the numbers of its argument")

    def __bool__(self) -> bool:
        raise TypeError("it branches on the numbers of its argument, which `where` does one by one")

    def apply(self, operator: str, *others: Any, reverse: bool = False) -> "Traced":
        """The result of an operator on this tensor and others, or numbers."""
        operands = [self, *others][::-1] if reverse else [self, *others]
        names = [each.name if isinstance(each, Traced) else self._number(each) for each in operands]
        return Traced(self.graph, self.graph.add(operator, *names), self.width)

    def _number(self, value: float) -> Tensor:
        return self.graph.number(float(value), self.width)

    def __pos__(self) -> "Traced":
        return self

    __add__ = __radd__ = _operator("Add")
    __mul__ = __rmul__ = _operator("Mul")
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", reverse=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", reverse=True)
    __pow__, __rpow__ = _operator("Pow"), _operator("Pow", reverse=True)
    __neg__, __abs__, __invert__ = _operator("Neg"), _operator("Abs"), _operator("Not")
    __lt__, __le__ = _operator("Less"), _operator("LessOrEqual")
    __gt__, __ge__ = _operator("Greater"), _operator("GreaterOrEqual")
    __and__, __or__ = _operator("And"), _operator("Or")


def _full_like(x: Traced, value: float, **_: Any) -> Traced:
    return Traced(x.graph, x.graph.filled_like(x.name, float(value)), x.width)


def _where(condition: Traced, x: Any, y: Any) -> Traced:
    return condition.apply("Where", x, y)


def _clip(x: Traced, min: float | None = None, max: float | None = None) -> Traced:
    above = x if min is None else x.apply("Max", min)
    return above if max is None else above.apply("Min", max)


def _binary(operator: str) -> Callable[[Any, Any], Traced]:
    return lambda x, y: x.apply(operator, y) if isinstance(x, Traced) else y.apply(operator, x, reverse=True)


def _log1p(x: Traced) -> Traced:
    """log(1 + x), where no operator is, from the logarithm of u = 1 + x as rounded, times x/(u − 1)."""
    if "Log1p" in x.graph.further:
        return x.apply("Log1p")
    u, is_rounded = 1 + x, (1 + x > 1) | (1 + x < 1)
    near = _where(is_rounded, u.apply("Log") * (x / _where(is_rounded, u - 1, 1.0)), x)
    return _where(x < 1, near, u.apply("Log"))


def _expm1(x: Traced) -> Traced:
    """exp(x) − 1 = tanh(x/2) (exp(x) + 1), where no operator is."""
    if "Expm1" in x.graph.further:
        return x.apply("Expm1")
    return (0.5 * x).apply("Tanh") * (x.apply("Exp") + 1)


# Operators by the names that the standard has for them.
_SAME = ("abs", "sign", "floor", "ceil", "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan")
_FURTHER = ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "log1p", "expm1")
UNARY = {name: name.capitalize() for name in (*_SAME, *_FURTHER)} | {"negative": "Neg", "logical_not": "Not"}
BINARY = {
    **{"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "pow": "Pow"},
    **{"maximum": "Max", "minimum": "Min", "logical_and": "And", "logical_or": "Or"},
    **{"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual"},
}
# What array namespaces are made of: array_api_compat compares them by name.
_NAMESPACE = ModuleType("traced_tensors")
vars(_NAMESPACE).update(
    {name: _operator(operator) for name, operator in UNARY.items()},
    **{name: _binary(operator) for name, operator in BINARY.items()},
    log1p=_log1p,
    expm1=_expm1,
    clip=_clip,
    positive=lambda x: x,
    square=lambda x: x * x,
    reciprocal=lambda x: 1 / x,
    where=_where,
    full_like=_full_like,
    ones_like=lambda x, **_: _full_like(x, 1.0),
    zeros_like=lambda x, **_: _full_like(x, 0.0),
)
# Functions of NumPy whose names are others than in the standard.
_NAMES_OF_NUMPY = {
    "absolute": "abs",
    "power": "pow",
    "float_power": "pow",
    "true_divide": "divide",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "invert": "logical_not",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
