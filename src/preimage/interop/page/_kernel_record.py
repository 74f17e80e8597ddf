"""A kernel and the points that it is evaluated against, as the record that kernel.js reads."""

from typing import Any

import numpy as np

from preimage.exceptions import UnsupportedKernelError
from preimage.interop.page._program import PageGraph, Tables
from preimage.interop.tracing import kernel_diagonal, kernel_values
from preimage.kernels import Kernel


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
    >>> from preimage.interop.page import kernel_record
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
    diagonal = kernel_diagonal(graph, kernel, graph.input)
    return {**graph.program(values, diagonal), "profiles": tables.profiles, "sets": tables.sets}
