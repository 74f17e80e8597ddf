"""Which kernels take means of inputs as landmarks."""

from preimage.kernels import (
    InnerProduct,
    Kernel,
    Normalized,
    Power,
    Product,
    ProfileKernel,
    Scaled,
    ScaledInputs,
    SquaredDistance,
    Sum,
)


def takes_means(kernel):
    """Whether the mean of some inputs is an input, whose image stands for theirs.

    So it is for functions of inner products and Euclidean distances, and for what is made of such kernels. Of other
    kernels nobody knows: a callable may take objects coded as numbers, Manhattan distances have medians in place of
    means, and histograms must stay histograms.
    """
    if isinstance(kernel, ProfileKernel):
        return kernel.pairwise in (InnerProduct(), SquaredDistance())
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    made_of_parts = isinstance(kernel, (Normalized, Power, Product, Scaled, ScaledInputs, Sum))
    return made_of_parts and all(takes_means(part) for part in parts)
