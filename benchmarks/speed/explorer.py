"""Is a page of the explorer fluent: how long does it take to open, and to find the pre-image at the pointer?

Set-up: kernel PCA of USPS (16 × 16 pixels) with 16 components, compressed to 300 points by `explore`; the page of about
2 MB is opened from its file in headless Chromium, offline, several times. The pointer then visits 200 random places of
the map, and the questions that the page asks its model there are asked again, one by one, from scratch (the nearest
training image is the start) and from the answer before, as while the pointer moves. Each is asked several times and the
shortest time counts, so that other work on the machine shows as little as possible.

    OMP_NUM_THREADS=1 python benchmarks/speed/explorer.py --record

Observe: medians over the places below 16 ms, a frame of the screen, and pages that open in less than a second. Needs
Chromium and Playwright.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record
from _reports import option_parser, stamped, table
from data import load_usps

from preimage import KernelPCA, explore
from preimage.explorer import _compression, _parts
from preimage.kernels import Gaussian, Matern, Polynomial, RationalQuadratic

# Squared distances of digits are about 200 (the median); one length of the kernels is a fraction of that.
KERNELS = {
    "Gaussian": Gaussian(0.01),
    "RationalQuadratic": RationalQuadratic(0.01),
    "Matern": Matern(0.01, nu=2.5),
    "sum": Gaussian(0.01) + 0.1 * Polynomial(degree=2, gamma=1 / 256),
    "polynomial": Polynomial(degree=2, gamma=1 / 256),
}

SHOWN = {"sum": "Gaussian + polynomial"}
POINTS = 300

# The moment at which the page is ready, in milliseconds since it was asked for.
WATCH = """
new MutationObserver((changes, watching) => {
  if (document.documentElement?.dataset.ready === undefined) return;
  watching.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.shownAfter = performance.now(); }));
}).observe(document, { subtree: true, childList: true, attributes: true });
"""

# What the page asks its model while the pointer is at each place, and how long it takes to ask it again.
QUESTIONS = """async ([fractions, repeats]) => {
  const app = window.preimage, model = app.model(), asked = [];
  const { values, shape: [count, k] } = model.record.coordinates;
  const range = (j) => {
    const numbers = Array.from({ length: count }, (_, i) => values[i * k + j]);
    return [Math.min(...numbers), Math.max(...numbers)];
  };
  const [[left, right], [bottom, top]] = [range(app.store.get("across")), range(app.store.get("up"))];
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const preimage = model.preimage;
  let place = null;
  model.preimage = (y, options) => {
    if (y[app.store.get("across")] === place.across && y[app.store.get("up")] === place.up) asked.push(y.slice());
    return preimage.call(model, y, options);
  };
  for (const [across, up] of fractions) {
    place = { across: left + across * (right - left), up: bottom + up * (top - bottom) };
    const before = asked.length;
    app.store.set({ pointer: place });
    for (let frames = 0; frames < 60 && asked.length === before; frames += 1) await frame();
    asked.length = Math.min(asked.length, before + 1);
  }
  delete model.preimage;
  app.store.set({ pointer: null });
  await frame();
  const timed = (y, options) => {
    let milliseconds = Infinity, found = null;
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const start = performance.now();
      found = model.preimage(y, { q: app.store.get("q"), ...options });
      milliseconds = Math.min(milliseconds, performance.now() - start);
    }
    return { milliseconds, ...found };
  };
  const fresh = asked.map((y) => timed(y, {}));
  const near = asked.map((y, i) => timed(y.map((each) => 0.99 * each), { start: fresh[i].row }));
  const milliseconds = (answers) => answers.map((each) => each.milliseconds);
  return {
    fresh: milliseconds(fresh),
    near: milliseconds(near),
    iterations: fresh.map((each) => each.iterations),
    converged: fresh.filter((each) => each.converged).length,
  };
}"""


def main():
    from playwright.sync_api import sync_playwright

    parser = option_parser(__doc__, "record")
    parser.add_argument("--places", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5, help="how often pages are opened and questions asked")
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=list(KERNELS))
    options = parser.parse_args()
    print(describe_machine())

    data = load_usps()
    places = np.random.default_rng(0).uniform(size=(options.places, 2)).tolist()
    values = {}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        print(f"Chromium {browser.version}")
        for name in options.kernels:
            path = make_page(data, KERNELS[name], Path(folder) / f"{name}.html")
            found = measure(browser, path, places, options.repeats)
            print(name, *(f"  {what:36} {value:8.3g}" for what, value in found.items()), sep="\n")
            values |= {f"{name} {what}": value for what, value in found.items()}
        version = browser.version
        browser.close()
    values |= {f"compression, {what}": value for what, value in compression(data).items()}
    if options.record:
        settings = {"data": "USPS", "components": 16, "points": POINTS, "places": options.places}
        record("explorer_speed", values, settings | {"repeats": options.repeats, "Chromium": version})


def compression(data):
    """What a page of a model of all digits as points loses, and what it costs to make it small."""
    model, found = KernelPCA(16, kernel=KERNELS["Gaussian"]).fit(data.X_train), []

    def timed(*arguments):
        start = time.process_time()
        small, loss = _compression.small_model(*arguments)
        found.append((loss, time.process_time() - start))
        return small, loss

    with mock.patch.object(_parts, "small_model", timed):
        explore(model, data.X_train, data.y_train, image_shape=(16, 16), n_points=POINTS)
    ((loss, seconds),) = found
    values = {"lost, %": 100 * loss.variance, "moved, %": 100 * loss.preimages, "seconds of processor": seconds}
    print("compression", values)
    return values


def section(contents):
    values, settings = contents["values"], contents["settings"]
    yield from stamped("## Speed and size\n", contents)
    yield (
        f"Headless Chromium {settings['Chromium']} without a graphics card. Kernel PCA of 7,291 USPS digits (16 × 16 "
        f"pixels), {settings['components']} components, {settings['points']} points; 5,000 digits are drawn. "
        f"Pre-images are those that the page looks for when the pointer visits {settings['places']} random places of "
        f"the map, each started at the nearest training image; the shortest of {settings['repeats']} runs of each "
        "counts. Opening is from the file until everything is drawn, the network off.\n"
    )
    rows = []
    for name in KERNELS:
        of = lambda what, name=name: values[f"{name} {what}"]
        seconds = [f"{of(what):.2f}" for what in ("seconds to open", "seconds to open, median")]
        times = ["milliseconds", "milliseconds of 19 in 20", "milliseconds near the answer before"]
        shown = [f"{of(what):.1f} ms" for what in times]
        processor = f"{of('seconds of processor to open'):.2f} s"
        found = [f"{of('iterations'):.0f}", f"{100 * of('converged'):.0f} %"]
        rows.append(
            [SHOWN.get(name, name), f"{of('megabytes'):.1f} MB", f"{', '.join(seconds)} s", processor, *shown, *found]
        )
    header = ["kernel", "page", "opens in (shortest, median)", "processor time of it", "pre-image (median)"]
    yield from table([*header, "19 of 20 below", "continued from the answer before", "steps", "converged"], rows)
    yield (
        "\nKernels without a fixed point need more steps.\n\n"
        "## Agreement\n\n"
        "`tests/explorer/test_browser_agreement.py` compares with Python. For 200 random targets and each of six "
        "kernels (Gaussian, polynomial, RationalQuadratic, Matern, a sum, a profile of a user's own), pre-images of "
        "the page and of Python differ by at most 1e-6 of the spread of the data, and stop for the same reasons; at "
        "least 199 of each 200 converge in both. Kernel values and gradients of 41 named kernels and of 160 random "
        "compositions agree to 1e-10. Rows with gaps are filled as `KernelPCA.impute` fills them, to 1e-8 of the "
        "spread. Kernels with corners (Laplacian, chi-squared) end where rounding lets them, in Python too: of these, "
        "nine in ten pre-images or more agree to 1e-4.\n\n"
        "## What compression loses\n"
    )
    lost, moved, took = (values[f"compression, {what}"] for what in ("lost, %", "moved, %", "seconds of processor"))
    yield (
        f"A model of all 7,291 digits as points, 16 components, brought to {settings['points']} points for its page: "
        f"coordinates lose {lost:.2g} % of their variance, and pre-images move by {moved:.2f} % of the spread of the "
        f"data (median of {_compression.ROWS_TO_COMPARE}), in {took:.0f} s of processor time. Each page prints its own "
        "loss."
    )


def make_page(data, kernel, path):
    """The page of a model of all training digits, on 300 landmarks, with 5,000 of the digits to draw."""
    model = KernelPCA(16, kernel=kernel, landmarks=POINTS).fit(data.X_train)
    return explore(model, data.X_train, data.y_train, image_shape=(16, 16)).save(path)


def measure(browser, path, places, repeats):
    """Megabytes of a page, seconds until it is shown, and milliseconds per pre-image at the pointer."""
    seconds, processor = [], []
    for _ in range(repeats):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
        context.add_init_script(WATCH)
        page = context.new_page()
        counters = context.new_cdp_session(page)
        counters.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(path.resolve().as_uri())
        page.wait_for_function("() => window.shownAfter !== undefined")
        processor.append(seconds_of_tasks(counters))
        seconds.append(page.evaluate("() => window.shownAfter / 1000"))
        if len(seconds) == repeats:
            found = page.evaluate(QUESTIONS, [places, repeats])
        context.close()
    fresh, near = np.array(found["fresh"]), np.array(found["near"])
    return {
        "megabytes": path.stat().st_size / 1e6,
        "seconds to open": min(seconds),
        "seconds to open, median": float(np.median(seconds)),
        "seconds of processor to open": float(np.median(processor)),
        "places": len(fresh),
        "milliseconds": float(np.median(fresh)),
        "milliseconds of 19 in 20": float(np.quantile(fresh, 0.95)),
        "milliseconds near the answer before": float(np.median(near)),
        "iterations": float(np.median(found["iterations"])),
        "converged": found["converged"] / len(fresh),
    }


def seconds_of_tasks(counters):
    """Processor seconds of all tasks of a page so far: on a shared machine only these say how much work opening is."""
    metrics = counters.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


if __name__ == "__main__":
    main()
