"""What every kernel can do, and how kernels combine."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from preimage._arrays import as_points, floating_type, is_sparse, to_numpy
from preimage._validation import check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._bandwidth import is_class_rule, resolve_gamma

EVERYTHING = slice(None)


class OfOneKernel:
    """Mixed into kernels made of one other `kernel`, whose promises they inherit."""

    @property
    def is_positive_semidefinite(self):
        return self.kernel.is_positive_semidefinite

    @property
    def has_gradient(self):
        return self.kernel.has_gradient

    @property
    def pairwise(self):
        return self.kernel.pairwise


class Kernel(BaseEstimator, ABC):
    """A symmetric function k(x, y), an inner product φ(x)·φ(y) in feature space when positive semidefinite.

    A kernel is a value: parameters in, never changed afterwards. Parameters that depend on data (`gamma="median"`)
    become numbers in a new kernel, `kernel.resolve(X)`; rules that ask class means (`gamma="enclosing_ball"`) need
    labels, `kernel.resolve(X, y)`. Kernels combine with ``+``, ``*``, scalar factors and integer
    powers; parameters of the parts are reached as `left__gamma`, `kernel__gamma` and so on.
    """

    _parameter_constraints: dict = {}

    #: Whether k is positive semidefinite on all inputs. False means "no, or not known".
    is_positive_semidefinite = False

    #: The distance, in SciPy's words, whose percentiles rules for `gamma` take.
    metric = "sqeuclidean"

    #: Parameters that are the data themselves where they are None: a reference sample, the points of a graph.
    data_parameters: tuple[str, ...] = ()

    #: Whether `gradient` and `diagonal_gradient` are implemented.
    has_gradient = True

    #: Whether the points of fitted models are row numbers of a matrix of kernel values, not inputs: a column of
    #: integers, which must not be converted to floating numbers, averaged or moved (`Precomputed`).
    points_are_row_numbers = False

    #: Whether k(x, y) = x·By + b for a matrix B and a number b.
    is_bilinear = False

    @abstractmethod
    def blocks(self, X, Y):
        """Prepare k for many blocks: returns f with f(rows, columns) = k(X[rows], Y[columns]) for slices."""

    @abstractmethod
    def diagonal(self, X):
        """k(x, x) for every row of X."""

    @abstractmethod
    def gradient(self, Z, X, weights):
        """Contracted gradient Gⱼ = Σᵢ wⱼᵢ ∇₁k(zⱼ, xᵢ); weights of shape (q, n), result (q, d)."""

    @abstractmethod
    def diagonal_gradient(self, Z):
        """Gradient of z ↦ k(z, z) for every row of Z."""

    def against(self, X):
        """Prepare X for many Z: f with f(Z) = k(Z, X)."""
        return lambda Z: self.blocks(Z, X)(EVERYTHING, EVERYTHING)

    def evaluator(self, X):
        """Prepare X for many Z: f with f(Z) = k(Z, X) and the function of weights that `gradient(Z, X, ·)` is."""
        return lambda Z: (self(Z, X), lambda weights: self.gradient(Z, X, weights))

    def __call__(self, X, Y=None):
        """The matrix of values k(xᵢ, yⱼ), shape (n, m); Y is X when left out."""
        X = as_points(X)
        Y = X if Y is None else as_points(Y)
        if X.ndim != 2 or Y.ndim != 2 or X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"A kernel compares rows of two 2D arrays with as many columns; got shapes {tuple(X.shape)} and "
                f"{tuple(Y.shape)}."
            )
        if not self.is_resolved:
            data = "X, y" if self.needs_labels else "X"
            names = " and ".join(sorted(set(self._waiting())))
            raise ValueError(
                f"{self!r} finds {names} from data: call `resolve({data})` first, and use the kernel it returns."
            )
        return self.blocks(X, Y)(EVERYTHING, EVERYTHING)

    def resolve(self, X, y=None):
        """The same kernel with every parameter that depends on data fixed to its value on X.

        Labels y are looked at by rules that need them (`needs_labels`) alone.
        """
        if y is not None and self.needs_labels:
            return self.with_class_widths(X, y).resolve(X)
        check_parameters(self)
        parameters = self.get_params(deep=False)
        return type(self)(**{name: self._resolve_parameter(name, value, X) for name, value in parameters.items()})

    def _resolve_parameter(self, name, value, X):
        if isinstance(value, Kernel):
            return value.resolve(self.inputs_of_parts(X))
        if name in self.data_parameters and value is None:
            return X
        if name == "gamma":
            return resolve_gamma(value, X, self.metric)
        return value

    def with_class_widths(self, X, y):
        """The same kernel with every width that class means decide fixed to its value; all else stays as it is.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Class labels.
        """
        parameters = self.get_params(deep=False)
        return type(self)(**{name: self._with_class_width(name, value, X, y) for name, value in parameters.items()})

    def _with_class_width(self, name, value, X, y):
        if isinstance(value, Kernel):
            return value.with_class_widths(self.inputs_of_parts(X), y) if value.needs_labels else value
        if name != "gamma" or not is_class_rule(value):
            return value
        from preimage.widths._class_width import class_width

        return class_width(X, y, value, kernel=self)

    def inputs_of_parts(self, X):
        """What the kernels that this one is made of are given for X."""
        return X

    @property
    def needs_labels(self):
        """Whether the width of the kernel, or of a part of it, is found from class means."""
        return is_class_rule(getattr(self, "gamma", None)) or any(part.needs_labels for part in self._parts())

    @property
    def lowest_input(self) -> float | None:
        """The smallest value that inputs may have, None for any: solvers look for pre-images above it."""
        return max((part.lowest_input for part in self._parts() if part.lowest_input is not None), default=None)

    @property
    def is_bound_to_columns(self):
        """Whether inputs of another number of columns, or of another range, have no values: not all arrays are inputs.

        A part that is so makes the whole so.
        """
        bound = bool(self.data_parameters) or self.lowest_input is not None
        return bound or any(part.is_bound_to_columns for part in self._parts())

    @property
    def keeps_data(self):
        """Whether resolving the kernel, or a part of it, makes the data themselves a parameter."""
        return bool(self._missing_data()) or any(part.keeps_data for part in self._parts())

    @property
    def is_resolved(self):
        """Whether no parameter waits for data."""
        return not self._waiting()

    def _waiting(self):
        """Names of parameters, also of parts, that data decide and have not decided yet."""
        rules = ["gamma"] if isinstance(getattr(self, "gamma", 1.0), (str, type(None))) else []
        return rules + self._missing_data() + [name for part in self._parts() for name in part._waiting()]

    def _missing_data(self):
        return [name for name in self.data_parameters if getattr(self, name) is None]

    def _parts(self):
        """The kernels that this one is made of."""
        return [value for value in self.get_params(deep=False).values() if isinstance(value, Kernel)]

    def recentered(self, origin):
        """A kernel with the same inner products of differences φ(x) − φ(y), evaluated about `origin`.

        Linear kernels, and sums and multiples with them, can be shifted: k(x − c, y − c) differs from k(x, y) by
        functions of x and of y alone, which centring in feature space removes. All others return themselves.
        """
        from preimage.kernels._transformed import ShiftedInputs

        return ShiftedInputs(self, origin) if self.is_bilinear else self

    def unshifted(self):
        """A kernel l and a point c with k(x, y) = l(x − c, y − c); itself and None where inputs are not shifted.

        What takes the type of a kernel for its meaning asks l, on inputs moved by c: solvers of pre-images, for one.
        """
        return self, None

    def is_same(self, other):
        """Whether `other` is a kernel of the same class with the same parameters."""
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_same_parameter(mine[name], theirs[name]) for name in mine)

    def inputs(self, X):
        """What the kernel stores of fitted inputs X; precomputed kernels keep row numbers, others X itself."""
        return X

    def known_values(self, X, Y):
        """The matrix k(X, Y) where the kernel has it already, else None."""
        return None

    def value_type(self, X):
        """The dtype of kernel values on X."""
        return floating_type(X)

    def require_gradient(self, who):
        """Raise unless the kernel has a gradient; `who` needs it."""
        if not self.has_gradient:
            raise UnsupportedKernelError(
                f"{who} needs the gradient of the kernel; {self!r} has none. "
                "Every kernel of preimage.kernels except Precomputed has one; a CallableKernel takes "
                "`gradient_function=`. For the way back, preimage='learned' and 'auto' need no gradient."
            )

    def __add__(self, other):
        from preimage.kernels._combinations import add

        return add(self, other)

    def __radd__(self, other):
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum([...]) works

    def __mul__(self, other):
        from preimage.kernels._combinations import multiply

        return multiply(self, other)

    __rmul__ = __mul__

    def __pow__(self, exponent):
        from preimage.kernels._combinations import power

        return power(self, exponent)


def _same_parameter(mine, theirs):
    if isinstance(mine, Kernel):
        return isinstance(theirs, Kernel) and mine.is_same(theirs)
    if hasattr(mine, "shape") or hasattr(theirs, "shape"):
        return mine is theirs or (not is_sparse(mine) and np.array_equal(to_numpy(mine), to_numpy(theirs)))
    return mine == theirs
