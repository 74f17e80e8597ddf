// What a machine or a detector says of a row: the values of its functions, and the rule that reads them.

import { formatted } from "./dom.js";
import { createFront } from "./front.js";
import { Kernel } from "./kernel.js";
import { combineRows } from "./vectors.js";

const KNOWN = new WeakMap();

/** The decision of a model of the page; null where it decides nothing. */
export function decisionOf(app, model = app.store.get("model")) {
  const record = app.data.models[model].decision;
  if (!record) return null;
  if (!KNOWN.has(record)) KNOWN.set(record, new Decision(record, app.samples.labels));
  return KNOWN.get(record);
}

/** Functions of rows in the units of the user. */
export class Decision {
  /**
   * @param {object} record "decision" of a model: `kind` is "classes", "inside" or "values"; see `rule_of` in Python
   * @param {object | null} labels of the samples: classes that are labels have their colours and words
   */
  constructor(record, labels = null) {
    this.record = record;
    this.kind = record.kind;
    this.front = createFront(record.front);
    const [count] = record.points.shape;
    this.kernel = new Kernel(record.kernel, record.points, count, record.n_features);
    this.functions = record.coefficients.shape[1];
    const names = record.names ?? [];
    /** The number of the label that each class is; classes that are no label come after all labels. */
    this.codes = names.map((name, number) => {
      const code = labels?.given.indexOf(name) ?? -1;
      return code >= 0 ? code : (labels?.names.length ?? 0) + number;
    });
    this.names = names.map((name, number) => labels?.names[this.codes[number]] ?? name);
  }

  /** Fields that `margins` has: one per class, or one. */
  get count() {
    return this.kind === "classes" ? this.names.length : 1;
  }

  /** The values of all functions at a row. */
  values(row) {
    const { coefficients, intercept } = this.record;
    const sum = combineRows(this.kernel.values(this.front.toFeatures(row)), coefficients.values, this.functions);
    return sum.map((value, j) => value + intercept.values[j]);
  }

  /**
   * For each class, by how much it wins over the one that comes next, positive for the class that is decided; of pairs,
   * the smallest of a class's values. For detectors the decision, positive inside; of predictions the value itself.
   */
  margins(row) {
    const values = this.values(row);
    const { rule } = this.record;
    if (rule === "distance") return [this.#inside(values)];
    if (this.kind !== "classes") return [values[0]];
    if (rule === "sign") {
      const value = values[0] - this.record.threshold;
      return [-value, value];
    }
    return rule === "pairs" ? this.#pairs(values) : values.map((value, i) => value - largestExcept(values, i));
  }

  /** In words: what is decided at a row. */
  describe(row) {
    return this.inWords(this.margins(row));
  }

  /** The same of margins. */
  inWords(margins) {
    if (this.kind === "values") return `Prediction ${formatted(margins[0])}.`;
    if (this.kind === "inside") {
      return margins[0] >= 0 ? `Inside, by ${formatted(margins[0])}.` : `Outlier: outside, by ${formatted(-margins[0])}.`;
    }
    const winner = margins.indexOf(Math.max(...margins));
    // Among pairs there can be circles, in which every class loses against another one.
    return margins[winner] > 0 ? `Decision ${this.names[winner]}, by ${formatted(margins[winner])}.` : "No class wins against all others.";
  }

  #inside(values) {
    const { squared_length: length, offset } = this.record;
    return values.reduce((sum, value) => sum + value * value, 0) - length - offset;
  }

  #pairs(values) {
    const margins = this.names.map(() => Infinity);
    let pair = 0;
    for (let i = 0; i < margins.length; i += 1) {
      for (let j = i + 1; j < margins.length; j += 1) {
        margins[i] = Math.min(margins[i], values[pair]);
        margins[j] = Math.min(margins[j], -values[pair]);
        pair += 1;
      }
    }
    return margins;
  }
}

function largestExcept(values, without) {
  let most = -Infinity;
  values.forEach((value, i) => { if (i !== without && value > most) most = value; });
  return most;
}
