import { panel } from "../dom.js";

/** Components. */
export function createComponents(app) {
  return panel("Components", "", [], { class: "components" });
}
