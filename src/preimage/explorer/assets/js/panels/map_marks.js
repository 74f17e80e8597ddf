// Marks of samples: each look is drawn once as a small picture, which is then copied to all places that need it.

import { element } from "../dom.js";

// Corners of the shapes, in units of the radius; their areas look alike.
const CORNERS = {
  square: [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
  triangle: [[0, -1.35], [1.25, 0.85], [-1.25, 0.85]],
  diamond: [[0, -1.25], [1.1, 0], [0, 1.25], [-1.1, 0]],
  plus: crossCorners(0),
  cross: crossCorners(Math.PI / 4),
};
// Marks of samples with gaps have a hole of this many radii.
const HOLE = 0.5;
// The picture of a mark is this many radii wide to each side: corners and outline fit in.
const ROOM = 1.8;

/**
 * Add the outline of a mark to the path of a drawing.
 * @param {CanvasRenderingContext2D} drawing
 * @param {string} shape
 */
function traceMark(drawing, shape, x, y, radius) {
  drawing.beginPath();
  const corners = CORNERS[shape];
  if (!corners) {
    drawing.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  for (const [dx, dy] of corners) drawing.lineTo(x + dx * radius, y + dy * radius);
  drawing.closePath();
}

/** A mark as a small picture of its own, for legends. */
export function createSwatch({ colour, shape }) {
  const size = 16;
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  const canvas = element("canvas", { class: "swatch", width: size * ratio, height: size * ratio, "aria-hidden": "true" });
  const drawing = canvas.getContext("2d");
  drawing.scale(ratio, ratio);
  traceMark(drawing, shape, size / 2, size / 2, 5);
  drawing.fillStyle = colour;
  drawing.fill();
  return canvas;
}

/**
 * The radius of marks in pixels: fewer samples have larger ones, small maps smaller ones, and zooming in makes them grow.
 * @param {number} count of samples
 * @param {Viewport} viewport
 */
export function markRadius(count, { frame, magnification }) {
  const base = Math.min(5, Math.max(2.4, 15 * count ** -0.2 - 0.2));
  return base * Math.min(1, Math.max(0.75, frame.width / 600)) * Math.min(1.8, Math.max(1, magnification ** 0.2));
}

/** Draw one mark with a thin outline in the colour of the panel, which separates marks that lie on each other. */
export function drawMark(drawing, { colour, shape, isHollow }, x, y, radius, outline) {
  traceMark(drawing, shape, x, y, radius);
  drawing.globalAlpha = 1;
  drawing.fillStyle = colour;
  drawing.fill();
  drawing.globalAlpha = 0.8;
  drawing.lineWidth = 0.27 * radius;
  drawing.strokeStyle = outline;
  drawing.stroke();
  drawing.globalAlpha = 1;
  if (!isHollow) return;
  traceMark(drawing, "circle", x, y, HOLE * radius);
  drawing.fillStyle = outline;
  drawing.fill();
}

/** The pixels of a mark on a square canvas that is used for all of them, `radius` in pixels of the screen. */
function pixelsOf(look, radius, outline, drawing) {
  const size = drawing.canvas.width;
  drawing.clearRect(0, 0, size, size);
  drawMark(drawing, look, size / 2, size / 2, radius, outline);
  return drawing.getImageData(0, 0, size, size).data;
}

function squareDrawing(size) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  return canvas.getContext("2d", { willReadFrequently: true });
}

/**
 * A picture of many marks, made pixel by pixel: five thousand take a few milliseconds, with and without a graphics card,
 * where as many calls of a canvas take several frames.
 */
export class MarkRaster {
  /**
   * @param {{width: number, height: number, ratio: number}} size in CSS pixels, and pixels of the screen for each
   * @param {{colouring: object, radius: number, outline: string}} look radius in CSS pixels
   */
  constructor({ width, height, ratio }, { colouring, radius, outline }) {
    this.ratio = ratio;
    this.image = new ImageData(Math.ceil(width * ratio), Math.ceil(height * ratio));
    this.half = Math.ceil(radius * ROOM * ratio);
    const drawing = squareDrawing(2 * this.half);
    this.pixels = (mark, isHollow) => pixelsOf({ ...colouring.look(mark), isHollow }, radius * ratio, outline, drawing);
    this.colouring = colouring;
    this.known = new Map();
  }

  /** Add the mark of a sample at a place in CSS pixels. */
  add(sample, x, y, isHollow = false) {
    const mark = this.colouring.mark(sample);
    const key = `${mark} ${isHollow}`;
    if (!this.known.has(key)) this.known.set(key, this.pixels(mark, isHollow));
    this.#copy(this.known.get(key), Math.round(x * this.ratio) - this.half, Math.round(y * this.ratio) - this.half);
  }

  /** Put pixels over those that are there, as far as they are within the picture. */
  #copy(pixels, left, top) {
    const { data, width, height } = this.image;
    const size = 2 * this.half;
    for (let row = Math.max(0, -top); row < Math.min(size, height - top); row += 1) {
      for (let column = Math.max(0, -left); column < Math.min(size, width - left); column += 1) {
        const from = 4 * (row * size + column);
        if (pixels[from + 3]) cover(data, 4 * ((top + row) * width + left + column), pixels, from);
      }
    }
  }

  /** Put the picture on a canvas, which takes its size. */
  paint(canvas) {
    const { width, height } = this.image;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    canvas.getContext("2d").putImageData(this.image, 0, 0);
  }
}

/** One pixel over another, both with opacity: the rule "over" of Porter and Duff. */
function cover(below, at, above, from) {
  const opacity = above[from + 3] / 255;
  const left = (below[at + 3] / 255) * (1 - opacity);
  const total = opacity + left;
  for (let i = 0; i < 3; i += 1) below[at + i] = (opacity * above[from + i] + left * below[at + i]) / total;
  below[at + 3] = 255 * total;
}

function crossCorners(angle) {
  const [arm, half] = [1.25, 0.42];
  const corners = [];
  for (let quarter = 0; quarter < 4; quarter += 1) {
    const turn = angle + (quarter * Math.PI) / 2;
    for (const [x, y] of [[arm, -half], [arm, half], [half, half]]) {
      corners.push([x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]);
    }
  }
  return corners;
}
