"""Reducers by name."""

from preimage._engine.registry import Part, Registry
from preimage.kernels import Kernel
from preimage.reduced_sets._construction import Construct
from preimage.reduced_sets._l1_selection import SelectL1
from preimage.reduced_sets._reducer import Reducer
from preimage.reduced_sets._refinement import Distill, Refine
from preimage.reduced_sets._selection import Select


def _automatic(kernel: Kernel, has_data: bool) -> Reducer:
    """What suits a kernel: one without a gradient moves no points, and an indefinite one has no distances."""
    if not kernel.has_gradient:
        return Select()
    return Distill() if has_data or not kernel.is_positive_semidefinite else Refine()


REDUCERS: Registry[Reducer] = Registry(
    "reducer",
    Part("auto", _automatic, "distill with data, refine without, select without a gradient", (), True, Distill),
    Part("select", Select, "some of the points, chosen greedily", on_command_line=True),
    Part("select_l1", SelectL1, "some of the points, chosen by a penalty on coefficients", on_command_line=True),
    Part("construct", Construct, "new points, one after another", on_command_line=True),
    Part("refine", Refine, "new points, all moved together in feature space", on_command_line=True),
    Part("distill", Distill, "new points, all moved together by function values on data", on_command_line=True),
    also="a reducer of preimage.reduced_sets with its parameters, such as Construct(n_starts=8)",
)


def as_reducer(method: str | Reducer, kernel: Kernel, *, has_data: bool) -> Reducer:
    """The reducer that a name or a `Reducer` means; "auto" decides by the kernel, and by whether there are data."""
    if isinstance(method, Reducer):
        return method
    options = {"kernel": kernel, "has_data": has_data} if method == "auto" else {}
    return REDUCERS.made(method, **options)
