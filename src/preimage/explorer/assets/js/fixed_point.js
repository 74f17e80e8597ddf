// Steps of the fixed-point iteration of Schölkopf and Mika, made safe.

import { EPSILON, addScaled, dot } from "./vectors.js";

// A fixed-point step divides by a sum with terms of both signs. When cancellation leaves less than this fraction of the
// sum of moduli, the step divides by the sum of moduli instead, which also points downhill.
const CANCELLATION = 0.05;
// Searches end when a step was halved 24 times in a row.
const SMALLEST_STEP = 2 ** -24;

/** Steps to the fixed point, halved where they do not lower the objective and doubled again where they do. */
export class FixedPointSteps {
  /**
   * @param size length scale of the inputs
   * @param tol the search converges when the step to the fixed point is shorter than tol · size
   */
  constructor(size, tol) {
    this.shortest = (Math.max(tol, 16 * EPSILON) * size) ** 2;
  }

  begin(here) {
    return { length: 1, step: fullStep(here) };
  }

  propose(state, z, here, box) {
    return box.clip(addScaled(z, state.length, state.step.move));
  }

  judge(state, z, here, trial, there) {
    const { step, length } = state, next = fullStep(there);
    // Near the minimum, differences of the objective are lost in rounding long before differences of steps are: a value
    // that is no higher than rounding explains counts as better when the step became shorter.
    const shorter = there.value <= here.value + here.noise && next.squared < step.squared;
    const better = there.value < here.value || shorter;
    return {
      better,
      converged: !better && step.gain <= here.noise,
      stalled: length < SMALLEST_STEP,
      state: better ? { length: Math.min(2 * length, 1), step: next } : { length: length / 2, step },
    };
  }

  atRest(state) {
    return state.step.squared <= this.shortest;
  }

  /** z after a last step that is too short to evaluate: it improves z as those before did. */
  settled(state, z, box) {
    return this.atRest(state) ? box.clip(addScaled(z, state.length, state.step.move)) : z;
  }
}

/** The step −gradient/D to the fixed point, or with the sum of moduli for D where the terms of D cancel. */
function fullStep({ gradient, curvature, safeCurvature }) {
  const denominator = curvature > CANCELLATION * safeCurvature ? curvature : safeCurvature;
  const safe = denominator > 0 ? denominator : 1;
  const move = Float64Array.from(gradient, (value) => -value / safe);
  const squared = dot(move, move);
  return { move, squared, gain: denominator * squared };
}
