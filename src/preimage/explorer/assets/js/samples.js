// The rows that are drawn, in the units of their user.

/**
 * Samples of a page: `count`, `total`, `row(i)`, `number(i)` (its row in the data), `code(i)`, `label(i)`
 * and `name(i)`, such as "row 17, setosa".
 * @param {Object} record  "samples" of the header
 */
export function createSamples(record) {
  const { values, shape } = record.inputs;
  const width = shape[1];
  // Bytes have one scale, or one for each column.
  const scale = (given) => (j) => given?.values?.[j] ?? given;
  const low = scale(record.low);
  const step = scale(record.step);
  const labels = inWords(record.labels);
  const label = (i) => (labels && labels.codes.values[i] >= 0 ? labels.names[labels.codes.values[i]] : "");
  return {
    count: record.count,
    total: record.total,
    width,
    labels,
    columns: record.columns,
    row(i) {
      const row = Float64Array.from(values.subarray(i * width, (i + 1) * width));
      if (record.step !== undefined && record.step !== null) for (let j = 0; j < width; j += 1) row[j] = low(j) + step(j) * row[j];
      return row;
    },
    /** Which entries of row i were missing, and are as an imputer filled them; null where none was. */
    gaps(i) {
      if (!record.gaps) return null;
      const gaps = record.gaps.values.subarray(i * width, (i + 1) * width);
      return gaps.includes(1) ? gaps : null;
    },
    hasGaps: Boolean(record.gaps),
    number: (i) => record.rows.values[i],
    code: (i) => (labels ? labels.codes.values[i] : -1),
    label,
    name: (i) => `row ${record.rows.values[i]}${label(i) === "" ? "" : `, ${label(i)}`}`,
  };
}

// Labels with a longer name are called classes.
const LONGEST_WORD = 16;
const NUMBER = /^[-−+]?\d+(\.\d+)?$/;

/**
 * Labels that are numbers get a word in front, their own name or "class": a "3" alone may be a count or a code. The names
 * of labels in the data stay as `given`.
 */
function inWords(labels) {
  if (!labels) return null;
  if (!labels.names.every((name) => NUMBER.test(name))) return { ...labels, given: labels.names };
  const isNamed = labels.name && labels.name !== "label" && labels.name.length <= LONGEST_WORD;
  const word = isNamed ? labels.name : "class";
  return { ...labels, given: labels.names, names: labels.names.map((name) => `${word} ${name}`) };
}
