// Rows as tables: one bar per column, in the units of the column.

import { element } from "../dom.js";
import { tableColumns } from "./columns.js";
import { profilePicture } from "./profile.js";
import { createTableEditor } from "./table_editor.js";

// Heights of a line in pixels. Where there is no room for all in one line, names stand above bars and numbers.
const WIDE_LINE = 24;
const NARROW_LINE = 37;
// Room for the letters of a name, the digits of a number, a bar, and what lies between them, in pixels.
const ROOM = { letter: 6.6, digit: 7.7, bar: 72, between: 44 };
// As many columns are seen without scrolling; of more, half a line says that there are more.
const ALL = 15;
const SEEN = { medium: 8.5, large: 15.5 };

/** The view of tables; see `createView`. Lists of the same view scroll together. */
export function createTableView(record) {
  const columns = tableColumns(record);
  const scroller = createScroller();
  return {
    kind: "table",
    picture: ({ size = "medium", what = "value" } = {}) =>
      (size === "small" ? profilePicture(columns, what) : listPicture(columns, size, what, scroller)),
    editor: (row, onChange) => createTableEditor(columns, row, onChange),
    scale: () => null,
  };
}

/**
 * Names, bars and numbers in a list. Only the lines that are seen exist, so that thousands of columns cost no more than
 * twenty.
 */
function listPicture(columns, size, what, scroller) {
  const seen = columns.length <= ALL ? columns.length : SEEN[size];
  const lines = Array.from({ length: Math.min(columns.length, Math.ceil(seen) + 1) }, () => createLine(columns, what));
  const inner = element("div", { class: "table-inner", role: "list" }, lines.map((line) => line.element));
  const label = `${what === "value" ? "Values" : "Differences"} of ${columns.length} columns`;
  const outer = element("div", { class: `picture table ${size}`, role: "group", "aria-label": label }, [inner]);
  outer.style.setProperty("--letters", columns.letters);
  outer.style.setProperty("--unit-letters", columns.unitLetters);
  outer.style.setProperty("--name-width", `${ROOM.letter * columns.nameLetters}px`);
  if (seen < columns.length) outer.tabIndex = 0;
  // Where the list is scrolled to is kept: to ask the browser would make it lay out the page in the middle of a change.
  const list = { element: outer, height: WIDE_LINE, top: 0, shown: null };
  list.draw = () => {
    const first = Math.min(Math.max(Math.floor(list.top / list.height), 0), columns.length - lines.length);
    lines.forEach((line, number) => line.show(first + number, list.shown, list.height));
  };
  const arrange = (height) => {
    list.height = height;
    outer.classList.toggle("narrow", height === NARROW_LINE);
    outer.style.setProperty("height", `${seen * height}px`);
    inner.style.setProperty("height", `${columns.length * height}px`);
    list.draw();
  };
  arrange(WIDE_LINE);
  const digits = columns.letters + columns.unitLetters;
  const needed = ROOM.letter * columns.nameLetters + ROOM.digit * digits + ROOM.bar + ROOM.between;
  new ResizeObserver(([{ contentRect: { width } }]) => {
    const height = width > 0 && width < needed ? NARROW_LINE : WIDE_LINE;
    if (height !== list.height) arrange(height);
  }).observe(outer);
  scroller.add(list);
  return { element: outer, show: (row) => { list.shown = row; list.draw(); } };
}

/** A line of a list: `{element, show(column, row, height)}`. */
function createLine(columns, what) {
  const name = element("span", { class: "table-name" });
  const bar = element("span", { class: "table-bar" });
  const middle = element("span", { class: "table-middle" });
  const value = element("span", { class: "table-value" });
  const unit = element("span", { class: "table-unit" });
  const track = element("span", { class: "table-track" }, [middle, bar]);
  const options = { class: "table-line", role: "listitem", "aria-setsize": columns.length };
  const line = element("div", options, [name, track, value, unit]);
  let last = { column: null, height: null };
  const move = (column, height) => {
    last = { column, height };
    name.textContent = columns.name(column);
    unit.textContent = columns.unit(column);
    line.title = columns.described(column);
    line.style.setProperty("transform", `translateY(${column * height}px)`);
    line.setAttribute("aria-posinset", column + 1);
    middle.style.setProperty("left", `${100 * columns.middle(column, what)}%`);
  };
  const show = (column, row, height) => {
    if (column !== last.column || height !== last.height) move(column, height);
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

/** Keeps lists at the same column. Lists are held weakly: pictures that nobody shows any more can go. */
function createScroller() {
  let lists = [];
  let first = 0;
  const add = (list) => {
    lists = [...lists.filter((other) => other.deref()), new WeakRef(list)];
    list.element.addEventListener("scroll", () => {
      list.top = list.element.scrollTop;
      list.draw();
      const column = list.top / list.height;
      // A list that followed another one is within a pixel of it and leads no one.
      if (Math.abs(column - first) * list.height <= 1) return;
      first = column;
      for (const other of lists) {
        const follower = other.deref();
        if (follower && follower !== list) follower.element.scrollTop = first * follower.height;
      }
    });
  };
  return { add };
}
