// The legend of the map: names that switch their samples on and off, or a scale of numbers with two ends.

import { isDark } from "../colours.js";
import { button } from "../controls.js";
import { element } from "../dom.js";
import { MISSING } from "./map_colouring.js";
import { createScaleLegend } from "./map_legend_scale.js";
import { createSwatch } from "./map_marks.js";

// A legend with more names than this is no legend; the commonest ones are listed.
const MOST_ENTRIES = 200;

/**
 * A legend that filters.
 * @param {{onfilter: (hidden: Set<number>) => void, onrange: (range: [number, number]) => void, onall: () => void}} options
 * @returns {{element: HTMLElement, show: (colouring: object, filter: {hidden: Set<number>, range: number[]}) => void}}
 */
export function createLegend({ onfilter, onrange, onall }) {
  const title = element("h3", { class: "legend-title" });
  const all = button({ text: "Show all", onclick: onall });
  const body = element("div", { class: "legend-entries" });
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Legend" }, [
    element("div", { class: "legend-head" }, [title, all]), body,
  ]);
  let present = null;
  const show = (colouring, filter) => {
    // What is there stays while it is used: a slider that is replaced cannot be dragged.
    if (colouring !== present?.colouring || isDark() !== present.isDark) {
      const parts = colouring.isContinuous ? createScaleLegend(colouring, onrange) : createNames(colouring, onfilter);
      present = { colouring, isDark: isDark(), parts };
      title.textContent = colouring.title;
      body.replaceChildren(...parts.elements);
    }
    present.parts.show(filter);
    all.hidden = filter.hidden.size === 0 && !(colouring.isContinuous && isLimited(filter.range));
  };
  return { element: legend, show };
}

const isLimited = ([low, high]) => low > 0 || high < 1;

function createNames(colouring, onfilter) {
  const all = colouring.entries();
  const listed = all.length <= MOST_ENTRIES ? all : [...all].sort((a, b) => b.count - a.count).slice(0, MOST_ENTRIES);
  const codes = all.map((entry) => entry.code);
  const entries = listed.map((entry) => createEntry(colouring, entry, codes, onfilter));
  const left = all.length - listed.length;
  const remainder = left > 0 ? [element("p", { class: "hint", text: `and ${left.toLocaleString("en")} rarer ones` })] : [];
  return {
    elements: [...entries.map((entry) => entry.element), ...remainder],
    show: ({ hidden }) => entries.forEach((entry) => entry.show(hidden)),
  };
}

/** One name: pressed means shown. With Shift it is shown alone. */
function createEntry(colouring, { code, name, count }, codes, onfilter) {
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
    createSwatch(colouring.look(code)),
    element("span", { class: code === MISSING ? "legend-name missing" : "legend-name", text: name }),
    element("span", { class: "legend-count", text: `(${count.toLocaleString("en")})` }),
  ]);
  const show = (now) => {
    hidden = now;
    node.setAttribute("aria-pressed", String(!now.has(code)));
  };
  return { element: node, show };
}
