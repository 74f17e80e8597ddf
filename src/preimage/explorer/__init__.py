"""Fitted models as web pages: feature space to look at, walk through and come back from."""

from preimage.explorer._explore import explore
from preimage.explorer._page import Explorer

__all__ = ["Explorer", "explore"]
