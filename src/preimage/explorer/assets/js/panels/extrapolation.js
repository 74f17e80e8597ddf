// Where a model extrapolates: places of the map that no sample supports.

import { reconstructionErrors, typicalScore } from "./novelty.js";
import { mapSamples } from "./shown_samples.js";

// Squared distances from the samples, in widths of averages, at which a place is far: the strength is one half there.
// The map itself says how far its samples usually are from each other; one width less than that is the blur of the
// distance, and beyond three widths nothing is near whatever samples do.
const [NEAREST_FAR, FARTHEST_FAR] = [1, 9];

/**
 * How much the answer at a place extrapolates, between 0 and 1, for the present choices.
 *
 * Either of two things is enough: with the distance d from the samples on the map, d⁴/(d⁴ + u²), where u is the squared
 * distance from the others that 95 % of the samples have at most, between 1 and 9; and with the squared distance ρ in
 * feature space between the image of the pre-image and what was asked for, r/(r + e), where r is what ρ exceeds the
 * reconstruction errors of the samples around by, and e is the median of these errors. The first is steep, so that gaps
 * between groups are seen as well. The second sees what is between samples of a curved cloud, whose middle no input
 * reaches.
 * @param {object} app
 * @returns {(place: {across: number, up: number}, distance: number) => number} of a place and its ρ
 */
export function extrapolation(app) {
  const samples = mapSamples(app);
  const [record, q] = [app.data.models[app.store.get("model")], app.store.get("q")];
  const scores = reconstructionErrors(record, q);
  const typical = typicalScore(record, q);
  const unit = Math.min(FARTHEST_FAR, Math.max(NEAREST_FAR, samples.usualSquaredDistance()));
  return (place, distance) => {
    const far = relative(samples.squaredDistance(place) ** 2, unit * unit);
    const inexact = relative(distance - samples.average(place, scores), typical);
    return 1 - (1 - far) * (1 - inexact);
  };
}

/** x/(x + unit) for x ≥ 0, and 0 below. */
export function relative(value, unit) {
  if (!(value > 0)) return 0;
  return value === Infinity ? 1 : value / (value + unit);
}
