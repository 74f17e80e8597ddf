// The inspector: what lies at the pointer, and the selected sample next to its reconstruction.

import { button } from "../controls.js";
import { decisionOf } from "../decision.js";
import { element, formatted, oncePerFrame, panel } from "../dom.js";
import { tickFormat } from "../views/ticks.js";
import { extrapolation } from "./extrapolation.js";
import { detectorField } from "./map_lift.js";
import { createNoveltyScale } from "./novelty_scale.js";
import { comparison, negligible, noveltyScores, rankFromTop, reconstructionErrors } from "./novelty.js";
import { PointerAnswer } from "./pointer_answer.js";
import { FILTERS, mapSamples } from "./shown_samples.js";

/** The inspector. */
export function createInspector(app) {
  // After the page is drawn, so that it opens at once.
  setTimeout(() => beginSomewhere(app), 0);
  const comparison = app.view.comparison?.({ hasGaps: app.samples.hasGaps }) ?? null;
  const figures = comparison === null
    ? (title, what) => createFigure(app, title, what)
    : (title) => createCaption(title, comparison.figure(named(title)));
  const parts = [comparison?.element, createPointerPart(app, figures), createSelectedPart(app, figures)];
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
  return {
    element: element("figure", { "data-figure": named(title) }, [element("h4", { text: title }), picture.element, scale, caption]),
    show(row, text) {
      picture.show(row);
      caption.textContent = text;
      caption.title = text.trim();
    },
  };
}

/** What stands below a figure, alone: its values are in the comparison. */
function createCaption(title, figure) {
  const caption = element("figcaption");
  return {
    element: element("figure", { "data-figure": named(title), hidden: true }, [caption]),
    show(row, text) {
      figure.show(row);
      caption.textContent = `${title} ${text}`;
      caption.parentElement.toggleAttribute("hidden", text.trim() === "");
    },
  };
}

const named = (title) => title.toLowerCase().replaceAll(" ", "-");

function createPointerPart(app, createFigureOf) {
  const { store, samples } = app;
  const preimage = createFigureOf("Pre-image", "value");
  const nearest = createFigureOf("Nearest sample", "value");
  const text = element("p", { class: "hint inspector-text", text: "\u00a0" });
  const answer = new PointerAnswer(app);
  const warning = element("span", { class: "inspector-warning", text: "The model extrapolates", hidden: true });
  const showAnswer = (result, isSettled) => {
    store.set({ answer: result });
    preimage.show(result.row, placeName(app));
    text.textContent = decidedAt(app, result.row, store.get("pointer")) + sentenceAbout(app, result, isSettled);
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

/** What the model decides there, in words; nothing where it decides nothing. */
function decidedAt(app, row, place = null) {
  const decision = decisionOf(app);
  if (decision === null) return "";
  if (place === null || decision.kind !== "inside") return `${decision.describe(row)} `;
  return `${decision.inWords([detectorField(app, decision)(place)])} `;
}

/** What the model decides of a sample; sentences about novelty say it for detectors. */
function decidedOf(app, row) {
  return decisionOf(app)?.kind === "inside" ? "" : decidedAt(app, row);
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

function createSelectedPart(app, createFigureOf) {
  const { store, samples } = app;
  const parts = {
    title: element("h3"),
    clear: button({ text: "Clear", label: "Clear the selection", onclick: () => store.set({ selected: null }) }),
    figures: figuresOf(samples).map(
      (title) => createFigureOf(title, title === "Difference" ? "difference" : "value"),
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

/** Samples whose gaps were filled in are shown with their gaps, and as they were filled. */
function figuresOf({ hasGaps }) {
  return ["Original", ...(hasGaps ? ["Filled in"] : []), "Reconstruction", "Difference"];
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
  const gaps = samples.gaps(sample);
  const original = gaps === null ? row : row.map((value, j) => (gaps[j] ? NaN : value));
  const filled = samples.hasGaps ? [gaps === null ? null : row] : [];
  [original, ...filled, result.row, difference].forEach((shown, i) => figures[i].show(shown, ""));
  const doubt = result.converged ? "" : ` Not converged: ${result.reason}.`;
  text.textContent = gapsSentence(gaps) + decidedOf(app, row) + noveltySentence(scores, sample, samples, app.data.models[store.get("model")].detection) + doubt;
}

function gapsSentence(gaps) {
  const count = gaps === null ? 0 : gaps.reduce((sum, gap) => sum + gap, 0);
  return count === 0 ? "" : `${count === 1 ? "One value was" : `${count} values were`} missing and filled in. `;
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
