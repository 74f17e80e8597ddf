// Colours of classes and of numbers, for light and dark pages and for readers who see fewer colours.

/** Samples without a label, and places without a value. */
export const MISSING_COLOUR = "#8a919e";

// Masataka Okabe and Kei Ito's colours, which readers with any kind of colour blindness tell apart. The yellow is last,
// and a little darker on white paper, where the original one is hard to see; black becomes white on dark pages.
const CATEGORIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];
const LIGHT_CATEGORIES = [...CATEGORIES, "#000000", "#e3d400"];
const DARK_CATEGORIES = [...CATEGORIES, "#ffffff", "#f0e442"];
// Small marks of shapes that follow each other must not be mistaken: a square looks like a dot, a triangle does not.
const SHAPES = ["circle", "triangle", "square", "plus", "diamond", "cross"];

// Colour scales are paths in Oklab, whose distances are close to differences as they are seen: [lightness, green to red,
// blue to yellow]. The ends of the sequential one stay visible on white and on nearly black pages; the way from blue to
// yellow is clear without red and green, and the detour over green makes the middle of the scale less grey.
const SEQUENTIAL = { from: [0.38, 0.0, -0.13], to: [0.9, -0.02, 0.16], detour: [0, -0.085, 0] };
// No difference is nearly the colour of the page, so that differences are what is seen.
const LIGHT_DIFFERENCES = { negative: [0.46, -0.03, -0.14], neutral: [0.96, 0, 0], positive: [0.46, 0.13, 0.085] };
const DARK_DIFFERENCES = { negative: [0.76, -0.045, -0.115], neutral: [0.3, 0, 0], positive: [0.76, 0.1, 0.075] };
// Steps between two colours of a scale that cannot be told apart on a screen with 8 bits.
const STEPS = 255;

/** Whether the page is dark now. */
export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

/** The colour of a class, "#rrggbb"; repeats after eight, where `categoryShape` changes. −1 is missing. */
export function categoryColour(code, dark = isDark()) {
  const colours = dark ? DARK_CATEGORIES : LIGHT_CATEGORIES;
  return code < 0 ? MISSING_COLOUR : colours[code % colours.length];
}

/** The shape of a mark of a class: another one for each further eight classes. */
export function categoryShape(code) {
  return code < 0 ? SHAPES[0] : SHAPES[Math.floor(code / LIGHT_CATEGORIES.length) % SHAPES.length];
}

/** Numbers from 0 to 1 as [red, green, blue] of 0 to 255, in steps that look equal; the array must not be changed. */
export function sequential(t) {
  return at(sequentialTable ??= evenly(sequentialPath), t);
}

/** Numbers from −1 (blue) over 0 (nearly the colour of the page) to 1 (red) as [red, green, blue] of 0 to 255. */
export function diverging(t, dark = isDark()) {
  const tables = (divergingTables ??= [LIGHT_DIFFERENCES, DARK_DIFFERENCES].map((ends) => table(divergingPath(ends))));
  return at(tables[Number(dark)], (t + 1) / 2);
}

/** Numbers from 0 (black) to 1 (white). */
export function grey(t) {
  return at(greyTable ??= Array.from({ length: STEPS + 1 }, (_, level) => [level, level, level]), t);
}

let sequentialTable = null;
let divergingTables = null;
let greyTable = null;

const at = (colours, t) => colours[Math.round(Math.min(Math.max(t, 0), 1) * STEPS)] ?? colours[0];

const between = (from, to, t) => from.map((value, i) => value + t * (to[i] - value));

function sequentialPath(t) {
  const straight = between(SEQUENTIAL.from, SEQUENTIAL.to, t);
  return straight.map((value, i) => value + 4 * t * (1 - t) * SEQUENTIAL.detour[i]);
}

function divergingPath({ negative, neutral, positive }) {
  return (t) => (t < 0.5 ? between(negative, neutral, 2 * t) : between(neutral, positive, 2 * t - 1));
}

function table(path) {
  return Array.from({ length: STEPS + 1 }, (_, step) => rgbOfLab(path(step / STEPS)));
}

/** A table along a path with equal distances between colours, whatever the speed of the path. */
function evenly(path) {
  const fine = 4 * STEPS;
  const lengths = [0];
  for (let i = 1; i <= fine; i++) lengths.push(lengths[i - 1] + distance(path((i - 1) / fine), path(i / fine)));
  let i = 0;
  return table((t) => {
    while (i < fine && lengths[i + 1] < t * lengths[fine]) i++;
    const part = i < fine ? (t * lengths[fine] - lengths[i]) / (lengths[i + 1] - lengths[i]) : 0;
    return path((i + part) / fine);
  });
}

const distance = (one, other) => Math.hypot(...one.map((value, i) => value - other[i]));

/** Björn Ottosson's Oklab as sRGB. */
function rgbOfLab([lightness, a, b]) {
  const [l, m, s] = [
    lightness + 0.3963377774 * a + 0.2158037573 * b,
    lightness - 0.1055613458 * a - 0.0638541728 * b,
    lightness - 0.0894841775 * a - 1.291485548 * b,
  ].map((root) => root ** 3);
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map(encodedLevel);
}

/** Linear light as a level of 8 bits. */
function encodedLevel(linear) {
  const light = Math.min(Math.max(linear, 0), 1);
  return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));
}
