// Quasi-Newton steps: L-BFGS with projected steps and Armijo's rule, for any kernel that has a gradient.

import { EPSILON, addScaled, dot, subtract } from "./vectors.js";
import { vanishes } from "./descent.js";

// Fraction of the decrease promised by the gradient that a step must bring (Armijo's rule, with the usual constant).
const SUFFICIENT = 1e-4;
// A step that was refused is divided by this: kernels decay like exponentials, so a step that is too long is often far
// too long.
const SHORTENING = 4;
// Searches end when a step was shortened below this fraction of the full one, after twenty refusals in a row.
const SMALLEST_STEP = 2 ** -40;
// The first step of an objective without a known curvature, as a fraction of the size of the data.
const FIRST_STEP = 0.1;
// Largest step, as a multiple of the one that the kernel values at the point allow: far from the data curvatures change
// by many orders of magnitude.
const LONGEST_STEP = 10;
// Pairs with a smaller cosine have no curvature beyond rounding.
const SMALLEST_COSINE = 1e-10;

// Past steps that approximate the curvature of one problem: L-BFGS gains little from more.
const MEMORY = 8;

/** Steps of L-BFGS within a box. */
export class QuasiNewtonSteps {
  /**
   * @param size length scale of the inputs
   * @param tol the search converges when a projected gradient step is shorter than tol · size
   * @param memory past steps that approximate the curvature
   */
  constructor(size, tol, memory = MEMORY) {
    this.size = size;
    this.shortest = (Math.max(tol, 4 * EPSILON) * size) ** 2;
    this.memory = memory;
  }

  begin(here) {
    return { length: 1, inverse: firstInverseCurvature(here, this.size), pairs: [] };
  }

  propose(state, z, here, box) {
    const gradient = box.free(here.gradient, z, here.gradient); // zero along bounds that it would cross
    const move = box.free(direction(state, gradient), z, here.gradient);
    return box.clip(
      dot(move, gradient) < 0
        ? addScaled(z, state.length, move)
        : addScaled(z, -state.length * state.inverse, gradient),
    );
  }

  judge(state, z, here, trial, there, box) {
    const move = subtract(trial, z), promised = dot(here.gradient, move);
    const better = there.value <= here.value + SUFFICIENT * promised;
    const plain = subtract(box.clip(addScaled(z, -state.inverse, here.gradient)), z);
    const short = dot(plain, plain) <= this.shortest;
    // Where rounding hides the promised decrease, a refused step says nothing, and there is nothing left to gain.
    const hidden = !better && -promised <= here.noise && state.length < 1;
    const pair = better ? pairOf(move, subtract(there.gradient, here.gradient)) : null;
    return {
      better,
      converged: short || hidden,
      stalled: state.length < SMALLEST_STEP,
      state: {
        length: better ? 1 : state.length / SHORTENING,
        inverse: this.#inverseCurvature(pair, state.inverse, better ? there : here),
        // A refused step also takes a place, as in the library, where many problems share one list of steps.
        pairs: [...state.pairs, pair].slice(-this.memory),
      },
    };
  }

  /** Searches rest only by the verdict on a step. */
  atRest() {
    return false;
  }

  settled(state, z) {
    return z;
  }

  #inverseCurvature(pair, previous, at) {
    const squares = pair === null ? 0 : dot(pair.y, pair.y) * pair.weight;
    const inverse = squares > 0 ? 1 / squares : previous; // sᵀy/yᵀy
    if (at.safeCurvature === null) return inverse;
    const limit = safeStep(at, LONGEST_STEP);
    return inverse > limit ? limit : inverse;
  }
}

/** A step s, the change of the gradient y along it and 1/sᵀy; null where the pair has no positive curvature. */
function pairOf(s, y) {
  const product = dot(s, y);
  const useful = product > SMALLEST_COSINE * Math.sqrt(dot(s, s) * dot(y, y));
  return useful ? { s, y, weight: 1 / product } : null;
}

/** −H gradient with the inverse Hessian H of the pairs, by Nocedal's two loops. */
function direction({ inverse, pairs }, gradient) {
  let result = Float64Array.from(gradient, (value) => -value);
  const useful = pairs.filter((pair) => pair !== null), passed = [];
  for (let i = useful.length - 1; i >= 0; i -= 1) {
    const pair = useful[i], a = pair.weight * dot(pair.s, result);
    result = addScaled(result, -a, pair.y);
    passed.push(a);
  }
  result = result.map((value) => inverse * value);
  for (const pair of useful) {
    const b = pair.weight * dot(pair.y, result);
    result = addScaled(result, passed.pop() - b, pair.s);
  }
  return result;
}

function firstInverseCurvature(here, size) {
  if (here.safeCurvature !== null) return safeStep(here, 1);
  const length = Math.sqrt(dot(here.gradient, here.gradient));
  return (FIRST_STEP * size) / (length > 0 ? length : 1);
}

/** `multiple` times the step that the kernel values at the point allow; one where they vanish. */
function safeStep(here, multiple) {
  return multiple / (vanishes(here) ? 1 : here.safeCurvature);
}
