"""Hypothesis strategies for descriptions of problems."""

import inspect
from functools import cache
from numbers import Integral, Real

from hostile_calls import ESTIMATORS, OPTIONAL, ROUTES, methods_of
from hostile_containers import CONTAINERS, DENSE, SPARSE, TYPES
from hostile_functions import FUNCTIONS
from hostile_methods import METHODS
from hostile_problem import ALL_TWISTS, GRAMS, LARGEST_SCALE, QUERIES, TARGETS, WEIGHTS, Problem
from hypothesis import strategies as st
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from preimage.eigensolvers import EIGENSOLVERS
from preimage.kernels import KERNELS as NAMED_KERNELS
from preimage.kernels._bandwidth import CLASS_RULES
from preimage.landmarks import SELECTORS as NAMED_SELECTORS
from preimage.reduced_sets import REDUCERS
from preimage.solvers import SOLVERS

# Parameters that keep their defaults, each with its reason.
KEPT = {
    "verbose": "prints",
    "n_jobs": "processes and threads are tested on their own",
    "device": "no device here",
    "copy_X": "has no effect, as documented",
    "kernel_params": "given with callables only",
    "cv": "drawn where folds are few",
    "noise": "drawn with the search for denoising",
}


def powers(most=300):
    """Numbers over all decades, most of them not far from one."""
    exponents = st.one_of(st.integers(-3, 3), st.integers(-12, 12), st.integers(-most, most))
    return st.builds(lambda e, m: float(f"{m}e{e}"), exponents, st.sampled_from([1, 1, 1, 3, 7]))


WIDTHS = st.one_of(powers(), st.sampled_from(["scale", "median", "auto", "p5", "relevance"]))


def leaves():
    """Kernels without parts, as text."""
    width = WIDTHS.map(repr)
    with_width = [part.make.__name__ for part in NAMED_KERNELS if part.parameters[:1] == ("gamma",)]
    return st.one_of(
        width.map(lambda g: f"Gaussian({g})"),
        st.builds(lambda name, g: f"{name}({g})", st.sampled_from(with_width), width),
        st.builds(lambda g, nu: f"Matern({g}, {nu})", width, st.sampled_from([0.5, 1.5, 2.5, 3.7])),
        st.sampled_from(["Linear()", "Cosine()", "AdditiveChi2()", "Constant(1.0)", "Constant(1e300)"]),
        st.builds(
            lambda k, g, c: f"Polynomial({k}, {g}, {c})",
            st.sampled_from([1, 2, 3, 5, 40]),
            powers().map(repr),
            st.sampled_from([0.0, 1.0, 1e-8, 1e200]),
        ),
        st.builds(lambda g, c: f"Sigmoid({g}, {c})", powers().map(repr), st.sampled_from([0.0, 1.0, -0.5, 1e3])),
        st.sampled_from(["CallableKernel(dot)", "CallableKernel(product, takes='matrices')"]),
        st.just("CallableKernel(directed, symmetric=False)"),
    )


def combined(part):
    factor = powers().map(repr)
    return st.one_of(
        st.builds(lambda a, b: f"({a} + {b})", part, part),
        st.builds(lambda a, b: f"({a} * {b})", part, part),
        st.builds(lambda c, a: f"{c} * {a}", factor, part),
        st.builds(lambda a, k: f"{a} ** {k}", part, st.integers(1, 4)),
        part.map(lambda a: f"Normalized({a})"),
        part.map(lambda a: f"Iterated({a})"),
        part.map(lambda a: f"Warped({a})"),
        st.builds(lambda a, w: f"ScaledInputs({a}, full(d, {w}))", part, factor),
        st.builds(lambda a, w: f"ShiftedInputs({a}, full(d, {w}))", part, factor),
        st.builds(lambda a, w: f"MappedInputs({a}, {w} * ones((2, d)))", part, factor),
    )


KERNEL_TEXTS = st.one_of(leaves(), leaves(), st.recursive(leaves(), combined, max_leaves=3))
KERNELS = st.one_of(
    KERNEL_TEXTS.map(lambda text: "=" + text),
    st.sampled_from(NAMED_KERNELS.names),
    st.integers(0, 10**6).map(lambda seed: f"=net_kernel({seed})"),
    st.just("precomputed"),
)

