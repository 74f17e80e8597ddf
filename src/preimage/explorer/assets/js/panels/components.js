// Components: what each axis of the model means, by moving along it.

import { button, menu, slider } from "../controls.js";
import { element, panel } from "../dom.js";
import { exportButtons } from "../figures/files.js";
import { pageFigure } from "../figures/page_figure.js";
import { replacing, whenVisible } from "../work.js";
import { Mixer } from "./mixer.js";
import { createPlaces, placeOfSample } from "./places.js";
import { captioned, createStrip } from "./strip.js";

// Places of the pictures of an axis, in standard deviations of its coordinates.
const PLACES = [-2, -1, 0, 1, 2];
// How far sliders go: beyond three standard deviations hardly any sample lies, and the model extrapolates.
const FARTHEST = 3;
// Components that are listed at first, and how many more a click adds: each takes five pictures.
const LISTED = 6;

/**
 * The panel with one slider and one strip of pictures per component.
 * @param {object} app
 * @returns {HTMLElement}
 */
export function createComponents(app) {
  const picture = captioned(app.view, "Pre-image of the sliders", { size: "large" });
  const mixer = new Mixer(app, picture.show);
  const axes = createAxes(app, mixer);
  const around = createAround(app, () => refresh());
  const reset = button({ text: "Reset sliders", onclick: () => { mixer.reset(); axes.showSliders(); } });
  const files = exportButtons("the components", () => pageFigure(axes.list), () => `${app.data.title} components`);
  const section = panel(
    "Components",
    "Move along components, in standard deviations (s) of the samples. Each strip shows one component alone, the " +
      "others as they are at the place that you move around.",
    [
      element("div", { class: "controls" }, [around.element, reset, files]),
      element("div", { class: "mixer" }, [picture.element, axes.element]),
    ],
    { class: "components", "data-panel": "components" },
  );
  let begun = "";
  const refresh = whenVisible(section, () => {
    // Another number of components keeps the sliders where they are; another model or place does not.
    const place = `${app.store.get("model")} ${around.place()}`;
    if (place === begun) mixer.renew();
    else mixer.begin(around.coordinates());
    axes.update(place !== begun);
    begun = place;
  });
  app.store.on(["model", "q"], refresh);
  return section;
}

// The place that one moves around: the mean of all samples or of a label, or the selected sample.
function createAround(app, onchange) {
  const places = createPlaces(app);
  const choice = menu({ label: "Around", options: places.options(), value: "mean", onchange });
  app.store.on("selected", () => {
    const selected = app.store.get("selected");
    const chosen = choice.select.value;
    choice.setOptions(places.options([chosen, ...(selected === null ? [] : [placeOfSample(selected)])]));
    choice.set(chosen);
  });
  return {
    element: choice.element,
    place: () => choice.select.value,
    coordinates: () => places.coordinates(choice.select.value),
  };
}

// One slider and one strip for each of the first components.
function createAxes(app, mixer) {
  const list = element("div", { class: "axes" });
  const more = button({ text: "Show more components", onclick: () => { listed += LISTED; update(false); } });
  const start = replacing();
  let listed = LISTED;
  let axes = [];

  function update(isNew) {
    const count = Math.min(mixer.q, listed);
    if (isNew) axes = [];
    axes = Array.from({ length: count }, (_, j) => axes[j] ?? createAxis(app, mixer, j));
    list.replaceChildren(...axes.map((axis) => axis.element));
    more.hidden = count === mixer.q;
    start((function* pictures() {
      for (const [j, axis] of axes.entries()) {
        for (const { number, row } of mixer.along(j, PLACES)) yield axis.strip.show(number, row);
      }
    })());
  }

  return {
    list,
    element: element("div", { class: "axes-and-more" }, [list, more]),
    update,
    showSliders: () => axes.forEach((axis, j) => axis.control.set(mixer.at(j))),
  };
}

function createAxis(app, mixer, j) {
  const record = app.data.models[app.store.get("model")];
  const name = record.component_names[j];
  const explained = record.explained === null ? "" : ` (${(100 * record.explained.values[j]).toFixed(1)} %)`;
  const farthest = Math.max(FARTHEST, Math.ceil(Math.abs(mixer.at(j))));
  const control = slider({
    label: `${name}${explained}`, min: -farthest, max: farthest, step: 0.1, value: mixer.at(j), format: inDeviations,
    onchange: (s) => mixer.move(j, s),
  });
  const pick = (number) => {
    control.set(PLACES[number]);
    mixer.move(j, PLACES[number]);
  };
  const strip = createStrip(app.view, PLACES.map(inDeviations), { label: `Along ${name}`, onpick: pick });
  return { control, strip, element: element("div", { class: "component" }, [control.element, strip.element]) };
}

function inDeviations(s) {
  const rounded = Math.round(10 * s) / 10;
  return `${rounded > 0 ? "+" : rounded < 0 ? "−" : ""}${Math.abs(rounded)} s`;
}
