// What is drawn on the map, layer by layer: haze, axes, marks, and what the pointer and the selection show.

import { ticks } from "../views/ticks.js";
import { MarkRaster, markRadius } from "./map_marks.js";

// Pixels around the plane, for numbers and names of the axes.
const MARGIN = { left: 66, right: 8, top: 8, bottom: 38 };
// Of these, what the name of the upper axis takes, and the space between numbers and the plane.
const NAME = 17;
const SPACE = 6;
export const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
// Pixels between two numbers of an axis, at least about.
const TICK_DISTANCE = 80;

/** A canvas that has as many pixels as its element on the screen. */
export class Layer {
  constructor(canvas) {
    this.canvas = canvas;
    this.drawing = canvas.getContext("2d");
    // Pictures that are made pixel by pixel; one canvas for all, because new ones in every frame of a drag cost memory.
    this.scratch = document.createElement("canvas");
  }

  /** Take a size in CSS pixels. */
  resize(width, height, ratio) {
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    Object.assign(this, { width, height, ratio });
  }

  /** Wipe everything, and draw with CSS pixels as units. */
  begin() {
    const { drawing, ratio } = this;
    drawing.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawing.clearRect(0, 0, this.width, this.height);
    drawing.font = FONT;
    return drawing;
  }
}

/** Where the plane lies on a canvas of the given size. */
export function placeViewport(viewport, width, height) {
  viewport.place(MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom);
}

/** Limit a drawing to the plane while `draw` runs. */
function within({ frame }, drawing, draw) {
  drawing.save();
  drawing.beginPath();
  drawing.rect(frame.x, frame.y, frame.width, frame.height);
  drawing.clip();
  draw();
  drawing.restore();
}

/** Draw the picture of the haze (or nothing) over the area that it was computed for. */
export function drawHaze(layer, viewport, picture, area) {
  const drawing = layer.begin();
  if (!picture) return;
  // Nodes are the middles of pixels: the picture reaches half a pixel farther than the area on each side.
  const [x, y] = [viewport.x(area.left), viewport.y(area.top)];
  const stepX = (viewport.x(area.right) - x) / (picture.width - 1);
  const stepY = (viewport.y(area.bottom) - y) / (picture.height - 1);
  within(viewport, drawing, () => {
    drawing.imageSmoothingEnabled = true;
    drawing.imageSmoothingQuality = "high";
    drawing.drawImage(picture, x - stepX / 2, y - stepY / 2, stepX * picture.width, stepY * picture.height);
  });
}

/** Draw lines between pairs of places, on what is there. */
export function drawBorders(drawing, viewport, lines, theme) {
  if (!lines.length) return;
  within(viewport, drawing, () => {
    drawing.beginPath();
    for (const [[x, y], [toX, toY]] of lines) {
      drawing.moveTo(viewport.x(x), viewport.y(y));
      drawing.lineTo(viewport.x(toX), viewport.y(toY));
    }
    strokeWithHalo(drawing, theme.ink, 1.5, theme.panel);
  });
}

/** Draw axes and the marks of the shown samples. */
export function drawMarks(layer, viewport, { samples, colouring, theme, names, isHollow }) {
  const drawing = layer.begin();
  drawAxes(drawing, viewport, theme, names);
  const { frame } = viewport;
  const look = { colouring, outline: theme.panel, radius: markRadius(samples.across.length, viewport) };
  const marks = new MarkRaster({ width: frame.width, height: frame.height, ratio: layer.ratio }, look);
  for (const i of samples.shown) {
    marks.add(i, viewport.x(samples.across[i]) - frame.x, viewport.y(samples.up[i]) - frame.y, isHollow(i));
  }
  marks.paint(layer.scratch);
  drawing.drawImage(layer.scratch, frame.x, frame.y, layer.scratch.width / layer.ratio, layer.scratch.height / layer.ratio);
}