SELECTORS = [
    "FeatureAnalysis",
    "Uniform",
    "KMeans",
    "PivotedCholesky",
    "RandomlyPivotedCholesky",
    "SparseGreedy",
    "AutoLandmarks",
]
LANDMARKS = st.one_of(
    st.sampled_from([None, 1, 2, 3, 5, 10, *NAMED_SELECTORS.names]),
    st.builds(
        lambda name, m, tol: f"={name}({m}, tol={tol})",
        st.sampled_from(SELECTORS),
        st.sampled_from([None, 1, 3, 10]),
        st.sampled_from([None, 0.1, 1e-12, 0.0]),
    ),
    st.sampled_from(
        [
            "=SparseGreedy(5, space='column')",
            "=SparseGreedy(5, rule='residual')",
            "=SparseGreedy(5, rule='column', rearrange=True)",
        ]
    ),
)
PENALTY = st.sampled_from([0.0, 1e-3, 1.0, 1e200])
PREIMAGES = st.one_of(
    st.sampled_from(SOLVERS.names),
    PENALTY.map(lambda p: f"=FixedPoint(penalty={p})"),
    PENALTY.map(lambda p: f"=Gradient(penalty={p})"),
    st.sampled_from(
        [
            "=Gradient(lower=0.0)",
            "=Gradient(lower=0.0, upper=1.0)",
            "=LearnedMap(ridge=0.0)",
            "=LearnedMap('linear')",
            "=MultiStart(FixedPoint())",
            "=MultiStart(Gradient(), starts=('input', 'nearest', WeightedMean()))",
            "=SparsePath(n_nonzero=1)",
            "=SparsePath(penalty=0.1)",
            "=SparsePath(penalty=0.1, method='path_seeking')",
            "=DistanceConstraint(n_neighbors=3)",
            "=ExactInverse()",
            "=NearestRow()",
            "=NearestRow(X[:2], max_rows=3)",
            "=Auto(FixedPoint())",
            "=Parametrized(Mixtures(X[:3]))",
            "=Parametrized(Mixtures(X[:2], 'linear'))",
            "=Parametrized(Transformed(X[:2], [TimeShift()], reach=2.0), max_iter=5)",
        ]
    ),
)
MACHINE_KERNELS = st.one_of(
    st.builds(lambda g: f"kernel='rbf', gamma={g!r}", st.one_of(powers(), st.just("scale"))),
    st.sampled_from(["kernel='linear'", "kernel='poly', degree=3", "kernel='sigmoid'"]),
)
PCA_TEXTS = st.builds(lambda k, text: f"KernelPCA({k}, kernel={text})", st.sampled_from([1, 2, None]), KERNEL_TEXTS)
CLASSIFIERS = st.one_of(
    MACHINE_KERNELS.map(lambda text: f"SVC({text})"),
    MACHINE_KERNELS.map(lambda text: f"NuSVC({text}, nu=0.1)"),
    PCA_TEXTS.map(lambda text: f"make_pipeline({text}, LogisticRegression())"),
    MACHINE_KERNELS.map(lambda text: f"make_pipeline(StandardScaler(), SVC({text}))"),
)
REGRESSORS = st.one_of(
    MACHINE_KERNELS.map(lambda text: f"SVR({text})"),
    st.builds(
        lambda g, a: f"KernelRidge(alpha={a}, kernel='rbf', gamma={g})", powers(), st.sampled_from([1e-3, 1.0, 0.0])
    ),
    st.sampled_from(["GaussianProcessRegressor(alpha=0.1, optimizer=None)"]),
)
DETECTORS = st.one_of(
    MACHINE_KERNELS.map(lambda text: f"OneClassSVM({text}, nu=0.3)"),
    st.sampled_from(["KernelNoveltyDetector()", "KernelNoveltyDetector(0.2, gamma=1.0)", "SparseGreedyDetector(5)"]),
)
FISHERS = KERNEL_TEXTS.map(lambda text: f"KernelFisherDiscriminant(kernel={text})")
WIDTH_OWNERS = st.one_of(
    st.sampled_from(["KernelPCA(2)", "KernelFisherDiscriminant()", "SVC()", "KernelPCA(2, kernel=Laplacian())"]),
    st.sampled_from(["EmpiricalKernelMap()", "KernelPCA(2, kernel=Gaussian() + Linear())", "KernelKMeans(2)"]),
)
REDUCERS = st.sampled_from(
    [
        *REDUCERS.names,
        "=Select('forward')",
        "=Construct(n_starts=1)",
        "=SelectL1(adaptive=False)",
        "=Refine(Select())",
        "=Distill(penalty=0.0)",
        "=Construct(widths='free')",
        "=Distill(widths='free')",
    ]
)
INVARIANCES = st.sampled_from(
    [
        None,
        "=[TimeShift()]",
        "=TangentCovariance([TimeShift()])",
        "=TangentCovariance([TimeShift(), Rotate((1, d))], weights=[3.0, 1e-300])",
        "=[TranslateX((1, d))]",
        "=[Rotate((1, d))]",
        "=[TranslateX((1, 1, d))]",
    ]
)

