"""Methods of public classes that are not estimators: objects of every class, and arguments by their names."""

import importlib.util
import inspect
import warnings
from functools import cached_property

import hostile_paths
import numpy as np
from hostile_functions import Inputs, Squares
from hostile_judge import Finding, judge
from hostile_memory import VALUES, arrays_in, shared
from hostile_problem import Case

import preimage
from preimage import (
    eigensolvers,
    feature_space,
    invariances,
    kernels,
    landmarks,
    model_selection,
    reduced_sets,
    solvers,
)

spec = importlib.util.spec_from_file_location("api", hostile_paths.TESTS.parent / "docs" / "api.py")
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)


def evaluation(i):
    return Squares(0 * i.B).at(i.B)


def span(i, count=2):
    """A span that has grown by some rows."""
    grown = feature_space.GrowingSpan(i.kernel(), i.A)
    for number in range(min(count, len(i.A))):
        grown.add_row(number)
    return grown


def result(i):
    return solvers.Gradient(max_iter=3).solve(i.expansion())


def operator(i):
    return feature_space.Gram(i.kernel(), i.A).centered()


def on_numbers(i):
    """A kernel whose rows are numbers of rows of a matrix."""
    return kernels.Precomputed(i.kernel()(i.A))


def family(i):
    return solvers.Mixtures(i.A[:2], "linear")


def shift(X, t):
    return X + np.asarray(t).reshape(-1, 1)


def selector(name, **options):
    return lambda i: getattr(landmarks, name)(min(3, len(i.A)), **options)


