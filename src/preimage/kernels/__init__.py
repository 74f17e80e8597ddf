"""Kernels: value, diagonal and contracted gradient of each, and ways to combine them."""

from preimage.kernels._bandwidth import (
    gamma_from_width,
    resolve_gamma,
    squared_distance_percentile,
    width_from_gamma,
)
from preimage.kernels._callable import CallableKernel
from preimage.kernels._combinations import (
    Constant,
    Power,
    Product,
    Scaled,
    Sum,
)
from preimage.kernels._dot_product import Exponential, Linear, Polynomial, Sigmoid
from preimage.kernels._free_width import FreeWidthGaussian, free_widths, gammas_of
from preimage.kernels._kernel import DataParameter, KeptRows, Kernel, Prepared, Width
from preimage.kernels._names import KERNELS, as_kernel
from preimage.kernels._pairwise import (
    ChiSquaredDistance,
    InnerProduct,
    ManhattanDistance,
    PairwiseQuantity,
    SquaredDistance,
)
from preimage.kernels._patches import Patches
from preimage.kernels._precomputed import Precomputed
from preimage.kernels._profile import ProfileKernel, is_profile
from preimage.kernels._radial import (
    AdditiveChi2,
    Chi2,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern,
    Multiquadric,
    RationalQuadratic,
    Student,
)
from preimage.kernels._strings import Strings
from preimage.kernels._transformed import Cosine, Iterated, MappedInputs, Normalized, ScaledInputs, ShiftedInputs
from preimage.kernels._warped import Warped

__all__ = [
    "AdditiveChi2",
    "CallableKernel",
    "Chi2",
    "Cosine",
    "Exponential",
    "Gaussian",
    "InnerProduct",
    "InverseMultiquadric",
    "Iterated",
    "KeptRows",
    "Kernel",
    "Laplacian",
    "Linear",
    "MappedInputs",
    "Matern",
    "Multiquadric",
    "Normalized",
    "Patches",
    "Polynomial",
    "Precomputed",
    "Prepared",
    "ProfileKernel",
    "RationalQuadratic",
    "ScaledInputs",
    "Sigmoid",
    "SquaredDistance",
    "Strings",
    "Student",
    "Warped",
    "Width",
    "gamma_from_width",
    "resolve_gamma",
    "squared_distance_percentile",
]
