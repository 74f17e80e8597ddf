"""From names to reducers."""

from preimage.kernels import Kernel
from preimage.reduced_sets._construction import Construct
from preimage.reduced_sets._distillation import Distill
from preimage.reduced_sets._l1_selection import SelectL1
from preimage.reduced_sets._reducer import Reducer
from preimage.reduced_sets._refinement import Refine
from preimage.reduced_sets._selection import Select

_NAMED: dict[str, type[Reducer]] = {
    "select": Select,
    "select_l1": SelectL1,
    "construct": Construct,
    "refine": Refine,
    "distill": Distill,
}

REDUCER_NAMES = ("auto", *_NAMED)


def as_reducer(method: str | Reducer, kernel: Kernel, *, has_data: bool) -> Reducer:
    """The reducer that a name or a `Reducer` means.

    "auto" is `Distill` where there are data, or where the kernel is indefinite and has no distances; `Refine` where
    there are no data; and `Select` for kernels without a gradient.
    """
    if isinstance(method, Reducer):
        return method
    if method == "auto":
        if not kernel.has_gradient:
            return Select()
        return Distill() if has_data or not kernel.is_positive_semidefinite else Refine()
    if not isinstance(method, str) or method not in _NAMED:
        raise ValueError(
            f"method={method!r} is not known. Choose one of {', '.join(map(repr, REDUCER_NAMES))}, or a reducer of "
            "preimage.reduced_sets with its parameters, such as Construct(n_starts=8)."
        )
    return _NAMED[method]()