LEAVE_ONE_OUT = st.sampled_from(["exact", "first_order"])

# Strategies by the name of a parameter, or by (class, parameter) where the same name means different things.
PARAMETERS = {
    "kernel": KERNELS,
    "gamma": st.one_of(st.none(), WIDTHS),
    "degree": st.sampled_from([1, 2, 3, 5, 40]),
    "coef0": st.sampled_from([0.0, 1.0, -1.0, 1e300]),
    "landmarks": LANDMARKS,
    "preimage": PREIMAGES,
    "eigen_solver": st.sampled_from([*EIGENSOLVERS.names, "randomized", "=BlockKrylov(block_size=2)"]),
    "max_memory": st.sampled_from([None, "1MB", "100KB", 10_000, 10]),
    "invariances": INVARIANCES,
    "random_state": st.integers(0, 3),
    "max_iter": st.sampled_from([None, 1, 2, 50]),
    ("KernelKMeans", "max_iter"): st.sampled_from([1, 2, 50]),
    ("KernelImputer", "max_iter"): st.sampled_from([1, 2, 50]),
    ("KernelImputer", "n_components"): st.sampled_from([None, 1, 2, 3, 10, 0.9, 0.999999]),
    ("KernelImputer", "min_value"): st.sampled_from([None, 0.0, -1e300, "=[-1.0] * d"]),
    ("KernelImputer", "max_value"): st.sampled_from([None, 0.0, 1e300]),
    ("KernelImputer", "noise"): st.sampled_from(["auto", 0, 1e-300, 1e-3, 0.999]),
    ("KernelImputerCV", "max_iter"): st.sampled_from([1, 2, 50]),
    ("KernelImputerCV", "min_value"): st.sampled_from([None, 0.0, -1e300, "=[-1.0] * d"]),
    ("KernelImputerCV", "max_value"): st.sampled_from([None, 0.0, 1e300]),
    "noises": st.sampled_from([[1e-3], [0, 1e-300, 0.999], [0.1, 0.01]]),
    "hidden": st.sampled_from([None, 0.01, 0.5, 0.99]),
    "missing_values": st.sampled_from([None, -1, 0, 1e300]),
    ("KernelPCA", "n_components"): st.sampled_from([None, 1, 2, 3, 10, 0.9, 0.999999]),
    ("KernelNoveltyDetector", "contamination"): st.sampled_from(["auto", 1e-300, 0.01, 0.1, 0.3, 0.5]),
    ("SparseGreedyClassifier", "landmarks"): st.one_of(st.just("auto"), LANDMARKS),
    ("SparseGreedyRegressor", "landmarks"): st.one_of(st.just("auto"), LANDMARKS),
    "refine": st.sampled_from([0, 1, 3]),
    ("SparseGreedyDetector", "nu"): st.sampled_from([1e-12, 0.01, 0.3, 0.99, 1 - 1e-12]),
    ("KernelNoveltyDetector", "ridge"): st.sampled_from([None, 1e-8, 1e-3, 1.0, 1e3]),
    ("DenoisingSearch", "n_components"): st.sampled_from([None, [1], [1, 2]]),
    ("DenoisingSearch", "added_noise"): st.sampled_from([None, 0.1, 1e-300, 1e300]),
    "gammas": st.one_of(st.none(), st.lists(powers(), min_size=1, max_size=3)),
    "alphas": st.one_of(st.none(), st.lists(powers(), min_size=1, max_size=3)),
    "penalties": st.one_of(st.none(), st.lists(powers(), min_size=1, max_size=2)),
    "bounds": st.sampled_from([None, [0.0, 1.0], [-1e300, 1e300]]),
    "deviation": st.one_of(st.none(), powers()),
    "cv": st.sampled_from([2, 3]),
    ("KernelFisherDiscriminantCV", "cv"): st.sampled_from([2, 3, "loo"]),
    ("KernelFisherDiscriminantCV", "scoring"): st.sampled_from(
        [None, "accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss"]
    ),
    "class_weight": st.sampled_from([None, "balanced"]),
    "sparsity": st.one_of(st.none(), st.sampled_from([1, 2, 5]), powers()),
    ("EmpiricalKernelMap", "landmarks"): st.sampled_from(
        [None, "=X[:1]", "=X[:3]", "=0 * X", 1, 3, "uniform", "kmeans", "=RandomlyPivotedCholesky(3)"]
    ),
    "n_neighbors": st.sampled_from([1, 2, 5]),
    ("FeatureSpaceNeighbors", "radius"): st.sampled_from([0.0, 1e-300, 1.0, 1e300]),
    ("FeatureSpaceNeighborsClassifier", "weights"): st.sampled_from(["uniform", "distance"]),
    ("FeatureSpaceNeighborsRegressor", "weights"): st.sampled_from(["uniform", "distance"]),
    "exact": st.sampled_from(["auto", True, False]),
    "init": st.just("k-means++"),
    "n_init": st.sampled_from([1, 2]),
    "n_clusters": st.sampled_from([1, 2, 3, 8]),
    "n_points": st.sampled_from([None, 1, 2, 5, 50, 0.01, 0.5, 1.0]),
    "method": None,
    "max_gap": st.sampled_from([None, 0.5, 1e-3, 1e-12]),
    "guard": st.sampled_from(["auto", None]),
    "encoding": None,
    "first_class": st.just(None),
    "priors": st.sampled_from(["equal", "empirical"]),
    ("CompressedClassifier", "estimator"): CLASSIFIERS.map(lambda text: "=" + text),
    ("CompressedRegressor", "estimator"): REGRESSORS.map(lambda text: "=" + text),
    ("CompressedDetector", "estimator"): DETECTORS.map(lambda text: "=" + text),
    ("CompressedTransformer", "estimator"): PCA_TEXTS.map(lambda text: "=" + text),
    ("Renormalized", "estimator"): st.one_of(
        PCA_TEXTS, MACHINE_KERNELS.map(lambda text: f"SVC({text})"), FISHERS, st.just("PCA(2)")
    ).map(lambda text: "=" + text),
    ("WidthSearch", "estimator"): WIDTH_OWNERS.map(lambda text: "=" + text),
    "n_samples": st.sampled_from([None, 2, 5]),
    "param": st.just("auto"),
    "iterated_power": st.just("auto"),
}
COMPRESSED = [name for name in ESTIMATORS if name.startswith("Compressed")]
PARAMETERS.update({(name, "method"): REDUCERS for name in COMPRESSED})
# Without these there is nothing to fit.
REQUIRED = {"estimator"}


