/**
 * Pairwise quantities s(z, p) of a row z with all points of a set, and their contracted gradients Σ wᵢ ∇₁s(z, pᵢ).
 *
 * A set is {values, count, columns}: points one after the other in a Float64Array. Points are taken four at a time, in
 * sums that do not wait for each other: half of the time of one sum after the other.
 */

import { EPSILON, combineRows } from "./vectors.js";

/** By name: {values(z, set, out) writes s; pullBack(weights, z, set, out) adds the contracted gradient to out}. */
export const QUANTITIES = {
  SquaredDistance: { values: squaredDistances, pullBack: pullBackSquaredDistances },
  InnerProduct: { values: innerProducts, pullBack: pullBackInnerProducts },
  ManhattanDistance: { values: manhattanDistances, pullBack: pullBackManhattan },
  ChiSquaredDistance: { values: chiSquaredDistances, pullBack: pullBackChiSquared },
};

// Squared distances up to this many times √columns (plus four, for few columns) and the precision of numbers count as
// zero, relative to the squared norm about the middle of the points. The library does so, where sums of products leave
// such errors; kernels with a corner at zero need the same answer to "is this the point itself?".
const ROUNDING = 2 * EPSILON;
// Rows from which the middle is found, as in the library.
const SAMPLE = 512;

function squaredDistances(z, set, out) {
  differencesSquared(z, set, out);
  set.middle ??= medians(set);
  let norm = 0;
  for (let f = 0; f < set.columns; f++) norm += (z[f] - set.middle[f]) ** 2;
  const floor = ROUNDING * (4 + Math.sqrt(set.columns + 2)) * norm;
  for (let i = 0; i < set.count; i++) if (out[i] <= floor) out[i] = 0;
}

/** The median of every column, the upper one of two. */
function medians({ values, count, columns }) {
  const step = Math.max(1, Math.floor(count / SAMPLE));
  const rows = Math.ceil(count / step);
  const column = (f) => Float64Array.from({ length: rows }, (_, i) => values[i * step * columns + f]).sort();
  return Float64Array.from({ length: columns }, (_, f) => column(f)[Math.floor(rows / 2)]);
}

function differencesSquared(z, { values: p, count, columns }, out) {
  let i = 0;
  for (; i + 3 < count; i += 4) {
    let a = i * columns;
    let b = a + columns;
    let c = b + columns;
    let d = c + columns;
    let sumA = 0;
    let sumB = 0;
    let sumC = 0;
    let sumD = 0;
    for (let f = 0; f < columns; f++) {
      const x = z[f];
      const inA = x - p[a++];
      const inB = x - p[b++];
      const inC = x - p[c++];
      const inD = x - p[d++];
      sumA += inA * inA;
      sumB += inB * inB;
      sumC += inC * inC;
      sumD += inD * inD;
    }
    out[i] = sumA;
    out[i + 1] = sumB;
    out[i + 2] = sumC;
    out[i + 3] = sumD;
  }
  for (; i < count; i++) {
    let sum = 0;
    for (let f = 0, a = i * columns; f < columns; f++, a++) {
      const difference = z[f] - p[a];
      sum += difference * difference;
    }
    out[i] = sum;
  }
}

function innerProducts(z, { values: p, count, columns }, out) {
  let i = 0;
  for (; i + 3 < count; i += 4) {
    let a = i * columns;
    let b = a + columns;
    let c = b + columns;
    let d = c + columns;
    let sumA = 0;
    let sumB = 0;
    let sumC = 0;
    let sumD = 0;
    for (let f = 0; f < columns; f++) {
      const x = z[f];
      sumA += x * p[a++];
      sumB += x * p[b++];
      sumC += x * p[c++];
      sumD += x * p[d++];
    }
    out[i] = sumA;
    out[i + 1] = sumB;
    out[i + 2] = sumC;
    out[i + 3] = sumD;
  }
  for (; i < count; i++) {
    let sum = 0;
    for (let f = 0, a = i * columns; f < columns; f++, a++) sum += z[f] * p[a];
    out[i] = sum;
  }
}

