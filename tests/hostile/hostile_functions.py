"""Public functions, each with the arguments that it is called with."""

import warnings

import numpy as np
from hostile_judge import judge
from hostile_problem import Case
from sklearn.svm import SVC

import preimage
from preimage import (
    calibration,
    eigensolvers,
    explorer,
    feature_space,
    geometry,
    interop,
    invariances,
    kernels,
    landmarks,
    model_selection,
    neuro,
    reduced_sets,
    solvers,
    testing,
    widths,
)

# Modules whose functions are called.
MODULES = {
    "preimage": preimage,
    "calibration": calibration,
    "eigensolvers": eigensolvers,
    "explorer": explorer,
    "feature_space": feature_space,
    "geometry": geometry,
    "interop": interop,
    "kernels": kernels,
    "landmarks": landmarks,
    "model_selection": model_selection,
    "neuro": neuro,
    "reduced_sets": reduced_sets,
    "solvers": solvers,
    "testing": testing,
    "widths": widths,
}
# Functions that are not called, each with its reason.
NOT_CALLED = {
    "preimage.load": "files are tested by mutilation",
    "preimage.save": "files are tested by mutilation",
    "interop.to_onnx": "files are tested by mutilation",
    "preimage.to_onnx": "files are tested by mutilation",
    "preimage.report_progress": "no numbers",
    "preimage.show_versions": "no numbers",
    "kernels.Cosine": "a kernel, among the others",
    "neuro.denoise_image": "takes images; its estimator is called with rows",
    "eigensolvers.measured_result": "takes eigenvalues and vectors of one matrix; all eigensolvers call it",
    "explorer.explore": "called as preimage.explore",
    **{f"testing.{name}": "raises an error or returns nothing" for name in testing.__all__},
}


class NoCall(BaseException):
    """The arguments of a function cannot be made from these data."""


