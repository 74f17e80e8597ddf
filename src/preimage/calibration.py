"""The former name of `preimage.inflation`, for one release."""

from preimage._engine.removed import removed_names

__getattr__ = removed_names(__name__)
