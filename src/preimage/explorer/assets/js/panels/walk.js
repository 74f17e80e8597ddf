import { panel } from "../dom.js";

/** Walk. */
export function createWalk(app) {
  return panel("Walk", "", [], { class: "walk" });
}
