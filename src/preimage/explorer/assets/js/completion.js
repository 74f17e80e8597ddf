// Gaps of a row, filled so that its image lies as near as possible to the subspace: `impute` of the library.

import { Box, minimize } from "./descent.js";
import { QuasiNewtonSteps } from "./quasi_newton.js";
import { EPSILON, combineRows, dot, multiplyLeading, squaredDistance } from "./vectors.js";

// As in the library: a search is done when a step is shorter than this fraction of the spread of the points.
const TOLERANCE = 1e-3;
const MOST_STEPS = 100;
// Rounding errors of a sum of products, in units of its largest terms.
const ROUNDING = 4;
// Points are averaged with weights exp(−SHARPNESS · squared distance / median of squared distances), as in the library.
const SHARPNESS = 16;
// Products that the median of distances between points may take, a tenth of a second; of more, some points are skipped.
const MOST_PRODUCTS = 1e8;

/**
 * Fill the gaps of a row, which are NaN; the other entries stay as they are.
 *
 * Minimises E(z) = ‖φ(z) − origin‖² − Σ wᵢ βᵢ(z)² over the missing entries, with wᵢ = 1 − σ²/λᵢ, where σ² is the mean
 * variance of the components that are left out. A row of gaps alone becomes the pre-image of the mean.
 * @param {object} model
 * @param {Float64Array} row
 * @param {number} q components that count
 * @returns {{row: Float64Array, objective: number, iterations: number, reason: string}}
 */
export function filled(model, row, q) {
  const entries = entriesOf(model);
  const known = entries.enter(row);
  const isGap = known.map((value) => Number(Number.isNaN(value)));
  const hasNothing = isGap.every((gap) => gap === 1);
  const weights = hasNothing ? new Float64Array(q) : componentWeights(model.record, q);
  const energy = entries.energy(subspaceEnergy(model.subspace, q, weights));
  const objective = (z) => {
    const found = energy(z);
    return { ...found, gradient: found.gradient.map((value, j) => value * isGap[j]) };
  };
  const start = hasNothing ? meanOf(entries.points) : neighborStart(entries.points, known, entries.scale);
  const steps = new QuasiNewtonSteps(entries.spread, TOLERANCE);
  const found = minimize(objective, start, entries.box, steps, MOST_STEPS);
  const result = entries.leave(found.z).map((value, j) => (Number.isNaN(row[j]) ? value : row[j]));
  return { row: result, objective: found.objective, iterations: found.iterations, reason: found.reason };
}

/**
 * 1 − σ²/λᵢ, and zero for components with no more variance than the noise σ² has; ones where variances are not known.
 * @param {object} record of a model: explained fractions of the variance, or null; and n_rows, those that the model was
 *   fitted to, or null
 * @param {number} q
 */
export function componentWeights({ explained, n_rows: count }, q) {
  if (!explained || !count) return new Float64Array(q).fill(1);
  const fractions = explained.values.subarray(0, q);
  const left = fractions.reduce((rest, fraction) => rest - fraction, 1);
  const noise = Math.max(0, left) / Math.max(1, count - 1 - q);
  return Float64Array.from(fractions, (fraction) => (fraction > noise ? 1 - noise / fraction : 0));
}

/**
 * The energy as a function of an input of the kernel, with its gradient, as `minimize` takes it.
 * @param {object} subspace
 * @param {number} q
 * @param {Float64Array} weights one per component
 */
export function subspaceEnergy(subspace, q, weights) {
  const { kernel, k, frame, origin, offset, signature, originSquaredNorm } = subspace;
  return (z) => {
    const { values, diagonal } = kernel.evaluate(z);
    const products = combineRows(values, frame, k);
    const beta = Float64Array.from(weights, (_, j) => products[j] - offset[j]);
    const weighted = beta.map((value, j) => value * weights[j] * signature[j]);
    const target = multiplyLeading(frame, k, weighted, q);
    let quadratic = dot(weighted, beta) - originSquaredNorm;
    if (origin !== null) {
      quadratic += 2 * dot(values, origin);
      for (let i = 0; i < target.length; i += 1) target[i] += origin[i];
    }
    let size = 0;
    for (let i = 0; i < target.length; i += 1) size += Math.abs(target[i] * values[i]);
    const gradient = Float64Array.from(kernel.pullBack(target.map((weight) => -2 * weight), 1));
    const noise = ROUNDING * EPSILON * (Math.abs(diagonal) + 2 * size);
    return { value: diagonal - quadratic, gradient, noise, curvature: null, safeCurvature: curvatureAt(kernel, z) };
  };
}