class Inputs:
    """What functions take, from the data of a description."""

    def __init__(self, case):
        self.case, self.X, self.Z, self.y, self.w = case, case.X, case.Z, case.y, case.w
        self.A, self.B = np.asarray(case.values), np.asarray(case.query_values)
        self.rng = np.random.default_rng(case.problem.seed)
        self.option = case.params.get

    def kernel(self):
        return self.option("kernel", kernels.Gaussian(1.0)).resolve(self.A)  # kernels are texts here, never names

    def expansion(self):
        """Two vectors on the rows."""
        return feature_space.Expansion(self.kernel(), self.A, self.rng.normal(size=(len(self.A), 2)))

    def subspace(self):
        """The span of some of the rows."""
        return feature_space.Subspace.span(self.kernel(), self.A[:3])

    def groups(self):
        return np.arange(len(self.A)) % 4

    def fitted(self):
        """The estimator of the description, fitted. If it cannot be, that is no matter of the function."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return self.option("estimator").fit(self.A, self.y)
            except Exception as error:
                raise NoCall from error

    def machine(self):
        """A support vector machine on a kernel matrix of the rows, with what a leave-one-out estimate needs of it."""
        K, signs = self.kernel()(self.A), np.where(np.arange(len(self.A)) % 2, 1.0, -1.0)
        try:
            machine = SVC(kernel="precomputed", max_iter=10_000).fit(K, signs)
        except ValueError as error:
            raise NoCall from error
        coefficients = np.zeros(len(K))
        coefficients[machine.support_] = machine.dual_coef_[0]
        return K, signs, coefficients, np.ones(len(K)), machine.decision_function(K)


class Squares(solvers.Objective):
    """‖z − c‖² for a centre c per row."""

    def __init__(self, centers):
        self.centers = centers

    def at(self, Z):
        return solvers.Evaluation(np.sum((Z - self.centers) ** 2, axis=1), 2 * (Z - self.centers), np.zeros(len(Z)))

    def take(self, rows):
        return Squares(self.centers[rows])


def _compressed(i):
    return preimage.compress(i.fitted(), 3, X=i.X, method=i.option("method", "auto"))


def _explored(i):
    """A page, written out; with fewer points than rows, so that models are compressed."""
    page = preimage.explore(i.fitted(), i.X, i.y, n_points=i.option("n_points", 300), max_samples=20)
    page.to_html()
    return page


def _pairs(test):
    """The entries for pairs of columns; those of a column with itself are NaN, as documented."""
    pairs = np.triu_indices(len(test.p_values), 1)
    return test.information[pairs], test.p_values[pairs]


# One line per function: how it is called.
FUNCTIONS = {
    "preimage.compress": _compressed,
    "preimage.explore": _explored,
    "preimage.inflation_report": lambda i: preimage.inflation_report(i.option("estimator"), i.X, i.y, n_permutations=5),
    "calibration.compare_decisions": lambda i: calibration.compare_decisions({"b": i.A[:, 0]}, -i.A[:, 0], i.y, i.w),
    "calibration.dependence_test": lambda i: _pairs(calibration.dependence_test(i.A, 20, rng=0)),
    "calibration.inflation": lambda i: calibration.inflation(i.A, i.A[::-1] / 2, i.w),
    "calibration.leave_one_out": lambda i: calibration.leave_one_out(
        i.kernel()(i.A), i.option("n_components"), method=i.option("method", "exact")
    ),
    "calibration.linear_leave_one_out": lambda i: calibration.linear_leave_one_out(
        i.X, i.option("n_components"), method=i.option("method", "exact")
    ),
    "calibration.renormalize": lambda i: calibration.renormalize(i.A, i.B),
    "calibration.svm_leave_one_out": lambda i: calibration.svm_leave_one_out(*i.machine()),
    "calibration.transfer_function": lambda i: calibration.transfer_function(
        i.A[:, 0], i.A[::-1, 0] / 2, i.option("kind", "pchip"), weights=i.w
    )(i.B.ravel()),
    "neuro.make_scans": lambda i: neuro.make_scans(2, 8, 12, random_state=i.case.problem.seed),
    "geometry.arc_length": lambda i: geometry.arc_length(i.kernel(), i.A),
    "geometry.geodesic": lambda i: geometry.geodesic(i.kernel(), i.A[0], i.A[-1], n_points=5, tol=1e-4),
    "geometry.log_volume_element": lambda i: geometry.log_volume_element(i.kernel(), i.A),
    "geometry.mercer_report": lambda i: geometry.mercer_report(i.kernel(), i.A),
    "geometry.metric_tensor": lambda i: geometry.metric_tensor(i.kernel(), i.A),
    "geometry.scalar_curvature": lambda i: geometry.scalar_curvature(i.kernel(), i.A),
    "interop.machine_of": lambda i: interop.machine_of(i.fitted()),
    "kernels.gamma_from_width": lambda i: kernels.gamma_from_width(abs(float(i.A[0, 0])), "gamma"),
    "kernels.width_from_gamma": lambda i: kernels.width_from_gamma(abs(float(i.A[0, 0])), "gamma"),
    "kernels.resolve_gamma": lambda i: kernels.resolve_gamma(i.option("gamma", "scale"), i.A),
    "kernels.squared_distance_percentile": lambda i: kernels.squared_distance_percentile(i.A, 50),
    "landmarks.landmark_coefficients": lambda i: landmarks.landmark_coefficients(
        i.kernel(), i.A[:3], i.X, i.option("space", "function")
    ),
    "model_selection.add_noise": lambda i: model_selection.add_noise(i.A, abs(float(i.A[0, 0])), i.rng),
    "model_selection.align_maps": lambda i: model_selection.align_maps(i.A, i.A[::-1]),
    "model_selection.capacity_report": lambda i: model_selection.capacity_report(i.fitted(), i.A, i.y, scale=0.5),
    "model_selection.estimate_noise": lambda i: model_selection.estimate_noise(i.X),
    "model_selection.fdr_threshold": lambda i: model_selection.fdr_threshold(i.A.ravel()),
    "model_selection.paired_permutation_test": lambda i: model_selection.paired_permutation_test(
        i.A[:, 0], i.A[:, -1], n_permutations=20
    ),
    "model_selection.pr_curve": lambda i: model_selection.pr_curve(
        preimage.PenalizedDiscriminant(), i.X, i.y, i.groups(), param_range=[1e-3, 1e3], n_splits=2
    ),
    "model_selection.reference_components": lambda i: model_selection.reference_components(
        preimage.KernelPCA(2).fit(i.A), i.A, i.A[:, 0]
    ),
    "model_selection.reproducible_map": lambda i: model_selection.reproducible_map(i.A[0], i.A[-1]),
    "model_selection.sensitivity_map": lambda i: model_selection.sensitivity_map(i.fitted(), i.A),
    "model_selection.split_half": lambda i: model_selection.split_half(
        preimage.PenalizedDiscriminant(), i.X, i.y, i.groups(), n_splits=2
    ),
    "model_selection.split_half_denoising": lambda i: model_selection.split_half_denoising(
        preimage.KernelPCA(1), i.X, i.groups(), n_splits=2
    ),
    "model_selection.split_half_null": lambda i: model_selection.split_half_null(
        preimage.PenalizedDiscriminant(), i.X, i.y, i.groups(), n_splits=2, n_permutations=2
    ),
    "reduced_sets.project": lambda i: reduced_sets.project(i.expansion(), i.B),
    "reduced_sets.relative_error": lambda i: reduced_sets.relative_error(
        i.expansion(), reduced_sets.project(i.expansion(), i.A[:2])
    ),
    "solvers.free_length_preimages": lambda i: solvers.free_length_preimages(i.expansion()),
    "solvers.minimize_rows": lambda i: solvers.minimize_rows(
        Squares(i.A), i.A + 1, solvers.Box(), solvers.QuasiNewton(1.0, 1e-6), 5
    ),
    "solvers.objective_at": lambda i: solvers.objective_at(i.expansion(), i.A[:2]),
    "widths.class_gram": lambda i: widths.class_gram(i.X, i.y, [1e-3, 1.0, 1e3], i.option("kernel")),
    "widths.class_width": lambda i: widths.class_width(i.X, i.y, i.option("rule", "enclosing_ball")),
    "widths.enclosing_ball": lambda i: widths.enclosing_ball(i.kernel(), i.A, max_iter=1000),
    "widths.enclosing_box": lambda i: widths.enclosing_box(i.kernel(), i.A),
    "widths.with_class_widths": lambda i: widths.with_class_widths(i.option("kernel", kernels.Gaussian()), i.A, i.y),
    # Not functions, but used like one.
    "invariances.TangentCovariance": lambda i: invariances.TangentCovariance([invariances.TimeShift()]).tangent_factor(
        i.kernel(), i.A, i.A
    ),
    "invariances.VirtualExamples": lambda i: invariances.VirtualExamples([invariances.TimeShift()]).augment(i.A, i.y),
    "invariances.Rotate": lambda i: invariances.Rotate((1, i.A.shape[1])).tangents(i.A),
    "model_selection.DenoisingScorer": lambda i: [
        model_selection.DenoisingScorer(0.1, denoise_params=given)(preimage.KernelPCA(1).fit(i.A), i.A)
        for given in (None, {"loss": "tukey"})
    ],
}


def run_function(problem):
    case = Case(problem)
    inputs = Inputs(case)
    call = FUNCTIONS[problem.name]
    given = [case.X, case.Z, case.y, case.w, inputs.A, inputs.B]
    try:
        return judge(problem.name, lambda: call(inputs), given, is_finite=case.is_finite)[2]
    except NoCall:
        return []
