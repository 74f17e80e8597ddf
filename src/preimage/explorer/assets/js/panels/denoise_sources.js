// Where a row to denoise comes from: a text, a file, the selected sample; with noise or gaps added.

import { button, menu, slider } from "../controls.js";
import { element } from "../dom.js";
import { isPicture, rowOfPicture } from "../picture_files.js";
import { UnreadableText, rowsInText } from "../rows_in_text.js";
import { textOf } from "../text_files.js";
import { gapChoices, noisy, withGaps } from "./noise.js";
import { createPlaces, placeOfSample } from "./places.js";

/**
 * Buttons that replace or change the row in work.
 * @param {object} app
 * @param {{get: () => Float64Array, put: (row: Float64Array, name: string) => void}} work `get` gives the row in work,
 *   `put` replaces it and says what it is
 * @returns {HTMLElement}
 */
export function createChanges(app, work) {
  const { view } = app.data;
  const places = createPlaces(app);
  let clicks = 0;
  const change = (f, name) => () => {
    clicks += 1;
    work.put(f(work.get()), name());
  };
  const take = button({
    text: "Take the selected sample",
    title: "Click a sample on the map to select it.",
    onclick: () => {
      const selected = app.store.get("selected");
      work.put(app.samples.row(selected), places.name(placeOfSample(selected)));
    },
  });
  const showTake = () => { take.disabled = app.store.get("selected") === null; };
  app.store.on("selected", showTake);
  showTake();
  const amount = slider({
    label: "Noise", min: 0.1, max: 2, step: 0.1, value: 0.5, format: (s) => `${s.toFixed(1)} s`, onchange: () => {},
  });
  const noise = button({
    text: "Add noise",
    onclick: change((row) => noisy(row, view, Number(amount.input.value), clicks), () => "with noise added"),
  });
  const part = menu({ label: "Gaps", options: gapChoices(view), value: gapChoices(view)[0].value, onchange: () => {} });
  const hide = button({
    text: "Make gaps",
    onclick: change(
      (row) => withGaps(row, view, part.select.value, clicks),
      () => `${part.select.selectedOptions[0].textContent} left out`,
    ),
  });
  // Scans are dark on white, and data often bright on black.
  const flip = (row) => row.map((value) => view.range[0] + view.range[1] - value);
  const invert = view.kind === "image" ? button({ text: "Invert", onclick: change(flip, () => "inverted") }) : null;
  return element("div", { class: "controls" }, [take, amount.element, noise, part.element, hide, invert]);
}

/**
 * A field for pasted rows, a button for files, and what was read or what is wrong; files may be dropped on `target`.
 * @param {object} app
 * @param {HTMLElement} target
 * @param {(row: Float64Array, name: string) => void} put
 * @returns {HTMLElement}
 */
export function createReader(app, target, put) {
  const names = app.data.view.names ?? [];
  const message = element("p", { class: "message", role: "status" });
  const chooser = createRowChooser(put);
  const field = createField(names, (text) => {
    if (text.trim() !== "") receiveText(text, "pasted");
  });
  let latest = null;

  // Show the rows that `reading` gives, or what is wrong with them; of several readings the last one asked for counts.
  async function receive(reading, origin) {
    latest = reading;
    let rows = [];
    let words = "";
    let isWrong = false;
    try {
      const found = await reading();
      rows = found.rows;
      words = `${rows.length === 1 ? "One row" : `${rows.length} rows`} read. ${found.note}`;
    } catch (error) {
      if (!(error instanceof UnreadableText)) throw error; // a defect of this page, which belongs into the console
      [words, isWrong] = [error.message, true];
    }
    if (latest !== reading) return;
    message.classList.toggle("warning", isWrong);
    message.textContent = words.trim();
    chooser.use(rows, origin);
  }

  const receiveText = (text, origin) => receive(() => rowsInText(text, names, app.samples.width), origin);
  const ofFile = (file) => rowsOfFile(file, app.data.view, names, app.samples.width);
  const receiveFile = (file) => receive(() => ofFile(file), `of ${file.name}`);
  receiveDrops(target, receiveFile, (text) => receiveText(text, "dropped"));
  return element("div", { class: "reader" }, [
    field, element("div", { class: "controls" }, [createFileButton(receiveFile), chooser.element, message]),
  ]);
}

async function rowsOfFile(file, view, names, count) {
  if (!isPicture(file)) return rowsInText(await textOf(file), names, count);
  const row = await rowOfPicture(file, view);
  return { rows: [row], note: `The picture was scaled to ${view.shape[1]} × ${view.shape[0]} pixels.` };
}

function createField(names, ontext) {
  const example = names.length > 0 ? `${names.slice(0, 3).join(", ").slice(0, 80)}, …` : "0.1, 0.2, , 0.4, …";
  const field = element("textarea", {
    id: "pasted-row", rows: 2, spellcheck: "false", autocomplete: "off", placeholder: example,
  });
  field.addEventListener("input", () => ontext(field.value));
  const label = "Paste a row of numbers, or drop a CSV file here. Empty cells are gaps, which the model fills.";
  return element("div", { class: "paste" }, [element("label", { for: "pasted-row", text: label }), field]);
}

// Which of several rows is in work.
function createRowChooser(put) {
  let rows = [];
  let origin = "";
  const show = (number) => put(rows[number - 1], rows.length > 1 ? `row ${number} ${origin}` : `the row ${origin}`);
  const position = slider({ label: "Row", min: 1, max: 1, value: 1, onchange: show });
  position.element.hidden = true;
  return {
    element: position.element,
    use(found, from) {
      rows = found;
      origin = from;
      position.element.hidden = rows.length < 2;
      position.input.max = Math.max(1, rows.length);
      position.set(1);
      if (rows.length > 0) show(1);
    },
  };
}

function createFileButton(onfile) {
  const input = element("input", { type: "file", hidden: true, tabindex: -1, "aria-hidden": "true" });
  input.addEventListener("change", () => {
    if (input.files.length > 0) onfile(input.files[0]);
    input.value = ""; // so that the same file can be chosen again
  });
  return element("span", {}, [button({ text: "Choose a file", onclick: () => input.click() }), input]);
}

function receiveDrops(target, onfile, ontext) {
  const mark = (isOver) => target.classList.toggle("dropping", isOver);
  target.addEventListener("dragover", (event) => {
    event.preventDefault(); // without this the browser would open the file instead of the page
    mark(true);
  });
  target.addEventListener("dragleave", (event) => {
    if (!target.contains(event.relatedTarget)) mark(false);
  });
  target.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    if (event.dataTransfer.files.length > 0) onfile(event.dataTransfer.files[0]);
    else ontext(event.dataTransfer.getData("text/plain"));
  });
}
