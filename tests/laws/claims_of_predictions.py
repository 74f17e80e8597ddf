"""What models say of clusters, predictions and discriminants, computed again from the rows: one function each."""

import numpy as np
from claims_of_features import LONG, array, centered, coordinates_on, squared_lengths

# Clusters -------------------------------------------------------------------------------------------------------------


def _center_distances(fit):
    """Squared distances of rows to the centres, from their expansions, in extended precision."""
    centers = fit.model.centers_
    points, A = array(centers.points), array(centers.coefficients).astype(LONG)
    C, W = fit.values(fit.X, points), fit.values(points, points)
    lengths = np.diag(fit.values(fit.X, fit.X))[:, None]
    return (lengths - 2 * C @ A + np.einsum("ij,ik,kj->j", A, W, A)).astype(float)


def distances_are_those_to_centers(fit):
    true = _center_distances(fit)
    scale = np.abs(np.diag(fit.values(fit.X, fit.X))).max()
    rounding = 1e-12 if fit.problem.dtype == "float64" else 1e-4
    fit.equal("transform is the distance to the centres", fit.features**2, np.maximum(true, 0), floor=rounding * scale)


def labels_are_predicted(fit):
    model = fit.model
    labels, predicted = array(_computed(model.labels_)), array(model.predict(fit.rows()))
    if fit.problem.route == "chunks":
        return  # labels of the last chunk
    fit.holds("labels_ = predict(X)", np.array_equal(labels, predicted), f"{int((labels != predicted).sum())} differ")


def _computed(values):
    return values.compute() if hasattr(values, "compute") else values


def inertia_is_the_objective(fit):
    if fit.problem.route == "chunks":
        return
    model = fit.model
    true = float(fit.weights @ np.maximum(_center_distances(fit), 0).min(axis=1))
    scale = float(fit.weights @ np.diag(fit.values(fit.X, fit.X)))
    rounding = 1e-12 if fit.problem.dtype == "float64" else 1e-5
    fit.equal("inertia_ is the sum of squared distances", model.inertia_, true, floor=rounding * scale)
    fit.equal("score = -inertia_", model.score(fit.rows(), sample_weight=fit.weights), -true, floor=rounding * scale)


def centers_are_means_of_their_rows(fit):
    """A partition that has converged: its means are the centres, as far as the rows show."""
    if fit.problem.route != "exact" and fit.problem.route != "weights":
        return
    model = fit.model
    labels = array(model.labels_).astype(int)
    K, w = fit.values(fit.X, fit.X), fit.weights
    M = np.zeros((len(labels), model.n_clusters))
    M[np.arange(len(labels)), labels] = w
    used = M.sum(axis=0) > 0
    M = M[:, used] / M[:, used].sum(axis=0)
    distances = np.diag(K)[:, None] - 2 * K @ M + np.einsum("ij,ik,kj->j", M, K, M)
    own = np.cumsum(used)[labels] - 1
    slack = distances[np.arange(len(labels)), own] - distances.min(axis=1)
    rounding = 1e-10 if fit.problem.dtype == "float64" else 1e-4
    fit.at_most("no row is nearer to the mean of another cluster", slack[w > 0], rounding * np.abs(np.diag(K)).max())


# Outliers -------------------------------------------------------------------------------------------------------------


def left_out_scores_are_refits(fit):
    """Each row measured by a model of the others, on the same landmarks where there are some."""
    model, w, lengths = fit.model, fit.weights, np.diag(fit.values(fit.X, fit.X)).astype(float)
    ridge = float(np.average(lengths, weights=w)) * model.ridge
    on_landmarks = model.route_ == "landmarks"
    F = coordinates_on(fit, array(model.landmarks_.points)).astype(float) if on_landmarks else None
    K = fit.values(fit.X, fit.X).astype(float) if F is None else F @ F.T
    inside = np.zeros(len(w))
    for row in range(len(w)):
        fewer = np.where(np.arange(len(w)) == row, np.maximum(w - 1, 0), w)
        others = np.flatnonzero(fewer)
        values = K[row, others]
        A = K[np.ix_(others, others)] + np.diag(ridge / fewer[others])
        inside[row] = K[row, row] - values @ np.linalg.solve(A, values)
    true = inside + lengths - np.diag(K)
    floor = {"float64": 1e-5, "float32": 1e-3}[fit.problem.dtype] * lengths.max()
    said = array(model.left_out_scores_)
    first = np.unique(fit.X, axis=0, return_index=True)[1]  # copies of other weights have the score of the first
    claim = "left_out_scores_ are those of models of the others"
    fit.equal(claim, said[first], -true[first], tolerance=1e-4, floor=floor)
    fit.equal("ridge_ is a fraction of the mean of k(x, x)", model.ridge_, ridge, tolerance=1e-5)
    fit.equal("score_samples of training rows leaves them out", array(model.score_samples(fit.rows())), said)


