// Round numbers for axes.

// Longer fractions and larger multiples of thousand are written with powers of ten.
const MOST_DECIMALS = 4;
const LARGEST_PLAIN = 1e6;

/**
 * Round numbers in a range, at most `count`: multiples of 1, 2 or 5 times a power of ten.
 * @returns {{values: number[], format: Function}}
 */
export function ticks(low, high, count) {
  const [from, to] = low < high ? [low, high] : [high, low];
  const rough = (to - from) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
  const values = [];
  // Rounding of the range must not lose a tick at its ends.
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k++) values.push(k * step);
  return { values, format: tickFormat(step, Math.max(Math.abs(from), Math.abs(to))) };
}

/** How to write numbers whose differences are multiples of `step` and whose size is at most `largest`. */
export function tickFormat(step, largest) {
  const place = Math.floor(Math.log10(step) + 1e-9);
  const decimals = Math.max(0, -place);
  const short = decimals <= MOST_DECIMALS && (step < 1000 || largest < LARGEST_PLAIN);
  const written = (value) => (short ? value.toFixed(decimals) : withPower(value, place));
  // A rounded −0 is written as 0.
  return (value) => written(value).replace(/^-(?=0(\.0*)?$)/, "").replace(/-/g, "−");
}

/** A number as 1.5e7, to multiples of 10 to the power `place`, without zeros that say nothing. */
function withPower(value, place) {
  if (Math.abs(value) < 0.5 * 10 ** place) return "0";
  const digits = Math.min(Math.max(Math.floor(Math.log10(Math.abs(value))) - place, 0), 15);
  const [digitsBefore, power] = value.toExponential(digits).split("e").map(Number);
  return power === 0 ? String(digitsBefore) : `${digitsBefore}e${power}`;
}
