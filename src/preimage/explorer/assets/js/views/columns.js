// Names, units, ranges and numbers of the columns of a table.

import { tickFormat } from "./ticks.js";

// Numbers are written to this fraction of the standard deviation of their column, or finer.
const READING = 0.03;
// Room for names, in pixels, and units, in letters; longer ones are cut and can be read by pointing at them.
const LONGEST_NAME = 185;
const LONGEST_UNIT = 8;
// Names that are measured: those with the most letters.
const MEASURED = 30;
// How far a bar may reach beyond the range of the data before it is cut.
const OUTSIDE = 0.02;

/**
 * The columns of a view, by number.
 * - `name(i)`, `unit(i)`, `described(i)` (all of it, with the range), `text(i, value, what)`
 * - `letters`, `unitLetters`: of the longest number and unit; `nameWidth`: of the longest name, in pixels
 * - `part(i, value, what)`, where a value lies in its range from 0 to 1, and `middle(i, what)`, where its mean does;
 *   for differences the middle is zero, and the ends are half the range away
 * - `standardized(i, value, what)`: in standard deviations from the mean, or of a difference
 * Bars and digits follow the usual values where the record has them: one outlier must not hide the rest.
 */
export function tableColumns(record) {
  const numbers = (name, scale) => scale[name].values;
  const [lowest, highest, mean] = ["low", "high", "mean"].map((name) => numbers(name, record));
  const [low, high, middle, deviation] = ["low", "high", "mean", "deviation"].map((name) => numbers(name, record.usual ?? record));
  const formats = Array.from(low, (_, column) => numberFormat(lowest[column], highest[column], deviation[column]));
  const width = (column) => high[column] - low[column];
  const limited = (part) => (part < -OUTSIDE ? -OUTSIDE : part > 1 + OUTSIDE ? 1 + OUTSIDE : part);
  const part = (column, value, what) => {
    if (!(width(column) > 0)) return limited(0.5 + Math.sign(what === "difference" ? value : value - low[column]) / 2);
    return limited(what === "difference" ? 0.5 + value / width(column) : (value - low[column]) / width(column));
  };
  const withUnit = (column, text) => (record.units[column] ? `${text} ${record.units[column]}` : text);
  const text = (column, value, what) => {
    if (Number.isNaN(value)) return "–";
    const number = formats[column](value);
    return what === "difference" && /[1-9]/.test(number) && value > 0 ? `+${number}` : number;
  };
  // With a sign, also for the longest.
  const letters = 1 + Math.max(...[lowest, highest].map((ends) => longest(formats.map((format, column) => format(ends[column])), Infinity)));
  const described = (column) => {
    const [from, to, average] = [lowest, highest, mean].map((values) => formats[column](values[column]));
    return `${record.names[column]}: ${from} to ${withUnit(column, to)}, mean ${average}`;
  };
  const standardized = (column, value, what) => {
    const difference = what === "difference" ? value : value - middle[column];
    return deviation[column] > 0 ? difference / deviation[column] : 0;
  };
  const unitLetters = longest(record.units, LONGEST_UNIT);
  return {
    length: low.length,
    name: (column) => record.names[column],
    unit: (column) => record.units[column],
    mean,
    letters,
    nameWidth: widthOfNames(record.names),
    unitLetters,
    part,
    text,
    middle: (column, what) => (what === "difference" ? 0.5 : part(column, middle[column], what)),
    standardized,
    described,
  };
}

/** Pixels that the longest name takes in the type of tables, which depends on the fonts of whoever opens the page. */
function widthOfNames(names) {
  const type = getComputedStyle(document.documentElement);
  const drawing = document.createElement("canvas").getContext("2d");
  // 0.8rem, see `.table-line`.
  drawing.font = `${0.8 * parseFloat(type.fontSize)}px ${type.fontFamily}`;
  const long = [...names].sort((a, b) => b.length - a.length).slice(0, MEASURED);
  // Digits of equal width, which tables have, can be a little wider than those that are measured.
  return Math.min(LONGEST_NAME, Math.ceil(2 + 1.03 * Math.max(...long.map((name) => drawing.measureText(name).width))));
}

/** Letters of the longest of several texts, at most `most`. */
function longest(texts, most) {
  return texts.reduce((length, text) => Math.max(length, Math.min([...text].length, most)), 0);
}

/** Numbers to a tenth of their spread; whole numbers where all values of a column are far apart. */
function numberFormat(low, high, deviation) {
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const spread = deviation > 0 ? deviation : largest || 1;
  return tickFormat(10 ** Math.floor(Math.log10(READING * spread) + 1e-9), largest || 1);
}
