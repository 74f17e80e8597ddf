// Lines and bands as paths of a drawing.

/**
 * Where the columns of a curve are drawn: `{x, y}` map columns and values to the drawing; `box` is the plot area.
 * @param {ArrayLike<number>} axis  one number for each column, rising or falling; the first column is at the left
 * @param {[number, number]} range  values at the bottom and at the top
 * @param {{left: number, top: number, right: number, bottom: number}} box
 */
export function curveScales(axis, [low, high], box) {
  const last = axis.length - 1;
  const across = last > 0 ? (box.right - box.left) / (axis[last] - axis[0]) : 0;
  const up = (box.bottom - box.top) / (high - low);
  const start = last > 0 ? box.left : (box.left + box.right) / 2;
  const atAxis = (place) => start + (place - axis[0]) * across;
  // Values far outside the plot are drawn just outside it: drawings have a limited range of coordinates.
  const limited = (value) => Math.min(Math.max(value, 2 * low - high), 2 * high - low);
  return { atAxis, x: (column) => atAxis(axis[column]), y: (value) => box.bottom - (limited(value) - low) * up };
}

/**
 * The line through the values of a row; gaps break it, and a value between two gaps is a short stroke. Where columns
 * are closer than half a unit of the drawing, the lowest and highest of each unit are joined: the line looks the same
 * and is short.
 */
export function linePath(row, scales, box) {
  const columns = dense(row, scales, box) ? extremes(row, scales, box) : row.keys();
  const parts = [];
  let isOpen = false;
  for (const column of columns) {
    if (Number.isNaN(row[column])) {
      isOpen = false;
      continue;
    }
    parts.push(`${isOpen ? "L" : "M"}${scales.x(column).toFixed(1)} ${scales.y(row[column]).toFixed(1)}`);
    // A path of a single place is drawn by round ends of lines, if it has a length.
    if (!isOpen && Number.isNaN(row[column + 1] ?? NaN)) parts.push("h0.1");
    isOpen = true;
  }
  return parts.join("");
}

/** The area between two curves. */
export function bandPath(low, high, scales, box) {
  const upper = linePath(high, scales, box);
  const lower = linePath(Float64Array.from(low).reverse(), { ...scales, x: (column) => scales.x(low.length - 1 - column) }, box);
  return `${upper}L${lower.slice(1)}Z`;
}

/** The column nearest to a place across. */
export function nearestColumn(axis, scales, place) {
  let [first, last] = [0, axis.length - 1];
  while (last - first > 1) {
    const middle = (first + last) >> 1;
    if (scales.x(middle) > place) last = middle;
    else first = middle;
  }
  return Math.abs(scales.x(first) - place) <= Math.abs(scales.x(last) - place) ? first : last;
}

const dense = (row, scales, box) => row.length > 4 * (box.right - box.left);

/** Columns of the lowest and the highest value within each unit of the drawing, in order; gaps are kept. */
function extremes(row, scales) {
  const columns = [];
  let first = 0;
  while (first < row.length) {
    const unit = Math.floor(scales.x(first));
    let [low, high, gap] = [first, first, -1];
    let column = first;
    for (; column < row.length && Math.floor(scales.x(column)) === unit; column++) {
      if (Number.isNaN(row[column])) gap = column;
      if (row[column] < row[low] || Number.isNaN(row[low])) low = column;
      if (row[column] > row[high] || Number.isNaN(row[high])) high = column;
    }
    columns.push(...[...new Set(gap < 0 ? [low, high] : [low, high, gap])].sort((one, other) => one - other));
    first = column;
  }
  return columns;
}
