// A round brush on the pixels of a row.

/**
 * Draw a stroke into a row: pixels within `radius` of the line from one place to another move to `value`, those at its
 * edge partly, so that lines are smooth. Gaps have no partial pixels.
 * @param {Float64Array} row  changed in place
 * @param {number[]} shape  height, width, and 3 for colours
 * @param {[number, number]} from  across and down, in pixels; the first pixel lies around (0.5, 0.5)
 * @param {[number, number]} to
 * @param {number} radius
 * @param {number[]} value  one number for each channel; NaN cuts out
 */
export function stroke(row, [height, width, channels = 1], from, to, radius, value) {
  const reach = radius + 1;
  const [left, right] = bounds(from[0], to[0], reach, width);
  const [top, bottom] = bounds(from[1], to[1], reach, height);
  for (let down = top; down <= bottom; down++) {
    for (let across = left; across <= right; across++) {
      const cover = Math.min(Math.max(radius + 0.5 - distance(across + 0.5, down + 0.5, from, to), 0), 1);
      for (let channel = 0; channel < channels; channel++) {
        const entry = channels * (down * width + across) + channel;
        row[entry] = covered(row[entry], value[channel], cover);
      }
    }
  }
}

/** A pixel that paint covers in part. */
function covered(before, paint, cover) {
  if (Number.isNaN(paint) || Number.isNaN(before)) return cover >= 0.5 ? paint : before;
  return cover === 0 ? before : before + cover * (paint - before);
}

function bounds(one, other, reach, count) {
  const limit = (pixel) => Math.min(Math.max(pixel, 0), count - 1);
  return [limit(Math.floor(Math.min(one, other) - reach)), limit(Math.ceil(Math.max(one, other) + reach))];
}

/** How far a place is from the line between two others. */
function distance(across, down, from, to) {
  const [u, v] = [to[0] - from[0], to[1] - from[1]];
  const length = u * u + v * v;
  const part = length > 0 ? Math.min(Math.max(((across - from[0]) * u + (down - from[1]) * v) / length, 0), 1) : 0;
  return Math.hypot(across - from[0] - part * u, down - from[1] - part * v);
}
