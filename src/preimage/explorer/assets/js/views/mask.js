// The voxels of a mask, and planes through them.

// What is drawn to the right and upwards in the cut at right angles to each axis: the planes of anatomy, if x points to
// the right of a person, y to the front and z upwards.
const PLANES = [[1, 2], [0, 2], [0, 1]];
// Empty voxels that are left around the mask, so that its edges are seen.
const MARGIN = 1;

/**
 * The mask of a view.
 * - `first`, `middle()`: the first corner of the box that is drawn, and the voxel of the mask that is nearest to its centre
 * - `column(x, y, z)`: which column of a row a voxel is; −1 outside
 * - `plane(axis)`: `{across, up, width, height, columns(at), shadow}`, with columns of all voxels of the cut, from the
 *   top row, and 1 where any cut at right angles to the axis has a voxel
 * - `widest`: the axis whose cut at `middle()` has most voxels
 */
export function createMask({ shape, voxels: { values: voxels }, voxel_size: voxelSize = [1, 1, 1], directions = null }) {
  const columnOf = new Int32Array(shape[0] * shape[1] * shape[2]).fill(-1);
  voxels.forEach((voxel, column) => { columnOf[voxel] = column; });
  const places = Array.from(voxels, (voxel) => [Math.floor(voxel / (shape[1] * shape[2])), Math.floor(voxel / shape[2]) % shape[1], voxel % shape[2]]);
  const first = shape.map((_, axis) => Math.max(places.reduce((least, place) => Math.min(least, place[axis]), Infinity) - MARGIN, 0));
  const last = shape.map((side, axis) => Math.min(places.reduce((most, place) => Math.max(most, place[axis]), 0) + MARGIN, side - 1));
  const count = (axis) => last[axis] - first[axis] + 1;
  const column = (x, y, z) => columnOf[(x * shape[1] + y) * shape[2] + z];
  const plane = (axis) => {
    const [across, up] = PLANES[axis];
    const [width, height] = [count(across), count(up)];
    const columns = (at) => Int32Array.from({ length: width * height }, (_, pixel) => {
      const place = [at, at, at];
      place[across] = first[across] + (pixel % width);
      place[up] = last[up] - Math.floor(pixel / width);
      return column(...place);
    });
    const shadow = new Uint8Array(width * height);
    for (const place of places) shadow[(last[up] - place[up]) * width + place[across] - first[across]] = 1;
    return { across, up, width, height, columns, shadow };
  };
  const middle = () => nearestToCentre(places);
  const inCut = (axis) => plane(axis).columns(middle()[axis]).filter((each) => each >= 0).length;
  const length = (axis) => count(axis) * voxelSize[axis];
  const sides = ["left", "right", "bottom", "top"];
  return {
    first,
    column,
    plane,
    middle,
    length,
    widest: [2, 1, 0].reduce((best, axis) => (inCut(axis) > inCut(best) ? axis : best)),
    limited: (axis, value) => Math.min(Math.max(value, first[axis]), last[axis]),
    aspect: (axis) => length(PLANES[axis][0]) / length(PLANES[axis][1]),
    letters: (axis) => (directions === null ? [] : PLANES[axis].flatMap((other) => directions[other]).map((text, number) => ({ text, side: sides[number] }))),
  };
}

/** The voxel nearest to the mean of all: masks of two halves have nothing in their centre. */
function nearestToCentre(places) {
  const centre = [0, 1, 2].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
  const distance = (place) => place.reduce((sum, value, axis) => sum + (value - centre[axis]) ** 2, 0);
  return places.reduce((best, place) => (distance(place) < distance(best) ? place : best));
}
