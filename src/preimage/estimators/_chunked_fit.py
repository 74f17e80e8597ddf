"""Fits on all rows of a Dask collection: what they need of this process, and what the workers of a cluster do."""

from typing import Any

from preimage._engine.arrays import is_host
from preimage._engine.rows import Workers, workers_of
from preimage._engine.typing import Rows
from preimage._engine.validation import all_rows, check_lazy_points, require_in_memory
from preimage.eigensolvers import Arpack, Dense, EigenOptions, Eigensolver
from preimage.estimators._kernel_input import is_precomputed
from preimage.feature_space import Gram

# Rows up to which this process computes alone unless it is told otherwise: the fit takes about a second, and sending
# blocks to workers and back would take as long.
ROWS_OF_ONE_PROCESS = 5000
# Rows beyond which a fit on all of them must be asked for by name. A hundred thousand take some minutes on ten cores,
# and ten times as many rows a hundred times as long.
MOST_ROWS_UNASKED = 100_000


def gathered(estimator: Any, X: Rows, eigensolver: str | Eigensolver) -> tuple[Rows, Workers | None]:
    """All rows of a Dask collection in this process, and the workers that computed them, if it was not this process.

    An exact model consists of its rows, so they must fit into this process. Whether they do is seen before they come.
    """
    name = type(estimator).__name__
    if is_precomputed(estimator.kernel):
        advice = f"Give {name} the kernel itself and the inputs, or pass X.compute()."
        require_in_memory(X, "A precomputed kernel needs its matrix", advice)
    rows = check_lazy_points(estimator, X, reset=True, min_samples=2)  # which counts the rows of unknown chunks
    n = rows.shape[0]
    if n > MOST_ROWS_UNASKED and isinstance(eigensolver, str) and eigensolver == "auto":
        raise ValueError(
            f"{name} without landmarks would compute {n * n / 2:.0e} kernel values of these {n} rows in each of about "
            "ten passes. Give landmarks=500, say, to fit them in one pass; or eigensolver='block_krylov' if the exact "
            "result is worth the time."
        )
    instead = "Give landmarks=500, say, which leaves the rows where they are, or raise max_memory."
    return all_rows(f"{name} without landmarks", X, estimator.max_memory, instead), workers_of(rows)


def is_for_workers(gram: Gram, options: EigenOptions, k: int, budget: int) -> bool:
    """Whether the workers of a cluster compute products with a Gram matrix of points in this process.

    "auto" leaves small problems, and those of the dense solver, to this process. So do solvers of other libraries,
    which want the matrix or multiply single vectors, each at the cost of a block.
    """
    if not is_host(gram.X):
        return False
    n, chosen = gram.shape[0], options.eigensolver
    if isinstance(chosen, str) and chosen == "auto":
        is_direct = isinstance(options.solver(size=n, k=k, held=True), Dense)
        return not (gram.fits(budget) and (n <= ROWS_OF_ONE_PROCESS or is_direct))
    return not isinstance(options.solver(size=n, k=k, held=False), (Dense, Arpack))
