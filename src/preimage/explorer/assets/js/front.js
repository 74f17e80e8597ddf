// What stands before the kernel: scalers and linear maps from a user's row to the inputs of the kernel, and back.

import { combineRows } from "./vectors.js";

/**
 * The functions `toFeatures(row)` and `fromFeatures(z)` of a record: {scale, shift} with z = row·scale + shift,
 * {matrix, shift, back, back_shift} with z = row·matrix + shift and row = z·back + back_shift, or null for no change.
 */
export function createFront(record) {
  if (!record) return { toFeatures: copied, fromFeatures: copied };
  const shift = record.shift.values;
  if (record.matrix) {
    const backShift = record.back_shift.values;
    return {
      toFeatures: (row) => moved(row, record.matrix, shift),
      fromFeatures: (z) => moved(z, record.back, backShift),
    };
  }
  const scale = record.scale.values;
  return {
    toFeatures: (row) => Float64Array.from(row, (value, j) => value * scale[j] + shift[j]),
    fromFeatures: (z) => Float64Array.from(z, (value, j) => (value - shift[j]) / scale[j]),
  };
}

function copied(row) {
  return Float64Array.from(row);
}

/** row·matrix + shift */
function moved(row, matrix, shift) {
  const result = combineRows(row, matrix.values, matrix.shape[1]);
  for (let j = 0; j < result.length; j += 1) result[j] += shift[j];
  return result;
}
