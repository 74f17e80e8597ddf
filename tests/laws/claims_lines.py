"""One line per estimator: how it is made, the routes by which it can be fitted, and the claims that it makes."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import claims_of_features as features
import claims_of_predictions as predictions
import claims_of_searches as searches
import numpy as np
from claims_problem import SELECTORS, Fitted, fit, selector
from sklearn.svm import SVC, SVR, OneClassSVM

from preimage import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
    EmpiricalKernelMap,
    FeatureSpaceNeighbors,
    FeatureSpaceNeighborsClassifier,
    FeatureSpaceNeighborsRegressor,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelImputer,
    KernelImputerCV,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    PenalizedDiscriminant,
    Renormalized,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
)
from preimage.model_selection import DenoisingSearch, WidthSearch

LANDMARKS = (*SELECTORS, "all landmarks", "all rows as landmarks")
ALL_ROUTES = ("exact", "krylov", "weights", "torch", "dask exact", *LANDMARKS, "chunks", "dask", "weighted landmarks")


@dataclass(frozen=True)
class Line:
    name: str
    make: Callable
    routes: tuple
    claims: tuple
    labels: str = "none"
    kernels: tuple = ("rbf", "rbf", "rbf", "laplacian", "poly", "linear")
    fit: Callable = fit
    without: tuple = ()

    def estimator(self, problem):
        return self.make(problem)

    def targets(self, problem):
        if self.labels == "two classes":
            return (problem.y == problem.y[0]).astype(int)
        some = np.where(np.arange(len(problem.y)) % 3, problem.y, -1)
        return {"none": None, "classes": problem.y, "values": problem.targets, "some classes": some}[self.labels]


PRINCIPAL = (
    features.variances_are_those_of_rows,
    features.means_are_zero,
    features.columns_are_uncorrelated,
    features.ratios_are_their_definition,
    features.eigenvalues_do_not_exceed_the_exact_ones,
    features.components_are_as_asked,
    features.residual_fraction_is_measured,
    features.fit_transform_is_fit_and_transform,
)

FEW_ROUTES = ("exact", "weights", "torch", *LANDMARKS, "dask", "weighted landmarks")


def chosen(problem, *choices):
    """One of the choices, by the seed, independently of other choices and of the weights."""
    return choices[np.random.default_rng([problem.seed, *repr(choices).encode()]).integers(len(choices))]


def folds(problem):
    """Three splits with examples of each class on both sides, or two."""
    from sklearn.model_selection import StratifiedKFold

    count = min(3, int(np.unique(problem.y, return_counts=True)[1].min()))
    splitter = StratifiedKFold(max(2, count), shuffle=True, random_state=problem.seed % 1000)
    return list(splitter.split(problem.X, problem.y))


def widths_around(problem):
    return [float(problem.gamma * factor) for factor in (0.1, 1.0, 10.0)]


def scaled_widths(problem):
    """For imputers, which scale columns: two decades at most, as a search needs all of its candidates."""
    return [float(10.0 ** (problem.width / 4 + shift)) for shift in (-1, 0, 1)]


def fit_with_gaps(estimator, problem, y):
    """Fit to rows with missing entries, on the route "gaps"."""
    X = problem.X.copy()
    if problem.route == "gaps":
        rng = np.random.default_rng([problem.seed, 17])
        missing = rng.random(X.shape) < 0.15
        missing[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = False  # an entry of each row is known
        missing[0] = False
        X[missing] = np.nan
    route = "exact" if problem.route == "gaps" else problem.route
    count = min(20, len(X) - 1)
    if route in SELECTORS:
        estimator.set_params(landmarks=selector(route, count))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        filled = estimator.fit_transform(X)
    fitted = Fitted(estimator, problem, np.ones(len(X)), list(given))
    fitted.given, fitted.filled, fitted.complete = X, np.asarray(filled, float), not np.isnan(X).any()
    return fitted


def svm_width(problem):
    return {"kernel": "rbf", "gamma": problem.gamma}


LINES = (
    Line(
        "KernelPCA",
        lambda p: KernelPCA(chosen(p, None, 5, 12, 40, 0.9), **p.parameters),
        ALL_ROUTES,
        (
            *PRINCIPAL,
            features.eigenvalues_are_variances,
            features.eigenvalues_are_exact,
            features.clear_components_are_kept,
            features.reconstruction_errors_are_what_is_left,
        ),
    ),
    Line(
        "KernelPCA, indefinite",
        lambda p: KernelPCA(chosen(p, None, 5, 0.9), **p.parameters),
        ("exact", "weights", "torch"),
        (
            features.moduli_are_variances,
            features.columns_are_uncorrelated,
            features.indefinite_ratios_are_their_definition,
            features.eigenvalues_are_exact,
            features.reconstruction_errors_are_what_is_left,
        ),
        kernels=("indefinite poly",),
    ),
    Line(
        "SemiSupervisedKernelPCA",
        lambda p: SemiSupervisedKernelPCA(chosen(p, 2, 4, 15), **p.parameters),
        FEW_ROUTES,
        (
            features.variances_are_those_of_rows,
            features.means_are_zero,
            features.ratios_are_their_definition,
            features.axes_are_orthonormal,
            features.multipliers_of_unsupervised,
            features.components_are_as_asked,
            features.residual_fraction_is_measured,
            features.fit_transform_is_fit_and_transform,
        ),
        labels="some classes",
    ),
    Line(
        "OrientedKernelPCA",
        lambda p: OrientedKernelPCA(chosen(p, None, 3, 10), alpha=chosen(p, 1e-3, 1e-6), **p.parameters),
        FEW_ROUTES,
        (
            features.variances_are_ratios,
            features.means_are_zero,
            features.columns_are_uncorrelated,
            features.noise_and_ridge_are_one,
            features.components_are_as_asked,
            features.fit_transform_is_fit_and_transform,
        ),
    ),
    Line(
        "SparseKernelFeatureAnalysis",
        lambda p: SparseKernelFeatureAnalysis(chosen(p, 5, 10, 30), norm=chosen(p, "l1", "l2"), **p.parameters),
        ("exact", "torch"),
        (
            features.mean_squares_are_variances,
            features.means_are_zero,
            features.scales_are_lengths,
            features.residual_fraction_attribute_is_measured,
            features.landmarks_are_rows,
            features.fit_transform_is_fit_and_transform,
        ),
    ),
    Line(
        "KernelProjectionPursuit",
        lambda p: KernelProjectionPursuit(
            chosen(p, 2, 3), n_principal=chosen(p, 3, 5), n_starts=2, order=chosen(p, 3, 4), **p.parameters
        ),
        FEW_ROUTES,
        (
            features.means_are_zero,
            features.features_are_white,
            features.columns_are_uncorrelated,
            features.contrasts_are_moments,
            features.iterations_within_limit,
            features.fit_transform_is_fit_and_transform,
        ),
    ),
    Line(
        "EmpiricalKernelMap",
        lambda p: EmpiricalKernelMap(
            whiten=chosen(p, False, True, "data"), landmarks=chosen(p, None, 10), **p.parameters
        ),
        ("exact", "torch"),
        (features.inner_products_are_kernel_values,),
    ),
    Line(
        "FeatureSpaceNeighbors",
        lambda p: FeatureSpaceNeighbors(3, exact=chosen(p, True, False), landmarks=10, **p.parameters),
        ("exact",),
        (predictions.neighbors_are_nearest,),
    ),
    Line(
        "FeatureSpaceNeighborsClassifier",
        lambda p: FeatureSpaceNeighborsClassifier(3, **p.parameters),
        ("exact",),
        (predictions.neighbors_are_nearest,),
        labels="classes",
    ),
    Line(
        "FeatureSpaceNeighborsRegressor",
        lambda p: FeatureSpaceNeighborsRegressor(3, **p.parameters),
        ("exact",),
        (predictions.neighbors_are_nearest,),
        labels="values",
    ),
    Line(
        "KernelKMeans",
        lambda p: KernelKMeans(chosen(p, 2, 3), n_init=2, **p.parameters),
        (*FEW_ROUTES, "chunks"),
        (
            predictions.distances_are_those_to_centers,
            predictions.labels_are_predicted,
            predictions.inertia_is_the_objective,
            predictions.centers_are_means_of_their_rows,
            features.iterations_within_limit,
        ),
    ),
    Line(
        "KernelNoveltyDetector",
        lambda p: KernelNoveltyDetector(ridge=chosen(p, 1e-2, 0.3), **p.parameters),
        FEW_ROUTES,
        (predictions.left_out_scores_are_refits, predictions.thresholds_have_their_fraction_below),
    ),
    Line(
        "SparseGreedyDetector",
        lambda p: SparseGreedyDetector(min(15, len(p.X)), nu=chosen(p, 0.1, 0.5), **p.parameters),
        ("exact", "torch", "weights", *SELECTORS, "dask"),
        (
            features.residual_fraction_attribute_is_measured,
            features.landmarks_are_rows,
            predictions.one_class_objective_and_fraction,
        ),
    ),
    Line(
        "SparseGreedyRegressor",
        lambda p: SparseGreedyRegressor(
            min(15, len(p.X)), alpha=chosen(p, "loo", 1e-2, [1e-3, 1.0, 10.0]), **p.parameters
        ),
        ("exact", "torch", "weights", *SELECTORS, "dask"),
        (
            features.residual_fraction_attribute_is_measured,
            features.landmarks_are_rows,
            predictions.leave_one_out_errors_are_refits,
            predictions.coefficients_minimise,
            predictions.scores_are_recomputed,
        ),
        labels="values",
    ),
    Line(
        "SparseGreedyRegressor, a stream",
        lambda p: SparseGreedyRegressor(min(15, len(p.X)), alpha=chosen(p, 1e-2, 1.0), **p.parameters),
        ("chunks",),
        (
            features.residual_fraction_attribute_is_measured,
            predictions.coefficients_minimise,
            predictions.scores_are_recomputed,
        ),
        labels="values",
    ),
    Line(
        "SparseGreedyClassifier",
        lambda p: SparseGreedyClassifier(min(15, len(p.X)), alpha=chosen(p, "loo", 1e-2), **p.parameters),
        ("exact", "torch", "weights", *SELECTORS, "dask"),
        (
            features.residual_fraction_attribute_is_measured,
            predictions.leave_one_out_errors_are_refits,
            predictions.coefficients_minimise,
            predictions.scores_are_recomputed,
        ),
        labels="classes",
    ),
    Line(
        "LinearProgrammingRegressor",
        lambda p: LinearProgrammingRegressor(min(15, len(p.X)), max_gap=chosen(p, None, 0.05), **p.parameters),
        ("exact", "weights", *SELECTORS),
        (
            features.residual_fraction_attribute_is_measured,
            predictions.objective_of_program,
            predictions.scores_are_recomputed,
        ),
        labels="values",
    ),
    Line(
        "LinearProgrammingClassifier",
        lambda p: LinearProgrammingClassifier(min(15, len(p.X)), max_gap=chosen(p, None, 0.05), **p.parameters),
        ("exact", "weights", *SELECTORS),
        (
            features.residual_fraction_attribute_is_measured,
            predictions.objective_of_program,
            predictions.scores_are_recomputed,
        ),
        labels="classes",
    ),
    Line(
        "KernelFisherDiscriminant",
        lambda p: KernelFisherDiscriminant(alpha=chosen(p, 1e-3, 1e-1), **p.parameters),
        (*FEW_ROUTES, "chunks"),
        (
            predictions.class_means_are_those_of_rows,
            predictions.fisher_ratios_are_recomputed,
            predictions.scores_are_recomputed,
        ),
        labels="classes",
    ),
    Line(
        "PenalizedDiscriminant",
        lambda p: PenalizedDiscriminant(chosen(p, 1.0, 1e-3)),
        ("exact",),
        (predictions.penalized_variates_are_scaled, predictions.scores_are_recomputed),
        labels="classes",
        kernels=("linear",),
    ),
    Line(
        "KernelPCA, pre-images",
        lambda p: KernelPCA(chosen(p, 2, 4), preimage=chosen(p, "fixed_point", "gradient"), **p.parameters),
        ("exact", "weights", "kmeans"),
        (searches.converged_preimages_are_stationary,),
        kernels=("rbf",),
    ),
    Line(
        "KernelFisherDiscriminantCV",
        lambda p: KernelFisherDiscriminantCV(gammas=widths_around(p), alphas=[1e-3, 0.1], cv=folds(p)),
        ("exact", "kmeans"),
        (searches.cross_validated_scores_are_refits,),
        labels="classes",
        kernels=("rbf",),
    ),
    Line(
        "KernelImputer",
        lambda p: KernelImputer(chosen(p, 0.99, 3, None), **p.parameters),
        ("exact", "gaps", *SELECTORS),
        (
            searches.imputer_variances_are_those_of_rows,
            searches.rounds_lower_the_objective,
            searches.known_entries_stay,
        ),
        kernels=("rbf", "rbf", "linear"),
        fit=fit_with_gaps,
    ),
    Line(
        "KernelImputerCV",
        lambda p: KernelImputerCV(gammas=scaled_widths(p), noises=[1e-4, 1e-2], cv=2),
        ("exact", "gaps"),
        (searches.imputation_scores_are_consistent,),
        kernels=("rbf",),
        without=("one column", "five rows"),
        fit=fit_with_gaps,
    ),
    Line(
        "CompressedClassifier",
        lambda p: CompressedClassifier(
            SVC(**svm_width(p)),
            chosen(p, 3, 6, 0.5, None),
            method=chosen(p, "auto", "select", "refine"),
            random_state=0,
        ),
        ("exact",),
        (searches.compression_is_as_reported, predictions.scores_are_recomputed),
        labels="classes",
        kernels=("rbf",),
    ),
    Line(
        "CompressedRegressor",
        lambda p: CompressedRegressor(
            SVR(**svm_width(p)), chosen(p, 3, 6, 0.5), method=chosen(p, "auto", "select", "construct"), random_state=0
        ),
        ("exact",),
        (searches.compression_is_as_reported, predictions.scores_are_recomputed),
        labels="values",
        kernels=("rbf",),
    ),
    Line(
        "CompressedDetector",
        lambda p: CompressedDetector(
            OneClassSVM(**svm_width(p), nu=0.3), chosen(p, 3, 6), method=chosen(p, "auto", "select"), random_state=0
        ),
        ("exact",),
        (searches.compression_is_as_reported,),
        kernels=("rbf",),
    ),
    Line(
        "CompressedTransformer",
        lambda p: CompressedTransformer(
            KernelPCA(chosen(p, 2, 3), **svm_width(p)), chosen(p, 6, 10), method=chosen(p, "auto", "select")
        ),
        ("exact",),
        (searches.compression_is_as_reported,),
        kernels=("rbf",),
    ),
    Line(
        "Renormalized",
        lambda p: Renormalized(SVC(**svm_width(p), C=chosen(p, 1.0, 10.0))),
        ("exact",),
        (searches.inflation_is_that_of_refits,),
        labels="two classes",
        kernels=("rbf",),
    ),
    Line(
        "DenoisingSearch",
        lambda p: DenoisingSearch(
            gammas=widths_around(p)[:2], n_components=[1, 2], penalties=[0.0], noise=chosen(p, None, 0.1)
        ),
        ("exact",),
        (searches.best_is_the_best_of_the_results,),
        kernels=("rbf",),
        without=("five rows",),
    ),
    Line(
        "WidthSearch",
        lambda p: WidthSearch(
            gammas=chosen(p, None, widths_around(p)), criterion=chosen(p, "enclosing_ball", "mean_distance")
        ),
        ("exact",),
        (searches.class_means_curves,),
        labels="classes",
        kernels=("rbf",),
    ),
)
