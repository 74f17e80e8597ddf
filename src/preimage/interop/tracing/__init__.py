"""Kernels and steps of pipelines written down as operators: one mechanism, for ONNX graphs and programs of pages."""

from preimage.interop.tracing._kernels import kernel_values
from preimage.interop.tracing._steps import step_values
from preimage.interop.tracing._traced import Graph, Tensor, Traced, traced
