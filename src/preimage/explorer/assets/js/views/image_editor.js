// Drawing on an image with the pointer or the keyboard.

import { button, slider } from "../controls.js";
import { element, oncePerFrame } from "../dom.js";
import { stroke } from "./brush.js";
import { imageCanvas } from "./image_canvas.js";
import { pixelAt, placeOn } from "./pixels.js";

const KEYS = "Drag to draw. With the keyboard: arrows move the frame, the space bar draws there.";
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
// The radius of the brush at first, relative to the longer side: lines as thick as those of digits in small images.
const FIRST_RADIUS = 0.05;
const LARGEST_RADIUS = 0.25;

/**
 * An image that can be drawn on: `{element, show(row)}`.
 * @param {number[]} shape  height, width, and 3 for colours
 * @param {{low: number, high: number, colours: Uint32Array}} scale
 * @param {ArrayLike<number>|null} row  what to begin with; null is an empty image
 * @param {Function} onChange  gets a copy of the row, at most once per frame
 */
export function createImageEditor(shape, scale, row, onChange) {
  const options = { tabindex: 0, role: "application", "aria-label": `Image to draw on. ${KEYS}` };
  const screen = imageCanvas(shape, scale, "large", options);
  const frame = element("div", { class: "pixel-frame", "aria-hidden": "true" });
  const values = new Float64Array(shape.reduce((product, side) => product * side, 1));
  const changed = oncePerFrame(() => { screen.show(values); onChange(values.slice()); });
  const brush = createBrush(shape, scale);
  const empty = () => { values.fill(scale.low); changed(); };
  const clear = button({ text: "Clear", title: "An image of the darkest value", onclick: empty });

  const draw = (from, to) => { stroke(values, shape, from, to, brush.radius(), brush.value()); changed(); };
  listenToPointer(screen.canvas, draw);
  listenToKeys(screen.canvas, shape, frame, draw);

  const show = (given) => {
    if (given === null) values.fill(scale.low);
    else values.set(given);
    screen.show(values);
  };
  show(row);
  const stage = element("div", { class: "stage" }, [screen.canvas, frame]);
  const hint = element("p", { class: "hint", text: KEYS });
  const tools = element("div", { class: "editor-tools" }, [brush.element, clear, hint]);
  return { element: element("div", { class: "editor" }, [stage, tools]), show };
}

/** Tools to choose from: what is drawn (a list of one value per channel), and how thick. */
function createBrush([height, width, channels = 1], scale) {
  const side = Math.max(height, width);
  let radius = Math.max(0.5, FIRST_RADIUS * side);
  const thickness = slider({
    label: "Thickness", min: 1, max: Math.max(2, Math.round(2 * LARGEST_RADIUS * side)), value: Math.round(2 * radius),
    format: (pixels) => `${pixels} px`, onchange: (pixels) => { radius = pixels / 2; },
  });
  const paint = channels === 1 ? null : element("input", { type: "color", value: "#ffffff", "aria-label": "Colour to draw with" });
  const tools = toolsOf(channels, scale, paint);
  let chosen = 0;
  const choose = (number) => {
    chosen = number;
    buttons.forEach((each, other) => each.setAttribute("aria-pressed", String(other === number)));
  };
  const buttons = tools.map(({ text, title }, number) =>
    button({ text, title, pressed: number === 0, onclick: () => choose(number) }));
  const row = element("div", { class: "tool-row", role: "group", "aria-label": "Draw with" }, [...buttons, paint]);
  return { element: element("div", {}, [row, thickness.element]), radius: () => radius, value: () => tools[chosen].value() };
}

/** What can be drawn: `{text, title, value()}`, with one value for each channel; `paint` chooses colours. */
function toolsOf(channels, { low, high }, paint) {
  const constant = (value) => () => Array(channels).fill(value);
  const levelOf = (start) => low + (parseInt(paint.value.slice(start, start + 2), 16) / 255) * (high - low);
  const bright = { text: "Bright", title: "Draw in the brightest value", value: constant(high) };
  const dark = { text: "Dark", title: "Draw in the darkest value", value: constant(low) };
  const coloured = { text: "Draw", title: "Draw in the colour", value: () => [1, 3, 5].map(levelOf) };
  const gap = { text: "Gap", title: "Cut out, for the model to fill", value: constant(NaN) };
  return paint === null ? [bright, dark, gap] : [coloured, gap];
}

/** Strokes from one place of the pointer to the next, while it is down. */
function listenToPointer(canvas, draw) {
  let last = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    last = placeOn(canvas, event);
    draw(last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const next = placeOn(canvas, event);
    draw(last, next);
    last = next;
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { last = null; });
}

/** A frame around one pixel that arrows move; the space bar draws there. */
function listenToKeys(canvas, [height, width], frame, draw) {
  let [across, down] = [Math.floor(width / 2), Math.floor(height / 2)];
  const place = () => {
    const parts = { left: across / width, top: down / height, width: 1 / width, height: 1 / height };
    for (const [name, part] of Object.entries(parts)) frame.style.setProperty(name, `${100 * part}%`);
  };
  place();
  canvas.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (!move && event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    if (!move) return draw([across + 0.5, down + 0.5], [across + 0.5, down + 0.5]);
    const before = [across + 0.5, down + 0.5];
    across = Math.min(Math.max(across + move[0], 0), width - 1);
    down = Math.min(Math.max(down + move[1], 0), height - 1);
    place();
    if (event.shiftKey) draw(before, [across + 0.5, down + 0.5]);
  });
  canvas.addEventListener("pointerdown", (event) => { [across, down] = pixelAt(canvas, event); place(); });
}
