"""Kernel machines as ONNX graphs of standard operators."""

from preimage.interop.onnx._export import to_onnx
