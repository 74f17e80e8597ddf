// Which samples are shown, and the map of them that the present choices make.

import { MapSamples } from "./map_target.js";
import { noveltyScores } from "./novelty.js";

const KEYS = ["model", "across", "up", "hidden", "colour", "hiddenInColumn"];
/** What is drawn upwards where both axes are one component. */
export const SPREAD = "Novelty";
const latest = new WeakMap();

/**
 * Whether a sample is shown: neither its label nor, while the map is coloured by a column of names, its name there is
 * switched off in the legend.
 * @returns {(sample: number) => boolean}
 */
export function shownBy(app) {
  const { store, samples } = app;
  const hidden = store.get("hidden");
  const hiddenInColumn = store.get("hiddenInColumn") ?? new Set();
  const [kind, number] = (store.get("colour") ?? "").split(":");
  const codes = kind === "column" ? samples.columns[number]?.codes?.values : null;
  return (sample) => !hidden.has(samples.code(sample)) && !(codes && hiddenInColumn.has(codes[sample]));
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
  const spread = across === up ? noveltyScores(record, app.model().k) : null;
  const samples = new MapSamples(record.coordinates, across, up, shownBy(app), spread);
  latest.set(app, { values, samples });
  return samples;
}
