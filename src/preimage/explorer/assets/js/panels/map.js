// The map: samples on the plane of two components, where the pointer asks for pre-images.

import { menu, toggle } from "../controls.js";
import { element, panel } from "../dom.js";
import { exportButtons } from "../figures/files.js";
import { mapFigure } from "../figures/map_figure.js";
import { colourings } from "./map_colouring.js";
import { firstHaze, hazesOf } from "./map_haze.js";
import { beginsWithLens } from "./lens.js";
import { createLegend } from "./map_legend.js";
import { Stage } from "./map_stage.js";
import { FILTERS, SPREAD, WHOLE_RANGE, mapSamples } from "./shown_samples.js";

const OTHERS = [
  { value: "average", text: "average of samples nearby" },
  { value: "nearest", text: "as the nearest sample" },
  { value: "zero", text: "zero (the mean)" },
];

const HINT = "Point anywhere, or use arrow keys, to see what lies there. A click selects, a drag moves, the wheel zooms.";
const NO_COLUMN_FILTER = () => ({ hiddenInColumn: new Set(), range: WHOLE_RANGE });

/** The map with its menus and its legend. */
export function createMap(app) {
  app.store.set({
    haze: app.store.get("haze") ?? firstHaze(app.data.models[app.store.get("model")]), lens: app.store.get("lens") ?? beginsWithLens(), answer: null,
  });
  const stage = new Stage(app);
  const note = element("p", { class: "hint map-note", role: "status" });
  const showNote = () => { note.textContent = beyondUse(app); };
  app.store.on(["q", "across", "up", "model"], showNote);
  showNote();
  keepPlace(app);
  return panel("Map", HINT, [
    element("div", { class: "controls" }, [...axisMenus(app), colourMenu(app)]),
    stage.element,
    element("div", { class: "map-foot" }, [stage.buttons, createFilter(app, stage), createChoices(app, stage)]),
    note,
  ], { class: "map", "data-panel": "map" });
}

/** The components that a menu offers, with what they explain; upwards, novelty stands for the one that is across. */
function componentOptions(app, key) {
  const { component_names: names, explained } = app.data.models[app.store.get("model")];
  const percent = (number) => (explained ? ` (${(100 * explained.values[number]).toFixed(1)} %)` : "");
  const isSpread = (number) => key === "up" && number === app.store.get("across");
  return names.map((name, number) => ({ value: String(number), text: isSpread(number) ? SPREAD : name + percent(number) }));
}

function axisMenus(app) {
  const { store } = app;
  return [["across", "Across"], ["up", "Up"]].map(([key, label]) => {
    const control = menu({
      label, options: componentOptions(app, key), value: store.get(key),
      onchange: (value) => store.set({ [key]: Number(value) }),
    });
    store.on(["model", "across"], () => control.setOptions(componentOptions(app, key)));
    store.on(["model", "across", key], () => control.set(store.get(key)));
    return control.element;
  });
}

function colourMenu(app) {
  const { store } = app;
  const control = menu({
    label: "Colour by", options: colourings(app), value: store.get("colour"),
    onchange: (colour) => store.set({ colour, ...NO_COLUMN_FILTER() }),
  });
  store.on("model", () => control.setOptions(colourings(app)));
  store.on(["model", "colour"], () => control.set(store.get("colour")));
  return control.element;
}

/** The legend; it filters labels everywhere, and names or numbers of a column while the map is coloured by it. */
function createFilter(app, stage) {
  const { store } = app;
  const key = () => (store.get("colour").startsWith("column:") ? "hiddenInColumn" : "hidden");
  const legend = createLegend({
    onfilter: (hidden) => store.set({ [key()]: hidden }),
    onrange: (range) => store.set({ range }),
    onall: () => store.set({ hidden: new Set(), ...NO_COLUMN_FILTER() }),
  });
  const show = () => {
    const hidden = stage.colouring.isContinuous ? store.get("hidden") : store.get(key()) ?? new Set();
    legend.show(stage.colouring, { hidden, range: store.get("range") ?? WHOLE_RANGE });
  };
  store.on(["colour", "model", "q", "theme", ...FILTERS], show);
  show();
  return legend.element;
}

function createChoices(app, stage) {
  const { store } = app;
  const hazes = () => hazesOf(app.data.models[store.get("model")]);
  const choices = [["others", "Other components", () => OTHERS], ["haze", "Shade", hazes]].map(([key, label, options]) => {
    const control = menu({ label, options: options(), value: store.get(key), onchange: (value) => store.set({ [key]: value }) });
    store.on("model", () => control.setOptions(options()));
    store.on(["model", key], () => control.set(store.get(key)));
    return control.element;
  });
  // Of several models some may decide nothing.
  store.on("model", () => { if (!hazes().some(({ value }) => value === store.get("haze"))) store.set({ haze: firstHaze(app.data.models[store.get("model")]) }); });
  const lens = toggle({
    text: "Picture at the pointer", value: store.get("lens"), onchange: (isOn) => store.set({ lens: isOn }),
  });
  store.on("lens", () => lens.set(store.get("lens")));
  const files = exportButtons("the map", () => mapFigure(stage.scene()), () => `${app.data.title} map`);
  return element("div", { class: "map-choices" }, [...choices, lens.element, files]);
}

/** What to say when an axis of the map is not among the components in use. */
function beyondUse(app) {
  const { store } = app;
  const names = app.data.models[store.get("model")].component_names;
  const q = store.get("q");
  const beyond = [...new Set([store.get("across"), store.get("up")])].filter((number) => number >= q);
  if (!beyond.length) return "";
  return `${beyond.map((number) => names[number]).join(" and ")}: beyond the ${q} in use, so pre-images do not change along it.`;
}

/** When the plane changes, the pointer stays with the sample that was nearest to it. */
function keepPlace(app) {
  const { store } = app;
  let nearest = null;
  store.on("pointer", () => { nearest = store.get("pointer") ? mapSamples(app).nearest(store.get("pointer")) : null; });
  store.on(["model", "across", "up"], () => {
    if (nearest === null) return;
    const samples = mapSamples(app);
    store.set({ pointer: { across: samples.across[nearest], up: samples.up[nearest] } });
  });
}
