// Numbers of a row in fields.

import { button } from "../controls.js";
import { element, oncePerFrame } from "../dom.js";

// A page with more fields is slow, and nobody fills them in by hand.
const MOST_COLUMNS = 500;

/**
 * Fields for the values of a row: `{element, show(row)}`; null for tables of very many columns. An empty field is a gap.
 * @param {Object} columns  of `tableColumns`
 * @param {ArrayLike<number>|null} row  what to begin with; null is the mean
 * @param {Function} onChange  gets a copy of the row, at most once per frame
 */
export function createTableEditor(columns, row, onChange) {
  if (columns.length > MOST_COLUMNS) return null;
  const values = new Float64Array(columns.length);
  const changed = oncePerFrame(() => onChange(values.slice()));
  const fields = Array.from(values, (_, column) => createField(columns, column, (value) => { values[column] = value; changed(); }));
  const show = (given) => {
    values.set(given ?? columns.mean);
    fields.forEach((field, column) => field.show(values[column]));
  };
  show(row);
  const list = element("div", { class: "fields" }, fields.map((field) => field.element));
  const mean = button({ text: "Mean", title: "Begin with the mean of the data", onclick: () => { show(null); changed(); } });
  const hint = element("p", { class: "hint", text: "An empty field is a gap, for the model to fill." });
  const tools = element("div", { class: "editor-tools" }, [mean, hint]);
  return { element: element("div", { class: "editor table-editor" }, [list, tools]), show };
}

function createField(columns, column, onChange) {
  const input = element("input", { type: "number", step: "any" });
  const unit = columns.unit(column);
  const name = element("span", { class: "table-name", text: columns.name(column), title: columns.described(column) });
  input.addEventListener("input", () => onChange(input.value === "" ? NaN : input.valueAsNumber));
  const show = (value) => { input.value = Number.isNaN(value) ? "" : columns.text(column, value).replaceAll("−", "-"); };
  return { element: element("label", { class: "field" }, [name, input, element("span", { class: "unit", text: unit })]), show };
}
