// When the haze of the map is computed and drawn: at rest, in slices, behind the pointer.

import { inSlices } from "../slices.js";
import { DecisionGrid } from "./map_decision.js";
import { HazeGrid, hazeOf, hazePicture } from "./map_haze.js";
import { drawBorders, drawHaze } from "./map_layers.js";

// The haze of a new part of the plane is begun when the map has been at rest for this many milliseconds.
const REST = 150;
// While the pointer moves, the haze waits: the pre-image at the pointer comes first.
const POINTER_REST = 120;
// The opacity of the strongest haze: marks must be seen on it.
const STRONGEST = 0.6;

/** The haze of a map, which keeps what it has until it has something better. */
export class Background {
  /**
   * @param {object} app
   * @param {() => void} redraw called when there is something new to draw
   */
  constructor(app, redraw) {
    Object.assign(this, { app, redraw, grid: null, timer: 0, touched: -Infinity });
    this.cancel = () => {};
  }

  /** The user moves the pointer. */
  touch() {
    this.touched = performance.now();
  }

  /** Compute the haze of an area of the plane, a moment later. */
  restart(area) {
    clearTimeout(this.timer);
    this.cancel();
    if (this.app.store.get("haze") !== "none") this.timer = setTimeout(() => this.#compute(area), REST);
  }

  #compute(area) {
    const what = this.app.store.get("haze");
    const grid = what === "decision" ? new DecisionGrid(this.app, area) : new HazeGrid(area, hazeOf(this.app, what));
    const show = () => {
      if (!grid.isReady) return;
      this.grid = grid;
      this.redraw();
    };
    const isBusy = () => performance.now() - this.touched < POINTER_REST;
    this.cancel = inSlices(grid.steps(), { isBusy, onslice: show });
  }

  /** What there is to draw: a picture or null, its area, and lines between decisions. */
  picture(theme) {
    const isShown = this.grid && this.app.store.get("haze") !== "none";
    if (!isShown) return { picture: null, area: null, borders: [] };
    const { area } = this.grid;
    if (this.grid instanceof DecisionGrid) {
      return { picture: this.grid.picture(rgb(theme.soft)), area, borders: this.grid.contours() };
    }
    return { picture: hazePicture(this.grid, rgb(theme.soft), STRONGEST), area, borders: [] };
  }

  /** Draw what there is. */
  draw(layer, viewport, theme) {
    const { picture, area, borders } = this.picture(theme);
    drawHaze(layer, viewport, picture, area);
    drawBorders(layer.drawing, viewport, borders, theme);
  }
}

/** The numbers of a colour "#rrggbb". */
function rgb(colour) {
  return [1, 3, 5].map((first) => parseInt(colour.slice(first, first + 2), 16));
}
