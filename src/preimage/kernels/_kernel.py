"""What every kernel can do, also prepared for given points, how kernels combine, and which parameters data decide."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from preimage._engine.arrays import as_points, floating_type, is_host, is_objects, is_sparse, own_copy, to_numpy
from preimage._engine.finite import PARAMETERS, compared_inputs
from preimage._engine.objects import are_objects, as_objects
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_parameters, parameters
from preimage._engine.warnings import unwarned
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._bandwidth import resolve_gamma

EVERYTHING = slice(None)
WithGradient: TypeAlias = Callable[[Array], tuple[Array, Callable[[Array], Array]]]


class Prepared:
    """k(·, y) for the rows of Y: what depends on Y alone is done once.

    A call gives values, `with_gradient` values and what gradients are made of, and `tiles(X)` parts of the matrix of
    all pairs of two sets, with what depends on X alone done once as well.

    Parameters
    ----------
    kernel : Kernel or PairwiseQuantity
        Has the `gradient`.
    points : array of shape (m, d)
        The rows Y.
    tiles : callable
        From X to a function of two slices, f(rows, columns) = k(X[rows], Y[columns]), a fresh array.
    with_gradient : callable or None, default=None
        In place of the method, where values and gradients share work.
    in_place : bool, default=False
        Whether these functions take an array to write to, or None, as a third argument.

    See Also
    --------
    Kernel.prepare : Makes one.
    ProfileKernel : A kernel that needs none of its own.
    preimage.testing.check_kernel : Whether a new kernel keeps the contract.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> prepared = Linear().prepare(np.array([[1.0, 2.0], [0.0, 1.0]]))
    >>> prepared(np.array([[3.0, 4.0]]))
    array([[11.,  4.]])
    >>> values, contracted = prepared.with_gradient(np.array([[3.0, 4.0]]))
    >>> contracted(np.array([[1.0, 10.0]]))
    array([[ 1., 12.]])
    """

    def __init__(
        self,
        kernel: Any,
        points: Array,
        tiles: Callable[[Array], Callable[..., Array]],
        with_gradient: WithGradient | None = None,
        *,
        in_place: bool = False,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self._tiles_of = tiles
        self._with_gradient = with_gradient
        self._in_place = in_place
        # Gives rounding errors of the squared norms from which distances are computed, where they are known.
        self._errors: Callable[[], np.ndarray] | None = None

    @staticmethod
    def of_function(kernel: Any, points: Array, function: Callable[[Array, Array], Array]) -> "Prepared":
        """From a function of two sets of rows, f(X, Y) = the matrix of k(xᵢ, yⱼ)."""
        return Prepared(kernel, points, lambda X: lambda rows, columns: function(X[rows, :], points[columns, :]))

    def changed(self, kernel: Any, change: Callable[[Array], Array]) -> "Prepared":
        """Values of another `kernel` on the same points, entry by entry those of this one, changed."""

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            part = self.tiles(X)
            return lambda rows, columns: change(part(rows, columns))

        return Prepared(kernel, self.points, tiles)

    def __call__(self, Z: Array, out: Array | None = None) -> Array:
        """k(zᵢ, yⱼ), shape (q, m); written to `out` where it is given."""
        return self.tiles(Z)(EVERYTHING, EVERYTHING, out)

    def with_gradient(self, Z: Array) -> tuple[Array, Callable[[Array], Array]]:
        """k(zᵢ, yⱼ), and the function of weights that `kernel.gradient(Z, Y, ·)` is."""
        if self._with_gradient is not None:
            return self._with_gradient(Z)
        return self(Z), lambda weights: self.kernel.gradient(Z, self.points, weights)

    def tiles(self, X: Array) -> Callable[..., Array]:
        """f with f(rows, columns, out=None) = k(X[rows], Y[columns]) for slices of rows and columns."""
        part = self._tiles_of(X)
        return part if self._in_place else lambda rows, columns, out=None: written(part(rows, columns), out)


def written(values: Array, out: Array | None) -> Array:
    """The values, in an array that exists where one is given."""
    if out is None:
        return values
    out[...] = values
    return out


def fits(out: Array | None, *operands: Array) -> bool:
    """Whether a product of NumPy operands can be written to `out` without a copy."""
    arrays = all(isinstance(each, np.ndarray) for each in (out, *operands))
    return arrays and out is not None and out.dtype == np.result_type(*operands)


class DataParameter(ABC):
    """How data decide a parameter. A kernel names its own in `Kernel.data_parameters`; all else follows from that."""

    #: Whether the value found is the rows of data themselves, so that a model needs a copy of them.
    keeps_rows = False

    @abstractmethod
    def is_open(self, value: Any) -> bool:
        """Whether a value of the parameter waits for data."""

    @abstractmethod
    def find(self, value: Any, X: Array, kernel: "Kernel") -> Any:
        """What an open value becomes on the rows of X for `kernel`."""


class Width(DataParameter):
    """A number, or None or the name of a rule that finds it from distances between rows: see `resolve_gamma`.

    A kernel lists its parameters that wait for data in `data_parameters`; this is the rule of `gamma`.

    See Also
    --------
    resolve_gamma : The rules and their values.
    KeptRows : A parameter that becomes an array of rows.
    Kernel.resolve : Replaces open parameters by their values.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian, Width
    >>> Width().is_open("median"), Width().is_open(0.5)
    (True, False)
    >>> Width().find("median", np.array([[0.0], [1.0], [3.0]]), Gaussian())
    0.25
    """

    def is_open(self, value: Any) -> bool:
        return value is None or isinstance(value, str)

    def find(self, value: Any, X: Array, kernel: "Kernel") -> float:
        return resolve_gamma(value, X, kernel.metric)


class KeptRows(DataParameter):
    """An array of points, or None for the rows of the data: a reference sample, the points of a graph.

    See Also
    --------
    Width : A parameter that becomes a number.
    Iterated : A kernel with a reference sample.
    Warped : A kernel with the points of a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian, Iterated, KeptRows
    >>> KeptRows().is_open(None)
    True
    >>> Iterated(Gaussian(1.0)).resolve(np.array([[0.0], [1.0]])).reference
    array([[0.],
           [1.]])
    """

    keeps_rows = True

    def is_open(self, value: Any) -> bool:
        return value is None

    def find(self, value: Any, X: Array, kernel: "Kernel") -> Array:
        """A copy of X, whatever becomes of X; on a device X itself, where comparing arrays costs more than memory."""
        return own_copy(X, X) if is_host(X) else X


# Characters of a kernel in messages, the rest is left out in the middle: as many as scikit-learn shows of an estimator.
LONGEST_TEXT = 700


class Kernel(BaseEstimator, ABC):
    """A symmetric function k(x, y), an inner product φ(x)·φ(y) in feature space when positive semidefinite.

    A kernel is a value: parameters in, never changed afterwards. Parameters that depend on data (`gamma="median"`)
    become numbers in a new kernel, `kernel.resolve(X)`; rules that look at class means (`gamma="enclosing_ball"`) need
    labels and come first, `preimage.widths.with_class_widths(kernel, X, y)`. Kernels combine with ``+``, ``*`` and
    integer powers, and with numbers, ``0.5 * kernel + 1`` or ``kernel / 2``; parameters of the parts are reached as
    `left__gamma`, `kernel__gamma` and so on.

    Subclasses give values, diagonals and, where there is one, the contracted gradient; every estimator of the library
    works with them then.

    Attributes
    ----------
    is_positive_semidefinite : bool
        Whether k is positive semidefinite on all inputs. False, the value unless a class says otherwise, means "no, or
        not known".
    has_gradient : bool
        Whether `gradient` and `diagonal_gradient` are implemented; True unless a class says otherwise.
    is_symmetric : bool
        Whether k(x, y) = k(y, x); True unless a class says otherwise.
    takes_objects : bool
        Whether rows may be objects (texts, sets, graphs); False unless a class says otherwise. Such rows reach
        `prepare` and `diagonal` as a column of objects, shape (n, 1).
    takes_numbers : bool
        Whether rows may be rows of numbers; True unless a class, or a part of a kernel, says otherwise.
    data_parameters : dict of Width and KeptRows
        The parameters that data may decide, by name, and how.

    See Also
    --------
    ProfileKernel : The shortest way to a new kernel: a function of a distance or an inner product.
    CallableKernel : A kernel from a Python function.
    preimage.testing.check_kernel : Whether a new kernel keeps the contract.

    Examples
    --------
    Kernels combine, and rules become numbers on data:

    >>> import numpy as np
    >>> from preimage.kernels import Gaussian, Linear
    >>> kernel = 0.5 * Gaussian("median") + Linear() + 1
    >>> kernel.is_resolved
    False
    >>> kernel.resolve(np.array([[0.0], [1.0], [3.0]]))([[0.0]], [[2.0]]).round(4)
    array([[1.1839]])
    """

    _parameter_constraints: dict = {}

    #: Whether k is positive semidefinite on all inputs. False means "no, or not known".
    is_positive_semidefinite: Any = False

    #: Whether k(x, y) = k(y, x). A similarity with a direction has no feature space; its values can be features.
    is_symmetric: Any = True

    #: The distance, in SciPy's words, whose percentiles rules for `gamma` take.
    metric = "sqeuclidean"

    #: The parameters that data may decide, by name, and how. A kernel without one of these names ignores it.
    data_parameters: Mapping[str, DataParameter] = {"gamma": Width()}

    #: Whether `gradient` and `diagonal_gradient` are implemented.
    has_gradient: Any = True

    #: Whether the points of fitted models are row numbers of a matrix of kernel values, not inputs: a column of
    #: integers, which must not be converted to floating numbers, averaged or moved (`Precomputed`).
    points_are_row_numbers = False

    #: Whether rows may be objects, such as texts, sets and graphs. They come as a column of objects, of shape (n, 1),
    #: which is cut into blocks like any rows; results of estimators that are inputs again have the shape (n,).
    takes_objects: Any = False

    #: Whether values are computed pair by pair by a function in Python, so that few of them take long.
    evaluates_pairs: Any = False

    #: Columns that points of fitted models may have after those of the inputs: parameters of the point itself, such as
    #: its width (`FreeWidthGaussian`). Rows without them are inputs.
    own_columns: Any = 0

    #: Whether values can be written to an array that exists without memory of that size.
    writes_in_place: Any = False

    #: Whether k is a function of the squared Euclidean distance.
    is_radial: Any = False

    #: Whether k(x, y) = x·By + b for a matrix B and a number b.
    is_bilinear: Any = False

    @abstractmethod
    def prepare(self, Y: Array) -> Prepared:
        """k(·, y) for the rows of Y, for many evaluations; all values of the kernel come from here."""

    @abstractmethod
    def diagonal(self, X: Array) -> Array:
        """k(x, x) for every row of X."""

    @abstractmethod
    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        """Contracted gradient Gⱼ = Σᵢ wⱼᵢ ∇₁k(zⱼ, xᵢ); weights of shape (q, n), result (q, d)."""

    @abstractmethod
    def diagonal_gradient(self, Z: Array) -> Array:
        """Gradient of z ↦ k(z, z) for every row of Z."""

    def __call__(self, X: Rows, Y: Rows | None = None) -> Array:
        """The matrix of values k(xᵢ, yⱼ), shape (n, m); Y is X when left out."""
        X = self.rows(X)
        Y = X if Y is None else self.rows(Y)
        self.require_columns(X, Y)
        if not self.is_resolved:
            names = " and ".join(sorted({name for name, _, _ in self.open_parameters()}))
            raise ValueError(
                f"{self!r} finds {names} from data: call `resolve(X)` first, and use the kernel it returns."
            )
        if not (self.own_columns or is_objects(X)):  # widths of points may be of any size
            X, Y = compared_inputs(self, X, Y)
        with unwarned():
            return self.prepare(Y)(X)

    def require_columns(self, X: Array, Y: Array) -> None:
        """Refuse rows that cannot be compared: of other than two dimensions, or of different numbers of columns."""
        if is_objects(X) != is_objects(Y):
            raise ValueError(f"{self!r} was given objects to compare with rows of numbers. Pass two lists of objects.")
        if X.ndim != 2 or Y.ndim != 2 or not X.shape[1] or abs(X.shape[1] - Y.shape[1]) > self.own_columns:
            raise ValueError(
                "A kernel compares rows of two 2D arrays with as many columns, at least one; got shapes "
                f"{tuple(X.shape)} and {tuple(Y.shape)}."
            )

    @property
    def takes_numbers(self) -> Any:
        """Whether rows may be rows of numbers."""
        return all(part.takes_numbers for part in self.parts())

    def rows(self, X: Rows) -> Array:
        """Rows as the kernel takes them: floating numbers, or objects in a column."""
        if self.takes_objects and (is_objects(X) or not self.takes_numbers or are_objects(X)):
            return self.checked_objects(as_objects(repr(self), X))
        if not self.takes_numbers:
            raise UnsupportedKernelError(
                f"{self!r} takes neither numbers nor objects: it changes columns of numbers, and a part of it compares "
                "objects. Kernels on objects combine with each other by +, * and **, in Normalized and in Iterated."
            )
        return as_points(X)

    def checked_objects(self, X: Array) -> Array:
        """A column of objects; an error if some are of a kind that the kernel does not take."""
        for part in self.parts():
            X = part.checked_objects(X)
        return X

    # Parameters that data decide: `data_parameters` names them, and everything below follows from that.

    @unwarned()
    def resolve(self, X: Array) -> Self:
        """The same kernel with every parameter that depends on data fixed to its value on X."""
        check_parameters(self)
        return self.rebuilt(
            lambda part: part.resolve(self.inputs_of_parts(X)),
            lambda name, value: self.data_parameters[name].find(value, X, self),
        )

    def rebuilt(self, change_part: Callable[["Kernel"], "Kernel"], find: Callable[[str, Any], Any]) -> Self:
        """The same kernel with every kernel it is made of changed, and `find(name, value)` for open parameters."""
        changed = parameters(self)
        for name, value in changed.items():
            if isinstance(value, Kernel):
                changed[name] = change_part(value)
            elif name in self.data_parameters and self.data_parameters[name].is_open(value):
                changed[name] = find(name, value)
        return type(self)(**changed)

    def open_parameters(self) -> Iterator[tuple[str, Any, DataParameter]]:
        """Name, value and rule of every parameter, also of parts, that waits for data."""
        for name, parameter in self.data_parameters.items():
            if hasattr(self, name) and parameter.is_open(getattr(self, name)):
                yield name, getattr(self, name), parameter
        for part in self.parts():
            yield from part.open_parameters()

    @property
    def is_resolved(self) -> bool:
        """Whether no parameter waits for data."""
        return not any(True for _ in self.open_parameters())

    @property
    def keeps_data(self) -> bool:
        """Whether resolving the kernel, or a part of it, makes the data themselves a parameter."""
        return any(parameter.keeps_rows for _, _, parameter in self.open_parameters())

    @property
    def has_extreme_parameters(self) -> bool:
        """Whether a number among the parameters, also of parts, leaves the range of single precision in formulas."""
        numbers = [abs(float(value)) for value in parameters(self).values() if isinstance(value, Real) and value]
        is_extreme = any(not 1 / PARAMETERS <= number <= PARAMETERS for number in numbers)
        return is_extreme or any(part.has_extreme_parameters for part in self.parts())

    def inputs_of_parts(self, X: Array) -> Array:
        """What the kernels that this one is made of are given for X."""
        return X

    def parts(self) -> list["Kernel"]:
        """The kernels that this one is made of."""
        return [value for value in parameters(self).values() if isinstance(value, Kernel)]

    # The inputs that a kernel takes, and what it keeps of them.

    @property
    def lowest_input(self) -> float | None:
        """The smallest value that inputs may have, None for any: solvers look for pre-images above it."""
        bounds = [part.lowest_input for part in self.parts()]
        return max((bound for bound in bounds if bound is not None), default=None)

    @property
    def is_bound_to_columns(self) -> bool:
        """Whether inputs of another number of columns, or of another range, have no values: not all arrays are inputs.

        A part that is bound makes the whole so.
        """
        keeps_rows = any(parameter.keeps_rows for parameter in self.data_parameters.values())
        bound = keeps_rows or self.lowest_input is not None
        return bound or any(part.is_bound_to_columns for part in self.parts())

    def inputs(self, X: Array) -> Array:
        """What the kernel stores of fitted inputs X; precomputed kernels keep row numbers, others X itself."""
        return X

    def inputs_of_points(self, points: Array) -> Array:
        """Points of a fitted model as rows of data, without columns of their own."""
        return points[:, : points.shape[1] - self.own_columns] if self.own_columns else points

    def known_values(self, X: Array, Y: Array) -> Array | None:
        """The matrix k(X, Y) where the kernel has it already, else None."""
        return None

    def value_type(self, X: Array) -> Any:
        """The dtype of kernel values on X."""
        return floating_type(X)

    def require_gradient(self, who: str) -> None:
        """Raise unless the kernel has a gradient; `who` needs it."""
        if not self.has_gradient and not self.takes_numbers:
            raise UnsupportedKernelError(
                f"{who} needs the gradient of the kernel; {self!r} compares objects, which have none. For pre-images, "
                "preimage='nearest' and 'auto' need no gradient."
            )
        if not self.has_gradient:
            raise UnsupportedKernelError(
                f"{who} needs the gradient of the kernel; {self!r} has none. "
                "Every kernel of preimage.kernels except Precomputed has one; a CallableKernel takes "
                "`gradient_function=`. For pre-images, preimage='learned' and 'auto' need no gradient."
            )

    def require_symmetry(self, who: str) -> None:
        """Raise unless the kernel is symmetric; `who` needs it."""
        if not self.is_symmetric:
            raise UnsupportedKernelError(
                f"{who} needs a symmetric kernel; {self!r} has a direction, k(x, y) ≠ k(y, x). Its values can be "
                "features: EmpiricalKernelMap(kernel, whiten='data') gives those to any linear method."
            )

    def recentered(self, origin: Array) -> "Kernel":
        """A kernel with the same inner products of differences φ(x) − φ(y), evaluated about `origin`.

        Linear kernels, and sums and multiples with them, can be shifted: k(x − c, y − c) differs from k(x, y) by
        functions of x and of y alone, which centring in feature space removes. All others return themselves.
        """
        from preimage.kernels._transformed import ShiftedInputs

        return ShiftedInputs(self, origin) if self.is_bilinear else self

    def unshifted(self) -> tuple["Kernel", Array | None]:
        """A kernel l and a point c with k(x, y) = l(x − c, y − c); itself and None where inputs are not shifted.

        Code that depends on the type of a kernel, such as solvers of pre-images, asks l, on inputs moved by c.
        """
        return self, None

    def is_same(self, other: "Kernel") -> bool:
        """Whether `other` is a kernel of the same class with the same parameters."""
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        mine, theirs = parameters(self), parameters(other)
        return all(_same_parameter(mine[name], theirs[name]) for name in mine)

    def __repr__(self, N_CHAR_MAX: int = LONGEST_TEXT) -> str:
        """As of every estimator, on one line: scikit-learn's own takes time exponential in the depth of nesting."""
        defaults = signature(type(self).__init__).parameters
        texts = {name: repr(value) for name, value in parameters(self).items()}
        if get_config()["print_changed_only"]:
            texts = {name: text for name, text in texts.items() if text != repr(defaults[name].default)}
        text = f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in texts.items())})"
        half = N_CHAR_MAX // 2
        return text if len(text) <= N_CHAR_MAX else f"{text[:half]}...{text[-half:]}"

    def __add__(self, other: "Kernel | float") -> "Kernel":
        from preimage.kernels._combinations import add

        return add(self, other)

    __radd__ = __add__  # a sum of a list of kernels begins with zero

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        from preimage.kernels._combinations import multiply

        return multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> "Kernel":
        from preimage.kernels._combinations import divide

        return divide(self, divisor)

    def __pow__(self, exponent: int) -> "Kernel":
        from preimage.kernels._combinations import power

        return power(self, exponent)


class OfOneKernel(Kernel):
    """A kernel made of one other `kernel`, whose promises it inherits."""

    kernel: Kernel

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.kernel.is_positive_semidefinite

    @property
    def is_symmetric(self) -> bool:
        return self.kernel.is_symmetric

    @property
    def has_gradient(self) -> bool:
        return self.kernel.has_gradient

    @property
    def own_columns(self) -> int:
        return self.kernel.own_columns

    @property
    def evaluates_pairs(self) -> bool:
        return self.kernel.evaluates_pairs

    def value_type(self, X: Array) -> Any:
        return self.kernel.value_type(X)


def _same_parameter(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, Kernel):
        return isinstance(theirs, Kernel) and mine.is_same(theirs)
    if hasattr(mine, "shape") or hasattr(theirs, "shape"):
        return mine is theirs or (not is_sparse(mine) and np.array_equal(to_numpy(mine), to_numpy(theirs)))
    return mine == theirs
