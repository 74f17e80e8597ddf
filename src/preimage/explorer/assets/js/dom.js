// Elements of the page. Text from users reaches the page through `text` alone, which is never read as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with a class, text, attributes, listeners (`onclick: …`) and children.
 * @param {string} tag
 * @param {Object} options
 * @param {Array} children  elements, strings, or null for none
 */
export function element(tag, options = {}, children = []) {
  return filled(document.createElement(tag), options, children);
}

/** The same for parts of drawings. */
export function svg(tag, options = {}, children = []) {
  return filled(document.createElementNS(SVG, tag), options, children);
}

/** A section of the page with a heading and, where it is given, a sentence that says what it is for. */
export function panel(title, hint, children = [], options = {}) {
  const id = `panel-${title.toLowerCase().replace(/\W+/g, "-")}`;
  const heading = element("h2", { id, text: title });
  const sentence = hint ? element("p", { class: "hint", text: hint }) : null;
  const section = element("section", { ...options, class: `panel ${options.class ?? ""}`.trim() }, [heading, sentence, ...children]);
  section.setAttribute("aria-labelledby", id);
  return section;
}

/** A number in few characters: 0.0123, 1.2e-7, 12,300. */
export function formatted(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(digits - 1) : Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
  return text.replace("e+", "e").replaceAll("-", "−");
}

/** A function that runs at most once per frame, with the arguments of its last call. */
export function oncePerFrame(run) {
  let waiting = null;
  return (...args) => {
    if (waiting === null) requestAnimationFrame(() => { const last = waiting; waiting = null; run(...last); });
    waiting = args;
  };
}

/** Whether an element can be seen now: closed tabs and hidden panels need no work. */
export function isVisible(node) {
  return node.isConnected && node.getClientRects().length > 0;
}

function filled(node, options, children) {
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "class") node.setAttribute("class", value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
