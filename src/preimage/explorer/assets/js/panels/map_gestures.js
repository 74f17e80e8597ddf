// Mouse, fingers and keys on the map, as the few things they mean.

// A pointer that moves less than this many pixels while it is down clicks; more is a drag.
const STEADY = 4;
// One notch of a wheel (100 pixels of scrolling) makes the map 1.25 times larger or smaller.
const WHEEL = Math.log(1.25) / 100;
// Browsers that scroll by lines or pages say so; their units in pixels.
const WHEEL_UNITS = [1, 33, 400];

/**
 * Listen to gestures on an element. A mouse explores when it moves and drags the map when it is pressed; one finger
 * explores, two fingers drag and zoom.
 * @param {HTMLElement} surface
 * @param {{explore: Function, choose: Function, drag: Function, zoom: Function}} meanings
 *   `explore(x, y)`, `choose(x, y)`, `drag(dx, dy)`, and `zoom(factor, x, y)`, which returns whether it did anything
 */
export function listenToGestures(surface, meanings) {
  const fingers = new Map();
  let travelled = 0;
  const place = (event) => {
    const box = surface.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  surface.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    if (fingers.size === 0) travelled = 0;
    fingers.set(event.pointerId, place(event));
    surface.setPointerCapture(event.pointerId);
  });

  surface.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      meanings.explore(now.x, now.y);
      return;
    }
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    if (fingers.size === 2) pinch(fingers, event.pointerId, now, meanings);
    else if (travelled >= STEADY && event.pointerType === "mouse") meanings.drag(now.x - before.x, now.y - before.y);
    else if (event.pointerType !== "mouse") meanings.explore(now.x, now.y);
    if (event.pointerType !== "mouse" || travelled >= STEADY) fingers.set(event.pointerId, now);
  });

  const lift = (event) => {
    const was = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    if (was && event.type === "pointerup" && travelled < STEADY && fingers.size === 0) meanings.choose(was.x, was.y);
  };
  surface.addEventListener("pointerup", lift);
  surface.addEventListener("pointercancel", lift);

  surface.addEventListener("wheel", (event) => {
    const { x, y } = place(event);
    // A wheel that cannot zoom any farther scrolls the page.
    if (meanings.zoom(Math.exp(-event.deltaY * WHEEL_UNITS[event.deltaMode] * WHEEL), x, y)) event.preventDefault();
  }, { passive: false });
}

/** Two fingers: what was between them stays between them. */
function pinch(fingers, moving, now, { zoom, drag }) {
  const before = fingers.get(moving);
  const [, other] = [...fingers].find(([id]) => id !== moving);
  const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
  drag((now.x - before.x) / 2, (now.y - before.y) / 2);
  const apart = Math.hypot(before.x - other.x, before.y - other.y);
  if (apart > 0) zoom(Math.hypot(now.x - other.x, now.y - other.y) / apart, middle.x, middle.y);
}

/**
 * Keys on the map: arrows move the place that is explored (with Shift the map), Enter chooses, + and − zoom, 0 shows all.
 * @param {HTMLElement} surface
 * @param {{step: Function, drag: Function, choose: Function, zoom: Function, reset: Function, clear: Function}} meanings
 */
export function listenToKeys(surface, meanings) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const others = {
    Enter: meanings.choose, " ": meanings.choose, "+": () => meanings.zoom(1.25), "=": () => meanings.zoom(1.25),
    "-": () => meanings.zoom(0.8), 0: meanings.reset, Escape: meanings.clear,
  };
  surface.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = arrows[event.key];
    if (arrow) (event.shiftKey ? meanings.drag : meanings.step)(...arrow);
    else if (others[event.key]) others[event.key]();
    else return;
    event.preventDefault();
  });
}
