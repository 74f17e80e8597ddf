// A fitted model: into feature space and back.

import { createFront } from "./front.js";
import { Kernel } from "./kernel.js";
import { NearestImage } from "./nearest_image.js";
import { Subspace } from "./subspace.js";
import { addScaled, combineRows } from "./vectors.js";

/**
 * Coordinates of rows and pre-images of coordinates, as those of the library. Rows are in the units of their user.
 *
 * Coordinates are the k features that the model's `transform` gives. Where q is given the first q of them count, and
 * the model is the one of these components alone.
 */
export class Model {
  /** @param record of one model in the header of a page, with arrays as {values, shape} */
  constructor(record) {
    this.record = record;
    this.name = record.name;
    this.width = record.width;
    this.front = createFront(record.front);
    const d = record.n_features;
    this.subspace = new Subspace(new Kernel(record.kernel, record.points, record.points.shape[0], d), record);
    this.nearestImage = new NearestImage(this.subspace, record);
    this.k = this.subspace.k;
    this.d = d;
    this.rowLength = record.front?.matrix ? record.front.matrix.shape[0] : d;
  }

  /** Does now what the first pre-image without a start would wait for: coordinates of all points of the model. */
  prepare() {
    this.subspace.nearestPoint(new Float64Array(this.k), this.k);
  }

  /** A row as the kernel takes it. */
  toFeatures(row) {
    return this.front.toFeatures(row);
  }

  /** The row of an input of the kernel. */
  fromFeatures(z) {
    return this.front.fromFeatures(z);
  }

  /** The k coordinates of a row. */
  coordinates(row) {
    const { frame, offset, features } = this.record, z = this.#checked(row);
    if (!features) return this.subspace.coordinates(z);
    const y = combineRows(this.subspace.kernel.values(z), frame.values, this.k);
    return offset ? addScaled(y, -1, offset.values) : y;
  }

  /** Squared distance of the image of a row from the subspace of the first q components: the novelty of the row. */
  reconstructionError(row, q = this.k) {
    const residual = this.subspace.residual(this.#checked(row), this.#counted(q));
    return this.record.signature ? residual : Math.max(residual, 0); // rounding alone makes it negative
  }

  /**
   * The row whose image is nearest to the point with the coordinates y.
   *
   * @param y at least q numbers
   * @param {{q?: number, start?: ArrayLike<number>|null, maxIter?: number}} options `start` is the row to begin at; by
   *   default the point of the model with the nearest image. A small `maxIter` gives an answer in time that a longer
   *   search would improve.
   * @returns {{row: Float64Array, objective: number, iterations: number, converged: boolean, reason: string}}
   */
  preimage(y, { q = this.k, start = null, maxIter = undefined } = {}) {
    const from = start === null ? null : this.#checked(start);
    return this.#inUnits(this.nearestImage.solve(this.#inFrame(y, q), q, from, maxIter));
  }

  /** The pre-image of the projection of a row on the first q components, started at the row itself. */
  denoise(row, q = this.k) {
    const z = this.#checked(row);
    return this.#inUnits(this.nearestImage.solve(this.subspace.coordinates(z), this.#counted(q), z));
  }

  #inUnits({ z, objective, iterations, converged, reason }) {
    return { row: this.fromFeatures(z), objective, iterations, converged, reason };
  }

  /** The input of the kernel of a row that has the right length and numbers only. */
  #checked(row) {
    if (row.length !== this.rowLength) {
      throw new RangeError(`The model needs rows of ${this.rowLength} values; got ${row.length}.`);
    }
    requireNumbers(row, row.length, "A row");
    return this.toFeatures(row);
  }

  #counted(q) {
    if (Number.isInteger(q) && q >= 1 && q <= this.k) return q;
    throw new RangeError(`The number of components is between 1 and ${this.k}; got ${q}.`);
  }

  /**
   * The first q coordinates in the orthonormal frame of the subspace. Features that are not orthogonal are a triangular
   * matrix times those, so that its leading part serves the first of them.
   */
  #inFrame(y, q) {
    requireNumbers(y, this.#counted(q), "Coordinates");
    const beta = new Float64Array(q), matrix = this.record.features?.values;
    for (let i = 0; i < q; i += 1) {
      beta[i] = matrix ? 0 : y[i];
      for (let j = 0; matrix && j <= i; j += 1) beta[i] += matrix[i * this.k + j] * y[j];
    }
    return beta;
  }
}

function requireNumbers(values, count, what) {
  for (let i = 0; i < count; i += 1) {
    if (!Number.isFinite(values[i])) throw new RangeError(`${what} must be numbers; entry ${i + 1} is ${values[i]}.`);
  }
}
