"""What models say of their features, components and landmarks, computed again from the rows: one function each."""

import numpy as np
from claims_problem import SELECTORS

from preimage._engine.arrays import to_numpy
from preimage.exceptions import RankWarning

LONG = np.longdouble


def array(values):
    return np.asarray(to_numpy(values), float)


def centered(K, weights):
    """The Gram matrix of images less their weighted mean."""
    w = weights / weights.sum()
    mean = K @ w
    return K - mean[:, None] - mean[None, :] + w @ mean


def exact_eigenvalues(fit):
    """Of the centred Gram matrix of the rows, times their weights, descending; and its trace."""
    K, w = centered(fit.values(fit.X, fit.X), fit.weights), np.sqrt(fit.weights)
    A = (w[:, None] * K * w[None, :]).astype(float)
    return np.linalg.eigvalsh(A)[::-1], float(np.trace(A))


def moments_of_features(fit):
    """Weighted means, variances and correlations of the columns of `transform(X)`."""
    Y, w = fit.features.astype(LONG), (fit.weights / fit.weights.sum()).astype(LONG)
    mean = w @ Y
    covariance = (Y - mean).T @ ((Y - mean) * w[:, None])
    variances = np.diag(covariance)
    scale = np.sqrt(np.where(variances > 0, variances, 1))
    return mean.astype(float), variances.astype(float), (covariance / scale / scale[:, None]).astype(float)


def variances_are_those_of_rows(fit):
    _, variances, _ = moments_of_features(fit)
    fit.equal("explained_variance_ is the variance of transform(X)", array(fit.model.explained_variance_), variances)


def means_are_zero(fit):
    mean, variances, _ = moments_of_features(fit)
    fit.at_most("columns of transform(X) have mean zero", np.abs(mean), fit.tolerance * np.sqrt(variances))


def columns_are_uncorrelated(fit):
    _, _, correlations = moments_of_features(fit)
    off = np.abs(correlations - np.diag(np.diag(correlations)))
    fit.at_most("columns of transform(X) are uncorrelated", off.max(initial=0.0), fit.tolerance)


def _span_total(fit, least):
    """Mean squared distance of rows to the mean as the model has it: its projection on the landmarks."""
    w = fit.weights / fit.weights.sum()
    mean = w @ coordinates_on(fit, array(fit.model.landmarks_.points), least)
    return float(w @ np.diag(fit.values(fit.X, fit.X)) - mean @ mean)


# Squared lengths, relative to the largest, down to which directions of a span are seen in extended precision, and those
# that double precision may not see: landmarks that nearly coincide differ by such a direction.
SEEN, HIDDEN = 1e-16, 1e-9


def coordinates_on(fit, points, least=SEEN):
    """Coordinates of the rows in an orthonormal frame of the span of the images of points, in extended precision.

    By a Cholesky factor with pivots of the Gram matrix of the points, up to pivots of `least`.
    """
    W, C = fit.values(points, points).copy(), fit.values(fit.X, points).copy()
    largest, columns = np.diag(W).max(), []
    for _ in range(len(points)):
        pivot = int(np.argmax(np.diag(W)))
        if W[pivot, pivot] <= least * largest:
            break
        root = np.sqrt(W[pivot, pivot])
        own, column = W[:, pivot] / root, C[:, pivot] / root
        W, C = W - own[:, None] * own[None, :], C - column[:, None] * own[None, :]
        columns.append(column)
    return np.stack(columns, axis=1)


def ratios_are_their_definition(fit):
    model = fit.model
    variances, ratios = array(model.explained_variance_), array(model.explained_variance_ratio_)
    rounding = 1e-9 if fit.problem.dtype == "float64" else 1e-3
    fit.at_most("explained_variance_ratio_ sums to at most one", ratios.sum(), 1 + rounding)
    floor = 1e-12 if fit.problem.dtype == "float64" else 1e-6
    if getattr(model, "landmarks_", None) is None:
        total = exact_eigenvalues(fit)[1] / fit.weights.sum()
    else:
        least, most = (_span_total(fit, limit) for limit in (SEEN, HIDDEN))
        total = float(np.clip(variances.sum() / ratios.sum(), least, most))
    fit.equal("explained_variance_ratio_ is variance over total", ratios, variances / total, floor=floor)


