"""How much faster are compressed machines, and what does compression cost?

Set-up: four parts, each run alone with --parts.

- "predict": USPS digits as they are, ten machines SVC(C=10, gamma=1/128), one versus rest, and one multi-class SVC;
  both are made small by `Distill` with 100 shared vectors. All 2,007 test digits in one call, and one digit a call;
  the fastest of several rounds, in each of which all models have their turn.
- "compress": seconds of compression against seconds of training, for 25 vectors a machine (smoothed images, the
  machines of benchmarks/papers/reduced_sets.py) and for 100 shared vectors (raw images). With data, thresholds are
  chosen and both machines are scored on the training digits too.
- "mnist": SVC(C=5, gamma="scale") on 10,000 digits, made small by `Distill` with 300 shared vectors.
- "dlib": its `reduce`, which moves randomly chosen vectors by L-BFGS in the norm of feature space as `Refine` does,
  at equal numbers of vectors on machines that tell one digit from the rest; with its default accuracy and with the
  best of several, once with training digits and once with support vectors to choose from. Where dlib is not installed
  scikit-learn trains the same machines, and dlib's errors are those that are written here.

    OMP_NUM_THREADS=2 python benchmarks/speed/reduced_sets.py --record

Observe: prediction against one versus rest and against the multi-class machine, and how much less there is to gain for
one digit a call; what compression takes against training; the loss of accuracy on MNIST.
"""

import gc
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import describe_machine, record, timed
from _reports import option_parser, stamped, table
from data import load_mnist, load_usps

from preimage import compress
from preimage.exceptions import ConvergenceWarning
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian
from preimage.reduced_sets import Construct, Distill, Refine, Select, relative_error

GAMMA, C = 1 / 128, 10.0
SMOOTHING = 0.75
PER_MACHINE, SHARED = 25, 100
MNIST_TRAIN, MNIST_VECTORS = 10_000, 300
DLIB_TRAIN, DLIB_SIZES, DLIB_ACCURACIES = 1500, (10, 25, 50), (1e-1, 1e-3, 1e-5)
DIGITS = (0, 8)
# Relative errors of dlib 20.0 with its default accuracy, and the smallest of its six settings, by digit and vectors.
DLIB_ERRORS = {
    (0, 10): (0.2315, 0.2313),
    (0, 25): (0.0822, 0.0614),
    (0, 50): (0.0281, 0.0148),
    (8, 10): (0.2308, 0.2297),
    (8, 25): (0.0746, 0.0715),
    (8, 50): (0.0245, 0.0170),
}


def main():
    parts = {"predict": predict, "compress": compression, "mnist": mnist, "dlib": against_dlib}
    parser = option_parser(__doc__, "record")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(describe_machine())
    usps = {"data": "USPS, 7,291 for training, 2,007 for testing", "rounds": options.rounds}
    mnist_rows = {"data": f"MNIST, {MNIST_TRAIN:,} for training, 10,000 for testing", "vectors": MNIST_VECTORS}
    keep = {
        "predict": lambda values: record("compressed_prediction", values, usps | {"vectors": SHARED}),
        "compress": lambda values: record("compression_seconds", values, usps | {"vectors": [PER_MACHINE, SHARED]}),
        "mnist": lambda values: record("compression_mnist", values, mnist_rows),
        "dlib": lambda values: record("compression_dlib", values, {"rows": DLIB_TRAIN, "vectors": DLIB_SIZES}),
    }
    for name in options.parts:
        print(f"\n{name}")
        values = parts[name](options.rounds)
        if options.record:
            keep[name](values)


def fastest(functions, rounds):
    """Fewest seconds of each function: {name: seconds}; every round runs all of them in turn."""
    seconds = dict.fromkeys(functions, np.inf)
    for _ in range(rounds):
        for name, function in functions.items():
            gc.collect()
            start = time.perf_counter()
            function()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def usps(smooth):
    data = load_usps()
    X, X_test = (images.astype(np.float64) for images in (data.X_train, data.X_test))
    if smooth:
        blur = lambda images: gaussian_filter(images.reshape(-1, 16, 16), (0, SMOOTHING, SMOOTHING))
        X, X_test = (blur(images).reshape(len(images), -1) for images in (X, X_test))
    return X, data.y_train, X_test, data.y_test


def one_versus_rest():
    return OneVsRestClassifier(SVC(C=C, gamma=GAMMA))


