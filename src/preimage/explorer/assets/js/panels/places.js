// Places in feature space that have a name: the mean of all samples, the mean of a label, a sample.

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
    first: () => firstPlaces(app, members),
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

// Where a walk begins and ends until somebody chooses: two labels, or the samples at both ends of the first component.
function firstPlaces(app, members) {
  const used = labelPlaces(members);
  if (used.length > 1) return { a: used[0], b: used[1] };
  const { values, shape } = app.data.models[0].coordinates;
  let [low, high] = [0, 0];
  for (let sample = 1; sample < shape[0]; sample += 1) {
    if (values[sample * shape[1]] < values[low * shape[1]]) low = sample;
    if (values[sample * shape[1]] > values[high * shape[1]]) high = sample;
  }
  return { a: placeOfSample(low), b: placeOfSample(high) };
}
