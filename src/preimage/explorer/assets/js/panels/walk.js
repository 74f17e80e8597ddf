// Walk: what lies between two places, along the straight line of feature space and along that of the inputs.

import { button, menu, slider } from "../controls.js";
import { element, formatted, panel } from "../dom.js";
import { replacing, whenVisible } from "../work.js";
import { exportButtons } from "../figures/files.js";
import { pageFigure } from "../figures/page_figure.js";
import { Line, between } from "./lines.js";
import { createPlaces, placeOfSample } from "./places.js";
import { captioned, createStrip } from "./strip.js";

// Frames of the film: an odd number, so that one is half-way; as many as fit side by side in a window of 1280 pixels.
const FRAMES = 9;
const FRACTIONS = Array.from({ length: FRAMES }, (_, frame) => frame / (FRAMES - 1));
// Seconds that a film takes from A to B.
const DURATION = 4;

/**
 * The panel with the film strip between A and B.
 * @param {object} app
 * @returns {HTMLElement}
 */
export function createWalk(app) {
  const places = createPlaces(app);
  app.store.set({ walk: app.store.get("walk") ?? places.first() });
  const film = createFilm(app, places);
  const files = exportButtons("the walk", () => pageFigure(film.strips), () => `${app.data.title} walk`);
  const section = panel(
    "Walk",
    "From A to B along the straight line in feature space, brought back to inputs; below, the straight line between " +
      "the inputs themselves. Samples that are clicked on the map can be A or B.",
    [createEnds(app, places, files), ...film.elements],
    { class: "walk", "data-panel": "walk" },
  );
  const refresh = whenVisible(section, film.update);
  app.store.on(["walk", "model", "q"], refresh);
  const showTrail = () => app.store.set({ trail: app.store.get("tool") === "walk" ? trailOf(app, places) : null });
  app.store.on(["walk", "model", "tool"], showTrail);
  return section;
}

// The coordinates of the frames, which the map shows as a path.
function trailOf(app, places) {
  const { a, b } = app.store.get("walk");
  const ends = [places.coordinates(a), places.coordinates(b)];
  return FRACTIONS.map((t) => between(...ends, t));
}

// Menus for A and B, and buttons that put the selected sample there.
function createEnds(app, places, files) {
  const ends = ["a", "b"].map((end) => createEnd(app, places, end));
  const swap = button({ text: "Swap A and B", onclick: () => {
    const { a, b } = app.store.get("walk");
    app.store.set({ walk: { a: b, b: a } });
  } });
  return element("div", { class: "controls" }, [...ends, swap, files]);
}

function createEnd(app, places, end) {
  const letter = end.toUpperCase();
  const put = (place) => app.store.set({ walk: { ...app.store.get("walk"), [end]: place } });
  const choice = menu({ label: letter, options: [], value: "", onchange: put });
  const take = button({
    text: `Selected sample as ${letter}`,
    title: "Click a sample on the map to select it.",
    onclick: () => put(placeOfSample(app.store.get("selected"))),
  });
  const show = () => {
    const { a, b } = app.store.get("walk");
    const selected = app.store.get("selected");
    take.disabled = selected === null;
    choice.setOptions(places.options([a, b, ...(selected === null ? [] : [placeOfSample(selected)])]));
    choice.set(app.store.get("walk")[end]);
  };
  app.store.on(["walk", "selected"], show);
  show();
  return element("div", { class: "end" }, [choice.element, take]);
}

// The two strips, the slider and the pictures at its place.
function createFilm(app, places) {
  let line = null;
  const strips = createStrips(app.view, (frame) => { position.set(FRACTIONS[frame]); showAt(FRACTIONS[frame]); });
  const position = slider({
    label: "Place between A and B", min: 0, max: 1, step: 0.01, value: 0.5, format: percent, onchange: showAt,
  });
  const pictures = createPictures(app.view);
  const start = replacing();

  function update() {
    const { a, b } = app.store.get("walk");
    const q = Math.min(app.store.get("q"), app.model().k);
    const ends = [places.coordinates(a), places.coordinates(b)];
    line = new Line(app.model(), q, ends, [places.row(a), places.row(b)], FRACTIONS);
    FRACTIONS.forEach((t, frame) => strips.outer.show(frame, line.input(t)));
    start(findFrames());
  }

  function* findFrames() {
    let frame = 0;
    for (const { row } of line.frames()) {
      strips.inner.show(frame, row);
      frame += 1;
      yield;
    }
    showAt(Number(position.input.value));
  }

  function showAt(t) {
    strips.mark(Math.round(t * (FRAMES - 1)));
    const found = line?.preimage(t) ?? null;
    if (found !== null) pictures.show(found, line.input(t));
  }

  const moving = element("div", { class: "controls wide" }, [position.element, createPlay(position, showAt)]);
  return { update, strips: strips.element, elements: [strips.element, moving, ...pictures.elements] };
}

// The films of both lines, frame above frame.
function createStrips(view, onpick) {
  const captions = FRACTIONS.map((t) => (t === 0 ? "A" : t === 1 ? "B" : percent(t)));
  const inner = createStrip(view, captions, { label: "Line in feature space", onpick });
  const outer = createStrip(view, captions, { label: "Line between the inputs", onpick });
  const both = element("div", { class: "film" }, [
    element("h3", { text: "Line in feature space" }), inner.element,
    element("h3", { text: "Line between the inputs" }), outer.element,
  ]);
  const mark = (frame) => {
    inner.mark(frame);
    outer.mark(frame);
    scrollTo(both, inner.element.children[frame]);
  };
  return { element: both, inner, outer, mark };
}

// Both lines at the place of the slider, large, and how far the line is from the image of its picture.
function createPictures(view) {
  const inner = captioned(view, "Line in feature space", { size: "large" });
  const outer = captioned(view, "Line between the inputs", { size: "large" });
  const distance = element("p", { class: "hint" });
  return {
    elements: [element("div", { class: "pictures" }, [inner.element, outer.element]), distance],
    show(found, input) {
      inner.show(found.row);
      outer.show(input);
      const squared = formatted(Math.max(0, found.objective));
      distance.textContent = `Squared distance in feature space from the line to the image of its picture: ${squared}`;
    },
  };
}

// Where the film is wider than the window, the marked frame is kept in the middle.
function scrollTo(strips, frame) {
  const [outside, inside] = [strips.getBoundingClientRect(), frame.getBoundingClientRect()];
  strips.scrollLeft += inside.left + inside.width / 2 - outside.left - outside.width / 2;
}

// A button that moves the slider from A to B, or stops it.
function createPlay(position, showAt) {
  let began = null;
  const stop = () => { began = null; play.textContent = "Play"; };
  const play = button({ text: "Play", onclick: () => {
    if (began !== null) return stop();
    const from = Number(position.input.value);
    began = performance.now() - (from < 1 ? from : 0) * DURATION * 1000;
    play.textContent = "Stop";
    return requestAnimationFrame(advance);
  } });
  function advance(now) {
    if (began === null) return;
    const t = Math.min(1, Math.max(0, (now - began) / (DURATION * 1000)));
    position.set(Math.round(t * 100) / 100);
    showAt(Number(position.input.value));
    if (t < 1) requestAnimationFrame(advance);
    else stop();
  }
  position.input.addEventListener("input", stop);
  return play;
}

function percent(t) {
  return `${Math.round(100 * t)} %`;
}
