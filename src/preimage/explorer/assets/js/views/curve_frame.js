// The frame of a curve: axes with round numbers, labels, and the range of the data behind the line.

import { svg } from "../dom.js";
import { bandPath, curveScales, linePath } from "./curve_path.js";
import { ticks } from "./ticks.js";

// Sizes in units of the drawing, which are pixels where there is room; small ones have no axes.
const SIZES = {
  small: { width: 128, height: 76, left: 3, right: 3, top: 4, bottom: 4, across: 0, up: 0 },
  medium: { width: 280, height: 168, left: 42, right: 10, top: 22, bottom: 36, across: 4, up: 4 },
  large: { width: 460, height: 260, left: 50, right: 12, top: 24, bottom: 38, across: 7, up: 6 },
};
// A margin above and below all values, relative to their range: lines at the ends are not cut.
const MARGIN = 0.04;
// Longer labels are cut and can be read by pointing at them.
const LONGEST_LABEL = 44;

/**
 * A drawing with axes: `{element, box, scales, layer}`; what is put into `layer` is cut at the edges of the plot.
 * @param {Object} record  the view
 * @param {"small"|"medium"|"large"} size
 * @param {"value"|"difference"} what
 */
export function curveFrame(record, size, what) {
  const { width, height, left, right, top, bottom, across, up } = SIZES[size];
  const box = { left, top, right: width - right, bottom: height - bottom };
  const range = paddedRange(record.range, what);
  const scales = curveScales(record.axis.values, range, box);
  const layer = svg("svg", { x: left, y: top, width: box.right - left, height: box.bottom - top, viewBox: `${left} ${top} ${box.right - left} ${box.bottom - top}` });
  const drawing = svg("svg", { class: `picture curve ${size}`, viewBox: `0 0 ${width} ${height}`, role: "img" }, [
    ...(across > 0 ? axes(record, box, scales, range, { across, up }, what) : [baseline(box)]),
    layer,
  ]);
  layer.append(...background(record, box, scales, what));
  return { element: drawing, box, scales, layer, range };
}

/** Lowest and highest value of the plot; differences are symmetric around zero, up to half the range of values. */
export function paddedRange([low, high], what) {
  const margin = MARGIN * (high - low);
  const half = (high - low) / 2;
  return what === "difference" ? [-half - margin, half + margin] : [low - margin, high + margin];
}

/** Behind values: everything between the lowest and the highest of the data, and the mean. Behind differences: zero. */
function background(record, box, scales, what) {
  if (what === "difference") return [svg("path", { class: "zero", d: `M${box.left} ${scales.y(0)}H${box.right}` })];
  return [
    svg("path", { class: "band", d: bandPath(record.low.values, record.high.values, scales, box) }),
    svg("path", { class: "mean", d: linePath(record.mean.values, scales, box) }),
  ];
}

const baseline = (box) => svg("path", { class: "axis", d: `M${box.left} ${box.bottom}H${box.right}` });

function axes(record, box, scales, range, count, what) {
  const axis = record.axis.values;
  const last = axis.length - 1;
  const below = last > 0 ? ticks(axis[0], axis[last], count.across) : { values: [axis[0]], format: String };
  const upright = ticks(...range, count.up);
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
    label(what === "difference" ? `difference of ${record.value_label}` : record.value_label, { x: 2, y: 11 }),
    label(record.axis_label, { x: box.right, y: box.bottom + 30, "text-anchor": "end" }),
  ];
}

function label(text, place) {
  const short = [...text].length > LONGEST_LABEL ? `${[...text].slice(0, LONGEST_LABEL - 1).join("")}…` : text;
  const drawn = svg("text", { class: "label", ...place, text: short });
  if (short !== text) drawn.append(svg("title", { text }));
  return drawn;
}
