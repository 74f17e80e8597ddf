"""Kernel widths from labelled data, and the radius of sets in feature space."""

from preimage.widths._class_gram import ClassGram, class_gram
from preimage.widths._class_width import CLASS_RULES, class_width, with_class_widths
from preimage.widths._enclosing import Ball, enclosing_ball, enclosing_box

__all__ = ["class_gram", "class_width", "enclosing_ball", "with_class_widths"]
