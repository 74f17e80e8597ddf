// Which samples are shown, and the map of them that the present choices make.

import { createColouring } from "./map_colouring.js";
import { MapSamples } from "./map_target.js";
import { reconstructionErrors } from "./novelty.js";

/** What in the store decides which samples are shown. */
export const FILTERS = ["hidden", "hiddenInColumn", "range"];
// Novelty, by which samples may be filtered, depends on the components in use.
const KEYS = ["model", "q", "across", "up", "colour", ...FILTERS];
/** What is drawn upwards where both axes are one component. */
export const SPREAD = "Novelty";
const latest = new WeakMap();

/** The range of a scale that leaves nothing out. */
export const WHOLE_RANGE = [0, 1];

/**
 * Whether a sample is shown: its label is not switched off in the legend, nor, while the map is coloured by a column of
 * names, its name there; and while it is coloured by numbers, its number is in the range that is chosen.
 * @returns {(sample: number) => boolean}
 */
function shownBy(app) {
  const { store, samples } = app;
  const hidden = store.get("hidden");
  const hasLabel = (sample) => !hidden.has(samples.code(sample));
  const colour = store.get("colour") ?? "";
  const [low, high] = store.get("range") ?? WHOLE_RANGE;
  const hiddenInColumn = store.get("hiddenInColumn") ?? new Set();
  if (!hiddenInColumn.size && low <= 0 && high >= 1) return hasLabel;
  const colouring = createColouring(app, colour);
  if (colouring.isContinuous) {
    const isWithin = (fraction) => fraction >= low && fraction <= high;
    return (sample) => hasLabel(sample) && isWithin(colouring.fraction(sample));
  }
  return (sample) => hasLabel(sample) && !(colour.startsWith("column:") && hiddenInColumn.has(colouring.mark(sample)));
}

/**
 * The samples of the present model on the plane of the present components.
 * @returns {MapSamples} the same one until something changes
 */
export function mapSamples(app) {
  const { store } = app;
  const [across, up] = [store.get("across"), store.get("up")];
  const values = KEYS.map((key) => store.get(key));
  const known = latest.get(app);
  if (known && known.values.every((value, i) => Object.is(value, values[i]))) return known.samples;
  const record = app.data.models[store.get("model")];
  const spread = across === up ? reconstructionErrors(record, app.model().k) : null;
  const samples = new MapSamples(record.coordinates, across, up, shownBy(app), spread);
  latest.set(app, { values, samples });
  return samples;
}
