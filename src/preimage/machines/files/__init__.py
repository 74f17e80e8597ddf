"""Machines as bytes, without code in them."""

from preimage.machines.files._document import machine_from_bytes, machine_to_bytes

__all__ = ["machine_from_bytes", "machine_to_bytes"]
