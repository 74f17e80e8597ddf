// The part of the plane of two components that the map shows, and its place on the canvas.

// How much of the range of the samples is left free on each side: marks at the border are whole, and the background
// shows what lies around the data.
const PADDING = 0.12;
// Zooming out shows at most this many ranges of the data; farther out there is nothing but extrapolation.
const WIDEST = 2;
// Zooming in stops where one sample fills the map.
const CLOSEST = 1 / 500;

/**
 * The smallest and largest number of a list, with room around them; a list without a range gets one.
 * @param {ArrayLike<number>} numbers
 * @returns {[number, number]}
 */
export function paddedRange(numbers) {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < numbers.length; i += 1) {
    if (numbers[i] < low) low = numbers[i];
    if (numbers[i] > high) high = numbers[i];
  }
  if (!(low <= high)) return [-1, 1];
  const width = high > low ? high - low : Math.abs(low) || 1;
  return [low - PADDING * width, high + PADDING * width];
}

/** A rectangle of the plane, drawn on a rectangle of pixels. */
export class Viewport {
  constructor() {
    this.whole = { left: -1, right: 1, bottom: -1, top: 1 };
    this.shown = this.whole;
    this.frame = { x: 0, y: 0, width: 1, height: 1 };
  }

  /** Show the whole of a range of both components. */
  fit([left, right], [bottom, top]) {
    this.whole = { left, right, bottom, top };
    this.shown = this.whole;
  }

  /** The rectangle of pixels that the plane is drawn on. */
  place(x, y, width, height) {
    this.frame = { x, y, width: Math.max(1, width), height: Math.max(1, height) };
  }

  /** Pixels from the left border of the canvas of a coordinate of the component drawn across. */
  x(across) {
    const { left, right } = this.shown;
    return this.frame.x + ((across - left) / (right - left)) * this.frame.width;
  }

  /** Pixels from the top of the canvas of a coordinate of the component drawn upwards. */
  y(up) {
    const { bottom, top } = this.shown;
    return this.frame.y + ((top - up) / (top - bottom)) * this.frame.height;
  }

  /** The coordinates of both components at a pixel. */
  at(x, y) {
    const { left, right, bottom, top } = this.shown;
    return {
      across: left + ((x - this.frame.x) / this.frame.width) * (right - left),
      up: top - ((y - this.frame.y) / this.frame.height) * (top - bottom),
    };
  }

  /** Whether a pixel belongs to the plane. */
  contains(x, y) {
    const { frame } = this;
    return x >= frame.x && y >= frame.y && x <= frame.x + frame.width && y <= frame.y + frame.height;
  }

  /** How many times larger than the whole the picture is. */
  get magnification() {
    return (this.whole.right - this.whole.left) / (this.shown.right - this.shown.left);
  }

  /**
   * Make everything `factor` times larger about a pixel, which stays where it is.
   * @returns {boolean} whether anything changed: zooming has limits on both sides
   */
  zoom(factor, x, y) {
    const { left, right, bottom, top } = this.shown;
    const size = 1 / (this.magnification * factor);
    const limited = Math.min(WIDEST, Math.max(CLOSEST, size)) * this.magnification;
    if (Math.abs(limited - 1) < 1e-9) return false;
    const { across, up } = this.at(x, y);
    this.shown = {
      left: across + (left - across) * limited,
      right: across + (right - across) * limited,
      bottom: up + (bottom - up) * limited,
      top: up + (top - up) * limited,
    };
    return true;
  }

  /** Move the picture by a number of pixels; the middle of the map stays within the widest range. */
  pan(dx, dy) {
    const { left, right, bottom, top } = this.shown;
    const across = limitedShift(-(dx / this.frame.width) * (right - left), left, right, this.whole.left, this.whole.right);
    const up = limitedShift((dy / this.frame.height) * (top - bottom), bottom, top, this.whole.bottom, this.whole.top);
    this.shown = { left: left + across, right: right + across, bottom: bottom + up, top: top + up };
  }

  /** Show a rectangle, moved and resized to what zooming and moving could have reached. */
  show({ left, right, bottom, top }) {
    const { whole } = this;
    const size = Math.min(WIDEST, Math.max(CLOSEST, (right - left) / (whole.right - whole.left)));
    const [width, height] = [size * (whole.right - whole.left), size * (whole.top - whole.bottom)];
    const [across, up] = [(left + right) / 2, (bottom + top) / 2];
    this.shown = { left: across - width / 2, right: across + width / 2, bottom: up - height / 2, top: up + height / 2 };
    this.pan(0, 0);
  }

  /** Show the whole again. */
  reset() {
    this.shown = this.whole;
  }
}

function limitedShift(shift, low, high, lowest, highest) {
  const middle = (low + high) / 2;
  const room = ((WIDEST - 1) / 2) * (highest - lowest);
  return Math.min(highest + room, Math.max(lowest - room, middle + shift)) - middle;
}
