// The legend of numbers: a scale of colours, and two sliders that leave out what is below or above.

import { slider } from "../controls.js";
import { element, formatted } from "../dom.js";
import { MISSING } from "./map_colouring.js";
import { createSwatch } from "./map_marks.js";

/**
 * The scale of a colouring by numbers.
 * @param {object} colouring
 * @param {(range: [number, number]) => void} onrange hears fractions of the scale; 0 and 1 leave nothing out
 * @returns {{elements: HTMLElement[], show: (filter: {range: number[]}) => void}}
 */
export function createScaleLegend(colouring, onrange) {
  const [low, high] = colouring.ends();
  const missing = colouring.hasMissing
    ? [createSwatch(colouring.look(MISSING)), element("span", { class: "legend-name missing", text: "missing" })] : [];
  const line = element("div", { class: "legend-scale" }, [
    element("span", { text: low }), scaleBar(colouring), element("span", { text: high }), ...missing,
  ]);
  if (!(colouring.high > colouring.low)) return { elements: [line], show: () => {} };
  let present = [0, 1];
  const value = (fraction) => formatted(colouring.low + fraction * (colouring.high - colouring.low));
  // Each end takes the other one with it, so that the range is never empty.
  const from = slider({
    label: "Show from", min: 0, max: 1, step: 0.01, value: 0, format: (at) => (at > 0 ? value(at) : "all"),
    onchange: (at) => onrange([at, Math.max(at, present[1])]),
  });
  const to = slider({
    label: "to", min: 0, max: 1, step: 0.01, value: 1, format: (at) => (at < 1 ? value(at) : "all"),
    onchange: (at) => onrange([Math.min(at, present[0]), at]),
  });
  const show = ({ range }) => {
    present = range;
    from.set(range[0]);
    to.set(range[1]);
  };
  return { elements: [line, element("div", { class: "legend-range" }, [from.element, to.element])], show };
}

function scaleBar(colouring) {
  const [steps, height] = [256, 12];
  const canvas = element("canvas", { class: "scale-bar", width: steps, height, "aria-hidden": "true" });
  const drawing = canvas.getContext("2d");
  for (let x = 0; x < steps; x += 1) {
    drawing.fillStyle = colouring.colourAt(x / (steps - 1));
    drawing.fillRect(x, 0, 1, height);
  }
  return canvas;
}
