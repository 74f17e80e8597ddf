"""Laws of the map: places and pixels, the question of a place, novelty and its ranks, the haze."""

import numpy as np
import pytest
from scipy.stats import rankdata

from preimage import KernelPCA, OrientedKernelPCA
from preimage.kernels import Gaussian

VIEWPORT = "panels/map_viewport.js"
TARGET = "panels/map_target.js"
NOVELTY = "panels/novelty.js"
HAZE = "panels/map_haze.js"

random = np.random.default_rng(3)
COORDINATES = random.normal(size=(60, 5)) * [3.0, 1.0, 0.5, 0.2, 0.1]
PLACES = random.normal(size=(20, 2)) * [4.0, 2.0]

TARGETS = """({MapSamples}, coordinates, places, others, hidden) => {
  const samples = new MapSamples(coordinates, 1, 3, (i) => !hidden.includes(i));
  const at = (i) => ({across: places.values[2 * i], up: places.values[2 * i + 1]});
  return Array.from({length: places.shape[0]}, (_, i) => samples.target(at(i), others));
}"""


def targets(javascript, places, others, coordinates=COORDINATES, hidden=()):
    return np.array(javascript(TARGET, TARGETS, coordinates, np.asarray(places, float), others, list(hidden)))


def seen_nearest(places, coordinates=COORDINATES, hidden=()):
    """The nearest sample on a map of 4 : 3 that shows all samples."""
    plane = coordinates[:, [1, 3]]
    scale = np.array([4, 3]) / np.ptp(plane, axis=0)
    distances = np.linalg.norm((plane[None] - np.asarray(places)[:, None]) * scale, axis=2)
    distances[:, list(hidden)] = np.inf
    return distances.argmin(axis=1)


def test_pixels_and_places_are_inverse_and_zooming_keeps_the_place_under_the_pointer(javascript):
    answer = javascript(
        VIEWPORT,
        """({Viewport}) => {
      const view = new Viewport();
      view.fit([-2, 6], [0, 1]);
      view.place(50, 8, 600, 450);
      const [before, places] = [view.at(200, 300), []];
      view.zoom(3, 200, 300);
      const after = view.at(200, 300);
      const corner = view.at(50, 8);
      view.pan(25, -40);
      const moved = view.at(75, -32);
      for (const [x, y] of [[50, 8], [123, 77], [650, 458]]) {
        const {across, up} = view.at(x, y);
        places.push([view.x(across) - x, view.y(up) - y]);
      }
      return {before, after, corner, moved, places, size: view.magnification};
    }""",
    )
    assert answer["before"] == pytest.approx(answer["after"])
    assert answer["corner"] == pytest.approx(answer["moved"])
    assert answer["size"] == pytest.approx(3)
    np.testing.assert_allclose(answer["places"], 0, atol=1e-9)


def test_zooming_out_ends_at_twice_the_data_and_the_middle_stays_near_them(javascript):
    outcome = javascript(
        VIEWPORT,
        """({Viewport}) => {
      const view = new Viewport();
      view.fit([0, 1], [0, 1]);
      view.place(0, 0, 400, 300);
      const changed = Array.from({length: 12}, () => view.zoom(0.8, 200, 150));
      view.pan(-1e6, 1e6);
      const far = view.at(200, 150);
      view.reset();
      return {changed, far, shown: view.shown};
    }""",
    )
    # 0.8³ is more than one half, 0.8⁴ less: the fourth step is cut short, and then there are none.
    assert outcome["changed"] == [True] * 4 + [False] * 8
    assert outcome["far"] == pytest.approx({"across": 1.5, "up": 1.5})
    assert outcome["shown"] == {"left": 0, "right": 1, "bottom": 0, "top": 1}


