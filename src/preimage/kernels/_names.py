"""From names and functions to kernels: the registry of kernels, the one place where strings are understood."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from preimage._engine.registry import Part, Registry
from preimage._engine.warnings import warn_user
from preimage.kernels._bandwidth import RELEVANCE, Gamma, require_rule
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
        Parameters of named kernels, as in scikit-learn; those that a kernel does not have are ignored. A function does
        not get them: a rule for `gamma`, such as "median", is an error then, and a number causes a warning where the
        function has a parameter of this name. So is "relevance" for a named kernel without a width.
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
        if "gamma" not in own:
            _require_number_without_effect(part, gamma)
        return part.made(**own | (kernel_params or {}))
    if callable(kernel):
        _require_no_rule(kernel, gamma, kernel_params or {})
        return CallableKernel(kernel, parameters=kernel_params)
    raise TypeError(f"A kernel is a name, a function or a Kernel; got {kernel!r}.")


def _require_number_without_effect(part: Part[Kernel], gamma: Gamma) -> None:
    """Refuse words that are no rule, and weights of columns, for a kernel without a width; others are ignored."""
    if not isinstance(gamma, str):
        return
    require_rule(gamma)
    if gamma == RELEVANCE:
        raise ValueError(
            f"gamma={gamma!r} learns a width for each column, and kernel={part.name!r} has no width. Take a kernel of "
            "the squared distance, such as 'rbf', or give gamma=None."
        )


def _require_no_rule(function: Callable[..., Any], gamma: Gamma, parameters: dict[str, Any]) -> None:
    """Refuse rules for the width of a function, of which nothing is known, and warn of a number that it does not get.

    scikit-learn ignores a number in silence, so that searches over functions and named kernels run.
    """
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma={gamma!r} has no effect: the kernel is the function {function!r}, and a rule cannot set the width "
            "of a function. Leave gamma at None and give the function its arguments, kernel_params={'gamma': 0.1} for "
            "instance; or take a kernel with a width, such as 'rbf' or a ProfileKernel of yours."
        )
    if gamma is not None and "gamma" not in parameters and "gamma" in _argument_names(function):
        warn_user(
            f"gamma={gamma!r} is ignored, as in scikit-learn: arguments of a function are "
            f"kernel_params={{'gamma': {gamma!r}}}.",
            UserWarning,
        )


def _argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(signature(function).parameters)
    except (TypeError, ValueError):  # functions of compiled code may not say
        return ()
