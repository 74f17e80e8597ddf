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
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const digits = Math.min(Math.max(Math.ceil(Math.log10(largest / step)), 0), 15);
  const short = decimals <= MOST_DECIMALS && (step < 1000 || largest < LARGEST_PLAIN);
  return (value) => {
    const rounded = Math.abs(value) < step / 2 ? 0 : value;
    return (short ? rounded.toFixed(decimals) : withPower(rounded, digits)).replace(/-/g, "−");
  };
}

/** A number as 1.5e7, without zeros that say nothing. */
function withPower(value, digits) {
  const [digitsBefore, power] = value.toExponential(digits).split("e").map(Number);
  return power === 0 ? String(digitsBefore) : `${digitsBefore}e${power}`;
}
