"""Formulas of the library as ONNX nodes: an array that writes down what is done to it."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from preimage.interop.onnx._graph import Graph, Tensor


class Traced:
    """A tensor of a graph under construction; arithmetic and array functions append nodes.

    Profiles of kernels, written once for arrays, are called with it: also those that users define.
    """

    __array_ufunc__ = None  # so that NumPy's numbers leave products to us

    def __init__(self, graph: Graph, name: Tensor, width: int):
        self.graph, self.name, self.width = graph, name, width  # of shape (N, width)

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        return _NAMESPACE

    def apply(self, operator: str, *others: Any, reverse: bool = False) -> "Traced":
        """The result of an operator on this tensor and others, or numbers."""
        operands = [self, *others][::-1] if reverse else [self, *others]
        names = [each.name if isinstance(each, Traced) else self._number(each) for each in operands]
        return Traced(self.graph, self.graph.add(operator, *names), self.width)

    def _number(self, value: float) -> Tensor:
        # In double precision no scalar: onnxruntime merges those into matrix products, as numbers of single precision.
        width = self.width if self.graph.dtype == np.float64 else 1
        return self.graph.constant(np.full((1, width), float(value)))

    def __add__(self, other: Any) -> "Traced":
        return self.apply("Add", other)

    def __sub__(self, other: Any) -> "Traced":
        return self.apply("Sub", other)

    def __rsub__(self, other: Any) -> "Traced":
        return self.apply("Sub", other, reverse=True)

    def __mul__(self, other: Any) -> "Traced":
        return self.apply("Mul", other)

    def __truediv__(self, other: Any) -> "Traced":
        return self.apply("Div", other)

    def __rtruediv__(self, other: Any) -> "Traced":
        return self.apply("Div", other, reverse=True)

    def __pow__(self, other: Any) -> "Traced":
        return self.apply("Pow", other)

    def __rpow__(self, other: Any) -> "Traced":
        return self.apply("Pow", other, reverse=True)

    def __neg__(self) -> "Traced":
        return self.apply("Neg")

    def __abs__(self) -> "Traced":
        return self.apply("Abs")

    def __lt__(self, other: Any) -> "Traced":
        return self.apply("Less", other)

    def __le__(self, other: Any) -> "Traced":
        return self.apply("LessOrEqual", other)

    def __gt__(self, other: Any) -> "Traced":
        return self.apply("Greater", other)

    def __ge__(self, other: Any) -> "Traced":
        return self.apply("GreaterOrEqual", other)

    __radd__, __rmul__ = __add__, __mul__


def _full_like(x: Traced, value: float, **_: Any) -> Traced:
    # Not 0·x + value, which is no number where x is infinite.
    shape = x.graph.add("Shape", x.name)
    return Traced(x.graph, x.graph.add("Expand", float(value), shape), x.width)


def _where(condition: Traced, x: Any, y: Any) -> Traced:
    return condition.apply("Where", x, y)


def _unary(operator: str) -> Callable[[Traced], Traced]:
    return lambda x: x.apply(operator)


def _binary(operator: str) -> Callable[[Any, Any], Traced]:
    return lambda x, y: x.apply(operator, y) if isinstance(x, Traced) else y.apply(operator, x, reverse=True)


# What array namespaces are made of: array_api_compat compares them by name.
_NAMESPACE = ModuleType("onnx_tensors")
vars(_NAMESPACE).update(
    **{name: _unary(name.title()) for name in ("exp", "log", "sqrt", "tanh", "abs", "sign", "sin", "cos", "floor")},
    **{name: _unary(name.title()) for name in ("sinh", "cosh", "tan", "atan", "asin", "acos", "ceil")},
    add=_binary("Add"),
    subtract=_binary("Sub"),
    multiply=_binary("Mul"),
    divide=_binary("Div"),
    pow=_binary("Pow"),
    maximum=_binary("Max"),
    minimum=_binary("Min"),
    negative=lambda x: -x,
    square=lambda x: x * x,
    reciprocal=lambda x: 1 / x,
    where=_where,
    full_like=_full_like,
    ones_like=lambda x, **_: _full_like(x, 1.0),
    zeros_like=lambda x, **_: _full_like(x, 0.0),
)
