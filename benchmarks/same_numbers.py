"""Does a change leave the numbers of public calls as they were?

Fits every estimator on every route, and calls kernels, solvers, selectors, reducers, eigensolvers, functions and
commands of the library on fixed data. A first run writes all arrays to a file; a run on the changed tree compares with
it. To observe: how many arrays differ by more than 1e-9 of their largest entry, and which; names that are missing.

    python benchmarks/same_numbers.py --write before.npz
    python benchmarks/same_numbers.py --compare before.npz
    python benchmarks/same_numbers.py --compare before.npz --only solvers cli
"""

import argparse
import contextlib
import io
import sys
import tempfile
import time
import traceback
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import preimage
from preimage import (
    EmpiricalKernelMap,
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
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
    compress,
    inflation_report,
)
from preimage.kernels import (
    AdditiveChi2,
    Chi2,
    Cosine,
    Exponential,
    FreeWidthGaussian,
    Gaussian,
    InverseMultiquadric,
    Iterated,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    Multiquadric,
    Normalized,
    Patches,
    Polynomial,
    RationalQuadratic,
    ScaledInputs,
    Sigmoid,
)

TOLERANCE = 1e-9
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS, SPECIES = IRIS[::2], SPECIES[::2]
WINE, CULTIVAR = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)
DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS, DIGIT = DIGITS[:150] / 16, DIGIT[:150]
MOONS, MOON = make_moons(120, noise=0.1, random_state=0)
RNG = np.random.default_rng(0)
NEW = IRIS[:7] + 0.05 * RNG.normal(size=(7, 4))
GAPS = np.where(RNG.uniform(size=IRIS.shape) < 0.15, np.nan, IRIS)
METHODS = ("transform", "predict", "decision_function", "predict_proba", "score_samples", "denoise", "impute")


