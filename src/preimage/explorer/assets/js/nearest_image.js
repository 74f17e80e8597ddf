// Pre-images as the library finds them: the input whose image is nearest to a point of the subspace.

import { Box, Reason, minimize } from "./descent.js";
import { distanceOf, penalized } from "./distance.js";
import { FixedPointSteps } from "./fixed_point.js";
import { QuasiNewtonSteps } from "./quasi_newton.js";
import { squaredDistance } from "./vectors.js";

// Points farther from the middle of the data than this many times the farthest data point, and than their start, are
// lost: kernel PCA knows nothing of what lies beyond the data.
const REACH = 2;

/** Minimises ρ(z) + λ‖z − start‖² over inputs z, for targets in a subspace. */
export class NearestImage {
  /**
   * @param subspace a `Subspace`
   * @param record of a model: solver {name, penalty, tol, max_iter, memory, lower, upper}, spread, middle, radius,
   *   positive_semidefinite
   */
  constructor(subspace, record) {
    const { solver } = record, { kernel } = subspace;
    this.subspace = subspace;
    this.distance = distanceOf(kernel);
    this.penalty = solver.penalty ?? 0;
    this.maxIter = solver.max_iter;
    this.size = record.spread;
    this.tol = solver.tol;
    this.box = new Box(bound(solver.lower, kernel.d), bound(solver.upper, kernel.d));
    this.descent = new QuasiNewtonSteps(this.size, this.tol, solver.memory ?? undefined);
    const hasFixedPoint = solver.name === "fixed_point" && kernel.hasFixedPoint;
    this.rule = hasFixedPoint ? new FixedPointSteps(this.size, this.tol) : this.descent;
    this.mayRunAway = !record.positive_semidefinite;
    this.middle = record.middle.values;
    this.radius = record.radius;
  }

  /**
   * The input whose image is nearest to the point with coordinates `beta` along the first q axes.
   *
   * @param start where to begin, and the point to which the penalty measures distances; null is the point of the model
   *   with the nearest image
   * @param maxIter largest number of steps; that of the model's solver by default
   * @returns {{z: Float64Array, objective: number, iterations: number, converged: boolean, reason: string}}
   */
  solve(beta, q, start = null, maxIter = this.maxIter) {
    const nearest = () => this.subspace.point(this.subspace.nearestPoint(beta, q));
    const from = start ?? nearest();
    const objective = penalized(this.distance, this.subspace.coefficients(beta, q), from, this.penalty);
    const restarted = (found, again) => (found.reason === Reason.VANISHING ? better(again(nearest()), found) : found);
    const search = (z) => minimize(objective, z, this.box, this.rule, maxIter);
    let result = restarted(search(from), search);
    if (this.mayRunAway && this.#isLost(result.z, from)) {
      const box = this.#range(), within = (z) => minimize(objective, z, box, this.descent, maxIter);
      result = { ...restarted(within(from), within), reason: Reason.RESTRICTED };
    }
    const value = result.objective + this.subspace.squaredNorm(beta, q);
    const converged = result.reason === Reason.CONVERGED;
    return { ...result, objective: Number.isFinite(value) ? value : Number.MAX_VALUE, converged };
  }

  /**
   * The part of the box within the range of the model's points. For an indefinite kernel the distance may decrease
   * without bound towards infinity, where inputs have nothing to do with the target.
   */
  #range() {
    const lower = this.subspace.point(0), upper = this.subspace.point(0);
    for (let i = 1; i < this.subspace.kernel.n; i += 1) {
      this.subspace.point(i).forEach((value, j) => {
        lower[j] = Math.min(lower[j], value);
        upper[j] = Math.max(upper[j], value);
      });
    }
    return this.box.within(lower, upper);
  }

  #isLost(z, start) {
    const away = Math.sqrt(squaredDistance(z, this.middle));
    return !(away <= REACH * Math.max(this.radius, Math.sqrt(squaredDistance(start, this.middle))));
  }
}

/** The result with the smaller objective, the first one where neither is smaller, with the steps of both. */
function better(first, second) {
  const best = second.objective < first.objective ? second : first;
  return { ...best, iterations: first.iterations + second.iterations };
}

/** A bound as an array of d numbers; null for none. */
function bound(given, d) {
  if (given === null || given === undefined) return null;
  return typeof given === "number" ? new Float64Array(d).fill(given) : Float64Array.from(given.values);
}
