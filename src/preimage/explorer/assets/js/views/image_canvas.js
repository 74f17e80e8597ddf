// A row on a canvas, as an image.

import { colouring, levelling, pixelCanvas } from "./pixels.js";

// Larger images are smoothed by the browser where it draws them; the pixels of smaller ones are meant to be seen.
const LARGEST_WITH_PIXELS = 128;

/**
 * A canvas for images: `{canvas, clear(), show(row)}`. Its class says how large it is; tall images are as high as wide
 * ones are wide.
 * @param {number[]} shape  height, width, and 3 for colours
 * @param {{low: number, high: number, colours: Uint32Array}} scale
 */
export function imageCanvas(shape, scale, size, options) {
  const [height, width] = shape;
  const pixelated = Math.max(height, width) <= LARGEST_WITH_PIXELS ? "with-pixels" : "";
  const screen = pixelCanvas(width, height, { class: `picture image ${size} ${pixelated}`.trim(), ...options });
  screen.canvas.style.setProperty("--aspect", width / height);
  const show = (row) => {
    if (row === null) return screen.clear();
    (shape.length === 3 ? paintColours : paintGreys)(shape, scale, screen, row);
    screen.draw();
  };
  return { canvas: screen.canvas, show };
}

function paintGreys([height, width], scale, { pixels }, row) {
  const colour = colouring(scale);
  for (let down = 0, pixel = 0; down < height; down++) {
    for (let across = 0; across < width; across++, pixel++) pixels[pixel] = colour(row[pixel], across, down);
  }
}

/** Three values for each pixel; a gap where one of them is missing. */
function paintColours([height, width], scale, { pixels, bytes }, row) {
  const [gap, levelOf] = [colouring(scale), levelling(scale)];
  for (let pixel = 0; pixel < height * width; pixel++) {
    const first = 3 * pixel;
    if (Number.isNaN(row[first] + row[first + 1] + row[first + 2])) pixels[pixel] = gap(NaN, pixel % width, Math.floor(pixel / width));
    else {
      for (let channel = 0; channel < 3; channel++) bytes[4 * pixel + channel] = levelOf(row[first + channel]);
      bytes[4 * pixel + 3] = 255;
    }
  }
}
