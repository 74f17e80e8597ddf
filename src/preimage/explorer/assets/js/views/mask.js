// The voxels of a mask, and planes through them.

// What is drawn to the right and upwards in the cut at right angles to each axis: the planes of anatomy, if x points to
// the right of a person, y to the front and z upwards.
const PLANES = [[1, 2], [0, 2], [0, 1]];
const SIDES = ["left", "right", "bottom", "top"];
// Empty voxels that are left around the mask, so that its edges are seen.
const MARGIN = 1;

/**
 * The mask of a view.
 * - `first`, `middle`: the first corner of the box that is drawn, and the voxel of the mask that is nearest to its centre
 * - `column(x, y, z)`: which column of a row a voxel is; −1 outside
 * - `planes`, by axis: `{across, up, width, height, columns(at), shadow}`, with columns of all voxels of the cut, from the
 *   top row, and 1 where any cut at right angles to the axis has a voxel
 * - `widest`: the axis whose cut at `middle` has most voxels; `areas`: axes whose cuts are more than a line of voxels
 */
export function createMask({ shape, voxels: { values: voxels }, voxel_size: sizes = [1, 1, 1], directions = null }) {
  const columnOf = new Int32Array(shape[0] * shape[1] * shape[2]).fill(-1);
  voxels.forEach((voxel, column) => { columnOf[voxel] = column; });
  const places = Array.from(voxels, (voxel) => placeOf(voxel, shape));
  const extreme = (axis, better) => places.reduce((best, place) => better(best, place[axis]), places[0][axis]);
  const first = shape.map((_, axis) => Math.max(extreme(axis, Math.min) - MARGIN, 0));
  const last = shape.map((side, axis) => Math.min(extreme(axis, Math.max) + MARGIN, side - 1));
  const count = (axis) => last[axis] - first[axis] + 1;
  const column = (x, y, z) => columnOf[(x * shape[1] + y) * shape[2] + z];
  const plane = (axis) => {
    const [across, up] = PLANES[axis];
    const [width, height] = [count(across), count(up)];
    const columns = remembered((at) => Int32Array.from({ length: width * height }, (_, pixel) => {
      const place = [at, at, at];
      place[across] = first[across] + (pixel % width);
      place[up] = last[up] - Math.floor(pixel / width);
      return column(...place);
    }));
    const shadow = new Uint8Array(width * height);
    for (const place of places) shadow[(last[up] - place[up]) * width + place[across] - first[across]] = 1;
    return { across, up, width, height, columns, shadow };
  };
  const planes = [0, 1, 2].map(plane);
  const middle = nearestToCentre(places);
  const inCut = (axis) => planes[axis].columns(middle[axis]).filter((each) => each >= 0).length;
  const widest = [2, 1, 0].reduce((best, axis) => (inCut(axis) > inCut(best) ? axis : best));
  const areas = [0, 1, 2].filter((axis) => planes[axis].width > 1 && planes[axis].height > 1);
  const length = (axis) => count(axis) * sizes[axis];
  const letters = (axis) => (directions === null ? [] : PLANES[axis].flatMap((other) => directions[other]))
    .map((text, number) => ({ text, side: SIDES[number] }));
  return {
    first,
    column,
    planes,
    middle,
    length,
    widest,
    areas: areas.length > 0 ? areas : [widest],
    limited: (axis, value) => Math.min(Math.max(value, first[axis]), last[axis]),
    aspect: (axis) => length(PLANES[axis][0]) / length(PLANES[axis][1]),
    letters,
  };
}

/** Coordinates of a voxel by its number in C order. */
function placeOf(voxel, [, depth, height]) {
  return [Math.floor(voxel / (depth * height)), Math.floor(voxel / height) % depth, voxel % height];
}

/** A function that keeps its last answer: many pictures are cut at the same place. */
function remembered(answer) {
  let last = { question: null, answer: null };
  return (question) => {
    if (last.question !== question) last = { question, answer: answer(question) };
    return last.answer;
  };
}

/** The voxel nearest to the mean of all: masks of two halves have nothing in their centre. */
function nearestToCentre(places) {
  const [x, y, z] = [0, 1, 2].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
  const distances = Float64Array.from(places, (place) => (place[0] - x) ** 2 + (place[1] - y) ** 2 + (place[2] - z) ** 2);
  return places[distances.reduce((best, distance, number) => (distance < distances[best] ? number : best), 0)];
}