def eigenvalues_are_variances(fit):
    model = fit.model
    n = fit.weights.sum()
    fit.equal("eigenvalues_ / n = explained_variance_", array(model.eigenvalues_) / n, array(model.explained_variance_))


def eigenvalues_do_not_exceed_the_exact_ones(fit):
    exact, _ = exact_eigenvalues(fit)
    said = array(fit.model.explained_variance_)[: len(exact)] * fit.weights.sum()
    allowed = exact[: len(said)] * (1 + fit.tolerance) + _rounding_of_eigenvalues(fit)
    fit.at_most("eigenvalues are at most the exact ones", said, allowed)


def _rounding_of_eigenvalues(fit):
    """What rounding errors of kernel values in the precision of the rows move an eigenvalue by.

    Those of a kernel of distances are γ times the rounding errors of squared distances.
    """
    problem, n = fit.problem, len(fit.X)
    extent = ((fit.X - np.median(fit.X, axis=0)) ** 2).sum(axis=1).max() if problem.kernel == "rbf" else 0.0
    values = np.finfo(problem.dtype).eps * (1 + problem.gamma * extent) * np.sqrt(n)
    return float((values + 8 * np.finfo(float).eps * n) * np.abs(fit.values(fit.X, fit.X)).max() * fit.weights.max())


def eigenvalues_are_exact(fit):
    """To the tolerance where all rows are expansion points; on landmarks, to the residual trace that they state."""
    exact, _ = exact_eigenvalues(fit)
    exact = exact[np.argsort(-np.abs(exact), kind="stable")]
    said = array(fit.model.explained_variance_)[: len(exact)] * fit.weights.sum()
    exact = exact[: len(said)]
    rounding, landmarks = _rounding_of_eigenvalues(fit), fit.model.landmarks_
    if landmarks is None:
        fit.equal("eigenvalues are exact", said, exact, floor=rounding)
    elif fit.problem.route != "chunks":  # of which the first chunk alone has a part along all landmarks
        left = float(landmarks.residual_trace) + rounding
        fit.at_most("eigenvalues lack at most the residual trace", exact - said, fit.tolerance * exact + 1.05 * left)


def clear_components_are_kept(fit):
    """Components far above rounding errors are not left out: 1e-5 of the trace in double, 3e-2 in single precision.

    Narrow kernels multiply rounding errors, and those that a component is left out for are multiplied by another 32.
    """
    if fit.problem.route in (*SELECTORS, "chunks", "dask", "weighted landmarks") or fit.model.n_components == 0.9:
        return
    exact, _ = exact_eigenvalues(fit)
    lengths = fit.weights @ np.diag(fit.values(fit.X, fit.X)).astype(float)
    least, amplified = {"float64": (1e-5, 1e8), "float32": (3e-2, 1e4)}[fit.problem.dtype]
    clear = int(np.sum(exact > max(least * lengths, amplified * _rounding_of_eigenvalues(fit))))
    asked = fit.model.n_components or len(exact)
    fit.at_most("components that the rows determine are kept", min(clear, asked), fit.model.n_components_)


def indefinite_ratios_are_their_definition(fit):
    K = fit.values(fit.X, fit.X)
    w = np.sqrt(fit.weights)
    values = np.linalg.eigvalsh((w[:, None] * centered(K, fit.weights) * w).astype(float))
    ratios = array(fit.model.explained_variance_ratio_)
    said = array(fit.model.explained_variance_) * fit.weights.sum()
    fit.at_most("moduli of explained_variance_ratio_ sum to at most one", np.abs(ratios).sum(), 1 + fit.tolerance)
    fit.equal("explained_variance_ratio_ is λ over the sum of moduli", ratios, said / np.abs(values).sum(), floor=1e-9)


def moduli_are_variances(fit):
    """Features of an indefinite kernel are scaled by √|λ|."""
    _, variances, _ = moments_of_features(fit)
    fit.equal("|explained_variance_| is the variance", np.abs(array(fit.model.explained_variance_)), variances)


