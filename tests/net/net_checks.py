"""What must hold of every estimator on every problem: against an oracle where there is one, laws otherwise."""

import numpy as np
import precise
from net_data import random_labels, random_targets
from net_kernels import exact_diagonal, exact_values
from precise import LONG
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from preimage import (
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    OrientedKernelPCA,
    PenalizedDiscriminant,
    Renormalized,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyRegressor,
    compress,
)
from preimage._engine.linalg import DETERMINED

# Eigenvalues closer than this, relative to themselves, share a plane in which axes are arbitrary.
CLOSE = 0.05
# Scatters in a frame of points are divided by small eigenvalues: coordinates are less precise than those of exact
# kernel PCA. By bytes of a number.
IN_A_FRAME = {8: 1e-5, 4: 5e-2}
# Discriminants may have ridges near rounding errors: values to this fraction of the largest spread.
FISHER = {8: 1e-2, 4: 5e-2}


class Wrong(AssertionError):
    """The library answered, and the answer is not right."""


def require(condition, message):
    if not condition:
        raise Wrong(message)


def require_finite(name, values):
    require(np.all(np.isfinite(np.asarray(values, dtype=float))), f"{name} is not finite")


def require_close(name, ours, expected, tolerance):
    require_finite(name, ours)
    error = np.max(np.abs(np.asarray(ours, LONG) - expected) - tolerance, initial=-np.inf)
    require(error <= 0, f"{name} is off by {float(error):.2e} beyond its tolerance")


class Exact:
    """The kernel of a fitted model in extended precision, and how well double precision can know its values.

    Attributes
    ----------
    K : Gram matrix of the training rows
    noise : float
        Largest error of the library's own values. It is checked to be what rounding of the inputs explains, and
        results may be off by what such an error in K does to them.
    """

    def __init__(self, kernel, X, Z):
        self.kernel, self.X, self.Z = kernel, X, Z
        self.K, self.cross = exact_values(kernel, X, X), exact_values(kernel, Z, X)
        self.eps = float(np.finfo(X.dtype).eps)
        self.is_finite = all(np.all(np.isfinite(values.astype(X.dtype))) for values in (self.K, self.cross))
        self.scale = float(np.max(np.abs(self.K)))
        self.noise = 0.0
        if self.is_finite and self.scale > 0:
            errors = [np.abs(kernel(X) - self.K), np.abs(kernel(Z, X) - self.cross)]
            self.noise = float(max(error.max() for error in errors))

    @property
    def is_comparable(self):
        """Whether values are known well enough that comparisons say something."""
        return self.is_finite and self.scale > 0 and self.noise <= np.sqrt(self.eps) * self.scale

    def check_values(self, rng):
        """Values of the library against the formulas, up to what a rounding of the inputs changes in them."""
        if not self.is_finite:
            return
        X, Z = self.X.astype(LONG), self.Z.astype(LONG)
        largest = np.max(np.abs(np.vstack([X, Z])), axis=0)
        turned = lambda P: P + 64 * LONG(self.eps) * largest * rng.choice([-1.0, 1.0], P.shape)
        if self.kernel.lowest_input is not None:
            turned = lambda P: P * (1 + 64 * LONG(self.eps) * rng.choice([-1.0, 1.0], P.shape))
        moved = max(float(np.max(np.abs(exact_values(self.kernel, turned(X), turned(X)) - self.K))) for _ in range(3))
        allowed = 16 * moved + 1e3 * self.eps * max(self.scale, float(np.max(np.abs(self.cross))))
        require(self.noise <= allowed, f"kernel values are off by {self.noise:.1e}, {allowed:.1e} is explained")


def law_of_rows(model, method, X, Z, accuracy=None, floor=0.0):
    """Rows one at a time give what all give at once, to a fraction of the spread over the training rows."""
    together, spread = np.asarray(getattr(model, method)(Z)), np.asarray(getattr(model, method)(X))
    for values in (together, spread):
        require_finite(method, values)
    alone = np.concatenate([np.asarray(getattr(model, method)(Z[i : i + 1])) for i in range(len(Z))])
    accuracy = accuracy if accuracy is not None else DETERMINED[X.dtype.itemsize]
    tolerance = accuracy * (np.maximum(spread.std(axis=0), floor) + np.abs(together))
    require_close(f"{method} of single rows", alone, together, tolerance)
    return together


