// Which samples are shown, and the map of them that the present choices make.

import { MapSamples } from "./map_target.js";

const KEYS = ["model", "across", "up", "hidden", "colour", "hiddenInColumn"];
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
  const values = KEYS.map((key) => app.store.get(key));
  const known = latest.get(app);
  if (known && known.values.every((value, i) => Object.is(value, values[i]))) return known.samples;
  const { coordinates } = app.data.models[app.store.get("model")];
  const samples = new MapSamples(coordinates, app.store.get("across"), app.store.get("up"), shownBy(app));
  latest.set(app, { values, samples });
  return samples;
}
