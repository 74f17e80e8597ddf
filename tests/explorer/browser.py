"""Chromium for tests: functions of the page's modules called with arrays, and pages that are watched while open.

A test that fails here shows what a person who opens the page would meet: an error in the console, a request that leaves
the file, or "undefined" in a text.
"""

import base64
import json
import re
from pathlib import Path

import numpy as np

import preimage

MODULES = Path(preimage.__file__).parent / "explorer" / "assets" / "js"
# Modules are answered from the folder of sources under this address; a request for it never leaves the process.
ADDRESS = "https://modules.test/"
# Arrays of NumPy by the typed arrays that hold the same numbers.
TYPED = {
    "float64": "Float64Array",
    "float32": "Float32Array",
    "int32": "Int32Array",
    "uint32": "Uint32Array",
    "int16": "Int16Array",
    "uint16": "Uint16Array",
    "int8": "Int8Array",
    "uint8": "Uint8Array",
}
NUMPY = {typed: name for name, typed in TYPED.items()}
# Numbers that a page has no business to show, as JavaScript writes them.
NOT_FOR_READERS = re.compile(r"\b(?:NaN|undefined|-?Infinity|\[object \w+\])(?!\w)")


class Modules:
    """The page's modules in an empty page, to call their functions with values of Python."""

    def __init__(self, browser, folder=MODULES):
        self._context = browser.new_context()
        self._context.route("**/*", lambda route: _answer(route, folder))
        self._page = self._context.new_page()
        self._page.goto(ADDRESS)

    def __call__(self, modules, function, *arguments):
        """The value of `function(exports, *arguments)`, where exports are those of the named modules together.

        Arrays of NumPy arrive as `{values: TypedArray, shape}`, the form that arrays of a page have; typed arrays and
        such objects come back as arrays of NumPy. A function may be asynchronous. What it throws is raised.
        """
        names = [modules] if isinstance(modules, str) else list(modules)
        addresses = [ADDRESS + name for name in names]
        call = f"async (texts) => {{ {_EXCHANGE} return await exchange(texts, ({function})); }}"
        text = self._page.evaluate(call, [json.dumps(addresses), json.dumps(encoded(list(arguments)))])
        return None if text is None else json.loads(text, object_hook=_decoded)

    def close(self):
        self._context.close()


def _answer(route, folder):
    """The empty page at the address itself, files of the folder below it, nothing else."""
    name = route.request.url.removeprefix(ADDRESS).partition("?")[0]
    path = folder / name
    if route.request.url.startswith(ADDRESS) and not name:
        route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
    elif route.request.url.startswith(ADDRESS) and path.is_file():
        route.fulfill(body=path.read_text(encoding="utf-8"), content_type="text/javascript")
    else:
        route.fulfill(status=404, body=f"{name} is not among the modules of the page")