// A curvature that the distance to a vector no longer than images are hardly exceeds; null where none is known.
function curvatureAt(kernel, z) {
  if (!kernel.hasFixedPoint) return null;
  const itself = Float64Array.of(kernel.isRadial ? 0 : dot(z, z));
  const curvature = (kernel.isRadial ? 4 : 2) * Math.abs(kernel.profileDerivative(itself)[0]);
  return Number.isFinite(curvature) && curvature > 0 ? curvature : null;
}

// What depends on the model alone is found once: a gap that is drawn asks for many fillings in a row.
const prepared = new WeakMap();

function entriesOf(model) {
  if (!prepared.has(model)) {
    const space = spaceOf(model);
    prepared.set(model, { ...space, spread: spreadOf(space.points), scale: medianDistance(space.points) });
  }
  return prepared.get(model);
}

// Where gaps are: in inputs of the kernel after a scaler, which keeps entries apart; in rows before a matrix.
function spaceOf(model) {
  const inside = Array.from({ length: model.subspace.kernel.n }, (_, number) => model.subspace.point(number));
  const matrix = model.record.front?.matrix;
  if (!matrix) {
    const { box } = model.nearestImage;
    const [enter, leave] = [(row) => model.toFeatures(row), (z) => model.fromFeatures(z)];
    return { points: inside, box, energy: (f) => f, enter, leave };
  }
  const outwards = (gradient) => multiplyLeading(matrix.values, matrix.shape[1], gradient, gradient.length);
  const energy = (f) => (row) => {
    const found = f(model.toFeatures(row));
    return { ...found, gradient: outwards(found.gradient), safeCurvature: null };
  };
  const copy = (row) => Float64Array.from(row);
  return { points: inside.map((z) => model.fromFeatures(z)), box: new Box(), energy, enter: copy, leave: copy };
}

/**
 * A row with its gaps replaced by averages over points, nearer ones by the known entries counting more.
 * @param {Float64Array[]} points
 * @param {Float64Array} row with NaN in its gaps
 * @param {number} scale a squared distance between points, such as their median
 */
export function neighborStart(points, row, scale) {
  const known = Array.from(row.keys()).filter((j) => !Number.isNaN(row[j]));
  const means = meanOf(points);
  const distances = points.map((point) => {
    let sum = 0;
    for (const j of known) sum += (point[j] - row[j]) ** 2;
    return (sum * row.length) / known.length;
  });
  const nearest = Math.min(...distances);
  const weights = Float64Array.from(distances, (squared) => Math.exp((-SHARPNESS / scale) * (squared - nearest)));
  // Where no point is near, the mean has this weight next to the sum of all weights.
  const little = Math.sqrt(EPSILON);
  const total = weights.reduce((sum, weight) => sum + weight, little);
  return row.map((value, j) => {
    if (!Number.isNaN(value)) return value;
    return points.reduce((sum, point, i) => sum + weights[i] * point[j], little * means[j]) / total;
  });
}

/**
 * The median squared distance between points that differ; one where none do.
 * @param {Float64Array[]} points
 */
export function medianDistance(points) {
  const most = Math.max(2, Math.floor(Math.sqrt((2 * MOST_PRODUCTS) / points[0].length)));
  const some = points.filter((_, i) => i % Math.ceil(points.length / most) === 0);
  const all = new Float64Array((some.length * (some.length - 1)) / 2);
  let pair = 0;
  for (let i = 0; i < some.length; i += 1) {
    for (let j = 0; j < i; j += 1, pair += 1) all[pair] = squaredDistance(some[i], some[j]);
  }
  const sorted = all.filter((squared) => squared > 0).sort();
  if (sorted.length === 0) return 1;
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

function meanOf(points) {
  const mean = new Float64Array(points[0].length);
  for (const point of points) for (let j = 0; j < mean.length; j += 1) mean[j] += point[j] / points.length;
  return mean;
}

// Root mean squared distance from the mean, the length scale of the steps.
function spreadOf(points) {
  const mean = meanOf(points);
  const squared = points.reduce((sum, point) => sum + squaredDistance(point, mean) / points.length, 0);
  return squared > 0 ? Math.sqrt(squared) : 1;
}
