// The question that a place on the map asks: which point of feature space is meant, and which sample is nearest.

import { paddedRange } from "./map_viewport.js";

// Width and height of the map (the style sheet keeps their ratio): what is nearest does not depend on the screen.
const ASPECT = [4, 3];
// Far from all samples the weights of the average underflow relative to the nearest one; smaller ones change nothing.
const LEAST_LOG_WEIGHT = -30;

// The quantile of distances of samples from each other that counts as usual, and samples that are measured for it: all
// pairs of five thousand would take half a second.
const USUAL = 0.95;
const MOST_MEASURED = 300;

/**
 * The samples of one model as the map sees them: two of their coordinates, and which of them are shown.
 *
 * The width of the average of samples near a place is Scott's rule in two dimensions, σ n^(−1/6): the width at which a
 * density estimate of a Gaussian cloud is best. Averages of a narrower one jump from sample to sample, those of a wider
 * one are the mean everywhere.
 */
export class MapSamples {
  /**
   * @param {{values: ArrayLike<number>, shape: number[]}} coordinates of all samples, one row each
   * @param {number} across number of the component drawn across
   * @param {number} up number of the component drawn upwards
   * @param {(sample: number) => boolean} isShown
   * @param {Float64Array} spread drawn upwards where both components are the same: samples would lie on a line
   */
  constructor(coordinates, across, up, isShown, spread) {
    const [count, k] = coordinates.shape;
    this.values = coordinates.values;
    this.k = k;
    this.axes = [across, up];
    this.across = column(coordinates, across);
    this.isOneComponent = across === up;
    this.up = this.isOneComponent ? spread : column(coordinates, up);
    this.shown = new Int32Array(count).map((_, i) => i).filter((i) => isShown(i));
    this.widths = [this.across, this.up].map((list) => scottWidth(list, this.shown));
    this.ranges = [paddedRange(this.across), paddedRange(this.up)];
  }

  /**
   * The shown sample that is seen nearest to a place of the map.
   * @param {{across: number, up: number}} place
   * @returns {number | null} null if no sample is shown
   */
  nearest(place) {
    const [scaleAcross, scaleUp] = this.ranges.map(([low, high], axis) => ASPECT[axis] / (high - low));
    let sample = null;
    let least = Infinity;
    for (const i of this.shown) {
      const dx = (this.across[i] - place.across) * scaleAcross;
      const dy = (this.up[i] - place.up) * scaleUp;
      const squared = dx * dx + dy * dy;
      if (squared < least) {
        least = squared;
        sample = i;
      }
    }
    return sample;
  }

  /** The mean of the shown samples, as a place of the map. */
  middle() {
    const mean = (numbers) => this.shown.reduce((sum, i) => sum + numbers[i] / this.shown.length, 0);
    return { across: mean(this.across), up: mean(this.up) };
  }

  /**
   * The squared distance of a place from the shown samples, in units of the widths of averages: about that from the
   * nearest sample, but smooth, and zero within the data.
   * @param {{across: number, up: number}} place
   */
  squaredDistance(place) {
    if (this.shown.length === 0) return Infinity;
    const { logs, most } = this.#logWeights(place);
    const total = logs.reduce((sum, log) => sum + Math.exp(log), 0);
    return Math.max(0, -2 * (most + Math.log(total)));
  }

  /**
   * How far samples of the map are from the others: a high quantile of `squaredDistance` of each without itself. What
   * is farther than that from all of them lies outside of the data, or in a gap between them.
   * @returns {number} kept for the next call
   */
  usualSquaredDistance() {
    if (this.usual === undefined) {
      const step = Math.ceil(this.shown.length / MOST_MEASURED);
      const measured = Array.from(this.shown.filter((_, s) => s % step === 0), (i) => this.#withoutItself(i));
      const sorted = Float64Array.from(measured).sort();
      this.usual = sorted.length ? sorted[Math.floor(USUAL * (sorted.length - 1))] : 0;
    }
    return this.usual;
  }

  #withoutItself(sample) {
    let total = 0;
    for (const i of this.shown) {
      if (i === sample) continue;
      const dx = (this.across[i] - this.across[sample]) / this.widths[0];
      const dy = (this.up[i] - this.up[sample]) / this.widths[1];
      total += Math.exp(-(dx * dx + dy * dy) / 2);
    }
    return Math.max(0, -2 * Math.log(total));
  }

