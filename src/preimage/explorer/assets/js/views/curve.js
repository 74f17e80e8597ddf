// Rows as curves: spectra, time series, profiles.

import { svg } from "../dom.js";
import { createCurveEditor } from "./curve_editor.js";
import { createFrame } from "./curve_frame.js";
import { linePath, nearestColumn } from "./curve_path.js";
import { tickFormat } from "./ticks.js";

// Values are read to this fraction of their range.
const READING = 1e-3;

/** The view of curves; see `createView`. */
export function createCurveView(record) {
  return {
    kind: "curve",
    picture: ({ size = "medium", what = "value" } = {}) => createPicture(record, size, what),
    editor: (row, onChange) => createCurveEditor(record, row, onChange),
    scale: () => null,
  };
}

function createPicture(record, size, what) {
  let shown = null;
  const draw = () => {
    line.setAttribute("d", shown === null ? "" : linePath(shown, frame.scales, frame.box));
    reading?.update();
  };
  const frame = createFrame(record, size, what, draw);
  const label = `${record.axis.values.length} values over ${record.axis_label}`;
  frame.element.setAttribute("aria-label", `${what === "difference" ? "Difference" : "Curve"} of ${label}`);
  const line = svg("path", { class: what === "difference" ? "line difference" : "line" });
  frame.layer.append(line);
  const reading = size === "small" ? null : createReading(record, frame, () => shown);
  return { element: frame.element, show: (row) => { shown = row; draw(); } };
}

/** A dot on the curve under the pointer, with its numbers in the corner. */
function createReading(record, frame, row) {
  const { element: drawing, layer, range } = frame;
  const dot = svg("circle", { class: "reading", r: 3, visibility: "hidden" });
  const text = svg("text", { class: "tick", y: 11, "text-anchor": "end" });
  layer.append(dot);
  drawing.append(text);
  const axis = record.axis.values;
  const format = tickFormat(READING * (range[1] - range[0]), Math.max(...range.map(Math.abs)));
  let column = null;
  const update = () => {
    const value = column === null || row() === null ? NaN : row()[column];
    dot.setAttribute("visibility", Number.isNaN(value) ? "hidden" : "visible");
    text.textContent = Number.isNaN(value) ? "" : `${Number(axis[column].toPrecision(6))}: ${format(value)}`;
    if (Number.isNaN(value)) return;
    text.setAttribute("x", frame.box.right);
    dot.setAttribute("cx", frame.scales.x(column));
    dot.setAttribute("cy", frame.scales.y(value));
  };
  drawing.addEventListener("pointermove", (event) => {
    column = nearestColumn(axis, frame.scales, event.clientX - drawing.getBoundingClientRect().left);
    update();
  });
  drawing.addEventListener("pointerleave", () => { column = null; update(); });
  return { update };
}
