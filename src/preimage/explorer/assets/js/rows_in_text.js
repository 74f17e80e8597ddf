// Rows of numbers in a text that somebody pasted or dropped: any delimiter, with names above or without.

import { isMissing, isNumber, isTooLarge, numberFormat, valueOf } from "./numbers_in_text.js";

// In the order of preference where two fit equally well; a blank stands for any run of blanks.
const DELIMITERS = ["\t", ";", ",", "|", " "];
const WORDS = { "\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks" };
// Rows that are read of a long table: as many as a person pages through.
const MOST_ROWS = 1000;
// Names that a message lists.
const SHOWN_NAMES = 4;

/** What is wrong with a text, as a sentence for the person who pasted it. */
export class UnreadableText extends Error {}

/**
 * The rows of a text, each with one number per feature and NaN in its gaps.
 *
 * A first line of names sorts the columns, if it has all names of the features; other columns are left out. A text of
 * as many values as there are features is one row, however it is divided into lines (an image, a column).
 * @param {string} text
 * @param {string[]} names of the features, or an empty list; `count` says how many there are
 * @param {number} count
 * @returns {{rows: Float64Array[], note: string}} the note says what was left out, or is empty
 */
export function rowsInText(text, names, count) {
  const lines = linesOf(text).slice(0, 1 + Math.max(MOST_ROWS, count));
  if (lines.length === 0) throw new UnreadableText("There is no text to read. Paste one row of numbers.");
  let failure = null;
  for (const delimiter of DELIMITERS) {
    const table = tableOf(lines, delimiter, names);
    const found = arranged(table, names, count);
    if (found !== null) return found;
    // Where nothing fits, the message is about the delimiter that divides the text into most numbers.
    if (failure === null || table.numeric > failure.numeric) failure = table;
  }
  throw new UnreadableText(complaint(failure, names, count));
}

