// Figures as files: SVG as it is, PNG as the browser draws it.

import { element } from "../dom.js";

// Pixels of a PNG for each of the page: sharp in print at the size that it has on the screen.
const SCALE = 3;
// Canvases with more pixels fail without a word in some browsers.
const MOST_PIXELS = 60_000_000;

/**
 * Buttons that write a figure.
 * @param {string} what is written, for screen readers: "the map"
 * @param {() => {svg: SVGElement, width: number, height: number}} make
 * @param {() => string} nameOf the file, without its ending
 */
export function exportButtons(what, make, nameOf) {
  const one = (kind, save) => element("button", {
    type: "button", text: kind, title: `Write ${what} to a file`, "aria-label": `Write ${what} to a ${kind} file`,
    onclick: () => save(make(), fileName(nameOf())),
  });
  return element("span", { class: "export", role: "group", "aria-label": `Files of ${what}` }, [
    element("span", { text: "Save" }), one("PNG", savePng), one("SVG", saveSvg),
  ]);
}

/** Letters, digits and hyphens of any language; what systems treat as special is left out. */
function fileName(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "preimage";
}

function saveSvg(figure, name) {
  download(new Blob([written(figure)], { type: "image/svg+xml" }), `${name}.svg`);
}

async function savePng(figure, name) {
  const { width, height } = figure;
  const scale = Math.min(SCALE, Math.sqrt(MOST_PIXELS / (width * height)));
  const picture = new Image();
  const address = URL.createObjectURL(new Blob([written(figure)], { type: "image/svg+xml" }));
  picture.src = address;
  await picture.decode();
  const canvas = element("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  canvas.toBlob((blob) => download(blob, `${name}.png`), "image/png");
}

function written({ svg, width, height }) {
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return new XMLSerializer().serializeToString(svg);
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  // The browser reads it after this function has returned.
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