def components_are_as_asked(fit):
    model, asked = fit.model, fit.model.n_components
    kept = fit.features.shape[1]
    fit.holds("n_components_ is the number of columns", model.n_components_ == kept, f"{model.n_components_} of {kept}")
    if isinstance(asked, int) and not (fit.problem.route == "chunks" and kept == asked):  # of an earlier chunk
        fit.holds(
            "a RankWarning exactly when fewer components are kept than asked for",
            (kept < asked) == fit.warned(RankWarning),
            f"{kept} of {asked} kept, warned: {fit.warned(RankWarning)}",
        )


def reconstruction_errors_are_what_is_left(fit):
    """‖φ(x) − m‖² − Σβ², with m the origin of the model and kernel values computed here."""
    model = fit.model
    said = array(model.reconstruction_error(fit.rows()))
    origin = model.subspace_.origin
    points, c = array(origin.points), array(origin.coefficients)[:, 0].astype(LONG)
    C, W = fit.values(fit.X, points), fit.values(points, points)
    lengths = np.diag(fit.values(fit.X, fit.X))
    distances = (lengths - 2 * C @ c + c @ W @ c).astype(float)
    signature = model.subspace_.signature
    squares = fit.features**2 * (1.0 if signature is None else array(signature))
    left = distances - squares.sum(axis=1)
    scale = np.abs(distances).mean() + np.abs(squares).sum(axis=1).mean()
    if signature is None:
        left = np.maximum(left, 0.0)
    fit.equal("reconstruction_error is what transform leaves", said, left, floor=fit.tolerance * scale)


def residual_fraction_is_measured(fit):
    landmarks = fit.model.landmarks_
    if landmarks is None:
        return
    said, points = landmarks.residual_fraction, array(landmarks.points)
    # Rows count by their weights where the pass over weighted data measures, and alike where a selector does.
    ones = np.ones(len(fit.X))
    weights = min((fit.weights, ones), key=lambda w: abs(left_by(fit, points, w) - said))
    _residual_is_measured(fit, "landmarks_.residual_fraction is what they leave", said, points, weights)


def _residual_is_measured(fit, claim, said, points, weights):
    """Not less than what the points leave, nor more than directions that double precision hides add to it."""
    least, most = (1e-10, 1e-6) if fit.problem.dtype == "float64" else (1e-4, 1e-3)
    fit.at_most(claim, said, 1.05 * left_by(fit, points, weights, HIDDEN) + most)
    fit.at_most(f"{claim}, not less", 0.95 * left_by(fit, points, weights) - least, said)


def left_by(fit, points, weights, least=SEEN):
    """tr(K − K̃)/tr K of the rows."""
    lengths = np.diag(fit.values(fit.X, fit.X))
    left = lengths - (coordinates_on(fit, points, least) ** 2).sum(axis=1)
    return float(weights @ np.maximum(left, 0) / (weights @ lengths))


def fit_transform_is_fit_and_transform(fit):
    from sklearn.base import clone

    if fit.problem.route not in ("exact", "kmeans"):
        return
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = array(clone(fit.model).fit_transform(fit.rows(), fit.y))
    fit.holds("fit_transform has the shape of transform", again.shape == fit.features.shape)
    if again.shape == fit.features.shape:
        scale = np.abs(fit.features).max(axis=0)
        fit.at_most(
            "fit_transform is fit and transform", np.abs(again - fit.features).max(axis=0), fit.tolerance * scale
        )


# Features that are expansions -----------------------------------------------------------------------------------------


def squared_lengths(fit, expansion):
    """‖w‖² of every vector of an expansion, in extended precision."""
    points, A = array(expansion.points), array(expansion.coefficients).astype(LONG)
    return np.einsum("ij,ik,kj->j", A, fit.values(points, points), A).astype(float)


def axes_are_orthonormal(fit):
    frame = fit.model.subspace_.frame
    points, A = array(frame.points), array(frame.coefficients).astype(LONG)
    inner = (A.T @ fit.values(points, points) @ A).astype(float)
    fit.at_most("axes are orthonormal", np.abs(inner - np.eye(len(inner))).max(), 10 * fit.tolerance)


