// Rows as volumes: three cuts through the voxels of a mask that meet at one place.

import { element, formatted, svg } from "../dom.js";
import { createMask } from "./mask.js";
import { colourBar, colouring, levels, pixelAt, pixelCanvas } from "./pixels.js";
import { createThemedPictures } from "./redrawing.js";

const AXES = ["x", "y", "z"];
const KEYS = "A click or the arrows move the place where the cuts meet.";
// A grey that is nearly transparent, on light and on dark pages.
const SHADOW = 0x30808080;
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** The view of volumes; see `createView`. All pictures are cut at the same place. */
export function createVolumeView(record) {
  const mask = createMask(record);
  const pictures = createThemedPictures();
  const place = createPlace(mask.middle, pictures.redraw);
  const scales = levels(record.range, record.signed ? "diverging" : "sequential");
  const picture = ({ size = "medium", what = "value" } = {}) => {
    const made = createPicture(mask, place, scales[what], size, what);
    pictures.add(made.element, made.draw);
    return { element: made.element, show: made.show };
  };
  const scale = ({ what = "value" } = {}) => colourBar(scales[what], `${what} of a voxel`, pictures);
  return { kind: "volume", picture, editor: () => null, scale };
}

/** Where the cuts meet, for all pictures. */
function createPlace(start, moved) {
  const at = [...start];
  const move = (changes) => {
    for (const [axis, value] of changes) at[axis] = value;
    moved();
  };
  return { at, move };
}

function createPicture(mask, place, scale, size, what) {
  const cuts = (size === "small" ? [mask.widest] : mask.areas).map((axis) => createCut(mask, place, scale, axis, size));
  const position = size === "large" ? element("p", { class: "cut-position" }) : null;
  const label = `${what === "value" ? "Volume" : "Difference"} in ${["one cut", "two cuts", "three cuts"][cuts.length - 1]}`;
  const options = { class: `picture volume ${size}`, role: "group", "aria-label": label };
  const picture = element("div", options, [...cuts.map((cut) => cut.element), position]);
  let shown = null;
  const draw = () => {
    for (const cut of cuts) cut.draw(shown);
    if (position) position.textContent = describedPlace(mask, place.at, shown);
  };
  draw();
  return { element: picture, draw, show: (row) => { shown = row; draw(); } };
}

function describedPlace(mask, at, row) {
  const voxel = mask.column(...at);
  const place = AXES.map((axis, number) => `${axis} = ${at[number]}`).join(", ");
  if (row === null) return place;
  return `${place}: ${voxel < 0 ? "outside the mask" : Number.isNaN(row[voxel]) ? "gap" : formatted(row[voxel])}`;
}

/** One cut, at right angles to `axis`: `{element, draw(row)}`. Small ones are only looked at. */
function createCut(mask, place, scale, axis, size) {
  const { across, up, width, height, columns, shadow } = mask.planes[axis];
  const isSmall = size === "small";
  const screen = pixelCanvas(width, height, { class: "cut-canvas" });
  const [upright, level] = [svg("path"), svg("path")];
  const stretched = { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" };
  const lines = svg("svg", { class: "cut-lines", "aria-hidden": "true", ...stretched }, [upright, level]);
  const letters = isSmall ? [] : mask.letters(axis).map(({ text, side }) => element("span", { class: `direction ${side}`, text }));
  const options = isSmall ? { role: "img" } : { role: "application", tabindex: 0 };
  const box = element("div", { class: "cut", ...options }, [screen.canvas, lines, ...letters]);
  box.style.setProperty("--aspect", mask.aspect(axis));
  box.style.setProperty("--grow", mask.length(across));
  let drawn = "";
  const follow = () => {
    if (drawn === String(place.at)) return;
    drawn = String(place.at);
    const at = place.at.map((value, number) => value - mask.first[number]);
    upright.setAttribute("d", `M${at[across] + 0.5} 0V${height}`);
    level.setAttribute("d", `M0 ${height - at[up] - 0.5}H${width}`);
    box.setAttribute("aria-label", `Cut at ${AXES[axis]} = ${place.at[axis]}. ${isSmall ? "" : KEYS}`.trim());
  };
  const draw = (row) => { follow(); paint(screen, columns(place.at[axis]), shadow, row, scale, width); };
  const move = (from, right, high) => place.move([
    [across, mask.limited(across, from[across] + right)],
    [up, mask.limited(up, from[up] + high)],
  ]);
  if (!isSmall) listen(box, screen.canvas, (...to) => move(mask.first, ...to), (...by) => move(place.at, ...by));
  return { element: box, draw };
}

/** A press or a drag moves to a pixel; arrows move by one. */
function listen(box, canvas, moveTo, moveBy) {
  const follow = (event) => {
    const [across, down] = pixelAt(canvas, event);
    moveTo(across, canvas.height - 1 - down);
  };
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    box.setPointerCapture(event.pointerId);
    follow(event);
  });
  box.addEventListener("pointermove", (event) => { if (box.hasPointerCapture(event.pointerId)) follow(event); });
  box.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    moveBy(...move);
  });
}

/** Voxels of a cut; other voxels of the mask, in front or behind, are a shadow. */
function paint(screen, columns, shadow, row, scale, width) {
  const colour = colouring(scale);
  for (let pixel = 0; pixel < columns.length; pixel++) {
    const column = columns[pixel];
    const isSeen = column >= 0 && row !== null;
    screen.pixels[pixel] = isSeen ? colour(row[column], pixel % width, Math.floor(pixel / width)) : SHADOW * shadow[pixel];
  }
  screen.draw();
}
