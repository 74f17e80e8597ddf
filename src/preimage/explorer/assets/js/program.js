/**
 * Programs: formulas of one row that Python wrote down as nodes, evaluated forwards, and backwards for derivatives.
 *
 * The format is described in the docstring of `kernel_record` in preimage/interop/page. Every node keeps the vector that
 * it computed last; vectors of length one combine with all others.
 */

import { BINARY, UNARY } from "./operators.js";
import { QUANTITIES } from "./quantities.js";
import { combineRows } from "./vectors.js";

/** A program for inputs of `width` numbers; `tables` has the sets of points and the records of profiles. */
export class Program {
  constructor(record, width, tables = { sets: [], profiles: [] }) {
    this.nodes = [];
    for (const node of record.nodes) {
      const inputs = node.inputs.map((number) => this.nodes[number]);
      this.nodes.push(makeNode(node, inputs, width, tables));
    }
    this.input = this.nodes.find((node) => node.op === "Input");
    this.outputs = record.outputs.map((number) => this.nodes[number]);
    // The nodes of each output in order, without those that have nothing to compute.
    this.schedules = this.outputs.map((output) => {
      const needed = neededNodes(output);
      return this.nodes.filter((node) => needed.has(node) && node.forward !== null);
    });
    const first = new Set(this.schedules[0]);
    this.further = this.schedules.map((schedule) => schedule.filter((node) => !first.has(node)));
  }

  /** Compute one output at the input z, which is read, not copied. The result is valid until the next call. */
  run(z, output = 0) {
    this.input.value = z;
    for (const node of this.schedules[output]) node.forward(node);
    return this.outputs[output].value;
  }

  /** Compute a further output at the input of the last `run` of output 0, whose nodes are not computed again. */
  runFurther(output = 1) {
    for (const node of this.further[output]) node.forward(node);
    return this.outputs[output].value;
  }

  /**
   * Add to `gradient` the derivative of Σᵢ weights[i]·output[i] with respect to the input of the last run.
   *
   * Backwards through the nodes: each passes its adjoint, the derivative with respect to its own value, to its inputs.
   */
  pullBack(weights, gradient, output = 0) {
    const schedule = this.schedules[output];
    for (const node of schedule) node.adjoint.fill(0);
    this.input.adjoint = gradient;
    if (!this.outputs[output].active) return;
    const { adjoint } = this.outputs[output];
    for (let i = 0; i < adjoint.length; i++) adjoint[i] += weights[i];
    for (let k = schedule.length - 1; k >= 0; k--) {
      if (schedule[k].active) schedule[k].backward(schedule[k]);
    }
  }
}

/** The nodes that a node needs, with itself. */
function neededNodes(output) {
  const needed = new Set([output]);
  for (const node of needed) for (const input of node.inputs) needed.add(input); // a set is read while it grows
  return needed;
}

/** A node: its inputs, its vector, whether it depends on the input of the program, and both directions. */
function makeNode(record, inputs, width, tables) {
  const make = MAKERS[record.op] ?? (record.op in UNARY ? unary : record.op in BINARY ? binary : null);
  if (make === null) throw new Error(`This page has no operator ${record.op}.`);
  const node = { op: record.op, inputs, active: inputs.some((each) => each.active), forward: null, backward: null };
  Object.assign(node, make(record, inputs, width, tables));
  node.adjoint = node.active ? new Float64Array(node.value.length) : new Float64Array(0);
  return node;
}