def predict(rounds):
    X, y, X_test, y_test = usps(smooth=False)
    machines = one_versus_rest().fit(X, y)
    models = {"one versus rest": machines, "multi-class": SVC(C=C, gamma=GAMMA).fit(X, y)}
    small = {name: compress(model, SHARED, X=X, method=Distill()) for name, model in models.items()}
    everyone = {(name, size): model for size, both in (("", models), (" small", small)) for name, model in both.items()}
    errors = {key: 100 * np.mean(model.predict(X_test) != y_test) for key, model in everyone.items()}
    for (name, size), error in errors.items():
        print(f"  {name}{size}: test error {error:.2f} %")
    many = fastest({key: lambda m=model: m.predict(X_test) for key, model in everyone.items()}, rounds)
    row = X_test[:1]
    repeat = lambda model: [model.predict(row) for _ in range(50)]
    single = fastest({key: lambda m=model: repeat(m) for key, model in everyone.items()}, rounds)
    values = {
        "distinct support vectors": len(np.unique(np.concatenate([each.support_ for each in machines.estimators_]))),
        "test error": errors["one versus rest", ""],
        "test error, 100 vectors": errors["one versus rest", " small"],
    }
    pairs = [("one versus rest", "one versus rest"), ("one versus rest", "multi-class"), ("multi-class", "multi-class")]
    for ours, theirs in pairs:
        fast, slow = many[ours, " small"], many[theirs, ""]
        one, other = single[ours, " small"] / 50, single[theirs, ""] / 50
        if ours == "one versus rest":
            values |= {f"all digits, {theirs} over small": slow / fast, f"one digit, {theirs} over small": other / one}
        print(
            f"  {SHARED} vectors from {ours} against {theirs}, {len(X_test):,} digits: {1e3 * fast:.1f} ms, "
            f"{1e3 * slow:.0f} ms, {slow / fast:.1f} x; one digit: {1e6 * one:.0f} us, {1e6 * other:.0f} us, "
            f"{other / one:.1f} x"
        )
    return values


def compression(rounds):
    repeats, values = min(rounds, 3), {}
    for smooth, size, shared in ((True, PER_MACHINE, False), (False, SHARED, True)):
        X, y, _, _ = usps(smooth)
        training, model = timed(lambda: one_versus_rest().fit(X, y), repeats)
        what = f"{size} {'shared vectors' if shared else 'vectors a machine'}"
        print(f"  {'smoothed' if smooth else 'raw'} images, training {training:.2f} s; {what}:")
        kind = "raw" if shared else "smoothed"
        values[f"{kind}, training, seconds"] = training
        for reducer in (Select(), Construct(), Refine(), Distill()):
            if isinstance(reducer, Distill) and not shared:
                continue
            make = lambda data: compress(model, size, X=data, method=reducer, shared=shared)
            alone = None if isinstance(reducer, Distill) else timed(lambda: make(None), repeats)[0]
            whole, small = timed(lambda: make(X), repeats)
            without = "" if alone is None else f"{alone:.2f} s without data, {alone / training:.2f} x training; "
            print(
                f"    {type(reducer).__name__}: {without}{whole:.2f} s with, {whole / training:.2f} x training; "
                f"relative error {small.error_:.3f}, training accuracy {small.scores_[0]:.4f} -> {small.scores_[1]:.4f}"
            )
            name = f"{kind}, {type(reducer).__name__}"
            values |= {f"{name}, seconds with data": whole, f"{name}, over training": whole / training}
            if alone is not None:
                values[f"{name}, seconds without data"] = alone
    return values


def mnist(rounds):
    data = load_mnist()
    rows = np.random.default_rng(0).permutation(60_000)[:MNIST_TRAIN]
    X, y = data.X_train[rows].astype(np.float64) / 255, data.y_train[rows]
    X_test, y_test = data.X_test.astype(np.float64) / 255, data.y_test
    training, model = timed(lambda: SVC(C=5, gamma="scale").fit(X, y))
    seconds, small = timed(lambda: compress(model, MNIST_VECTORS, X=X, method=Distill()))
    accuracy = [100 * float(np.mean(each.predict(X_test) == y_test)) for each in (model, small)]
    times = fastest({"model": lambda: model.predict(X_test), "small": lambda: small.predict(X_test)}, min(rounds, 2))
    drop, ratio = accuracy[0] - accuracy[1], times["model"] / times["small"]
    print(
        f"  {len(model.support_):,} support vectors -> {small.n_points_}; training {training:.1f} s, compression "
        f"{seconds:.1f} s ({seconds / training:.2f} x)\n  accuracy {accuracy[0]:.2f} % -> {accuracy[1]:.2f} %, "
        f"{-drop:+.2f}\n  {len(X_test):,} predictions: {times['small']:.3f} s, {times['model']:.2f} s, {ratio:.1f} x"
    )
    found = {"support vectors": len(model.support_), "training, seconds": training, "compression, seconds": seconds}
    found |= {"accuracy before": accuracy[0], "accuracy": accuracy[1], "seconds before": times["model"]}
    return {f"MNIST, {name}": value for name, value in (found | {"seconds": times["small"]}).items()}


