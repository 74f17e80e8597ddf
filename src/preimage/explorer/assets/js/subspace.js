// The subspace of feature space that a model keeps: origin + span(frame), with an orthonormal frame.

import { combineRows, dot, multiplyLeading } from "./vectors.js";

/**
 * Coordinates in the leading q axes, and points of the subspace as sums Σ wᵢ φ(pᵢ) over the points of the kernel.
 *
 * As `Subspace` of the library. For indefinite kernels the squared norms of the axes are the signs `signature`.
 */
export class Subspace {
  /**
   * @param kernel a `Kernel` on m points
   * @param record of a model: frame (m × k), origin (m) or null, offset (k) or null, origin_squared_norm,
   *   signature (k) or null, features (k × k, lower triangular) or null; arrays as {values, shape}. The frame has the
   *   vectors of the model's features, which `features` makes orthonormal.
   */
  constructor(kernel, record) {
    this.kernel = kernel;
    this.k = record.frame.shape[1];
    const frame = record.frame.values, offset = valuesOf(record.offset) ?? new Float64Array(this.k);
    const matrix = valuesOf(record.features);
    this.frame = matrix === null ? frame : timesTransposed(frame, matrix, this.k);
    this.offset = matrix === null ? offset : timesTransposed(offset, matrix, this.k);
    this.origin = valuesOf(record.origin);
    this.originSquaredNorm = record.origin_squared_norm ?? 0;
    this.signature = valuesOf(record.signature) ?? new Float64Array(this.k).fill(1);
    this.ofPoints = null;
  }

  /** βⱼ(z) = ⟨Vⱼ, φ(z) − origin⟩ for all k axes. */
  coordinates(z) {
    return this.#within(this.kernel.values(z));
  }

  /** Squared distance of φ(z) from the first q axes through the origin; rounding can make it slightly negative. */
  residual(z, q) {
    const { squared, coordinates } = this.#fromOriginAndCoordinates(z);
    return squared - dot(this.#signed(coordinates, q), coordinates);
  }

  /** The weights w of Ψ = origin + Σ_{j<q} βⱼVⱼ = Σ wᵢ φ(pᵢ). */
  coefficients(beta, q) {
    const weights = multiplyLeading(this.frame, this.k, this.#signed(beta, q), q);
    if (this.origin !== null) {
      for (let i = 0; i < weights.length; i += 1) weights[i] += this.origin[i];
    }
    return weights;
  }

  /** ‖Ψ‖², without a pass over the kernel. */
  squaredNorm(beta, q) {
    const signed = this.#signed(beta, q);
    let sum = this.originSquaredNorm;
    for (let j = 0; j < q; j += 1) sum += signed[j] * (2 * this.offset[j] + beta[j]);
    return sum;
  }

  /** The inputs of the point with this number: a point may have parameters of its own behind them. */
  point(number) {
    const { points, n, d } = this.kernel, first = (number * points.length) / n;
    return points.slice(first, first + d);
  }

  /** The number of the point with the image nearest to Ψ. */
  nearestPoint(beta, q) {
    // ρ(pᵢ) = ‖φ(pᵢ) − origin‖² − 2 Σ βⱼ(pᵢ) βⱼ + ‖β‖²: the coordinates of the points are enough.
    this.ofPoints ??= this.#ofAllPoints();
    const { squared, coordinates } = this.ofPoints;
    const products = multiplyLeading(coordinates, this.k, this.#signed(beta, q), q);
    let nearest = 0, smallest = Infinity;
    for (let i = 0; i < products.length; i += 1) {
      const distance = squared[i] - 2 * products[i];
      if (distance < smallest) {
        nearest = i;
        smallest = distance;
      }
    }
    return nearest;
  }

  #within(values) {
    const beta = combineRows(values, this.frame, this.k);
    for (let j = 0; j < this.k; j += 1) beta[j] -= this.offset[j];
    return beta;
  }

  #signed(beta, q) {
    const signed = new Float64Array(q);
    for (let j = 0; j < q; j += 1) signed[j] = this.signature[j] * beta[j];
    return signed;
  }

  /** ‖φ(z) − origin‖² and the coordinates of z, from one pass over the kernel. */
  #fromOriginAndCoordinates(z) {
    const values = this.kernel.values(z);
    const towards = this.origin === null ? 0 : dot(values, this.origin);
    const coordinates = this.#within(values); // `values` is memory that the next call of the kernel writes to
    return { squared: this.kernel.diagonal(z) - 2 * towards + this.originSquaredNorm, coordinates };
  }

  #ofAllPoints() {
    const { n } = this.kernel;
    const squared = new Float64Array(n), coordinates = new Float64Array(n * this.k);
    for (let i = 0; i < n; i += 1) {
      const found = this.#fromOriginAndCoordinates(this.point(i));
      squared[i] = found.squared;
      coordinates.set(found.coordinates, i * this.k);
    }
    return { squared, coordinates };
  }
}

/** rows · matrixᵀ for rows of k numbers and a (k × k) matrix. */
function timesTransposed(rows, matrix, k) {
  const product = new Float64Array(rows.length);
  for (let first = 0; first < rows.length; first += k) {
    product.set(multiplyLeading(matrix, k, rows.subarray(first, first + k), k), first);
  }
  return product;
}

function valuesOf(array) {
  return array ? array.values : null;
}
