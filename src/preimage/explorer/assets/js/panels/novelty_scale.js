// Where a sample stands among all: a small histogram of novelty scores with a mark.

import { element, svg } from "../dom.js";
import { quantile } from "./novelty.js";

const [WIDTH, HEIGHT, BINS] = [300, 34, 40];

/**
 * A histogram of scores; the bin of one of them is marked.
 * @returns {{element: HTMLElement, show: (scores: Float64Array, sample: number | null) => void}}
 */
export function createNoveltyScale() {
  const drawing = svg("svg", {
    class: "novelty-scale", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true",
  });
  const node = element("div", { class: "novelty" }, [
    drawing,
    element("div", { class: "novelty-ends" }, [element("span", { text: "usual" }), element("span", { text: "unusual" })]),
  ]);
  const show = (scores, sample) => {
    const bin = binning(scores);
    const counts = new Float64Array(BINS);
    for (const score of scores) counts[bin(score)] += 1;
    const most = Math.max(...counts);
    const chosen = sample === null ? -1 : bin(scores[sample]);
    const width = WIDTH / BINS;
    drawing.replaceChildren(...Array.from(counts, (count, i) => {
      // Square roots keep bins of one sample visible among thousands; the mark is seen in an empty histogram too.
      const height = i === chosen ? HEIGHT : Math.sqrt(count / most) * (HEIGHT - 2);
      const place = { x: i * width + 0.5, y: HEIGHT - height, width: width - 1, height };
      return svg("rect", { class: i === chosen ? "chosen" : "bin", ...place });
    }));
  };
  return { element: node, show };
}

/** Bins between the smallest score and a value above nearly all; the last bin has all that is larger. */
function binning(scores) {
  const low = quantile(scores, 0);
  const high = quantile(scores, 0.995);
  return (score) => (high > low ? Math.min(BINS - 1, Math.floor(((score - low) / (high - low)) * (BINS - 1))) : 0);
}
