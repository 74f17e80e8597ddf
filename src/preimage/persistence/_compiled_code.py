"""What compiled code follows without looking: indices and sizes in objects that came from a file.

Python and NumPy report an index that is too large. Compiled code of scikit-learn and SciPy trusts that a model is as
`fit` left it, and reads, or writes, outside of arrays where it is not. So each class whose compiled code uses what was
learned has its invariants here, and they are checked before anything else is done with the object.

Classes that files may hold and that have none: their methods follow indices in NumPy, or hand compiled code nothing but
arrays that are computed from the caller's rows.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, PolynomialFeatures, SplineTransformer
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from preimage._engine.arrays import is_sparse
from preimage.kernels import Kernel

# Processes or threads that a stored estimator may ask for; a larger number would start as many and stop the machine.
MOST_JOBS = 1024
# Counting the terms of a polynomial takes time that grows with its degree; powers beyond 100 overflow in any case.
MOST_DEGREE = 100
# Numbers of the state of a Mersenne twister, one after another of which its compiled code takes.
TWISTER = 624


def check_compiled(value: Any) -> None:
    """Raise ValueError if compiled code would follow a learned attribute of `value` out of an array."""
    for kinds, check in _INVARIANTS:
        if isinstance(value, kinds):
            check(value)
    jobs = getattr(value, "n_jobs", None)
    require(not isinstance(jobs, Integral) or abs(int(jobs)) <= MOST_JOBS, "at most {} jobs; got {}", MOST_JOBS, jobs)


def check_csr(name: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> None:
    """Raise ValueError unless the parts of a sparse array fit its shape.

    SciPy's compiled products do not check indices, and its own `check_format` passes over matrices whose last pointer
    says that they are empty.
    """
    fits = all(part.ndim == 1 for part in (data, indices, indptr))
    fits = fits and [part.dtype.kind for part in (indices, indptr)] == ["i", "i"]
    fits = fits and indptr.size == shape[0] + 1 and indptr[0] == 0 and indptr[-1] <= data.size == indices.size
    fits = fits and bool(np.all(indptr[1:] >= indptr[:-1]) and np.all((indices >= 0) & (indices < shape[1])))
    if not fits:
        raise ValueError(f"The sparse array {name!r:.60} of the file does not fit its shape {shape}.")


def check_booleans(array: np.ndarray) -> None:
    """Raise ValueError unless booleans are 0 or 1; NumPy counts and selects by their bytes, and relies on it."""
    if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
        raise ValueError("The file has booleans that are neither true nor false.")


def check_generator(name: str, state: dict[str, Any]) -> None:
    """Raise ValueError unless the state of a random generator is one: NumPy takes any, and draws for ever from some.

    A Mersenne twister reads at any position outside of its numbers, and of zeros makes zeros, which samplers that draw
    again never accept. The other generator, s ← a s + c, stays at zero unless c is odd.
    """
    if name == "MT19937":
        check_twister(state)
    else:
        # Others have indices too (Philox a place in a buffer, which may be any number), and `save` writes none of them.
        require(name == "PCG64", "a random generator of the kind PCG64 or MT19937; got {!r:.30}", name)
        increment = state.get("inc")
        require(isinstance(increment, Integral) and int(increment) % 2 == 1, "a random generator with an odd increment")


def check_twister(state: dict[str, Any]) -> None:
    """Raise ValueError unless the state of a Mersenne twister is one."""
    position, key = state.get("pos"), np.asarray(state.get("key"))
    is_inside = isinstance(position, Integral) and 0 <= int(position) <= TWISTER
    require(is_inside and key.shape == (TWISTER,), "a random generator with its {} numbers", TWISTER)
    # Of the first number only the highest bit counts.
    require(np.any(key[1:]) or int(key[0]) >= 2**31, "a random generator whose numbers are not all zero")


def require(condition: Any, wanted: str, *found: Any) -> None:
    """Raise ValueError unless `condition` holds; only then what was `found` is written into `wanted`."""
    if not condition:
        raise ValueError(f"The model of the file needs {wanted.format(*found) if found else wanted}.")


def _check_libsvm(svm: Any) -> None:
    """libsvm takes addresses: of support vectors, their coefficients, counts, numbers of rows, and probabilities."""
    learned = vars(svm)
    require("_impl" not in learned, "a support vector machine of the kind that its class says")
    if "_n_support" not in learned:  # not fitted: its methods say so before anything compiled is called
        return
    support, counts, is_classifier = svm.support_, svm._n_support, isinstance(svm, (SVC, NuSVC))
    _check_vector("support_", support, np.int32)
    _check_vector("_n_support", counts, np.int32)
    # libsvm stores regression and one-class machines in the arrays of two classes, with all vectors in the first count.
    n, classes = len(support), len(svm.classes_) if is_classifier else 2
    pairs = classes * (classes - 1) // 2
    require(classes >= 2, "two or more classes; got {}", classes)
    require(counts.shape == (classes,) and counts.min() >= 0, f"counts of support vectors of {classes} classes")
    in_classes = counts.sum(dtype=np.int64) if is_classifier else counts[0]
    require(in_classes == n, f"{n} support vectors in all classes together")
    # With a precomputed kernel libsvm looks up the columns `support_` of the rows that it is asked about.
    shape = svm.shape_fit_
    is_shape = isinstance(shape, tuple) and all(isinstance(size, Integral) and int(size) >= 0 for size in shape)
    require(is_shape and len(shape) in (1, 2), "the shape of the training rows; got {!r:.60}", shape)
    require(np.all((support >= 0) & (support < shape[0])), f"numbers of support vectors below {shape[0]}")
    computes, of_sparse = isinstance(svm.kernel, str) and svm.kernel != "precomputed", svm._sparse
    require(isinstance(of_sparse, bool) and of_sparse <= computes, "a machine of dense or of sparse rows")
    if svm.kernel == "precomputed":
        require(svm.n_features_in_ == shape[0], f"{shape[0]} columns of a precomputed kernel")
    elif not computes:
        require(isinstance(svm.kernel, (Kernel, GaussianProcessKernel)), "a kernel; got {!r:.60}", svm.kernel)
        rows = np.shape(svm._BaseLibSVM__Xfit)
        require(len(rows) == 2 and rows[0] == shape[0], f"{shape[0]} training rows of two axes; got {rows}")
    else:
        vectors = svm.support_vectors_
        require(is_sparse(vectors) == of_sparse, "support vectors that are sparse if its rows were")
        require(vectors.shape == (n, svm.n_features_in_), f"{n} support vectors as rows")
    require(svm.dual_coef_.shape == svm._dual_coef_.shape == (classes - 1, n), f"coefficients of {n} support vectors")
    # libsvm reads (classes − 1) · n numbers from this array, whatever its shape says, so zeros must be stored too.
    stored = svm._dual_coef_.data if is_sparse(svm._dual_coef_) else svm._dual_coef_
    require(is_sparse(svm._dual_coef_) == of_sparse, "coefficients that are sparse if its rows were")
    require(stored.size == (classes - 1) * n, f"coefficients of {n} support vectors, zeros included")
    _check_vector("_intercept_", svm._intercept_, np.float64)
    require(svm.intercept_.shape == svm._intercept_.shape == (pairs,), f"{pairs} intercepts")
    sizes = [_check_vector(name, getattr(svm, name), np.float64) for name in ("_probA", "_probB")]
    # The sparse variant reads both wherever this is set, without asking how many there are.
    has_probabilities = learned.get("_effective_probability", learned.get("probability")) not in (False, "deprecated")
    allowed = ([pairs, pairs],) if has_probabilities else ([pairs, pairs], [0, 0])
    require(sizes in allowed, f"{pairs} parameters of probabilities, or none")


def _check_gradient_descent(model: Any) -> None:
    """`partial_fit` goes on from the coefficients and from their averages, which have one row each per function."""
    learned = vars(model)
    if not isinstance(learned.get("coef_"), np.ndarray):  # not fitted, or sparse: Python refuses to go on from that
        return
    shape, d = model.coef_.shape, model.n_features_in_
    require(len(shape) in (1, 2) and shape[-1] == d, f"coefficients of {d} columns")
    rows = model.coef_.size // max(d, 1)
    for name, array in learned.items():
        if array is None or name == "fit_intercept":
            continue
        if name.endswith(("coef", "coef_")):  # of one function they may be a vector or a row
            is_right = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape in (shape, (rows * d,))
            require(is_right and (rows == 1 or array.shape == shape), "{} of shape {}", name, shape)
        if name.endswith(("intercept", "intercept_")):
            require(np.size(array) == rows, "{} intercepts as {}", rows, name)


def _check_coordinate_descent(model: Any) -> None:
    """With `warm_start` coordinate descent writes into a copy of `coef_`, a number for each column of the rows."""
    coefficients = vars(model).get("coef_")
    if coefficients is not None:
        d = model.n_features_in_
        is_right = isinstance(coefficients, np.ndarray) and coefficients.ndim in (1, 2) and coefficients.shape[-1] == d
        require(is_right, f"coefficients of {d} columns")


def _check_categories(encoder: Any) -> None:
    """Codes of categories become columns of a sparse array, whose compiled code does not check them."""
    learned = vars(encoder)
    if "categories_" not in learned:
        return
    categories = encoder.categories_
    is_list = isinstance(categories, list) and len(categories) == encoder.n_features_in_
    require(
        is_list and all(np.ndim(each) == 1 for each in categories), f"categories of {encoder.n_features_in_} columns"
    )
    for each in categories:
        require(_are_in_order(each), "numeric categories in sorted order, with NaN only at the end")
    sizes = [len(each) for each in categories]
    if learned.get("_infrequent_enabled", True):
        groups, mappings = encoder._infrequent_indices, encoder._default_to_infrequent_mappings
        for names in (groups, mappings):
            require(isinstance(names, list) and len(names) == len(sizes), "groups of categories for every column")
        for column, (rare, mapping) in enumerate(zip(groups, mappings)):
            n = sizes[column]
            require((rare is None) == (mapping is None), "rare categories and their codes, or neither")
            if rare is not None:
                sizes[column] = n - np.size(rare) + 1
                are_rare = _are_below(rare, n) and 0 < np.size(rare) <= n
                require(are_rare and np.shape(mapping) == (n,), f"codes of {n} categories")
                require(_are_below(mapping, sizes[column]), f"codes below {sizes[column]}")
    dropped = encoder._drop_idx_after_grouping
    if dropped is not None:
        require(np.shape(dropped) == (len(sizes),), "a dropped category, or None, for each column")
        for column, index in enumerate(dropped):
            if index is not None:
                require(
                    isinstance(index, Integral) and 0 <= int(index) < sizes[column], "dropped categories that exist"
                )
                sizes[column] -= 1
    require(encoder._n_features_outs == sizes, f"{sum(sizes)} columns of codes")


def _are_in_order(categories: np.ndarray) -> bool:
    """Whether a binary search finds each of these numbers at a place inside of the array.

    It takes NaN for larger than all numbers: anywhere but at the end, the search for NaN arrives behind the array.
    Words and objects are looked up in a dict, in any order; scikit-learn looks up no numbers among them.
    """
    if categories.dtype.kind in "OUS":
        return True
    has_nan = categories.dtype.kind == "f" and categories.size > 0 and bool(np.isnan(categories[-1]))
    numbers = categories[:-1] if has_nan else categories
    return not np.any(numbers != numbers) and bool(np.all(numbers[:-1] <= numbers[1:]))


def _check_labels(binarizer: Any) -> None:
    """As with categories: the place of a label is a column of a sparse array."""
    places, classes = vars(binarizer).get("_cached_dict"), vars(binarizer).get("classes_")
    if places is not None:
        is_table = isinstance(places, dict) and len(places) == np.size(classes)
        require(is_table and _are_below(list(places.values()), len(places)), "a column for every class")


def _check_polynomial(model: Any) -> None:
    """`transform` asks for the memory of as many columns as these numbers say."""
    if "n_output_features_" not in vars(model):
        return
    lowest, highest = (0, model.degree) if isinstance(model.degree, Integral) else model.degree
    require(highest <= MOST_DEGREE, "polynomials of degree {} or less; got {}", MOST_DEGREE, highest)
    require((model._min_degree, model._max_degree) == (lowest, highest), f"the degrees {lowest} to {highest}")
    terms = lambda first, bias: model._num_combinations(
        model.n_features_in_, first, highest, model.interaction_only, bias
    )
    expected = terms(lowest, model.include_bias), terms(0, model.include_bias)
    found = model.n_output_features_, model._n_out_full
    require(found == expected, "{} and {} terms of a polynomial", *expected)


def _check_topics(model: Any) -> None:
    """The digamma function counts up from its argument to six; from −1e300 it never arrives."""
    learned = vars(model)
    for name in ("components_", "exp_dirichlet_component_", "doc_topic_prior_", "topic_word_prior_"):
        if name in learned:
            array = np.asarray(learned[name])
            is_positive = array.dtype.kind == "f" and bool(np.all((array >= 0) & np.isfinite(array)))
            require(is_positive, "finite numbers that are not negative as {}", name)


def _check_splines(model: Any) -> None:
    """`save` cannot write the splines of SciPy, so no file of ours has fitted ones."""
    require("bsplines_" not in vars(model), "splines that are not fitted")


def _check_vector(name: str, array: Any, dtype: Any) -> int:
    is_right = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == dtype
    require(is_right, "a vector of {} as {}", np.dtype(dtype).name, name)
    return len(array)


def _are_below(places: Any, size: int) -> bool:
    """Whether these are whole numbers from 0 to size − 1."""
    array = np.asarray(places)
    return array.size == 0 or (array.dtype.kind in "iu" and bool(np.all((array >= 0) & (array < size))))


def _of_linear_model(*names: str) -> tuple[type, ...]:
    return tuple(getattr(linear_model, name) for name in names if hasattr(linear_model, name))


_INVARIANTS: tuple[tuple[Any, Any], ...] = (
    ((SVC, NuSVC, SVR, NuSVR, OneClassSVM), _check_libsvm),
    (_of_linear_model("SGDClassifier", "SGDRegressor", "SGDOneClassSVM", "Perceptron"), _check_gradient_descent),
    # These two are on their way out of scikit-learn.
    (_of_linear_model("PassiveAggressiveClassifier", "PassiveAggressiveRegressor"), _check_gradient_descent),
    (_of_linear_model("ElasticNet"), _check_coordinate_descent),
    (OneHotEncoder, _check_categories),
    (MultiLabelBinarizer, _check_labels),
    (PolynomialFeatures, _check_polynomial),
    (LatentDirichletAllocation, _check_topics),
    (SplineTransformer, _check_splines),
)