def find(name, *rooms):
    """A public name that may have moved between rooms."""
    for room in rooms:
        with contextlib.suppress(ImportError, AttributeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(import_module(f"preimage.{room}" if room else "preimage"), name)
    raise LookupError(f"{name} is in none of {rooms}")


def numbers(name, value, depth=0):
    """Arrays in a result: its own, or those of its parts and public fields."""
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        yield name, np.asarray(value, dtype=float)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield name, value.astype(float)
    elif hasattr(value, "toarray"):
        yield name, value.toarray().astype(float)
    elif isinstance(value, (tuple, list)) and depth < 3:
        for i, part in enumerate(value):
            yield from numbers(f"{name}[{i}]", part, depth + 1)
    elif isinstance(value, dict) and depth < 3:
        for key, part in value.items():
            yield from numbers(f"{name}[{key}]", part, depth + 1)
    elif hasattr(value, "__dataclass_fields__") and depth < 2:
        for field in value.__dataclass_fields__:
            if not field.startswith("_") and "time" not in field:
                yield from numbers(f"{name}.{field}", getattr(value, field), depth + 1)


def of_model(model, rows):
    """Everything that a fitted model says: attributes, and answers for one row, several and all."""
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and "time" not in name:
            yield from numbers(name, value)
    for method in METHODS:
        if hasattr(model, method):
            for some in (rows[:1], rows):
                yield from numbers(f"{method}({len(some)})", getattr(model, method)(some))
    if hasattr(model, "inverse_transform") and hasattr(model, "transform"):
        yield from numbers("inverse_transform", model.inverse_transform(model.transform(rows)))
    for method in ("component_preimages", "component_images", "cluster_preimages"):
        if hasattr(model, method):
            yield from numbers(method, getattr(model, method)())
    if hasattr(model, "navigate"):
        yield from numbers("navigate", model.navigate(rows[:1], rows[1:2], steps=4))
    if hasattr(model, "reconstruction_error"):
        yield from numbers("reconstruction_error", model.reconstruction_error(rows))


def landmarks_of(cls):
    """`EmpiricalKernelMap` has called its landmarks points."""
    return "landmarks" if "landmarks" in cls().get_params() else "points"


def estimators():
    two = SPECIES > 0
    search, width = find("DenoisingSearch", "model_selection"), find("WidthSearch", "model_selection")
    some = landmarks_of(EmpiricalKernelMap)
    models = {
        "exact": lambda: KernelPCA(4, gamma=0.3).fit(IRIS),
        "all components": lambda: KernelPCA(gamma=0.3).fit(IRIS),
        "fraction": lambda: KernelPCA(0.9, gamma="median").fit(IRIS),
        "weights": lambda: KernelPCA(3, gamma=0.3).fit(IRIS, sample_weight=1.0 + (np.arange(len(IRIS)) % 3)),
        "uncentred": lambda: KernelPCA(3, gamma=0.3, center=False).fit(IRIS),
        "krylov": lambda: KernelPCA(3, gamma=0.3, eigen_solver="block_krylov").fit(IRIS),
        "arpack": lambda: KernelPCA(3, gamma=0.3, eigen_solver="arpack").fit(IRIS),
        "float32": lambda: KernelPCA(2, gamma=0.3).fit(IRIS.astype("float32")),
        "poly": lambda: KernelPCA(3, kernel="poly", degree=2, gamma=0.1).fit(IRIS),
        "linear": lambda: KernelPCA(2, kernel="linear").fit(IRIS),
        "cosine": lambda: KernelPCA(2, kernel="cosine").fit(IRIS),
        "laplacian": lambda: KernelPCA(3, kernel="laplacian", gamma=0.2).fit(IRIS),
        "sigmoid": lambda: KernelPCA(3, kernel="sigmoid", gamma=0.01).fit(IRIS),
        "function": lambda: KernelPCA(2, kernel=lambda x, y: (1 + x @ y) ** 2).fit(IRIS[:30]),
        "sum": lambda: KernelPCA(3, kernel=Gaussian(0.5) + 0.1 * Linear()).fit(IRIS),
        "landmarks": lambda: KernelPCA(3, gamma=0.3, landmarks=20).fit(IRIS),
        "greedy": lambda: KernelPCA(3, gamma=0.3, landmarks="sparse_greedy").fit(IRIS),
        "stream": lambda: KernelPCA(3, gamma=0.3, landmarks=15).partial_fit(IRIS[:40]).partial_fit(IRIS[40:]),
        "reconstruction": lambda: KernelPCA(3, gamma="reconstruction").fit(IRIS),
        "sklearn's inverse": lambda: KernelPCA(3, gamma=0.3, fit_inverse_transform=True, alpha=0.1).fit(IRIS),
        **{
            f"way back {way}": lambda way=way: KernelPCA(3, gamma=0.3, preimage=way).fit(IRIS)
            for way in ("fixed_point", "gradient", "distance_constraint", "weighted_mean", "conformal", "learned")
        },
        "map": lambda: EmpiricalKernelMap(whiten=True, gamma=0.3).fit(IRIS),
        "map on landmarks": lambda: EmpiricalKernelMap(**{some: 8}, gamma=0.3).fit(IRIS),
        "map by data": lambda: EmpiricalKernelMap(**{some: IRIS[:20]}, whiten="data", gamma=0.3).fit(IRIS),
        "oriented": lambda: OrientedKernelPCA(3).fit(IRIS),
        "semi": lambda: SemiSupervisedKernelPCA(3, gamma=0.3).fit(IRIS, np.where(np.arange(75) % 3, -1, SPECIES)),
        "semi on landmarks": lambda: SemiSupervisedKernelPCA(3, gamma=0.3, landmarks=30).fit(IRIS, SPECIES),
        "pursuit": lambda: KernelProjectionPursuit(2, n_principal=4).fit(IRIS),
        "feature analysis": lambda: SparseKernelFeatureAnalysis(9).fit(IRIS),
        "fisher": lambda: KernelFisherDiscriminant().fit(IRIS, SPECIES),
        "fisher on landmarks": lambda: KernelFisherDiscriminant(landmarks=20, random_state=0).fit(IRIS, SPECIES),
        "sparse fisher": lambda: KernelFisherDiscriminant(sparsity=5).fit(IRIS, two),
        "fisher cv": lambda: KernelFisherDiscriminantCV().fit(IRIS, SPECIES),
        "fisher cv on landmarks": lambda: KernelFisherDiscriminantCV(landmarks=20, random_state=0).fit(IRIS, SPECIES),
        "penalized": lambda: PenalizedDiscriminant().fit(IRIS, SPECIES),
        "k-means": lambda: KernelKMeans(3, random_state=0).fit(IRIS),
        "k-means on landmarks": lambda: KernelKMeans(3, landmarks=20, random_state=0).fit(IRIS),
        "novelty": lambda: KernelNoveltyDetector(0.1).fit(IRIS),
        "novelty auto": lambda: KernelNoveltyDetector().fit(IRIS),
        "novelty on landmarks": lambda: KernelNoveltyDetector(landmarks=20, random_state=0).fit(IRIS),
        "imputer": lambda: KernelImputer().fit(GAPS),
        "imputer by energy": lambda: KernelImputer(method="energy", gamma=0.3).fit(GAPS),
        "imputer on landmarks": lambda: KernelImputer(landmarks=20, add_indicator=True).fit(GAPS),
        "imputer cv": lambda: KernelImputerCV(gammas=[0.1], noises=[1e-3, 1e-2]).fit(GAPS),
        "categories": lambda: KernelImputer(categorical_features=[4]).fit(np.column_stack([GAPS, SPECIES])),
        "greedy classifier": lambda: SparseGreedyClassifier().fit(IRIS, SPECIES),
        "greedy regressor": lambda: SparseGreedyRegressor().fit(IRIS[:, 1:], IRIS[:, 0]),
        "lp classifier": lambda: LinearProgrammingClassifier(20).fit(IRIS, SPECIES),
        "lp regressor": lambda: LinearProgrammingRegressor(20).fit(IRIS, IRIS[:, 0]),
        "renormalized svc": lambda: Renormalized(SVC()).fit(IRIS, two),
        "renormalized classes": lambda: Renormalized(SVC()).fit(WINE, CULTIVAR),
        "renormalized kpca": lambda: Renormalized(KernelPCA(3)).fit(IRIS, two),
        "renormalized pca": lambda: Renormalized(PCA(3)).fit(IRIS, two),
        "denoising search": lambda: search(n_components=[2, 3]).fit(IRIS),
        "denoising digits": lambda: search(bounds=(0, 1), n_components=[8, 16]).fit(DIGITS[:80]),
        "width search": lambda: width().fit(IRIS, SPECIES),
        "compressed svc": lambda: compress(SVC().fit(IRIS, SPECIES), 8, X=IRIS),
        "compressed svc by size": lambda: compress(SVC().fit(IRIS, SPECIES), X=IRIS, y=SPECIES),
        "compressed svr": lambda: compress(SVR().fit(IRIS, IRIS[:, 0]), 8, X=IRIS),
        "compressed detector": lambda: compress(OneClassSVM().fit(IRIS), 8, X=IRIS),
        "compressed kpca": lambda: compress(KernelPCA(3, gamma=0.3).fit(IRIS), 12, X=IRIS),
        "compressed ridge": lambda: compress(KernelRidge(kernel="rbf").fit(IRIS, IRIS[:, 0]), 6, X=IRIS),
        "compressed pipeline": lambda: compress(
            make_pipeline(StandardScaler(), KernelPCA(5), LogisticRegression()).fit(IRIS, SPECIES), 8, X=IRIS
        ),
        **{
            f"compressed by {how}": lambda how=how: compress(SVC().fit(MOONS, MOON), 8, X=MOONS, method=how)
            for how in ("select", "select_l1", "construct", "refine", "distill")
        },
    }
    for name, model in models.items():
        rows = DIGITS[:3] if "digits" in name else MOONS[:9] if "compressed by" in name else NEW
        if name in {"categories"}:
            rows = np.column_stack([GAPS, SPECIES])[:9]
        elif name == "greedy regressor":
            rows = NEW[:, 1:]
        elif name == "renormalized classes":
            rows = WINE[:9] + 0.1
        yield name, lambda model=model, rows=rows: of_model(model(), rows)

    def robust(**options):
        return lambda: numbers("", KernelPCA(3, gamma=0.3).fit(IRIS).denoise(IRIS, **options))

    yield "cross_fit", robust(cross_fit=5)
    yield "auto folds", robust(cross_fit="auto")
    for loss in ("huber", "l1", "cauchy", "tukey"):
        yield f"loss {loss}", robust(loss=loss)
    errors = lambda: KernelPCA(3, gamma=0.3).fit(IRIS).reconstruction_error(IRIS, cross_fit=5)
    yield "cross-fitted errors", lambda: numbers("", errors())
    yield "training rows of novelty", lambda: numbers("", KernelNoveltyDetector(0.1).fit_predict(IRIS))
    draws = lambda: KernelImputer(sample_posterior=True, random_state=0).fit(GAPS).transform(GAPS)
    yield "posterior draws", lambda: numbers("", draws())


def kernels():
    X, Z, W = IRIS[:12], NEW, np.random.default_rng(3).normal(size=(7, 12))
    matrix = np.random.default_rng(8).normal(size=(3, 4))
    for kernel in (
        *(Linear(), Polynomial(3, 0.2, 1.0), Exponential(0.1), Sigmoid(0.1, -0.5), Gaussian(0.3), Laplacian(0.3)),
        *(RationalQuadratic(0.5), InverseMultiquadric(0.5), Multiquadric(0.5), Cosine(), Chi2(0.2), AdditiveChi2()),
        *(Matern(0.5, nu=nu) for nu in (0.5, 1.5, 2.5)),
        *(Gaussian(0.3) + RationalQuadratic(0.2), Gaussian(0.3) * Linear(), 2.5 * Gaussian(0.3), Cosine() ** 2),
        *(Gaussian(0.3) ** 3, Gaussian("median"), Normalized(Polynomial(2, coef0=0.5))),
        *(ScaledInputs(Gaussian(0.5), [1.0, 0.0, 2.0, 0.5]), MappedInputs(Gaussian(0.3), matrix)),
        *(Iterated(Gaussian(0.3)), Patches((2, 2), 2), FreeWidthGaussian()),
    ):

        def values(kernel=kernel):
            fixed = kernel.resolve(X)
            if isinstance(fixed, FreeWidthGaussian):
                return
            yield from numbers("values", fixed(Z, X))
            yield from numbers("gram", fixed(X))
            yield from numbers("diagonal", fixed.diagonal(Z))
            if fixed.has_gradient:
                yield from numbers("gradient", fixed.gradient(Z, X, W))

        yield repr(kernel)[:80], values


def selectors():
    rooms = import_module("preimage.landmarks")
    for name in ("Uniform", "KMeans", "PivotedCholesky", "RandomlyPivotedCholesky", "SparseGreedy", "FeatureAnalysis"):

        def chosen(name=name):
            found = getattr(rooms, name)(10).select(Gaussian(0.3), IRIS, rng=np.random.default_rng(0))
            yield from numbers("points", found.points)
            yield from numbers("residual", found.residual_fraction)

        yield name, chosen
    yield "AutoLandmarks", lambda: numbers("", rooms.AutoLandmarks(10).select(Gaussian(0.3), IRIS).points)


def solvers():
    room = import_module("preimage.solvers")
    model = KernelPCA(4, gamma=0.3).fit(IRIS)
    Y = model.transform(NEW)
    for solver in (
        *(room.FixedPoint(), room.FixedPoint(penalty=0.01), room.Gradient(), room.Gradient(lower=0, upper=6)),
        *(room.MultiStart(room.FixedPoint()), room.SparsePath(n_nonzero=2), room.ExactInverse(), room.LearnedMap()),
        *(room.WeightedMean(), room.DistanceConstraint(), room.ConformalMap(), room.Auto()),
    ):

        def inverse(solver=solver):
            fitted = solver.fit(model.subspace_, IRIS)
            yield from numbers("inverse", fitted.inverse(model.subspace_, Y, None).points)
            if not isinstance(solver, (room.LearnedMap, room.ExactInverse)):
                yield from numbers("from a start", fitted.inverse(model.subspace_, Y, NEW + 0.1).points)

        yield repr(solver)[:80], inverse


def reducers():
    room = import_module("preimage.reduced_sets")
    space = import_module("preimage.feature_space")
    target = space.Expansion(Gaussian(0.3), IRIS, np.random.default_rng(5).normal(size=(75, 2)))
    for name in ("Select", "SelectL1", "Construct", "Refine", "Distill"):

        def reduced(name=name):
            found = getattr(room, name)().reduce(target, 6)
            yield from numbers("points", found.expansion.points)
            yield from numbers("coefficients", found.expansion.coefficients)

        yield name, reduced


def functions():
    geometry, widths = import_module("preimage.geometry"), import_module("preimage.widths")
    kernel, x = Gaussian(0.3), IRIS[:3]
    for name in ("metric_tensor", "log_volume_element", "scalar_curvature"):
        yield name, lambda name=name: numbers("", getattr(geometry, name)(kernel, x))
    yield "geodesic", lambda: numbers("", geometry.geodesic(kernel, x[0], x[1]))
    yield "arc_length", lambda: numbers("", geometry.arc_length(kernel, x))
    yield "mercer_report", lambda: numbers("", geometry.mercer_report(kernel, IRIS))
    yield "class_gram", lambda: numbers("", widths.class_gram(IRIS, SPECIES, [0.1, 0.5]))
    yield "class_width", lambda: numbers("", widths.class_width(IRIS, SPECIES))
    yield "enclosing_ball", lambda: numbers("", widths.enclosing_ball(kernel, IRIS))
    two, rooms = SPECIES > 0, ("inflation", "calibration")
    rows = np.random.default_rng(4).normal(size=(30, 60))
    scores = lambda: find("leave_one_out", *rooms)(Gaussian(0.01)(rows), 3)
    yield "leave_one_out", lambda: numbers("", scores())
    yield "linear_leave_one_out", lambda: numbers("", find("linear_leave_one_out", *rooms)(rows, 3))
    gram, signs = Gaussian(0.3)(IRIS), np.where(two, 1.0, -1.0)
    machine = SVC(kernel="precomputed").fit(gram, two)
    alphas, decisions = np.zeros(75), machine.decision_function(gram)
    alphas[machine.support_] = np.abs(machine.dual_coef_[0])
    svm = lambda: find("svm_leave_one_out", *rooms)(gram, signs, alphas, np.ones(75), decisions)
    yield "svm_leave_one_out", lambda: numbers("", svm())
    yield "inflation_report", lambda: numbers("", inflation_report(SVC(), rows, np.arange(30) < 12))
    neuro = ("neuro", "model_selection")
    signal = rows + np.outer(np.arange(30) % 2, np.linspace(-1, 1, 60))
    runs = np.arange(30) // 5
    half = lambda: find("split_half", *neuro)(
        LogisticRegression(), signal, np.arange(30) % 2, groups=runs, random_state=0
    )
    yield "split_half", lambda: numbers("", half())
    maps = lambda: find("sensitivity_map", *neuro)(SVC().fit(signal, np.arange(30) % 2), signal)
    yield "sensitivity_map", lambda: numbers("", maps())
    yield "estimate_noise", lambda: numbers("", find("estimate_noise", "model_selection")(DIGITS))
    capacity = lambda: find("capacity_report", "model_selection")(SVC().fit(MOONS, MOON), MOONS)
    yield "capacity_report", lambda: numbers("", capacity())


def cli():
    table = DIGITS[:60, 16:40] + 0.1 * np.random.default_rng(1).normal(size=(60, 24))
    holes = np.where(np.random.default_rng(2).uniform(size=table.shape) < 0.1, np.nan, table)
    commands = {
        "denoise": (table, ["denoise", "in.csv", "out.csv", "--no-plot"]),
        "denoise in chunks": (table, ["denoise", "in.csv", "out.csv", "--no-plot", "--landmarks", "20"]),
        "denoise robustly": (table, ["denoise", "in.csv", "out.csv", "--no-plot", "--loss", "cauchy"]),
        "embed": (table, ["embed", "in.csv", "out.csv", "--components", "3"]),
        "embed in chunks": (table, ["embed", "in.csv", "out.csv", "--components", "3", "--chunk-rows", "16"]),
        "impute": (holes, ["impute", "in.csv", "out.csv"]),
        "outliers": (table, ["outliers", "in.csv", "out.csv"]),
    }

    def run(rows, words):
        main = import_module("preimage.cli").main
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            names = ",".join(f"column{i}" for i in range(rows.shape[1]))
            np.savetxt("in.csv", rows, delimiter=",", fmt="%.8f", header=names, comments="")
            Path("in.csv").write_text(Path("in.csv").read_text().replace("nan", ""))
            argv, sys.argv = sys.argv, ["preimage", *words]
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                    main()
            finally:
                sys.argv = argv
            yield from numbers("", np.genfromtxt("out.csv", delimiter=",", skip_header=1))

    for name, (rows, words) in commands.items():
        yield name, lambda rows=rows, words=words: run(rows, words)


ROOMS = {each.__name__: each for each in (kernels, selectors, solvers, reducers, functions, estimators, cli)}


def gathered(only):
    """Arrays by "room/case/what", and cases that failed, with the error."""
    arrays, failures = {}, {}
    for room in only or ROOMS:
        started = time.perf_counter()
        for case, call in ROOMS[room]():
            try:
                for what, value in call():
                    arrays[f"{room}/{case}/{what}"] = value
            except Exception as error:
                failures[f"{room}/{case}"] = "".join(traceback.format_exception_only(error)).strip()
        print(f"{room}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return arrays, failures


def difference(one, other):
    """Largest difference over the largest entry; infinite where shapes or gaps differ."""
    if one.shape != other.shape or not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return np.inf
    known = np.isfinite(one)
    if not known.any():
        return 0.0
    return float(np.max(np.abs(one - other)[known]) / max(np.max(np.abs(one[known])), 1e-300))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--only", nargs="*", choices=ROOMS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    arrays, failures = gathered(options.only)
    print(f"{preimage.__file__}: {len(arrays)} arrays, {len(failures)} cases failed")
    for case, error in failures.items():
        print(f"  failed: {case}: {error[:200]}")
    if options.write:
        np.savez_compressed(options.write, **arrays)
    if options.compare:
        before = dict(np.load(options.compare).items())
        before = {key: value for key, value in before.items() if key.split("/")[0] in (options.only or ROOMS)}
        for key in sorted(set(before) - set(arrays)):
            print(f"  missing: {key}")
        changed = {key: difference(before[key], arrays[key]) for key in before.keys() & arrays.keys()}
        changed = {key: value for key, value in changed.items() if value > TOLERANCE}
        for key, value in sorted(changed.items(), key=lambda item: -item[1]):
            print(f"  differs by {value:.2g}: {key}")
        print(f"{len(changed)} of {len(before)} arrays differ, {len(set(before) - set(arrays))} are missing")
        sys.exit(bool(changed or set(before) - set(arrays)))


if __name__ == "__main__":
    main()
