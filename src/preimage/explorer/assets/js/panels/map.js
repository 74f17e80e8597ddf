import { panel } from "../dom.js";

/** Map. */
export function createMap(app) {
  return panel("Map", "", [], { class: "map" });
}
