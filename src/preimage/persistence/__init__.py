"""Fitted models in files that hold no code."""

from preimage.persistence._file import Saved, load, save
from preimage.persistence._registry import skops_types
from preimage.persistence._state import on_host