def against_dlib(rounds):
    X, y, _, _ = usps(smooth=True)
    rows = np.random.default_rng(0).permutation(len(X))[:DLIB_TRAIN]
    X, y = X[rows], y[rows]
    values = {}
    for digit in DIGITS:
        target, errors_of_dlib = machine_of_dlib(X, y, digit)
        print(f"  digit {digit} against the rest, {len(target.points)} support vectors:")
        for size in DLIB_SIZES:
            found = {f"dlib, {name}": error for name, error in errors_of_dlib(size).items()}
            ours = {"Construct": Construct(), "Refine": Refine(), "Refine to the end": Refine(max_iter=5000, tol=1e-9)}
            for name, reducer in ours.items():
                start = time.process_time()
                result = reducer.reduce(target, size)
                seconds = time.process_time() - start
                found |= {name: relative_error(target, result.expansion), f"{name}, seconds": seconds}
            print(f"    {size} vectors: " + "; ".join(f"{name} {value:.4g}" for name, value in found.items()))
            values |= {f"digit {digit}, {size}, {name}": value for name, value in found.items()}
    return values


def machine_of_dlib(X, y, digit):
    """The function of one digit against the rest, and the errors of dlib with a number of vectors."""
    try:
        import dlib
    except ImportError:
        machine = SVC(C=C, gamma=GAMMA, tol=1e-5).fit(X, y == digit)
        target = Expansion(Gaussian(GAMMA), X[machine.support_], machine.dual_coef_.T)
        return target, lambda size: dict(zip(("default", "best"), DLIB_ERRORS[digit, size], strict=True))
    print(f"  dlib {dlib.__version__}")
    trainer = dlib.svm_c_trainer_radial_basis()
    trainer.set_c(C)
    trainer.gamma = GAMMA
    vectors = dlib.vectors([dlib.vector(row) for row in X])
    function = trainer.train(vectors, dlib.array(np.where(y == digit, 1.0, -1.0).tolist()))
    target = expansion_of_dlib(function)
    whole = reducible(dlib, function, X.shape[1])

    def errors(size):
        found = {}
        for accuracy in DLIB_ACCURACIES:
            for points in (X, target.points):  # training digits come first
                error = relative_error(target, expansion_of_dlib(dlib.reduce(whole, points, size, accuracy)))
                found.setdefault(accuracy, error)
                found["best"] = min(error, found.get("best", error))
        return {"default": found[1e-3], "best": found["best"]}

    return target, errors


def expansion_of_dlib(function):
    points = np.array([np.ravel(vector) for vector in function.basis_vectors])
    return Expansion(Gaussian(function.kernel_function.gamma), points, np.reshape(function.alpha, (-1, 1)))


def reducible(dlib, function, n_features):
    """A dlib decision function in the form that `dlib.reduce` takes, with a scaling that changes nothing.

    Its Python interface makes that form in one place only, together with a search for hyperparameters. But serialised
    it is the scaling followed by the function, and the function can be exchanged there.
    """
    signs = np.where(np.random.default_rng(0).random((16, n_features)) < 0.5, 1.0, -1.0)
    signs = np.vstack([signs, -signs]) * np.sqrt(31 / 32)  # mean zero, variance one
    labels = np.tile([1.0, -1.0], 16)
    host = dlib.auto_train_rbf_classifier(signs, labels, max_runtime_seconds=0.0, be_verbose=False)
    (whole,), (part,) = host.__getstate__(), function.__getstate__()
    # Means, deviations and an empty matrix: numbers of rows and columns, then mantissa and exponent of each entry.
    end = 0
    for _ in range(2 * (2 + 2 * n_features) + 2):
        end += 1 + (whole[end] & 0x0F)  # an integer is its length in bytes, with its sign, and the bytes
    made = type(host).__new__(type(host))
    made.__setstate__((whole[:end] + part,))
    if not (np.array_equal(made.means, host.means) and np.array_equal(made.alpha, function.alpha)):
        raise RuntimeError(f"dlib {dlib.__version__} serialises decision functions in another way.")
    return made


