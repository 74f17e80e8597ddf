"""From stored fields back to outputs, trusting nothing."""

from collections.abc import Mapping
from dataclasses import fields

from preimage.machines.outputs._binary import Binary
from preimage.machines.outputs._calibrated import Calibrated
from preimage.machines.outputs._logistic import Logistic
from preimage.machines.outputs._one_vs_one import OneVsOne
from preimage.machines.outputs._one_vs_rest import OneVsRest
from preimage.machines.outputs._values import Coordinates, Detection, Regression

OUTPUTS = (Binary, Calibrated, Coordinates, Detection, Logistic, OneVsOne, OneVsRest, Regression)
_BY_NAME = {output.__name__: output for output in OUTPUTS}


def output_from_state(name, state):
    """The output whose class has the given name and whose `state()` was `state`.

    Raises
    ------
    ValueError
        If no output has this name, a field is missing or unknown, or a value is not what the field needs. Names are
        looked up in a table; nothing in `state` is called or imported.

    Examples
    --------
    >>> from preimage.machines.outputs import Detection, output_from_state
    >>> output_from_state("Detection", Detection(0.5).state())
    Detection(offset=0.5)
    """
    if not isinstance(name, str) or name not in _BY_NAME:
        raise ValueError(f"No output has the name {name!r:.60}; known: {', '.join(_BY_NAME)}.")
    output = _BY_NAME[name]
    expected = {field.name for field in fields(output)}
    if not isinstance(state, Mapping) or set(state) != expected:
        found = ", ".join(sorted(map(str, state)))[:200] if isinstance(state, Mapping) else type(state).__name__
        raise ValueError(f"The state of {name} has the fields {', '.join(sorted(expected))}; got {found}.")
    return output(**state)
