"""Leave-one-out scores and decisions of models that need no refits; one function per model."""

from dataclasses import dataclass
from functools import cached_property, singledispatch
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC, NuSVC

from preimage._engine.arrays import is_foreign, take_rows, to_dense
from preimage._engine.threads import at_most, run_parallel, within_n_jobs
from preimage._engine.typing import Array, Rows, Targets
from preimage._models.discriminants import GramFisher
from preimage._models.discriminants._problem import gram_matrix
from preimage._models.machines import OneVsOne
from preimage.estimators._classifier import with_class_weights
from preimage.estimators._kernel_fisher import KernelFisherDiscriminant, fisher_options
from preimage.estimators._kernel_pca import KernelPCA
from preimage.feature_space import Gram
from preimage.inflation._inflation import mean
from preimage.inflation._inputs import as_decisions, as_inputs, decides_by_pairs, rows_of
from preimage.inflation._leave_one_out import LeaveOneOut, leave_one_out, linear_leave_one_out
from preimage.inflation._svm_leave_one_out import MOST_THREADS, svm_leave_one_out, useful_threads
from preimage.interop import machine_of


@dataclass(frozen=True)
class TrainingSet:
    """What a model was fitted on; equal rows are left out together.

    Attributes
    ----------
    inputs : rows as the model was given them
    units : integer array of shape (n,)
        Equal rows have the same number.
    weights : array of shape (n,) or None
    codes : integer array of shape (n,), empty for transformers
        Labels as positions among the classes.
    """

    inputs: Rows
    units: Array
    weights: Array | None
    codes: Array = ()

    @cached_property
    def first(self) -> Array:
        """The first of the rows of every unit, shape (u,)."""
        return np.unique(self.units, return_index=True)[1]

    @property
    def has_copies(self) -> bool:
        return len(self.first) < len(self.units)

    def mass(self, weights: Array | None) -> Array | None:
        """Weights of units, shape (u,); None where every unit is one row of weight one."""
        return np.bincount(self.units, weights) if self.has_copies or weights is not None else None

    def distinct(self, *, pairwise: bool = False) -> Rows:
        """One row of every unit; of a kernel matrix, also one column."""
        rows = rows_of(self.inputs, self.first) if self.has_copies else self.inputs
        return rows[:, self.first] if pairwise and self.has_copies else rows


@singledispatch
def exact_scores(model: Any, rows: TrainingSet, count: int) -> LeaveOneOut | None:
    """Leave-one-out scores of the distinct rows along `count` components, by one decomposition; None for most models.

    Signs and scale are those of `leave_one_out`, not those of the model.
    """
    return None


@exact_scores.register
def _(model: KernelPCA, rows: TrainingSet, count: int) -> LeaveOneOut | None:
    if model.route_ != "exact" or model.subspace_.signature is not None or not model.center:
        return None
    points = model.kernel_.inputs(as_inputs(rows.inputs))  # row numbers for a precomputed kernel
    points = take_rows(points, rows.first) if rows.has_copies else points
    return leave_one_out(Gram(model.kernel_, points).dense(), count, sample_weight=rows.mass(rows.weights))


@exact_scores.register
def _(model: PCA, rows: TrainingSet, count: int) -> LeaveOneOut | None:
    if type(model) is not PCA or rows.weights is not None:
        return None
    if (mass := rows.mass(None)) is None:
        return linear_leave_one_out(as_inputs(rows.inputs), count)
    dense = to_dense(as_inputs(rows.distinct()))
    dense = dense - mass @ dense / mass.sum()
    return leave_one_out(dense @ dense.T, count, sample_weight=mass)


@exact_scores.register
def _(model: SklearnKernelPCA, rows: TrainingSet, count: int) -> LeaveOneOut | None:
    if type(model) is not SklearnKernelPCA or rows.weights is not None:
        return None
    inputs = as_inputs(rows.distinct(pairwise=model.kernel == "precomputed"))
    if callable(model.kernel):
        gram = pairwise_kernels(inputs, metric=model.kernel, **(model.kernel_params or {}))
    else:
        gamma = getattr(model, "gamma_", model.gamma)
        parameters = {"gamma": gamma, "degree": model.degree, "coef0": model.coef0}
        gram = pairwise_kernels(inputs, metric=model.kernel, filter_params=True, **parameters)
    return leave_one_out(gram, count, sample_weight=rows.mass(None))


class ExactDecisions(NamedTuple):
    """Decisions of the model of all rows, of the models without each row, and the mean decisions of the latter.

    Arrays of shape (n, k), with k = 1 for two classes.
    """

    train: Array
    left_out: Array
    levels: Array


@singledispatch
def exact_decisions(model: Any, rows: TrainingSet) -> ExactDecisions | None:
    """Leave-one-out decisions by changes of the solution; None for models that have to be fitted again."""
    return None


