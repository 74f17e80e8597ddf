"""Answers do not depend on the unit of the inputs; where squares of inputs leave the range of numbers, that is said.

A kernel that finds its width from data is the same function of data in any unit. So coordinates, classes and
probabilities of X and of cX are the same, and pre-images are multiplied by c.
"""

import numpy as np
import pytest
from all_estimators import METHODS, TWO, X, Y, public_estimators
from for_each import for_each
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
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
    compress,
)
from preimage.kernels import (
    Cosine,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from preimage.model_selection import DenoisingSearch, WidthSearch

CENTERED = X - X.mean(axis=0)
HOLES = np.arange(X.size).reshape(X.shape) % 7 == 3
RULE = {"gamma": "median"}
FEW = {**RULE, "landmarks": 20, "random_state": 0}

# One line for a new estimator; several where a parameter brings an algorithm of its own. Widths follow the data. A
# learned map back, the default of `inverse_transform`, may choose a ridge that single precision does not allow, and
# inputs beyond its range are fitted in double precision; so a solver is named where it does.
MODELS = {
    "CompressedClassifier": lambda X: CompressedClassifier(SVC(), 5).fit(X, Y),
    "CompressedDetector": lambda X: CompressedDetector(OneClassSVM(), 5).fit(X),
    "CompressedRegressor": lambda X: CompressedRegressor(SVR(), 5).fit(X, Y),
    "CompressedTransformer": lambda X: CompressedTransformer(KernelPCA(2, **RULE), 5).fit(X),
    "compressed pipeline": lambda X: compress(
        make_pipeline(KernelPCA(3, **RULE), LogisticRegression()).fit(X, Y), 8, X=X
    ),
    "EmpiricalKernelMap": lambda X: EmpiricalKernelMap(whiten=True, **RULE).fit(X),
    "EmpiricalKernelMap with landmarks": lambda X: EmpiricalKernelMap(landmarks=8, **RULE).fit(X),
    "map whitened by data": lambda X: EmpiricalKernelMap(landmarks=8, whiten="data", **RULE).fit(X),
    "FeatureSpaceNeighbors": lambda X: FeatureSpaceNeighbors(**RULE).fit(X),
    "FeatureSpaceNeighborsClassifier": lambda X: FeatureSpaceNeighborsClassifier(weights="distance", **RULE).fit(X, Y),
    "FeatureSpaceNeighborsRegressor": lambda X: FeatureSpaceNeighborsRegressor(weights="distance", **RULE).fit(X, Y),
    "KernelFisherDiscriminant": lambda X: KernelFisherDiscriminant(**RULE).fit(X, Y),
    "Fisher with landmarks": lambda X: KernelFisherDiscriminant(**FEW).fit(X, Y),
    "sparse Fisher": lambda X: KernelFisherDiscriminant(sparsity=5, **RULE).fit(X, TWO),
    "Fisher with a width from labels": lambda X: KernelFisherDiscriminant(gamma="enclosing_ball").fit(X, Y),
    "KernelFisherDiscriminantCV": lambda X: KernelFisherDiscriminantCV(gammas=["median", "p5"]).fit(X, Y),
    "KernelImputer": lambda X: KernelImputer().fit(np.where(HOLES, np.nan, X)),
    "KernelImputer with landmarks": lambda X: KernelImputer(landmarks=20).fit(X),
    "KernelImputerCV": lambda X: KernelImputerCV(gammas=[0.1], noises=[1e-3, 1e-2]).fit(X),
    "KernelKMeans": lambda X: KernelKMeans(3, random_state=0, **RULE).fit(X),
    "k-means with landmarks": lambda X: KernelKMeans(3, **FEW).fit(X),
    "KernelNoveltyDetector": lambda X: KernelNoveltyDetector(0.1).fit(X),
    "detector with landmarks": lambda X: KernelNoveltyDetector(**FEW).fit(X),
    "KernelPCA": lambda X: KernelPCA(3, **RULE).fit(X),
    "KernelPCA with landmarks": lambda X: KernelPCA(3, **FEW).fit(X),
    "KernelPCA with centres of clusters": lambda X: KernelPCA(3, **{**FEW, "landmarks": "kmeans"}).fit(X),
    "KernelPCA of a stream": lambda X: KernelPCA(3, preimage="fixed_point", **FEW).partial_fit(X),
    "KernelPCA by iterations": lambda X: KernelPCA(3, eigen_solver="block_krylov", **RULE).fit(X),
    "KernelPCA of sparse rows": lambda X: KernelPCA(3, **RULE).fit(sparse.csr_matrix(X)),
    "KernelPCA with the fixed point": lambda X: KernelPCA(3, preimage="fixed_point", **RULE).fit(X),
    "KernelPCA with gradients": lambda X: KernelPCA(3, preimage="gradient", **RULE).fit(X),
    "KernelPCA with distances": lambda X: KernelPCA(3, preimage="distance_constraint", **RULE).fit(X),
    "KernelProjectionPursuit": lambda X: KernelProjectionPursuit(
        2, n_principal=4, preimage="fixed_point", random_state=0, **RULE
    ).fit(X),
    "OrientedKernelPCA": lambda X: OrientedKernelPCA(3, **RULE).fit(X),
    "PenalizedDiscriminant": lambda X: PenalizedDiscriminant(alpha=0.0).fit(X, Y),
    "Renormalized": lambda X: Renormalized(SVC()).fit(X, TWO),
    "renormalized KernelPCA": lambda X: Renormalized(KernelPCA(3, **RULE)).fit(X, TWO),
    "SemiSupervisedKernelPCA": lambda X: SemiSupervisedKernelPCA(3, **RULE).fit(X, Y),
    "SparseGreedyClassifier": lambda X: SparseGreedyClassifier(**RULE).fit(X, Y),
    "SparseGreedyDetector": lambda X: SparseGreedyDetector(**RULE).fit(X),
    "SparseGreedyRegressor": lambda X: SparseGreedyRegressor(**RULE).fit(X, Y),
    "regression with widths per column": lambda X: SparseGreedyRegressor(20, gamma="relevance").fit(X, Y),
    "SparseKernelFeatureAnalysis": lambda X: SparseKernelFeatureAnalysis(9, preimage="fixed_point", **RULE).fit(X),
    "LinearProgrammingClassifier": lambda X: LinearProgrammingClassifier(20, **RULE).fit(X, Y),
    "LinearProgrammingRegressor": lambda X: LinearProgrammingRegressor(20, max_gap=0.1, **RULE).fit(X, Y),
    "DenoisingSearch": lambda X: DenoisingSearch(n_components=[2, 3]).fit(X),
    "WidthSearch": lambda X: WidthSearch().fit(X, Y),
}
# Kernels of a width in the unit of the inputs, c; those of inner products, which grow with them, have one as well.
KERNELS = {
    "Gaussian": lambda c: Gaussian(0.5 / c**2),
    "Laplacian": lambda c: Laplacian(0.5 / c),
    "RationalQuadratic": lambda c: RationalQuadratic(0.5 / c**2),
    "InverseMultiquadric": lambda c: InverseMultiquadric(0.5 / c**2),
    "Multiquadric": lambda c: Multiquadric(0.5 / c**2),
    "Matern": lambda c: Matern(0.5 / c**2, nu=2.5),
    "Polynomial": lambda c: Polynomial(3, gamma=0.5 / c**2),
    "Sigmoid": lambda c: Sigmoid(0.01 / c**2, coef0=0.1),
    "Linear": lambda c: Linear() / c**2,
    "Cosine": lambda c: Cosine(),
    "sum": lambda c: Gaussian("median") + 0.1 * Laplacian("median"),
    "product": lambda c: Gaussian("scale") * (1 + Polynomial(2, gamma="scale")),
}
# Of these, scikit-learn's machine is fitted first, and says what it can of the data.
OF_OTHERS = ("CompressedClassifier", "CompressedDetector", "CompressedRegressor", "Renormalized")
# Powers of two, so that cX has the digits of X, near these powers of ten.
SINGLE, DOUBLE = (-37, -20, -15, -10, 10, 15, 20, 37), (-99, -30, 30, 99)
UNITS = [("float32", power) for power in SINGLE] + [("float64", power) for power in DOUBLE]
ENDS = [("float32", -37), ("float32", 20), ("float64", -99), ("float64", 99)]
# One test per model tries several; those between the ends are a net.
some_units = pytest.mark.parametrize(
    "units",
    [
        pytest.param(ENDS, id="ends"),
        pytest.param([each for each in UNITS if each not in ENDS], id="between", marks=pytest.mark.net),
    ],
)
# Iterations stop at their tolerances, and single precision loses more digits than double, which far units get.
ACCURACY = {"float64": 1e-6, "float32": 2e-2}


def unit(power):
    return 2.0 ** round(np.log2(10.0) * power)


def answers(model, rows, c):
    """What a model says of rows; points are divided by the unit, and signs of axes do not count."""
    found = {name: getattr(model, name)(rows) for name in METHODS if hasattr(model, name)}
    if hasattr(model, "inverse_transform"):
        found["inverse_transform"] = model.inverse_transform(found["transform"])
    gives_points = isinstance(model, (KernelImputer, KernelImputerCV, DenoisingSearch))
    points = {"denoise", "inverse_transform", *(["transform"] if gives_points else [])}
    return {name: np.asarray(each) / c if name in points else np.asarray(each) for name, each in found.items()}


def assert_same(found, expected, accuracy):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if values.dtype.kind != "f":
            np.testing.assert_array_equal(found[name], values, err_msg=name)
            continue
        atol = accuracy * np.abs(values).max()
        np.testing.assert_allclose(np.abs(found[name]), np.abs(values), rtol=0, atol=atol, err_msg=name)


_plain = {}


def plain(key, make):
    """Answers in a unit of one, computed once."""
    if key not in _plain:
        _plain[key] = make()
    return _plain[key]


def test_every_estimator_is_here():
    assert {each.__name__ for each in public_estimators()} <= set(MODELS)


@pytest.mark.filterwarnings("ignore")
@some_units
@pytest.mark.parametrize("name", MODELS)
def test_answers_do_not_depend_on_the_unit(name, units):
    def of(c, dtype):
        rows = (c * CENTERED).astype(dtype)
        return answers(MODELS[name](rows), rows[::7], c)

    @for_each(("dtype", "power"), units)
    def compare(dtype, power):
        assert_same(of(unit(power), dtype), plain((name, dtype), lambda: of(1.0, dtype)), ACCURACY[dtype])

    compare()


@pytest.mark.filterwarnings("ignore")
@some_units
@pytest.mark.parametrize(
    ("kernel", "landmarks"),
    [(kernel, None) for kernel in KERNELS]
    + [(kernel, 20) for kernel in KERNELS if kernel not in ("Multiquadric", "Sigmoid")],  # which are indefinite
)
def test_kernels_do_not_depend_on_the_unit(kernel, landmarks, units):
    def of(c, dtype):
        rows = (c * CENTERED).astype(dtype)
        model = KernelPCA(3, kernel=KERNELS[kernel](c), landmarks=landmarks, random_state=0).fit(rows)
        return {"transform": model.transform(rows), "variances": model.explained_variance_}

    @for_each(("dtype", "power"), units)
    def compare(dtype, power):
        assert_same(of(unit(power), dtype), plain((kernel, landmarks, dtype), lambda: of(1.0, dtype)), ACCURACY[dtype])

    compare()


@pytest.mark.filterwarnings("ignore")
@for_each("power", [-300, -160, 160, 300])
@pytest.mark.parametrize("name", [name for name in MODELS if name not in OF_OTHERS])
def test_units_without_squares_are_refused_with_the_largest_entry(name, power):
    largest = np.unravel_index(np.argmax(np.abs(CENTERED)), X.shape)
    size = f"{np.abs(CENTERED).max() * unit(power):.3g}"
    with pytest.raises(ValueError) as error:
        MODELS[name](unit(power) * CENTERED)
    for part in (size, f"row {largest[0]}, column {largest[1]}", "range of numbers", "StandardScaler"):
        assert part in str(error.value)


SOLVERS = ["dense", "arpack", "block_krylov"]
# Squares of kernel values are numbers up to these powers of ten of the inputs.
LINEAR = [("float64", -59), ("float64", 59), ("float32", -37), ("float32", -8), ("float32", 8), ("float32", 37)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dtype", "power"), LINEAR)
@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_coordinates_scale_with_the_inputs(solver, dtype, power):
    c, weights = unit(power), np.arange(len(X)) % 3 + 1.0
    rows = (c * CENTERED).astype(dtype)
    for given in ({"sample_weight": None}, {"sample_weight": weights}):
        expected = KernelPCA(2, kernel="linear").fit(CENTERED, **given)
        model = KernelPCA(2, kernel="linear", eigen_solver=solver).fit(rows, **given)
        atol = 1e-9 if dtype == "float64" else 1e-4
        np.testing.assert_allclose(model.transform(rows) / c, expected.transform(CENTERED), atol=atol)
        np.testing.assert_allclose(model.explained_variance_ratio_, expected.explained_variance_ratio_, atol=atol)
        np.testing.assert_allclose(model.denoise(rows[:3]) / c, expected.denoise(CENTERED[:3]), atol=atol)


@pytest.mark.filterwarnings("error")
@for_each("scale", [1e-99, 1e-30, 1e30, 1e95])
@for_each("solver", SOLVERS)
@for_each("K", [CENTERED @ CENTERED.T, -np.abs(X[:, :1] - X[:, 0])], ids=["kernel", "distances"])
def test_coordinates_scale_with_the_root_of_precomputed_values(K, solver, scale):
    expected = KernelPCA(2, kernel="precomputed").fit(K)
    model = KernelPCA(2, kernel="precomputed", eigen_solver=solver).fit(scale * K)
    np.testing.assert_allclose(model.transform(scale * K) / scale**0.5, expected.transform(K), atol=1e-8)


@pytest.mark.filterwarnings("ignore:All kernel values between different points vanish")
def test_data_that_are_too_large_for_single_precision_are_fitted_in_double_precision():
    """Also where kernel values are too large, or a parameter of the kernel has no number in single precision."""
    small = CENTERED.astype(np.float32)
    fitted = lambda kernel, rows: KernelPCA(2, kernel=kernel).fit(rows).transform(rows)
    for kernel, far in ((Linear(), 1e8), (Gaussian("median"), 1e20), (Polynomial(3, gamma=1.0), 1e6)):
        assert fitted(kernel, small).dtype == np.float32
        assert fitted(kernel, np.float32(far) * small).dtype == np.float64
    assert fitted(Gaussian(1e40), small).dtype == np.float64


@pytest.mark.parametrize("power", [-80, 80])
@pytest.mark.parametrize("landmarks", [None, 20])
def test_kernel_values_without_squares_are_refused_with_their_size(landmarks, power):
    rows = unit(power) * CENTERED
    with pytest.raises(ValueError, match=rf"k\(x, x\) of Linear\(\) is up to \d(.\d+)?e\{power:+d}"[:-4]):
        KernelPCA(2, kernel="linear", landmarks=landmarks).fit(rows)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("dtype", "far", "name"), [("float64", 1e151, "numbers"), ("float32", 1e19, "single precision")]
)
def test_queries_without_squares_are_refused_with_their_place(dtype, far, name, make):
    model = KernelPCA(2, gamma="median").fit(make(X.astype(dtype)))
    queries = X[:5].copy()
    queries[3, 2] = -far
    with pytest.raises(ValueError, match=rf"KernelPCA needs.*row 3, column 2.*{name}.*StandardScaler"):
        model.transform(make(queries))
    queries[3, 2] = far / 1e3
    assert np.isfinite(model.transform(make(queries))).all()


@pytest.mark.parametrize("n_columns", [1, 3, 300, 3000])
@pytest.mark.parametrize("landmarks", [None, 10])
def test_far_rows_of_many_columns_are_far_or_refused(n_columns, landmarks):
    """Squares of entries are numbers, and sums of many of them are not: such distances counted as zero."""
    rows = np.random.default_rng(0).normal(size=(40, n_columns)).astype(np.float32)
    model = KernelPCA(2, gamma="median", landmarks=landmarks).fit(rows)
    far = model.reconstruction_error(np.full((1, n_columns), 1e9, np.float32))
    assert far > 0.5
    for size in 10.0 ** np.arange(14, 19.5, 0.25):
        rows, length = np.full((1, n_columns), size, np.float32), size * n_columns**0.5
        if length < 9e17:
            np.testing.assert_allclose(model.reconstruction_error(rows), far, rtol=1e-5)
        elif length > 5e18:
            with pytest.raises(ValueError, match="single precision"):
                model.reconstruction_error(rows)


def test_missing_entries_have_no_size():
    rows = np.where(HOLES, np.nan, 1e200 * CENTERED)
    row, column = np.unravel_index(np.nanargmax(np.abs(rows)), X.shape)
    with pytest.raises(ValueError, match=rf"KernelImputer needs.*row {row}, column {column},.*range of numbers"):
        KernelImputer().fit(rows)


def test_rows_on_disk_that_are_too_large_for_single_precision_are_refused(tmp_path):
    stored = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", np.float32, X.shape)
    for factor, match in ((1e10, r"k\(x, x\) .* float64"), (1e20, r"k\(x, x\) .* float64")):
        stored[:] = factor * CENTERED
        with pytest.raises(ValueError, match=match):
            KernelPCA(2, kernel="linear", landmarks=10).fit(stored)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("landmarks", [None, 20])
def test_one_large_row_counts_wherever_it_is(dtype, landmarks):
    """Some rows are looked at, and the longest and the shortest always."""
    messages = set()
    for place in (0, 7, 250):
        rows = np.random.default_rng(0).normal(size=(400, 3)).astype(dtype)
        rows[place] = 1e35
        with pytest.raises(ValueError, match=r"k\(x, x\) of Polynomial.* squares leave the range") as error:
            KernelPCA(2, kernel="poly", gamma=1.0, landmarks=landmarks).fit(rows)
        messages.add(str(error.value))
    assert len(messages) == 1
