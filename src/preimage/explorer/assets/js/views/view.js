// One view for all pictures of a page, by the kind of its data. Pictures of one view share their scales, so that equal
// values look equal wherever they are, and share where they are cut or scrolled to.

import { createCurveView } from "./curve.js";
import { createImageView } from "./image.js";
import { createTableView } from "./table.js";
import { createVolumeView } from "./volume.js";

const VIEWS = { image: createImageView, curve: createCurveView, table: createTableView, volume: createVolumeView };

/**
 * The view that a record of the header describes.
 *
 * - `picture({size, what}) → {element, show(row)}` draws rows in the user's units; `size` is "small", "medium" or
 *   "large", `what` is "value" or "difference". NaN entries are drawn as gaps; `show(null)` empties the picture.
 * - `editor(row, onChange) → {element, show(row)}` lets people change a row, or null where that makes no sense;
 *   `onChange` gets a new Float64Array, with NaN where something was cut out.
 * - `scale({what}) → element` explains the colours of pictures, or null where pictures have axes with numbers.
 * - `comparison({hasGaps}) → {element, figure(key)}` of tables shows several rows at once; null, or absent, where there is none.
 *
 * @param {Object} record
 */
export function createView(record) {
  return VIEWS[record.kind](record);
}
