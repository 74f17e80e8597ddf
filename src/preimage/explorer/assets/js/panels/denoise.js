// Denoise: a row projected on the components and brought back; gaps are filled first.

import { filled } from "../completion.js";
import { slider } from "../controls.js";
import { element, formatted, panel } from "../dom.js";
import { isTooLarge } from "../numbers_in_text.js";
import { newestNext, whenVisible } from "../work.js";
import { createChanges, createReader } from "./denoise_sources.js";
import { noisy } from "./noise.js";
import { comparison, reconstructionErrors } from "./novelty.js";
import { createPlaces, placeOfSample } from "./places.js";
import { captioned } from "./strip.js";

// Noise of the row that the panel begins with, in standard deviations of the data: plain to see, and little enough that
// the model can remove most of it.
const FIRST_NOISE = 0.5;

/**
 * The panel that takes a row from anywhere and shows it as the model sees it.
 * @param {object} app
 * @returns {HTMLElement}
 */
export function createDenoise(app) {
  const results = createResults(app);
  const work = {
    row: noisy(app.samples.row(0), app.data.view, FIRST_NOISE, 0),
    get: () => work.row,
    put(row, name) {
      work.row = row;
      given.show(row);
      given.caption(`Given: ${name}`);
      refresh();
    },
  };
  const given = createGiven(app, work.row, (row) => {
    work.row = row;
    given.caption("Given: drawn");
    refresh();
  });
  const section = panel(
    "Denoise",
    "A row is projected on the components in use and brought back. Paste numbers, drop a file, take a sample, or " +
      "change the given row itself.",
    [],
    { class: `denoise kind-${app.view.kind}`, "data-panel": "denoise" },
  );
  section.append(
    createReader(app, section, work.put),
    createChanges(app, work),
    element("div", { class: "controls wide" }, [createCount(app)]),
    element("div", { class: "pictures" }, [given.element, ...results.elements]),
    results.sentence,
  );
  given.caption(`Given: ${createPlaces(app).name(placeOfSample(0))}, with noise added`);
  const start = newestNext();
  const refresh = whenVisible(section, () => start(() => results.find(work.row)));
  app.store.on(["model", "q"], refresh);
  return section;
}

// The row in work: an editor where the view has one.
function createGiven(app, row, onchange) {
  const editor = app.view.editor(row, onchange);
  if (editor === null) {
    const picture = captioned(app.view, "", { size: "large" });
    picture.show(row);
    return picture;
  }
  const caption = element("figcaption", {});
  return {
    element: element("figure", { class: "captioned given" }, [caption, editor.element]),
    show: editor.show,
    caption: (text) => { caption.textContent = text; },
  };
}

function createCount(app) {
  const most = () => app.model().k;
  const control = slider({
    label: "Components in use", min: 1, max: most(), value: app.store.get("q"), format: (q) => `${q} of ${most()}`,
    onchange: (q) => app.store.set({ q }),
  });
  app.store.on(["q", "model"], () => {
    control.input.max = most();
    control.set(Math.min(app.store.get("q"), most()));
  });
  return control.element;
}

// What the model makes of a row: completed where it has gaps, denoised, and what was removed.
function createResults(app) {
  const completed = captioned(app.view, "Completed: gaps filled", { size: "large" });
  const denoised = captioned(app.view, "Denoised", { size: "large" });
  const removed = captioned(app.view, "Removed: given − denoised", { size: "large", what: "difference" });
  const sentence = element("p", { class: "hint", role: "status" });
  completed.element.hidden = true;

  function* find(row) {
    const model = app.model();
    const q = Math.min(app.store.get("q"), model.k);
    if (row.some(isTooLarge)) {
      sentence.textContent = "The row has a number that is too large to compute with.";
      return;
    }
    const gaps = row.filter(Number.isNaN).length;
    const whole = gaps > 0 ? filled(model, row, q).row : row;
    yield;
    const found = model.denoise(whole, q);
    completed.element.hidden = gaps === 0;
    completed.show(whole);
    denoised.show(found.row);
    removed.show(row.map((value, j) => value - found.row[j]));
    const words = gaps > 0 ? `${gaps} of ${row.length} values were missing and are filled. ` : "";
    sentence.textContent = words + novelty(app, model.reconstructionError(whole, q), q);
  }

  return { elements: [completed.element, denoised.element, removed.element], sentence, find };
}

function novelty(app, error, q) {
  const record = app.data.models[app.store.get("model")];
  // The score of a detector needs components that pages do not have.
  const name = record.detection ? "Reconstruction error" : "Novelty score";
  return `${name} ${formatted(error)}: ${comparison(reconstructionErrors(record, q), error, "that")}.`;
}