def _of_interval(interval):
    low = -1e300 if interval.left is None else interval.left
    high = 1e300 if interval.right is None else interval.right
    if interval.type is Integral:
        values = [int(each) for each in (low, low + 1, low + 2, 5, 10) if abs(each) < 1e6]
    else:
        values = [low, high, 0.0, 1e-300, 1e-8, 1e-3, 0.1, 0.5, 0.577, 1.0, 2.0, 10.0, 1e8, 1e300]
    return [each for each in values if each in interval]


@cache
def strategy_of(cls, name):
    """Values of a parameter: of the tables above, or what the class's own table of constraints allows."""
    found = PARAMETERS.get((cls.__name__, name), PARAMETERS.get(name))
    if found is not None:
        return found
    values = []
    for constraint in cls._parameter_constraints.get(name, []):
        if isinstance(constraint, StrOptions):
            values += sorted(constraint.options)
        elif isinstance(constraint, Interval) and constraint.type in (Real, Integral):
            values += _of_interval(constraint)
        elif constraint is None:
            values.append(None)
        elif constraint in ("boolean", bool):
            values += [False, True]
    return st.sampled_from(values) if values else None


def parameter_names(cls):
    return [
        name for name in inspect.signature(cls).parameters if name not in KEPT or (cls.__name__, name) in PARAMETERS
    ]


