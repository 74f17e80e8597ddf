// Next to the title: a link to what is seen now, and light or dark colours.

import { button } from "../controls.js";
import { element } from "../dom.js";
import { changesOf, linkOf } from "../page_link.js";

// How long the answer of a button is seen, in milliseconds.
const SEEN = 4000;

/** The buttons next to the title. */
export function createTitleTools(app) {
  return element("div", { class: "title-tools" }, [createTheme(app), ...createLink(app)]);
}

function createTheme(app) {
  const isDark = () => (app.store.get("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const theme = button({ text: "Dark", title: "Light or dark colours", onclick: () => app.store.set({ theme: isDark() ? "light" : "dark" }) });
  const show = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    theme.textContent = isDark() ? "Light colours" : "Dark colours";
  };
  app.store.on("theme", show);
  show();
  return theme;
}

/** The address of this view goes into the address bar and, where the browser allows it, to the clipboard. */
function createLink(app) {
  // A page inside a notebook has no address of its own.
  if (!["file:", "http:", "https:"].includes(location.protocol)) return [];
  const said = element("span", { role: "status" });
  let timer = 0;
  const say = (text) => {
    said.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => { said.textContent = ""; }, SEEN);
  };
  const link = button({
    text: "Link to this view", title: "Puts what you see into the address of the page, and copies the address",
    onclick: async () => {
      const hash = `#${linkOf(app)}`;
      history.replaceState(null, "", hash);
      try {
        await navigator.clipboard.writeText(location.href);
        say("Copied.");
      } catch {
        say("The link is in the address bar.");
      }
    },
  });
  return [link, said];
}

/** Show what the address of the page asks for, now and whenever it changes. */
export function followLink(app) {
  const follow = () => {
    const link = location.hash.slice(1);
    if (!link) return;
    const { model, ...changes } = changesOf(app, link);
    // A change of the model adapts what belongs to it, and comes first.
    app.store.set({ model });
    const { across, up, q, ...others } = changes;
    app.store.set(Object.fromEntries(Object.entries({ across, up, q }).filter(([, value]) => value !== undefined)));
    app.store.set(others);
  };
  window.addEventListener("hashchange", follow);
  follow();
}
