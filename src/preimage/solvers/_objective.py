"""Given inputs against their targets: values and distances, one pair per row."""

from preimage._arrays import array_namespace
from preimage._rows import map_rows


def values_at(target, Z):
    """⟨ψⱼ, φ(zⱼ)⟩, the j-th row of Z against the j-th vector of `target`, shape (q,)."""
    xp = array_namespace(Z)
    block = target.kernel.blocks(Z, target.points)
    coefficients = target.coefficients

    def paired(rows):
        return xp.sum(block(rows, slice(None)) * coefficients[:, rows].T, axis=1)

    return map_rows(paired, range(Z.shape[0]), device_of=Z)


def objective_at(target, Z):
    """ρⱼ(zⱼ) = ‖φ(zⱼ) − ψⱼ‖², the j-th row of Z against the j-th vector of `target`, shape (q,)."""
    return target.kernel.diagonal(Z) - 2 * values_at(target, Z) + target.squared_norms()