const MAKERS = {
  Input: (record, inputs, width) => ({ value: new Float64Array(width), active: true }),

  Constant: ({ value }) => ({ value: typeof value === "object" ? numbersOf(value) : Float64Array.of(Number(value)) }),

  Fill: ({ value }, [x]) => ({ value: new Float64Array(x.value.length).fill(Number(value)), active: false }),

  RowSum: () => ({
    value: new Float64Array(1),
    forward: (node) => {
      let sum = 0;
      for (const value of node.inputs[0].value) sum += value;
      node.value[0] = sum;
    },
    backward: (node) => {
      const { adjoint } = node.inputs[0];
      for (let i = 0; i < adjoint.length; i++) adjoint[i] += node.adjoint[0];
    },
  }),

  Where: (record, inputs) => ({
    value: new Float64Array(longest(inputs)),
    forward: (node) => {
      const [condition, x, y] = node.inputs;
      for (let i = 0; i < node.value.length; i++) node.value[i] = at(condition, i) ? at(x, i) : at(y, i);
    },
    backward: (node) => {
      const [condition, x, y] = node.inputs;
      for (let i = 0; i < node.value.length; i++) pass(at(condition, i) ? x : y, i, node.adjoint[i]);
    },
  }),

  MatMul: ({ matrix }) => {
    const [count, columns] = matrix.shape;
    const set = { values: numbersOf(matrix), count, columns };
    const products = new Float64Array(count);
    return {
      value: new Float64Array(columns),
      forward: (node) => node.value.set(combineRows(node.inputs[0].value, set.values, columns)),
      backward: (node) => {
        const { adjoint } = node.inputs[0];
        QUANTITIES.InnerProduct.values(node.adjoint, set, products);
        for (let i = 0; i < count; i++) adjoint[i] += products[i];
      },
    };
  },

  Profile: ({ profile }, [s], width, { profiles }) => {
    const formula = new Program(profiles[profile], s.value.length);
    return {
      formula,
      value: formula.run(s.value),
      forward: (node) => {
        node.value = formula.run(node.inputs[0].value);
      },
      backward: (node) => {
        const derivatives = formula.runFurther();
        const { adjoint } = node.inputs[0];
        for (let i = 0; i < adjoint.length; i++) adjoint[i] += product(node.adjoint[i], derivatives[i]);
      },
    };
  },
};

for (const [name, { values, pullBack }] of Object.entries(QUANTITIES)) {
  MAKERS[name] = ({ set }, inputs, width, { sets }) => ({
    set: sets[set],
    value: new Float64Array(sets[set].count),
    forward: (node) => values(node.inputs[0].value, node.set, node.value),
    backward: (node) => pullBack(node.adjoint, node.inputs[0].value, node.set, node.inputs[0].adjoint),
  });
}

function unary({ op }, [x]) {
  const [f, derivative] = UNARY[op];
  return {
    value: new Float64Array(x.value.length),
    forward: (node) => {
      const { value } = node.inputs[0];
      for (let i = 0; i < value.length; i++) node.value[i] = f(value[i]);
    },
    backward: (node) => {
      const { value, adjoint } = node.inputs[0];
      for (let i = 0; i < value.length; i++) {
        adjoint[i] += product(node.adjoint[i], derivative(value[i], node.value[i]));
      }
    },
  };
}

function binary({ op }, inputs) {
  const [f, ...derivatives] = BINARY[op];
  return {
    value: new Float64Array(longest(inputs)),
    forward: (node) => {
      const [a, b] = node.inputs;
      for (let i = 0; i < node.value.length; i++) node.value[i] = f(at(a, i), at(b, i));
    },
    backward: (node) => {
      const [a, b] = node.inputs;
      for (const [side, input] of node.inputs.entries()) {
        if (!input.active) continue;
        const derivative = derivatives[side];
        for (let i = 0; i < node.value.length; i++) {
          pass(input, i, product(node.adjoint[i], derivative(at(a, i), at(b, i), node.value[i])));
        }
      }
    },
  };
}

/** The number of a node at place i: the only one of a vector of length one. */
function at({ value }, i) {
  return value[value.length === 1 ? 0 : i];
}

/** Add to the adjoint of a node at place i. */
function pass(node, i, amount) {
  if (node.active) node.adjoint[node.value.length === 1 ? 0 : i] += amount;
}

/** A product that is zero where the adjoint is: parts of a formula that were not chosen may have infinite derivatives. */
function product(adjoint, derivative) {
  return adjoint === 0 ? 0 : adjoint * derivative;
}

function longest(inputs) {
  const lengths = inputs.map((input) => input.value.length);
  return lengths.includes(0) ? 0 : Math.max(...lengths);
}

/** A Float64Array of an array of the page, {values, shape}, or of plain numbers. */
export function numbersOf(array) {
  const values = array.values !== undefined && typeof array.values !== "function" ? array.values : array;
  return values instanceof Float64Array ? values : Float64Array.from(values);
}
