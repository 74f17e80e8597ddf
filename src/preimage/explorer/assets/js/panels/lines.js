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
