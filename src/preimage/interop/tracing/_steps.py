"""Steps of pipelines before a kernel machine, as nodes of a graph."""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
)

from preimage._engine.arrays import to_dense, to_numpy
from preimage.interop._pipeline import AffineMap, active, affine_map_of, taken_apart, unclipped_map_of
from preimage.interop._private import column_numbers, scaler_of
from preimage.interop._sklearn import machine_of
from preimage.interop.tracing._kernels import kernel_values
from preimage.interop.tracing._traced import Graph, Tensor

KNOWN = (
    "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, Normalizer, Binarizer, PowerTransformer, "
    "PolynomialFeatures, SimpleImputer, PCA, IncrementalPCA, TruncatedSVD, feature selection, ColumnTransformer, "
    "FeatureUnion, and kernel maps such as KernelPCA and Nystroem"
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
def _(step: Binarizer, graph: Graph, X: Tensor) -> Tensor:
    return graph.cast(graph.add("Greater", X, float(step.threshold)), graph.dtype)


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
def _(step: PolynomialFeatures, graph: Graph, X: Tensor) -> Tensor:
    d = step.n_features_in_
    one = graph.filled_like(_columns(graph, X, np.array([0])), 1.0)
    padded = graph.add("Concat", one, X, axis=1)
    # Column 0 is one; a product of fewer factors than the degree takes it for the rest.
    factors = [np.repeat(np.arange(1, d + 1), powers) for powers in step.powers_]
    most = max(map(len, factors))
    table = np.array([np.pad(each, (0, most - len(each))) for each in factors])
    product = _columns(graph, padded, table[:, 0]) if most else _columns(graph, padded, np.zeros(len(factors), int))
    for number in range(1, most):
        product = graph.add("Mul", product, _columns(graph, padded, table[:, number]))
    return product


@_values.register
def _(step: PowerTransformer, graph: Graph, X: Tensor) -> Tensor:
    lambdas = np.asarray(step.lambdas_, dtype=np.float64)[None, :]
    if step.method == "box-cox":
        values = _box_cox(graph, X, lambdas)
    else:
        # Yeo and Johnson: the power of x + 1 above zero, and the mirrored power with 2 − λ below.
        above = _box_cox(graph, graph.add("Add", graph.add("Relu", X), 1.0), lambdas)
        mirrored = graph.add("Add", graph.add("Relu", graph.add("Neg", X)), 1.0)
        below = graph.add("Neg", _box_cox(graph, mirrored, 2 - lambdas))
        values = graph.add("Where", graph.add("GreaterOrEqual", X, 0.0), above, below)
    scaler = affine_map_of(scaler_of(step)) if step.standardize else None
    return values if scaler is None else _affine(graph, scaler, values)


def _box_cox(graph: Graph, X: Tensor, lambdas: np.ndarray) -> Tensor:
    """(x^λ − 1)/λ, and log x where λ is zero to within rounding."""
    is_log = np.abs(lambdas) < np.spacing(1.0)
    safe = np.where(is_log, 1.0, lambdas)
    powers = graph.add("Div", graph.add("Sub", graph.add("Pow", X, safe), 1.0), safe)
    return graph.add("Where", is_log, graph.add("Log", X), powers) if is_log.any() else powers


@_values.register
def _(step: FeatureUnion, graph: Graph, X: Tensor) -> Tensor:
    weights = step.transformer_weights or {}
    parts = []
    for name, part in step.transformer_list:
        if part == "drop":
            continue
        values = step_values(graph, name, part, X)
        parts.append(graph.add("Mul", values, float(weights[name])) if name in weights else values)
    return graph.add("Concat", *parts, axis=1)


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
