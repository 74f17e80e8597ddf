// Places in feature space that have a name: the mean of all samples, the mean of a label, a sample.

import { quantile, reconstructionErrors } from "./novelty.js";

/** The key of the place of a sample. */
export function placeOfSample(sample) {
  return `sample:${sample}`;
}

/**
 * The named places of a page. A place is a key, "mean", "label:2" or "sample:17", so that menus can hold it.
 * @param {object} app
 */
export function createPlaces(app) {
  const { samples } = app;
  const labels = samples.labels;
  const members = labels === null ? [] : membersOf(labels, samples.count);
  return {
    /** Entries of a menu: the mean, labels that have samples, and the places of the given keys. */
    options: (extra = []) => {
      const keys = new Set(["mean", ...labelPlaces(members), ...extra]);
      return [...keys].map((key) => ({ value: key, text: nameOf(key) }));
    },
    name: nameOf,
    /** All k coordinates of a place under a model, by default the present one. */
    coordinates(key, model = app.store.get("model")) {
      const { values, shape } = app.data.models[model].coordinates;
      return meanOf(rowsOf(key), shape[1], (sample, j) => values[sample * shape[1] + j]);
    },
    /** The place in input space, for comparison: the row of a sample, or the mean of rows. */
    row(key) {
      const total = new Float64Array(samples.width);
      const rows = rowsOf(key);
      for (const sample of rows) samples.row(sample).forEach((value, j) => { total[j] += value / rows.length; });
      return total;
    },
    first: () => firstPlaces(app),
  };

  function nameOf(key) {
    const [kind, number] = key.split(":");
    if (kind === "mean") return "mean of all samples";
    if (kind === "label") return `mean of ${labels.names[number]}`;
    return samples.name(Number(number));
  }

  function rowsOf(key) {
    const [kind, number] = key.split(":");
    if (kind === "sample") return [Number(number)];
    return kind === "label" ? members[number] : Array.from({ length: samples.count }, (_, sample) => sample);
  }
}

function membersOf(labels, count) {
  const members = labels.names.map(() => []);
  for (let sample = 0; sample < count; sample += 1) members[labels.codes.values[sample]]?.push(sample);
  return members;
}

function labelPlaces(members) {
  return members.flatMap((rows, code) => (rows.length > 0 ? [`label:${code}`] : []));
}

function meanOf(rows, width, value) {
  const mean = new Float64Array(width);
  for (const sample of rows) for (let j = 0; j < width; j += 1) mean[j] += value(sample, j) / rows.length;
  return mean;
}

// Rounds of the search for far samples: each goes to the farthest from the one before.
const ROUNDS = 4;

/**
 * Where a walk begins and ends until somebody chooses: two typical samples far from each other in feature space, of
 * different labels where there are some. Outliers, which are far from everything, show little of the model.
 */
function firstPlaces(app) {
  const { samples } = app;
  const record = app.data.models[app.store.get("model")];
  const errors = reconstructionErrors(record, app.model().k);
  const limit = quantile(errors, 0.5);
  const typical = [...errors.keys()].filter((sample) => errors[sample] <= limit);
  let [a, b] = [typical[0], typical[0]];
  for (let round = 0; round < ROUNDS; round += 1) [a, b] = [b, farthest(record.coordinates, typical, b, samples)];
  return { a: placeOfSample(Math.min(a, b)), b: placeOfSample(Math.max(a, b)) };
}

function farthest({ values, shape: [, k] }, among, from, samples) {
  const own = samples.code(from);
  const others = among.filter((sample) => samples.code(sample) !== own);
  let [found, most] = [from, -1];
  for (const sample of others.length ? others : among) {
    let squared = 0;
    for (let j = 0; j < k; j += 1) squared += (values[sample * k + j] - values[from * k + j]) ** 2;
    if (squared > most) [found, most] = [sample, squared];
  }
  return found;
}