@exact_decisions.register
def _(model: SVC, rows: TrainingSet) -> ExactDecisions | None:
    """Of two classes; or votes of pairs of classes, where leaving out a row changes the machines of its class alone."""
    if type(model) is not SVC or decides_by_pairs(model):
        return None
    codes = rows.codes
    costs = model.C * model.class_weight_[codes] * (1.0 if rows.weights is None else rows.weights)
    if not costs.all() or model.fit_status_:
        return None  # `support_` does not count rows of weight zero, and machines that did not converge are others
    K = kernel_matrix(model, rows.inputs)
    if len(model.classes_) == 2:
        columns = _two_class_machine(model, K, codes, costs, rows)
        return ExactDecisions(*(each[:, None] for each in columns))
    pairs = list(combinations(range(len(model.classes_)), 2))
    decisions, left_out = np.empty((2, len(codes), len(pairs)))

    def leave_out(column: int) -> None:
        pair = pairs[column]
        coefficients = _pair_coefficients(model, codes, *pair)
        decisions[:, column] = K @ coefficients + model.intercept_[column]
        members = np.flatnonzero(np.isin(codes, pair))
        without = svm_leave_one_out(
            K[np.ix_(members, members)],
            np.where(codes[members] == pair[0], 1.0, -1.0),
            coefficients[members],
            costs[members],
            decisions[members, column],
            rows.units[members],
        )
        left_out[:, column] = decisions[:, column]
        left_out[members, column] = without.values

    # Of the two largest classes.
    n_rows, n_support = (int(np.sort(each)[-2:].sum()) for each in (np.bincount(codes), model.n_support_))
    with at_most(useful_threads(n_rows, n_support)):
        run_parallel(leave_out, range(len(pairs)))
    votes = OneVsOne(model.classes_).decision
    train, left_out = votes(decisions), votes(left_out)
    return ExactDecisions(train, left_out, np.broadcast_to(mean(train, rows.weights), train.shape))


@exact_decisions.register
def _(model: OneVsRestClassifier, rows: TrainingSet) -> ExactDecisions | None:
    machines = model.estimators_
    if type(model) not in (OneVsRestClassifier, OneVsRestSVC):
        return None
    if not all(type(each) is SVC and not each.fit_status_ for each in machines):
        return None
    weights = rows.weights
    if type(model) is OneVsRestSVC:
        weights = model.row_weights(model.classes_[rows.codes], weights)
    # For two classes there is one machine, positive for the second class.
    members = [(rows.codes == (1 if len(machines) == 1 else k)).astype(int) for k in range(len(machines))]
    costs = [
        machine.C * machine.class_weight_[is_member] * (1.0 if weights is None else weights)
        for machine, is_member in zip(machines, members, strict=True)
    ]
    # libsvm drops rows of cost zero, so the coefficients would not be aligned with the rows of K.
    if not all(each.all() for each in costs):
        return None
    K = kernel_matrix(machines[0], rows.inputs)
    n_support = max(machine.support_.size for machine in machines)
    with at_most(useful_threads(len(K), n_support)):
        columns = run_parallel(
            lambda k: _two_class_machine(machines[k], K, members[k], costs[k], rows), range(len(machines))
        )
    return ExactDecisions(*(np.stack(each, axis=1) for each in zip(*columns, strict=True)))


@exact_decisions.register
def _(model: KernelFisherDiscriminant, rows: TrainingSet) -> ExactDecisions | None:
    """Of two classes on all points with a penalty on the norm, in closed form; None for others."""
    codes = rows.codes
    if type(model) is not KernelFisherDiscriminant or is_foreign(rows.inputs):
        return None
    if len(model.classes_) != 2 or not has_free_intercepts(model):
        return None
    if (codes != codes[rows.first][rows.units]).any():
        return None  # equal rows of different classes
    # The closed form leaves out one row at a time: copies of a row are one row with their weights together.
    mass = rows.mass(with_class_weights(model, model.classes_[codes], rows.weights))
    if mass is not None and not mass.all():
        return None
    is_precomputed = model.kernel_.points_are_row_numbers
    inputs = as_inputs(rows.distinct(pairwise=is_precomputed))
    K = to_dense(inputs) if is_precomputed else gram_matrix(model.kernel_, inputs)
    problem = GramFisher(K, codes[rows.first], 2, mass, is_relative=fisher_options(model).is_relative)
    train = as_decisions(model.decision_function(rows.inputs), model)
    found = problem.left_out_decisions(model.alpha, train[rows.first, 0])
    return None if found is None else ExactDecisions(train, *(each[rows.units, None] for each in found))


