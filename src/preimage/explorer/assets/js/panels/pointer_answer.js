// The pre-image at the pointer, fluent while it moves and the best one when it rests.

import { FILTERS, mapSamples } from "./shown_samples.js";

// A move by less than this fraction of the map starts at the answer before: the picture changes as smoothly as it can.
const NEAR = 0.05;
// When the pointer has rested for this many milliseconds, descents go on as long as the solver of the model allows, also
// from the nearest training image.
const REST = 120;
/** Steps of one descent while something moves: radial kernels need about ten, and others must not hold up the page. */
export const FEW_STEPS = 60;
// Everything that makes another question of the same place.
const KEYS = ["model", "q", "across", "up", "others", "colour", ...FILTERS];

/** Answers to the question of the pointer, each remembered for the next. */
export class PointerAnswer {
  constructor(app) {
    this.app = app;
    this.before = null;
    this.timer = 0;
  }

  /**
   * The pre-image at a place.
   * @param {{across: number, up: number}} place
   * @param {(result: object) => void} settled called with the best answer when the pointer has come to rest
   * @returns {{row: Float64Array, objective: number, converged: boolean, reason: string}}
   */
  at(place, settled) {
    clearTimeout(this.timer);
    const choices = KEYS.map((key) => this.app.store.get(key));
    const start = this.#start(place, choices);
    const result = this.#solve(place, { start, maxIter: FEW_STEPS });
    this.before = { place, choices, result };
    this.timer = setTimeout(() => this.#settle(place, start, settled), REST);
    return result;
  }

  #solve(place, { start, maxIter }) {
    const { store } = this.app;
    const y = mapSamples(this.app).target(place, store.get("others"));
    const options = { q: store.get("q"), ...(start && { start }), ...(maxIter && { maxIter }) };
    return this.app.model().preimage(y, options);
  }

  /** The answer before, if the question was nearly the same. */
  #start(place, choices) {
    const { before } = this;
    if (!before || !before.choices.every((choice, i) => Object.is(choice, choices[i]))) return null;
    const { ranges } = mapSamples(this.app);
    const moves = [place.across - before.place.across, place.up - before.place.up];
    const relative = moves.map((move, axis) => move / (ranges[axis][1] - ranges[axis][0]));
    return Math.hypot(...relative) < NEAR ? before.result.row : null;
  }

  /** Answers that follow the pointer may end in another minimum than a fresh descent finds; the lower one counts. */
  #settle(place, start, settled) {
    const { before } = this;
    const candidates = [before.result];
    if (!before.result.converged) candidates.push(this.#solve(place, { start: before.result.row }));
    if (start) candidates.push(this.#solve(place, {}));
    // The last of equals: an answer that has converged replaces the same one that had not.
    before.result = candidates.reduce((best, next) => (next.objective <= best.objective ? next : best));
    settled(before.result);
  }
}
