// Rows as images, grey or in colour.

import { formatted } from "../dom.js";
import { imageCanvas } from "./image_canvas.js";
import { createImageEditor } from "./image_editor.js";
import { colourBar, levels, pixelAt } from "./pixels.js";
import { createThemedPictures } from "./redrawing.js";

/** The view of images; see `createView`. */
export function createImageView(record) {
  const scales = levels(record.range, "grey");
  const pictures = createThemedPictures();
  const isGrey = record.shape.length === 2;
  return {
    kind: "image",
    picture: ({ size = "medium", what = "value" } = {}) => createPicture(record.shape, scales[what], size, what, pictures),
    editor: (row, onChange) => createImageEditor(record.shape, scales.value, row, onChange),
    scale: ({ what = "value" } = {}) => (isGrey ? colourBar(scales[what], `${what} of a pixel`, pictures) : null),
  };
}

function createPicture(shape, scale, size, what, pictures) {
  const label = `${what === "value" ? "Image" : "Difference"} of ${shape[0]} × ${shape[1]} pixels`;
  const { canvas, show } = imageCanvas(shape, scale, size, { role: "img", "aria-label": label });
  let shown = null;
  canvas.addEventListener("pointermove", (event) => {
    canvas.title = shown === null ? "" : described(shape, shown, ...pixelAt(canvas, event));
  });
  pictures.add(canvas, () => show(shown));
  return { element: canvas, show: (row) => { shown = row; show(row); } };
}

/** What stands at a pixel, in words. */
function described([, width, channels = 1], row, across, down) {
  const first = channels * (down * width + across);
  const values = Array.from({ length: channels }, (_, channel) => row[first + channel]);
  const text = values.some(Number.isNaN) ? "gap" : values.map((value) => formatted(value)).join(", ");
  return `row ${down + 1}, column ${across + 1}: ${text}`;
}
