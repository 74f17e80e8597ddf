import { panel } from "../dom.js";

/** Spectrum. */
export function createSpectrum(app) {
  return panel("Spectrum", "", [], { class: "spectrum" });
}