def prediction_section(contents):
    values = contents["values"]
    yield from stamped("## Prediction\n", contents)
    yield (
        f"USPS, raw images: ten one-vs-rest SVMs with {values['distinct support vectors']:,.0f} distinct support "
        f"vectors ({values['test error']:.2f} % test errors), compressed to {SHARED} by `Distill` "
        f"({values['test error, 100 vectors']:.2f} %). How much faster the compressed machine predicts; the fastest of "
        f"{contents['settings']['rounds']} rounds on each side.\n"
    )
    rows = []
    for shown, name in (("`OneVsRestClassifier(SVC)`", "one versus rest"), ("multi-class `SVC`", "multi-class")):
        many, one = (values[f"{digits}, {name} over small"] for digits in ("all digits", "one digit"))
        rows.append([shown, f"{many:.0f} × faster", f"{one:.1f} × faster"])
    yield from table(["original", "2,007 digits in one call", "one digit per call"], rows)
    yield ""


def mnist_section(contents):
    of = lambda what: contents["values"][f"MNIST, {what}"]
    yield from stamped("## Prediction of a machine of MNIST\n", contents)
    yield (
        f'`SVC(C=5, gamma="scale")` trained on {MNIST_TRAIN:,} digits, {of("support vectors"):,.0f} support '
        f"vectors, {MNIST_VECTORS} after `Distill`: accuracy on 10,000 test digits {of('accuracy before'):.2f} % → "
        f"{of('accuracy'):.2f} %, {of('seconds before'):.1f} s → {of('seconds'):.2f} s, "
        f"{of('seconds before') / of('seconds'):.0f} ×. Compression took {of('compression, seconds'):.0f} s, training "
        f"{of('training, seconds'):.1f} s.\n"
    )


def compression_section(contents):
    values = contents["values"]
    yield from stamped("## Compression\n", contents)
    yield (
        "Seconds with and without data, and as a multiple of the time that training took "
        f"({values['smoothed, training, seconds']:.1f} s smoothed, {values['raw, training, seconds']:.1f} s raw).\n"
    )
    rows = []
    for name in ("Select", "Construct", "Refine", "Distill"):
        cells = []
        for kind in ("smoothed", "raw"):
            key = f"{kind}, {name}"
            if f"{key}, seconds with data" not in values:
                cells.append("")
                continue
            parts = [values.get(f"{key}, seconds without data"), values[f"{key}, seconds with data"]]
            shown = " / ".join(f"{seconds:.2f}" for seconds in parts if seconds is not None)
            cells.append(f"{shown}, {values[f'{key}, over training']:.1f} ×")
        rows.append([f"`{name}`", *cells])
    header = [f"{PER_MACHINE} vectors for each of ten machines, smoothed", f"{SHARED} shared vectors, raw"]
    yield from table(["without / with data", *header], rows)
    yield ""


def dlib_section(contents):
    values = contents["values"]
    yield from stamped("## Against dlib 20.0\n", contents)
    yield (
        f"One digit against the rest, {DLIB_TRAIN:,} smoothed digits; relative error in feature "
        "space, and our seconds of processor time. dlib's best is the smallest error of six settings. Errors of dlib "
        "were measured once, on the same machines trained by dlib, and not again.\n"
    )
    rows, won = [], {"Refine": [0, 0], "Refine to the end": [0, 0]}
    for digit in DIGITS:
        for size in DLIB_SIZES:
            of = lambda what, key=f"digit {digit}, {size}": values[f"{key}, {what}"]
            errors = {each: of(each) for each in ("dlib, default", "dlib, best", "Refine", "Refine to the end")}
            smallest = min(f"{error:.4f}" for error in errors.values())
            cells = []
            for each, error in errors.items():
                shown = f"**{error:.4f}**" if f"{error:.4f}" == smallest else f"{error:.4f}"
                cells.append(f"{shown}, {of(f'{each}, seconds'):.2f}" if each in won else shown)
            for each, counts in won.items():
                for place, rival in enumerate(("dlib, default", "dlib, best")):
                    counts[place] += errors[each] < errors[rival]
            rows.append([f"{digit}, {size}", *cells])
    header = ["digit, vectors", "dlib, default", "dlib, best"]
    yield from table([*header, "`Refine()`, seconds", "`Refine(max_iter=5000, tol=1e-9)`, seconds"], rows)
    yield (
        f"\n`Refine()` has a smaller error than dlib's default in {won['Refine'][0]} of {len(rows)} rows; run to the "
        f"end it has a smaller error than dlib's best in {won['Refine to the end'][1]} of {len(rows)}."
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main()
