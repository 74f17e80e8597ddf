// One column of a table: its name, a bar and a number.

import { element } from "../dom.js";

/**
 * A line of a list: `{element, show(position, column, row, height)}`.
 * @param {Object} columns  of `tableColumns`
 * @param {"value"|"difference"} what
 */
export function createLine(columns, what) {
  const name = element("span", { class: "table-name" });
  const bar = element("span", { class: "table-bar" });
  const middle = element("span", { class: "table-middle" });
  const value = element("span", { class: "table-value" });
  const unit = element("span", { class: "table-unit" });
  const track = element("span", { class: "table-track" }, [middle, bar]);
  const options = { class: "table-line", role: "listitem", "aria-setsize": columns.length };
  const line = element("div", options, [name, track, value, unit]);
  let last = null;
  const move = (position, column, height) => {
    name.textContent = columns.name(column);
    unit.textContent = columns.unit(column);
    line.title = columns.described(column);
    line.style.setProperty("transform", `translateY(${position * height}px)`);
    line.setAttribute("aria-posinset", position + 1);
    middle.style.setProperty("left", `${100 * columns.middle(column, what)}%`);
  };
  const show = (position, column, row, height) => {
    const place = `${position} ${column} ${height}`;
    if (place !== last) move(position, column, height);
    last = place;
    const number = row === null ? NaN : row[column];
    value.textContent = row === null ? "" : columns.text(column, number, what);
    bar.hidden = Number.isNaN(number);
    if (bar.hidden) return;
    const [from, to] = [columns.middle(column, what), columns.part(column, number, what)];
    bar.style.setProperty("left", `${100 * Math.min(from, to)}%`);
    bar.style.setProperty("width", `${100 * Math.abs(to - from)}%`);
    bar.classList.toggle("below", to < from);
  };
  return { element: line, show };
}
