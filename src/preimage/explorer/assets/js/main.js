// The page: opens what is embedded, and puts its parts in their places.

import { tabs } from "./controls.js";
import { openPage } from "./data.js";
import { element } from "./dom.js";
import { Model } from "./model.js";
import { createComponents } from "./panels/components.js";
import { createDenoise } from "./panels/denoise.js";
import { createInspector } from "./panels/inspector.js";
import { createMap } from "./panels/map.js";
import { createSpectrum } from "./panels/spectrum.js";
import { createTitleTools, followLink } from "./panels/title_tools.js";
import { createWalk } from "./panels/walk.js";
import { createWidths } from "./panels/widths.js";
import { createSamples } from "./samples.js";
import { createStore } from "./state.js";
import { createView } from "./views/view.js";

/** What all parts of the page work with. */
function createApp(data) {
  const models = data.models.map((record) => new Model(record));
  const model = data.initial ?? 0;
  const k = models[model].k;
  const store = createStore({
    model, q: k, across: 0, up: Math.min(1, k - 1), colour: firstColouring(data.samples), hidden: new Set(),
    selected: null, pointer: null, others: "average", theme: null,
  });
  keepWithin(store, models);
  return {
    data, models, store,
    model: () => models[store.get("model")],
    view: createView(data.view),
    samples: createSamples(data.samples),
  };
}

/** What the map is coloured by until somebody chooses: what its maker gave, labels first. */
function firstColouring({ labels, columns }) {
  if (labels) return "labels";
  return columns.length > 0 ? "column:0" : "novelty";
}

/** Models may have different numbers of components: what is chosen stays among those of the present one. */
function keepWithin(store, models) {
  let k = models[store.get("model")].k;
  store.on("model", ({ model, q, across, up }) => {
    const all = q === k;
    k = models[model].k;
    store.set({ q: all ? k : Math.min(q, k), across: Math.min(across, k - 1), up: Math.min(up, k - 1) });
  });
}

function createHeader(app) {
  const messages = app.data.messages.map((message) => element("li", { text: message }));
  return element("header", {}, [
    element("div", { class: "title-line" }, [element("h1", { text: app.data.title }), createTitleTools(app)]),
    messages.length ? element("ul", { class: "messages" }, messages) : null,
  ]);
}

function createBody(app) {
  const tools = [
    { name: "walk", title: "Walk", panel: createWalk(app) },
    { name: "components", title: "Components", panel: createComponents(app) },
    { name: "denoise", title: "Denoise", panel: createDenoise(app) },
  ];
  const widths = app.models.length > 1 ? createWidths(app) : null;
  return element("main", {}, [
    element("div", { class: `workbench of-${app.view.kind}` }, [
      placed("at-map", createMap(app)),
      placed("at-inspector", createInspector(app)),
      placed("at-spectrum", createSpectrum(app)),
      widths ? placed("at-widths", widths) : null,
    ]),
    createTools(app, tools),
  ]);
}

/** The tools, one of which is open. */
function createTools({ store }, tools) {
  const { element: body, open } = tabs(tools, (name) => store.set({ tool: name }));
  store.on("tool", () => open(store.get("tool")));
  return body;
}

/** Who made the page: the only address on it, which nothing is loaded from. */
function createFooter() {
  const link = element("a", { href: "https://preimage-dev.github.io/preimage/", target: "_blank", rel: "noopener", text: "preimage" });
  return element("footer", {}, ["Made with ", link]);
}

/** Compute ahead what the first answer of a model would wait for, when there is nothing else to do. */
function prepareModels(app) {
  const prepare = () => setTimeout(() => app.model().prepare());
  app.store.on("model", prepare);
  prepare();
}

/** A part of the workbench in its place; the order of parts is that of a narrow page. */
const placed = (place, part) => element("div", { class: place }, [part]);

async function start() {
  const page = document.getElementById("page");
  try {
    const app = createApp(await openPage(document));
    window.preimage = app;
    page.replaceChildren(createHeader(app), createBody(app), createFooter());
    followLink(app);
    document.documentElement.dataset.ready = "true";
    prepareModels(app);
  } catch (error) {
    page.replaceChildren(element("p", { class: "waiting", role: "alert", text: `This page could not be opened: ${error.message}` }));
    throw error;
  }
}

start();
