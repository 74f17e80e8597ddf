// The safeguarded descent: one problem minimised by a rule for its steps, within bounds.

/** Why a problem stopped; the texts are those of `preimage.solvers.Reason`. */
export const Reason = Object.freeze({
  CONVERGED: "the stopping rule was met",
  ITERATION_LIMIT: "the iteration limit was reached",
  STALLED: "no step lowered the objective",
  VANISHING: "kernel values vanish around the start",
  RESTRICTED: "the objective has no minimum; this is the best point within the range of the data",
});

// Sums of kernel values at or below this have no correct digits left: the smallest normal number is 1e-308, and
// gradients multiply the sums by coefficients and differences of inputs.
const VANISHING = 1e-280;

/** Whether kernel values are too small to have correct digits, so that the gradient has no direction. */
export function vanishes(evaluation) {
  return evaluation.safeCurvature !== null && evaluation.safeCurvature <= VANISHING;
}

/**
 * Minimise `objective` from `start`; the value never ends above that of the start in the box.
 *
 * In each iteration the rule proposes a point and judges the value found there. Where the proposal is no better the
 * point stays and a shorter step is tried.
 *
 * @param objective function of z that gives {value, gradient, noise, curvature, safeCurvature}: `noise` bounds the
 *   rounding errors of the value, z − gradient/curvature is the fixed point of the papers, and `safeCurvature` is the
 *   same with the moduli of all terms; both are null for objectives without a fixed point
 * @param start Float64Array
 * @param box a `Box`
 * @param rule a rule with begin, propose, judge, atRest and settled
 * @param maxIter largest number of steps
 * @param least steps that are taken before the point may rest
 * @returns {{z: Float64Array, objective: number, iterations: number, reason: string}}
 */
export function minimize(objective, start, box, rule, maxIter, least = 0) {
  let z = box.clip(start);
  let here = objective(z);
  let state = rule.begin(here);
  let reason = vanishes(here) ? Reason.VANISHING : least === 0 && rule.atRest(state) ? Reason.CONVERGED : null;
  let step = 0;
  // Invariant: `here` is the objective at z, and `state` belongs to both.
  while (reason === null && step < maxIter) {
    step += 1;
    const trial = rule.propose(state, z, here, box);
    const there = objective(trial);
    const verdict = rule.judge(state, z, here, trial, there, box);
    state = verdict.state;
    if (verdict.better) {
      z = trial;
      here = there;
    }
    if (vanishes(here)) reason = Reason.VANISHING;
    else if (verdict.converged || (step >= least && rule.atRest(state))) reason = Reason.CONVERGED;
    else if (verdict.stalled) reason = Reason.STALLED;
  }
  reason ??= Reason.ITERATION_LIMIT;
  return { z: rule.settled(state, z, box), objective: here.value, iterations: step, reason };
}

/** Bounds on inputs: arrays of d numbers with lower ≤ upper, or null for no bound on that side. */
export class Box {
  constructor(lower = null, upper = null) {
    this.lower = lower;
    this.upper = upper;
  }

  /** The part of this box between `lower` and `upper`; where there is none, the nearest edge of this box. */
  within(lower, upper) {
    return new Box(this.clip(lower), this.clip(upper));
  }

  /** The nearest point of the box; z itself where there are no bounds. */
  clip(z) {
    if (this.lower === null && this.upper === null) return z;
    const { lower, upper } = this;
    return Float64Array.from(z, (value, j) => {
      const above = lower !== null && lower[j] > value ? lower[j] : value;
      return upper !== null && upper[j] < above ? upper[j] : above;
    });
  }

  /** `vector` with zeros for the coordinates that −gradient would lead out of the box. */
  free(vector, z, gradient) {
    if (this.lower === null && this.upper === null) return vector;
    return Float64Array.from(vector, (value, j) => {
      const stuckBelow = this.lower !== null && !(this.lower[j] < z[j]) && gradient[j] > 0;
      const stuckAbove = this.upper !== null && !(this.upper[j] > z[j]) && gradient[j] < 0;
      return stuckBelow || stuckAbove ? 0 : value;
    });
  }
}
