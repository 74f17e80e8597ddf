// Several rows of a short table next to each other: the pre-image at the pointer, and a sample with its difference.

import { element } from "../dom.js";

// Longer tables are lists that scroll, one for each row.
const MOST_COLUMNS = 20;
// The rows that are compared: a key, a heading, and whether a bar stands next to the number. Narrow windows leave out
// those that are not `isKept`: what they say can be read from the others.
const COMPARED = [
  { key: "pre-image", title: "At pointer", hasBar: true, isKept: true },
  { key: "nearest-sample", title: "Nearest" },
  { key: "original", title: "Selected", isKept: true },
  { key: "filled-in", title: "Filled in", isKept: true, isForGaps: true },
  { key: "reconstruction", title: "Reconstr." },
  { key: "difference", title: "Difference", hasBar: true, isKept: true },
];

/** Whether a table is short enough for a comparison that is seen at once. */
export function isComparable(columns) {
  return columns.length <= MOST_COLUMNS;
}

/**
 * A table with a line for each column and a number for each compared row.
 * @param {Object} columns  of `tableColumns`
 * @returns {{element: HTMLElement, figure: (key: string) => {show: (row: Float64Array | null) => void}}}
 */
export function createComparison(columns, { hasGaps = false } = {}) {
  const compared = COMPARED.filter(({ isForGaps }) => hasGaps || !isForGaps);
  const heads = compared.map(({ key, title, isKept }) => element("th", { scope: "col", class: kept(isKept), "data-of": key, text: title }));
  const lines = Array.from({ length: columns.length }, (_, column) => createLine(columns, column, compared));
  const table = element("table", { class: hasGaps ? "comparison with-gaps" : "comparison", "aria-label": "Values at the pointer and of the selected sample" }, [
    element("thead", {}, [
      element("tr", {}, [element("td"), ...heads]),
    ]),
    element("tbody", {}, lines.map((line) => line.element)),
  ]);
  return {
    element: table,
    figure: (key) => ({ show: (row) => lines.forEach((line) => line.show(key, row)) }),
  };
}

const kept = (isKept) => (isKept ? null : "less");

function createLine(columns, column, compared) {
  const cells = new Map(compared.map((each) => [each.key, createCell(columns, column, each)]));
  const unit = columns.unit(column);
  const name = element("th", { scope: "row", title: columns.described(column), text: columns.name(column) }, [
    unit ? element("span", { class: "comparison-unit", text: ` ${unit}` }) : null,
  ]);
  return {
    element: element("tr", {}, [name, ...[...cells.values()].map((cell) => cell.element)]),
    show: (key, row) => cells.get(key).show(row === null ? null : row[column]),
  };
}

function createCell(columns, column, { key, hasBar, isKept }) {
  const what = key === "difference" ? "difference" : "value";
  const number = element("span", { class: "comparison-value" });
  const bar = element("span", { class: "table-bar" });
  const middle = element("span", { class: "table-middle" });
  middle.style.setProperty("left", `${100 * columns.middle(column, what)}%`);
  const track = hasBar ? element("span", { class: "table-track" }, [middle, bar]) : null;
  const show = (value) => {
    number.textContent = value === null ? "" : columns.text(column, value, what);
    bar.hidden = value === null || Number.isNaN(value);
    if (!hasBar || bar.hidden) return;
    const [from, to] = [columns.middle(column, what), columns.part(column, value, what)];
    bar.style.setProperty("left", `${100 * Math.min(from, to)}%`);
    bar.style.setProperty("width", `${100 * Math.abs(to - from)}%`);
    bar.classList.toggle("below", to < from);
  };
  show(null);
  const cell = element("div", { class: "comparison-cell" }, [track, number]);
  return { element: element("td", { class: kept(isKept), "data-of": key }, [cell]), show };
}
