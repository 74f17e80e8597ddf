import { panel } from "../dom.js";

/** Inspector. */
export function createInspector(app) {
  return panel("Inspector", "", [], { class: "inspector" });
}
