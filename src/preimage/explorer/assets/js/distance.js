// The distance of (P1) in feature space from φ(z) to a target Σ wᵢ φ(pᵢ), with its gradient.

import { EPSILON, combineRows, dot } from "./vectors.js";

/**
 * The function (weights, z) → {value, gradient, noise, curvature, safeCurvature} of a kernel, where the value is
 * ρ(z) − ‖Ψ‖² = k(z, z) − 2 Σ wᵢ k(z, pᵢ).
 */
export function distanceOf(kernel) {
  if (!kernel.hasFixedPoint) return (weights, z) => generalDistance(kernel, weights, z);
  const distance = kernel.isRadial ? radialDistance : dotProductDistance;
  return (weights, z) => distance(kernel, weights, z);
}

/** The function z → evaluation for one target, with penalty·‖z − anchor‖² added. */
export function penalized(distance, weights, anchor, penalty) {
  if (penalty === 0) return (z) => distance(weights, z);
  return (z) => {
    const here = distance(weights, z);
    let added = 0;
    for (let j = 0; j < z.length; j += 1) {
      const shift = z[j] - anchor[j];
      added += penalty * shift * shift;
      here.gradient[j] += 2 * penalty * shift;
    }
    here.value += added;
    here.noise += EPSILON * added;
    if (here.curvature !== null) {
      here.curvature += 2 * penalty;
      here.safeCurvature += 2 * penalty;
    }
    return here;
  };
}

function radialDistance(kernel, weights, z) {
  const { values, derivatives } = kernel.profileWithDerivative(kernel.quantities(z));
  const n = weights.length, pulls = new Float64Array(n); // a point with a negative weight attracts
  let psi = 0, size = 0, total = 0, moduli = 0;
  for (let i = 0; i < n; i += 1) {
    const term = weights[i] * values[i], pull = weights[i] * derivatives[i];
    psi += term;
    size += Math.abs(term);
    total += pull;
    moduli += Math.abs(pull);
    pulls[i] = pull;
  }
  const gradient = combineRows(pulls, kernel.points, z.length);
  for (let j = 0; j < z.length; j += 1) gradient[j] = -4 * (total * z[j] - gradient[j]); // of −2ψ, by (K0d)
  const diagonal = kernel.diagonal(z);
  return {
    value: diagonal - 2 * psi,
    gradient,
    noise: rounding(diagonal, size),
    curvature: -4 * total,
    safeCurvature: 4 * moduli,
  };
}

function dotProductDistance(kernel, weights, z) {
  const { values, derivatives } = kernel.profileWithDerivative(kernel.quantities(z));
  const n = weights.length, pulls = new Float64Array(n);
  let psi = 0, size = 0;
  for (let i = 0; i < n; i += 1) {
    const term = weights[i] * values[i];
    psi += term;
    size += Math.abs(term);
    pulls[i] = weights[i] * derivatives[i];
  }
  const gradient = combineRows(pulls, kernel.points, z.length);
  const own = kernel.profileWithDerivative(Float64Array.of(dot(z, z)));
  const diagonal = own.values[0], derivative = own.derivatives[0];
  for (let j = 0; j < z.length; j += 1) gradient[j] = 2 * (derivative * z[j] - gradient[j]);
  return {
    value: diagonal - 2 * psi,
    gradient,
    noise: rounding(diagonal, size),
    curvature: 2 * derivative,
    safeCurvature: 2 * Math.abs(derivative),
  };
}

/** Any kernel with a gradient; no fixed point. */
function generalDistance(kernel, weights, z) {
  const { values, diagonal } = kernel.evaluate(z), doubled = new Float64Array(weights.length);
  let psi = 0, size = 0;
  for (let i = 0; i < weights.length; i += 1) {
    const term = weights[i] * values[i];
    psi += term;
    size += Math.abs(term);
    doubled[i] = -2 * weights[i];
  }
  const gradient = Float64Array.from(kernel.pullBack(doubled, 1)); // memory that the next call writes to
  const noise = rounding(diagonal, size);
  return { value: diagonal - 2 * psi, gradient, noise, curvature: null, safeCurvature: null };
}

/** Rounding errors of k(z, z) − 2ψ(z) when the terms of ψ have the given sum of moduli. */
function rounding(diagonal, size) {
  return 4 * EPSILON * (Math.abs(diagonal) + 2 * size);
}
