"""The distance to targets at many points at once: value, gradient, and the curvature that fixed points imply."""

from preimage._arrays import array_namespace, is_sparse, to_dense
from preimage.kernels import Gaussian, InnerProduct, ProfileKernel, SquaredDistance, Warped
from preimage.solvers._local_distance import LocalDistance, rounding


def distance_model(kernel, points):
    """Prepare the points; returns a function of coefficients W (q, n), which returns a function Z → LocalDistance."""
    if type(kernel) is Gaussian:  # a subclass may have another profile
        return _gaussian_model(kernel, points)
    if isinstance(kernel, Warped):
        kernel.require_gradient("A pre-image")
        return _warped_model(kernel, points)
    if has_fixed_point(kernel):
        return (_radial_model if kernel.is_radial else _dot_product_model)(kernel, points)
    kernel.require_gradient("A pre-image")
    return _general_model(kernel, points)


def has_fixed_point(kernel):
    """Whether the papers' fixed points exist: profiles of the squared distance or inner product, warped or not."""
    return _has_slopes(kernel.kernel if isinstance(kernel, Warped) else kernel)


def _has_slopes(kernel):
    return isinstance(kernel, ProfileKernel) and kernel.pairwise in (SquaredDistance(), InnerProduct())


def _gaussian_model(kernel, points):
    """The radial model for f′ = −γf, with half the passes over the block: this is where denoising spends its time."""
    squared_distances = kernel.pairwise.against(points)
    gamma = kernel.gamma

    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            values = kernel.profile(squared_distances(Z))
            psi, size = xp.vecdot(W, values), xp.vecdot(moduli, values)
            values *= W
            gradient = (4 * gamma) * (psi[:, None] * Z - values @ points)
            return LocalDistance(
                1 - 2 * psi, gradient, 4 * gamma * psi, 4 * gamma * size, rounding(xp.ones_like(psi), size)
            )

        return local

    return with_coefficients


def _radial_model(kernel, points):
    squared_distances = kernel.pairwise.against(points)

    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            values, slopes = kernel.profile_with_derivative(squared_distances(Z))
            pulls = W * slopes  # (q, n); a point with a negative pull attracts
            total = xp.sum(pulls, axis=1)
            diagonal = kernel.diagonal(Z)
            return LocalDistance(
                diagonal - 2 * xp.vecdot(W, values),
                -4 * (total[:, None] * Z - pulls @ points),  # of −2ψ, by (K0d)
                -4 * total,
                4 * xp.sum(xp.abs(pulls), axis=1),
                rounding(diagonal, xp.vecdot(moduli, xp.abs(values))),
            )

        return local

    return with_coefficients


def _dot_product_model(kernel, points):
    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            products = to_dense((points @ Z.T).T) if is_sparse(points) else Z @ points.T
            values, slopes = kernel.profile_with_derivative(products)
            own, own_slope = kernel.profile_with_derivative(xp.sum(Z * Z, axis=1))
            return LocalDistance(
                own - 2 * xp.vecdot(W, values),
                2 * (own_slope[:, None] * Z - (W * slopes) @ points),
                2 * own_slope,
                2 * xp.abs(own_slope),
                rounding(own, xp.vecdot(moduli, xp.abs(values))),
            )

        return local

    return with_coefficients


def _warped_model(kernel, points):
    """Values on a graph bend with z: the coefficients a of the target on its nodes become a + Mk(z)  (W3).

    ρ(z) = k(z, z) − kᵀMk − 2kᵀa has the gradient of k(z, z) − 2kᵀw for w = a + Mk held fixed, hence also the fixed
    point of the kernel itself with the weights w. They have both signs whatever the target.
    """
    form, plain = kernel.unwarped(points), kernel.kernel
    evaluate = _with_slopes(plain, form.nodes) if _has_slopes(plain) else _without_slopes(plain, form.nodes)

    def with_coefficients(W):
        xp = array_namespace(W)
        A = form.lift(W)
        moduli = xp.abs(A)

        def local(Z):
            values, gradient, curvatures = evaluate(Z)
            bent = form.bend(values)
            weights = A + bent
            diagonal = plain.diagonal(Z)
            return LocalDistance(
                diagonal - xp.vecdot(values, bent) - 2 * xp.vecdot(values, A),
                plain.diagonal_gradient(Z) - 2 * gradient(weights),
                *curvatures(weights),
                rounding(diagonal, xp.vecdot(xp.abs(values), moduli) + form.bend_rounding(values) / 2),
            )

        return local

    return with_coefficients


def _with_slopes(kernel, nodes):
    """Values, contracted gradient, and the curvatures of fixed points, of a profile at many points."""
    quantity = kernel.pairwise.against(nodes)

    def evaluate(Z):
        values, slopes = kernel.profile_with_derivative(quantity(Z))
        xp = array_namespace(values)

        def curvatures(weights):
            if kernel.is_radial:
                return -4 * xp.vecdot(weights, slopes), 4 * xp.vecdot(xp.abs(weights), xp.abs(slopes))
            own = 2 * kernel.profile_derivative(kernel.pairwise.diagonal(Z))
            return own, xp.abs(own)

        return values, lambda weights: kernel.pairwise.gradient(Z, nodes, weights * slopes), curvatures

    return evaluate


def _without_slopes(kernel, nodes):
    evaluate = kernel.evaluator(nodes)
    return lambda Z: (*evaluate(Z), lambda weights: (None, None))


def _general_model(kernel, points):
    evaluate = kernel.evaluator(points)

    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            values, contracted = evaluate(Z)
            diagonal = kernel.diagonal(Z)
            gradient = kernel.diagonal_gradient(Z) - 2 * contracted(W)
            noise = rounding(diagonal, xp.vecdot(moduli, xp.abs(values)))
            return LocalDistance(diagonal - 2 * xp.vecdot(W, values), gradient, None, None, noise)

        return local

    return with_coefficients
