// The legend of the map: names that switch their samples on and off, or a scale of numbers.

import { isDark } from "../colours.js";
import { button } from "../controls.js";
import { element } from "../dom.js";
import { MISSING } from "./map_colouring.js";
import { traceMark } from "./map_marks.js";

// A legend with more names than this is no legend; the commonest ones are listed.
const MOST_ENTRIES = 200;

/**
 * A legend that filters.
 * @param {{onfilter: (hidden: Set<number>) => void}} options
 * @returns {{element: HTMLElement, show: (colouring: object, hidden: Set<number>) => void}}
 */
export function createLegend({ onfilter }) {
  const title = element("h3", { class: "legend-title" });
  const all = button({ text: "Show all", onclick: () => onfilter(new Set()) });
  const head = element("div", { class: "legend-head" }, [title, all]);
  const body = element("div", { class: "legend-entries" });
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Legend" }, [head, body]);
  let present = null;
  const show = (colouring, hidden) => {
    title.textContent = colouring.title;
    all.hidden = hidden.size === 0;
    if (colouring.isContinuous) body.replaceChildren(scaleOf(colouring));
    else if (colouring === present?.colouring && isDark() === present.isDark) present.entries.forEach((entry) => entry.show(hidden));
    else {
      const entries = listed(colouring).map((entry) => createEntry(colouring, entry, onfilter));
      entries.forEach((entry) => entry.show(hidden));
      body.replaceChildren(...entries.map((entry) => entry.element), ...remainder(colouring, entries.length));
      present = { colouring, entries, isDark: isDark() };
    }
    if (colouring.isContinuous) present = null;
  };
  return { element: legend, show };
}

function listed(colouring) {
  const entries = colouring.entries();
  if (entries.length <= MOST_ENTRIES) return entries;
  return entries.sort((a, b) => b.count - a.count).slice(0, MOST_ENTRIES);
}

function remainder(colouring, count) {
  const left = colouring.entries().length - count;
  return left > 0 ? [element("p", { class: "hint", text: `and ${left} rarer ones` })] : [];
}

/** One name: pressed means shown. With Shift it is shown alone. */
function createEntry(colouring, { code, name, count }, onfilter) {
  const codes = colouring.entries().map((entry) => entry.code);
  let hidden = new Set();
  const toggle = (event) => {
    const isAlone = hidden.size === codes.length - 1 && !hidden.has(code);
    if (event.shiftKey) onfilter(isAlone ? new Set() : new Set(codes.filter((other) => other !== code)));
    else onfilter(hidden.has(code) ? new Set([...hidden].filter((other) => other !== code)) : new Set([...hidden, code]));
  };
  const node = element("button", {
    type: "button", class: "legend-entry", onclick: toggle, disabled: !colouring.isFilter,
    title: colouring.isFilter ? `${name}: click hides or shows it; Shift and click shows it alone` : null,
  }, [
    swatch(colouring.look(code)),
    element("span", { class: code === MISSING ? "legend-name missing" : "legend-name", text: name }),
    element("span", { class: "legend-count", text: count.toLocaleString("en") }),
  ]);
  const show = (now) => {
    hidden = now;
    node.setAttribute("aria-pressed", String(!now.has(code)));
  };
  return { element: node, show };
}

function swatch({ colour, shape }) {
  const size = 16;
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  const canvas = element("canvas", { class: "swatch", width: size * ratio, height: size * ratio, "aria-hidden": "true" });
  const drawing = canvas.getContext("2d");
  drawing.scale(ratio, ratio);
  traceMark(drawing, shape, size / 2, size / 2, 5);
  drawing.fillStyle = colour;
  drawing.fill();
  return canvas;
}

function scaleOf(colouring) {
  const [steps, height] = [256, 12];
  const canvas = element("canvas", { class: "scale-bar", width: steps, height, "aria-hidden": "true" });
  const drawing = canvas.getContext("2d");
  for (let x = 0; x < steps; x += 1) {
    drawing.fillStyle = colouring.colourAt(x / (steps - 1));
    drawing.fillRect(x, 0, 1, height);
  }
  const [low, high] = colouring.ends();
  const missing = colouring.hasMissing ? [swatch(colouring.look(MISSING)), element("span", { class: "legend-name", text: "missing" })] : [];
  return element("div", { class: "legend-scale" }, [
    element("span", { text: low }), canvas, element("span", { text: high }), ...missing,
  ]);
}
