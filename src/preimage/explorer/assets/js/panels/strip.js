// Rows of small pictures, each with a caption; frames can be clicked where that has a meaning.

import { element } from "../dom.js";

/**
 * A strip of pictures that share the scale of the view.
 * @param {object} view of the page
 * @param {string[]} captions one per frame
 * @param {{label: string, onpick?: (frame: number) => void}} options `label` says what the strip shows
 * @returns {{element: HTMLElement, show: Function, caption: Function, mark: Function}} `show(frame, row or null)`,
 *   `caption(frame, text)` and `mark(frame or null)`, which puts a border around one frame
 */
export function createStrip(view, captions, { label, onpick = null }) {
  const frames = captions.map((text, number) => {
    const picture = view.picture({ size: "small", what: "value" });
    const caption = element("figcaption", { text });
    const figure = element("figure", { class: onpick ? "frame pick" : "frame" }, [picture.element, caption]);
    if (onpick) figure.addEventListener("click", () => onpick(number));
    return { picture, caption, figure };
  });
  return {
    element: element("div", { class: "strip", role: "group", "aria-label": label }, frames.map(({ figure }) => figure)),
    show: (number, row) => frames[number].picture.show(row),
    caption: (number, text) => { frames[number].caption.textContent = text; },
    mark: (number) => frames.forEach(({ figure }, other) => figure.classList.toggle("marked", other === number)),
  };
}

/**
 * A picture below a caption that may change: `{element, show(row), caption(text)}`.
 * @param {object} view of the page
 * @param {string} text
 * @param {{size?: string, what?: string}} options
 */
export function captioned(view, text, { size = "medium", what = "value" } = {}) {
  const picture = view.picture({ size, what });
  const caption = element("figcaption", { text });
  const scale = what === "value" ? null : view.scale({ what });
  return {
    element: element("figure", { class: "captioned" }, [caption, picture.element, scale]),
    show: (row) => picture.show(row),
    caption: (words) => { caption.textContent = words; },
  };
}