def thresholds_have_their_fraction_below(fit):
    scores, w = array(fit.model.left_out_scores_), fit.weights
    below = w[scores < fit.model.offset_ - 1e-9 * abs(fit.model.offset_)].sum() / w.sum()
    tied = np.isclose(scores, scores.min(), rtol=1e-6)
    allowed = max(0.05 + w.max() / w.sum(), w[tied].sum() / w.sum()) + 1e-9  # a row is below with all of its weight
    fit.at_most("at most one row in twenty, or ties, is below", below, allowed)


def one_class_objective_and_fraction(fit):
    """½‖g‖² + Σ w max(0, ρ − g) − νρ Σ w at the coefficients, and what the threshold leaves below."""
    model, w = fit.model, fit.weights
    g = array(model.score_samples(fit.rows()))
    half_square = squared_lengths(fit, model.expansion_).sum() / 2
    terms = [half_square, w @ np.maximum(model.offset_ - g, 0), -model.nu * model.offset_ * w.sum()]
    # Values of g are sums of large terms in both signs for wide kernels.
    largest = float(np.abs(fit.values(fit.X, array(model.expansion_.points))).max(initial=0))
    size = largest * np.abs(array(model.expansion_.coefficients)).sum() * w.sum() + sum(map(abs, terms))
    rounding = 1e-6 if fit.problem.dtype == "float64" else 1e-3
    fit.equal("objective_ is that of the coefficients", model.objective_[0], sum(terms), 0.0, rounding * size)
    below = w[g < model.offset_ - rounding * np.abs(g).max()].sum() / w.sum()
    fit.at_most("at most a fraction nu is below the threshold", below, model.nu + 1e-9)


# Neighbours -----------------------------------------------------------------------------------------------------------


def neighbors_are_nearest(fit):
    """Squared distances of answers that are certain are the smallest of all pairs; others are no smaller."""
    found = fit.model._nearest(fit.rows(), 3, None, True)
    K = fit.values(fit.X, fit.X).astype(float)
    lengths = np.diag(K)
    true = np.maximum(lengths[:, None] + lengths - 2 * K, 0)
    floor = {"float64": 1e-9, "float32": 1e-4}[fit.problem.dtype] * np.abs(lengths).max()
    squared = np.take_along_axis(true, found.numbers, axis=1)
    fit.equal("distances are those of rows", found.keys**2, squared, tolerance=1e-4, floor=floor)
    smallest = np.sort(true, axis=1)[:, :3]
    certain = found.certain
    fit.equal("certain answers are nearest", squared[certain], smallest[certain], tolerance=1e-4, floor=floor)
    fit.at_most("no answer is nearer than the nearest", smallest - squared, floor)


# Regression -----------------------------------------------------------------------------------------------------------