def rounding_of(expansion, X):
    """Size of rounding errors of values of an expansion, hence of features that are nothing else."""
    size = np.max(np.abs(expansion.kernel(X, expansion.points)))
    return 1e2 * np.finfo(X.dtype).eps * size * np.sum(np.abs(expansion.coefficients), axis=0)


def law_of_fitting(model, X, y=None):
    """`fit_transform` is `fit` and then `transform`."""
    from sklearn.base import clone

    together = clone(model).fit_transform(X) if y is None else clone(model).fit_transform(X, y)
    apart = model.transform(X)
    require(together.shape == apart.shape, f"fit_transform has shape {together.shape}, transform {apart.shape}")
    deviations = np.std(apart, axis=0)
    size = np.maximum(deviations, np.max(np.abs(apart), axis=0, initial=0.0))
    # A single component is kept even if rounding errors show in it: the data have no other.
    accuracy = 1e-2 if apart.shape[1] == 1 else 3e-6
    require_close("fit_transform", together, apart, accuracy * size if X.dtype == np.float64 else 2e-2 * size)


def law_of_the_way_back(model, Y, X):
    """Pre-images are finite and not far outside of the data."""
    points = model.inverse_transform(Y)
    require_finite("inverse_transform", points)
    reach = 1e3 * (np.abs(X).max() + np.ptp(X, axis=0).max())
    require(np.abs(points).max(initial=0.0) <= reach, f"inverse_transform reaches {np.abs(points).max():.1e}")


def planes(values, k):
    """Slices of eigenvalues that are too close to have axes of their own; none that the cut at k divides."""
    start = 0
    while start < k:
        stop = start + 1
        while stop < len(values) and values[stop - 1] - values[stop] < CLOSE * abs(values[stop - 1]):
            stop += 1
        if stop > k:
            return
        yield slice(start, stop)
        start = stop


def compare_coordinates(exact, oracle, ours_train, ours):
    """Coordinates of queries against kernel PCA in extended precision, axes turned within shared planes."""
    k, values = ours.shape[1], oracle.values
    accuracy = DETERMINED[exact.X.dtype.itemsize]
    train, new = oracle.coordinates(exact.X, k), oracle.coordinates(exact.Z, k)
    for plane in planes(values, k):
        lengths = np.sqrt(values[plane])
        mine, theirs = ((values[:, plane] / lengths).astype(float) for values in (ours_train, train))
        U, _, Vt = np.linalg.svd(theirs.T @ mine)
        expected = new[:, plane] @ (U @ Vt)
        deviations = np.sqrt(values[plane] / len(exact.X)).min()
        # An error of size `noise` in K turns an axis by noise · n / gap, and moves coordinates along it by that.
        gaps = [values[plane.start - 1] - values[plane.start]] if plane.start else []
        gaps += [values[plane.stop - 1] - values[plane.stop]] if plane.stop < len(values) else []
        gap = min([*gaps, values[plane.start]])
        turn = 10 * exact.noise * len(exact.X) * (1 / gap + 1 / values[plane.stop - 1])
        size = np.sqrt(np.max(np.sum(new[:, :] ** 2, axis=1)))
        tolerance = accuracy * (deviations + np.abs(expected)) + turn * (size + np.sqrt(values[0]))
        require_close(f"coordinates {plane.start}–{plane.stop - 1} of {k}", ours[:, plane], expected, tolerance)


def is_semidefinite(values):
    return float(values[-1]) >= -1e-13 * float(values[0])