# An object of every public class that is neither an estimator, nor an interface, nor an error.
OWNERS = {
    **{
        f"kernels.{part.make.__name__}": (lambda i, part=part: part.exemplar())
        for part in kernels.KERNELS
        if inspect.isclass(part.make)
    },
    "kernels.Constant": lambda i: kernels.Constant(0.5),
    **{
        f"kernels.{name}": (lambda i, name=name: getattr(kernels, name)())
        for name in (
            "ChiSquaredDistance",
            "InnerProduct",
            "ManhattanDistance",
            "SquaredDistance",
            "KeptRows",
            "Width",
        )
    },
    "kernels.Patches": lambda i: kernels.Patches((1, i.A.shape[1]), 1),
    "kernels.CallableKernel": lambda i: kernels.CallableKernel(lambda x, y: float(x @ y)),
    "kernels.FreeWidthGaussian": lambda i: kernels.FreeWidthGaussian(0.5, i.A.shape[1]),
    "kernels.Iterated": lambda i: kernels.Iterated(i.kernel(), i.A),
    "kernels.MappedInputs": lambda i: kernels.MappedInputs(i.kernel(), np.ones((2, i.A.shape[1]))),
    "kernels.Normalized": lambda i: kernels.Normalized(i.kernel()),
    "kernels.Precomputed": on_numbers,
    "kernels.Prepared": lambda i: i.kernel().prepare(i.A),
    "kernels.ScaledInputs": lambda i: kernels.ScaledInputs(i.kernel(), np.ones(i.A.shape[1])),
    "kernels.Strings": lambda i: kernels.Strings(2),
    "kernels.ShiftedInputs": lambda i: kernels.ShiftedInputs(i.kernel(), i.A[0]),
    "kernels.Warped": lambda i: kernels.Warped(i.kernel(), i.A),
    **{
        f"solvers.{name}": (lambda i, name=name: getattr(solvers, name)())
        for name in (
            "ConformalMap",
            "DistanceConstraint",
            "ExactInverse",
            "FixedPoint",
            "Gradient",
            "LearnedMap",
            "NearestRow",
            "SparsePath",
            "WeightedMean",
        )
    },
    "solvers.Auto": lambda i: solvers.Auto().fit(i.subspace(), i.A),
    "solvers.Evaluation": evaluation,
    "solvers.FunctionFamily": lambda i: solvers.FunctionFamily(
        lambda T: T @ i.A[[0, -1]], 2, lower=[-1, -1], upper=[1, 1]
    ),
    "solvers.Mixtures": family,
    "solvers.Transformed": lambda i: solvers.Transformed(i.A[:2], [invariances.TimeShift()], reach=1.0),
    "solvers.MultiStart": lambda i: solvers.MultiStart(solvers.FixedPoint()),
    "solvers.Parametrized": lambda i: solvers.Parametrized(family(i), max_iter=3),
    "solvers.ParametrizedResult": lambda i: solvers.Parametrized(family(i), max_iter=3).solve(i.expansion()),
    "solvers.PreimageResult": result,
    "solvers.QuasiNewton": lambda i: solvers.QuasiNewton(1.0, 1e-6),
    "solvers.Reason": lambda i: solvers.Reason.CONVERGED,
    **{
        f"landmarks.{name}": selector(name)
        for name in (
            "AutoLandmarks",
            "FeatureAnalysis",
            "KMeans",
            "PivotedCholesky",
            "RandomlyPivotedCholesky",
            "SparseGreedy",
            "Uniform",
        )
    },
    "landmarks.Landmarks": lambda i: landmarks.Uniform(2).select(i.kernel(), i.A, with_factor=True),
    "reduced_sets.Construct": lambda i: reduced_sets.Construct(n_starts=1, max_iter=3),
    "reduced_sets.Distill": lambda i: reduced_sets.Distill(max_iter=3),
    "reduced_sets.Refine": lambda i: reduced_sets.Refine(max_iter=3),
    "reduced_sets.Select": lambda i: reduced_sets.Select(),
    "reduced_sets.SelectL1": lambda i: reduced_sets.SelectL1(max_iter=100),
    "reduced_sets.Reduction": lambda i: reduced_sets.Select().reduce(i.expansion(), 2),
    "eigensolvers.Arpack": lambda i: eigensolvers.Arpack(),
    "eigensolvers.BlockKrylov": lambda i: eigensolvers.BlockKrylov(),
    "eigensolvers.Dense": lambda i: eigensolvers.Dense(),
    "eigensolvers.EigenResult": lambda i: eigensolvers.Dense().solve(operator(i), 1, i.rng),
    "model_selection.DenoisingScorer": lambda i: model_selection.DenoisingScorer(0.1),
    "invariances.FunctionTransformation": lambda i: invariances.FunctionTransformation(shift),
    **{
        f"invariances.{name}": (lambda i, name=name: getattr(invariances, name)((1, i.A.shape[1])))
        for name in (
            "Rotate",
            "Scale",
            "Thicken",
            "TranslateX",
            "TranslateY",
        )
    },
    "invariances.TimeShift": lambda i: invariances.TimeShift(),
    "invariances.TangentCovariance": lambda i: invariances.TangentCovariance([invariances.TimeShift()]),
    "invariances.VirtualExamples": lambda i: invariances.VirtualExamples([invariances.TimeShift()]),
    "feature_space.Expansion": lambda i: i.subspace().embed(i.subspace().coordinates(i.A[:2])),
    "feature_space.Gram": lambda i: feature_space.Gram(i.kernel(), i.A),
    "feature_space.GrowingSpan": span,
    "feature_space.Moments": lambda i: feature_space.Moments.of(i.A),
    "feature_space.Proposal": lambda i: feature_space.Proposal(np.arange(len(i.A))),
    "feature_space.Subspace": lambda i: i.subspace(),
    "explorer.Explorer": lambda i: preimage.explore(preimage.KernelPCA(1).fit(i.A), i.A),
}
# Classes of which no object is made here, each with its reason.
NOT_MADE = {
    "kernels.Kernel": "an interface",
    "kernels.PairwiseQuantity": "an interface",
    "kernels.ProfileKernel": "an interface",
    "solvers.Family": "an interface",
    "solvers.Objective": "an interface",
    "solvers.Preimage": "an interface",
    "solvers.TargetSolver": "an interface",
    "landmarks.LandmarkSelector": "an interface",
    "reduced_sets.NestedReducer": "an interface",
    "reduced_sets.Reducer": "an interface",
    "eigensolvers.Eigensolver": "an interface",
    "invariances.Transformation": "an interface",
    **{f"exceptions.{name}": "no numbers" for name in preimage.exceptions.__all__},
}


def _rows_of(i, owner):
    """Rows as the kernel, or the distance, of an owner wants them."""
    if isinstance(owner, kernels.Precomputed):
        return np.arange(len(i.A))[:, None]
    if isinstance(owner, kernels.Strings):
        return _texts(i.A)
    return np.abs(i.A) if _is_of_counts(owner) else i.A