def multipliers_of_unsupervised(fit):
    model = fit.model
    if model.n_labelled_ == 0:
        true = 1 / (fit.weights.sum() * array(model.explained_variance_))
        fit.equal("multipliers_ are 1/(n · variance)", array(model.multipliers_), true)


def variances_are_ratios(fit):
    _, variances, _ = moments_of_features(fit)
    fit.equal("ratios_ are the variances of transform(X)", array(fit.model.ratios_), variances)


def noise_and_ridge_are_one(fit):
    """Features are scaled so that ⟨w, S_N w⟩ + α‖w‖² = 1."""
    model = fit.model
    total = array(model.noise_variances_) + model.alpha * squared_lengths(fit, model.expansion_)
    fit.equal("noise and ridge of each feature are one", total, np.ones_like(total), tolerance=10 * fit.tolerance)


def mean_squares_are_variances(fit):
    true = (fit.features.astype(LONG) ** 2).mean(axis=0).astype(float)
    fit.equal("explained_variance_ are mean squares of transform(X)", array(fit.model.explained_variance_), true)


def scales_are_lengths(fit):
    model = fit.model
    said = array(model.scales_)
    true = np.sqrt(np.maximum(squared_lengths(fit, model.expansion_), 0.0))
    fit.equal("scales_ are lengths of the features", said, true, tolerance=10 * fit.tolerance, floor=1e-7 * said.max())
    if model.norm == "l1":
        sums = np.abs(array(model.expansion_.coefficients)).sum(axis=0)
        fit.equal("coefficients of each feature have sum of moduli one", sums, np.ones_like(sums))


def residual_fraction_attribute_is_measured(fit):
    model = fit.model
    points, weights = array(model.landmarks_.points), (fit.weights > 0).astype(float)
    _residual_is_measured(fit, "residual_fraction_ is what the points leave", model.residual_fraction_, points, weights)


def landmarks_are_rows(fit):
    landmarks = fit.model.landmarks_
    if landmarks is None or landmarks.indices is None:
        return
    same = np.array_equal(array(landmarks.points), fit.X[np.asarray(landmarks.indices)])
    fit.holds("landmarks_.indices are the row numbers of landmarks_.points", same)


def features_are_white(fit):
    _, variances, _ = moments_of_features(fit)
    fit.equal("features have variance one", variances, np.ones_like(variances), tolerance=10 * fit.tolerance)


def contrasts_are_moments(fit):
    model, w = fit.model, fit.weights / fit.weights.sum()
    gaussian = {3: 0.0, 4: 3.0}[model.order]
    true = w @ fit.features**model.order - gaussian
    fit.equal("contrasts_ are moments of transform(X)", array(model.contrasts_), true, floor=100 * fit.tolerance)


def iterations_within_limit(fit):
    from sklearn.exceptions import ConvergenceWarning as Theirs

    from preimage.exceptions import ConvergenceWarning

    model = fit.model
    short = model.n_iter_ < model.max_iter or fit.warned(ConvergenceWarning) or fit.warned(Theirs)
    fit.holds("n_iter_ is below max_iter unless a ConvergenceWarning was given", short, f"n_iter_ = {model.n_iter_}")


# Maps -----------------------------------------------------------------------------------------------------------------


def inner_products_are_kernel_values(fit):
    model, Y = fit.model, fit.features
    points = array(model.expansion_.points)
    C = fit.values(fit.X, points)
    scale = np.abs(C).max()
    if model.whiten is False:
        fit.equal("transform is the kernel values with the points", Y, C, floor=fit.tolerance * scale)
    elif model.whiten == "data":
        F, S = C @ C.T, Y @ Y.T
        fit.equal("(SSᵀ)² = FFᵀ", S @ S, F, floor=100 * fit.tolerance * np.abs(F).max())
    else:
        G = coordinates_on(fit, points)
        fit.equal("SSᵀ is the kernel on the points", Y @ Y.T, G @ G.T, floor=10 * fit.tolerance * scale)
