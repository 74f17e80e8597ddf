// The pre-image next to the pointer, for windows in which the inspector is below the map, and for whoever wants it.

import { element, oncePerFrame } from "../dom.js";

/** Windows narrower than this have the inspector below the map; the style sheet says the same. */
const SIDE_BY_SIDE = 640;
// Pixels between the pointer and the picture: a fingertip must not cover it.
const GAP = 18;

/** Whether a page begins with the picture at the pointer. */
export function beginsWithLens() {
  return window.innerWidth < SIDE_BY_SIDE;
}

/**
 * A small picture above the pointer, on the stage of the map. The inspector says the same in words to screen readers.
 * @param {object} app whose store has `lens`, `pointer` and `answer`
 * @param {Viewport} viewport of the stage
 * @returns {{element: HTMLElement, update: () => void}} `update` follows a map that was moved
 */
export function createLens(app, viewport) {
  const { store } = app;
  const picture = app.view.picture({ size: "small", what: "value" });
  const node = element("div", { class: "map-lens", "aria-hidden": "true", hidden: true }, [picture.element]);
  const show = () => {
    const [pointer, answer] = [store.get("pointer"), store.get("answer")];
    const place = pointer ? [viewport.x(pointer.across), viewport.y(pointer.up)] : null;
    node.hidden = !store.get("lens") || !answer || !place || !viewport.contains(...place);
    if (node.hidden) return;
    picture.show(answer.row);
    move(node, viewport.frame, place);
  };
  const update = oncePerFrame(show);
  store.on(["lens", "answer", "pointer"], update);
  return { element: node, update };
}

/** Above the place where there is room, else below it, and within the plane. */
function move(node, { x: left, y: top, width }, [x, y]) {
  const [w, h] = [node.offsetWidth, node.offsetHeight];
  const across = Math.min(left + width - w, Math.max(left, x - w / 2));
  const down = y - GAP - h >= top ? y - GAP - h : y + GAP;
  node.style.setProperty("transform", `translate(${across}px, ${down}px)`);
}
