// A point of feature space put together from its coordinates, and the picture of its pre-image.

import { newestNext } from "../work.js";
import { alongLine } from "./lines.js";

// Steps in which the picture is reached from the center. Each starts at the one before, so that the picture changes
// gradually with the coordinates; one step alone may end at another local minimum.
const STEPS = 4;
const FRACTIONS = Array.from({ length: STEPS }, (_, step) => (step + 1) / STEPS);

/** Coordinates around a center, in standard deviations of the samples along each component. */
export class Mixer {
  #start = newestNext();
  // Model, number of components and center belong together until the next `renew`, whatever is chosen in the meantime.
  #model = null;
  #center = null;
  #present = null;
  #middle = null; // the pre-image of the center

  /**
   * @param {object} app
   * @param {(row: Float64Array) => void} show called with the pre-image whenever the coordinates have changed
   */
  constructor(app, show) {
    this.app = app;
    this.show = show;
    this.q = 0; // components that count
  }

  /** Begin at a center: k coordinates. */
  begin(center) {
    this.#center = center;
    this.#present = center;
    this.renew();
  }

  /** Find the picture again, with the number of components that count now. */
  renew() {
    this.#model = this.app.model();
    this.q = Math.min(this.app.store.get("q"), this.#model.k);
    this.#middle = this.#model.preimage(this.#center, { q: this.q }).row;
    this.#draw();
  }

  /** Back to the center, once there is one. */
  reset() {
    if (this.#center === null) return;
    this.#present = this.#center;
    this.#draw();
  }

  /** The present coordinate along component j, in standard deviations. */
  at(j) {
    return this.#present[j] / (this.#deviation(j) || 1);
  }

  /** Set the coordinate along component j, in standard deviations. */
  move(j, deviations) {
    this.#present = moved(this.#present, j, deviations * this.#deviation(j));
    this.#draw();
  }

  /** Pre-images at places of component j, in standard deviations, all others as at the center; outwards from it. */
  *along(j, places) {
    const ends = [places[0], places.at(-1)].map((s) => moved(this.#center, j, s * this.#deviation(j)));
    const half = places.length >> 1;
    const numbers = places.map((_, number) => number);
    for (const order of [numbers.slice(half), numbers.slice(0, half).reverse()]) {
      const fractions = order.map((number) => (places[number] - places[0]) / (places.at(-1) - places[0]));
      let step = 0;
      for (const { row } of alongLine(this.#model, ...ends, fractions, { q: this.q, start: this.#middle })) {
        yield { number: order[step], row };
        step += 1;
      }
    }
  }

  #draw() {
    this.#start(() => this.#find());
  }

  *#find() {
    const [from, to, options] = [this.#center, this.#present, { q: this.q, start: this.#middle }];
    let row = this.#middle;
    for (const found of alongLine(this.#model, from, to, FRACTIONS, options)) {
      row = found.row;
      yield;
    }
    this.show(row);
  }

  #deviation(j) {
    return this.#model.record.deviations.values[j];
  }
}

function moved(y, j, coordinate) {
  const other = Float64Array.from(y);
  other[j] = coordinate;
  return other;
}
