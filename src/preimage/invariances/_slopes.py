"""Derivatives of kernel values along directions of inputs."""

from preimage._arrays import array_namespace, to_dense
from preimage.kernels import InnerProduct, ProfileKernel, SquaredDistance


def slopes(kernel, X, directions, points):
    r"""How fast kernel values change when x moves: :math:`\nabla_1 k(x_j, z_i) \cdot \tau_j`, shape (q, m).

    Parameters
    ----------
    kernel : Kernel
        With a gradient, and all parameters resolved.
    X : array of shape (q, d)
    directions : array of shape (q, d)
        The velocities τ.
    points : array of shape (m, d)
        The fixed arguments z.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import slopes
    >>> from preimage.kernels import Linear
    >>> slopes(Linear(), np.array([[1.0, 1.0]]), np.array([[0.0, 2.0]]), np.array([[5.0, 3.0]]))
    array([[6.]])
    """
    kernel.require_gradient("An analytic tangent covariance")
    X, directions = to_dense(X), to_dense(directions)
    xp = array_namespace(X)
    if isinstance(kernel, ProfileKernel) and kernel.pairwise in (InnerProduct(), SquaredDistance()):
        outer = kernel.profile_derivative(kernel.pairwise.against(points)(X))
        inner = to_dense(directions @ points.T)
        if kernel.pairwise == SquaredDistance():
            inner = 2 * (xp.sum(X * directions, axis=1)[:, None] - inner)
        return outer * inner
    # One point at a time: as many operations as a product, and never a (q, m, d) array.
    one = xp.ones_like(X[:, :1])
    columns = [
        xp.sum(kernel.gradient(X, points[i : i + 1, :], one) * directions, axis=1) for i in range(points.shape[0])
    ]
    return xp.stack(columns, axis=1)
