// The stage of the map: three canvases on each other, what is drawn on them when, and what gestures do.

import { button } from "../controls.js";
import { element, isVisible, oncePerFrame } from "../dom.js";
import { createLens } from "./lens.js";
import { Background } from "./map_background.js";
import { createColouring } from "./map_colouring.js";
import { listenToGestures, listenToKeys } from "./map_gestures.js";
import { Layer, drawMarks, drawOverlay, placeViewport } from "./map_layers.js";
import { Viewport } from "./map_viewport.js";
import { FILTERS, SPREAD, mapSamples } from "./shown_samples.js";

// A click this many pixels from a sample or nearer selects it; a fingertip covers about as much.
const REACH = 22;
// Arrow keys move the place that is explored by this fraction of the map.
const KEY_STEP = 1 / 50;
const LAYERS = ["haze", "marks", "overlay"];
const KEYS = "Arrow keys explore, Shift and arrows move the map, plus and minus zoom, 0 shows all, Enter selects the "
  + "nearest sample, Escape ends the selection.";

/** The canvases of the map (`element`), and the buttons that zoom (`buttons`). */
export class Stage {
  constructor(app) {
    this.app = app;
    this.viewport = new Viewport();
    this.colouring = createColouring(app, app.store.get("colour"));
    const canvases = [
      ...LAYERS.slice(0, 2).map((name) => element("canvas", { class: `map-${name}`, "aria-hidden": "true" })),
      element("canvas", { class: "map-overlay", tabindex: 0, role: "application", "aria-label": `Map of the samples. ${KEYS}` }),
    ];
    this.surface = canvases[2];
    /** Samples with gaps have hollow marks. */
    this.isHollow = (sample) => app.samples.gaps(sample) !== null;
    this.layers = canvases.map((canvas) => new Layer(canvas));
    this.lens = createLens(app, this.viewport);
    this.element = element("div", { class: "map-stage" }, [...canvases, this.lens.element]);
    this.buttons = this.#zoomButtons();
    this.draw = oncePerFrame(() => this.#draw(LAYERS));
    this.drawOverlay = oncePerFrame(() => this.#draw(["overlay"]));
    this.background = new Background(app, oncePerFrame(() => this.#draw(["haze"])));
    this.viewport.fit(...mapSamples(app).ranges);
    this.#followStore();
    this.#followUser();
  }

  #zoomButtons() {
    return element("div", { class: "map-zoom" }, [
      button({ text: "+", label: "Zoom in", title: "Zoom in", onclick: () => this.#zoom(1.5, ...this.#middle()) }),
      button({ text: "−", label: "Zoom out", title: "Zoom out", onclick: () => this.#zoom(1 / 1.5, ...this.#middle()) }),
      button({ text: "All", label: "Show the whole map", title: "Show the whole map", onclick: () => this.#reset() }),
    ]);
  }

  #followStore() {
    const { store } = this.app;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.draw);
    const recolour = () => { this.colouring = createColouring(this.app, store.get("colour")); };
    store.on(["colour", "model"], recolour);
    store.on("q", () => { if (store.get("colour") === "novelty") { recolour(); this.draw(); } });
    store.on(["model", "across", "up"], () => { this.viewport.fit(...mapSamples(this.app).ranges); this.#moved(); });
    store.on("shown", () => {
      const shown = store.get("shown");
      if (shown === null || shown === this.viewport.shown) return;
      this.viewport.show(shown);
      this.#moved();
    });
    store.on(["theme", "colour", "haze", ...FILTERS], this.draw);
    store.on(["pointer", "selected", "trail"], this.drawOverlay);
    store.on(["q", "others", "haze", ...FILTERS], () => this.background.restart(this.viewport.shown));
  }

  #followUser() {
    new ResizeObserver(() => this.#resize()).observe(this.element);
    const drag = (dx, dy) => { this.viewport.pan(dx, dy); this.#moved(); };
    const zoom = (factor, x, y) => this.#zoom(factor, x, y);
    listenToGestures(this.surface, {
      drag, zoom, explore: (x, y) => this.#explore(x, y), choose: (x, y) => this.#choose(x, y),
    });
    listenToKeys(this.surface, {
      step: (dx, dy) => this.#step(dx, dy),
      drag: (dx, dy) => drag(-40 * dx, -40 * dy),
      choose: () => this.#chooseByKey(),
      zoom: (factor) => zoom(factor, ...this.#explored()),
      reset: () => this.#reset(),
      clear: () => this.app.store.set({ selected: null }),
    });
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const isFirst = this.layers[0].width === undefined;
    for (const layer of this.layers) layer.resize(width, height, Math.max(1, window.devicePixelRatio || 1));
    placeViewport(this.viewport, width, height);
    this.#draw(LAYERS);
    this.lens.update();
    if (isFirst) this.background.restart(this.viewport.shown);
  }

  #moved() {
    const { shown, whole } = this.viewport;
    // The whole map needs no mention in a link: it depends on the components.
    this.app.store.set({ shown: shown === whole ? null : shown });
    this.draw();
    this.lens.update();
    this.background.restart(this.viewport.shown);
  }

  #reset() {
    this.viewport.reset();
    this.#moved();
  }

  #zoom(factor, x, y) {
    const hasChanged = this.viewport.zoom(factor, x, y);
    if (hasChanged) this.#moved();
    return hasChanged;
  }

  #explore(x, y) {
    if (!this.viewport.contains(x, y)) return;
    this.background.touch();
    this.app.store.set({ pointer: this.viewport.at(x, y) });
  }

  /** Select the sample at a place; without one there the place is explored and nothing is selected. */
  #choose(x, y) {
    this.#explore(x, y);
    const samples = mapSamples(this.app);
    const nearest = samples.nearest(this.viewport.at(x, y));
    if (nearest === null) return;
    const distance = Math.hypot(this.viewport.x(samples.across[nearest]) - x, this.viewport.y(samples.up[nearest]) - y);
    if (distance <= REACH) this.app.store.set({ selected: nearest });
  }

  /** The pixel of the place that is explored; the middle of the map before there is one. */
  #explored() {
    const pointer = this.app.store.get("pointer");
    return pointer ? [this.viewport.x(pointer.across), this.viewport.y(pointer.up)] : this.#middle();
  }

  #middle() {
    const { frame } = this.viewport;
    return [frame.x + frame.width / 2, frame.y + frame.height / 2];
  }

  #step(dx, dy) {
    const { frame } = this.viewport;
    const [x, y] = this.#explored();
    const step = frame.width * KEY_STEP;
    const inside = (value, low, size) => Math.min(low + size, Math.max(low, value));
    this.#explore(inside(x + dx * step, frame.x, frame.width), inside(y + dy * step, frame.y, frame.height));
  }

  #chooseByKey() {
    const nearest = mapSamples(this.app).nearest(this.viewport.at(...this.#explored()));
    if (nearest !== null) this.app.store.set({ selected: nearest });
  }

  #theme() {
    const style = getComputedStyle(this.element);
    const names = ["ink", "soft", "line", "panel", "accent"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  /** What is drawn, for a figure of it. */
  scene() {
    const theme = this.#theme();
    const { width, height } = this.layers[0];
    const samples = mapSamples(this.app);
    return {
      viewport: this.viewport, width, height, theme, samples, colouring: this.colouring, names: this.#axisNames(samples),
      isHollow: this.isHollow, haze: this.background.picture(theme), overlay: { ...this.#overlay(samples), theme, pointer: null, nearest: null },
    };
  }

  #axisNames(samples) {
    const { component_names: components } = this.app.data.models[this.app.store.get("model")];
    const [across, up] = samples.axes.map((number) => components[number]);
    return [across, samples.isOneComponent ? SPREAD : up];
  }

  #overlay(samples) {
    const [pointer, selected, trail] = ["pointer", "selected", "trail"].map((key) => this.app.store.get(key));
    return { samples, pointer, selected, trail, nearest: pointer ? samples.nearest(pointer) : null };
  }

  #draw(names) {
    if (this.layers[0].width === undefined || !isVisible(this.element)) return;
    const theme = this.#theme();
    const samples = mapSamples(this.app);
    const [haze, marks, overlay] = this.layers;
    if (names.includes("haze")) this.background.draw(haze, this.viewport, theme);
    if (names.includes("marks")) {
      drawMarks(marks, this.viewport, { samples, colouring: this.colouring, theme, names: this.#axisNames(samples), isHollow: this.isHollow });
    }
    if (names.includes("overlay")) drawOverlay(overlay, this.viewport, { ...this.#overlay(samples), theme });
  }
}
