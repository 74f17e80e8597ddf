// Rows from picture files, for models of images.

import { UnreadableText } from "./rows_in_text.js";

/**
 * Whether a file says of itself that it is a picture.
 * @param {File} file
 * @returns {boolean}
 */
export function isPicture(file) {
  return file.type.startsWith("image/");
}

/**
 * The row of a picture, scaled to the shape of the model's images: black is the lowest value, white the highest.
 * @param {File} file
 * @param {{kind: string, shape: number[], range: number[]}} view record of the header
 * @returns {Promise<Float64Array>}
 */
export async function rowOfPicture(file, view) {
  if (view.kind !== "image") {
    throw new UnreadableText(`“${file.name}” is a picture, and rows of this model are none. Drop a CSV file.`);
  }
  const [height, width, channels = 1] = view.shape;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high"; // the mean over the pixels that become one, not a few of them
  const bitmap = await bitmapOf(file);
  context.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  return valuesOf(context.getImageData(0, 0, width, height).data, channels, view.range);
}

async function bitmapOf(file) {
  try {
    return await createImageBitmap(file);
  } catch {
    throw new UnreadableText(`“${file.name}” is not a picture that this browser can read. PNG and JPEG work.`);
  }
}

function valuesOf(bytes, channels, [low, high]) {
  const row = new Float64Array((bytes.length / 4) * channels);
  for (let pixel = 0; pixel < bytes.length / 4; pixel += 1) {
    const [red, green, blue] = bytes.subarray(4 * pixel, 4 * pixel + 3);
    // The weights of luminance in ITU-R BT.601, which programs for pictures use to make grey ones.
    const colours = channels === 3 ? [red, green, blue] : [0.299 * red + 0.587 * green + 0.114 * blue];
    colours.forEach((value, channel) => { row[pixel * channels + channel] = low + ((high - low) * value) / 255; });
  }
  return row;
}
