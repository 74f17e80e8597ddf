// Straight lines in feature space and between inputs.

/**
 * The point (1 − t)·a + t·b.
 * @param {Float64Array} a
 * @param {Float64Array} b
 * @param {number} t
 * @returns {Float64Array}
 */
export function between(a, b, t) {
  return Float64Array.from(a, (value, j) => (1 - t) * value + t * b[j]);
}

/**
 * Pre-images along a line, one per step of the iterator, each started at the one before: as `navigate` of the library.
 * @param {object} model
 * @param {Float64Array} a coordinates where t = 0
 * @param {Float64Array} b coordinates where t = 1
 * @param {Iterable<number>} fractions t of the points, in the order in which they are found
 * @param {{q: number, start?: Float64Array}} options `start`: where the first search begins; by default at the
 *   pre-image of a
 */
export function* alongLine(model, a, b, fractions, { q, start = null }) {
  let here = start ?? model.preimage(a, { q }).row;
  for (const t of fractions) {
    const found = model.preimage(between(a, b, t), { q, start: here });
    here = found.row;
    yield { t, ...found };
  }
}

/** The straight lines from A to B in feature space and between the inputs, and the pictures along them. */
export class Line {
  /**
   * @param {object} model
   * @param {number} q components that count
   * @param {Float64Array[]} ends coordinates of A and B
   * @param {Float64Array[]} rows A and B as inputs
   * @param {number[]} fractions of the frames of the film, in ascending order from 0 to 1
   */
  constructor(model, q, ends, rows, fractions) {
    Object.assign(this, { model, q, ends, rows, fractions });
    this.found = [];
  }

  /** Finds the frames one after the other, and gives each. */
  *frames() {
    for (const found of alongLine(this.model, ...this.ends, this.fractions, { q: this.q })) {
      this.found.push(found);
      yield found;
    }
  }

  /** The pre-image at t, or null while frames are missing; between two frames it starts at the one before. */
  preimage(t) {
    if (this.found.length < this.fractions.length) return null;
    const frame = this.fractions.filter((fraction) => fraction <= t).length - 1;
    const before = this.found[frame];
    if (this.fractions[frame] === t) return before;
    return this.model.preimage(between(...this.ends, t), { q: this.q, start: before.row });
  }

  /** The point at t of the line between the inputs. */
  input(t) {
    return between(...this.rows, t);
  }
}
