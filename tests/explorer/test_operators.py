"""Operators of programs: those of Python's table, with NumPy's values, and derivatives that differences confirm."""

import numpy as np
from array_api_compat import numpy as xp

from preimage.interop.page._program import ELEMENTWISE
from preimage.interop.tracing._traced import BINARY, UNARY

STEP = 1e-6
FUNCTIONS = {operator: getattr(xp, name) for name, operator in (UNARY | BINARY).items()}
FUNCTIONS["Reciprocal"] = xp.reciprocal


def arguments(name, count):
    """Numbers for which an operator has a value, away from its jumps and corners."""
    x = np.random.default_rng(len(name)).uniform(0.1, 0.8, size=(count, 40))
    x[:, 20:] *= 1 if name in {"Log", "Sqrt", "Pow", "Acosh"} else -1
    return x + 1.5 if name == "Acosh" else x[::-1] if count == 2 else x


def computed(javascript, table, names, count):
    call = f"""({{{table}}}, inputs) => Object.fromEntries(Object.entries(inputs).map(([name, x]) => {{
      const n = x.shape[1], column = (i) => [...x.values].filter((_, k) => k % n === i);
      return [name, Array.from({{length: n}}, (_, i) => {{
        const [f, ...derivatives] = {table}[name], value = f(...column(i));
        return [value, ...derivatives.map((each) => each(...column(i), value))];
      }})];
    }}))"""
    return javascript("operators.js", call, {name: arguments(name, count) for name in names})


def test_the_page_has_the_operators_of_python(javascript):
    names = javascript("operators.js", "({UNARY, BINARY}) => [Object.keys(UNARY), Object.keys(BINARY)]")
    assert sorted(names[0] + names[1]) == sorted(ELEMENTWISE) == sorted(FUNCTIONS)


def test_operators_have_numpys_values_and_derivatives_by_differences(javascript):
    for table, names, count in (("UNARY", [*UNARY.values(), "Reciprocal"], 1), ("BINARY", BINARY.values(), 2)):
        for name, rows in computed(javascript, table, names, count).items():
            x, function = arguments(name, count), lambda *x, name=name: FUNCTIONS[name](*x).astype(float)
            found = np.array(rows, dtype=float).T
            np.testing.assert_allclose(found[0], function(*x), rtol=1e-13, err_msg=name)
            for i in range(count):
                up, down = x.copy(), x.copy()
                up[i], down[i] = x[i] + STEP, x[i] - STEP
                differences = (function(*up) - function(*down)) / (2 * STEP)
                np.testing.assert_allclose(found[i + 1], differences, rtol=1e-7, atol=1e-7, err_msg=f"{name}, {i}")


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
          program.pullBack(Float64Array.of(1, 1), gradient);
          return gradient;
        }""",
        {"nodes": nodes, "outputs": [4]},
    )
    np.testing.assert_array_equal(gradient, [0.0, 0.25])
