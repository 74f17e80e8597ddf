// A row on a canvas, as an image.

import { colouring, levelOf, packedColour, pixelCanvas } from "./pixels.js";

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
    paint(shape, scale, screen.pixels, row);
    screen.draw();
  };
  return { canvas: screen.canvas, show };
}

function paint([height, width, channels = 1], scale, pixels, row) {
  const colour = colouring(scale);
  for (let down = 0, pixel = 0; down < height; down++) {
    for (let across = 0; across < width; across++, pixel++) {
      const value = channels === 1 ? row[pixel] : row[3 * pixel] + row[3 * pixel + 1] + row[3 * pixel + 2];
      pixels[pixel] = channels === 1 || Number.isNaN(value) ? colour(value, across, down) : mixed(scale, row, 3 * pixel);
    }
  }
}

/** The colour of three values in a row. */
function mixed(scale, row, first) {
  return packedColour(levelOf(scale, row[first]), levelOf(scale, row[first + 1]), levelOf(scale, row[first + 2]));
}