@cache
def _parameters(cls):
    names = [name for name in parameter_names(cls) if strategy_of(cls, name) is not None]
    required = [name for name in names if name in REQUIRED]
    optional = [name for name in names if name not in REQUIRED and name != "kernel"]

    @st.composite
    def draw_parameters(draw):
        chosen = [*required, *draw(st.lists(st.sampled_from(optional), max_size=4, unique=True))]
        if "kernel" in names and draw(st.integers(0, 3)):
            chosen.append("kernel")
        return {name: draw(strategy_of(cls, name)) for name in chosen}

    return draw_parameters()


SCALES = st.one_of(
    st.just(0),
    st.just(0),
    st.integers(-8, 8),
    st.integers(-LARGEST_SCALE, LARGEST_SCALE),
    st.sampled_from([-320, -308, -162, -155, -38, 38, 100, 150, 154, 155, 200, 300, 308]),
)
LABELS = {"classes", "two classes", "text", "objects", "booleans", "signs", "list", "lonely class"}
USUAL_TARGETS = ["classes", "two classes", "numbers", "text"]


@cache
def data():
    """The fields of a description that say what the data are."""
    usually = lambda usual, others: st.one_of(st.just(usual), st.just(usual), st.sampled_from(sorted(others)))
    return st.fixed_dictionaries(
        {
            "n": st.one_of(st.integers(2, 12), st.integers(2, 12), st.integers(1, 40)),
            "d": st.integers(1, 6),
            "twists": st.lists(st.sampled_from(sorted(ALL_TWISTS)), max_size=2, unique=True).map(tuple),
            "scale": SCALES,
            "dtype": usually("float64", TYPES),
            "container": st.one_of(
                st.just("plain"), st.sampled_from(sorted(CONTAINERS)), st.sampled_from(sorted(SPARSE))
            ),
            "gram": st.sampled_from(sorted(GRAMS)),
            "queries": st.one_of(st.just("near"), st.sampled_from(sorted(QUERIES))),
            "query_container": usually("", DENSE),
            "target": st.one_of(st.sampled_from(USUAL_TARGETS), st.sampled_from(sorted(TARGETS))),
            "target_scale": usually(0, [-300, -150, -20, 20, 150, 300]),
            "weights": usually("ones", WEIGHTS),
            "coordinates": usually(0, [-300, -150, 8, 150, 300]),
            "seed": st.integers(0, 999),
        }
    )


