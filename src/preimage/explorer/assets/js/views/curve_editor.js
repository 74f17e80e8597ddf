// Drawing a curve with the pointer or the keyboard.

import { button } from "../controls.js";
import { element, oncePerFrame, svg } from "../dom.js";
import { createFrame } from "./curve_frame.js";
import { linePath, nearestColumn } from "./curve_path.js";

const KEYS = "Drag to draw. With the keyboard: left and right choose a value, up and down change it.";
// One press of a key moves a value by this fraction of its range; with shift, ten times as far.
const KEY_STEP = 0.01;

/**
 * A curve that can be drawn: `{element, show(row)}`.
 * @param {Object} record  the view
 * @param {ArrayLike<number>|null} row  what to begin with; null is the mean
 * @param {Function} onChange  gets a copy of the row, at most once per frame
 */
export function createCurveEditor(record, row, onChange) {
  const frame = createFrame(record, "large", "value", () => draw());
  const values = new Float64Array(record.axis.values.length);
  const line = svg("path", { class: "line" });
  const dot = svg("circle", { class: "reading", r: 4 });
  frame.layer.append(line, dot);
  let column = Math.floor(values.length / 2);
  let isCutting = false;

  const draw = () => {
    line.setAttribute("d", linePath(values, frame.scales, frame.box));
    dot.setAttribute("cx", frame.scales.x(column));
    dot.setAttribute("cy", frame.scales.y(Number.isNaN(values[column]) ? frame.range[0] : values[column]));
  };
  const changed = oncePerFrame(() => { draw(); onChange(values.slice()); });
  const set = (first, last, from, to) => {
    const count = Math.abs(last - first);
    for (let step = 0; step <= count; step++) {
      const part = count > 0 ? step / count : 1;
      values[first + Math.sign(last - first) * step] = isCutting ? NaN : from + part * (to - from);
    }
    column = last;
    changed();
  };
  listenToPointer(frame, record.axis.values, set);
  listenToKeys(frame, values, () => column, (next) => { column = next; draw(); }, set, record);

  const show = (given) => { values.set(given ?? record.mean.values); draw(); };
  show(row);
  const toggle = () => {
    isCutting = !isCutting;
    cut.setAttribute("aria-pressed", String(isCutting));
  };
  const begin = () => { show(null); changed(); };
  const cut = button({ text: "Gap", title: "Cut out, for the model to fill", pressed: false, onclick: toggle });
  const clear = button({ text: "Mean", title: "Begin with the mean of the data", onclick: begin });
  return { element: arranged(frame.element, [cut, clear]), show };
}

function arranged(drawing, buttons) {
  const hint = element("p", { class: "hint", text: KEYS });
  const tools = element("div", { class: "editor-tools" }, [element("div", { class: "tool-row" }, buttons), hint]);
  return element("div", { class: "editor" }, [element("div", { class: "stage" }, [drawing]), tools]);
}

/** The curve follows the pointer while it is down; columns that it passes between two events are joined. */
function listenToPointer(frame, axis, set) {
  const { element: drawing, range } = frame;
  let last = null;
  const placeOf = (event) => {
    const bounds = drawing.getBoundingClientRect();
    const part = (frame.box.bottom - (event.clientY - bounds.top)) / (frame.box.bottom - frame.box.top);
    const value = range[0] + Math.min(Math.max(part, 0), 1) * (range[1] - range[0]);
    return { column: nearestColumn(axis, frame.scales, event.clientX - bounds.left), value };
  };
  drawing.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drawing.setPointerCapture(event.pointerId);
    last = placeOf(event);
    set(last.column, last.column, last.value, last.value);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const next = placeOf(event);
    set(last.column, next.column, last.value, next.value);
    last = next;
  });
  for (const name of ["pointerup", "pointercancel"]) drawing.addEventListener(name, () => { last = null; });
}

function listenToKeys({ element: drawing, range }, values, column, choose, set, record) {
  drawing.setAttribute("tabindex", 0);
  drawing.setAttribute("role", "application");
  drawing.setAttribute("aria-label", `Curve to draw. ${KEYS}`);
  drawing.addEventListener("keydown", (event) => {
    const steps = event.shiftKey ? 10 : 1;
    const across = { ArrowLeft: -steps, ArrowRight: steps }[event.key];
    const up = { ArrowUp: steps, ArrowDown: -steps }[event.key];
    if (!across && !up) return;
    event.preventDefault();
    if (across) return choose(Math.min(Math.max(column() + across, 0), values.length - 1));
    const before = Number.isNaN(values[column()]) ? record.mean.values[column()] : values[column()];
    const value = before + up * KEY_STEP * (range[1] - range[0]);
    set(column(), column(), value, Math.min(Math.max(value, range[0]), range[1]));
  });
}
