// Small dense algebra on typed arrays: matrices are row-major, all sums are in double precision.

/** The distance from one to the next double number. */
export const EPSILON = Number.EPSILON;

/** x·y. Four sums at a time, so that additions need not wait for each other. */
export function dot(x, y) {
  const n = x.length, even = n - (n % 4);
  let a = 0, b = 0, c = 0, d = 0;
  for (let i = 0; i < even; i += 4) {
    a += x[i] * y[i];
    b += x[i + 1] * y[i + 1];
    c += x[i + 2] * y[i + 2];
    d += x[i + 3] * y[i + 3];
  }
  for (let i = even; i < n; i += 1) a += x[i] * y[i];
  return a + b + (c + d);
}

/** x + factor·y, a new array. */
export function addScaled(x, factor, y) {
  const sum = new Float64Array(x.length);
  for (let i = 0; i < sum.length; i += 1) sum[i] = x[i] + factor * y[i];
  return sum;
}

/** x − y, a new array. */
export function subtract(x, y) {
  return addScaled(x, -1, y);
}

/** ‖x − y‖². */
export function squaredDistance(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

/**
 * Σᵢ weightsᵢ rowᵢ of the first `weights.length` rows of a matrix with `columns` columns, a new array.
 * Four rows at a time: the sum is then read and written a quarter as often.
 */
export function combineRows(weights, matrix, columns) {
  const sum = new Float64Array(columns), n = weights.length, even = n - (n % 4);
  for (let i = 0; i < even; i += 4) {
    const a = weights[i], b = weights[i + 1], c = weights[i + 2], d = weights[i + 3];
    const first = i * columns, second = first + columns, third = second + columns, fourth = third + columns;
    for (let j = 0; j < columns; j += 1) {
      sum[j] += a * matrix[first + j] + b * matrix[second + j] + (c * matrix[third + j] + d * matrix[fourth + j]);
    }
  }
  for (let i = even; i < n; i += 1) {
    for (let j = 0; j < columns; j += 1) sum[j] += weights[i] * matrix[i * columns + j];
  }
  return sum;
}

/** matrix · x for the first `count` entries of x and all rows of a matrix with `columns` columns, a new array. */
export function multiplyLeading(matrix, columns, x, count) {
  const product = new Float64Array(matrix.length / columns);
  for (let i = 0; i < product.length; i += 1) {
    let sum = 0;
    for (let j = 0; j < count; j += 1) sum += matrix[i * columns + j] * x[j];
    product[i] = sum;
  }
  return product;
}
