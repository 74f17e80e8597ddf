/** Kernels of a page: values against the points of a model, diagonals, and contracted gradients. */

import { Program, numbersOf } from "./program.js";

/**
 * A kernel k and the points p₁ … pₙ of a model.
 *
 * Vectors that methods return are reused, to be read, and valid until the next call of a method. `evaluate` and
 * `pullBack` are the fast way for solvers that need values and gradients at the same place.
 */
export class Kernel {
  /**
   * @param record what `kernel_record` of preimage/interop/page wrote
   * @param points n points, one after the other: a typed array, or {values}; with more columns than inputs where points
   *   have parameters of their own
   * @param n number of points
   * @param d number of inputs
   */
  constructor(record, points, n, d) {
    this.n = n;
    this.d = d;
    /** The points, one after the other. */
    this.points = numbersOf(points);
    const sets = [{ values: this.points, count: n, columns: this.points.length / n }];
    const tables = { sets, profiles: record.profiles };
    for (const set of record.sets) sets.push(makeSet(set, tables));
    this.program = new Program(record, d, tables);
    this.result = new Float64Array(d);
    this.weight = new Float64Array(1);
    const [node] = this.program.outputs;
    const quantity = node.op === "Profile" ? node.inputs[0] : null;
    const isOfInputs = quantity !== null && quantity.inputs[0] === this.program.input && quantity.set === sets[0];
    /** Whether k is a profile f of the squared distance of inputs. */
    this.isRadial = isOfInputs && quantity.op === "SquaredDistance";
    /** Whether the fixed points of the papers exist: k is a profile of the squared distance or the inner product. */
    this.hasFixedPoint = this.isRadial || (isOfInputs && quantity.op === "InnerProduct");
    this.quantity = isOfInputs ? quantity : null;
    this.profileRecord = isOfInputs ? record.profiles[record.nodes[record.outputs[0]].profile] : null;
    this.formulas = new Map();
  }

  /** k(z, pᵢ) for all points. */
  values(z) {
    return this.program.run(z, 0);
  }

  /** k(z, z). */
  diagonal(z) {
    return this.program.run(z, 1)[0];
  }

  /** Σᵢ wᵢ ∇k(z, pᵢ). */
  gradient(weights, z) {
    this.program.run(z, 0);
    return this.pullBack(weights);
  }

  /** The gradient of z ↦ k(z, z). */
  diagonalGradient(z) {
    this.program.run(z, 1);
    return this.pullBack(null, 1);
  }

  /** k(z, pᵢ) for all points and k(z, z), with shared parts computed once: {values, diagonal}. */
  evaluate(z) {
    const values = this.program.run(z, 0);
    return { values, diagonal: this.program.runFurther()[0] };
  }

  /** The gradient of Σᵢ wᵢ k(z, pᵢ) + c·k(z, z) at the z of the last `evaluate`; z must not have changed since. */
  pullBack(weights, c = 0) {
    this.weight[0] = c;
    this.result.fill(0);
    this.program.pullBack([weights, c === 0 ? null : this.weight], this.result);
    return this.result;
  }

  /** s(z, pᵢ) for all points, of a kernel f(s). */
  quantities(z) {
    this.program.input.value = z;
    this.quantity.forward(this.quantity);
    return this.quantity.value;
  }

  /** f of every number of a vector. */
  profile(s) {
    return this.formula(s.length).run(s, 0);
  }

  /** f′ of every number of a vector. */
  profileDerivative(s) {
    return this.formula(s.length).run(s, 1);
  }

  /** Both at once, of a vector: {values, derivatives}. */
  profileWithDerivative(s) {
    const formula = this.formula(s.length);
    const values = formula.run(s, 0);
    return { values, derivatives: formula.runFurther() };
  }

  /** The program of f and f′ for vectors of a length. */
  formula(length) {
    if (!this.formulas.has(length)) this.formulas.set(length, new Program(this.profileRecord, length));
    return this.formulas.get(length);
  }
}

/** A further set of points: leading columns or images of points of another set, or points of its own. */
function makeSet(record, tables) {
  if (record.points !== undefined) {
    const [count, columns] = record.points.shape;
    return { values: numbersOf(record.points), count, columns };
  }
  const { values, count, columns } = tables.sets[record.of];
  const row = (i) => values.subarray(i * columns, (i + 1) * columns);
  if (record.columns !== undefined) return joined(count, (i) => row(i).subarray(0, record.columns));
  const map = new Program(record.map, columns, tables);
  return joined(count, (i) => map.run(row(i)));
}

/** The set of `count` rows that a function gives one by one. */
function joined(count, row) {
  const columns = row(0).length;
  const values = new Float64Array(count * columns);
  for (let i = 0; i < count; i++) values.set(row(i), i * columns);
  return { values, count, columns };
}
