// The spectrum: what each component explains, and a handle for how many of them are in use everywhere.

import { element, formatted, panel, svg } from "../dom.js";

const HINT = "Drag the handle, or use the arrow keys: all views use the components to its left.";
const HEIGHT = 120;
const MARGIN = { left: 16, right: 16, top: 8, bottom: 24 };

/** The spectrum with its handle. */
export function createSpectrum(app) {
  const { store } = app;
  const drawing = svg("svg", { class: "spectrum-drawing", height: HEIGHT, "aria-hidden": "true" });
  const chart = element("div", {
    class: "spectrum-chart", role: "slider", tabindex: 0, "aria-label": "Components in use", "aria-valuemin": 1,
  }, [drawing]);
  const text = element("p", { class: "spectrum-text" });
  const draw = () => {
    const record = app.data.models[store.get("model")];
    const q = store.get("q");
    text.textContent = sentence(record, q);
    chart.setAttribute("aria-valuemax", app.model().k);
    chart.setAttribute("aria-valuenow", q);
    chart.setAttribute("aria-valuetext", text.textContent);
    if (chart.clientWidth > 0) drawing.replaceChildren(...shapes(record, q, chart.clientWidth));
  };
  const choose = (q) => store.set({ q: Math.min(app.model().k, Math.max(1, q)) });
  listenToPointer(chart, (x) => choose(componentAt(x, chart.clientWidth, app.model().k)));
  listenToKeys(chart, (change) => choose(change(store.get("q"), app.model().k)));
  store.on(["q", "model"], draw);
  new ResizeObserver(draw).observe(chart);
  draw();
  return panel("Spectrum", HINT, [chart, text], { class: "spectrum", "data-panel": "spectrum" });
}

/** What is drawn for each component: the explained fraction, or the eigenvalue where there is no such fraction. */
function heightsOf(record) {
  return Array.from((record.explained ?? record.eigenvalues).values, Math.abs);
}

function sentence(record, q) {
  const { explained } = record;
  const k = record.eigenvalues.values.length;
  const use = `${q} of ${k} component${k === 1 ? "" : "s"} in use`;
  if (!explained) return `${use}; bars are eigenvalues, the last one in use is ${formatted(record.eigenvalues.values[q - 1])}.`;
  const sum = explained.values.subarray(0, q).reduce((total, value) => total + value, 0);
  return `${use}: ${(100 * sum).toFixed(1)} % of the variance in feature space.`;
}

const plotWidth = (width) => Math.max(1, width - MARGIN.left - MARGIN.right);

/** The number of components to the left of a pixel. */
function componentAt(x, width, k) {
  return Math.round(((x - MARGIN.left) / plotWidth(width)) * k);
}

function shapes(record, q, width) {
  const heights = heightsOf(record);
  const step = plotWidth(width) / heights.length;
  const room = HEIGHT - MARGIN.top - MARGIN.bottom;
  const base = MARGIN.top + room;
  const most = Math.max(...heights) || 1;
  const bars = heights.map((value, j) => {
    const height = Math.max(1, (value / most) * room);
    const place = { x: MARGIN.left + j * step, y: base - height, width: step - Math.min(2, step / 4), height };
    const amount = record.explained ? `${(100 * value).toFixed(2)} %` : formatted(record.eigenvalues.values[j]);
    const name = svg("title", { text: `${record.component_names[j]}: ${amount}` });
    return svg("rect", { class: j < q ? "bar in-use" : "bar", ...place }, [name]);
  });
  const axis = svg("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: base, y2: base });
  const numbers = ends(heights.length, q, width, base);
  return [...bars, axis, ...sumLine(record, step, base, room), ...numbers, handle(MARGIN.left + q * step, base, q)];
}

/** The sum of the explained fractions so far, from nothing at the bottom to all of the variance at the top. */
function sumLine(record, step, base, room) {
  if (!record.explained) return [];
  let sum = 0;
  const points = Array.from(record.explained.values, (value, j) => {
    sum += value;
    return `${(MARGIN.left + (j + 1) * step).toFixed(1)},${(base - Math.min(1, sum) * room).toFixed(1)}`;
  });
  return [svg("polyline", { class: "sum", points: `${MARGIN.left},${base} ${points.join(" ")}` })];
}

function ends(k, q, width, base) {
  const last = svg("text", { class: "tick", x: width - MARGIN.right, y: base + 17, "text-anchor": "middle", text: String(k) });
  // The number of the handle must not lie on that of the last component.
  const isFree = ((k - q) / k) * plotWidth(width) > 40;
  return [svg("text", { class: "tick", x: MARGIN.left, y: base + 17, "text-anchor": "middle", text: "0" }), ...(isFree ? [last] : [])];
}

function handle(x, base, q) {
  const text = String(q);
  const width = 12 + 7 * text.length;
  return svg("g", { class: "handle" }, [
    svg("line", { x1: x, x2: x, y1: 2, y2: base + 6 }),
    svg("rect", { x: x - width / 2, y: base + 5, width, height: 18, rx: 9 }),
    svg("text", { x, y: base + 18, "text-anchor": "middle", text }),
  ]);
}

function listenToPointer(chart, choose) {
  const at = (event) => choose(event.clientX - chart.getBoundingClientRect().left);
  chart.addEventListener("pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    at(event);
  });
  chart.addEventListener("pointermove", (event) => { if (chart.hasPointerCapture(event.pointerId)) at(event); });
}

function listenToKeys(chart, change) {
  const page = (k) => Math.max(1, Math.round(k / 10));
  const meanings = {
    ArrowRight: (q) => q + 1, ArrowUp: (q) => q + 1, ArrowLeft: (q) => q - 1, ArrowDown: (q) => q - 1,
    PageUp: (q, k) => q + page(k), PageDown: (q, k) => q - page(k), Home: () => 1, End: (q, k) => k,
  };
  chart.addEventListener("keydown", (event) => {
    if (!meanings[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    change(meanings[event.key]);
    event.preventDefault();
  });
}
