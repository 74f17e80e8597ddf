"""Kernel widths from labelled data, and the radius of sets in feature space."""

from preimage.widths._class_gram import ClassGram, class_gram
from preimage.widths._class_width import class_width, with_class_widths
from preimage.widths._enclosing_ball import Ball, enclosing_ball
from preimage.widths._enclosing_box import enclosing_box

__all__ = ["class_gram", "class_width", "enclosing_ball", "enclosing_box", "with_class_widths"]