def leave_one_out_errors_are_refits(fit):
    model = fit.model
    if model.alphas_ is None:
        return
    F, y, w, n = coordinates_on(fit, array(fit.model.landmarks_.points)), _signed(fit), fit.weights, len(fit.X)
    alphas = np.asarray(model.alphas_, float)
    for number in (0, len(alphas) // 2, len(alphas) - 1):
        errors = np.zeros((n, y.shape[1]))
        for row in range(n):
            others = np.arange(n) != row
            errors[row] = y[row] - _ridge_prediction(F[others], y[others], w[others], alphas[number], F[row])
        true = float(np.average((errors**2).mean(axis=1), weights=w))
        if alphas[number] > _smallest_penalty(fit, F):
            fit.equal(
                "loo_errors_ are those of refits",
                float(model.loo_errors_[number]),
                true,
                tolerance=1e-4 if fit.problem.dtype == "float64" else 5e-2,
            )


def _smallest_penalty(fit, F):
    """Smaller penalties leave the fit to rounding errors of kernel values."""
    return {"float64": 1e-9, "float32": 1e-5}[fit.problem.dtype] * (F**2).sum()


def _signed(fit):
    if fit.y is None or np.issubdtype(np.asarray(fit.y).dtype, np.floating):
        return np.asarray(fit.y, float)[:, None]
    classes = np.unique(fit.y)
    if len(classes) == 2:
        return np.where(fit.y == classes[1], 1.0, -1.0)[:, None]
    return np.where(fit.y[:, None] == classes, 1.0, -1.0)


def _ridge_prediction(F, y, w, alpha, query):
    """Values at a query of the ridge regression of y on the columns of F with a free mean, in extended precision."""
    mean, center = w @ F / w.sum(), w @ y / w.sum()
    G = F - mean
    beta = _solved(G.T @ (w[:, None] * G) + LONG(alpha) * np.eye(F.shape[1]), G.T @ (w[:, None] * (y - center)))
    return (center + (query - mean) @ beta).astype(float)


def _solved(A, B):
    """A⁻¹B of a positive definite A by elimination, in its own precision."""
    M = np.hstack([A, B])
    n = len(A)
    for i in range(n):
        M[i] /= M[i, i]
        others = np.arange(n) != i
        M[others] -= M[others, i : i + 1] * M[i]
    return M[:, n:]


def coefficients_minimise(fit):
    """The penalised sum of squares at the coefficients of the model is the smallest on its landmarks."""
    model = fit.model
    points = array(model.expansion_.points)
    F, y, w, alpha = coordinates_on(fit, points), _signed(fit), fit.weights, float(model.alpha_)
    if alpha <= _smallest_penalty(fit, F):
        return
    mean, center = w @ F / w.sum(), w @ y / w.sum()
    G, t = F - mean, y - center
    beta = _solved(G.T @ (w[:, None] * G) + LONG(alpha) * np.eye(F.shape[1]), G.T @ (w[:, None] * t))
    best = float((w @ (t - G @ beta) ** 2).sum() + alpha * (beta**2).sum())
    said = model.predict(fit.rows()) if fit.problem.targets is fit.y else model.decision_function(fit.rows())
    said = array(said).reshape(y.shape)
    ours = float((w @ (y - said) ** 2).sum()) + alpha * squared_lengths(fit, model.expansion_).sum()
    rounding = 1e-9 if fit.problem.dtype == "float64" else 1e-3
    fit.at_most("the objective is the smallest", ours, best * (1 + fit.tolerance) + rounding * float((w @ t**2).sum()))


def scores_are_recomputed(fit):
    from sklearn.metrics import accuracy_score, r2_score

    predicted = array(fit.model.predict(fit.rows()))
    metric = r2_score if fit.problem.targets is fit.y else accuracy_score
    fit.equal("score is that of predict", fit.model.score(fit.rows(), fit.y), metric(fit.y, predicted), floor=1e-5)


def objective_of_program(fit):
    """Σ|β| + C Σ w (loss), at the coefficients that the model has."""
    model, w = fit.model, fit.weights
    beta = array(model.expansion_.coefficients)
    Y, is_regressor = _signed(fit), fit.problem.targets is fit.y
    f = array(model.predict(fit.rows()) if is_regressor else model.decision_function(fit.rows())).reshape(Y.shape)
    loss = np.maximum(np.abs(Y - f) - model.epsilon, 0) if is_regressor else np.maximum(1 - Y * f, 0)
    true = np.abs(beta).sum(axis=0) + model.C * (w @ loss)
    # Values of a function are known up to the rounding errors of its terms.
    largest = float(np.abs(fit.values(fit.X, array(model.expansion_.points))).max(initial=0))
    rounding = 4 * np.finfo(fit.problem.dtype).eps * largest * np.abs(beta).sum(axis=0) * model.C * w.sum()
    tolerance = 1e-5 if fit.problem.dtype == "float64" else 1e-2
    fit.equal(
        "objective_ is that of the coefficients", array(model.objective_), true, tolerance, tolerance + rounding.max()
    )
    if model.gap_ is None or fit.problem.dtype != "float64":
        return
    for column in range(Y.shape[1]):
        least = _program(fit, Y[:, column], w, is_regressor)
        if least is not None:
            claimed = float(model.objective_[column]) * (1 - float(model.gap_[column]))
            fit.at_most("the minimum on all rows is at least objective_ (1 - gap_)", claimed, least * (1 + 1e-6) + 1e-6)


def _program(fit, y, w, is_regressor):
    from scipy.optimize import linprog

    model = fit.model
    rows = w > 0  # others are not there
    X, y, w = fit.X[rows], y[rows], w[rows]
    K, n = fit.values(X, X).astype(float), len(y)
    # Variables β⁺, β⁻, b⁺, b⁻, slacks.
    cost = np.concatenate([np.ones(2 * n), [0, 0], model.C * w])
    rows = np.hstack([K, -K, np.ones((n, 1)), -np.ones((n, 1))])
    slack = -np.eye(n)
    if is_regressor:
        A = np.vstack([np.hstack([rows, slack]), np.hstack([-rows, slack])])
        b = np.concatenate([y + model.epsilon, -y + model.epsilon])
    else:
        A, b = np.hstack([-y[:, None] * rows, slack]), -np.ones(n)
    found = linprog(cost, A_ub=A, b_ub=b, method="highs")
    return found.fun if found.status == 0 else None


# Discriminants --------------------------------------------------------------------------------------------------------


def class_means_are_those_of_rows(fit):
    model, y, w = fit.model, np.asarray(fit.y), fit.weights
    points, A = array(model.expansion_.points), array(model.expansion_.coefficients)
    values = (fit.values(fit.X, points) @ A.astype(LONG)).astype(float)
    true = np.stack([np.average(values[y == c], axis=0, weights=w[y == c]) for c in model.classes_])
    scale = np.abs(values).max()
    fit.equal(
        "class_means_ are means of the discriminants",
        array(model.class_means_),
        true,
        floor=10 * fit.tolerance * values.std(axis=0).max() + 1e-12 * scale,
    )
    counts = np.array([w[y == c].sum() for c in model.classes_])
    fit.equal("class_count_ are sums of weights", array(model.class_count_), counts)


def fisher_ratios_are_recomputed(fit):
    """J of each direction: between over within plus μ‖w‖², from the values of the rows."""
    model, y, w = fit.model, np.asarray(fit.y), fit.weights
    if model.ratios_ is None:
        return
    points, A = array(model.expansion_.points), array(model.expansion_.coefficients).astype(LONG)
    V = fit.values(fit.X, points) @ A
    lengths = squared_lengths(fit, model.expansion_)
    mean = np.average(V.astype(float), axis=0, weights=w)
    between = within = 0.0
    for c in model.classes_:
        rows, weights = V[y == c].astype(float), w[y == c]
        center = np.average(rows, axis=0, weights=weights)
        between = between + weights.sum() * (center - mean) ** 2
        within = within + weights @ (rows - center) ** 2
    if model.landmarks_ is None:
        variance = np.trace(centered(fit.values(fit.X, fit.X), w) * (w / w.sum())[:, None])
    else:  # in the span of the landmarks
        F = coordinates_on(fit, points)
        variance = (w / w.sum()) @ ((F - w @ F / w.sum()) ** 2).sum(axis=1)
    mu = model.alpha * float(variance)
    true = between / (within + mu * lengths)
    fit.equal(
        "ratios_ are those of the discriminants", array(model.ratios_), true, tolerance=100 * fit.tolerance, floor=1e-6
    )


def penalized_variates_are_scaled(fit):
    model, y, X = fit.model, np.asarray(fit.y), fit.X
    means = np.stack([X[y == c].mean(axis=0) for c in model.classes_])
    codes = np.searchsorted(model.classes_, y)
    D, B, n = X - means[codes], means[codes] - X.mean(axis=0), len(X)
    W = array(model.scalings_)
    inner = W.T @ (D.T @ D / n + model.alpha * np.eye(X.shape[1])) @ W
    fit.at_most("Wᵀ(Σ_W + αI)W = I", np.abs(inner - np.eye(len(inner))).max(), 10 * fit.tolerance)
    fit.equal(
        "ratios_ are between variances",
        array(model.ratios_),
        np.diag(W.T @ (B.T @ B / n) @ W),
        tolerance=10 * fit.tolerance,
        floor=1e-9,
    )
    projected = (X - X.mean(axis=0)) @ W
    true = np.stack([projected[y == c].mean(axis=0) for c in model.classes_])
    fit.equal(
        "means_ are class means of the variates",
        array(model.means_),
        true,
        tolerance=10 * fit.tolerance,
        floor=10 * fit.tolerance * np.abs(true).max(),
    )
