"""From names to solvers."""

import pytest

from preimage.solvers import (
    FixedPoint,
    Gradient,
    as_preimage,
)


def test_unknown_solvers_are_refused():
    with pytest.raises(ValueError, match="fixed_point, gradient"):
        as_preimage("newton")


def test_names_are_solvers_with_default_parameters():
    assert isinstance(as_preimage("gradient"), Gradient)
    mine = FixedPoint(penalty=0.1)
    assert as_preimage(mine) is mine
    assert as_preimage("auto", auto=mine) is mine and as_preimage("gradient", auto=mine) is not mine
