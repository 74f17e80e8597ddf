"""The error for points that a kernel cannot tell apart."""


def no_variance(kernel):
    """What to raise where all that differs between points in feature space is rounding."""
    return ValueError(
        "The points have no variance in feature space beyond rounding: all rows are equal, or the kernel "
        f"{kernel!r} cannot tell them apart (a gamma that is far too small makes every value equal; inner products of "
        "rows far from the origin leave their differences to rounding). Center and scale the data, or choose another "
        "gamma, for instance gamma='median'."
    )
