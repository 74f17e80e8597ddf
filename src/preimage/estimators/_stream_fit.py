"""Fits to iterators of blocks, by `partial_fit`."""

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.base import clone

from preimage._engine.validation import blocks_of
from preimage._engine.warnings import warn_user


def fit_blocks(estimator: Any, blocks: Iterator[Any], learn: Callable[[Any, Any], Any] | None = None) -> Any:
    """`estimator` after learning from all blocks, from the start; a block that fails leaves it as it was.

    Parameters
    ----------
    estimator : estimator with `partial_fit`
    blocks : iterator
        With one block at least.
    learn : callable, optional
        Takes an estimator and a block, where a block is more than rows.
    """
    model = clone(estimator)
    for block in blocks_of(estimator, blocks):
        model.partial_fit(block) if learn is None else learn(model, block)
    parameters = estimator.get_params(deep=False)
    estimator.__dict__.update({name: value for name, value in vars(model).items() if name not in parameters})
    return estimator


def refuse_weights_of_blocks(estimator: Any, sample_weight: Any) -> None:
    """Refuse weights next to an iterator."""
    if sample_weight is not None:
        raise ValueError(
            f"{type(estimator).__name__} cannot tell which weights of sample_weight belong to which block of an "
            "iterator. Call partial_fit(block, sample_weight=w) for each."
        )


def warn_of_exact_fit(estimator: Any) -> None:
    """Warn that `partial_fit` begins anew after a fit to all rows."""
    if getattr(estimator, "route_", None) == "exact":
        warn_user(
            f"This {type(estimator).__name__} was fitted exactly, which cannot be continued: partial_fit begins anew. "
            "Fit it with landmarks=... to continue from there.",
            UserWarning,
        )