# Options of functions, by the name under which `hostile_functions` asks for them.
OPTIONS = {
    "preimage.compress": {"estimator": st.one_of(CLASSIFIERS, REGRESSORS), "method": REDUCERS},
    "preimage.explore": {
        "estimator": st.one_of(PCA_TEXTS, PCA_TEXTS.map(lambda text: f"make_pipeline(StandardScaler(), {text})")),
        "n_points": st.sampled_from([4, 300]),
    },
    "preimage.inflation_report": {"estimator": PCA_TEXTS},
    "interop.machine_of": {"estimator": st.one_of(CLASSIFIERS, REGRESSORS, PCA_TEXTS)},
    "model_selection.capacity_report": {"estimator": st.one_of(CLASSIFIERS, REGRESSORS, FISHERS)},
    "neuro.sensitivity_map": {"estimator": st.one_of(CLASSIFIERS, FISHERS)},
    "inflation.leave_one_out": {"n_components": st.sampled_from([None, 1, 2]), "method": LEAVE_ONE_OUT},
    "inflation.linear_leave_one_out": {"n_components": st.sampled_from([None, 1, 2]), "method": LEAVE_ONE_OUT},
    "inflation.transfer_function": {"kind": st.sampled_from(["pchip", "isotonic", "affine"])},
    "landmarks.landmark_coefficients": {"space": st.sampled_from(["function", "column"])},
    "widths.class_width": {"rule": st.sampled_from(CLASS_RULES)},
    "kernels.resolve_gamma": {"gamma": WIDTHS},
}


@st.composite
def function_problems(draw, name):
    options = {**OPTIONS.get(name, {})}
    if "estimator" in options:
        options["estimator"] = options["estimator"].map(lambda text: "=" + text)
    if draw(st.integers(0, 3)):
        options["kernel"] = KERNEL_TEXTS.map(lambda text: "=" + text)
    params = {key: draw(values) for key, values in options.items()}
    return _finite(Problem(name, params=params, **draw(data())))


def _finite(problem):
    """The same without NaN and infinity: estimators look for them once, functions below trust their arguments."""
    usual, spoilt = Problem(problem.name), {"NaN", "infinity"}
    twists = tuple(each for each in problem.twists if each not in spoilt)
    fields = {
        each: getattr(usual, each) for each in ("queries", "weights", "target") if getattr(problem, each) in spoilt
    }
    return problem.but(twists=twists, **fields)


# Methods of value objects trust the rows they are given, which estimators have looked at: finite ones, whose kernel
# values do not overflow.
MODERATE_SCALES = st.integers(-8, 8)


@st.composite
def method_problems(draw, name):
    params = {"kernel": "=" + draw(KERNEL_TEXTS)} if draw(st.booleans()) else {}
    fields = draw(data()) | {"scale": draw(MODERATE_SCALES), "dtype": "float64", "container": "plain"}
    return _finite(Problem(name, params=params, **fields))


# How many problems are of estimators for each of a function or method: there are many calls in one of them.
ESTIMATORS_PER_FUNCTION = 3


@st.composite
def problems(draw, names=()):
    """Descriptions of problems for estimators, functions and methods of the given names; of all, if none is given."""
    estimators, functions, methods = (
        sorted(set(all_) & set(names or all_)) for all_ in (ESTIMATORS, FUNCTIONS, METHODS)
    )
    kinds = [*[estimators] * ESTIMATORS_PER_FUNCTION, functions, methods]
    name = draw(st.sampled_from(draw(st.sampled_from([kind for kind in kinds if kind]))))
    if name in METHODS:
        return draw(method_problems(name))
    return draw(function_problems(name) if name in FUNCTIONS else estimator_problems(name))


def _targets_of(cls):
    """Targets of the kind that an estimator takes."""
    return ["numbers", "constant", "columns"] if issubclass(cls, RegressorMixin) else sorted(LABELS)


@st.composite
def estimator_problems(draw, name):
    cls = ESTIMATORS[name]
    methods = [each for each in methods_of(cls) if each not in ("fit", "partial_fit")]
    fields = draw(data())
    if draw(st.integers(0, 3)):  # mostly targets that the estimator can learn, so that more than its checks is tried
        fields = {**fields, "target": draw(st.sampled_from(_targets_of(cls)))}
    return Problem(
        name,
        params=draw(_parameters(cls)),
        **fields,
        route=draw(st.one_of(st.just("fit"), st.sampled_from(ROUTES))),
        methods=tuple(draw(st.lists(st.sampled_from(methods), min_size=1, max_size=3, unique=True))),
        given=tuple(draw(st.lists(st.sampled_from(OPTIONAL), max_size=2, unique=True))),
    )