/** ∇(z·p) = p. */
function pullBackInnerProducts(weights, z, set, out) {
  const combination = combineRows(weights, set.values, set.columns);
  for (let f = 0; f < set.columns; f++) out[f] += combination[f];
}

/** ∇‖z − p‖² = 2(z − p). */
function pullBackSquaredDistances(weights, z, set, out) {
  let total = 0;
  for (let i = 0; i < set.count; i++) total += weights[i];
  const combination = combineRows(weights, set.values, set.columns);
  for (let f = 0; f < set.columns; f++) out[f] += 2 * (total * z[f] - combination[f]);
}

function manhattanDistances(z, { values: p, count, columns }, out) {
  let i = 0;
  for (; i + 3 < count; i += 4) {
    let a = i * columns;
    let b = a + columns;
    let c = b + columns;
    let d = c + columns;
    let sumA = 0;
    let sumB = 0;
    let sumC = 0;
    let sumD = 0;
    for (let f = 0; f < columns; f++) {
      const x = z[f];
      sumA += Math.abs(x - p[a++]);
      sumB += Math.abs(x - p[b++]);
      sumC += Math.abs(x - p[c++]);
      sumD += Math.abs(x - p[d++]);
    }
    out[i] = sumA;
    out[i + 1] = sumB;
    out[i + 2] = sumC;
    out[i + 3] = sumD;
  }
  for (; i < count; i++) {
    let sum = 0;
    for (let f = 0, a = i * columns; f < columns; f++, a++) sum += Math.abs(z[f] - p[a]);
    out[i] = sum;
  }
}

/**
 * ∂|z − p|/∂z is the sign of z − p, here the difference of two comparisons: Math.sign branches, which costs ten times
 * as much where signs follow no rule.
 */
function pullBackManhattan(weights, z, { values: p, count, columns }, out) {
  let i = 0;
  for (; i + 3 < count; i += 4) {
    const [wA, wB, wC, wD] = [weights[i], weights[i + 1], weights[i + 2], weights[i + 3]];
    let a = i * columns;
    let b = a + columns;
    let c = b + columns;
    let d = c + columns;
    for (let f = 0; f < columns; f++) {
      const x = z[f];
      const inA = x - p[a++];
      const inB = x - p[b++];
      const inC = x - p[c++];
      const inD = x - p[d++];
      out[f] += wA * ((inA > 0) - (inA < 0)) + wB * ((inB > 0) - (inB < 0));
      out[f] += wC * ((inC > 0) - (inC < 0)) + wD * ((inD > 0) - (inD < 0));
    }
  }
  for (; i < count; i++) {
    for (let f = 0, a = i * columns; f < columns; f++, a++) out[f] += weights[i] * Math.sign(z[f] - p[a]);
  }
}

/** Σ (x − y)²/(x + y) of non-negative inputs, where 0/0 counts as zero. */
function chiSquaredDistances(z, { values: p, count, columns }, out) {
  for (let i = 0, a = 0; i < count; i++) {
    let sum = 0;
    for (let f = 0; f < columns; f++, a++) {
      const total = z[f] + p[a];
      const difference = z[f] - p[a];
      if (total > 0) sum += (difference * difference) / total;
    }
    out[i] = sum;
  }
}

/** 1 − (2y/(x + y))², and zero at the corner x = y = 0, which has a derivative from one side only. */
function pullBackChiSquared(weights, z, { values: p, count, columns }, out) {
  for (let i = 0, a = 0; i < count; i++) {
    for (let f = 0; f < columns; f++, a++) {
      const total = z[f] + p[a];
      if (total > 0) {
        const ratio = (2 * p[a]) / total;
        out[f] += weights[i] * (1 - ratio * ratio);
      }
    }
  }
}