// Lines with values. Brackets of lists, as programs print them, say nothing that line breaks do not say.
function linesOf(text) {
  const bare = /^\s*(?:array\()?\s*\[/.test(text) ? withoutBrackets(text) : text.replace(/^\ufeff/, "");
  return bare.split(/\r\n|\r|\n/).filter((line) => line.trim() !== "" && !/^\s*#(?!n\/?a|div)/i.test(line));
}

function withoutBrackets(text) {
  return text
    .replace(/array\(|dtype=\w+/g, "")
    .replace(/\][\s,]*\[/g, "\n")
    .replace(/[[\]()]/g, " ")
    .replace(/,\s*\n/g, ",")
    .replace(/,\s*$/, "");
}

// The cells of every line, whether the first has names, and how many cells are numbers.
function tableOf(lines, delimiter, names) {
  const rows = lines.map((line) => cellsOf(line, delimiter));
  const below = rows.length > 1 ? rows.slice(1) : rows;
  const cells = below.flat().filter((cell) => !isMissing(cell));
  const format = numberFormat(cells, delimiter);
  const readable = (cell) => isMissing(cell) || isNumber(cell, format);
  const first = rows[0];
  const hasNames = rows.length > 1 && (isListOf(names, first) || namesAbove(rows, readable));
  return {
    delimiter,
    format,
    readable,
    titles: hasNames ? first : null,
    header: hasNames ? first.map(key) : null,
    rows: hasNames ? below : rows,
    numeric: cells.filter((cell) => isNumber(cell, format)).length,
  };
}

// Names may be numbers, such as wavelengths.
function isListOf(names, cells) {
  return names.length === cells.length && names.every((name, place) => key(name) === key(cells[place]));
}

// Without quotes: those of names are doubled in tables, and `cellsOf` drops them all.
function key(name) {
  return name.replaceAll('"', "").trim().toLowerCase();
}

// The first line has names if it has a word above a column of numbers; a label in a row has other labels below it.
function namesAbove(rows, readable) {
  return rows[0].some((cell, place) => !readable(cell) && rows.slice(1).every((row) => readable(row[place] ?? "")));
}

function cellsOf(line, delimiter) {
  if (delimiter === " ") return line.trim().split(/\s+/).map((cell) => cell.replace(/^"(.*)"$/, "$1"));
  const cells = [];
  let cell = "";
  let quoted = false;
  for (const sign of line) {
    if (sign === '"') quoted = !quoted;
    else if (sign === delimiter && !quoted) {
      cells.push(cell);
      cell = "";
    } else cell += sign;
  }
  cells.push(cell);
  return cells;
}

// The rows of a table if they have what is needed, else null.
function arranged(table, names, count) {
  return byName(table, names) ?? byPlace(table, names, count) ?? asOneRow(table, count);
}

function byName(table, names) {
  if (table.header === null || names.length === 0) return null;
  const titles = table.titles.map((title) => title.trim());
  const exactly = names.map((name) => titles.indexOf(name.trim()));
  const places = exactly.map((place, number) => (place < 0 ? table.header.indexOf(key(names[number])) : place));
  // Names that occur twice do not tell columns apart; their order may.
  if (places.includes(-1) || new Set(places).size < places.length) return null;
  const left = table.header.length - new Set(places).size;
  const others = left === 1 ? "1 other column was" : `${left} other columns were`;
  return rowsAt(table, places, left > 0 ? `Columns were found by name; ${others} left out.` : "");
}

function byPlace(table, names, count) {
  const width = table.rows[0].length;
  if (table.rows.some((row) => row.length !== width) || isInAnotherOrder(table.header, names)) return null;
  const places = Array.from({ length: width }, (_, place) => place);
  if (width === count) return rowsAt(table, places, "");
  const isEmpty = (place) => table.rows.every((row) => row[place].trim() === "");
  if (width === count + 1 && isEmpty(width - 1)) return rowsAt(table, places.slice(0, -1), "");
  const numeric = places.filter((place) => table.rows.every((row) => table.readable(row[place])));
  if (numeric.length !== count) return null;
  const title = (place) => shortened(table.titles?.[place] ?? "") || `column ${place + 1}`;
  const left = places.filter((place) => !numeric.includes(place)).map(title);
  return rowsAt(table, numeric, `Without numbers, and left out: ${listed(left)}.`);
}

// Some columns have the names of features, at other places: counting columns would mix them up.
function isInAnotherOrder(header, names) {
  return header !== null && names.some((name, place) => header.includes(key(name)) && header[place] !== key(name));
}

function asOneRow(table, count) {
  const cells = table.rows.flatMap((row) => (row.at(-1).trim() === "" ? row.slice(0, -1) : row));
  if (table.rows.length < 2 || cells.length !== count || !cells.every(table.readable)) return null;
  const row = Float64Array.from(cells, (cell) => valueOf(cell, table.format));
  return checked([row], `${table.rows.length} lines were read as one row.`);
}

function rowsAt(table, places, note) {
  const rows = [];
  for (const cells of table.rows) {
    const chosen = places.map((place) => cells[place] ?? "");
    if (!chosen.every(table.readable)) return null;
    rows.push(Float64Array.from(chosen, (cell) => valueOf(cell, table.format)));
  }
  return checked(rows, note);
}

function checked(rows, note) {
  const tooLarge = rows.findIndex((row) => row.some(isTooLarge));
  if (tooLarge >= 0) throw new UnreadableText(`Row ${tooLarge + 1} has a number that is too large to compute with.`);
  return { rows, note };
}

function complaint(table, names, count) {
  for (const [number, row] of table.rows.entries()) {
    const place = row.findIndex((cell) => !table.readable(cell));
    if (place >= 0 && row.length === count) {
      const cell = `Value ${place + 1} of row ${number + 1}, “${shortened(row[place])}”,`;
      return `${cell} is not a number. Leave a cell empty where there is none.`;
    }
  }
  const missing = table.header === null ? [] : names.filter((name) => !table.header.includes(key(name)));
  if (missing.length > 0 && missing.length < names.length) {
    return `The header lacks ${missing.length} of the ${count} columns that the model needs: ${listed(missing)}.`;
  }
  const number = Math.max(0, table.rows.findIndex((row) => row.length !== count));
  const found = table.rows[number].length;
  const values = found === 1 ? "1 value" : `${found} values (separated by ${WORDS[table.delimiter]})`;
  return `Row ${number + 1} has ${values}; the model needs ${count}${names.length > 0 ? `: ${listed(names)}` : ""}.`;
}

function listed(names) {
  const shown = names.slice(0, SHOWN_NAMES).map(shortened).join(", ");
  return names.length > SHOWN_NAMES ? `${shown}, …` : shown;
}

// A pasted cell may be a whole document.
function shortened(text) {
  const trimmed = text.trim();
  return trimmed.length > 30 ? `${trimmed.slice(0, 30)}…` : trimmed;
}
