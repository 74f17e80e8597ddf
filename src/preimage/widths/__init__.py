"""Kernel widths from labelled data: class Gram matrices over many widths, and enclosing balls."""

from preimage.widths._class_gram import ClassGram, ClassPairs, class_gram
from preimage.widths._class_width import class_width, with_class_widths
from preimage.widths._enclosing_ball import enclosing_ball

__all__ = ["ClassGram", "ClassPairs", "class_gram", "class_width", "enclosing_ball", "with_class_widths"]
