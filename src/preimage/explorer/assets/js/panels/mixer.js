// A point of feature space put together from its coordinates, and the picture of its pre-image.

import { newestNext } from "../work.js";
import { alongLine } from "./lines.js";

// Steps in which the picture is reached from the center. Each starts at the one before, so that the picture changes
// gradually with the coordinates; one step alone may end at another local minimum.
const STEPS = 4;
const FRACTIONS = Array.from({ length: STEPS }, (_, step) => (step + 1) / STEPS);

/**
 * Coordinates around a center, in standard deviations of the samples along each component.
 * @param {object} app
 * @param {(row: Float64Array) => void} show called with the pre-image whenever the coordinates have changed
 */
export function createMixer(app, show) {
  const start = newestNext();
  const deviation = (j) => app.data.models[app.store.get("model")].deviations.values[j];
  let center = null;
  let present = null;
  let middle = null;

  function* find() {
    let row = middle;
    for (const found of alongLine(app.model(), center, present, FRACTIONS, { q: mixer.q, start: middle })) {
      row = found.row;
      yield;
    }
    show(row);
  }

  const mixer = {
    /** Components that count. */
    q: 0,
    /** Begin at a center: k coordinates. */
    begin(y) {
      center = y;
      present = y;
      mixer.renew();
    },
    /** Find the pictures again, with another number of components. */
    renew() {
      mixer.q = Math.min(app.store.get("q"), app.model().k);
      middle = app.model().preimage(center, { q: mixer.q }).row;
      start(find);
    },
    /** Back to the center. */
    reset() {
      present = center;
      start(find);
    },
    /** The present coordinate along component j, in standard deviations. */
    at: (j) => present[j] / (deviation(j) || 1),
    /** Set it. */
    move(j, deviations) {
      present = moved(present, j, deviations * deviation(j));
      start(find);
    },
    /** Pre-images at places of component j, in standard deviations, all others as at the center; outwards from it. */
    *along(j, places) {
      const ends = [places[0], places.at(-1)].map((s) => moved(center, j, s * deviation(j)));
      const half = places.length >> 1;
      const numbers = places.map((_, number) => number);
      for (const order of [numbers.slice(half), numbers.slice(0, half).reverse()]) {
        const fractions = order.map((number) => (places[number] - places[0]) / (places.at(-1) - places[0]));
        let step = 0;
        for (const found of alongLine(app.model(), ...ends, fractions, { q: mixer.q, start: middle })) {
          yield { number: order[step], row: found.row };
          step += 1;
        }
      }
    },
  };
  return mixer;
}

function moved(y, j, coordinate) {
  const other = Float64Array.from(y);
  other[j] = coordinate;
  return other;
}
