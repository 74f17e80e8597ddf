// Rows as tables: one bar per column, in the units of the column.

import { element } from "../dom.js";
import { tableColumns } from "./columns.js";
import { profilePicture } from "./profile.js";
import { createTableEditor } from "./table_editor.js";

const ROW_HEIGHT = 24;
// How many columns are seen without scrolling.
const SEEN = { medium: 8, large: 16 };

/** The view of tables; see `createView`. Lists of the same view scroll together. */
export function createTableView(record) {
  const columns = tableColumns(record);
  const scroller = createScroller();
  return {
    kind: "table",
    picture: ({ size = "medium", what = "value" } = {}) => (size === "small" ? profilePicture(columns, what) : listPicture(columns, size, what, scroller)),
    editor: (row, onChange) => createTableEditor(columns, row, onChange),
    scale: () => null,
  };
}

/**
 * Names, bars and numbers in a list. Only the lines that are seen exist, so that thousands of columns cost no more than
 * twenty.
 */
function listPicture(columns, size, what, scroller) {
  const seen = Math.min(columns.length, SEEN[size]);
  const lines = Array.from({ length: Math.min(columns.length, seen + 1) }, () => createLine(columns, what));
  const inner = element("div", { class: "table-inner", role: "list" }, lines.map((line) => line.element));
  inner.style.setProperty("height", `${columns.length * ROW_HEIGHT}px`);
  const outer = element("div", { class: `picture table ${size}`, role: "group", "aria-label": `${what === "value" ? "Values" : "Differences"} of ${columns.length} columns` }, [inner]);
  outer.style.setProperty("height", `${seen * ROW_HEIGHT}px`);
  if (seen < columns.length) outer.tabIndex = 0;
  let shown = null;
  const draw = () => {
    const first = Math.min(Math.max(Math.floor(outer.scrollTop / ROW_HEIGHT), 0), columns.length - lines.length);
    lines.forEach((line, number) => line.show(first + number, shown));
  };
  scroller.add(outer, draw);
  draw();
  return { element: outer, show: (row) => { shown = row; draw(); } };
}

/** A line of a list: `{element, show(column, row)}`. */
function createLine(columns, what) {
  const name = element("span", { class: "table-name" });
  const bar = element("span", { class: "table-bar" });
  const middle = element("span", { class: "table-middle" });
  const value = element("span", { class: "table-value" });
  const line = element("div", { class: "table-line", role: "listitem", "aria-setsize": columns.length }, [name, element("span", { class: "table-track" }, [middle, bar]), value]);
  let last = -1;
  const move = (column) => {
    last = column;
    name.textContent = columns.name(column);
    line.title = columns.described(column);
    line.style.setProperty("transform", `translateY(${column * ROW_HEIGHT}px)`);
    line.setAttribute("aria-posinset", column + 1);
    middle.style.setProperty("left", `${100 * columns.middle(column, what)}%`);
  };
  const show = (column, row) => {
    if (column !== last) move(column);
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

/** Keeps lists at the same place. Lists are held weakly: pictures that nobody shows any more can go. */
function createScroller() {
  let lists = [];
  let top = 0;
  const add = (list, draw) => {
    lists = [...lists.filter((other) => other.deref()), new WeakRef(list)];
    list.addEventListener("scroll", () => {
      draw();
      if (list.scrollTop === top) return;
      top = list.scrollTop;
      for (const other of lists) {
        const follower = other.deref();
        if (follower && follower !== list) follower.scrollTop = top;
      }
    });
  };
  return { add };
}
