import { panel } from "../dom.js";

/** Widths. */
export function createWidths(app) {
  return panel("Widths", "", [], { class: "widths" });
}