def _queries_of(i, owner):
    if isinstance(owner, kernels.Precomputed):
        return np.arange(len(i.A))[:1, None]
    if isinstance(owner, kernels.Strings):
        return _texts(i.B)
    return np.abs(i.B) if _is_of_counts(owner) else i.B


def _texts(rows):
    """A column of texts: numbers as they are written."""
    return kernels.Strings().rows([" ".join(map(repr, np.asarray(row).tolist())) for row in rows])


def _is_of_counts(owner):
    return isinstance(owner, kernels.ChiSquaredDistance) or getattr(owner, "lowest_input", None) is not None


# Arguments by their names, of the data and the object whose method is called.
BY_NAME = {
    "X": _rows_of,
    "Y": _rows_of,
    "Z": _queries_of,
    "points": _rows_of,
    "kernel": lambda i, owner: i.kernel(),
    "subspace": lambda i, owner: i.subspace(),
    "target": lambda i, owner: i.expansion(),
    "vectors": lambda i, owner: i.expansion(),
    "expansions": lambda i, owner: [i.expansion(), i.expansion()],
    "other": lambda i, owner: owner,
    "parts": lambda i, owner: [owner, owner],
    "rng": lambda i, owner: i.rng,
    "operator": lambda i, owner: operator(i),
    "k": lambda i, owner: 1,
    "n_points": lambda i, owner: 2,
    "s": lambda i, owner: np.abs(i.A),
    "v": lambda i, owner: 0.5 + 0 * i.A,
    "u": lambda i, owner: i.A,
    "t": lambda i, owner: 0.5,
    "T": lambda i, owner: np.full((2, owner.n_parameters), 0.5),
    "order": lambda i, owner: 1,
    "count": lambda i, owner: 1,
    "who": lambda i, owner: "this test",
    "origin": lambda i, owner: i.A[0],
    "numbers": lambda i, owner: np.array([0]),
    "rows": lambda i, owner: np.array([0]),
    "indices": lambda i, owner: np.array([0]),
    "number": lambda i, owner: len(i.A) - 1,
    "degrees": lambda i, owner: 10.0,
    "budget": lambda i, owner: 10**6,
    "change": lambda i, owner: lambda array: array,
    "lower": lambda i, owner: i.A.min(axis=0),
    "upper": lambda i, owner: i.A.max(axis=0),
    "like": lambda i, owner: i.A,
    "gradient": lambda i, owner: i.B,
    "box": lambda i, owner: solvers.Box(),
    "here": lambda i, owner: evaluation(i),
    "gram": lambda i, owner: i.kernel()(i.A),
    "estimator": lambda i, owner: preimage.KernelPCA(1).fit(i.A),
    "y": lambda i, owner: i.y,
    "penalty": lambda i, owner: 0.1,
    "shift": lambda i, owner: i.A[0],
    "is_open": lambda i, owner: np.ones(len(i.A), bool),
    "span": lambda i, owner: span(i, 0),
    "limit": lambda i, owner: 2,
    "point": lambda i, owner: i.A[-1:],
    "trace": lambda i, owner: 1.0,
    "inside": lambda i, owner: 0.5,
    "residuals": lambda i, owner: np.ones(len(i.A)),
}
# Methods whose arguments depend on each other, by class and method, or by method.
ARGUMENTS_OF = {
    "gradient": lambda i, owner: (
        _queries_of(i, owner),
        _rows_of(i, owner),
        np.ones((len(_queries_of(i, owner)), len(_rows_of(i, owner)))),
    ),
    "Prepared.changed": lambda i, owner: (i.kernel(), lambda values: 2 * values),
    "Prepared.of_function": lambda i, owner: (i.kernel(), i.A, lambda X, Y: X @ Y.T),
    "rebuilt": lambda i, owner: (lambda part: part, lambda name, value: value),
    "find": lambda i, owner: ("median" if isinstance(owner, kernels.Width) else None, i.A, kernels.Gaussian()),
    "is_open": lambda i, owner: (None,),
    "is_same": lambda i, owner: (owner,),
    "contracted": lambda i, owner: (np.full((2, owner.n_parameters), 0.5), i.A[:2]),
    "LearnedMap.regress": lambda i, owner: (i.subspace(), i.A),
    "Precomputed.resolve": lambda i, owner: (owner.gram,),
    "Expansion.distance_gradient": lambda i, owner: (i.A[:2],),
    "inverse": lambda i, owner: (i.subspace(), i.subspace().coordinates(i.B)),
    "FreeWidthGaussian.gammas": lambda i, owner: (np.hstack([i.A, i.A[:, :1]]),),
    "Evaluation.penalized": lambda i, owner: (i.B, 0 * i.B, 0.1),
    "where": lambda i, owner: (np.arange(len(next(iter(vars(owner).values())))) == 0, owner),
    "replaced": lambda i, owner: (np.array([0]), owner.take(np.array([0]))),
    "QuasiNewton.propose": lambda i, owner: (owner.begin(evaluation(i)), i.B, evaluation(i), solvers.Box()),
    "QuasiNewton.judge": lambda i, owner: (
        owner.begin(evaluation(i)),
        i.B,
        evaluation(i),
        i.B,
        evaluation(i),
        solvers.Box(),
        np.arange(len(i.B)),
    ),
    "QuasiNewton.at_rest": lambda i, owner: (owner.begin(evaluation(i)), i.B),
    "QuasiNewton.settled": lambda i, owner: (owner.begin(evaluation(i)), i.B, solvers.Box()),
    "Reason.array": lambda i, owner: (3, owner),
    "Reason.choose": lambda i, owner: (np.array([True, False]), owner, owner),
    "ready": lambda i, owner: (i.subspace(),),
    "select_more": lambda i, owner: (i.kernel(), i.A, i.A[:1]),
    "flow": lambda i, owner: (i.A, i.A, np.full(i.A.shape, 0.5)),
    "velocity": lambda i, owner: (i.A, i.A),
    "Moments.about": lambda i, owner: (i.A[0], i.A),
    "Moments.mapped": lambda i, owner: (np.ones((i.A.shape[1], 1)),),
    "Moments.of": lambda i, owner: (i.A, np.ones(len(i.A))),
    "Moments.empty": lambda i, owner: (i.A,),
    "Subspace.converted": lambda i, owner: (lambda array: array, owner.frame.points),
    "Subspace.embed": lambda i, owner: (owner.coordinates(i.B),),
    "Subspace.embedded_norms": lambda i, owner: (owner.coordinates(i.B),),
    "Subspace.squared_distances": lambda i, owner: (i.B, owner.coordinates(i.B)),
    "GrowingSpan.extend": lambda i, owner: (owner.farthest(),),
    "TangentCovariance.moment_of": lambda i, owner: (i.expansion(), i.A),
    "PreimageResult.better_of": lambda i, owner: (owner,),
    "VirtualExamples.fit_resample": lambda i, owner: (i.A, i.y),
}
# Methods that are not called, each with its reason.
METHODS_NOT_CALLED = {
    "LearnedMap.inverse": "learns first: `fit` returns another object",
    "Explorer.save": "writes a file",
    "set_params": "scikit-learn's",
}


