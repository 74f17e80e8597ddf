// Colours of pixels, and canvases that hold them.

import { diverging, grey, isDark, sequential } from "../colours.js";
import { element, formatted } from "../dom.js";

const LEVELS = 256;
// Gaps are a checkerboard in two blues, which no grey or coloured value looks like.
const GAPS = [[92, 122, 160], [122, 150, 186]];

/** Colours of a scale as 32 bits, in the order of bytes in which a canvas keeps them. */
function packed(colours) {
  const bytes = new Uint8ClampedArray(4 * colours.length);
  colours.forEach((colour, number) => bytes.set([...colour, 255], 4 * number));
  return new Uint32Array(bytes.buffer);
}

function scaleOf(colour, from, to) {
  const place = (level) => from + ((to - from) * level) / (LEVELS - 1);
  return packed(Array.from({ length: LEVELS }, (_, level) => colour(place(level))));
}

const GAP_COLOURS = packed(GAPS);

/**
 * What numbers look like: `{low, high, colours}`; a difference has the opposite ends, half the range of values away.
 * Colours around zero follow the theme of the page.
 * @param {[number, number]} range
 * @param {"grey"|"sequential"|"diverging"} values  the scale of values
 * @returns {{value: Object, difference: Object}}
 */
export function levels([low, high], values) {
  const half = (high - low) / 2;
  const themes = [false, true].map((dark) => scaleOf((t) => diverging(t, dark), -1, 1));
  const aroundZero = (from, to) => ({ low: from, high: to, get colours() { return themes[Number(isDark())]; } });
  const difference = aroundZero(-half, half);
  if (values === "diverging") return { value: aroundZero(low, high), difference };
  return { value: { low, high, colours: scaleOf(values === "grey" ? grey : sequential, 0, 1) }, difference };
}

/** A function that gives the level of a value, 0 to 255; values outside the scale have the levels of its ends. */
export function levelling({ low, high }) {
  const factor = (LEVELS - 1) / (high - low);
  return (value) => {
    const level = Math.round((value - low) * factor);
    return level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level;
  };
}

/** A function that gives the colour of a value as 32 bits; gaps depend on where they are. */
export function colouring(scale) {
  const { colours } = scale;
  const levelOf = levelling(scale);
  return (value, across, down) => (Number.isNaN(value) ? GAP_COLOURS[(across + down) % 2] : colours[levelOf(value)]);
}

/**
 * A canvas of so many pixels: `{canvas, pixels, bytes, draw(), clear()}`; `pixels` are 32 bits each, row by row, and
 * `bytes` the same as red, green, blue and opacity.
 */
export function pixelCanvas(width, height, options) {
  const canvas = element("canvas", { width, height, ...options });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const draw = () => context.putImageData(image, 0, 0);
  const clear = () => context.clearRect(0, 0, width, height);
  return { canvas, bytes: image.data, pixels: new Uint32Array(image.data.buffer), draw, clear };
}

/** Where the pointer is on a canvas, [across, down] in pixels, also for canvases that are drawn larger or smaller. */
export function placeOn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [((event.clientX - box.left) / box.width) * canvas.width, ((event.clientY - box.top) / box.height) * canvas.height];
}

/** The pixel under the pointer, [across, down]; the nearest one where the pointer is outside. */
export function pixelAt(canvas, event) {
  const [across, down] = placeOn(canvas, event);
  const limited = (place, count) => Math.min(Math.max(Math.floor(place), 0), count - 1);
  return [limited(across, canvas.width), limited(down, canvas.height)];
}

/** A bar of the colours of a scale with the numbers of its ends, one of `pictures`. */
export function colourBar(scale, label, pictures) {
  const bar = pixelCanvas(LEVELS, 1, { class: "colour-bar", "aria-hidden": "true" });
  const draw = () => { bar.pixels.set(scale.colours); bar.draw(); };
  draw();
  pictures.add(bar.canvas, draw);
  const end = (value) => element("span", { text: formatted(value) });
  return element("div", { class: "colour-scale", title: label }, [end(scale.low), bar.canvas, end(scale.high)]);
}
