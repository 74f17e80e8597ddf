// Numbers as people write them, and what stands for a missing one.

// What spreadsheets, statistics programs and instruments write where there is no value.
const MISSING = new Set([
  "", "na", "n/a", "<na>", "nan", "-nan", "nat", "null", "none", "?", "-", "--", ".", "#n/a", "#na",
  "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!",
]);
// As for the rows of the page itself, see `require_moderate` in Python.
const LARGEST = 1e100;
// Decimal separator and what groups three digits; the first that reads most cells is taken.
const FORMATS = [
  [".", ""], [",", ""], [".", ","], [",", "."], [".", "'"], [",", " "],
].map(([decimal, group]) => ({ decimal, group, pattern: numberPattern(decimal, group) }));

/**
 * Whether a cell stands for a missing value.
 * @param {string} cell
 * @returns {boolean}
 */
export function isMissing(cell) {
  return MISSING.has(cell.trim().toLowerCase());
}

/**
 * How the numbers of these cells are written: the format that reads most of them.
 * @param {string[]} cells
 * @param {string} delimiter what separates cells; a comma cannot separate digits as well
 * @returns {{decimal: string, group: string, pattern: RegExp}}
 */
export function numberFormat(cells, delimiter) {
  let best = FORMATS[0];
  let most = -1;
  for (const format of FORMATS) {
    if (delimiter !== "" && (format.decimal === delimiter || format.group === delimiter)) continue;
    const count = cells.reduce((sum, cell) => sum + isNumber(cell, format), 0);
    if (count > most) [best, most] = [format, count];
  }
  return best;
}

/**
 * Whether a cell is a number of this format.
 * @param {string} cell
 * @param {{pattern: RegExp}} format
 * @returns {boolean}
 */
export function isNumber(cell, format) {
  return format.pattern.test(plain(cell));
}

/**
 * Whether a number has no square in double precision, so that distances would be infinite; NaN are none of those.
 * @param {number} value
 * @returns {boolean}
 */
export function isTooLarge(value) {
  return Math.abs(value) > LARGEST;
}

/**
 * The number that a cell means; NaN where it stands for a missing value.
 * @param {string} cell
 * @param {{decimal: string, group: string}} format
 * @returns {number}
 */
export function valueOf(cell, format) {
  if (isMissing(cell)) return NaN;
  const digits = format.group === "" ? plain(cell) : plain(cell).replaceAll(format.group, "");
  return Number(digits.replace(format.decimal, "."));
}

// Blanks of any width between groups, and the minus that printers use.
function plain(cell) {
  return cell.trim().replace(/[\u00a0\u202f]/g, " ").replace(/^\u2212/, "-");
}

function numberPattern(decimal, group) {
  const escape = (sign) => sign.replace(/[.]/g, "\\$&");
  const digits = group === "" ? "\\d+" : `(?:\\d{1,3}(?:${escape(group)}\\d{3})+|\\d+)`;
  const whole = `(?:${digits}(?:${escape(decimal)}\\d*)?|${escape(decimal)}\\d+)`;
  return new RegExp(`^[-+]?${whole}(?:[eE][-+]?\\d+)?$`);
}