def public_classes():
    """Public classes by "module.Class", without estimators, whose methods `hostile_calls` calls, and figures."""
    found = {}
    for full, value in api.public_objects().items():
        name = full.removeprefix("preimage.")
        is_estimator = inspect.isclass(value) and (hasattr(value, "fit") and hasattr(value, "save"))
        if inspect.isclass(value) and not is_estimator and not name.endswith("Display"):
            found[name] = value
    return found


def methods_of_class(cls):
    """Public methods, class methods and properties of a class that the library itself writes, and its call."""
    names = {name for base in cls.__mro__ if base.__module__.startswith("preimage") for name in vars(base)}
    found = []
    for name in sorted(names):
        value = inspect.getattr_static(cls, name)
        is_call = inspect.isroutine(value) or isinstance(value, (property, cached_property, classmethod, staticmethod))
        is_call = is_call and not name.endswith("_request")
        if is_call and (not name.startswith("_") or name == "__call__"):
            found.append(name)
    return found


def methods():
    """Public methods by "module.Class.method", with the class."""
    return {
        f"{full}.{method}": cls
        for full, cls in public_classes().items()
        if full not in NOT_MADE
        for method in methods_of_class(cls)
        if method not in METHODS_NOT_CALLED and f"{cls.__name__}.{method}" not in METHODS_NOT_CALLED
    }


