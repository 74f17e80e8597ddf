// Walk: what lies between two places, along the straight line of feature space and along that of the inputs.

import { button, menu, slider } from "../controls.js";
import { element, formatted, panel } from "../dom.js";
import { replacing, whenVisible } from "../work.js";
import { alongLine, between } from "./lines.js";
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
  app.store.set({ walk: places.first() });
  const film = createFilm(app, places);
  const section = panel(
    "Walk",
    "From A to B along the straight line in feature space, brought back to inputs; below, the straight line between " +
      "the inputs themselves. Samples that are clicked on the map can be A or B.",
    [createEnds(app, places), ...film.elements],
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
function createEnds(app, places) {
  const ends = ["a", "b"].map((end) => createEnd(app, places, end));
  const swap = button({ text: "Swap A and B", onclick: () => {
    const { a, b } = app.store.get("walk");
    app.store.set({ walk: { a: b, b: a } });
  } });
  return element("div", { class: "controls" }, [...ends, swap]);
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
  const captions = FRACTIONS.map((t) => (t === 0 ? "A" : t === 1 ? "B" : percent(t)));
  const pick = (frame) => { position.set(FRACTIONS[frame]); showAt(FRACTIONS[frame]); };
  const inner = createStrip(app.view, captions, { label: "Line in feature space", onpick: pick });
  const outer = createStrip(app.view, captions, { label: "Line between inputs", onpick: pick });
  const position = slider({
    label: "Place between A and B", min: 0, max: 1, step: 0.01, value: 0.5, format: percent, onchange: showAt,
  });
  const largeInner = captioned(app.view, "Line in feature space", { size: "large" });
  const largeOuter = captioned(app.view, "Line between the inputs", { size: "large" });
  const distance = element("p", { class: "hint" });
  const start = replacing();
  let line = null;

  function update() {
    const { a, b } = app.store.get("walk");
    line = {
      model: app.model(), q: Math.min(app.store.get("q"), app.model().k),
      ends: [places.coordinates(a), places.coordinates(b)], rows: [places.row(a), places.row(b)], found: [],
    };
    FRACTIONS.forEach((t, frame) => { inner.show(frame, null); outer.show(frame, between(...line.rows, t)); });
    start(findFrames(line));
  }

  function* findFrames(present) {
    for (const found of alongLine(present.model, ...present.ends, FRACTIONS, { q: present.q })) {
      inner.show(present.found.length, found.row);
      present.found.push(found);
      yield;
    }
    showAt(Number(position.input.value));
  }

  // Between two frames the search starts at the frame before, as that of the frame after did.
  function showAt(t) {
    const frame = Math.floor(t * (FRAMES - 1));
    const nearest = Math.round(t * (FRAMES - 1));
    inner.mark(nearest);
    outer.mark(nearest);
    scrollTo(strips, inner.element.children[nearest]);
    if (line === null || line.found.length < FRAMES) return;
    const before = line.found[frame];
    const y = between(...line.ends, t);
    const found = FRACTIONS[frame] === t ? before : line.model.preimage(y, { q: line.q, start: before.row });
    largeInner.show(found.row);
    largeOuter.show(between(...line.rows, t));
    const squared = formatted(Math.max(0, found.objective));
    distance.textContent = `Squared distance in feature space from the line to the image of its picture: ${squared}`;
  }

  const strips = element("div", { class: "film" }, [
    element("h3", { text: "Line in feature space" }), inner.element,
    element("h3", { text: "Line between the inputs" }), outer.element,
  ]);
  const moving = element("div", { class: "controls wide" }, [position.element, createPlay(position, showAt)]);
  const large = element("div", { class: "pictures" }, [largeInner.element, largeOuter.element]);
  return { update, elements: [strips, moving, large, distance] };
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
