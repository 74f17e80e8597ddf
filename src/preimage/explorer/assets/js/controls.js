// Controls with labels that can be seen and heard, and that a keyboard reaches.

import { element } from "./dom.js";

let count = 0;

const unique = (what) => `${what}-${(count += 1)}`;

/**
 * A slider: `{element, input, set(value)}`. `onchange(value)` hears users; `set` does not call it.
 * @param {{label: string, min: number, max: number, step?: number|"any", value: number, format?: Function, onchange: Function}} options
 */
export function slider({ label, min, max, step = 1, value, format = String, onchange }) {
  const id = unique("slider");
  const input = element("input", { id, type: "range", min, max, step });
  const shown = element("output", { for: id });
  const show = () => {
    shown.textContent = format(Number(input.value));
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  const set = (number) => { input.value = number; show(); };
  input.addEventListener("input", () => { show(); onchange(Number(input.value)); });
  set(value);
  return { element: element("div", { class: "control" }, [element("label", { for: id, text: label }), input, shown]), input, set };
}

/**
 * A menu: `{element, select, set(value), setOptions(options)}`; options are `[{value, text}]` with strings for values.
 */
export function menu({ label, options, value, onchange }) {
  const id = unique("menu");
  const select = element("select", { id });
  const set = (chosen) => { select.value = String(chosen); };
  const setOptions = (entries) => select.replaceChildren(...entries.map((entry) => element("option", { value: entry.value, text: entry.text })));
  setOptions(options);
  set(value);
  select.addEventListener("change", () => onchange(select.value));
  return { element: element("div", { class: "control" }, [element("label", { for: id, text: label }), select]), select, set, setOptions };
}

/** A button; `pressed` (true or false) makes it one that stays down. */
export function button({ text, title, onclick, pressed, label }) {
  return element("button", { type: "button", text, title, "aria-label": label, "aria-pressed": pressed === undefined ? null : String(pressed), onclick });
}

/** A button that stays down while it is on: `{element, set(isOn)}`. `onchange(isOn)` hears users; `set` does not call it. */
export function toggle({ text, title, value, onchange }) {
  let isOn = value;
  const node = button({ text, title, pressed: value, onclick: () => { set(!isOn); onchange(isOn); } });
  function set(next) {
    isOn = next;
    node.setAttribute("aria-pressed", String(next));
  }
  return { element: node, set };
}

/**
 * Tabs: one panel of several is seen. `entries` are `[{name, title, panel}]`; arrows move between the tabs.
 * @returns {{element: HTMLElement, open: Function}} `open(name)` shows a panel
 */
export function tabs(entries, onopen = () => {}) {
  const heads = entries.map(({ name, title, panel }) => {
    panel.id = panel.id || unique("tab-panel");
    panel.setAttribute("role", "tabpanel");
    return element("button", { type: "button", role: "tab", id: `tab-${name}`, text: title, "aria-controls": panel.id, onclick: () => open(name) });
  });
  const list = element("div", { class: "tab-list", role: "tablist", "aria-label": "Tools" }, heads);
  const open = (name) => {
    entries.forEach((entry, number) => {
      const chosen = entry.name === name;
      heads[number].setAttribute("aria-selected", String(chosen));
      heads[number].tabIndex = chosen ? 0 : -1;
      entry.panel.hidden = !chosen;
    });
    onopen(name);
  };
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (heads.indexOf(document.activeElement) + step + heads.length) % heads.length;
    heads[next].focus();
    open(entries[next].name);
    event.preventDefault();
  });
  const body = element("div", { class: "tabs" }, [list, ...entries.map((entry) => entry.panel)]);
  open(entries[0].name);
  return { element: body, open };
}