def check_kernel_pca(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    n_components = [None, None, 1, 3, 0.9][rng.integers(5)]
    solver = ["auto", "auto", "dense", "block_krylov"][rng.integers(4)]
    model = KernelPCA(n_components, kernel=problem.kernel, eigen_solver=solver).fit(X)
    # A single component is kept even if rounding errors show in it: the data have no other.
    accuracy = 3 * DETERMINED[X.dtype.itemsize] if model.n_components_ > 1 else 1e-2
    ours_train, ours = model.transform(X), law_of_rows(model, "transform", X, Z, accuracy)
    require_finite("transform of the training rows", ours_train)
    law_of_fitting(model, X)
    require_finite("reconstruction_error", model.reconstruction_error(Z))
    law_of_the_way_back(model, ours, X)
    exact = Exact(model.kernel_, X, Z)
    exact.check_values(rng)
    if not exact.is_comparable:
        return "laws"
    oracle = precise.KernelPCA(lambda A, B: exact_values(model.kernel_, A, B), X)
    if not is_semidefinite(oracle.values):
        return "laws"
    k = model.n_components_
    tolerance = 10 * len(X) * (exact.noise + 4 * exact.eps * exact.scale)
    require_close("eigenvalues_", model.eigenvalues_, oracle.values[:k], tolerance + 1e-6 * oracle.values[:k])
    compare_coordinates(exact, oracle, ours_train, ours)
    own = exact_diagonal(model.kernel_, Z.astype(LONG))
    # An indefinite kernel has negative ones; where no such component is kept they are reported as zero.
    residual = np.maximum(oracle.residual(Z, k), 0)
    size = np.max(np.abs(own)) + np.abs(oracle.grand) + np.max(np.abs(exact.cross))
    allowed = 1e-5 * size + tolerance if X.dtype == np.float64 else np.inf
    if n_components is None and allowed < np.inf:
        require_close("reconstruction_error", model.reconstruction_error(Z), residual, allowed)
    return "oracle"


def check_landmark_kernel_pca(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    m = int(rng.integers(1, len(X) + 1))
    landmarks = m if rng.random() < 0.5 else str(rng.choice(["uniform", "kmeans", "rpcholesky", "sparse_greedy"]))
    model = KernelPCA([None, 2][rng.integers(2)], kernel=problem.kernel, landmarks=landmarks)
    if rng.random() < 0.3 and len(X) > 5:
        model.partial_fit(X[: len(X) // 2]).partial_fit(X[len(X) // 2 :])
    else:
        model.fit(X)
    floor = 1e-6 * model.transform(X).std(axis=0).max()
    ours = law_of_rows(model, "transform", X, Z, IN_A_FRAME[X.dtype.itemsize], floor)
    require_finite("reconstruction_error", model.reconstruction_error(Z))
    law_of_the_way_back(model, ours, X)
    exact = Exact(model.kernel_, X, Z)
    if not exact.is_comparable:
        return "laws"
    oracle = precise.KernelPCA(lambda A, B: exact_values(model.kernel_, A, B), X)
    if not is_semidefinite(oracle.values):
        return "laws"
    # Variance along axes of a subspace interlaces with that along the principal ones.
    k = model.n_components_
    most = oracle.values[:k] + (1e-6 if X.dtype == np.float64 else 1e-2) * oracle.values[0] + 10 * len(X) * exact.noise
    require(np.all(model.eigenvalues_ <= most), "eigenvalues_ exceed those of exact kernel PCA")
    return "oracle"


def check_oriented(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    alpha = float(10.0 ** rng.uniform(-4, 1))
    landmarks = None if rng.random() < 0.7 else int(rng.integers(1, len(X) + 1))
    model = OrientedKernelPCA([None, 2][rng.integers(2)], kernel=problem.kernel, alpha=alpha, landmarks=landmarks)
    pairs = None if rng.random() < 0.6 else (X * (1 + 0.01 * rng.random(X.shape))).astype(X.dtype)
    model.fit(X) if pairs is None else model.fit(X, pairs=pairs)
    spread = model.transform(X).std(axis=0).max()
    if spread > np.max(
        rounding_of(model.expansion_, X)
    ):  # else the kernel cannot tell the rows apart in this precision
        law_of_rows(model, "transform", X, Z, IN_A_FRAME[X.dtype.itemsize], floor=spread)
    require_finite("ratios_", model.ratios_)
    exact = Exact(model.kernel_, X, Z)
    if pairs is not None or landmarks is not None or not exact.is_comparable:
        return "laws"
    oracle = precise.KernelPCA(lambda A, B: exact_values(model.kernel_, A, B), X)
    if not is_semidefinite(oracle.values):
        return "laws"
    expected = oracle.values[: model.n_components_] / len(X) / alpha
    tolerance = 10 * (exact.noise + 1e5 * exact.eps * exact.scale) / alpha
    require_close("ratios_", model.ratios_, expected, (1e-5 if X.dtype == np.float64 else 1e-2) * expected + tolerance)
    return "oracle"


def check_semi_supervised(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    y = np.where(rng.random(len(X)) < 0.5, -1, random_labels(rng, X))
    unlabelled = rng.random() < 0.4
    if unlabelled:
        y[:] = -1
    model = SemiSupervisedKernelPCA(2, kernel=problem.kernel).fit(X, y)
    law_of_rows(model, "transform", X, Z, IN_A_FRAME[X.dtype.itemsize], floor=model.transform(X).std(axis=0).max())
    law_of_fitting(model, X, y)
    exact = Exact(model.kernel_, X, Z)
    if not unlabelled or not exact.is_comparable:
        return "laws"
    oracle = precise.KernelPCA(lambda A, B: exact_values(model.kernel_, A, B), X)
    if not is_semidefinite(oracle.values):
        return "laws"
    expected = oracle.values[: model.n_components_] / len(X)
    tolerance = 10 * (exact.noise + 1e5 * exact.eps * exact.scale)
    require_close("explained_variance_", model.explained_variance_, expected, 1e-4 * expected + tolerance)
    return "oracle"


def check_fisher(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    y = random_labels(rng, X)
    alpha = float(10.0 ** rng.uniform(-8, 1)) if rng.random() < 0.8 else 0.0
    landmarks = None if rng.random() < 0.6 else int(rng.integers(1, len(X) + 1))
    model = KernelFisherDiscriminant(kernel=problem.kernel, alpha=alpha, landmarks=landmarks).fit(X, y)
    spread = model.transform(X).std(axis=0)
    expansion = getattr(model, "best_estimator_", model).expansion_
    if np.all(spread > rounding_of(expansion, X)):  # else no direction tells the rows apart
        law_of_rows(model, "transform", X, Z, FISHER[X.dtype.itemsize], floor=spread.max())
    require_finite("decision_function", model.decision_function(Z))
    require(np.isin(model.predict(Z), y).all(), "predict names a class that is none")
    exact = Exact(model.kernel_, X, Z)
    if landmarks is not None or alpha < 1e-6 or X.dtype != np.float64 or not exact.is_comparable:
        return "laws"
    best, ours = _fisher_ratios(model, exact, y, alpha)
    if best is None or best < 1e-10:  # class means are the same up to rounding
        return "laws"
    require(ours >= best * (1 - 1e-3), f"the first direction has the ratio {ours:.6g}, {best:.6g} is possible")
    return "oracle"


def _fisher_ratios(model, exact, y, alpha):
    """The largest J, and J of the first direction, with μ a share of the variance in feature space; in coordinates."""
    values, U = precise.eigh(exact.K)
    if not is_semidefinite(values) or exact.noise > 1e-12 * exact.scale:
        return None, None
    kept = values > 1e-15 * values[0]
    F = U[:, kept] * np.sqrt(values[kept])  # coordinates of the rows
    centered = F - F.mean(axis=0)
    if np.sum(centered**2) < 1e-12 * np.sum(F**2):  # the kernel cannot tell the rows apart
        return None, None
    mu = alpha * np.sum(centered**2) / len(F)
    codes = np.unique(y, return_inverse=True)[1]
    means = np.stack([F[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    apart, about = F - means[codes], means[codes] - F.mean(axis=0)
    within, between = apart.T @ apart, about.T @ about
    inner, V = precise.eigh(within + mu * np.eye(F.shape[1], dtype=LONG))
    root = V / np.sqrt(inner)
    best = float(precise.eigh(root.T @ between @ root)[0][0])
    w = np.asarray(model.expansion_.coefficients, LONG)[:, 0]
    g = F.T @ w
    return best, float(g @ between @ g / (g @ within @ g + mu * (g @ g)))


def check_fisher_cv(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    y = random_labels(rng, X)
    landmarks = None if rng.random() < 0.6 else int(rng.integers(1, len(X) + 1))
    model = KernelFisherDiscriminantCV(
        kernel=problem.kernel,
        alphas=[1e-6, 1e-3, 1.0],
        landmarks=landmarks,
        cv="loo" if landmarks is None and rng.random() < 0.5 else 2,
    ).fit(X, y)
    require_finite("best_score_", model.best_score_)
    spread = model.transform(X).std(axis=0)
    expansion = getattr(model, "best_estimator_", model).expansion_
    if np.all(spread > rounding_of(expansion, X)):  # else no direction tells the rows apart
        law_of_rows(model, "transform", X, Z, FISHER[X.dtype.itemsize], floor=spread.max())
    require(np.isin(model.predict(Z), y).all(), "predict names a class that is none")
    return "laws"


def check_penalized(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    y = random_labels(rng, X)
    model = PenalizedDiscriminant(float(10.0 ** rng.uniform(-6, 3))).fit(X, y)
    law_of_rows(model, "transform", X, Z)
    require(np.isin(model.predict(Z), y).all(), "predict names a class that is none")
    return "laws"


def check_kernel_kmeans(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    clusters = int(rng.integers(1, min(5, len(X)) + 1))
    landmarks = None if rng.random() < 0.6 else int(rng.integers(1, len(X) + 1))
    model = KernelKMeans(clusters, kernel=problem.kernel, landmarks=landmarks, n_init=2).fit(X)
    require_finite("inertia_", model.inertia_)
    distances = model.transform(Z)
    require_finite("transform", distances)
    _, first = np.unique(X, axis=0, return_inverse=True)
    for group in np.unique(first):
        require(len(set(model.labels_[first.ravel() == group])) == 1, "equal rows are in different clusters")
    exact = Exact(model.kernel_, X, Z)
    if landmarks is not None or not exact.is_comparable:
        return "laws"
    if not is_semidefinite(precise.eigh(exact.K)[0]):
        return "laws"
    inertia, diagonal = LONG(0), np.diag(exact.K)
    for label in np.unique(model.labels_):
        rows = model.labels_ == label
        inertia += diagonal[rows].sum() - exact.K[np.ix_(rows, rows)].sum() / rows.sum()
    tolerance = 10 * len(X) * (exact.noise + 1e2 * exact.eps * exact.scale)
    require_close("inertia_", model.inertia_, inertia, tolerance + 1e-5 * abs(inertia))
    gap = np.abs(np.sort(model.transform(X), axis=1)[:, :2] @ [1.0, -1.0]) if clusters > 1 else np.ones(len(X))
    sure = gap > 1e-3 * np.sqrt(exact.scale) + 10 * np.sqrt(tolerance)
    require(np.array_equal(model.predict(X)[sure], model.labels_[sure]), "predict differs from labels_")
    return "oracle"


def check_sparse_greedy(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    y = random_targets(rng, X)
    m, alpha = int(rng.integers(1, len(X) + 1)), float(10.0 ** rng.uniform(-4, 2))
    if rng.random() < 0.3:
        labels = random_labels(rng, X)
        model = SparseGreedyClassifier(m, kernel=problem.kernel, alpha=alpha).fit(X, labels)
        require_finite("decision_function", model.decision_function(Z))
        require(np.isin(model.predict(Z), labels).all(), "predict names a class that is none")
        return "laws"
    model = SparseGreedyRegressor(m, kernel=problem.kernel, alpha=alpha if rng.random() < 0.7 else "loo").fit(X, y)
    law_of_rows(model, "predict", X, Z, 5e-3 if X.dtype == np.float64 else 0.1)
    exact = Exact(model.kernel_, X, Z)
    if X.dtype != np.float64 or not exact.is_comparable or exact.noise > 1e-11 * exact.scale:
        return "laws"
    points = model.landmarks_.points
    W, C = exact_values(model.kernel_, points, points), exact_values(model.kernel_, X, points)
    values, U = precise.eigh(W)
    if not is_semidefinite(values):
        return "laws"
    kept = values > 1e-10 * values[0]
    F = C @ (U[:, kept] / np.sqrt(values[kept]))
    # Ridge regression in orthonormal coordinates with a free mean: the smallest value of the objective of the model.
    F, t = F - F.mean(axis=0), y - y.mean()
    if np.sum(F * F) < 1e-12 * np.sum(np.diag(exact.K)):  # the kernel cannot tell the rows apart
        require_close("predict", model.predict(X), y.mean() + 0 * y, 2 * np.ptp(y) + 1e-6 * np.abs(y).max())
        return "laws"
    inner, V = precise.eigh(F.T @ F + LONG(model.alpha_) * np.eye(F.shape[1], dtype=LONG))
    g = V @ (V.T @ (F.T @ t) / inner)
    best = float(np.sum((t - F @ g) ** 2) + model.alpha_ * (g @ g))
    a = np.asarray(model.expansion_.coefficients, LONG)
    ours = float(np.sum((y - model.predict(X)) ** 2) + model.alpha_ * (a[:, 0] @ W @ a[:, 0]))
    require(ours <= best * (1 + 1e-3) + 1e-8 * float(t @ t), f"objective {ours:.6g}, {best:.6g} is possible")
    return "oracle"


def check_empirical_map(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    whiten = bool(rng.random() < 0.6)
    model = EmpiricalKernelMap(problem.kernel, whiten=whiten).fit(X)
    law_of_fitting(model, X)
    features = law_of_rows(model, "transform", X, Z)
    exact = Exact(model.kernel_, X, Z)
    exact.check_values(rng)
    if not exact.is_comparable:
        return "laws"
    if not whiten:
        require_close("transform", features, exact.cross, exact.noise)
        return "oracle"
    values, U = precise.eigh(exact.K)
    positive = (U * np.maximum(values, 0)) @ U.T
    F = model.transform(X).astype(LONG)
    tolerance = len(X) * (1e3 * exact.noise + 4 * exact.eps ** (2 / 3) * exact.scale)
    require_close("inner products of whitened features", F @ F.T, positive, tolerance)
    return "oracle"


def check_renormalized(problem):
    rng, X, Z = problem.rng, problem.X, problem.Z
    y = random_labels(rng, X) > 0
    if rng.random() < 0.5:
        model = Renormalized(KernelPCA(2, kernel=problem.kernel)).fit(X, y)
        require_finite("transform", model.transform(Z))
    else:
        model = Renormalized(SVC(kernel="rbf")).fit(X, y)
        require_finite("decision_function", model.decision_function(Z))
    return "laws"


def check_compress(problem):
    rng, X, Z = problem.rng, problem.X.astype(float), problem.Z.astype(float)
    y = random_targets(rng, X)
    models = [
        lambda: SVR(C=np.abs(y).max()).fit(X, y),
        lambda: KernelRidge(kernel="rbf", alpha=0.1).fit(X, y),
        lambda: SVC(gamma="scale").fit(X, y > np.median(y)),
        lambda: KernelPCA(2, kernel=problem.kernel).fit(problem.X),
    ]
    model = models[rng.integers(len(models))]()
    points = int(rng.integers(1, len(X) + 1))
    given = (problem.X, problem.Z) if isinstance(model, KernelPCA) else (X, Z)
    small = compress(model, points, X=given[0])
    method = "transform" if isinstance(model, KernelPCA) else "predict"
    ours, theirs = getattr(small, method)(given[1]), getattr(model, method)(given[1])
    if ours.dtype.kind != "f":
        return "laws"
    require_finite(method, ours)
    indefinite = isinstance(model, KernelPCA) and not model.kernel_.is_positive_semidefinite
    constant = np.std(getattr(model, method)(given[0])) < 1e-6 * np.max(np.abs(theirs))
    require(
        indefinite or constant or small.scores_[1] >= -0.1,
        f"worse than a constant: {small.scores_[1]:.3g} of the variance",
    )
    if points < small.n_original_points_:
        return "laws"
    size = np.max(np.abs(theirs)) + np.std(getattr(model, method)(given[0]))
    require_close(f"{method} on all points", ours, theirs, (1e-5 if given[0].dtype == np.float64 else 2e-2) * size)
    return "oracle"


CHECKS = {
    "KernelPCA": check_kernel_pca,
    "KernelPCA with landmarks": check_landmark_kernel_pca,
    "OrientedKernelPCA": check_oriented,
    "SemiSupervisedKernelPCA": check_semi_supervised,
    "KernelFisherDiscriminant": check_fisher,
    "KernelFisherDiscriminantCV": check_fisher_cv,
    "PenalizedDiscriminant": check_penalized,
    "KernelKMeans": check_kernel_kmeans,
    "SparseGreedy": check_sparse_greedy,
    "EmpiricalKernelMap": check_empirical_map,
    "Renormalized": check_renormalized,
    "compress": check_compress,
}
