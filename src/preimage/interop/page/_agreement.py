"""Profiles that were read wrongly are refused: programs are run in Python, too, and compared with the kernel."""

from typing import Any

import numpy as np
from array_api_compat import numpy as xp

from preimage.exceptions import UnsupportedKernelError
from preimage.interop.tracing._traced import BINARY, UNARY
from preimage.kernels import InnerProduct, ProfileKernel

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
