// How unusual samples are: squared distances in feature space to the subspace of the leading components.

const known = new WeakMap();
const spreads = new WeakMap();
// A three-hundredth of the spread, squared.
const NEGLIGIBLE = 1e-5;

/**
 * How unusual all samples are: the scores of a detector where the model is one, else their reconstruction errors.
 * @param {object} record of a model in the header of the page
 * @param {number} q
 * @returns {ArrayLike<number>} not to be changed
 */
export function noveltyScores(record, q) {
  return record.detection ? record.detection.scores.values : reconstructionErrors(record, q);
}

/**
 * Reconstruction errors of all samples with the first q components: those with all of them, plus what the remaining
 * components hold (Pythagoras in the orthonormal frame).
 * @param {object} record of a model in the header of the page
 * @param {number} q
 * @returns {Float64Array} kept for the next call; not to be changed
 */
export function reconstructionErrors(record, q) {
  const latest = known.get(record);
  if (latest?.q === q) return latest.scores;
  const scores = computedScores(record, q);
  known.set(record, { q, scores });
  return scores;
}

function computedScores(record, q) {
  const { values, shape } = record.coordinates;
  const [count, k] = shape;
  const signature = record.signature?.values;
  const scores = Float64Array.from(record.errors.values);
  for (let i = 0; i < count; i += 1) {
    for (let j = q; j < k; j += 1) {
      const coordinate = inFrame(record, values, i * k, j, k);
      scores[i] += coordinate * coordinate * (signature ? signature[j] : 1);
    }
    // Rounding can leave a tiny negative number; under an indefinite kernel negative squares have a meaning.
    if (!signature && scores[i] < 0) scores[i] = 0;
  }
  return scores;
}

function inFrame(record, values, start, j, k) {
  if (!record.features) return values[start + j];
  const row = record.features.values.subarray(j * k, (j + 1) * k);
  return row.reduce((sum, entry, l) => sum + entry * values[start + l], 0);
}

/**
 * A squared distance in feature space that no picture shows: a small part of the mean squared distance of the samples
 * from their mean. Models of all components reconstruct samples up to rounding, with which nothing can be compared.
 * @param {object} record of a model
 */
export function negligible(record) {
  if (!spreads.has(record)) {
    const all = computedScores(record, 0);
    spreads.set(record, all.reduce((sum, score) => sum + score / all.length, 0));
  }
  return NEGLIGIBLE * spreads.get(record);
}

/** The median of the reconstruction errors with q components, and no less than what is negligible. */
export function typicalScore(record, q) {
  return Math.max(quantile(reconstructionErrors(record, q), 0.5), negligible(record));
}

/**
 * The rank of a score among all: 1 is the largest, the most unusual; equal scores have the same rank.
 * @param {Float64Array} scores
 * @param {number} score
 */
export function rankFromTop(scores, score) {
  let larger = 0;
  for (const other of scores) if (other > score) larger += 1;
  return larger + 1;
}

/**
 * A squared distance compared with the reconstruction errors of the samples, in words.
 * @param {Float64Array} scores
 * @param {number} distance
 * @param {string} errors how the sentence calls those of the samples
 */
export function comparison(scores, distance, errors) {
  let smaller = 0;
  for (const score of scores) if (score < distance) smaller += 1;
  if (smaller === 0) return `no larger than ${errors} of any sample`;
  if (smaller === scores.length) return `larger than ${errors} of every sample`;
  const percent = Math.min(99, Math.max(1, Math.round((100 * smaller) / scores.length)));
  return `larger than ${errors} of ${percent} % of the samples`;
}

/**
 * The number below which a fraction of the list lies.
 * @param {ArrayLike<number>} numbers
 * @param {number} fraction between 0 and 1
 */
export function quantile(numbers, fraction) {
  const sorted = Float64Array.from(numbers).sort();
  const place = fraction * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(sorted.length - 1, below + 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}
