// The pre-image at the pointer, fluent while it moves and the best one when it rests.

import { mapSamples } from "./shown_samples.js";

// A move by less than this fraction of the map starts at the answer before: the picture changes as smoothly as it can.
const NEAR = 0.05;
// When the pointer has rested for this many milliseconds, a descent from the nearest training image is tried as well.
const REST = 120;
// Everything that makes another question of the same place.
const KEYS = ["model", "q", "across", "up", "others", "hidden", "hiddenInColumn", "colour"];

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
   * @param {(result: object) => void} improved called later if a better answer is found while the pointer rests
   * @returns {{row: Float64Array, objective: number, converged: boolean, reason: string}}
   */
  at(place, improved) {
    clearTimeout(this.timer);
    const { store } = this.app;
    const choices = KEYS.map((key) => store.get(key));
    const start = this.#start(place, choices);
    const result = this.#solve(place, start);
    this.before = { place, choices, result };
    if (start) this.timer = setTimeout(() => this.#retry(place, improved), REST);
    return result;
  }

  #solve(place, start) {
    const { store } = this.app;
    const y = mapSamples(this.app).target(place, store.get("others"));
    return this.app.model().preimage(y, { q: store.get("q"), ...(start && { start }) });
  }

  /** The answer before, if the question was nearly the same. */
  #start(place, choices) {
    const { before } = this;
    if (!before || !before.choices.every((choice, i) => Object.is(choice, choices[i]))) return null;
    const { ranges } = mapSamples(this.app);
    const moves = [place.across - before.place.across, place.up - before.place.up].map((move, axis) => move / (ranges[axis][1] - ranges[axis][0]));
    return Math.hypot(...moves) < NEAR ? before.result.row : null;
  }

  /** Answers that follow the pointer may end in another minimum than a fresh descent finds; the lower one counts. */
  #retry(place, improved) {
    const fresh = this.#solve(place, null);
    if (!(fresh.objective < this.before.result.objective)) return;
    this.before.result = fresh;
    improved(fresh);
  }
}
