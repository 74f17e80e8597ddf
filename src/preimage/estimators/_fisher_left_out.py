"""Leave-one-out decisions of kernel Fisher discriminants, in closed form."""

from copy import copy

import numpy as np

from preimage._arrays import is_foreign
from preimage.discriminants import LeastSquares, absolute_ridge
from preimage.estimators._fisher_data import LabelledData
from preimage.estimators._fisher_problem import gram_matrix, solves_by_gram
from preimage.estimators._kernel_fisher import KernelFisherDiscriminant

# Share of their deviation by which decisions may differ from a line through least-squares values.
AGREEMENT = 1e-4


def fisher_left_out(model, X, y, sample_weight, decisions):
    r"""Decisions of a fitted discriminant for each training row, were it fitted without it; or None.

    On all points with a penalty on the norm, two-class discriminants are least squares with a constant on any two
    targets, up to a line :math:`a f + c` that scales them and places the threshold. `LeastSquares` leaves rows out
    exactly; the ridge in absolute terms and the line stay those of all rows. Without row n all values change
    by :math:`H_{in} (f_{-n}(x_n) - y_n)`, with the matrix H that takes targets to fitted values, and their weighted
    mean by :math:`w_n / W` times that difference: the constant has no penalty, so that residuals have mean zero. None
    for other discriminants.

    Parameters
    ----------
    model : fitted KernelFisherDiscriminant
    X, y, sample_weight : its training data
    decisions : array of shape (n,)
        Of the model on its training data.

    Returns
    -------
    (values, levels) : arrays of shape (n,), or None
        Decisions, and the (weighted) mean decision of each of these discriminants over all rows.
    """
    if (
        type(model) is not KernelFisherDiscriminant
        or len(model.classes_) != 2
        or model.landmarks is not None
        or not solves_by_gram(model)
        or is_foreign(X)
    ):
        return None
    data = LabelledData.of(copy(model), X, y, sample_weight)  # which notes the columns it sees
    if len(data.codes) != len(decisions):
        return None  # rows of weight zero
    K = gram_matrix(model.kernel_, data.X)
    ridge = absolute_ridge(model.alpha, K, data.weights, is_relative=model.alpha_scale == "relative")
    weights = np.ones(len(K)) if data.weights is None else data.weights
    signs, regression = 2.0 * data.codes - 1, LeastSquares(K, data.weights)
    fitted = regression.fitted(signs[:, None], ridge)[:, 0]
    slope, constant = np.polyfit(fitted, decisions, 1)
    if np.abs(slope * fitted + constant - decisions).max() > AGREEMENT * decisions.std():
        return None
    left_out = regression.left_out(signs[:, None], ridge)[:, 0]
    fractions = weights / weights.sum()
    levels = fractions @ fitted + fractions * (left_out - signs)
    return slope * left_out + constant, slope * levels + constant
