"""The picture of the README is small, legible on a screen, and shows the errors of the published comparison."""

import re
import struct
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURE = (ROOT / "docs" / "images" / "denoised_digits.png").read_bytes()
REPORT = (ROOT / "docs" / "results" / "denoising_digits.md").read_text(encoding="utf-8")
NAMES = {"noisy": "nothing", "linear PCA": "linear PCA", "scikit-learn kernel PCA": "scikit-learn"}
NAMES |= {"preimage, fixed point, tuned": "fixed point"}


def test_the_picture_is_small_and_wide_enough():
    assert len(PICTURE) < 120_000
    width, height = struct.unpack(">II", PICTURE[16:24])
    assert width >= 1500 and height < width


@pytest.mark.parametrize(("drawn", "published"), NAMES.items())
def test_errors_in_the_picture_are_those_of_the_first_published_draw(drawn, published):
    """Digits and protocol are the same; the demo writes its errors into the file."""
    drawn_error = re.search(rf"[:;] {re.escape(drawn)}: ([\d.]+)".encode(), PICTURE).group(1).decode()
    clean = REPORT.split("## Training digits clean")[1]
    assert re.search(rf"^\| {published} \| ([\d.]+) \|", clean, re.MULTILINE).group(1) == drawn_error
