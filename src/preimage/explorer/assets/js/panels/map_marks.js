// Marks of samples on a canvas. Each look is drawn once as a small picture, so that thousands of marks move smoothly.

// Corners of the shapes, in units of the radius; their areas look alike.
const CORNERS = {
  square: [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
  triangle: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  diamond: [[0, -1.25], [1.1, 0], [0, 1.25], [-1.1, 0]],
  "triangle-down": [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  plus: crossCorners(0),
  cross: crossCorners(Math.PI / 4),
};
// The picture of a mark is this many radii wide to each side: corners and outline fit in.
const ROOM = 1.8;

/**
 * Add the outline of a mark to the path of a drawing.
 * @param {CanvasRenderingContext2D} drawing
 * @param {string} shape
 */
export function traceMark(drawing, shape, x, y, radius) {
  drawing.beginPath();
  const corners = CORNERS[shape];
  if (!corners) {
    drawing.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  for (const [dx, dy] of corners) drawing.lineTo(x + dx * radius, y + dy * radius);
  drawing.closePath();
}

/** The radius of marks in pixels: fewer samples have larger ones, and zooming in makes them grow a little. */
export function markRadius(count, magnification) {
  const base = Math.min(5, Math.max(2.3, 14 * count ** -0.2 - 0.2));
  return base * Math.min(1.8, Math.max(1, magnification ** 0.2));
}

/** Pictures of marks, kept until the radius, the density of pixels or the colours of the page change. */
export class MarkPictures {
  constructor(colouring, radius, ratio, outline) {
    Object.assign(this, { colouring, radius, ratio, outline });
    this.half = Math.ceil(radius * ROOM);
    this.pictures = new Map();
  }

  /** Draw the mark of a sample. */
  draw(drawing, sample, x, y) {
    const mark = this.colouring.mark(sample);
    let picture = this.pictures.get(mark);
    if (!picture) {
      picture = this.#picture(mark);
      this.pictures.set(mark, picture);
    }
    drawing.drawImage(picture, x - this.half, y - this.half, 2 * this.half, 2 * this.half);
  }

  #picture(mark) {
    const { colour, shape } = this.colouring.look(mark);
    const picture = document.createElement("canvas");
    picture.width = picture.height = Math.ceil(2 * this.half * this.ratio);
    const drawing = picture.getContext("2d");
    drawing.scale(this.ratio, this.ratio);
    traceMark(drawing, shape, this.half, this.half, this.radius);
    drawing.fillStyle = colour;
    drawing.globalAlpha = 0.9;
    drawing.fill();
    // A thin outline in the colour of the panel separates marks that lie on each other.
    drawing.globalAlpha = 0.8;
    drawing.lineWidth = 0.8;
    drawing.strokeStyle = this.outline;
    drawing.stroke();
    return picture;
  }
}

function crossCorners(angle) {
  const [arm, half] = [1.25, 0.42];
  const corners = [];
  for (let quarter = 0; quarter < 4; quarter += 1) {
    const turn = angle + (quarter * Math.PI) / 2;
    for (const [x, y] of [[arm, -half], [arm, half], [half, half]]) {
      corners.push([x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]);
    }
  }
  return corners;
}