@pytest.mark.parametrize(
    ("low", "high"), [(-1.3, 7.9), (1e-4, 3.3e-4), (-250, -3), (0, 1e6), (-3e-10, 5e-10), (0.034521, 0.034533)]
)
def test_numbers_of_an_axis_are_round_even_and_told_apart(javascript, low, high):
    code = """({ticks}, low, high) => {
      const { values, format } = ticks(low, high, 6);
      return { values, written: values.map(format) };
    }"""
    axis = javascript("views/ticks.js", code, low, high)
    values = np.array(axis["values"])
    assert 3 <= len(values) <= 8
    assert values.min() >= low - 1e-9 * (high - low) and values.max() <= high + 1e-9 * (high - low)
    np.testing.assert_allclose(np.diff(values), values[1] - values[0], rtol=1e-6)
    assert len(set(axis["written"])) == len(values)
    read = [float(text.replace("−", "-")) for text in axis["written"]]
    np.testing.assert_allclose(read, values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("numbers", [[], [2.0], [0.0, 0.0], [-1.0, 3.0]])
def test_every_list_has_a_range(javascript, numbers):
    low, high = javascript(VIEWPORT, "({paddedRange}, numbers) => paddedRange(numbers)", numbers)
    assert np.isfinite([low, high]).all() and low < high
    assert all(low < number < high for number in numbers)


@pytest.mark.parametrize("others", ["average", "nearest", "zero"])
def test_the_two_components_of_the_map_are_those_of_the_place(javascript, others):
    found = targets(javascript, PLACES, others)
    np.testing.assert_array_equal(found[:, [1, 3]], PLACES)


def test_one_component_on_both_axes_is_spread_upwards_and_asked_for_across_alone(javascript):
    ask = """({MapSamples}, coordinates, spread) => {
      const samples = new MapSamples(coordinates, 2, 2, () => true, spread.values);
      return [samples.up, samples.target({across: 0.7, up: 5}, "zero"), samples.nearest({across: 0, up: 59})];
    }"""
    spread = np.arange(60.0)
    up, target, nearest = javascript(TARGET, ask, COORDINATES, spread)
    np.testing.assert_array_equal(up, spread)
    np.testing.assert_array_equal(target, [0, 0, 0.7, 0, 0])
    assert nearest > 40


def test_remaining_components_are_zero_or_those_of_the_nearest_shown_sample(javascript):
    rest = [0, 2, 4]
    assert not targets(javascript, PLACES, "zero")[:, rest].any()
    for hidden in [(), range(30)]:
        expected = COORDINATES[seen_nearest(PLACES, hidden=hidden)]
        np.testing.assert_array_equal(targets(javascript, PLACES, "nearest", hidden=hidden)[:, rest], expected[:, rest])


def test_average_is_the_weighted_mean_of_shown_samples_with_scotts_width(javascript):
    shown = COORDINATES[20:]
    plane = shown[:, [1, 3]]
    widths = plane.std(axis=0) * len(plane) ** (-1 / 6)
    logs = -0.5 * (((plane[None] - PLACES[:, None]) / widths) ** 2).sum(axis=2)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected = (weights / weights.sum(axis=1, keepdims=True)) @ shown
    found = targets(javascript, PLACES, "average", hidden=range(20))
    np.testing.assert_allclose(found[:, [0, 2, 4]], expected[:, [0, 2, 4]], rtol=1e-9, atol=1e-12)


def test_average_does_not_jump_and_ends_at_the_outermost_sample(javascript):
    path = np.linspace([-0.5, 0.05], [0.5, -0.05], 201)
    steps = np.diff(targets(javascript, path, "average")[:, [0, 2, 4]], axis=0)
    assert np.abs(steps).max() < 0.05 * COORDINATES[:, 0].std()
    far = np.array([[500.0, 0.0]])
    np.testing.assert_allclose(targets(javascript, far, "average")[0, 0], COORDINATES[COORDINATES[:, 1].argmax(), 0])


def test_without_shown_samples_the_place_is_that_of_the_mean(javascript):
    for others in ["average", "nearest"]:
        assert not targets(javascript, PLACES, others, hidden=range(60))[:, [0, 2, 4]].any()


DISTANCES = """({MapSamples}, coordinates, places) => {
  const samples = new MapSamples(coordinates, 0, 1, () => true);
  const at = (i) => ({across: places.values[2 * i], up: places.values[2 * i + 1]});
  return Array.from({length: places.shape[0]}, (_, i) => samples.squaredDistance(at(i)));
}"""


def test_distance_from_the_samples_is_zero_among_them_and_grows_outwards(javascript):
    at_samples = javascript(TARGET, DISTANCES, COORDINATES, COORDINATES[:, :2].copy())
    assert max(at_samples) == 0
    ray = np.linspace([0, 0], [60, 15], 30)
    distances = np.array(javascript(TARGET, DISTANCES, COORDINATES, ray))
    assert (np.diff(distances) >= 0).all() and distances[-1] > 100
    alone = javascript(TARGET, DISTANCES, np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]]))
    assert alone[0] == pytest.approx(25)


