// What is drawn on a canvas, written down as SVG: the few methods of a canvas that the map uses.

import { svg } from "../dom.js";

// Where texts stand relative to their y, in heights of their letters. Programs disagree about the baselines of SVG.
const BASELINES = { top: 0.8, middle: 0.35, bottom: -0.2, alphabetic: 0 };
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
const FONT = /^(bold)?\s*([\d.]+)px\s+(.*)$/;
const STATE = ["fillStyle", "strokeStyle", "lineWidth", "globalAlpha", "font", "textAlign", "textBaseline"];
const round = (number) => String(Math.round(100 * number) / 100);

/** Stands for a CanvasRenderingContext2D; `root` is the group of all that was drawn. */
export class SvgDrawing {
  constructor(font) {
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font, textAlign: "start", textBaseline: "alphabetic" });
    this.root = svg("g");
    this.group = this.root;
    this.path = [];
    this.stack = [];
    this.measuring = document.createElement("canvas").getContext("2d");
  }

  save() {
    this.stack.push([this.group, STATE.map((name) => this[name])]);
  }

  restore() {
    const [group, values] = this.stack.pop();
    this.group = group;
    STATE.forEach((name, i) => { this[name] = values[i]; });
  }

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`M${round(x)} ${round(y)}`);
  }

  lineTo(x, y) {
    this.path.push(`${this.path.length ? "L" : "M"}${round(x)} ${round(y)}`);
  }

  closePath() {
    this.path.push("Z");
  }

  rect(x, y, width, height) {
    this.path.push(`M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}Z`);
  }

  /** A whole circle: the map has no other arcs. */
  arc(x, y, radius) {
    const r = round(radius);
    this.path.push(`M${round(x - radius)} ${round(y)}a${r} ${r} 0 1 0 ${round(2 * radius)} 0a${r} ${r} 0 1 0 ${round(-2 * radius)} 0Z`);
  }

  stroke() {
    this.#add("path", { d: this.path.join(""), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth });
  }

  fill() {
    this.#add("path", { d: this.path.join(""), fill: this.fillStyle });
  }

  clip() {
    const id = `clip-${(SvgDrawing.clips += 1)}`;
    this.group.append(svg("clipPath", { id }, [svg("path", { d: this.path.join("") })]));
    this.#nest({ "clip-path": `url(#${id})` });
  }

  translate(x, y) {
    this.#nest({ transform: `translate(${round(x)} ${round(y)})` });
  }

  rotate(angle) {
    this.#nest({ transform: `rotate(${round((180 * angle) / Math.PI)})` });
  }

  strokeRect(x, y, width, height) {
    this.beginPath();
    this.rect(x, y, width, height);
    this.stroke();
  }

  fillRect(x, y, width, height) {
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
  }

  fillText(text, x, y) {
    this.#text(text, x, y, { fill: this.fillStyle });
  }

  strokeText(text, x, y) {
    this.#text(text, x, y, { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth, "stroke-linejoin": "round" });
  }

  drawImage(canvas, x, y, width, height) {
    this.#add("image", {
      href: canvas.toDataURL(), x: round(x), y: round(y), width: round(width), height: round(height), preserveAspectRatio: "none",
    });
  }

  measureText(text) {
    this.measuring.font = this.font;
    return this.measuring.measureText(text);
  }

  #text(text, x, y, look) {
    const [, weight, size, family] = FONT.exec(this.font);
    this.#add("text", {
      ...look, text, x: round(x), y: round(y + BASELINES[this.textBaseline] * size), "text-anchor": ANCHORS[this.textAlign],
      "font-size": size, "font-weight": weight ?? "normal", "font-family": family,
    });
  }

  #nest(options) {
    const group = svg("g", options);
    this.group.append(group);
    this.group = group;
  }

  #add(tag, options) {
    this.group.append(svg(tag, { ...options, opacity: this.globalAlpha < 1 ? this.globalAlpha : null }));
  }
}

SvgDrawing.clips = 0;
