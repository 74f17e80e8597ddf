"""What the header of a NumPy array declares, before memory is asked for it."""

import math
from typing import Any

import numpy as np


def check_declared(file: Any, size: int) -> None:
    """Raise ValueError unless the array at the beginning of `file` fits into `size` bytes.

    NumPy asks for the memory of an array before it reads it.
    """
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} and type {dtype} does not fit into {size} bytes.")