SCORES = """({noveltyScores, rankFromTop}, record, q) => {
  const scores = noveltyScores(record, q);
  return [scores, Array.from(scores, (score) => rankFromTop(scores, score))];
}"""


def oriented(X):
    noisy = X + 0.1 * np.random.default_rng(1).normal(size=X.shape)
    return OrientedKernelPCA(kernel=Gaussian(0.1), n_components=5).fit(X, pairs=(X, noisy))


@pytest.mark.parametrize("make", [lambda X: KernelPCA(5, kernel="rbf", gamma=0.1).fit(X), oriented])
def test_novelty_is_the_distance_to_the_subspace_of_the_components_in_use(javascript, make):
    X = random.normal(size=(40, 6))
    model = make(X[:30])
    subspace = model.subspace_
    k = len(subspace.frame)
    record = {
        "coordinates": np.asarray(model.transform(X), float),
        "errors": np.asarray(subspace.residuals(X), float),
        "features": np.linalg.inv(model.mixing_.T) if hasattr(model, "mixing_") else None,
        "signature": None,
    }
    for q in [k, 3, 1]:
        scores, ranks = javascript(NOVELTY, SCORES, record, q)
        np.testing.assert_allclose(scores, subspace.leading(q).residuals(X), atol=1e-9)
        np.testing.assert_array_equal(ranks, rankdata(-scores, method="min"))


def test_novelty_of_a_detector_is_its_own_score(javascript):
    scores = random.uniform(size=9)
    record = {"coordinates": random.normal(size=(9, 3)), "errors": np.zeros(9), "detection": {"scores": scores}}
    for q in (1, 3):
        found, ranks = javascript(NOVELTY, SCORES, record, q)
        np.testing.assert_array_equal(found, scores)
        np.testing.assert_array_equal(ranks, rankdata(-scores, method="min"))


def test_quantiles_are_those_of_numpy(javascript):
    numbers = random.normal(size=31)
    fractions = [0.0, 0.05, 0.5, 0.77, 1.0]
    found = javascript(NOVELTY, "({quantile}, n, f) => f.map((q) => quantile(n.values, q))", numbers, fractions)
    np.testing.assert_allclose(found, np.quantile(numbers, fractions))


EXTRAPOLATION = """({extrapolation}, coordinates, errors, places, distances) => {
  const values = {model: 0, q: coordinates.shape[1], across: 0, up: 1, hidden: new Set(), colour: "none"};
  const app = {store: {get: (key) => values[key]}, data: {models: [{coordinates, errors}]},
               samples: {code: () => -1, columns: []}};
  const strength = extrapolation(app);
  return distances.map((rho, i) => strength({across: places.values[2 * i], up: places.values[2 * i + 1]}, rho));
}"""


def test_a_model_extrapolates_far_from_samples_and_where_its_answer_is_worse_than_theirs(javascript):
    errors = random.uniform(0.1, 0.3, size=60)
    ask = lambda places, distances: np.array(
        javascript("panels/extrapolation.js", EXTRAPOLATION, COORDINATES, errors, np.array(places), list(distances))
    )
    samples = COORDINATES[:, :2].copy()
    assert not ask(samples, np.zeros(60)).any()
    middle = np.zeros((5, 2))
    worse = ask(middle, [0.05, 0.25, 0.5, 1.0, 1e9])
    assert worse[0] == 0 and (np.diff(worse) >= 0).all() and worse[-1] == pytest.approx(1)
    # Where all samples have the same error, an answer that is as much worse than that is one half.
    equal = lambda rho: javascript(
        "panels/extrapolation.js", EXTRAPOLATION, COORDINATES, np.full(60, 0.2), middle, [rho]
    )
    assert equal(0.4) == pytest.approx([0.5])
    outwards = ask(np.linspace([0, 0], [60, 15], 20), np.zeros(20))
    assert (np.diff(outwards) >= 0).all() and outwards[-1] > 0.9
    # Reasons to doubt add up, and never exceed one.
    both = ask([[60.0, 15.0]], [0.5])
    assert outwards[-1] < both[0] <= 1