def encoded(value):
    """Values as JSON can carry them: arrays as bytes, and the numbers that JSON does not have by name."""
    if isinstance(value, np.ndarray):
        value = value.astype(np.int32) if value.dtype == np.int64 else value
        value = value.astype(np.uint8) if value.dtype == bool else value
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"$array": TYPED[value.dtype.name], "shape": list(value.shape), "data": data}
    if isinstance(value, np.generic):
        return encoded(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return {"$number": "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, dict):
        return {name: encoded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    return value


def _decoded(value):
    if "$array" in value:
        data = np.frombuffer(base64.b64decode(value["data"]), NUMPY[value["$array"]])
        return data.reshape(value["shape"]).copy()
    return float(value["$number"]) if "$number" in value else value


# The same in the browser. Bytes go through strings in pieces: a call takes a limited number of arguments.
_EXCHANGE = """
const typed = (name, text) => {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new globalThis[name](bytes.buffer);
};
const revive = (key, value) =>
  value && value.$array ? { values: typed(value.$array, value.data), shape: value.shape }
  : value && value.$number ? Number(value.$number) : value;
const base64 = (values) => {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength), pieces = [];
  for (let i = 0; i < bytes.length; i += 8192) pieces.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
  return btoa(pieces.join(""));
};
const pack = (values, shape) => ({ $array: values.constructor.name, shape, data: base64(values) });
const isTyped = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView);
const packed = (value) => {
  if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) };
  if (isTyped(value)) return pack(value, [value.length]);
  if (Array.isArray(value)) return value.map(packed);
  if (value && typeof value === "object") {
    if (isTyped(value.values) && Array.isArray(value.shape)) return pack(value.values, value.shape);
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, packed(item)]));
  }
  return value;
};
const exchange = async (texts, body) => {
  const modules = await Promise.all(JSON.parse(texts[0]).map((address) => import(address)));
  const answer = await body(Object.assign({}, ...modules), ...JSON.parse(texts[1], revive));
  return answer === undefined ? null : JSON.stringify(packed(answer));
};
"""


# Timers and frames that a page waits for are counted, so that a test goes on as soon as there are none, and not before,
# however busy the machine is. Observers of sizes and of visibility answer within two frames.
_COUNT_WORK = """
(() => {
  const later = window.setTimeout.bind(window);
  const forget = window.clearTimeout.bind(window);
  const frame = window.requestAnimationFrame.bind(window);
  const waiting = new Set();
  window.setTimeout = (run, delay = 0, ...values) => {
    const timer = later(() => { waiting.delete(timer); run(...values); }, delay);
    waiting.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => { waiting.delete(timer); forget(timer); };
  window.requestAnimationFrame = (run) => {
    const key = {};
    waiting.add(key);
    return frame((now) => { waiting.delete(key); run(now); });
  };
  window.atRest = async (most) => {
    const end = performance.now() + most;
    do await new Promise((done) => frame(() => frame(done)));
    while (waiting.size > 0 && performance.now() < end);
    if (waiting.size > 0) throw new Error(`after ${most} milliseconds the page is still at work`);
  };
})();
"""
_DRAWN = """
(part) => [...part.querySelectorAll("canvas, svg")]
  .map((node) => (node.tagName === "CANVAS" ? node.toDataURL() : node.outerHTML)).join("|")
"""


class WatchedPage:
    """A page opened from its file, offline, with everything that must not happen written down.

    `page` is the page of Playwright, on which tests act. `problems()` lists what went wrong so far; the fixture that
    opens pages fails if anything did, so that each test of a page is also a test that nothing was requested or failed.
    """

    def __init__(self, browser, path, *, width=1280, height=900, theme="light", touch=False, shade=True):
        self._context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            has_touch=touch,
            offline=True,
            # Films and fades finish at once, so that what a test reads is what stays.
            reduced_motion="reduce",
        )
        self.console, self.errors, self.requests = [], [], []
        self.page = self._context.new_page()
        # Far longer than anything takes, also where other work keeps the machine busy.
        self.page.set_default_timeout(60_000)
        self.page.add_init_script(_COUNT_WORK)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self._context.on("request", lambda request: self.requests.append(request.url))
        self.address = Path(path).resolve().as_uri()
        self.page.goto(self.address)
        # Ready, or a sentence that says why it could not be opened; then the error is among the problems.
        self.page.wait_for_function(
            "() => document.documentElement.dataset.ready || document.querySelector('[role=alert]')"
        )
        if not shade:
            self.page.evaluate("() => window.preimage?.store.set({ haze: 'none' })")

    def _hear(self, message):
        if message.type in {"error", "warning", "assert"}:
            self.console.append(f"{message.type}: {message.text}")

    def problems(self):
        """Sentences about errors, requests besides the file itself, and texts that show no number or no name."""
        # What the page made itself in memory, such as the drawing of a file, is no request.
        outside = [address for address in self.requests if not address.startswith(("blob:", "data:"))]
        asked = [address for address in outside if address.partition("#")[0] != self.address]
        found = [f"the page raised {error}" for error in self.errors]
        found += [f"the console has {line}" for line in self.console]
        found += [f"the page asked for {address[:200]}" for address in asked]
        return found + [f"the page shows {text}" for text in self.unreadable()]

    def unreadable(self):
        """Visible lines with NaN, undefined and their like."""
        lines = self.page.inner_text("body").splitlines()
        return [line[:200] for line in lines if NOT_FOR_READERS.search(line)]

    def panel(self, name):
        """The part of the page with this name: map, inspector, spectrum, walk, components, denoise or widths."""
        return self.page.locator(f'[data-panel="{name}"]')

    def open_tool(self, title):
        """The panel of a tab, after a click on it."""
        self.page.get_by_role("tab", name=title, exact=True).click()
        return self.panel(title.lower())

    def drawn(self, part):
        """What pictures inside a part show, as a text that differs when a picture differs."""
        return part.evaluate(_DRAWN)

    def state(self, key):
        """A value that the parts of the page share."""
        return self.page.evaluate("(key) => window.preimage.store.get(key)", key)

    def settle(self):
        """Wait until the page is at rest: nothing is left to compute or draw."""
        self.page.evaluate("() => window.atRest(60_000)")

    def sideways(self):
        """By how many pixels the page is wider than its window."""
        return self.page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def closed(self):
        """Closes the window; what went wrong while it was open."""
        problems = self.problems()
        self._context.close()
        return problems


# A view with pictures of given sizes on the page; `look(view, picture, element)` answers.
PICTURE = """({{createView}}, record, row, css) => {{
  document.head.innerHTML = `<style>${{css}}</style>`;
  const view = createView(record);
  const picture = view.picture({{size: "{size}", what: "{what}"}});
  document.body.replaceChildren(picture.element);
  picture.show(row && row.values);
  return ({look})(picture.element, view, picture, row && row.values);
}}"""
