"""Colours of the page: told apart by all readers, on light and dark pages, in steps that look equal."""

from itertools import combinations

import numpy as np
import pytest

# Surfaces of the two themes.
PAPER = {False: "#ffffff", True: "#1b212b"}
# Colours as they reach readers without one kind of cone, in linear light: G. Machado, M. Oliveira, L. Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15, 2009, severity 1.
VISION = {
    "all cones": np.eye(3),
    "no long": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no middle": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "no short": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
    ]
)


def linear(levels):
    levels = np.asarray(levels) / 255
    return np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)


def levels_of(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def oklab(levels, vision="all cones"):
    light = np.clip(linear(levels) @ VISION[vision].T, 0, 1)
    return np.cbrt(light @ TO_CONES.T) @ TO_LAB.T


def contrast(one, other):
    dark, light = sorted(0.05 + linear(levels_of(colour)) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return light / dark


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_eight_classes_are_told_apart_by_all_readers(javascript, dark):
    count = "({categoryColour}, dark) => [...Array(8).keys()].map((code) => categoryColour(code, dark))"
    colours = javascript("colours.js", count, dark)
    for vision in VISION:
        seen = oklab([levels_of(colour) for colour in colours], vision)
        # 0.02 is just noticeable in Oklab.
        assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 0.07, vision
    # The yellow on white is the faintest.
    assert min(contrast(colour, PAPER[dark]) for colour in colours) > (3 if dark else 1.5)


def test_more_classes_have_other_shapes(javascript):
    marks = javascript(
        "colours.js",
        "({categoryColour: f, categoryShape: g}) => [...Array(48).keys()].map((i) => `${f(i)} ${g(i)}`)",
    )
    assert len(set(marks)) == 48
    missing = javascript("colours.js", "({categoryColour, MISSING_COLOUR}) => [categoryColour(-1), MISSING_COLOUR]")
    assert missing[0] == missing[1]


def test_numbers_have_colours_in_equal_steps_for_all_readers(javascript):
    colours = javascript("colours.js", "({sequential}) => [...Array(18).keys()].map((i) => sequential(i / 17))")
    steps = np.linalg.norm(np.diff(oklab(colours), axis=0), axis=1)
    assert steps.max() < 1.1 * steps.min()
    for vision in VISION:
        seen = oklab(colours, vision)
        assert np.all(np.diff(seen[:, 0]) > 0), vision
        assert np.linalg.norm(np.diff(seen, axis=0), axis=1).min() > 0.015, vision


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_opposite_differences_are_equally_dark_and_different_for_all_readers(javascript, dark):
    parts = np.linspace(0, 1, 18)
    code = "({diverging: f}, t, dark) => [...t.values].map((x) => [f(-x, dark), f(x, dark)])"
    both = javascript("colours.js", code, parts, dark)
    negative, positive = oklab(both).transpose(1, 0, 2)
    np.testing.assert_allclose(negative[:, 0], positive[:, 0], atol=0.01)
    # No difference is lightest on paper, and darkest on a dark page.
    assert np.all(np.diff(negative[:, 0]) > 0 if dark else np.diff(negative[:, 0]) < 0)
    np.testing.assert_allclose(negative[0, 1:], 0, atol=0.01)
    for vision in VISION:
        seen = oklab(both, vision)
        assert np.linalg.norm(seen[-1, 0] - seen[-1, 1]) > 0.15, vision


def test_numbers_outside_the_scale_have_the_colours_of_its_ends(javascript):
    code = "({sequential: f, diverging: g, grey: h}) => [f(-5), f(0), g(7), g(1), h(9), h(1)]"
    colours = javascript("colours.js", code)
    assert colours[0] == colours[1]
    assert colours[2] == colours[3]
    assert colours[4] == colours[5] == [255, 255, 255]
