"""What has left the library or moved: public names, parameters and values of parameters, and what to use instead.

An entry stays for one release. A module whose names have left has ``__getattr__ = removed_names(__name__)``, and a
class whose parameters have left or changed names decorates ``__init__`` with `ignores_removed`. `check_parameters`
refuses values.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from preimage._engine.warnings import warn_user

SINCE = "1.0.0"
# The version without the tables below; a test reminds of it.
UNTIL = "1.1.0"

# "module.name" of the package, "Owner.parameter", or "Owner.parameter=value"; and a sentence for users.
REMOVED = {
    "calibration.compare_decisions": "preimage.inflation_report measures gains, as `gain` and `gain_error`.",
    "calibration.dependence_test": "preimage.inflation_report tests pairs of components, as `dependence`.",
    "model_selection.align_maps": "neuro.split_half(reference=maps) aligns maps with those that it is given.",
    "model_selection.paired_permutation_test": "scipy.stats.permutation_test has permutation_type='samples'.",
    "geometry.christoffel_symbols": "geometry.geodesic follows the paths that they describe.",
    "geometry.ricci_tensor": "geometry.scalar_curvature describes the curvature.",
    "geometry.plane_curvatures": "geometry.scalar_curvature describes the curvature.",
    "geometry.riemann_tensor": "geometry.scalar_curvature describes the curvature.",
    "geometry.sectional_curvatures": "geometry.scalar_curvature describes the curvature.",
    "cli.doctor": "Type: python -c 'import preimage; preimage.show_versions()'.",
    "KernelImputerCV.sample_posterior": "KernelImputer(sample_posterior=True) draws around conditional means.",
    "landmarks.candidates_needed": "The best of κ draws misses a fraction q of all with probability (1 − q)^κ.",
    "landmarks.sampling_deviation": "Landmarks.residual_bound is the bound that it gives.",
    "landmarks.lowrank_plus_diagonal": "Woodbury's formula takes the factor of `select(..., with_factor=True)`.",
    "landmarks.preconditioner": "Woodbury's formula takes the factor of `select(..., with_factor=True)`.",
    "neuro.mask_scans": "nilearn.maskers.NiftiMasker(mask).fit_transform(image) gives the table.",
    "neuro.molgedey_schuster": "sklearn.decomposition.FastICA and preimage.KernelProjectionPursuit separate sources.",
    "neuro.noise_of_scans": "neuro.make_scans takes noise of any kind; nilearn.signal.clean removes slow signals.",
    "WidthSearch.criterion=primal_dual_ball": "criterion='enclosing_ball' is exact and faster.",
    "WidthSearch.criterion=randomized_ball": "criterion='enclosing_ball' is exact; n_samples takes fewer points.",
    "SemiSupervisedKernelPCA.center_codes": "An encoding may be an array of any targets, one row per class.",
    "WidthSearch.n_steps": "It belonged to criterion='randomized_ball'.",
    "MultiStart.starts=neighbors": "WeightedMean() among the starts is a mean of the training points.",
    "Select.rule=eigenvectors": "rule='removal' is exact, faster, and never worse in a step.",
    "leave_one_out.method=refit": "method='exact' gives the same scores to rounding errors.",
    "linear_leave_one_out.method=refit": "method='exact' gives the same scores to rounding errors.",
    "ConformalMap.penalty": "Its correction was unstable; LearnedMap(kernel='linear') is a regression with a ridge.",
    "DistanceConstraint.form": "The form is 'inner_products'; the published one is for targets of length one.",
    "WeightedMean.form": "The form is 'inner_products'; the published one is for targets of length one.",
    "KernelFisherDiscriminant.margin_C": "threshold='margin' has the cost 10, in units of the deviation of values.",
    "KernelFisherDiscriminant.regularizer=both": "regularizer='norm' or 'identity' penalises alone.",
    "KernelFisherDiscriminant.sparsity=cv": "GridSearchCV over numbers of coefficients chooses one.",
    "KernelFisherDiscriminant.sparsity_": "GridSearchCV over numbers of coefficients chooses one.",
    "KernelFisherDiscriminant.sparsity_results_": "GridSearchCV over numbers of coefficients has cv_results_.",
    "KernelFisherDiscriminantCV.margin_C": "threshold='margin' has the cost 10, in units of the deviation of values.",
    "KernelFisherDiscriminantCV.refit": "The best model is always fitted; GridSearchCV has several scores at once.",
    "KernelFisherDiscriminantCV.regularizer=both": "regularizer='norm' or 'identity' penalises alone.",
    "KernelKMeans.init=random": "init='k-means++' finds smaller inertias in fewer runs.",
    "RandomlyPivotedCholesky.method": "Rows are drawn as method='accelerated' did; block_size=1 draws one at a time.",
}

# "Owner.parameter" and its new name, which the old one means for one release; a number is a place of an argument.
RENAMED_PARAMETERS = {
    "EmpiricalKernelMap.points": "landmarks",
    "KernelPCA.eigensolver": "eigen_solver",
    "DenoisingSearch.0": "noise",
    "DenoisingSearch.deviation": "sigma",
    "DenoisingSearch.noise": "added_noise",
}
# Names that go on working where they were, with a warning; and where they are now.
MOVED = {
    "calibration.inflation": "inflation.inflation",
    "calibration.leave_one_out": "inflation.leave_one_out",
    "calibration.linear_leave_one_out": "inflation.linear_leave_one_out",
    "calibration.renormalize": "inflation.renormalize",
    "calibration.svm_leave_one_out": "inflation.svm_leave_one_out",
    "calibration.transfer_function": "inflation.transfer_function",
    "model_selection.fdr_threshold": "neuro.fdr_threshold",
    "model_selection.pr_curve": "neuro.pr_curve",
    "model_selection.reference_components": "neuro.reference_components",
    "model_selection.reproducible_map": "neuro.reproducible_map",
    "model_selection.sensitivity_map": "neuro.sensitivity_map",
    "model_selection.split_half": "neuro.split_half",
    "model_selection.split_half_denoising": "neuro.split_half_denoising",
    "model_selection.split_half_null": "neuro.split_half_null",
    "plotting.MapDisplay": "neuro.MapDisplay",
    "plotting.SplitHalfDisplay": "neuro.SplitHalfDisplay",
}


def sentence(entry: str) -> str | None:
    """What is said of an entry of the table; None for what has not left."""
    return None if entry not in REMOVED else f"preimage has no {entry} from version {SINCE} on. {REMOVED[entry]}"


def removed_names(module: str) -> Callable[[str], Any]:
    """`__getattr__` of a module: a name that has moved; of one that has left its sentence, then Python's own error."""

    def __getattr__(name: str) -> Any:
        entry = f"{module.removeprefix('preimage.')}.{name}"
        if entry in MOVED:
            moved = f"preimage.{entry} has moved to preimage.{MOVED[entry]}. The old name ends with {UNTIL}."
            warn_user(moved, FutureWarning)
            return getattr(import_module(f"preimage.{MOVED[entry].rpartition('.')[0]}"), name)
        said = sentence(entry)
        if said is not None:
            warn_user(said, FutureWarning)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__


