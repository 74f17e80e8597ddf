/**
 * Programs: formulas of one row that Python wrote down as nodes, evaluated forwards, and backwards for derivatives.
 *
 * The docstring of `kernel_record` in preimage/interop/page describes the format. Every node keeps the vector that it
 * computed last; vectors of length one combine with all others.
 */

import { BINARY, UNARY, VECTORS, chained } from "./operators.js";
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
    // The nodes of each output in order, without those that do not depend on the input: they are computed once.
    for (const node of this.nodes) if (!node.active) node.forward?.(node);
    this.schedules = this.outputs.map((output) => {
      const needed = neededNodes(output);
      return this.nodes.filter((node) => node.active && needed.has(node) && node !== this.input);
    });
    const first = new Set(this.schedules[0]);
    this.further = (this.schedules[1] ?? []).filter((node) => !first.has(node));
    this.all = [...this.schedules[0], ...this.further]; // inputs of each node are before it
  }

  /** Compute one output at the input z, which is read, not copied. The result is valid until the next call. */
  run(z, output = 0) {
    this.input.value = z;
    for (const node of this.schedules[output]) node.forward(node);
    return this.outputs[output].value;
  }

  /** Compute the second output at the input of the last `run` of the first, whose nodes are not computed again. */
  runFurther() {
    for (const node of this.further) node.forward(node);
    return this.outputs[1].value;
  }

  /**
   * Add to `gradient` the derivative of Σ weights[o][i]·outputs[o][i] with respect to the input of the last run.
   *
   * Backwards through the nodes: each passes its adjoint, the derivative with respect to its own value, to its inputs.
   * Outputs without weights (null) do not count; the others must have been computed.
   */
  pullBack(weights, gradient) {
    const schedule = this.scheduleOf(weights);
    for (const node of schedule) node.adjoint.fill(0);
    this.input.adjoint = gradient;
    for (const [number, { active, adjoint }] of this.outputs.entries()) {
      if (!weights[number] || !active) continue;
      for (let i = 0; i < adjoint.length; i++) adjoint[i] += weights[number][i];
    }
    for (let k = schedule.length - 1; k >= 0; k--) schedule[k].backward(schedule[k]);
  }

  /** The nodes of all outputs that have weights. */
  scheduleOf(weights) {
    if (!weights[0]) return this.schedules[1];
    return weights[1] ? this.all : this.schedules[0];
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
  const make = MAKERS[record.op];
  if (make === undefined) throw new Error(`This page has no operator ${record.op}.`);
  const node = { op: record.op, inputs, active: inputs.some((each) => each.active) };
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
    forward: ({ inputs: [condition, x, y], value }) => {
      for (let i = 0; i < value.length; i++) value[i] = at(condition, i) ? at(x, i) : at(y, i);
    },
    backward: ({ inputs: [condition, x, y], value, adjoint }) => {
      for (let i = 0; i < value.length; i++) {
        const chosen = at(condition, i) ? x : y;
        if (chosen.active) chosen.adjoint[i * step(chosen)] += adjoint[i];
      }
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
        for (let i = 0; i < adjoint.length; i++) adjoint[i] += chained(node.adjoint[i], derivatives[i]);
      },
    };
  },
};

for (const name of Object.keys(UNARY)) MAKERS[name] = unary;
for (const name of [...Object.keys(VECTORS), ...Object.keys(BINARY)]) MAKERS[name] = binary;
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
    forward: ({ inputs, value }) => {
      const x = inputs[0].value;
      for (let i = 0; i < value.length; i++) value[i] = f(x[i]);
    },
    backward: ({ inputs, value, adjoint }) => {
      const x = inputs[0];
      for (let i = 0; i < value.length; i++) x.adjoint[i] += chained(adjoint[i], derivative(x.value[i], value[i]));
    },
  };
}

function binary({ op }, inputs) {
  const [forward, ...backward] = VECTORS[op] ?? oneByOne(BINARY[op]);
  return {
    value: new Float64Array(longest(inputs)),
    forward: ({ inputs: [a, b], value }) => forward(a.value, step(a), b.value, step(b), value),
    backward: ({ inputs: [a, b], value, adjoint }) => {
      if (a.active) backward[0](adjoint, a.value, step(a), b.value, step(b), a.adjoint, step(a), value);
      if (b.active) backward[1](adjoint, a.value, step(a), b.value, step(b), b.adjoint, step(b), value);
    },
  };
}

/** An operator of numbers as one of vectors, in the form of `VECTORS`. */
function oneByOne([f, ...derivatives]) {
  return [
    (x, a, y, b, out) => {
      for (let i = 0; i < out.length; i++) out[i] = f(x[i * a], y[i * b]);
    },
    ...derivatives.map((derivative) => (adjoint, x, a, y, b, sum, s, value) => {
      for (let i = 0; i < adjoint.length; i++) {
        sum[i * s] += chained(adjoint[i], derivative(x[i * a], y[i * b], value[i]));
      }
    }),
  ];
}

/** How far apart the numbers of a vector are that combine with those of another: a vector of length one has one. */
function step({ value }) {
  return value.length === 1 ? 0 : 1;
}

/** The number of a vector at place i. */
function at(node, i) {
  return node.value[i * step(node)];
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
