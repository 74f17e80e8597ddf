"""Iterators of blocks of rows, which are read once."""


def is_stream(X):
    """Whether X is an iterator, whose blocks come one by one."""
    return hasattr(X, "__next__")


def blocks_of(estimator, X):
    """The blocks of an iterator; one without any is refused."""
    count = 0
    for block in X:
        count += 1
        yield block
    if count == 0:
        raise ValueError(f"{type(estimator).__name__} was given an iterator without a single block of rows.")


def refuse_stream(estimator, X, method, remedy):
    """Refuse an iterator where all rows are needed at once, or more than once."""
    if is_stream(X):
        raise TypeError(f"{type(estimator).__name__}.{method} cannot read an iterator of blocks. {remedy}")
