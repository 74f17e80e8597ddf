// What a page owes readers who see little, who see colours differently, or who have a keyboard alone.
// The value of this expression is a function that returns sentences about what is missing.
() => {
  const problems = [];
  const shown = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility !== "hidden";
  const called = (node) => {
    const text = (node.textContent || "").trim().slice(0, 40);
    return `<${node.tagName.toLowerCase()}${node.id ? "#" + node.id : ""}${node.getAttribute("class") ? "." + node.getAttribute("class") : ""}> ${text}`;
  };

  // Names: what a screen reader says.
  const nameOf = (node) => {
    const by = node.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    const own = node.getAttribute("aria-label") ?? [...(node.labels ?? [])].map((label) => label.textContent).join(" ");
    if (own.trim()) return own.trim();
    const takesText = ["BUTTON", "A", "SUMMARY"].includes(node.tagName) || node.hasAttribute("role");
    const pictures = [...node.querySelectorAll("img[alt]")].map((picture) => picture.alt).join(" ");
    return ((takesText ? node.textContent.trim() || pictures : "") || node.getAttribute("title") || "").trim();
  };
  const INTERACTIVE = "button, select, textarea, input, summary, a[href], [tabindex], [role=slider], [role=tab], [role=checkbox], [role=button]";
  for (const node of document.querySelectorAll(INTERACTIVE)) {
    if (shown(node) && !nameOf(node)) problems.push(`no name: ${called(node)}`);
  }
  for (const node of document.querySelectorAll("canvas, svg")) {
    const hidden = node.closest("[aria-hidden=true]") || node.getAttribute("role") === "presentation";
    const inside = node.closest("button, figure, [aria-label]");
    if (shown(node) && !hidden && !inside && !nameOf(node)) problems.push(`a drawing without a name: ${called(node)}`);
  }

  // References: labels and descriptions that point to nothing say nothing.
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) problems.push(`the id ${id} stands twice`);
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const node of document.querySelectorAll(`[${name}]`)) {
      for (const id of node.getAttribute(name).split(/\s+/)) {
        if (!document.getElementById(id)) problems.push(`${name} of ${called(node)} points to nothing`);
      }
    }
  }
  for (const node of document.querySelectorAll("[tabindex]")) {
    if (node.tabIndex > 0) problems.push(`out of the order of the page: ${called(node)}`);
  }
  for (const node of document.querySelectorAll("[role=slider]")) {
    for (const name of ["aria-valuemin", "aria-valuemax", "aria-valuenow"]) {
      if (node.getAttribute(name) === null) problems.push(`a slider without ${name}: ${called(node)}`);
    }
  }

  // Headings: one title, no level left out.
  const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5")].filter(shown).map((node) => Number(node.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) problems.push("not exactly one h1");
  levels.forEach((level, i) => { if (i && level > levels[i - 1] + 1) problems.push(`a heading h${level} after h${levels[i - 1]}`); });

  // Contrast of texts with what is behind them (WCAG 2: 4.5, and 3 for large texts).
  const channels = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    if (colour.startsWith("color(")) return [...parts.slice(0, 3).map((x) => 255 * x), parts[3] ?? 1];
    return [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const over = (front, back) => [0, 1, 2].map((i) => front[3] * front[i] + (1 - front[3]) * back[i]).concat(1);
  const behind = (node) => {
    const layers = [];
    for (let each = node; each; each = each.parentElement) layers.push(channels(getComputedStyle(each).backgroundColor));
    // In a drawing a text stands on the shape that comes before it in its group.
    const shape = node.tagName === "text" ? node.previousElementSibling : null;
    if (shape?.matches("circle, rect")) layers.unshift(channels(getComputedStyle(shape).fill));
    return layers.reverse().reduce((back, layer) => over(layer, back), [255, 255, 255, 1]);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || seen.has(node) || !shown(node) || ["SCRIPT", "STYLE", "OPTION", "NOSCRIPT"].includes(node.tagName)) continue;
    seen.add(node);
    if (node.closest(":disabled, [aria-disabled=true]")) continue;
    const style = getComputedStyle(node);
    const back = behind(node);
    const ink = over(channels(node.closest("svg") ? style.fill : style.color), back);
    const [light, dark] = [luminance(ink), luminance(back)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${called(node)}`);
    const drawing = node.closest("svg");
    const shrunk = drawing?.viewBox.baseVal?.width ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : 1;
    if (parseFloat(style.fontSize) * shrunk < 9) problems.push(`letters of ${(parseFloat(style.fontSize) * shrunk).toFixed(1)} pixels: ${called(node)}`);
  }

  // Things to hit with a finger, and texts that are cut off without a way to read the rest.
  for (const node of document.querySelectorAll("button, select, input:not([type=file]), summary")) {
    const box = node.getBoundingClientRect();
    const label = node.labels?.[0]?.getBoundingClientRect();
    const small = (side) => Math.max(box[side], label ? label[side] : 0) < 16;
    if (shown(node) && (small("height") || small("width"))) problems.push(`too small to hit: ${called(node)} ${box.width} × ${box.height}`);
  }
  for (const node of document.querySelectorAll("button, label, h1, h2, h3, p, li, output, figcaption, legend")) {
    const style = getComputedStyle(node);
    const cut = style.overflowX === "hidden" && node.scrollWidth > node.clientWidth + 1;
    const readable = style.textOverflow === "ellipsis" && (node.title || node.closest("[title]"));
    if (shown(node) && cut && !readable) problems.push(`cut off: ${called(node)}`);
  }
  return problems;
}
