"""Pre-images by a map that keeps inner products (Honeine and Richard)."""

from numbers import Real

from preimage._arrays import array_namespace, to_dense
from preimage._linalg import eigh_descending, numerical_rank
from preimage._typing import Array
from preimage._validation import Interval, check_parameters
from preimage.feature_space import Expansion, Gram
from preimage.solvers._preimage import PreimageResult, TargetSolver, about_origin, direct_result, objective_at


class ConformalMap(TargetSolver):
    r"""Pre-images by linear functions of feature space whose inner products reproduce those of the inputs.

    With the Gram matrix of the inputs P = XXᵀ, the functions that minimise :math:`\tfrac12 \|P - K B K\|^2 + \lambda
    \operatorname{tr}(BK)` give [1]_

    .. math:: z = X^+ (P - \lambda K^{-1}) \alpha = X^\top \alpha - \lambda X^+ K^{-1} \alpha .

    For λ = 0 this is the plain mean :math:`\sum_i \alpha_i x_i`, whatever the kernel. The correction is stable only
    while λ is well below the eigenvalues of K that count; those below rounding are left out.

    Parameters
    ----------
    penalty : float, default=0.0
        λ ≥ 0, relative to the mean of k(x, x).

    References
    ----------
    .. [1] P. Honeine, C. Richard, "A closed-form solution for the pre-image problem in kernel-based machines",
       J. Signal Processing Systems 65, 2011.
    """

    _parameter_constraints = {"penalty": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, penalty: float = 0.0) -> None:
        self.penalty = penalty

    @about_origin
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        points = to_dense(target.points)
        Z = target.coefficients.T @ points
        if self.penalty:
            gram = Gram(target.kernel, target.points)
            xp = array_namespace(points)
            values, vectors = eigh_descending(gram.dense())
            rank = numerical_rank(values, points.shape[0])
            vectors = vectors[:, :rank]
            solved = vectors @ ((vectors.T @ target.coefficients) / values[:rank, None])  # K⁺ α
            weight = self.penalty * float(xp.mean(xp.abs(gram.diagonal())))
            Z = Z - weight * (xp.linalg.pinv(points) @ solved).T
        return direct_result(Z, objective_at(target, Z))
