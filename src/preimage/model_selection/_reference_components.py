"""Components that follow a reference, such as the design of an experiment."""

from numbers import Real

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from preimage._arrays import to_numpy
from preimage._finite import gives_finite_numbers
from preimage._typing import Array, Rows, Targets
from preimage.estimators._kernel_pca import KernelPCA
from preimage.model_selection._reproducible_map import map_correlation

# The threshold of the paper on sparse denoising of brain scans.
MIN_CORRELATION = 0.2


@gives_finite_numbers()
def reference_components(
    model: KernelPCA, X: Rows, reference: Targets, *, min_correlation: float = MIN_CORRELATION
) -> Array:
    r"""Numbers of the components whose coordinates are correlated with a reference.

    .. math:: \{ j : |\mathrm{corr}(\beta_j(x_1) \dots \beta_j(x_n),\ r_1 \dots r_n)| > \varrho \}

    The leading components of brain scans are often drifts and movements. Components that follow the on and off of
    the experiment, delayed as blood flow is, contain what the experiment caused [1]_.

    Parameters
    ----------
    model : fitted KernelPCA
        The model whose components are looked at.
    X : array of shape (n, d)
        Rows in the order of the reference; those of the fit, or others.
    reference : array of shape (n,)
        A number for each row: the state, a dose, a time course.
    min_correlation : float in [0, 1), default=0.2
        ρ, the modulus of the correlation that chosen components exceed.

    Returns
    -------
    integer array of shape (k,)
        Numbers of components, the most correlated first, for `KernelPCA.with_components`.

    See Also
    --------
    preimage.KernelPCA.with_components : The model with these components alone.
    split_half_denoising : Chooses them in each half.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "Sparse non-linear denoising: generalization performance and pattern
       reproducibility in functional MRI", Pattern Recognition Letters 32, 2011.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.neuro import make_scans
    >>> from preimage.model_selection import reference_components
    >>> scans = make_scans(n_runs=4, n_times=30, size=12, random_state=0)
    >>> model = KernelPCA(10).fit(scans.X)
    >>> chosen = reference_components(model, scans.X, scans.y)
    >>> task = model.with_components(chosen)
    >>> task.denoise(scans.X).shape, len(chosen) < 10
    ((120, 144), True)
    """
    if not (isinstance(min_correlation, Real) and 0 <= min_correlation < 1):
        raise ValueError(f"reference_components needs min_correlation from 0 to below 1; got {min_correlation!r}.")
    if not hasattr(model, "with_components"):
        raise TypeError(
            f"reference_components chooses components of a fitted KernelPCA; got {type(model).__name__}. "
            "KernelPCA(kernel='linear') is PCA."
        )
    course = column_or_1d(check_array(reference, ensure_2d=False, dtype=np.float64, input_name="reference"))
    scores = to_numpy(model.transform(X))
    check_consistent_length(scores, course)
    if np.ptp(course) == 0:
        raise ValueError("reference_components needs a reference that varies; all of its values are equal.")
    correlations = np.array([abs(map_correlation(column, course)) for column in scores.T])
    order = np.argsort(-correlations, kind="stable")
    chosen = order[correlations[order] > min_correlation]
    if chosen.size == 0:
        raise ValueError(
            f"No component of {type(model).__name__} has a correlation above {min_correlation} with the reference; the "
            f"largest is {correlations.max():.3g}, of component {order[0]}. Fit more components, or lower "
            "min_correlation."
        )
    return chosen