def has_free_intercepts(model: Any) -> bool:
    """Whether decisions are expansions whose coefficients sum to zero, and a constant that has no penalty.

    Only then do mean decisions tell how the constant moved; otherwise they would reveal the classes of rows left out.
    """
    if hasattr(model, "steps"):
        return has_free_intercepts(model.steps[-1][1])
    if isinstance(model, OneVsRestClassifier):
        return all(has_free_intercepts(each) for each in model.estimators_)
    if isinstance(model, KernelFisherDiscriminant):
        # landmarks="auto" may have meant all points.
        on_all_points = model.landmarks_ is None and (model.landmarks is None or isinstance(model.landmarks, str))
        return on_all_points and fisher_options(model).solves_by_gram
    return isinstance(model, (SVC, NuSVC)) and len(model.classes_) == 2


def kernel_matrix(svm: SVC, inputs: Rows) -> Array:
    """Kernel values of a fitted machine for its training rows, shape (n, n)."""
    inputs = as_inputs(inputs)
    if isinstance(svm.kernel, str) and svm.kernel == "precomputed":
        return to_dense(inputs)
    with at_most(MOST_THREADS):  # as all work on these values
        return machine_of(svm).expansion.kernel(inputs, inputs)


def _pair_coefficients(svm: SVC, codes: Array, first: int, second: int) -> Array:
    """Coefficients of all rows in the machine of two classes, shape (n,).

    Row `second - 1` of `dual_coef_` has the coefficients of class `first` against `second`, and row `first` those of
    class `second` against `first`.
    """
    dual, support = to_dense(svm.dual_coef_), codes[svm.support_]
    coefficients = np.zeros(len(codes))
    for code, row in ((first, second - 1), (second, first)):
        coefficients[svm.support_[support == code]] = dual[row, support == code]
    return coefficients


def _two_class_machine(svm: SVC, K: Array, codes: Array, costs: Array, rows: TrainingSet) -> tuple[Array, Array, Array]:
    """Training decisions, left-out decisions and levels, (n,) each."""
    coefficients = np.zeros(len(codes))
    coefficients[svm.support_] = np.ravel(to_dense(svm.dual_coef_))
    decisions = K @ coefficients + svm.intercept_[0]
    result = svm_leave_one_out(K, 2.0 * codes - 1, coefficients, costs, decisions, rows.units, rows.weights)
    return decisions, result.values, result.levels


# Rows of training sets whose machines are fitted on few threads: more of them wait for each other.
SMALL = 5000


class OneVsRestSVC(OneVsRestClassifier):
    """scikit-learn's `OneVsRestClassifier` of an `SVC`, with weights of samples and of classes.

    Weights of classes in a dictionary become weights of samples; "balanced" is taken by each machine for its two
    classes. `n_jobs` limits threads, not processes; None is all that are available.
    """

    @within_n_jobs
    def fit(self, X: Rows, y: Targets, sample_weight: Targets = None) -> "OneVsRestSVC":
        y = np.asarray(y)
        self.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(y)
        if not hasattr(type(self), "classes_"):  # a property in earlier versions of scikit-learn
            self.classes_ = self.label_binarizer_.classes_
        weights, machine = self.row_weights(y, sample_weight), clone(self.estimator)
        if isinstance(machine.class_weight, dict):
            machine.set_params(class_weight=None)
        # libsvm leaves the interpreter to other threads while it fits. Fits take some milliseconds for a thousand rows.
        with at_most(MOST_THREADS if len(y) <= SMALL else None):
            self.estimators_ = run_parallel(
                lambda name: clone(machine).fit(X, (y == name).astype(int), sample_weight=weights),
                self.label_binarizer_.classes_,
            )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def row_weights(self, y: Targets, sample_weight: Array | None = None) -> Array | None:
        """What rows weigh in every machine, shape (n,); None where all weigh the same."""
        classes = self.estimator.class_weight
        if not isinstance(classes, dict):
            return sample_weight
        weights = np.array([classes.get(name, 1.0) for name in np.asarray(y).tolist()], dtype=np.float64)
        return weights if sample_weight is None else weights * sample_weight


def is_multiclass_svc(estimator: Any) -> bool:
    """Whether decisions of a fitted classifier are votes of pairs of classes of an SVC, one per class."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return type(last) is SVC and len(last.classes_) > 2 and last.decision_function_shape == "ovr"


def one_vs_rest(estimator: Any) -> Any:
    """An unfitted copy of a classifier that is or ends with an SVC, with one machine per class instead."""
    if not isinstance(estimator, Pipeline):
        return OneVsRestSVC(clone(estimator))
    name, last = estimator.steps[-1]
    return Pipeline([*clone(estimator).steps[:-1], (name, OneVsRestSVC(clone(last)))], memory=estimator.memory)