  /**
   * The average of numbers of the samples near a place, with the weights of the remaining components.
   * @param {{across: number, up: number}} place
   * @param {ArrayLike<number>} numbers one per sample
   */
  average(place, numbers) {
    if (this.shown.length === 0) return 0;
    const { logs } = this.#logWeights(place);
    let [total, sum] = [0, 0];
    for (let s = 0; s < logs.length; s += 1) {
      const weight = Math.exp(logs[s]);
      total += weight;
      sum += weight * numbers[this.shown[s]];
    }
    return sum / total;
  }

  /**
   * The samples near a place with their weights in averages; those that change nothing are left out.
   * @returns {{samples: number[], weights: number[]}} weights with the sum one
   */
  near(place) {
    const { logs } = this.#logWeights(place);
    const found = [...logs.keys()].filter((s) => logs[s] >= LEAST_LOG_WEIGHT);
    const weights = found.map((s) => Math.exp(logs[s]));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return { samples: found.map((s) => this.shown[s]), weights: weights.map((weight) => weight / total) };
  }

  /**
   * The coordinates of the point of feature space that a place of the map stands for.
   * @param {{across: number, up: number}} place
   * @param {"average"|"nearest"|"zero"} others what the remaining components are
   * @returns {Float64Array} all k coordinates
   */
  target(place, others) {
    const y = new Float64Array(this.k);
    if (others !== "zero" && this.shown.length > 0) {
      if (others === "nearest") this.#copyNearest(place, y);
      else this.#averageRows(place, y);
    }
    const [across, up] = this.axes;
    y[across] = place.across;
    if (!this.isOneComponent) y[up] = place.up;
    return y;
  }

  #copyNearest(place, y) {
    const sample = this.nearest(place);
    for (let j = 0; j < this.k; j += 1) y[j] = this.values[sample * this.k + j];
  }

  #averageRows(place, y) {
    const { logs } = this.#logWeights(place);
    let total = 0;
    for (let s = 0; s < this.shown.length; s += 1) {
      if (logs[s] < LEAST_LOG_WEIGHT) continue;
      const weight = Math.exp(logs[s]);
      const start = this.shown[s] * this.k;
      total += weight;
      for (let j = 0; j < this.k; j += 1) y[j] += weight * this.values[start + j];
    }
    for (let j = 0; j < this.k; j += 1) y[j] /= total;
  }

  /** −‖place − sample‖²/2 in units of the widths, relative to `most`, that of the nearest sample. */
  #logWeights(place) {
    const logs = new Float64Array(this.shown.length);
    let most = -Infinity;
    for (let s = 0; s < logs.length; s += 1) {
      const dx = (this.across[this.shown[s]] - place.across) / this.widths[0];
      const dy = (this.up[this.shown[s]] - place.up) / this.widths[1];
      logs[s] = -(dx * dx + dy * dy) / 2;
      if (logs[s] > most) most = logs[s];
    }
    for (let s = 0; s < logs.length; s += 1) logs[s] -= most;
    return { logs, most };
  }
}

/** One column of a matrix. */
export function column({ values, shape: [count, k] }, j) {
  const numbers = new Float64Array(count);
  for (let i = 0; i < count; i += 1) numbers[i] = values[i * k + j];
  return numbers;
}

function scottWidth(numbers, which) {
  let mean = 0;
  for (const i of which) mean += numbers[i] / which.length;
  let variance = 0;
  for (const i of which) variance += (numbers[i] - mean) ** 2 / which.length;
  return Math.sqrt(variance) * which.length ** (-1 / 6) || 1;
}
