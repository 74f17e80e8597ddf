// Work that does not get in the way: only what can be seen, one computation of a kind at a time.

import { oncePerFrame } from "./dom.js";
import { inSlices } from "./slices.js";

// How far outside the window a panel is already worth the work: what lies within about one more screen is complete when
// it scrolls into view.
const MARGIN = "1200px";

/**
 * Runs `update` when it was asked for and `node` can be seen: a closed tab catches up when it is opened.
 * @param {Element} node
 * @param {Function} update
 * @returns {Function} asks for an update; several requests within a frame are one
 */
export function whenVisible(node, update) {
  let isWanted = true;
  let isSeen = false;
  const run = oncePerFrame(() => {
    if (!isWanted || !isSeen) return;
    isWanted = false;
    update();
  });
  const observer = new IntersectionObserver(
    (entries) => {
      isSeen = entries.at(-1).isIntersecting;
      run();
    },
    { rootMargin: MARGIN },
  );
  observer.observe(node);
  return () => {
    isWanted = true;
    run();
  };
}

/**
 * One lengthy computation at a time; a new one ends the one before. For pictures that are all out of date at once.
 * @returns {(steps: Generator) => void} starts a computation
 */
export function replacing() {
  let cancel = () => {};
  return (steps) => {
    cancel();
    cancel = inSlices(steps);
  };
}

/**
 * One lengthy computation at a time; a new one waits for the present one, and only the newest waits. For a slider that
 * is dragged: something is finished and shown all the time, however long one computation takes.
 * @returns {(begin: () => Generator) => void} asks for a computation
 */
export function newestNext() {
  let isRunning = false;
  let next = null;
  const run = (begin) => {
    isRunning = true;
    inSlices(begin(), {
      onend: () => {
        isRunning = false;
        const waiting = next;
        next = null;
        if (waiting !== null) run(waiting);
      },
    });
  };
  return (begin) => {
    if (isRunning) next = begin;
    else run(begin);
  };
}
