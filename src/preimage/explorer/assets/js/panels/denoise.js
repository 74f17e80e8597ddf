import { panel } from "../dom.js";

/** Denoise. */
export function createDenoise(app) {
  return panel("Denoise", "", [], { class: "denoise" });
}
