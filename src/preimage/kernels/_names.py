"""From names and functions to kernels: the registry of kernels, the one place where strings are understood."""

from collections.abc import Callable
from typing import Any

from preimage._engine.registry import Part, Registry
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
    Student,
)
from preimage.kernels._transformed import Cosine

#: Kernels with a name. Examples are for rows of a few numbers of size one, non-negative ones for histograms.
KERNELS: Registry[Kernel] = Registry(
    "kernel",
    Part("rbf", Gaussian, "exp(−γ|x−y|²)", ("gaussian",), True, lambda: Gaussian(0.3)),
    Part("laplacian", Laplacian, "exp(−γ|x−y|₁)", (), True, lambda: Laplacian(0.3)),
    Part("matern", Matern, "less smooth than rbf", (), True, lambda: Matern(0.5, nu=2.5)),
    Part("student", Student, "heavier tails than rbf, by ν", (), True, lambda: Student(0.5, nu=3.0)),
    Part("rational_quadratic", RationalQuadratic, "1/(1 + γ|x−y|²)", (), True, lambda: RationalQuadratic(0.5)),
    Part("inverse_multiquadric", InverseMultiquadric, "1/√(1 + γ|x−y|²)", (), True, lambda: InverseMultiquadric(0.5)),
    Part("multiquadric", Multiquadric, "−√(1 + γ|x−y|²), for methods that centre", example=lambda: Multiquadric(0.5)),
    Part("linear", Linear, "x·y", (), True),
    Part("poly", Polynomial, "(γx·y + c)^d", ("polynomial",), True, lambda: Polynomial(2, gamma=0.5)),
    Part("exponential", Exponential, "exp(γx·y)", (), True, lambda: Exponential(0.3)),
    Part("sigmoid", Sigmoid, "tanh(γx·y + c)", example=lambda: Sigmoid(0.3, -0.5)),
    Part("cosine", Cosine, "x·y/(|x||y|)", (), True),
    Part("chi2", Chi2, "of histograms: exp(−γ Σ (x−y)²/(x+y))", example=lambda: Chi2(0.3)),
    Part("additive_chi2", AdditiveChi2, "of histograms: −Σ (x−y)²/(x+y)"),
    Part("precomputed", lambda: Precomputed(), "a matrix of kernel values in place of inputs"),
    also="a Kernel of preimage.kernels, or a function k(x, y)",
)


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
        Parameters of named kernels, as in scikit-learn; those that a kernel does not have are ignored.
    kernel_params : dict or None
        Keyword arguments of a function; or parameters of a named kernel, which must have them, such as
        ``{"nu": 0.5}`` of "matern". They take precedence over `gamma`, `degree` and `coef0`.

    Examples
    --------
    >>> from preimage.kernels import as_kernel
    >>> as_kernel("poly", gamma=0.1, degree=2)
    Polynomial(degree=2, gamma=0.1)
    >>> as_kernel("matern", gamma=0.1, kernel_params={"nu": 0.5})
    Matern(gamma=0.1, nu=0.5)
    """
    if isinstance(kernel, Kernel):
        useless = {} if gamma is None else {"gamma": gamma}
        for name, value in (useless | (kernel_params or {})).items():
            raise ValueError(
                f"{name}={value!r} has no effect: {kernel!r} carries its own parameters. Set them on the kernel "
                f"(`kernel__{name}` in set_params and grid search), or name the kernel by a string."
            )
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"A kernel is an object, not a class: write {kernel.__name__}(...).")
    if isinstance(kernel, str):
        part = KERNELS[kernel]
        of_estimator = {"gamma": gamma, "degree": degree, "coef0": coef0}
        own = {name: value for name, value in of_estimator.items() if name in part.parameters}
        return part.made(**own | (kernel_params or {}))
    if callable(kernel):
        return CallableKernel(kernel, parameters=kernel_params)
    raise TypeError(f"A kernel is a name, a function or a Kernel; got {kernel!r}.")
