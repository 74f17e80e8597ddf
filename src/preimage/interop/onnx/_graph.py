"""A graph of ONNX operators, written one line at a time, or by formulas that write down what is done to an array."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

# A tensor of a graph is known by its name.
Tensor: TypeAlias = str
# Reductions take their axes as inputs from 18 on; onnxruntime reads it since 1.14.
OPSET, IR_VERSION = 18, 8


class Graph:
    """Nodes and constants of a graph whose floating numbers have one type.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    tolerance : float, default=0
        Error of a single kernel value that does not show in the outputs.
    outer : Graph or None, default=None
        The graph around this one, if it is the body of a loop: names are distinct in both.
    """

    def __init__(self, dtype: DTypeLike, tolerance: float = 0.0, outer: "Graph | None" = None):
        self.dtype = np.dtype(dtype)
        self.tolerance = tolerance
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count: list[int] = [0] if outer is None else outer._count

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> Tensor:
        """Append a node; its output's name. Inputs that are no names become constants."""
        name = self.name(operator)
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(onnx().helper.make_node(operator, names, [name], **attributes))
        return name

    def constant(self, value: Any) -> Tensor:
        """A constant: floating numbers take the type of the graph, integers are int64, objects are strings."""
        value = np.asarray(value)
        if value.dtype.kind == "f":
            value = value.astype(self.dtype)
        elif value.dtype.kind in "iu":
            value = value.astype(np.int64)
        elif value.dtype.kind in "UO":
            value = value.astype(object)
        return self._keep(value)

    def double(self, value: Any) -> Tensor:
        """A constant in double precision, whatever the type of the graph."""
        return self._keep(np.asarray(value, dtype=np.float64))

    def cast(self, name: Tensor, dtype: DTypeLike) -> Tensor:
        """The same values in another type, such as "int64"."""
        return self.add("Cast", name, to=element_type(dtype))

    def _keep(self, value: np.ndarray) -> Tensor:
        name = self.name("constant")
        self.constants.append(onnx().numpy_helper.from_array(value, name))
        return name

    def name(self, what: str) -> Tensor:
        """A name that no other tensor has."""
        self._count[0] += 1
        return f"{what}_{self._count[0]}"


def element_type(dtype: DTypeLike) -> int:
    """ONNX's number of a NumPy type; strings are objects there."""
    return onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def onnx() -> Any:
    """The package, or an error that says what to install."""
    try:
        import onnx as package
    except ImportError as error:
        raise ImportError('to_onnx needs onnx, which is not installed. Type: pip install "preimage[onnx]"') from error
    return package


class Traced:
    """A tensor of a graph under construction; arithmetic and array functions append nodes.

    Profiles of kernels, written once for arrays, are called with it: also those that users define.
    """

    __array_ufunc__ = None  # so that NumPy's numbers leave products to us

    def __init__(self, graph: Graph, name: Tensor, width: int):
        self.graph, self.name, self.width = graph, name, width  # of shape (N, width)
        self.dtype = graph.dtype

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


def _clip(x: Traced, min: float | None = None, max: float | None = None) -> Traced:
    above = x if min is None else x.apply("Max", min)
    return above if max is None else above.apply("Min", max)


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
    clip=_clip,
    negative=lambda x: -x,
    square=lambda x: x * x,
    reciprocal=lambda x: 1 / x,
    where=_where,
    full_like=_full_like,
    ones_like=lambda x, **_: _full_like(x, 1.0),
    zeros_like=lambda x, **_: _full_like(x, 0.0),
)
