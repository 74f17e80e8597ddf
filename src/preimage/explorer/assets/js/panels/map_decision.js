// What a model decides at the places of the map: regions of classes, the threshold of a detector, or predictions.

import { categoryColour, sequential } from "../colours.js";
import { decisionOf } from "../decision.js";
import { HazeGrid } from "./map_haze.js";
import { detectorField } from "./map_lift.js";
import { FEW_STEPS } from "./pointer_answer.js";
import { mapSamples } from "./shown_samples.js";

// How strongly regions are coloured: marks of the same colour must be seen on them.
const [CLASS_OPACITY, OUTSIDE_OPACITY, VALUE_OPACITY] = [0.22, 0.5, 0.55];

/**
 * Decisions at places (those of their pre-images, or of the rows around for detectors), on a grid that becomes finer like that of the haze; for the present choices.
 * @param {object} app
 * @param {{left: number, right: number, bottom: number, top: number}} area
 */
export class DecisionGrid {
  constructor(app, area) {
    this.decision = decisionOf(app);
    this.area = area;
    this.range = rangeOf(this.decision);
    const marginsAt = marginsOfPlaces(app, this.decision);
    let [asked, margins] = [null, null];
    const field = (number) => (place) => {
      if (asked?.across !== place.across || asked.up !== place.up) [asked, margins] = [place, marginsAt(place)];
      return margins[number];
    };
    this.grids = Array.from({ length: this.decision.count }, (_, number) => new HazeGrid(area, field(number)));
  }

  get isReady() {
    return this.grids.every((grid) => grid.isReady);
  }

  /** All levels, one node of all fields per step. */
  *steps() {
    const [first, ...others] = this.grids.map((grid) => grid.steps());
    // The first field takes the time, and ends the work for all.
    while (!first.next().done) {
      others.forEach((each) => each.next());
      yield;
    }
  }

  /** A picture with one pixel per node. */
  picture(colour) {
    const [{ columns, rows }] = this.grids;
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = [columns, rows];
    const drawing = picture.getContext("2d");
    const image = drawing.createImageData(columns, rows);
    for (let node = 0; node < columns * rows; node += 1) image.data.set(this.#pixel(node, colour), 4 * node);
    drawing.putImageData(image, 0, 0);
    return picture;
  }

  #pixel(node, colour) {
    const values = this.grids.map((grid) => grid.values[node]);
    const { kind, codes } = this.decision;
    if (kind === "inside") return values[0] < 0 ? [...colour, 255 * OUTSIDE_OPACITY] : [0, 0, 0, 0];
    if (kind === "values") {
      const [low, high] = this.range;
      return [...sequential((values[0] - low) / (high - low)), 255 * VALUE_OPACITY];
    }
    const winner = values.indexOf(Math.max(...values));
    return values[winner] > 0 ? [...channels(categoryColour(codes[winner])), 255 * CLASS_OPACITY] : [0, 0, 0, 0];
  }

  /** Lines along which decisions change, as pairs of places: [[x, y], [x, y]]. */
  contours() {
    if (this.decision.kind === "values") return [];
    // The border of the second of two classes is that of the first.
    const grids = this.grids.length === 2 ? this.grids.slice(1) : this.grids;
    return grids.flatMap((grid) => zeroLines(grid));
  }
}

/** What is decided at a place: at its pre-image, except for detectors, to which every pre-image is usual. */
function marginsOfPlaces(app, decision) {
  if (decision.kind === "inside") {
    const field = detectorField(app, decision);
    return (place) => [field(place)];
  }
  const { store } = app;
  const samples = mapSamples(app);
  const [model, q, others] = [app.model(), store.get("q"), store.get("others")];
  return (place) => decision.margins(model.preimage(samples.target(place, others), { q, maxIter: FEW_STEPS }).row);
}

/** Both ends of the scale of predictions: those of the samples. */
function rangeOf({ kind, record }) {
  if (kind !== "values") return [0, 1];
  const sorted = Float64Array.from(record.predicted.values).sort();
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  return high > low ? [low, high] : [low - 1, low + 1];
}

/** Where the straight lines between nodes are zero: marching squares, cell by cell. */
export function zeroLines({ values, columns, rows, area: { left, right, bottom, top } }) {
  const x = (column) => left + (column / (columns - 1)) * (right - left);
  const y = (row) => top - (row / (rows - 1)) * (top - bottom);
  const lines = [];
  for (let row = 0; row + 1 < rows; row += 1) {
    for (let column = 0; column + 1 < columns; column += 1) {
      const corners = [[column, row], [column + 1, row], [column + 1, row + 1], [column, row + 1]];
      const at = corners.map(([c, r]) => values[r * columns + c]);
      const crossings = corners.flatMap((from, side) => crossing(from, corners[(side + 1) % 4], at[side], at[(side + 1) % 4]));
      for (let i = 0; i + 1 < crossings.length; i += 2) {
        lines.push([crossings[i], crossings[i + 1]].map(([c, r]) => [x(c), y(r)]));
      }
    }
  }
  return lines;
}

/** The place between two nodes where the value is zero; none where both have one sign. */
function crossing([c, r], [otherC, otherR], value, other) {
  if (Number.isNaN(value + other) || value > 0 === other > 0) return [];
  const part = value / (value - other);
  return [[c + part * (otherC - c), r + part * (otherR - r)]];
}

/** The numbers of a colour "#rrggbb". */
function channels(colour) {
  return [1, 3, 5].map((first) => parseInt(colour.slice(first, first + 2), 16));
}
