"""landmarks="auto" of machines: as many as left-out losses ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from preimage._models.regression import ConvexMachine, LeftOutCurve, is_settled, numbers_to_try
from preimage.landmarks import Landmarks

#: Why the choice ended.
LEFT_OUT = "left-out losses"


def as_left_out_losses_ask(landmarks: Landmarks, curve: LeftOutCurve) -> Landmarks:
    """The first landmarks, as many as a curve says."""
    return replace(landmarks.first(curve.smallest), reason=LEFT_OUT)


def curve_of_doubled(
    landmarks: Landmarks, fit: Callable[..., ConvexMachine], weights: np.ndarray | None
) -> LeftOutCurve:
    """Left-out losses on twice as many landmarks again and again, until more do not help.

    Each fit begins where the one before has ended. `fit` takes landmarks and a start, and `alpha`, a number or
    candidates, among its keywords.
    """
    numbers, losses, along = [], [], None
    given = cast(partial, fit).keywords["alpha"]
    candidates = np.array([given]) if isinstance(given, float) else given  # one is a choice, too, and has losses
    for number in numbers_to_try(len(landmarks)):
        fitted = fit(landmarks.first(number), start=along, alpha=candidates)
        along = fitted.along
        numbers.append(number)
        losses.append(cast(np.ndarray, fitted.left_out))
        curve = LeftOutCurve.of_rows(numbers, losses, weights)
        if is_settled(curve):
            break
    return curve
