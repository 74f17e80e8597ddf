// The map as a figure: what the stage shows, drawn as lines and texts, with its legend.

import { element, svg } from "../dom.js";
import { FONT, drawAxes, drawBorders, drawHaze, drawOverlay } from "../panels/map_layers.js";
import { drawMark, markRadius } from "../panels/map_marks.js";
import { SvgDrawing } from "./svg_drawing.js";

// Pixels of a line of the legend, of a mark in it, and between its entries.
const [LINE, SWATCH, SPACE] = [20, 16, 14];
const BAR = [160, 10];

/**
 * @param {object} scene what the stage draws: `{viewport, width, height, theme, samples, colouring, names, haze, overlay}`
 * @returns {{svg: SVGElement, width: number, height: number}}
 */
export function mapFigure({ viewport, width, height, theme, samples, colouring, names, haze, overlay, isHollow }) {
  const drawing = new SvgDrawing(FONT);
  const layer = { begin: () => { drawing.font = FONT; return drawing; } };
  drawHaze(layer, viewport, haze.picture, haze.area);
  drawBorders(drawing, viewport, haze.borders, theme);
  drawAxes(drawing, viewport, theme, names);
  drawing.save();
  drawing.beginPath();
  drawing.rect(viewport.frame.x, viewport.frame.y, viewport.frame.width, viewport.frame.height);
  drawing.clip();
  const radius = markRadius(samples.across.length, viewport);
  for (const i of samples.shown) {
    const place = [viewport.x(samples.across[i]), viewport.y(samples.up[i])];
    drawMark(drawing, { ...colouring.look(colouring.mark(i)), isHollow: isHollow(i) }, ...place, radius, theme.panel);
  }
  drawing.restore();
  drawOverlay(layer, viewport, overlay);
  const legendHeight = drawLegend(drawing, colouring, theme, viewport.frame, height);
  const whole = height + legendHeight;
  const paper = svg("rect", { width, height: whole, fill: theme.panel });
  return { svg: svg("svg", {}, [paper, drawing.root]), width, height: whole };
}

/** Names with their marks in lines below the map, or the scale of numbers; the height that it takes. */
function drawLegend(drawing, colouring, theme, frame, top) {
  Object.assign(drawing, { font: FONT, textAlign: "start", textBaseline: "middle", globalAlpha: 1 });
  const write = (text, x, y) => {
    drawing.fillStyle = theme.ink;
    drawing.fillText(text, x, y);
    return drawing.measureText(text).width;
  };
  if (colouring.isContinuous) {
    const [low, high] = colouring.ends();
    let x = frame.x + write(`${colouring.title}: ${low}`, frame.x, top + LINE / 2) + 6;
    drawing.drawImage(scaleBar(colouring), x, top + (LINE - BAR[1]) / 2, ...BAR);
    x += BAR[0] + 6;
    write(high, x, top + LINE / 2);
    return LINE;
  }
  if (!colouring.title) return 0;
  let [x, y] = [frame.x, top + LINE / 2];
  for (const { code, name } of colouring.entries()) {
    const wide = SWATCH + drawing.measureText(name).width + SPACE;
    if (x > frame.x && x + wide > frame.x + frame.width) [x, y] = [frame.x, y + LINE];
    drawMark(drawing, colouring.look(code), x + SWATCH / 2 - 3, y, 5, theme.panel);
    write(name, x + SWATCH, y);
    x += wide;
  }
  return y + LINE / 2 - top + 4;
}

function scaleBar(colouring) {
  const canvas = element("canvas", { width: BAR[0], height: 1 });
  const drawing = canvas.getContext("2d");
  for (let x = 0; x < BAR[0]; x += 1) {
    drawing.fillStyle = colouring.colourAt(x / (BAR[0] - 1));
    drawing.fillRect(x, 0, 1, 1);
  }
  return canvas;
}
