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
  const labels = record.labels;
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
    number: (i) => record.rows.values[i],
    code: (i) => (labels ? labels.codes.values[i] : -1),
    label,
    name: (i) => `row ${record.rows.values[i]}${label(i) === "" ? "" : `, ${label(i)}`}`,
  };
}
