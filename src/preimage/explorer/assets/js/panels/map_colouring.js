// What the marks of the map are coloured by: labels, columns, components or novelty.

import { categoryColour, categoryShape, sequential } from "../colours.js";
import { decisionOf } from "../decision.js";
import { formatted } from "../dom.js";
import { column } from "./map_target.js";
import { noveltyScores } from "./novelty.js";

// As many colours of a continuous scale as an eye tells apart; each is a picture of a mark that is drawn once.
const STEPS = 64;
/** The code of samples without a label or number. */
export const MISSING = -1;

/**
 * What one can colour by.
 * @param {object} app
 * @returns {{value: string, text: string}[]} entries of a menu
 */
export function colourings(app) {
  const { labels, columns } = app.samples;
  const { component_names: names, decision } = app.data.models[app.store.get("model")];
  return [
    ...(labels ? [{ value: "labels", text: labels.name || "Label" }] : []),
    ...columns.map(({ name }, number) => ({ value: `column:${number}`, text: name })),
    ...(decision ? [{ value: "decision", text: DECIDED[decision.kind] }] : []),
    ...(app.samples.hasGaps ? [{ value: "gaps", text: "Gaps" }] : []),
    { value: "novelty", text: "Novelty" },
    ...names.map((name, number) => ({ value: `component:${number}`, text: name })),
    { value: "none", text: "One colour" },
  ];
}

/**
 * The colouring with a key of `colourings`, for the present model.
 * @returns {Categories | Scale}
 */
export function createColouring(app, key) {
  const record = app.data.models[app.store.get("model")];
  const [kind, number] = key.split(":");
  const { labels, columns, count } = app.samples;
  if (kind === "labels" && labels) return new Categories(labels.name || "Label", labels.names, labels.codes.values);
  if (kind === "column" && columns[number]) {
    const { name, names, codes, values } = columns[number];
    return names ? new Categories(name, names, codes.values) : new Scale(name, values.values);
  }
  if (kind === "decision" && record.decision) return decided(app);
  if (kind === "gaps" && app.samples.hasGaps) return new Categories("Gaps", ["complete", "filled in"], gapCodes(app.samples));
  if (kind === "novelty") return new Scale("Novelty", noveltyScores(record, app.store.get("q")));
  if (kind === "component" && Number(number) < record.coordinates.shape[1]) {
    return new Scale(record.component_names[number], column(record.coordinates, Number(number)));
  }
  return new Categories("", ["All samples"], new Int32Array(count), false);
}

const DECIDED = { classes: "Decision", inside: "Decision", values: "Prediction" };

/** What the model itself says of the samples. */
function decided(app) {
  const { kind, names, codes, record } = decisionOf(app);
  const { values } = record.predicted;
  if (kind === "values") return new Scale(DECIDED[kind], values);
  if (kind === "inside") return new Categories(DECIDED[kind], ["inside", "outlier"], Int32Array.from(values, (value) => Number(value < 0)));
  // Classes that are labels have the colours of these.
  const all = [...(app.samples.labels?.names ?? [])];
  names.forEach((name, number) => { all[codes[number]] = name; });
  return new Categories(DECIDED[kind], all, Int32Array.from(values, (number) => codes[number]));
}

function gapCodes({ count, gaps }) {
  return Int32Array.from({ length: count }, (_, sample) => Number(gaps(sample) !== null));
}

/** Marks by names: a colour and a shape each. */
export class Categories {
  constructor(title, names, codes, isFilter = true) {
    Object.assign(this, { title, names, codes, isFilter, isContinuous: false });
  }

  /** The number of the mark of a sample; samples with equal numbers look the same. */
  mark(sample) {
    return this.codes[sample];
  }

  /** How a mark looks. */
  look(mark) {
    return { colour: categoryColour(mark), shape: mark === MISSING ? "circle" : categoryShape(mark) };
  }

  /** The entries of the legend: `{code, name, count}`, those without a name last. */
  entries() {
    const counts = new Map();
    for (const code of this.codes) counts.set(code, (counts.get(code) ?? 0) + 1);
    const named = this.names.map((name, code) => ({ code, name, count: counts.get(code) ?? 0 }));
    const missing = counts.get(MISSING);
    return missing ? [...named, { code: MISSING, name: "missing", count: missing }] : named;
  }
}

/** Marks by numbers, on a scale whose ends leave out the outermost hundredths: one outlier must not hide the rest. */
export class Scale {
  constructor(title, values) {
    this.title = title;
    this.values = values;
    this.isContinuous = true;
    const known = Float64Array.from(values).filter(Number.isFinite).sort();
    const at = (fraction) => known[Math.round(fraction * (known.length - 1))];
    [this.low, this.high] = known.length ? [at(0.01), at(0.99)] : [0, 1];
    this.isCut = known.length > 0 && (known[0] < this.low || known[known.length - 1] > this.high);
    this.hasMissing = known.length < values.length;
  }

  /** The fraction of the scale at which a sample is, also for those beyond its ends; NaN is missing. */
  fraction(sample) {
    const value = this.values[sample];
    if (!Number.isFinite(value)) return NaN;
    return this.high > this.low ? Math.min(1, Math.max(0, (value - this.low) / (this.high - this.low))) : 0.5;
  }

  /** See `Categories`. */
  mark(sample) {
    const fraction = this.fraction(sample);
    return Number.isNaN(fraction) ? MISSING : Math.round(fraction * (STEPS - 1));
  }

  /** See `Categories`. */
  look(mark) {
    return { colour: mark === MISSING ? categoryColour(MISSING) : this.colourAt(mark / (STEPS - 1)), shape: "circle" };
  }

  /** The colour at a fraction of the scale. */
  colourAt(fraction) {
    return `rgb(${sequential(fraction).map(Math.round).join(",")})`;
  }

  /** The numbers at both ends, as they are written under the scale. */
  ends() {
    return [(this.isCut ? "≤ " : "") + formatted(this.low), (this.isCut ? "≥ " : "") + formatted(this.high)];
  }
}