def ignores_removed(init: Callable[..., None]) -> Callable[..., None]:
    """Let `__init__` warn of keywords that have left, and go on without them or with their new names."""

    @wraps(init)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        if arguments and (first := RENAMED_PARAMETERS.get(f"{type(self).__name__}.0")):  # by name alone now
            arguments, keywords = arguments[1:], {first: arguments[0], **keywords}
        keywords = renamed(type(self).__name__, keywords)
        for name in list(keywords):
            if (said := sentence(f"{type(self).__name__}.{name}")) is not None:
                del keywords[name]
                warn_user(said, FutureWarning)
        init(self, *arguments, **keywords)

    __init__.deprecated_original = init  # type: ignore[attr-defined]  # scikit-learn reads parameters from it
    return __init__


def renamed(owner: str, parameters: dict[str, Any], *, warns: bool = True) -> dict[str, Any]:
    """Parameters by their present names; files of earlier versions may have both, of which the new one counts."""
    found = dict(parameters)
    for old in parameters:
        if (new := RENAMED_PARAMETERS.get(f"{owner}.{old}")) is None:
            continue
        value = found.pop(old)
        if warns:
            said = f"{owner} calls its parameter {old!r} {new!r} from version {SINCE} on; {old!r} ends with {UNTIL}."
            warn_user(said, FutureWarning)
            if found.get(new) is not None:
                raise ValueError(
                    f"{owner} was given {old}={value!r} and {new}={found[new]!r}, two spellings of one parameter. "
                    f"Leave {old} out."
                )
        if found.get(new) is None:
            found[new] = value
    return found


def refuse_removed(owner: str, parameter: str, value: Any) -> None:
    """Raise the sentence of a value that has left."""
    if isinstance(value, str) and (said := sentence(f"{owner}.{parameter}={value}")) is not None:
        raise ValueError(said)
