// The inspector: what lies at the pointer, and the selected sample next to its reconstruction.

import { button } from "../controls.js";
import { element, formatted, oncePerFrame, panel } from "../dom.js";
import { tickFormat } from "../views/ticks.js";
import { extrapolation } from "./extrapolation.js";
import { createNoveltyScale } from "./novelty_scale.js";
import { comparison, negligible, noveltyScores, rankFromTop, reconstructionErrors } from "./novelty.js";
import { PointerAnswer } from "./pointer_answer.js";
import { FILTERS, mapSamples } from "./shown_samples.js";

/** The inspector. */
export function createInspector(app) {
  // After the page is drawn, so that it opens at once.
  setTimeout(() => beginSomewhere(app), 0);
  const parts = [createPointerPart(app), createSelectedPart(app)];
  return panel("Inspector", "", parts, { class: "inspector", "data-panel": "inspector" });
}

/** An empty inspector would explain nothing: it begins at the middle of the data, with a sample that is typical. */
function beginSomewhere(app) {
  const { store } = app;
  const scores = Array.from(noveltyScores(app.data.models[store.get("model")], store.get("q")));
  const typical = scores.map((_, i) => i).sort((i, j) => scores[i] - scores[j])[scores.length >> 1];
  store.set({
    pointer: store.get("pointer") ?? mapSamples(app).middle(),
    selected: store.get("selected") ?? typical,
  });
}

/** A picture with a title, and what it shows in a line below. */
function createFigure(app, title, what = "value") {
  const picture = app.view.picture({ size: "medium", what });
  // Values look the same in all pictures; how large a difference is, only its scale says.
  const scale = what === "difference" ? app.view.scale({ what }) : null;
  const caption = element("figcaption");
  const name = title.toLowerCase().replaceAll(" ", "-");
  return {
    element: element("figure", { "data-figure": name }, [element("h4", { text: title }), picture.element, scale, caption]),
    show(row, text) {
      picture.show(row);
      caption.textContent = text;
      caption.title = text.trim();
    },
  };
}

function createPointerPart(app) {
  const { store, samples } = app;
  const preimage = createFigure(app, "Pre-image");
  const nearest = createFigure(app, "Nearest sample");
  const text = element("p", { class: "hint inspector-text", text: "\u00a0" });
  const answer = new PointerAnswer(app);
  const warning = element("span", { class: "inspector-warning", text: "The model extrapolates", hidden: true });
  const showAnswer = (result, isSettled) => {
    preimage.show(result.row, placeName(app));
    text.textContent = sentenceAbout(app, result, isSettled);
    warning.hidden = !(extrapolation(app)(store.get("pointer"), result.objective) > 0.5);
  };
  const show = () => {
    const pointer = store.get("pointer");
    if (!pointer) return;
    const sample = mapSamples(app).nearest(pointer);
    nearest.show(sample === null ? null : samples.row(sample), sample === null ? "no sample is shown" : samples.name(sample));
    showAnswer(answer.at(pointer, (result) => showAnswer(result, true)), false);
  };
  preimage.show(null, "\u00a0");
  nearest.show(null, "\u00a0");
  store.on(["pointer", "q", "model", "across", "up", "others", ...FILTERS], oncePerFrame(show));
  return element("div", { class: "inspector-part", "data-part": "pointer" }, [
    element("div", { class: "inspector-head" }, [element("h3", { text: "At the pointer" }), warning]),
    element("div", { class: `inspector-pictures two kind-${app.view.kind}` }, [preimage.element, nearest.element]),
    text,
  ]);
}

/** The coordinates of the pointer, to a hundredth of the map or better. */
function placeName(app) {
  const { across, up } = app.store.get("pointer");
  const written = mapSamples(app).ranges.map(([low, high], axis) => {
    const format = tickFormat(10 ** (Math.floor(Math.log10(high - low)) - 2), Math.max(Math.abs(low), Math.abs(high)));
    return format(axis === 0 ? across : up);
  });
  return `at (${written.join(", ")})`;
}

/** How far the pre-image is from what was asked for, in words. */
function sentenceAbout(app, { objective, converged, reason }, isSettled) {
  const scores = reconstructionErrors(app.data.models[app.store.get("model")], app.store.get("q"));
  const doubt = isSettled && !converged ? ` Not converged: ${reason}.` : "";
  const isNothing = objective <= negligible(app.data.models[app.store.get("model")]);
  const compared = isNothing ? "next to nothing" : comparison(scores, objective, "the reconstruction error");
  return `Squared distance in feature space ${formatted(Math.max(0, objective))}, ${compared}.${doubt}`;
}

const NOTHING_SELECTED = "Click a sample of the map, or press Enter there: its reconstruction from the components in use, "
  + "and how unusual it is.";

function createSelectedPart(app) {
  const { store } = app;
  const parts = {
    title: element("h3"),
    clear: button({ text: "Clear", label: "Clear the selection", onclick: () => store.set({ selected: null }) }),
    figures: ["Original", "Reconstruction", "Difference"].map(
      (title) => createFigure(app, title, title === "Difference" ? "difference" : "value"),
    ),
    text: element("p", { class: "hint inspector-text" }),
    novelty: createNoveltyScale(),
  };
  store.on(["selected", "q", "model"], oncePerFrame(() => showSelected(app, parts)));
  showSelected(app, parts);
  return element("div", { class: "inspector-part", "data-part": "selected" }, [
    element("div", { class: "inspector-head" }, [parts.title, parts.clear]),
    element("div", { class: `inspector-pictures three kind-${app.view.kind}` }, [
      ...parts.figures.map((figure) => figure.element),
      element("div", { class: "inspector-summary" }, [parts.text, parts.novelty.element]),
    ]),
  ]);
}

function showSelected(app, { title, clear, figures, text, novelty }) {
  const { store, samples } = app;
  const [sample, q] = [store.get("selected"), store.get("q")];
  const scores = noveltyScores(app.data.models[store.get("model")], q);
  novelty.show(scores, sample);
  clear.hidden = sample === null;
  if (sample === null) {
    title.textContent = "Selected sample";
    text.textContent = NOTHING_SELECTED;
    figures.forEach((figure) => figure.show(null, ""));
    return;
  }
  const row = samples.row(sample);
  const result = app.model().denoise(row, q);
  const difference = row.map((value, j) => value - result.row[j]);
  title.textContent = `Selected sample: ${samples.name(sample)}`;
  [row, result.row, difference].forEach((shown, i) => figures[i].show(shown, ""));
  const doubt = result.converged ? "" : ` Not converged: ${result.reason}.`;
  text.textContent = noveltySentence(scores, sample, samples, app.data.models[store.get("model")].detection) + doubt;
}

function noveltySentence(scores, sample, { count, total }, detection) {
  const rank = rankFromTop(scores, scores[sample]).toLocaleString("en");
  const drawn = total > count ? " that are drawn" : "";
  const place = `rank ${rank} of ${count.toLocaleString("en")} samples${drawn}; 1 is the most unusual`;
  if (!detection) return `Novelty (reconstruction error) ${formatted(scores[sample])}: ${place}.`;
  const decision = scores[sample] > detection.threshold ? "An outlier: above" : "Not an outlier: not above";
  const threshold = `${decision} the threshold of the detector, ${formatted(detection.threshold)}.`;
  return `Novelty (score of the detector) ${formatted(scores[sample])}: ${place}. ${threshold}`;
}