MARKS = """({MarkRaster}, places, ratio) => {
  const colours = ["#ff0000", "#0000ff"];
  const colouring = {mark: (sample) => sample, look: (mark) => ({colour: colours[mark], shape: "circle"})};
  const look = {colouring, radius: 4, outline: "#ffffff"};
  const raster = new MarkRaster({width: 40, height: 30, ratio}, look);
  places.forEach(([x, y], sample) => raster.add(sample, x, y));
  return {values: new Uint8Array(raster.image.data), shape: [30 * ratio, 40 * ratio, 4]};
}"""


@pytest.mark.parametrize("ratio", [1, 2])
def test_later_marks_cover_earlier_ones_and_marks_outside_change_nothing(javascript, ratio):
    draw = lambda *places: javascript("panels/map_marks.js", MARKS, [list(place) for place in places], ratio)
    red, both = draw((20, 15)), draw((20, 15), (23, 15))
    at = lambda image, x, y: image[y * ratio, x * ratio].tolist()
    assert at(red, 20, 15) == [255, 0, 0, 255] and at(red, 30, 15)[3] == 0
    assert at(both, 23, 15) == [0, 0, 255, 255] and at(both, 17, 15) == [255, 0, 0, 255]
    # Where the second mark is not, the picture is that of the first one.
    alone = draw((-100, -100), (23, 15))
    np.testing.assert_array_equal(both[alone[..., 3] == 0], red[alone[..., 3] == 0])
    assert not draw((-100, 5), (20, 500)).any()
    # A mark over the border is the part of it that is inside.
    np.testing.assert_array_equal(draw((0, 15))[:, : 5 * ratio], red[:, 20 * ratio : 25 * ratio])


GRID = """({HazeGrid}, tilt) => {
  const area = {left: -1, right: 3, bottom: 10, top: 12};
  const asked = new Set();
  let calls = 0;
  const plane = ({across, up}) => across + tilt * up;
  const grid = new HazeGrid(area, (place) => { calls += 1; asked.add(JSON.stringify(place)); return plane(place); });
  const stages = [];
  for (const _ of grid.steps()) {
    if (!grid.isReady) continue;
    const {columns, rows} = grid;
    const at = (node) => ({
      across: area.left + 4 * (node % columns) / (columns - 1),
      up: area.top - 2 * Math.floor(node / columns) / (rows - 1),
    });
    const errors = Array.from(grid.values, (value, node) => Math.abs(value - plane(at(node))));
    stages.push([columns * rows, Math.max(...errors)]);
  }
  return {stages, calls, different: asked.size, size: grid.columns * grid.rows};
}"""


def test_haze_interpolates_linear_functions_at_every_stage_and_asks_each_node_once(javascript):
    answer = javascript(HAZE, GRID, 0.5)
    sizes, errors = np.array(answer["stages"]).T
    assert errors.max() < 1e-12
    assert len(set(sizes)) == 3
    assert answer["calls"] == answer["different"] == answer["size"]


def test_haze_keeps_its_numbers_where_a_pre_image_has_no_distance(javascript):
    values = javascript(
        HAZE,
        """({HazeGrid}) => {
      const grid = new HazeGrid({left: 0, right: 1, bottom: 0, top: 1}, ({across}) => (across > 0.4 ? NaN : 0.5));
      for (const _ of grid.steps());
      return grid.values;
    }""",
    )
    assert np.isfinite(values).all() and values.min() >= 0 and values.max() == 0.5


def test_slices_take_every_step_in_order_wait_while_busy_and_end_when_cancelled(javascript):
    outcome = javascript(
        "slices.js",
        """({inSlices}) => new Promise((resolve) => {
      const [seen, waited] = [[], []];
      let busy = 2;
      function* steps() { for (let i = 0; i < 50; i += 1) { seen.push(i); yield; } }
      const cancelled = [];
      function* endless() { while (true) { cancelled.push(1); yield; } }
      const cancel = inSlices(endless(), {onslice: () => cancel()});
      const isBusy = () => { waited.push(seen.length); busy -= 1; return busy >= 0; };
      inSlices(steps(), {isBusy, onend: () => { const first = cancelled.length;
        setTimeout(() => resolve({seen, waited, more: cancelled.length - first}), 50); }});
    })""",
    )
    assert outcome["seen"] == list(range(50))
    assert outcome["waited"][:3] == [0, 0, 0]
    assert outcome["more"] == 0