/** Draw the frame of the plane, its grid, numbers and names. */
export function drawAxes(drawing, viewport, theme, [acrossName, upName]) {
  const { frame, shown } = viewport;
  const horizontal = ticks(shown.left, shown.right, frame.width / TICK_DISTANCE);
  const vertical = ticks(shown.bottom, shown.top, frame.height / (TICK_DISTANCE * 0.7));
  drawing.lineWidth = 1;
  drawing.strokeStyle = theme.line;
  drawing.strokeRect(frame.x + 0.5, frame.y + 0.5, frame.width - 1, frame.height - 1);
  for (const value of horizontal.values) drawLine(drawing, viewport.x(value), frame.y, 0, frame.height, value === 0);
  for (const value of vertical.values) drawLine(drawing, frame.x, viewport.y(value), frame.width, 0, value === 0);
  drawing.fillStyle = theme.soft;
  drawing.textAlign = "center";
  drawing.textBaseline = "top";
  const bottom = frame.y + frame.height;
  for (const value of horizontal.values) {
    const text = horizontal.format(value);
    const most = frame.x + frame.width + MARGIN.right - drawing.measureText(text).width / 2;
    drawing.fillText(text, Math.min(viewport.x(value), most), bottom + 5);
  }
  drawing.fillText(shortened(drawing, acrossName, frame.width), frame.x + frame.width / 2, bottom + 21);
  drawing.textAlign = "right";
  drawing.textBaseline = "middle";
  const room = MARGIN.left - NAME - SPACE;
  for (const value of vertical.values) drawing.fillText(vertical.format(value), frame.x - SPACE, viewport.y(value), room);
  drawing.save();
  drawing.translate(8, frame.y + frame.height / 2);
  drawing.rotate(-Math.PI / 2);
  drawing.textAlign = "center";
  drawing.fillText(shortened(drawing, upName, frame.height), 0, 0);
  drawing.restore();
}

function drawLine(drawing, x, y, dx, dy, isZero) {
  drawing.globalAlpha = isZero ? 1 : 0.45;
  drawing.beginPath();
  drawing.moveTo(x, y);
  drawing.lineTo(x + dx, y + dy);
  drawing.stroke();
  drawing.globalAlpha = 1;
}

function shortened(drawing, text, width) {
  if (drawing.measureText(text).width <= width) return text;
  let length = Math.min(text.length, 200);
  while (length > 1 && drawing.measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
  return `${text.slice(0, length)}…`;
}

/** Draw the place that is explored, the sample nearest to it, the selected sample, and a path with its ends. */
export function drawOverlay(layer, viewport, { samples, pointer, nearest, selected, trail, theme }) {
  const drawing = layer.begin();
  const radius = markRadius(samples.across.length, viewport) + 3;
  within(viewport, drawing, () => {
    if (trail && !samples.isOneComponent) drawTrail(drawing, viewport, samples.axes, trail, theme);
    if (nearest !== null) drawRing(drawing, viewport, samples, nearest, radius, [theme.ink, 1.5], theme.panel);
    if (selected !== null) drawRing(drawing, viewport, samples, selected, radius + 1.5, [theme.accent, 3], theme.panel);
    if (pointer) drawCross(drawing, viewport.x(pointer.across), viewport.y(pointer.up), theme);
  });
}

function drawRing(drawing, viewport, samples, sample, radius, [colour, width], halo) {
  drawing.beginPath();
  drawing.arc(viewport.x(samples.across[sample]), viewport.y(samples.up[sample]), radius, 0, 2 * Math.PI);
  strokeWithHalo(drawing, colour, width, halo);
}

function drawCross(drawing, x, y, theme) {
  drawing.beginPath();
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    drawing.moveTo(x + 3 * dx, y + 3 * dy);
    drawing.lineTo(x + 10 * dx, y + 10 * dy);
  }
  strokeWithHalo(drawing, theme.ink, 1.5, theme.panel);
}

function drawTrail(drawing, viewport, [across, up], trail, theme) {
  const places = trail.map((y) => [viewport.x(y[across]), viewport.y(y[up])]);
  drawing.beginPath();
  for (const [x, y] of places) drawing.lineTo(x, y);
  strokeWithHalo(drawing, theme.accent, 2, theme.panel);
  drawing.font = `bold ${FONT}`;
  drawing.textAlign = "center";
  drawing.textBaseline = "bottom";
  [[places[0], "A"], [places[places.length - 1], "B"]].forEach(([[x, y], name]) => {
    drawing.lineWidth = 4;
    drawing.strokeStyle = theme.panel;
    drawing.strokeText(name, x, y - 8);
    drawing.fillStyle = theme.accent;
    drawing.fillText(name, x, y - 8);
  });
}

/** Stroke the present path twice, so that it is seen on marks of any colour. */
function strokeWithHalo(drawing, colour, width, halo) {
  drawing.lineWidth = width + 2.5;
  drawing.strokeStyle = halo;
  drawing.stroke();
  drawing.lineWidth = width;
  drawing.strokeStyle = colour;
  drawing.stroke();
}