def arguments_of(full, i, owner):
    """Positional arguments of a method, and those with a name."""
    _, cls, name = full.split(".")
    for key in (f"{cls}.{name}", name):
        if key in ARGUMENTS_OF:
            return list(ARGUMENTS_OF[key](i, owner))
    value = inspect.getattr_static(type(owner), name)
    if isinstance(value, (property, cached_property)):
        return []
    given = []
    for parameter in inspect.signature(getattr(owner, name)).parameters.values():
        required = parameter.default is parameter.empty
        if required and parameter.name not in BY_NAME:
            raise KeyError(f"{full} has an argument {parameter.name!r} that is not known here")
        if required:
            given.append(BY_NAME[parameter.name](i, owner))
    return given


def method_call(full, i):
    """The object, the arguments, and the call of a method as a function without arguments."""
    module, cls, name = full.split(".")
    owner = OWNERS[f"{module}.{cls}"](i)
    value = inspect.getattr_static(type(owner), name)
    given = arguments_of(full, i, owner)
    if isinstance(value, (property, cached_property)):
        return owner, given, lambda: getattr(owner, name)
    options = {"with_start": True} if name == "ready" else {}
    return owner, given, lambda: getattr(owner, name)(*given, **options)


METHODS = methods()

# Methods that write into an argument or into their own object by what they are for.
WRITING = {
    "apply_profile": "overwrites its argument, to save memory",
    "add_row": "a span that grows",
    "add_point": "a span that grows",
    "add_in_order": "a span that grows",
    "extend": "a span that grows",
    "column_basis": "a span that grows",
    "residual_block": "corrects residuals of the span",
    "propose": "corrects residuals of the span",
}
# Methods whose result is an argument or a part of the object by what they are for, which their docstrings say.
SHARING = {
    "inputs": "rows of data are what is stored of them",
    "rows": "rows of data as the kernel takes them",
    "checked_objects": "objects as they are",
    "inputs_of_parts": "rows of data as they are",
    "inputs_of_points": "the first columns of the points",
    "known_values": "the matrix of a precomputed kernel",
    "Linear.profile": "f(s) = s",
    "Linear.inverse_profile": "f(s) = s",
    "Linear.profile_with_derivative": "f(s) = s",
    "unshifted": "the kernel inside",
    "unwarped": "the points inside",
    "settled": "a point that stays where it is",
    "flow": "a coordinate that does not move",
    "device_array": "says where arrays are",
    "GrowingSpan.pivots": "a part of what grows",
    "GrowingSpan.coefficients": "a part of what grows",
    "GrowingSpan.axes": "a part of what grows",
    "GrowingSpan.column_basis": "a part of what grows",
    "Subspace.of_points": "computed once",
    "within_range": "a result with other objectives",
    "take": "a part of a result",
    "where": "rows of two results",
    "join": "rows of several results",
}


def is_listed(full, names):
    _, cls, name = full.split(".")
    return name in names or f"{cls}.{name}" in names


def run_method(problem):
    """The findings of one method: raw errors, changed or shared arrays. Numbers beyond the range are its caller's."""
    case = Case(problem)
    full = problem.name
    i = Inputs(case)
    try:
        with warnings.catch_warnings():  # about numbers that the method is given, and has not made
            warnings.simplefilter("ignore")
            owner, given, call = method_call(full, i)
    except (ValueError, TypeError, preimage.exceptions.UnsupportedKernelError):  # nothing to call the method of
        return []
    held = [array for _, array in arrays_in([given, owner])]
    writes = is_listed(full, WRITING)
    result, failed, found = judge(full, call, [] if writes else held, is_finite=case.is_finite, judges_memory=False)
    findings = [each for each in found if each.kind not in ("warning", "not finite")]
    if not failed and not is_listed(full, SHARING) and result is not owner:
        where = shared(result, [given], VALUES) or shared(result, [owner], VALUES, writable=True)
        if where:
            findings.append(Finding("aliased", f"aliased: {full}", full, f"{where} has memory of somebody else"))
    return findings
