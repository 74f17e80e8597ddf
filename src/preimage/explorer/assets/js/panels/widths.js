// Widths: the same question to several models, so that the effect of the kernel's width is seen.

import { menu, slider } from "../controls.js";
import { element, panel } from "../dom.js";
import { replacing, whenVisible } from "../work.js";
import { between } from "./lines.js";
import { noisy } from "./noise.js";
import { createPlaces, placeOfSample } from "./places.js";
import { createStrip } from "./strip.js";

// Noise of the question "noise": as large as the deviations of the data, so that little but the model can remove it.
const NOISE = 1;
// What is asked of every model: words for it, and the picture of one model.
const QUESTIONS = {
  sample: { text: "a sample", ask: (app, places) => ofSample(app, places, false) },
  noise: { text: "a sample with noise", ask: (app, places) => ofSample(app, places, true) },
  walk: { text: "half-way on the walk", ask: halfWay },
};

/**
 * The panel with a slider between the models of the page, and one picture per model.
 * @param {object} app
 * @returns {HTMLElement}
 */
export function createWidths(app) {
  const names = app.models.map((model) => model.name);
  const choose = (model) => app.store.set({ model });
  const position = slider({
    label: "Model", min: 0, max: Math.max(0, names.length - 1), value: app.store.get("model"), onchange: choose,
    format: (model) => names[model],
  });
  const options = Object.entries(QUESTIONS).map(([value, { text }]) => ({ value, text }));
  const question = menu({ label: "Picture of", options, value: "sample", onchange: () => refresh() });
  const strip = createStrip(app.view, names, { label: "One picture per width", onpick: choose });
  const subject = element("p", { class: "hint" });
  const section = panel(
    "Width",
    "All views follow the chosen model. The strip shows the same question answered by each.",
    [element("div", { class: "controls" }, [position.element, question.element]), subject, strip.element],
    { class: "widths", "data-panel": "widths" },
  );
  const places = createPlaces(app);
  const start = replacing();
  const refresh = whenVisible(section, () => {
    const { words, picture } = QUESTIONS[question.select.value].ask(app, places);
    subject.textContent = words;
    start(findPictures(app.models, picture, strip));
  });
  const mark = () => {
    position.set(app.store.get("model"));
    strip.mark(app.store.get("model"));
  };
  app.store.on("model", mark);
  app.store.on(["q", "selected", "walk"], refresh);
  mark();
  return section;
}

function* findPictures(models, picture, strip) {
  for (const [number, model] of models.entries()) yield strip.show(number, picture(model, number));
}

function ofSample(app, places, withNoise) {
  const sample = app.store.get("selected") ?? 0;
  const row = app.samples.row(sample);
  const asked = withNoise ? noisy(row, app.data.view, NOISE, sample) : row;
  const name = places.name(placeOfSample(sample));
  return {
    words: `${name}${withNoise ? " with noise" : ""}, projected and brought back`,
    picture: (model) => model.denoise(asked, Math.min(app.store.get("q"), model.k)).row,
  };
}

function halfWay(app, places) {
  const { a, b } = app.store.get("walk");
  const middle = (number) => between(places.coordinates(a, number), places.coordinates(b, number), 0.5);
  return {
    words: `Half-way between ${places.name(a)} and ${places.name(b)}`,
    picture: (model, number) => model.preimage(middle(number), { q: Math.min(app.store.get("q"), model.k) }).row,
  };
}
