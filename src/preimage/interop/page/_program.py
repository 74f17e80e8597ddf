"""A program of a page: a list of nodes, each a dictionary, written one node at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from preimage.exceptions import UnsupportedKernelError
from preimage.interop.page._agreement import require_same_profile
from preimage.interop.tracing import Graph, Tensor, traced
from preimage.interop.tracing._traced import BINARY, UNARY
from preimage.kernels import (
    ChiSquaredDistance,
    InnerProduct,
    ManhattanDistance,
    PairwiseQuantity,
    Precomputed,
    ProfileKernel,
    SquaredDistance,
)

# What the page can compute elementwise, with the names of ONNX; operators.js has the same.
ELEMENTWISE = {*UNARY.values(), *BINARY.values(), "Reciprocal"}
_QUANTITIES: dict[PairwiseQuantity, str] = {
    SquaredDistance(): "SquaredDistance",
    InnerProduct(): "InnerProduct",
    ManhattanDistance(): "ManhattanDistance",
    ChiSquaredDistance(): "ChiSquaredDistance",
}


class PageGraph(Graph):
    """Nodes of a program for one row; its name is a node's number. Equal nodes are one node.

    Parameters
    ----------
    tables : Tables
        Profiles and sets of points, which programs share.
    """

    who, operators = "explore", "operators of a page"
    quantities = tuple(_QUANTITIES)
    without = (Precomputed,)

    def __init__(self, tables: "Tables") -> None:
        super().__init__(np.float64)
        self.tables = tables
        self.nodes: list[dict[str, Any]] = []
        self._known: dict[Any, Tensor] = {}
        self.input = self._node("Input")

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> Tensor:
        if operator == "MatMul":
            return self._node(operator, inputs[0], matrix=np.asarray(inputs[1], dtype=np.float64))
        if operator not in {*ELEMENTWISE, "Where"} or attributes:
            raise UnsupportedKernelError(f"{self.who} has no operator {operator} on its pages.")
        return self._node(operator, *(each if isinstance(each, str) else self.constant(each) for each in inputs))

    def constant(self, value: Any) -> Tensor:
        value = np.asarray(value, dtype=np.float64)
        return self._node("Constant", value=_number(value.item()) if value.size == 1 else value.reshape(-1))

    def number(self, value: float, width: int) -> Tensor:
        return self.constant(value)

    def cast(self, name: Tensor, dtype: DTypeLike) -> Tensor:
        return name  # all numbers of a page are of double precision

    def filled_like(self, x: Tensor, value: float) -> Tensor:
        return self._node("Fill", x, value=_number(value))

    def row_sums(self, x: Tensor) -> Tensor:
        return self._node("RowSum", x)

    def quantity(self, kernel: ProfileKernel, X: Tensor, points: np.ndarray) -> Tensor:
        return self._node(_QUANTITIES[kernel.pairwise], X, set=self.tables.set_of(points))

    def quantity_diagonal(self, kernel: ProfileKernel, X: Tensor) -> Tensor:
        # The inner product of a row with itself; distances are zero.
        is_product = kernel.pairwise == InnerProduct()
        return self.row_sums(self.add("Mul", X, X)) if is_product else self.constant(0.0)

    def profile(self, kernel: ProfileKernel, s: Tensor, width: int) -> Tensor:
        return self._node("Profile", s, profile=self.tables.profile_of(kernel))

    def mapped_products(self, X: Tensor, matrix: np.ndarray, points: np.ndarray) -> Tensor:
        return self.image_products(X, self.add("MatMul", X, matrix), points, points @ matrix)

    def image_products(
        self, X: Tensor, image: Tensor, points: np.ndarray, images: np.ndarray, divisor: float = 1.0
    ) -> Tensor:
        self.remember_map(X, image, points, images)
        products = self._node("InnerProduct", image, set=self.tables.set_of(images))
        return products if divisor == 1 else self.add("Div", products, divisor)

    def remember_map(self, X: Tensor, image: Tensor, points: np.ndarray, images: np.ndarray) -> None:
        self.tables.add_images(points, images, self._between(X, image))

    def program(self, *outputs: Tensor) -> dict[str, Any]:
        """Nodes and the numbers of those that are results, without nodes that no result needs."""
        return _program(self.nodes, self.input, outputs)

    def _between(self, X: Tensor, image: Tensor) -> dict[str, Any]:
        """The program that makes `image` from X alone."""
        nodes = list(self.nodes)
        nodes[int(X)] = {"op": "Input", "inputs": []}
        return _program(nodes, X, [image])

    def _node(self, operator: str, *inputs: Tensor, **attributes: Any) -> Tensor:
        key = (operator, inputs, tuple((name, _key(value)) for name, value in attributes.items()))
        if key not in self._known:
            self._known[key] = str(len(self.nodes))
            self.nodes.append({"op": operator, "inputs": [int(each) for each in inputs], **attributes})
        return self._known[key]


class Tables:
    """What the nodes of a kernel refer to by number: sets of points, and profiles with their derivatives.

    Set 0 are the points of the model, which are stored elsewhere. A further set is {"of", "columns"}, leading columns
    of another set; {"of", "map"}, another set after a program of one result; or {"points"}, an array of its own.
    """

    def __init__(self, points: np.ndarray) -> None:
        self.sets: list[dict[str, Any]] = []
        self.profiles: list[dict[str, Any]] = []
        self._points = [points]
        self._profile_numbers: dict[str, int] = {}

    def set_of(self, points: np.ndarray) -> int:
        """The number of a set; a new one where none is equal."""
        number = self._find(points)
        if number is not None:
            return number
        columns = points.shape[1]
        for number, known in enumerate(self._points):
            if known.shape[1] > columns and np.array_equal(known[:, :columns], points):
                return self._add(points, {"of": number, "columns": columns})
        return self._add(points, {"points": np.asarray(points, dtype=np.float64)})

    def add_images(self, points: np.ndarray, images: np.ndarray, program: dict[str, Any]) -> None:
        """Know `images` as `points` after a program."""
        if self._find(images) is None:
            self._add(images, {"of": self.set_of(points), "map": program})

    def profile_of(self, kernel: ProfileKernel) -> int:
        """The number of a profile; a new one where none is equal."""
        graph = PageGraph(self)
        value = traced(graph, kernel, kernel.profile, graph.input, 1)
        derivative = traced(graph, kernel, kernel.profile_derivative, graph.input, 1)
        program = graph.program(value, derivative)
        text = repr(program)
        if text not in self._profile_numbers:
            require_same_profile(kernel, program)
            self._profile_numbers[text] = len(self.profiles)
            self.profiles.append(program)
        return self._profile_numbers[text]

    def _find(self, points: np.ndarray) -> int | None:
        return next((number for number, known in enumerate(self._points) if np.array_equal(known, points)), None)

    def _add(self, points: np.ndarray, record: dict[str, Any]) -> int:
        self._points.append(points)
        self.sets.append(record)
        return len(self._points) - 1


def _program(nodes: list[dict[str, Any]], start: Tensor, outputs: Sequence[Tensor]) -> dict[str, Any]:
    """The nodes that `outputs` need, numbered anew, and `start`, the input, also where they do not need it."""
    needed, waiting = {int(start)}, [int(output) for output in outputs]
    while waiting:
        number = waiting.pop()
        if number not in needed:
            needed.add(number)
            waiting.extend(nodes[number]["inputs"])
    place = {number: position for position, number in enumerate(sorted(needed))}
    kept = [{**nodes[number], "inputs": [place[each] for each in nodes[number]["inputs"]]} for number in place]
    return {"nodes": kept, "outputs": [place[int(output)] for output in outputs]}


def _number(value: float) -> float | str:
    """A number, or its name in JavaScript where JSON has none."""
    if np.isfinite(value):
        return float(value)
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _key(value: Any) -> Any:
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value
