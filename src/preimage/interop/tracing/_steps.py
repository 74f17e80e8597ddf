"""Steps of pipelines before a kernel machine, as nodes of a graph."""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
)

from preimage._engine.arrays import to_dense, to_numpy
from preimage.interop._pipeline import AffineMap, active, affine_map_of, taken_apart, unclipped_map_of
from preimage.interop._private import column_numbers
from preimage.interop._sklearn import machine_of
from preimage.interop.tracing._kernels import kernel_values
from preimage.interop.tracing._traced import Graph, Tensor

KNOWN = (
    "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, Normalizer, SimpleImputer, PCA, IncrementalPCA, "
    "TruncatedSVD, feature selection, ColumnTransformer, and kernel maps such as KernelPCA and Nystroem"
)


def step_values(graph: Graph, name: str, step: Any, X: Tensor) -> Tensor:
    """What a fitted transformer makes of the tensor X.

    Raises
    ------
    TypeError
        If we know no graph for its class.
    """
    before, last = taken_apart(step)
    for inner, part in active([*before, (name, last)]):
        X = _values_of(graph, inner, part, X)
    return X


def _values_of(graph: Graph, name: str, step: Any, X: Tensor) -> Tensor:
    found = _values(step, graph, X)
    if found is None:
        raise TypeError(
            f"{graph.who} has no graph for the step {name!r}, {step!r:.100}. It takes {KNOWN}. Export the pipeline "
            f"without its first steps, {graph.who}(pipeline[k:]), and transform inputs before the graph."
        )
    return found


@singledispatch
def _values(step: Any, graph: Graph, X: Tensor) -> Tensor | None:
    """The same, or None where the class is not known."""
    affine = affine_map_of(step)
    if affine is not None:
        return _affine(graph, affine, X)
    return _kernel_map(graph, step, X)


def _affine(graph: Graph, affine: AffineMap, X: Tensor) -> Tensor:
    matrix, shift = affine.matrix, np.asarray(affine.shift, dtype=np.float64)
    if matrix.ndim == 1:
        # (x − c)s rather than xs + t: for columns far from zero the two large terms would cancel.
        centered = graph.add("Sub", X, (-shift / matrix)[None, :])
        return graph.add("Mul", centered, matrix[None, :])
    product = graph.add("MatMul", X, np.asarray(to_numpy(to_dense(matrix)), dtype=np.float64))
    return graph.add("Add", product, shift[None, :])


def _kernel_map(graph: Graph, step: Any, X: Tensor) -> Tensor | None:
    try:
        machine = machine_of(step)
    except TypeError:
        return None
    if machine.output.kind != "transformer":
        return None
    k = machine.output.n_functions
    points = to_numpy(to_dense(machine.expansion.points))
    K = kernel_values(graph, machine.expansion.kernel, X, points)
    coefficients = to_numpy(machine.expansion.coefficients)[:, :k].astype(np.float64)
    values = graph.add("MatMul", K, coefficients)
    return graph.add("Add", values, to_numpy(machine.intercept)[None, :k].astype(np.float64))


@_values.register
def _(step: SelectorMixin, graph: Graph, X: Tensor) -> Tensor:
    return _columns(graph, X, step.get_support(indices=True))


@_values.register(MinMaxScaler)
@_values.register(MaxAbsScaler)
def _(step: Any, graph: Graph, X: Tensor) -> Tensor | None:
    scaled = _affine(graph, unclipped_map_of(step), X)
    if not getattr(step, "clip", False):
        return scaled
    low, high = getattr(step, "feature_range", (-1.0, 1.0))
    return graph.add("Clip", scaled, graph.constant(float(low)), graph.constant(float(high)))


@_values.register
def _(step: Normalizer, graph: Graph, X: Tensor) -> Tensor:
    # ReduceL2 has the digits of single precision only in onnxruntime 1.19.
    operator = {"l2": "ReduceSumSquare", "l1": "ReduceL1", "max": "ReduceMax"}[step.norm]
    length = graph.add(operator, graph.add("Abs", X), np.array([1]), keepdims=1)
    length = graph.add("Sqrt", length) if step.norm == "l2" else length
    return graph.add("Div", X, graph.add("Where", graph.add("Equal", length, 0.0), 1.0, length))


@_values.register
def _(step: SimpleImputer, graph: Graph, X: Tensor) -> Tensor | None:
    statistics = np.asarray(step.statistics_)
    if step.add_indicator or statistics.dtype.kind != "f":
        return None
    is_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    missing = graph.add("IsNaN", X) if is_nan else graph.add("Equal", X, float(step.missing_values))
    filled = graph.add("Where", missing, np.nan_to_num(statistics)[None, :], X)
    kept = np.flatnonzero(~np.isnan(statistics) | step.keep_empty_features)
    return filled if kept.size == statistics.size else _columns(graph, filled, kept)


@_values.register
def _(step: ColumnTransformer, graph: Graph, X: Tensor) -> Tensor:
    numbers = column_numbers(step)
    parts = [
        step_values(graph, name, part, _columns(graph, X, np.asarray(numbers[name], dtype=np.int64)))
        for name, part, _ in step.transformers_
        if part != "drop" and len(numbers[name])
    ]
    return graph.add("Concat", *parts, axis=1)


def _columns(graph: Graph, X: Tensor, numbers: np.ndarray) -> Tensor:
    return graph.add("Gather", X, np.asarray(numbers, dtype=np.int64), axis=1)
