"""From names and functions to kernels: the one place where strings are understood."""

from collections.abc import Callable
from typing import Any

from preimage.kernels._bandwidth import Gamma
from preimage.kernels._callable import CallableKernel
from preimage.kernels._dot_product import Exponential, Linear, Polynomial, Sigmoid
from preimage.kernels._kernel import Kernel
from preimage.kernels._precomputed import Precomputed
from preimage.kernels._radial import (
    AdditiveChi2,
    Chi2,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern,
    Multiquadric,
    RationalQuadratic,
)
from preimage.kernels._transformed import Cosine

_NAMED: dict[str, Callable[[Gamma, int, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "polynomial": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "rbf": lambda gamma, degree, coef0: Gaussian(gamma),
    "gaussian": lambda gamma, degree, coef0: Gaussian(gamma),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma),
    "chi2": lambda gamma, degree, coef0: Chi2(gamma),
    "additive_chi2": lambda gamma, degree, coef0: AdditiveChi2(),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
    "cosine": lambda gamma, degree, coef0: Cosine(),
    "exponential": lambda gamma, degree, coef0: Exponential(gamma),
    "rational_quadratic": lambda gamma, degree, coef0: RationalQuadratic(gamma),
    "multiquadric": lambda gamma, degree, coef0: Multiquadric(gamma),
    "inverse_multiquadric": lambda gamma, degree, coef0: InverseMultiquadric(gamma),
    "matern": lambda gamma, degree, coef0: Matern(gamma),
    "precomputed": lambda gamma, degree, coef0: Precomputed(),
}

KERNEL_NAMES = tuple(_NAMED)


def as_kernel(
    kernel: str | Callable[..., Any] | Kernel,
    *,
    gamma: Gamma = None,
    degree: int = 3,
    coef0: float = 1.0,
    kernel_params: dict[str, Any] | None = None,
) -> Kernel:
    """The kernel that a name, a function or a `Kernel` means.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name of scikit-learn ("rbf", "poly" or "polynomial", "linear", "sigmoid", "cosine", "laplacian", "chi2",
        "additive_chi2", "precomputed") or of this library; a function; or a kernel, which carries its own parameters
        and is returned as it is.
    gamma, degree, coef0
        Parameters of named kernels, as in scikit-learn.
    kernel_params : dict or None
        Keyword arguments of a function.

    Examples
    --------
    >>> from preimage.kernels import as_kernel
    >>> as_kernel("poly", gamma=0.1, degree=2)
    Polynomial(degree=2, gamma=0.1)
    """
    if isinstance(kernel, Kernel):
        if gamma is not None:
            raise ValueError(
                f"gamma={gamma!r} has no effect: {kernel!r} carries its own parameters. Set them on the kernel "
                "(`kernel__gamma` in set_params and grid search), or name the kernel by a string."
            )
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"A kernel is an object, not a class: write {kernel.__name__}(...).")
    if isinstance(kernel, str):
        if kernel not in _NAMED:
            raise ValueError(
                f"Unknown kernel {kernel!r}. Known names: {', '.join(sorted(_NAMED))}; "
                "a Kernel of preimage.kernels or a function k(x, y) works as well."
            )
        return _NAMED[kernel](gamma, degree, coef0)
    if callable(kernel):
        return CallableKernel(kernel, parameters=kernel_params)
    raise TypeError(f"A kernel is a name, a function or a Kernel; got {kernel!r}.")
