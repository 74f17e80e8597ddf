"""Operators of programs: those of Python's table, with NumPy's values, and derivatives that differences confirm."""

import numpy as np
from array_api_compat import numpy as xp

from preimage.interop._page import ELEMENTWISE
from preimage.interop.tracing._traced import BINARY, UNARY

STEP = 1e-6
FUNCTIONS = {operator: getattr(xp, name) for name, operator in (UNARY | BINARY).items()}
FUNCTIONS["Reciprocal"] = xp.reciprocal


N = 40
RUN = """({Program}, records, inputs) => Object.fromEntries(Object.entries(records).map(([name, record]) => {
  const z = inputs[name].values, program = new Program(record, z.length), gradient = new Float64Array(z.length);
  const values = program.run(z).slice();
  program.pullBack([new Float64Array(values.length).fill(1)], gradient);
  return [name, [values, gradient]];
}))"""


def arguments(name, count):
    """Numbers for which an operator has a value, away from its jumps and corners."""
    x = np.random.default_rng(len(name)).uniform(0.1, 0.8, size=(count, N))
    x[:, N // 2 :] *= 1 if name in {"Log", "Sqrt", "Pow", "Acosh"} else -1
    return x + 1.5 if name == "Acosh" else x


def program(operator, count):
    """An operator of one or two halves of the input, which products with matrices take apart."""
    halves = np.split(np.eye(count * N), count, axis=1)
    nodes = [{"op": "Input", "inputs": []}, *({"op": "MatMul", "inputs": [0], "matrix": half} for half in halves)]
    return {"nodes": [*nodes, {"op": operator, "inputs": list(range(1, count + 1))}], "outputs": [count + 1]}


def test_the_page_has_the_operators_of_python(javascript):
    names = javascript("operators.js", "({UNARY, BINARY, VECTORS}) => Object.keys({...UNARY, ...BINARY, ...VECTORS})")
    assert sorted(names) == sorted(ELEMENTWISE) == sorted(FUNCTIONS)


def test_operators_have_numpys_values_and_derivatives_by_differences(javascript):
    for count, names in ((1, [*UNARY.values(), "Reciprocal"]), (2, BINARY.values())):
        inputs = {name: arguments(name, count) for name in names}
        for name, found in javascript(
            "program.js", RUN, {name: program(name, count) for name in names}, inputs
        ).items():
            x, function = inputs[name], lambda *x, name=name: FUNCTIONS[name](*x).astype(float)
            np.testing.assert_allclose(found[0], function(*x), rtol=1e-13, err_msg=name)
            for i, move in enumerate(STEP * np.eye(count)):
                differences = (function(*(x + move[:, None])) - function(*(x - move[:, None]))) / (2 * STEP)
                gradient = found[1].reshape(count, N)[i]
                np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-7, err_msg=f"{name}, {i}")


def test_what_was_not_chosen_does_not_reach_a_derivative(javascript):
    """`where(x > 0, sqrt(x), 0)` has a derivative at zero, although that of the root is infinite."""
    nodes = [
        {"op": "Input", "inputs": []},
        {"op": "Constant", "inputs": [], "value": 0},
        {"op": "Greater", "inputs": [0, 1]},
        {"op": "Sqrt", "inputs": [0]},
        {"op": "Where", "inputs": [2, 3, 1]},
    ]
    gradient = javascript(
        "program.js",
        """({Program}, record) => {
          const program = new Program(record, 2), gradient = new Float64Array(2);
          program.run(Float64Array.of(0, 4));
          program.pullBack([Float64Array.of(1, 1)], gradient);
          return gradient;
        }""",
        {"nodes": nodes, "outputs": [4]},
    )
    np.testing.assert_array_equal(gradient, [0.0, 0.25])
