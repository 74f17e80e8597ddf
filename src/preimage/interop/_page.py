"""A program of a page: a list of nodes, each a dictionary, written one node at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import numpy as xp
from numpy.typing import DTypeLike

from preimage.exceptions import UnsupportedKernelError
from preimage.interop.tracing import Graph, Tensor, kernel_values, traced
from preimage.interop.tracing._traced import BINARY, UNARY
from preimage.kernels import (
    ChiSquaredDistance,
    InnerProduct,
    Kernel,
    ManhattanDistance,
    PairwiseQuantity,
    Precomputed,
    ProfileKernel,
    SquaredDistance,
)


def kernel_record(kernel: Kernel, points: np.ndarray) -> dict[str, Any]:
    """What a page needs, besides the points, to compute k(z, p), k(z, z) and their gradients.

    Parameters
    ----------
    kernel : Kernel
        Resolved: no parameter waits for data. One whose inputs are shifted is better given without the shift, see
        `Kernel.unshifted`, and points moved.
    points : array of shape (n, d)
        In double precision, with the values that the page will have: rounded first if they are stored rounded.

    Returns
    -------
    dict
        Numbers, texts, lists and NumPy arrays. A program is ``{"nodes", "outputs"}``: a node is a dictionary with its
        operator ``"op"``, the numbers ``"inputs"`` of earlier nodes, and what the operator needs; outputs are numbers
        of nodes. All values are vectors of one row of inputs; vectors of length one combine with all others. Numbers
        that JSON lacks are the texts "Infinity", "-Infinity" and "NaN".

        ========================================= ========================================================
        op                                        what it is
        ========================================= ========================================================
        Input                                     the row z; in a profile the vector of quantities s
        Constant: value                           a number, or a vector
        Add, Sub, Exp, Where, ...                 elementwise, as in ONNX (`UNARY`, `BINARY` of `_program.py`)
        Fill: value                               as long as its input, the same number everywhere
        MatMul: matrix                            x M
        RowSum                                    the sum of a vector, of length one
        SquaredDistance, InnerProduct,            s(x, p) for all points p of a set
        ManhattanDistance, ChiSquaredDistance: set
        Profile: profile                          f(s) of the profile with this number
        ========================================= ========================================================

        The record is a program with two outputs, k(z, ·) and k(z, z), and the lists ``"profiles"``, programs whose
        outputs are f(s) and f′(s), and ``"sets"``. Set 0 are `points`; set number i + 1 is entry i of the list:
        ``{"of", "columns"}`` are leading columns of another set, ``{"of", "map"}`` rows of another set after a program,
        and ``{"points"}`` further points.

    Raises
    ------
    UnsupportedKernelError
        If the kernel has no closed form, or a profile without a derivative; it is named.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.interop._page import kernel_record
    >>> from preimage.kernels import Gaussian
    >>> record = kernel_record(Gaussian(0.5), np.zeros((3, 2)))
    >>> [node["op"] for node in record["nodes"]]
    ['Input', 'SquaredDistance', 'Profile', 'Constant', 'Profile']
    """
    if kernel.points_are_row_numbers:
        raise UnsupportedKernelError(
            "explore needs a kernel of inputs, which a page can evaluate at new ones; got a precomputed matrix of "
            "kernel values. Fit the model with the kernel itself."
        )
    tables = Tables(points)
    graph = PageGraph(tables)
    values = kernel_values(graph, kernel, graph.input, points)
    diagonal = kernel_values(graph, kernel, graph.input, None)
    return {**graph.program(values, diagonal), "profiles": tables.profiles, "sets": tables.sets}


# Quantities at which profiles are compared: zero, and what data have. A wrong formula is wrong at most of them.
_POSITIVE = np.geomspace(1e-3, 1e3, 25)
# Differences that count as rounding errors of the same formula: relative to a value, and to the largest value, from
# which it may come by a subtraction. A thousand times what was seen; wrong formulas differ by per cents.
OF_VALUE, OF_LARGEST = 1e-9, 1e-12
_FUNCTIONS = {operator: name for name, operator in (UNARY | BINARY).items()} | {"Reciprocal": "reciprocal"}


def require_same_profile(kernel: ProfileKernel, program: dict[str, Any]) -> None:
    """Raise unless the two outputs of a program are f(s) and f′(s) of a kernel.

    A profile may look at the class of its argument, and do something else with the symbols by which it was read.
    """
    s = np.concatenate([[0.0], _POSITIVE, -_POSITIVE if kernel.pairwise == InnerProduct() else _POSITIVE[:0]])
    with np.errstate(all="ignore"):
        wanted = [
            np.broadcast_to(formula(s.copy()), s.shape) for formula in (kernel.profile, kernel.profile_derivative)
        ]
        found = _evaluated(program, s)
    for name, right, read in zip(("profile", "profile derivative"), wanted, found, strict=True):
        size = np.max(np.abs(right), where=np.isfinite(right), initial=0.0)
        same = np.isclose(read, right, rtol=OF_VALUE, atol=OF_LARGEST * size, equal_nan=True)
        if not np.all(same):
            first = np.flatnonzero(~same)[0]
            raise UnsupportedKernelError(
                f"explore reads the {name} of {kernel!r:.200} by calling it with symbols; the formula gives "
                f"{read[first]:.6g} at s = {s[first]:.6g}, where the kernel has {right[first]:.6g}. It must do the "
                "same with every kind of array."
            )


def _evaluated(program: dict[str, Any], s: np.ndarray) -> list[np.ndarray]:
    """The outputs of an elementwise program at s."""
    values: list[Any] = []
    for node in program["nodes"]:
        inputs = [values[number] for number in node["inputs"]]
        if node["op"] == "Input":
            values.append(s)
        elif node["op"] in ("Constant", "Fill"):
            values.append(np.full_like(s, float(node["value"])))
        elif node["op"] == "Where":
            values.append(np.where(inputs[0].astype(bool), *inputs[1:]))
        else:
            values.append(getattr(xp, _FUNCTIONS[node["op"]])(*inputs))
    return [values[number] for number in program["outputs"]]


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
    further = ("Log1p", "Expm1")

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
