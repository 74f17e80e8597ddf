// A part of the page as a figure: its pictures and their captions, where they stand.

import { element, svg } from "../dom.js";

const PARTS = "canvas, svg, figcaption, h3, label";
// What a drawing has from the style sheet, which does not travel with it. Attributes, because the policy of the page
// refuses styles that stand in elements.
const INHERITED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "visibility",
];
const MARGIN = 8;
// Pixels of a file for each of the screen: programs that smooth pictures must not blur pixels that are meant to be seen.
const SHARP = 2;

/**
 * @param {HTMLElement} part
 * @returns {{svg: SVGElement, width: number, height: number}}
 */
export function pageFigure(part) {
  const nodes = [...part.querySelectorAll(PARTS)].filter((node) => node.getClientRects().length > 0 && !node.closest("svg svg, button"));
  const boxes = nodes.map((node) => node.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((box) => box.left)) - MARGIN, Math.min(...boxes.map((box) => box.top)) - MARGIN];
  const width = Math.ceil(Math.max(...boxes.map((box) => box.right)) - left + MARGIN);
  const height = Math.ceil(Math.max(...boxes.map((box) => box.bottom)) - top + MARGIN);
  const paper = svg("rect", { width, height, fill: getComputedStyle(part).getPropertyValue("--panel").trim() });
  const drawn = nodes.map((node, i) => drawnNode(node, { x: boxes[i].left - left, y: boxes[i].top - top, width: boxes[i].width, height: boxes[i].height }));
  return { svg: svg("svg", {}, [paper, ...drawn]), width, height };
}

function drawnNode(node, box) {
  if (node.tagName === "CANVAS") return svg("image", { ...box, href: pixelsOf(node, box), preserveAspectRatio: "none" });
  if (node.tagName.toLowerCase() === "svg") return drawingOf(node, box);
  return textOf(node, box);
}

function pixelsOf(canvas, box) {
  const isSharp = getComputedStyle(canvas).imageRendering === "pixelated";
  const times = isSharp ? Math.max(1, Math.ceil((SHARP * box.width) / canvas.width)) : 1;
  const copy = element("canvas", { width: times * canvas.width, height: times * canvas.height });
  const drawing = copy.getContext("2d");
  drawing.imageSmoothingEnabled = false;
  drawing.drawImage(canvas, 0, 0, copy.width, copy.height);
  return copy.toDataURL();
}

function drawingOf(node, box) {
  const copy = node.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [node, ...node.querySelectorAll("*")].forEach((original, i) => {
    const style = getComputedStyle(original);
    for (const name of ["class", "style"]) copies[i].removeAttribute(name);
    for (const name of INHERITED) copies[i].setAttribute(name, style.getPropertyValue(name));
  });
  if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, String(value));
  for (const name of ["role", "tabindex", "aria-label"]) copy.removeAttribute(name);
  return copy;
}

function textOf(node, { x, y, width, height }) {
  const style = getComputedStyle(node);
  const size = parseFloat(style.fontSize);
  const isCentred = style.textAlign === "center";
  return svg("text", {
    x: isCentred ? x + width / 2 : x, y: y + height / 2 + 0.35 * size, fill: style.color, text: node.textContent,
    "text-anchor": isCentred ? "middle" : "start",
    "font-size": size, "font-weight": style.fontWeight, "font-family": style.fontFamily,
  });
}
