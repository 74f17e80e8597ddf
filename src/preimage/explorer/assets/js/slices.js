// Long work in short slices, so that the page stays fluent.

// Half a frame at 60 per second: drawing and the pointer have the other half.
const SLICE = 8;
// While the user does something, work waits this many milliseconds.
const PAUSE = 60;

/**
 * Run a generator in slices. A slice ends with the first step that is finished after 8 ms.
 * @param {Generator} steps
 * @param {{isBusy?: () => boolean, onslice?: () => void, onend?: () => void}} options `isBusy` makes work wait
 * @returns {() => void} ends the work
 */
export function inSlices(steps, { isBusy = () => false, onslice = () => {}, onend = () => {} } = {}) {
  let timer = 0;
  let isOver = false;
  const run = () => {
    if (isBusy()) {
      timer = setTimeout(run, PAUSE);
      return;
    }
    const begin = performance.now();
    do isOver = steps.next().done; while (!isOver && performance.now() - begin < SLICE);
    const isFinished = isOver;
    onslice();
    if (isFinished) onend();
    else if (!isOver) timer = setTimeout(run, 0);
  };
  timer = setTimeout(run, 0);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
