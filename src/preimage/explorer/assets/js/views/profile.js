// A table as a small picture: one thin bar per column, in standard deviations above or below the mean.

import { svg } from "../dom.js";

const WIDTH = 112;
const HEIGHT = 72;
// Deviations beyond this many standard deviations are cut.
const MOST = 3;
// Bars have at least this width; of columns that share a bar the most unusual one is drawn.
const NARROWEST_BAR = 1.5;

/** The small picture of a table: `{element, show(row)}`. */
export function profilePicture(columns, what) {
  const above = svg("path", { class: "above" });
  const below = svg("path", { class: "below" });
  const title = svg("title");
  const middle = svg("path", { class: "axis", d: `M0 ${HEIGHT / 2}H${WIDTH}` });
  const label = `${what === "value" ? "Values" : "Differences"} of ${columns.length} columns, in standard deviations`;
  const options = { class: "picture profile small", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label };
  const drawing = svg("svg", options, [title, above, below, middle]);
  const count = Math.min(columns.length, Math.floor(WIDTH / NARROWEST_BAR));
  let shown = null;
  const show = (row) => {
    shown = row;
    const heights = row === null ? [] : barHeights(columns, row, what, count);
    above.setAttribute("d", bars(heights, (height) => height > 0));
    below.setAttribute("d", bars(heights, (height) => height < 0));
  };
  drawing.addEventListener("pointermove", (event) => {
    const bounds = drawing.getBoundingClientRect();
    const part = Math.min(Math.max((event.clientX - bounds.left) / bounds.width, 0), 1 - 1e-9);
    const column = Math.floor(part * columns.length);
    const value = () => `${columns.name(column)}: ${columns.text(column, shown[column], what)} ${columns.unit(column)}`;
    title.textContent = shown === null ? "" : value();
  });
  return { element: drawing, show };
}

/** The most unusual column of each bar, in standard deviations; 0 for gaps. */
function barHeights(columns, row, what, count) {
  const heights = new Float64Array(count);
  for (let column = 0; column < columns.length; column++) {
    const height = columns.standardized(column, row[column], what);
    const bar = Math.floor((column * count) / columns.length);
    if (Math.abs(height) > Math.abs(heights[bar])) heights[bar] = height;
  }
  return heights;
}

function bars(heights, isDrawn) {
  const step = WIDTH / heights.length;
  const gap = step > 4 ? 1 : 0;
  const unit = (HEIGHT / 2 - 1) / MOST;
  return Array.from(heights, (height, bar) => {
    if (!isDrawn(height)) return "";
    const up = (-Math.min(Math.max(height, -MOST), MOST) * unit).toFixed(1);
    return `M${(bar * step + gap / 2).toFixed(2)} ${HEIGHT / 2}v${up}h${(step - gap).toFixed(2)}V${HEIGHT / 2}z`;
  }).join("");
}
