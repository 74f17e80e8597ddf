// Noise and gaps that a person adds to a row, to see what the model makes of them.

/**
 * A generator of numbers between 0 and 1 that a seed fixes: the same picture after the same clicks.
 * @param {number} seed a whole number
 * @returns {() => number}
 */
function randomNumbers(seed) {
  // A counter with an odd step, whose bits are mixed by two multiplications; good enough for pictures.
  let counter = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    counter = (counter + 0x6d2b79f5) | 0;
    let bits = Math.imul(counter ^ (counter >>> 15), counter | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A row with Gaussian noise added; gaps stay gaps.
 * @param {Float64Array} row
 * @param {object} view record of the header
 * @param {number} amount standard deviation of the noise, in standard deviations of the data
 * @param {number} seed
 * @returns {Float64Array}
 */
export function noisy(row, view, amount, seed) {
  const random = randomNumbers(seed);
  const scales = noiseScales(view, row.length);
  return row.map((value, j) => {
    // Box and Muller's way from two even numbers to a Gaussian one.
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    return value + amount * scales[j] * radius * Math.cos(2 * Math.PI * random());
  });
}

// Columns of a table have units of their own; pixels, voxels and points of a curve share one.
function noiseScales(view, width) {
  const { values } = view.deviation;
  if (view.kind === "table") return view.usual?.deviation.values ?? values;
  let squares = 0;
  for (const deviation of values) squares += deviation * deviation;
  return new Float64Array(width).fill(Math.sqrt(squares / values.length));
}

/**
 * Which gaps can be made in rows of a view: entries of a menu.
 * @param {object} view record of the header
 */
export function gapChoices(view) {
  const sides = { image: ["upper", "lower", "left", "right"], curve: ["left", "right"] }[view.kind] ?? [];
  return [...sides.map((side) => ({ value: side, text: `${side} half` })), { value: "random", text: "random half" }];
}

/**
 * A row with gaps, which are NaN, where the chosen part is.
 * @param {Float64Array} row
 * @param {object} view record of the header
 * @param {string} part a value of `gapChoices`
 * @param {number} seed
 * @returns {Float64Array}
 */
export function withGaps(row, view, part, seed) {
  const [height, width, channels = 1] = view.kind === "image" ? view.shape : [1, row.length];
  const chosen = part === "random" ? randomHalf(height * width, seed) : null;
  const isGap = {
    upper: (i) => i < Math.floor(height / 2),
    lower: (i) => i >= Math.ceil(height / 2),
    left: (i, j) => j < Math.floor(width / 2),
    right: (i, j) => j >= Math.ceil(width / 2),
    random: (i, j) => chosen[i * width + j],
  }[part];
  const result = Float64Array.from(row);
  for (let i = 0; i < height; i += 1) {
    for (let j = 0; j < width; j += 1) {
      const first = (i * width + j) * channels;
      if (isGap(i, j)) result.fill(NaN, first, first + channels);
    }
  }
  return result;
}

// Exactly one half, so that short rows keep known entries: which of the numbers are among the smaller random keys.
function randomHalf(count, seed) {
  const random = randomNumbers(seed);
  const keys = Float64Array.from({ length: count }, () => random());
  const limit = Float64Array.from(keys).sort()[count >> 1];
  return Array.from(keys, (key) => key < limit);
}
