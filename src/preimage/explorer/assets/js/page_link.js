// A view of the page as the end of its address, so that a link brings it back. Nothing is sent: what follows the # of an
// address stays in the browser.

import { hazesOf } from "./panels/map_haze.js";

// What is told by a number from a list, by a place on the map, and by one of a few words.
const NUMBERS = { model: "model", q: "components", across: "x", up: "y", selected: "row" };
const WORDS = { colour: "colour", others: "others", haze: "shade", tool: "tool", theme: "theme" };
const THEMES = ["light", "dark"];
const OTHERS = ["average", "nearest", "zero"];
// Digits of coordinates: a thousandth of what is seen on a screen.
const DIGITS = 6;

/** What brings the present view back, without the #. */
export function linkOf({ store }) {
  const parts = new URLSearchParams();
  // Components and models are counted from one, as the page names them.
  for (const [key, name] of Object.entries(NUMBERS)) {
    const value = store.get(key);
    if (Number.isInteger(value)) parts.set(name, String(key === "q" || key === "selected" ? value : value + 1));
  }
  for (const [key, name] of Object.entries(WORDS)) if (store.get(key)) parts.set(name, store.get(key));
  const { pointer, walk, shown } = Object.fromEntries(["pointer", "walk", "shown"].map((key) => [key, store.get(key)]));
  if (pointer) parts.set("at", numbers([pointer.across, pointer.up]));
  if (walk) parts.set("walk", `${walk.a},${walk.b}`);
  if (shown) parts.set("map", numbers([shown.left, shown.right, shown.bottom, shown.top]));
  if (store.get("hidden").size > 0) parts.set("hidden", [...store.get("hidden")].join(","));
  parts.set("lens", store.get("lens") ? "1" : "0");
  return parts.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
}

/**
 * The changes of the store that a link asks for. What does not fit the page, or cannot be read, is left out: a link may
 * come from another page, or from a hand.
 */
export function changesOf(app, link) {
  const parts = new URLSearchParams(link);
  const changes = {};
  const { data, models, samples } = app;
  const model = whole(parts.get("model"), 1, models.length) ?? app.store.get("model") + 1;
  const { k } = models[model - 1];
  const put = (key, value) => { if (value !== null && value !== undefined) changes[key] = value; };
  put("model", model - 1);
  put("q", whole(parts.get("components"), 1, k));
  for (const key of ["across", "up"]) {
    const component = whole(parts.get(NUMBERS[key]), 1, k);
    put(key, component === null ? null : component - 1);
  }
  put("selected", whole(parts.get("row"), 0, samples.count - 1));
  put("colour", colourOf(parts.get("colour"), data.samples, k));
  put("others", OTHERS.find((word) => word === parts.get("others")));
  put("haze", hazesOf(data.models[model - 1]).find(({ value }) => value === parts.get("shade"))?.value);
  put("tool", ["walk", "components", "denoise"].find((word) => word === parts.get("tool")));
  put("theme", THEMES.find((word) => word === parts.get("theme")));
  const at = finite(parts.get("at"), 2);
  if (at) changes.pointer = { across: at[0], up: at[1] };
  const map = finite(parts.get("map"), 4);
  if (map && map[0] < map[1] && map[2] < map[3]) changes.shown = { left: map[0], right: map[1], bottom: map[2], top: map[3] };
  const [a, b] = (parts.get("walk") ?? "").split(",");
  if (isPlace(a, samples) && isPlace(b, samples)) changes.walk = { a, b };
  const hidden = (parts.get("hidden") ?? "").split(",").filter((code) => /^-?\d+$/.test(code)).map(Number);
  if (hidden.length) changes.hidden = new Set(hidden);
  if (["0", "1"].includes(parts.get("lens"))) changes.lens = parts.get("lens") === "1";
  return changes;
}

const numbers = (list) => list.map((value) => Number(value.toPrecision(DIGITS))).join(",");

function finite(text, count) {
  const list = (text ?? "").split(",").map((part) => (part.trim() === "" ? NaN : Number(part)));
  return list.length === count && list.every(Number.isFinite) ? list : null;
}

function whole(text, low, high) {
  const value = /^\d{1,9}$/.test(text ?? "") ? Number(text) : NaN;
  return value >= low && value <= high ? value : null;
}

function colourOf(text, { labels, columns }, k) {
  const [kind, number] = (text ?? "").split(":");
  if (kind === "labels") return labels ? text : null;
  if (kind === "column") return whole(number, 0, columns.length - 1) === null ? null : text;
  if (kind === "component") return whole(number, 0, k - 1) === null ? null : text;
  return ["novelty", "none", "gaps", "decision"].includes(text) ? text : null;
}

function isPlace(key, { count, labels }) {
  const [kind, number] = (key ?? "").split(":");
  if (kind === "mean") return key === "mean";
  if (kind === "sample") return whole(number, 0, count - 1) !== null;
  return kind === "label" && labels !== null && whole(number, 0, labels.names.length - 1) !== null && labels.codes.values.includes(Number(number));
}
