// The background of the map: a haze where pre-images are far from what the data know.

import { extrapolation, relative } from "./extrapolation.js";
import { typicalScore } from "./novelty.js";
import { FEW_STEPS } from "./pointer_answer.js";
import { mapSamples } from "./shown_samples.js";

// Nodes of the coarsest grid, across and up; each further level halves the distance of nodes. The map has a ratio of 4 : 3.
const COARSEST = [9, 7];
const LEVELS = 3;
// Levels after this many milliseconds of work are left out: large models have a coarser haze instead of a warm computer.
const LONGEST = 4000;

/**
 * What the haze may show, with the words of a menu: where the model extrapolates; ρ/(ρ + e) for the squared distance ρ
 * in feature space between the image of the pre-image and what was asked for, and the median reconstruction error e of
 * the samples; or nothing.
 */
export const HAZES = [
  { value: "extrapolation", text: "extrapolation" },
  { value: "error", text: "error of pre-images" },
  { value: "none", text: "nothing" },
];

const DECISIONS = { classes: "decision", inside: "outliers", values: "prediction" };

/** What the haze may show for a model. */
export function hazesOf(record) {
  if (!record.decision) return HAZES;
  return [{ value: "decision", text: DECISIONS[record.decision.kind] }, ...HAZES];
}

/** What the haze shows until somebody chooses. */
export function firstHaze(record) {
  return hazesOf(record)[0].value;
}

/**
 * The strength of the haze, between 0 and 1, as a function of a place, for the present choices.
 * @param {object} app
 * @param {"extrapolation"|"error"} what
 * @returns {(place: {across: number, up: number}) => number}
 */
export function hazeOf(app, what) {
  const { store } = app;
  const samples = mapSamples(app);
  const [model, q, others] = [app.model(), store.get("q"), store.get("others")];
  const typical = typicalScore(app.data.models[store.get("model")], q);
  const strength = what === "error" ? (place, distance) => relative(distance, typical) : extrapolation(app);
  return (place) => strength(place, model.preimage(samples.target(place, others), { q, maxIter: FEW_STEPS }).objective);
}

function meanOf(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** The haze on a grid of a rectangle of the map, coarse at first. */
export class HazeGrid {
  /**
   * @param {{left: number, right: number, bottom: number, top: number}} area
   * @param {(place: {across: number, up: number}) => number} strength
   */
  constructor(area, strength) {
    this.area = area;
    this.strength = strength;
    [this.columns, this.rows] = COARSEST;
    this.values = new Float64Array(this.columns * this.rows).fill(NaN);
  }

  /** Whether the coarsest level is there, so that there is something to draw. */
  get isReady() {
    return this.values.length > COARSEST[0] * COARSEST[1] || !this.values.some(Number.isNaN);
  }

  /** All levels, one node per step. */
  *steps() {
    let spent = 0;
    let unknown = Array.from(this.values, (_, node) => node);
    for (let level = 0; level < LEVELS; level += 1) {
      if (level > 0) unknown = this.#refine();
      for (const node of scattered(unknown)) {
        const begin = performance.now();
        const value = this.strength(this.#place(node));
        if (Number.isFinite(value)) this.values[node] = value;
        else if (Number.isNaN(this.values[node])) this.values[node] = 0;
        spent += performance.now() - begin;
        yield;
      }
      if (spent * 4 > LONGEST) return;
    }
  }

  #place(node) {
    const { left, right, bottom, top } = this.area;
    return {
      across: left + ((node % this.columns) / (this.columns - 1)) * (right - left),
      up: top - (Math.floor(node / this.columns) / (this.rows - 1)) * (top - bottom),
    };
  }

  /** Twice as many nodes in both directions, interpolated; the numbers of those that are new. */
  #refine() {
    const [before, width, height] = [this.values, this.columns, this.rows];
    this.columns = 2 * width - 1;
    this.rows = 2 * height - 1;
    this.values = new Float64Array(this.columns * this.rows);
    const fresh = [];
    for (let row = 0; row < this.rows; row += 1) {
      for (let column = 0; column < this.columns; column += 1) {
        const node = row * this.columns + column;
        const around = [row >> 1, (row + 1) >> 1].flatMap((r) => [column >> 1, (column + 1) >> 1].map((c) => r * width + c));
        this.values[node] = meanOf(around.map((corner) => before[corner]));
        if (row % 2 || column % 2) fresh.push(node);
      }
    }
    return fresh;
  }
}

/** A list in an order that fills it evenly: steps of the golden ratio. */
function scattered(list) {
  const keys = list.map((_, i) => (i * 0.6180339887498949) % 1);
  return list.map((entry, i) => [keys[i], entry]).sort((a, b) => a[0] - b[0]).map(([, entry]) => entry);
}

/**
 * A picture of a grid, one pixel per node, in a colour whose opacity is the haze.
 * @param {HazeGrid} grid
 * @param {[number, number, number]} colour
 * @param {number} strongest opacity between 0 and 1
 */
export function hazePicture(grid, colour, strongest) {
  const picture = document.createElement("canvas");
  picture.width = grid.columns;
  picture.height = grid.rows;
  const drawing = picture.getContext("2d");
  const image = drawing.createImageData(grid.columns, grid.rows);
  grid.values.forEach((value, node) => {
    image.data.set([...colour, Math.round(255 * strongest * value)], 4 * node);
  });
  drawing.putImageData(image, 0, 0);
  return picture;
}
