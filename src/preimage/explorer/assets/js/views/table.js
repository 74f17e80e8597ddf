// Rows as tables: one bar per column, in the units of the column.

import { button } from "../controls.js";
import { element } from "../dom.js";
import { tableColumns } from "./columns.js";
import { createComparison, isComparable } from "./comparison.js";
import { profilePicture } from "./profile.js";
import { createTableEditor } from "./table_editor.js";
import { createLine } from "./table_line.js";
import { createLists } from "./table_lists.js";

// Heights of a line in pixels. Where there is no room for all in one line, names stand above bars and numbers.
const WIDE_LINE = 24;
const NARROW_LINE = 37;
// Room for the digits of a number, a bar, and what lies between them, in pixels.
const ROOM = { digit: 7.7, bar: 72, between: 44 };
// As many columns are seen without scrolling; of more, half a line says that there are more.
const ALL = 15;
const SEEN = { medium: 8.5, large: 15.5 };

/** The view of tables; see `createView`. Lists of the same view have one order and scroll together. */
export function createTableView(record) {
  const columns = tableColumns(record);
  const lists = createLists(columns.length);
  return {
    kind: "table",
    picture: ({ size = "medium", what = "value" } = {}) =>
      (size === "small" ? profilePicture(columns, what) : listPicture(columns, size, what, lists)),
    editor: (row, onChange) => createTableEditor(columns, row, onChange),
    scale: () => null,
    comparison: (options) => (isComparable(columns) ? createComparison(columns, options) : null),
  };
}

/**
 * Names, bars and numbers in a list. Only the lines that are seen exist, so that thousands of columns cost no more than
 * twenty.
 */
function listPicture(columns, size, what, lists) {
  const isLong = columns.length > ALL;
  const seen = isLong ? SEEN[size] : columns.length;
  const lines = Array.from({ length: Math.min(columns.length, Math.ceil(seen) + 1) }, () => createLine(columns, what));
  const inner = element("div", { class: "table-inner", role: "list" }, lines.map((line) => line.element));
  const scrolled = element("div", { class: "table-list", tabindex: isLong ? 0 : null }, [inner]);
  // Where the list is scrolled to is kept: to ask the browser would make it lay out the page in the middle of a change.
  const list = { element: scrolled, height: WIDE_LINE, top: 0, shown: null };
  list.unusual = (column) => Math.abs(columns.standardized(column, list.shown?.[column] ?? NaN, what)) || 0;
  list.draw = () => {
    const first = Math.min(Math.max(Math.floor(list.top / list.height), 0), columns.length - lines.length);
    lines.forEach((line, number) => line.show(first + number, lists.column(first + number), list.shown, list.height));
  };
  lists.add(list);
  const label = `${what === "value" ? "Values" : "Differences"} of ${columns.length} columns`;
  const head = isLong ? orderButtons(lists, list, what) : null;
  const picture = element("div", { class: `picture table ${size}`, role: "group", "aria-label": label }, [head, scrolled]);
  fitLines(picture, columns, list, (height) => {
    scrolled.style.setProperty("height", `${seen * height}px`);
    inner.style.setProperty("height", `${columns.length * height}px`);
  });
  return { element: picture, show: (row) => { list.shown = row; list.draw(); } };
}

/** Lines of one or of two rows, by the width that a picture has. */
function fitLines(picture, columns, list, onHeight) {
  const arrange = (height) => {
    list.height = height;
    picture.classList.toggle("narrow", height === NARROW_LINE);
    onHeight(height);
    list.draw();
  };
  picture.style.setProperty("--letters", columns.letters);
  picture.style.setProperty("--unit-letters", columns.unitLetters);
  picture.style.setProperty("--name-width", `${columns.nameWidth}px`);
  arrange(WIDE_LINE);
  const digits = columns.letters + columns.unitLetters;
  const needed = columns.nameWidth + ROOM.digit * digits + ROOM.bar + ROOM.between;
  new ResizeObserver(([{ contentRect: { width } }]) => {
    const height = width > 0 && width < needed ? NARROW_LINE : WIDE_LINE;
    if (height !== list.height) arrange(height);
  }).observe(picture);
}

/** Long lists can begin with what is unusual in them now; the order stays until it is asked for again. */
function orderButtons(lists, list, what) {
  const [text, title] = what === "value"
    ? ["Unusual first", "Columns that are most standard deviations away from their mean first, in all lists"]
    : ["Largest first", "Columns whose difference is most standard deviations first, in all lists"];
  return element("div", { class: "table-order" }, [
    button({ text, title, onclick: () => lists.sort(list) }),
    button({ text: "As given", title: "The order of the data, in all lists", onclick: () => lists.restore() }),
  ]);
}
