// From places of the map to rows, without feature space: for detectors, to which every pre-image is a usual row.

import { mapSamples } from "./shown_samples.js";

const [latest, fields] = [new WeakMap(), new WeakMap()];
// Samples at which the decision of the row of their place is compared with their own: as many as take a moment.
const MOST_COMPARED = 300;

/**
 * The row that samples around a place lead to: their average, and from where they are to the place the linear trend of
 * rows along both axes. Outside of the data it follows the trend, where a pre-image stays with the nearest data.
 * @returns {(place: {across: number, up: number}) => Float64Array} for the present choices
 */
export function liftOf(app) {
  const samples = mapSamples(app);
  const known = latest.get(app);
  if (known?.samples === samples) return known.lift;
  const trends = trendsOf(samples, app.samples);
  const lift = (place) => {
    const near = samples.near(place);
    const row = new Float64Array(app.samples.width);
    let [across, up] = [place.across, place.up];
    near.samples.forEach((sample, i) => {
      const weight = near.weights[i];
      app.samples.row(sample).forEach((value, j) => { row[j] += weight * value; });
      across -= weight * samples.across[sample];
      up -= weight * samples.up[sample];
    });
    for (let j = 0; j < row.length; j += 1) row[j] += trends[0][j] * across + trends[1][j] * up;
    return row;
  };
  latest.set(app, { samples, lift });
  return lift;
}

/**
 * The decision of a detector at places: that of the row of the place, and what the decisions of samples around differ
 * from those of the rows of their places by. Averages are more usual than what they are averages of; with the second
 * term the threshold lies between samples inside and outliers.
 * @param {object} app
 * @param {Decision} decision of the kind "inside"
 * @returns {(place: {across: number, up: number}) => number} positive inside
 */
export function detectorField(app, decision) {
  const [samples, lift] = [mapSamples(app), liftOf(app)];
  const known = fields.get(decision);
  if (known?.samples === samples) return known.field;
  const own = decision.record.predicted.values;
  const at = (sample) => lift({ across: samples.across[sample], up: samples.up[sample] });
  const differences = new Map();
  const difference = (sample) => {
    if (!differences.has(sample)) differences.set(sample, own[sample] - decision.margins(at(sample))[0]);
    return differences.get(sample);
  };
  const step = Math.ceil(samples.shown.length / MOST_COMPARED);
  const compared = new Set(samples.shown.filter((sample, s) => s % step === 0 || own[sample] < 0));
  const field = (place) => {
    const near = samples.near(place);
    let [sum, total] = [0, 0];
    near.samples.forEach((sample, i) => {
      if (!compared.has(sample)) return;
      sum += near.weights[i] * difference(sample);
      total += near.weights[i];
    });
    return decision.margins(lift(place))[0] + (total > 0 ? sum / total : 0);
  };
  fields.set(decision, { samples, field });
  return field;
}

/** By how much rows change along both axes: their regression on the two coordinates. */
function trendsOf({ shown, across, up }, rows) {
  const mean = (numbers) => shown.reduce((sum, i) => sum + numbers[i] / shown.length, 0);
  const [middleAcross, middleUp] = [mean(across), mean(up)];
  let [aa, ab, bb] = [0, 0, 0];
  const products = [new Float64Array(rows.width), new Float64Array(rows.width)];
  for (const i of shown) {
    const [a, b] = [across[i] - middleAcross, up[i] - middleUp];
    aa += a * a;
    ab += a * b;
    bb += b * b;
    rows.row(i).forEach((value, j) => {
      products[0][j] += a * value;
      products[1][j] += b * value;
    });
  }
  const determinant = aa * bb - ab * ab;
  // Samples on a line, or none, have no trend across it.
  if (!(determinant > 1e-12 * aa * bb)) return products.map((each) => each.fill(0));
  const [first, second] = products;
  return [first.map((value, j) => (bb * value - ab * second[j]) / determinant), second.map((value, j) => (aa * value - ab * first[j]) / determinant)];
}
