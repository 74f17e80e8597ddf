"""What compressed models, searches, imputers and solvers say of themselves, computed again by refits and from rows."""

import warnings

import numpy as np
from claims_of_features import LONG, array
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score


def _silently(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


# Compressed machines --------------------------------------------------------------------------------------------------


def compression_is_as_reported(fit):
    """Sizes, the error in feature space, scores and the ratio of multiplications."""
    from preimage.interop import fold

    model = fit.model
    original = _silently(clone(model.estimator).fit, fit.rows(), fit.y)
    machine = fold(original).machine
    before, after = machine.expansion, model.expansion_
    fit.equal(
        "n_points_ is the number of distinct points", model.n_points_, len(np.unique(array(after.points), axis=0))
    )
    n_before = len(np.unique(array(before.prune().points), axis=0))
    fit.equal("n_original_points_ is that of the original", model.n_original_points_, n_before)
    weights = np.ones(len(before)) if machine.weights is None else array(machine.weights)
    points = np.vstack([array(before.points), array(after.points)])
    A = np.vstack([array(before.coefficients), -array(after.coefficients)]) * weights
    K = fit.values(points, points)
    n = len(array(before.points))
    squared = float(np.einsum("ij,ik,kj->", A.astype(LONG), K, A.astype(LONG)))
    length = float(np.einsum("ij,ik,kj->", A[:n].astype(LONG), K[:n, :n], A[:n].astype(LONG)))
    # The error is a difference of numbers of the size of the coefficients' moduli.
    rounding = 1e-13 * float(np.abs(A).sum(axis=0) @ np.abs(A).sum(axis=0) * np.abs(K).max()) / length
    if model.dtype == "float32" or fit.problem.dtype == "float32":
        rounding *= 1e8
    fit.equal("error_ is that of the functions", model.error_, squared / length, tolerance=1e-3, floor=rounding + 1e-10)
    _scores_of_compression(fit, original)
    _left_out_scores_of_compression(fit)
    d = fit.X.shape[1]
    work = lambda expansion: (
        len(np.unique(array(expansion.points), axis=0)) * d
        + np.count_nonzero(array(expansion.merged().coefficients)[:, : model.machine_.output.n_functions])
    )
    fit.equal("work_ratio_ is that of multiplications", model.work_ratio_, work(before) / work(after), tolerance=1e-9)


def _scores_of_compression(fit, original):
    model, X = fit.model, fit.rows()
    if hasattr(original, "predict"):
        before, after = (array(each.predict(X)) for each in (original, model))
    else:
        before, after = (array(each.transform(X)) for each in (original, model))
    truth = before if model.is_scored_by_original_ else array(fit.y)
    kind = model.kind
    if kind in ("classifier", "detector"):
        score = accuracy_score
    elif kind == "regressor":
        score = r2_score
    else:
        score = lambda truth, said: r2_score(truth, said, multioutput="variance_weighted")
    true = (score(truth, before), score(truth, after))
    said = tuple(model.scores_)
    # A row that lies on the threshold may fall on either side of it.
    floor = 1.01 / len(fit.X) if kind in ("classifier", "detector") else 1e-5
    floor = floor if fit.problem.dtype == "float64" or kind in ("classifier", "detector") else 1e-2
    fit.equal("scores_ are those of original and result", said, true, tolerance=1e-5, floor=floor)


def _left_out_scores_of_compression(fit):
    """Where a size was searched for: originals and machines of this size, made again without each fifth of the rows."""
    from preimage.estimators.compressed._trials import FOLDS, _folds

    model, X = fit.model, fit.rows()
    if model.left_out_scores_ is None:
        said = (model.left_out_standard_error_ is None, model.is_retrained_)
        fit.equal("nothing is said of rows that were not left out", said, (True, False))
    if not model.is_retrained_:
        return
    y = np.asarray(fit.y)
    folds = _folds(len(y), y, np.random.default_rng(model.random_state))
    before, after = np.empty_like(y), np.empty_like(y)
    for number in range(FOLDS):
        kept, left = folds != number, folds == number
        original = _silently(clone(model.estimator).fit, X[kept], y[kept])
        small = _silently(clone(model).set_params(n_points=model.n_points_).fit, X[kept], y[kept])
        before[left], after[left] = array(original.predict(X[left])), array(small.predict(X[left]))
    right = np.array([before == y, after == y], dtype=float)
    floor = 1.01 / len(y)
    fit.equal("left_out_scores_ are those of refits", model.left_out_scores_, tuple(right.mean(axis=1)), floor=floor)
    error = np.std(right[0] - right[1], ddof=1) / np.sqrt(len(y))
    fit.equal("left_out_standard_error_ is that of the drop", model.left_out_standard_error_, error, floor=floor)


# Searches -------------------------------------------------------------------------------------------------------------


def cross_validated_scores_are_refits(fit):
    from sklearn.model_selection import cross_val_score

    from preimage import KernelFisherDiscriminant

    search = fit.model
    results = search.cv_results_
    fit.equal("best_score_ is the best mean score", search.best_score_, np.max(results["mean_test_score"]))
    fit.equal("best_score_ is that of best_index_", search.best_score_, results["mean_test_score"][search.best_index_])
    fit.holds("best_params_ are those of best_index_", results["params"][search.best_index_] == search.best_params_)
    common = {name: getattr(search, name) for name in ("kernel", "degree", "coef0", "landmarks", "random_state")}
    if search.landmarks is not None:
        return  # landmarks are chosen once, on all rows
    for number in range(0, len(results["params"]), max(1, len(results["params"]) // 3)):
        model = KernelFisherDiscriminant(**results["params"][number], **common)
        scores = _silently(cross_val_score, model, fit.rows(), fit.y, cv=search.cv)
        said = [results[f"split{fold}_test_score"][number] for fold in range(len(scores))]
        undecided = [_on_the_threshold(model, fit, *split) for split in search.cv]
        fit.equal("split scores are those of refits", said, scores, floor=np.asarray(undecided) + 1e-12)
        fit.equal("mean_test_score is the mean", results["mean_test_score"][number], np.mean(said), tolerance=1e-9)


def _on_the_threshold(model, fit, train, test):
    """The fraction of held-out rows whose decisions are rounding errors, as where a narrow kernel vanishes."""
    X, y = fit.problem.X, np.asarray(fit.y)
    decisions = array(_silently(clone(model).fit, X[train], y[train]).decision_function(X[test]))
    margins = np.abs(decisions) if decisions.ndim == 1 else np.sort(decisions, axis=1)[:, -2:] @ [-1.0, 1.0]
    return float(np.mean(margins < 1e3 * np.finfo(X.dtype).eps * max(1.0, np.abs(decisions).max())))


def best_is_the_best_of_the_results(fit):
    search = fit.model
    errors = np.asarray(search.cv_results_["error"])
    fit.equal("best_error_ is the smallest error", search.best_error_, errors.min())
    fit.equal("best_error_ is that of best_index_", search.best_error_, errors[search.best_index_])
    fit.equal("best_score_ = -best_error_", search.best_score_, -search.best_error_)
    for name, value in search.best_params_.items():
        fit.equal("best_params_ are those of best_index_", search.cv_results_[name][search.best_index_], value)
    model = search.best_estimator_
    fit.equal("best_estimator_ has the best width", model.gamma_, search.best_params_["gamma"])


def imputation_scores_are_consistent(fit):
    search, results = fit.model, fit.model.cv_results_
    scores, ranks = np.asarray(results["mean_test_score"]), np.asarray(results["rank_test_score"])
    best = int(np.argmin(ranks))
    fit.equal("best_score_ is that of the first rank", search.best_score_, scores[best])
    fit.holds("best_params_ are those of the first rank", results["params"][best] == search.best_params_)
    entries = np.asarray(results["n_entries"])
    judged = entries == entries.max()
    fit.equal("best_score_ is the best of the last comparison", search.best_score_, scores[judged].max())
    fit.equal("n_iter_ is that of best_estimator_", search.n_iter_, search.best_estimator_.n_iter_)


def class_means_curves(fit):
    """Distances of class means, without pairs of a point with itself, at each width."""
    search, y = fit.model, np.asarray(fit.y)
    classes = search.classes_
    X, c = fit.X.astype(LONG), len(classes)
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    for number in range(0, len(search.gammas_), max(1, len(search.gammas_) // 4)):
        K = np.exp(-LONG(search.gammas_[number]) * squared)
        if search.unbiased:
            K = K - np.diag(np.diag(K))
        G = np.zeros((c, c))
        for i in range(c):
            for j in range(c):
                block, m, n = (
                    K[np.ix_(y == classes[i], y == classes[j])],
                    (y == classes[i]).sum(),
                    (y == classes[j]).sum(),
                )
                pairs = m * (m - 1) if i == j and search.unbiased else m * n
                G[i, j] = block.sum() / pairs
        distances = np.array([G[i, i] + G[j, j] - 2 * G[i, j] for i in range(c) for j in range(i)])
        distances = np.sqrt(np.maximum(distances, 0))
        for name, reduce in {"mean": np.mean, "median": np.median, "min": np.min, "max": np.max}.items():
            said = np.asarray(search.criteria_[f"{name}_distance"])[number]
            fit.equal(f"criteria_['{name}_distance'] is that of the class means", said, reduce(distances), floor=1e-5)
    best = float(np.asarray(search.criteria_[search.criterion])[search.best_index_])
    fit.equal("best_score_ is the criterion at best_index_", search.best_score_, best)


# Imputers -------------------------------------------------------------------------------------------------------------


def imputer_variances_are_those_of_rows(fit):
    """Of the filled rows that the subspace was fitted to, along its axes."""
    model, rows = fit.model, fit.filled
    scaled = (rows - array(model.center_)) / array(model.scale_)
    Y = array(model.subspace_.coordinates(scaled.astype(fit.problem.dtype)))
    # Filled entries come back within rounding of their units only, and at a stage of the descent.
    tolerance = fit.tolerance if fit.complete else max(1e-3, fit.tolerance)
    floor = 1e-9 * Y.var(axis=0).max() if Y.size else 0.0
    fit.equal(
        "explained_variance_ is that of the rows", array(model.explained_variance_), Y.var(axis=0), tolerance, floor
    )


def rounds_lower_the_objective(fit):
    model = fit.model
    path = np.asarray(model.objective_path_)
    if path.size:
        rises = np.diff(path)
        rounding = 1e-9 if fit.problem.dtype == "float64" else 1e-3
        fit.at_most("objective_path_ never rises", rises, rounding * (1 + np.abs(path[:-1])))
        fit.equal("n_iter_ counts the fits", model.n_iter_, len(path))
    from preimage.exceptions import ConvergenceWarning

    fit.holds(
        "as many rounds as max_iter only with a ConvergenceWarning, or converged in the last",
        model.n_iter_ <= model.max_iter + 1,
    )
    fit.holds(
        "a ConvergenceWarning only at the limit",
        not fit.warned(ConvergenceWarning) or model.n_iter_ == model.max_iter + 1,
    )


def known_entries_stay(fit):
    given, filled = fit.given, fit.filled
    known = ~np.isnan(given)
    fit.holds("no NaN comes out", bool(np.isfinite(filled).all()))
    fit.holds("known entries are unchanged", bool(np.array_equal(filled[known], given[known])))


# Left-out values ------------------------------------------------------------------------------------------------------


def inflation_is_that_of_refits(fit):
    """Deviation of training decisions over that of decisions of models that have not seen the row or its copies.

    Left-out decisions are counted from the mean decision of their model, which moves away from the class left out.
    """
    model, X, y = fit.model, fit.rows(), np.asarray(fit.y)
    inner = clone(model.estimator).set_params(tol=1e-8)
    training = model.estimator_.decision_function(X)
    left_out = training - training.mean()
    _, copies = np.unique(X, axis=0, return_inverse=True)
    for group in np.unique(copies):
        inside = copies.ravel() == group
        if len(np.unique(y[~inside])) == 2:
            decisions = clone(inner).fit(X[~inside], y[~inside]).decision_function(X)
            left_out[inside] = decisions[inside] - decisions.mean()
    # libsvm stops at a tolerance of 1e-3; decisions that vary less than ten times that are its choice.
    if min(left_out.std(), training.std()) > 1e-2:
        fit.equal("inflation_ is that of refits", model.inflation_, [training.std() / left_out.std()], tolerance=2e-2)


# Pre-images -----------------------------------------------------------------------------------------------------------


def converged_preimages_are_stationary(fit):
    """The gradient of ‖φ(z) − Ψ‖², by differences of kernel values in extended precision, at points that converged."""
    model = fit.model
    count = min(8, len(fit.X))
    Y = fit.features[:count].astype(fit.problem.dtype)
    result = _silently(model.find_preimages, Y)
    Z, space = array(result.points), model.subspace_
    frame = space.frame
    points, A = array(frame.points), array(frame.coefficients).astype(LONG)
    coefficients = A @ fit.features[:count].T.astype(LONG)
    if space.origin is not None:
        origin = array(space.origin.coefficients).astype(LONG)
        coefficients = coefficients + origin
    K = fit.values(points, points)
    size = np.sqrt(((fit.X - fit.X.mean(axis=0)) ** 2).sum(axis=1).mean()) or 1.0
    reasons = [str(each) for each in result.reason]
    for row in np.flatnonzero(np.asarray(result.converged)):
        if "stopping rule" not in reasons[row]:
            continue
        c = coefficients[:, row]
        length = c @ K @ c

        def distance(z, c=c, length=length):
            z = z[None]
            return float(fit.values(z, z)[0, 0] - 2 * (fit.values(z, points) @ c)[0] + length)

        true = distance(Z[row].astype(LONG))
        scale = float(np.abs(c).sum()) + 1.0
        # Kernel values have the rounding errors of squared distances, times γ.
        extent = float(((fit.X - np.median(fit.X, axis=0)) ** 2).sum(axis=1).max())
        rounding = 1000 * np.finfo(fit.problem.dtype).eps * (1 + fit.problem.gamma * extent)
        # The last step is too short to evaluate the objective again.
        fit.equal(
            "objective of a pre-image is its squared distance",
            array(result.objective)[row],
            true,
            max(1e-4, fit.tolerance),
            rounding * scale,
        )
        step = LONG(1e-6 * size)
        gradient, terms = np.zeros(Z.shape[1]), 0.0
        for j in range(Z.shape[1]):
            ahead, behind = Z[row].astype(LONG), Z[row].astype(LONG)
            ahead[j], behind[j] = ahead[j] + step, behind[j] - step
            slopes = (fit.values(ahead[None], points) - fit.values(behind[None], points))[0] / (2 * step)
            own = (fit.values(ahead[None], ahead[None]) - fit.values(behind[None], behind[None]))[0, 0] / (2 * step)
            gradient[j] = float(own - 2 * slopes @ c)
            terms += float(np.abs(own) + 2 * np.abs(slopes) @ np.abs(c))
        # Terms that cancel; or, where all of them vanish, the slope that a Gaussian of this width and length has.
        relative, absolute = (1e-3, 1e-6) if fit.problem.dtype == "float64" else (5e-2, 1e-3)
        allowed = relative * terms + absolute * scale * np.sqrt(fit.problem.gamma)
        fit.at_most("the gradient vanishes where a search converged", np.abs(gradient).max(), allowed)
