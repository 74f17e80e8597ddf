"""Leave-one-out decisions of kernel Fisher discriminants, in closed form."""

from copy import copy

import numpy as np

from preimage._arrays import is_foreign
from preimage.discriminants import leave_one_out_values
from preimage.estimators._fisher_data import LabelledData
from preimage.estimators._fisher_problem import gram_matrix, solves_by_gram
from preimage.estimators._kernel_fisher import KernelFisherDiscriminant

# Share of their deviation by which decisions may differ from a line through least-squares values.
AGREEMENT = 1e-4
SMALLEST_RIDGE = 1e-12


def fisher_left_out(model, X, y, sample_weight, decisions):
    r"""Decisions of a fitted discriminant for each training row, were it fitted without it; or None.

    On all points with a penalty on the norm, two-class discriminants are least squares with a constant on any two
    targets, up to a line :math:`a f + c` that scales them and places the threshold. `leave_one_out_values` are exact
    for least squares; the ridge in absolute terms and the line stay those of all rows. Without row n all values change
    by :math:`H_{in} (f_{-n}(x_n) - y_n)`, with the matrix H that takes targets to fitted values. None for other
    discriminants.

    Parameters
    ----------
    model : fitted KernelFisherDiscriminant
    X, y, sample_weight : its training data
    decisions : array of shape (n,)
        Of the model on its training data.

    Returns
    -------
    (values, levels) : arrays of shape (n,), or None
        Decisions, and the mean decision of each of these discriminants over all rows.
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
    weights = np.ones(len(K)) if data.weights is None else data.weights
    ridge = max(float(model.alpha), SMALLEST_RIDGE)
    if model.alpha_scale == "relative":
        count = weights.sum()
        ridge *= float((weights @ np.diagonal(K) - weights @ K @ weights / count) / count)
    signs = 2.0 * data.codes - 1
    fitted, shares = _least_squares(K, signs, ridge, weights)
    slope, constant = np.polyfit(fitted, decisions, 1)
    if np.abs(slope * fitted + constant - decisions).max() > AGREEMENT * decisions.std():
        return None
    left_out = leave_one_out_values(K, signs[:, None], [ridge], data.weights)[0, :, 0]
    levels = fitted.mean() + shares * (left_out - signs)
    return slope * left_out + constant, slope * levels + constant


def _least_squares(K, targets, ridge, weights):
    """Kernel ridge regression with a constant: values at its own points, and what each target adds to their mean."""
    slack = ridge / weights
    solved = np.linalg.solve(K + np.diag(slack), np.stack([targets, slack, np.ones(len(K))], axis=1))
    constants = solved[:, :2].sum(axis=0) / solved[:, 2].sum()
    alpha, beta = (solved[:, :2] - constants * solved[:, 2:]).T
    return targets - slack * alpha, (1 - beta) / len(K)
