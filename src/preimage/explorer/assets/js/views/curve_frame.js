// The frame of a curve: axes with round numbers, labels, and the range of the data behind the line.

import { svg } from "../dom.js";
import { bandPath, curveScales, linePath } from "./curve_path.js";
import { ticks } from "./ticks.js";

// Sizes in pixels; widths are those of the style sheet, for pictures that are not on the page yet. Small ones have no axes.
const SIZES = {
  small: { width: 118, height: 70, left: 3, right: 3, top: 4, bottom: 4 },
  medium: { width: 280, height: 168, left: 42, right: 12, top: 22, bottom: 36 },
  large: { width: 460, height: 260, left: 46, right: 14, top: 24, bottom: 38 },
};
// Least distances of ticks, in pixels: across, more where their numbers are long.
const TICK_WIDTH = 40;
const TICK_HEIGHT = 32;
// A margin above and below all values, relative to their range: lines at the ends are not cut.
const MARGIN = 0.04;
// Room for a letter of a label, in pixels; longer labels are cut and can be read by pointing at them.
const LETTER_WIDTH = 6;

/**
 * A drawing with axes that is as wide as the page lets it be, with numbers of one size: `{element, layer, range, box,
 * scales}`. What is put into `layer` is cut at the edges of the plot. `draw()` is called when `box` and `scales` have
 * changed, and must be called once at first by whoever made the frame.
 * @param {Object} record  the view
 * @param {"small"|"medium"|"large"} size
 * @param {"value"|"difference"} what
 * @param {Function} draw
 */
export function createFrame(record, size, what, draw) {
  const range = paddedRange(record, what);
  const axesLayer = svg("g");
  const band = svg("path", { class: "band" });
  const middle = svg("path", { class: what === "difference" ? "zero" : "mean" });
  const layer = svg("svg", {}, [band, middle]);
  const drawing = svg("svg", { class: `picture curve ${size}`, role: "img" }, [axesLayer, layer]);
  const frame = { element: drawing, layer, range };
  const arrange = (width) => {
    const { height, left, right, top, bottom } = SIZES[size];
    const box = { left, top, right: Math.max(width - right, left + 1), bottom: height - bottom };
    const scales = curveScales(record.axis.values, range, box);
    Object.assign(frame, { box, scales, width });
    const inner = { x: left, y: top, width: box.right - left, height: box.bottom - top };
    setAll(drawing, { viewBox: `0 0 ${width} ${height}` });
    setAll(layer, { ...inner, viewBox: Object.values(inner).join(" ") });
    axesLayer.replaceChildren(...(size === "small" ? [baseline(box)] : axes(record, box, scales, range, what)));
    setAll(band, { d: what === "difference" ? "" : bandPath(record.low.values, record.high.values, scales, box) });
    setAll(middle, { d: what === "difference" ? `M${left} ${scales.y(0)}H${box.right}` : linePath(record.mean.values, scales, box) });
  };
  arrange(SIZES[size].width);
  const observer = new ResizeObserver(([{ contentRect: { width } }]) => {
    if (width < 1 || Math.abs(width - frame.width) < 1) return;
    arrange(width);
    draw();
  });
  observer.observe(drawing);
  return frame;
}

function setAll(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

/**
 * Lowest and highest value of the plot. Differences are symmetric around zero, up to half of what the most variable
 * column varies: spectra that differ little from each other have small differences.
 */
function paddedRange({ range: [low, high], low: lowest, high: highest }, what) {
  const varies = highest.values.reduce((most, value, column) => Math.max(most, value - lowest.values[column]), 0);
  const [from, to] = what === "value" ? [low, high] : [-(varies || high - low) / 2, (varies || high - low) / 2];
  const margin = MARGIN * (to - from);
  return [from - margin, to + margin];
}

const baseline = (box) => svg("path", { class: "axis", d: `M${box.left} ${box.bottom}H${box.right}` });

function axes(record, box, scales, range, what) {
  const axis = record.axis.values;
  const last = axis.length - 1;
  const below = last > 0 ? ticksAcross(axis[0], axis[last], box.right - box.left) : { values: [axis[0]], format: String };
  const upright = ticks(...range, Math.max(Math.floor((box.bottom - box.top) / TICK_HEIGHT), 1));
  const letters = Math.floor((box.right - 2) / LETTER_WIDTH);
  return [
    ...upright.values.flatMap((value) => [
      svg("path", { class: "grid", d: `M${box.left} ${scales.y(value)}H${box.right}` }),
      svg("text", { class: "tick", x: box.left - 5, y: scales.y(value) + 3.5, "text-anchor": "end", text: upright.format(value) }),
    ]),
    ...below.values.flatMap((value) => [
      svg("path", { class: "axis", d: `M${scales.atAxis(value)} ${box.bottom}v4` }),
      svg("text", { class: "tick", x: scales.atAxis(value), y: box.bottom + 15, "text-anchor": "middle", text: below.format(value) }),
    ]),
    baseline(box),
    label(what === "difference" ? `difference of ${record.value_label}` : record.value_label, letters, { x: 2, y: 11 }),
    label(record.axis_label, letters, { x: box.right, y: box.bottom + 30, "text-anchor": "end" }),
  ];
}

/** As many ticks as fit next to each other with their numbers. */
function ticksAcross(from, to, width) {
  const fits = ({ values, format }) => {
    const letters = Math.max(...values.map((value) => format(value).length + 1));
    return values.length < 2 || (width * (values[1] - values[0])) / Math.abs(to - from) >= LETTER_WIDTH * letters;
  };
  let count = Math.max(Math.floor(width / TICK_WIDTH), 1);
  while (count > 1 && !fits(ticks(from, to, count))) count -= 1;
  return ticks(from, to, count);
}

function label(text, longest, place) {
  const short = [...text].length > longest ? `${[...text].slice(0, longest - 1).join("")}…` : text;
  const drawn = svg("text", { class: "label", ...place, text: short });
  if (short !== text) drawn.append(svg("title", { text }));
  return drawn;
}
